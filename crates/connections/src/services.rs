//! Places of services: a port of a pod behind them, chosen at random.

use pintle_meta::{Status, Value};
use pintle_outbound::Url;
use pintle_registry::Context;

use crate::Shared;
use crate::address::{Named, host_and_port};
use crate::pods::url;

/// Returns the URL of an endpoint. Only addresses that are those of pods count, since a writer of endpoints could name any.
pub(crate) async fn location(shared: &Shared, context: &Context, id: &str) -> Result<Url, Box<Status>> {
    let Some(Named { scheme, name, port }) = Named::parse(id) else {
        let message = format!("invalid service request {}", pintle_meta::quote(id));
        return Err(Box::new(Status::bad_request(message)));
    };
    let unavailable = |what: &str, name: &str| {
        let message = format!("{what} service {}", pintle_meta::quote(name));
        Box::new(Status::service_unavailable(message))
    };
    let port_name = match port.parse::<i64>() {
        Err(_) => port.to_owned(),
        Ok(number) => {
            let service = shared.stores.services.get(context, name).await?;
            let ports = service.items_at(&["spec", "ports"]);
            let found = ports.iter().find(|port| port.get("port").and_then(Value::as_i64) == Some(number));
            let found =
                found.ok_or_else(|| unavailable(&format!("no service port {number} found for"), name))?;
            found.text_at(&["name"]).to_owned()
        }
    };
    let endpoints = shared.stores.endpoints.get(context, name).await?;
    let subsets = endpoints.items_at(&["subsets"]);
    if subsets.is_empty() {
        return Err(unavailable("no endpoints available for", name));
    }
    for subset in from_random(shared, subsets) {
        let addresses = subset.items_at(&["addresses"]);
        let ports = subset.items_at(&["ports"]).iter();
        for port in ports.filter(|port| port.text_at(&["name"]) == port_name) {
            let number = port.get("port").and_then(Value::as_i64).unwrap_or_default();
            for address in from_random(shared, addresses) {
                if is_of_pod(shared, context, address).await {
                    let host = host_and_port(address.text_at(&["ip"]), &number.to_string());
                    return url(scheme, &host);
                }
            }
        }
    }
    Err(unavailable("no endpoints available for", id))
}

/// Goes through a list from a random place on.
fn from_random<'a>(shared: &Shared, list: &'a [Value]) -> impl Iterator<Item = &'a Value> {
    let length = u64::try_from(list.len()).unwrap_or(u64::MAX).max(1);
    let (before, after) = list.split_at((shared.random.number() % length) as usize);
    after.iter().chain(before)
}

/// Returns whether an address is that of the pod in the service's namespace that it names.
async fn is_of_pod(shared: &Shared, context: &Context, address: &Value) -> bool {
    let Some(target) = address.get("targetRef") else { return false };
    if target.text_at(&["namespace"]) != context.namespace {
        return false;
    }
    let Ok(pod) = shared.stores.pods.get(context, target.text_at(&["name"])).await else { return false };
    let ip = address.text_at(&["ip"]);
    pod.items_at(&["status", "podIPs"]).iter().any(|known| known.text_at(&["ip"]) == ip)
}
