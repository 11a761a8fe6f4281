//! Places of pods: their own address, and the paths under which their kubelet knows their containers.

use pintle_meta::{Status, Value};
use pintle_outbound::hosts::is_global_unicast;
use pintle_outbound::{InvalidUrl, Url};

use crate::address::{Named, escaped_path, host_and_port, query, sloppy_address};
use crate::kubelets::Kubelet;

/// Returns the URL of a pod's port: the one that is named, else the first that a container declares.
pub(crate) fn location(pod: &Value, named: Named<'_>) -> Result<Url, Box<Status>> {
    let containers = pod.items_at(&["spec", "containers"]);
    let declared = || {
        let port = containers.iter().find_map(|container| container.items_at(&["ports"]).first())?;
        port.get("containerPort")?.as_i64().map(|port| port.to_string())
    };
    let port = match named.port {
        "" => declared().unwrap_or_default(),
        port => port.to_owned(),
    };
    let first = pod.items_at(&["status", "podIPs"]).first().map_or("", |ip| ip.text_at(&["ip"]));
    let ip = if first.is_empty() { pod.text_at(&["status", "podIP"]) } else { first };
    if !sloppy_address(ip).is_some_and(is_global_unicast) {
        return Err(Box::new(Status::bad_request("address not allowed")));
    }
    url(named.scheme, &host_and_port(ip, &port))
}

/// Returns the URL of a host. The scheme is HTTP, if none is named.
pub(crate) fn url(scheme: &str, host: &str) -> Result<Url, Box<Status>> {
    let scheme = if scheme.is_empty() { "http" } else { scheme };
    Url::parse(&format!("{scheme}://{host}/")).map_err(|error| invalid(&error))
}

/// Returns the URL of something that a kubelet has for a pod.
pub(crate) fn of_kubelet(
    kubelet: &Kubelet,
    what: &str,
    pod: &Value,
    container: Option<&str>,
    parameters: Vec<(&str, String)>,
) -> Result<Url, Box<Status>> {
    let mut path = format!("/{what}/{}/{}", pod.namespace(), pod.name());
    if let Some(container) = container {
        path.push('/');
        path.push_str(container);
    }
    let origin = Url::parse(&kubelet.origin()).map_err(|error| invalid(&error))?;
    Ok(origin.with_path(&escaped_path(&path)).with_query(&query(parameters)))
}

fn invalid(error: &InvalidUrl) -> Box<Status> {
    Box::new(Status::plain(error))
}
