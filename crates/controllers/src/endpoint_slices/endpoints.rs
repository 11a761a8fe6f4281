//! The endpoint of a pod for a service: its addresses, ports and conditions.

use pintle_meta::validation::parse_ip_sloppy;
use pintle_meta::{Object, Value};

/// An address family of slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    V4,
    V6,
}

impl Family {
    pub(super) const ALL: [Family; 2] = [Family::V4, Family::V6];

    /// The type of addresses in slices, which is the name of the family in services.
    pub(super) fn name(self) -> &'static str {
        match self {
            Family::V4 => "IPv4",
            Family::V6 => "IPv6",
        }
    }

    /// Returns the families of a service.
    pub(super) fn of_service(service: &Value) -> Vec<Family> {
        let named = service.items_at(&["spec", "ipFamilies"]);
        let is_named = |family: &Family| named.iter().any(|name| name.as_str() == Some(family.name()));
        let families: Vec<Family> = Family::ALL.into_iter().filter(is_named).collect();
        if !families.is_empty() {
            return families;
        }
        match parse_ip_sloppy(service.text_at(&["spec", "clusterIP"])) {
            Some(address) if address.to_canonical().is_ipv6() => vec![Family::V6],
            Some(_) => vec![Family::V4],
            None => Family::ALL.to_vec(),
        }
    }
}

/// An endpoint as it is in a slice.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Endpoint(pub(super) Value);

impl Endpoint {
    /// Returns what makes it the same endpoint after a change of its conditions: addresses, hostname and pod.
    pub(super) fn identity(&self) -> String {
        let endpoint = &self.0;
        let mut addresses: Vec<&str> =
            endpoint.items_at(&["addresses"]).iter().filter_map(Value::as_str).collect();
        addresses.sort_unstable();
        let pod = endpoint.get("targetRef").unwrap_or(&Value::NULL);
        let (namespace, name) = (pod.text_at(&["namespace"]), pod.text_at(&["name"]));
        format!("{}|{}|{namespace}|{name}", addresses.join(","), endpoint.text_at(&["hostname"]))
    }

    /// Returns whether what the identity leaves out is the same. The version of the pod does not matter.
    pub(super) fn is_like(&self, other: &Endpoint) -> bool {
        let fields = ["nodeName", "zone"];
        let conditions = ["ready", "serving", "terminating"];
        let targets = ["kind", "namespace", "name", "uid", "apiVersion", "fieldPath"];
        let at = |path: &[&str]| self.0.at(path) == other.0.at(path);
        fields.iter().all(|field| at(&[field]))
            && conditions.iter().all(|condition| at(&["conditions", condition]))
            && targets.iter().all(|field| at(&["targetRef", field]))
    }

    pub(super) fn is_ready(&self) -> bool {
        self.0.at(&["conditions", "ready"]).and_then(Value::as_bool) == Some(true)
    }
}

/// Returns whether a pod can be an endpoint: it has an address and has not ended.
pub(super) fn has_endpoint(pod: &Value) -> bool {
    let status = |field| pod.text_at(&["status", field]);
    !matches!(status("phase"), "Failed" | "Succeeded")
        && (!status("podIP").is_empty() || !pod.items_at(&["status", "podIPs"]).is_empty())
}

/// Returns the condition Ready of a pod.
pub(super) fn ready_condition(pod: &Value) -> Option<&Value> {
    pod.items_at(&["status", "conditions"]).iter().find(|condition| condition.text_at(&["type"]) == "Ready")
}

pub(super) fn is_ready(pod: &Value) -> bool {
    ready_condition(pod).is_some_and(|condition| condition.text_at(&["status"]) == "True")
}

fn addresses(pod: &Value, family: Family) -> Vec<Value> {
    let all = pod.items_at(&["status", "podIPs"]).iter();
    let parsed = all.filter_map(|ip| parse_ip_sloppy(ip.text_at(&["ip"]))).map(|ip| ip.to_canonical());
    let of_family = parsed.filter(|ip| ip.is_ipv4() == (family == Family::V4));
    of_family.map(|ip| Value::string(ip.to_string())).collect()
}

/// Returns the endpoint of a pod; `None` if it has no address of the family. `zone` is that of its node.
pub(super) fn endpoint(pod: &Value, zone: Option<&str>, service: &Value, family: Family) -> Option<Endpoint> {
    let addresses = addresses(pod, family);
    if addresses.is_empty() {
        return None;
    }
    let is_serving = is_ready(pod);
    let is_terminating = pod.deletion_timestamp().is_some();
    let is_ready = publishes_not_ready(service) || (is_serving && !is_terminating);
    let conditions = [("ready", is_ready), ("serving", is_serving), ("terminating", is_terminating)];
    let target = [("kind", "Pod"), ("namespace", pod.namespace()), ("name", pod.name()), ("uid", pod.uid())];
    let mut endpoint = Object::default();
    endpoint.insert("addresses", addresses);
    endpoint.insert("conditions", Value::object(Object::from_iter(conditions)));
    endpoint.insert("targetRef", Value::object(Object::from_iter(target)));
    let mut set = |field: &'static str, text: &str| {
        if !text.is_empty() {
            endpoint.insert(field, text);
        }
    };
    set("nodeName", pod.text_at(&["spec", "nodeName"]));
    set("zone", zone.unwrap_or_default());
    if pod.text_at(&["spec", "subdomain"]) == service.name() && service.namespace() == pod.namespace() {
        set("hostname", pod.text_at(&["spec", "hostname"]));
    }
    Some(Endpoint(Value::object(endpoint)))
}

pub(super) fn publishes_not_ready(service: &Value) -> bool {
    service.at(&["spec", "publishNotReadyAddresses"]).and_then(Value::as_bool) == Some(true)
}

/// Returns the ports of a service on a pod. A target port by name is the pod's own number; without one, the port is left out.
pub(super) fn ports(service: &Value, pod: &Value) -> Vec<Value> {
    let ports = service.items_at(&["spec", "ports"]).iter();
    let port = |port: &Value| {
        let number = target_port(port, pod)?;
        let protocol = port.text_at(&["protocol"]);
        let mut found = Object::from_iter([("name", port.text_at(&["name"])), ("protocol", protocol)]);
        found.insert("port", number);
        if let Some(application) = port.get("appProtocol") {
            found.insert("appProtocol", application.clone());
        }
        Some(Value::object(found))
    };
    ports.filter_map(port).collect()
}

fn target_port(port: &Value, pod: &Value) -> Option<i64> {
    let target = port.get("targetPort").unwrap_or(&Value::NULL);
    let Some(name) = target.as_str() else { return Some(target.as_i64().unwrap_or_default()) };
    let restarts = |container: &&Value| container.text_at(&["restartPolicy"]) == "Always";
    let containers = pod.items_at(&["spec", "containers"]).iter();
    let sidecars = pod.items_at(&["spec", "initContainers"]).iter().filter(restarts);
    let mut ports = containers.chain(sidecars).flat_map(|container| container.items_at(&["ports"]));
    let found = ports.find(|found| {
        found.text_at(&["name"]) == name && found.text_at(&["protocol"]) == port.text_at(&["protocol"])
    });
    found?.get("containerPort")?.as_i64()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(json: &str) -> Value {
        pintle_codec::json::decode_untyped(json.as_bytes()).expect("JSON").value
    }

    fn pod(status: &str, rest: &str) -> Value {
        let ips = r#""podIPs":[{"ip":"10.0.0.1"},{"ip":"fd00::1"}]"#;
        object(&format!(
            r#"{{"metadata":{{"namespace":"n","name":"p","uid":"u"{rest}}},
                "spec":{{"nodeName":"node","hostname":"h","subdomain":"s"}},
                "status":{{{ips},"conditions":[{{"type":"Ready","status":"{status}"}}]}}}}"#
        ))
    }

    fn service(spec: &str) -> Value {
        object(&format!(r#"{{"metadata":{{"namespace":"n","name":"s"}},"spec":{{{spec}}}}}"#))
    }

    /// Ready, serving and terminating.
    fn conditions(pod: &Value, service: &Value) -> [bool; 3] {
        let endpoint = endpoint(pod, None, service, Family::V4).expect("an endpoint");
        ["ready", "serving", "terminating"]
            .map(|name| endpoint.0.at(&["conditions", name]).and_then(Value::as_bool).expect("a condition"))
    }

    const DELETED: &str = r#","deletionTimestamp":"2026-01-01T00:00:00Z""#;

    #[test]
    fn conditions_follow_readiness_and_deletion() {
        let plain = service("");
        assert_eq!(conditions(&pod("True", ""), &plain), [true, true, false]);
        assert_eq!(conditions(&pod("False", ""), &plain), [false, false, false]);
        assert_eq!(conditions(&pod("True", DELETED), &plain), [false, true, true]);
        let published = service(r#""publishNotReadyAddresses":true"#);
        assert_eq!(conditions(&pod("False", DELETED), &published), [true, false, true]);
    }

    #[test]
    fn an_endpoint_says_where_its_pod_is() {
        let found =
            endpoint(&pod("True", ""), Some("east"), &service(""), Family::V6).expect("an endpoint").0;
        assert_eq!(found.items_at(&["addresses"])[0].as_str(), Some("fd00::1"));
        let texts = ["nodeName", "zone", "hostname"].map(|field| found.text_at(&[field]));
        assert_eq!(texts, ["node", "east", "h"]);
        let target = ["kind", "namespace", "name", "uid"].map(|field| found.text_at(&["targetRef", field]));
        assert_eq!(target, ["Pod", "n", "p", "u"]);
        let other = object(r#"{"metadata":{"namespace":"n","name":"other"}}"#);
        let found = endpoint(&pod("True", ""), None, &other, Family::V4).expect("an endpoint").0;
        assert!(found.get("hostname").is_none() && found.get("zone").is_none());
    }

    #[test]
    fn ports_are_found_by_number_and_by_name() {
        let service = service(
            r#""ports":[{"name":"a","protocol":"TCP","port":80,"targetPort":8080},
                        {"name":"b","protocol":"TCP","port":81,"targetPort":"web","appProtocol":"http"},
                        {"name":"c","protocol":"UDP","port":82,"targetPort":"web"},
                        {"name":"d","protocol":"TCP","port":83,"targetPort":"side"},
                        {"name":"e","protocol":"TCP","port":84,"targetPort":"once"}]"#,
        );
        let port = |name: &str, number: u16| {
            format!(r#"{{"name":"{name}","protocol":"TCP","containerPort":{number}}}"#)
        };
        let pod = object(&format!(
            r#"{{"spec":{{"containers":[{{"ports":[{}]}}],"initContainers":[
                {{"ports":[{}],"restartPolicy":"Always"}},{{"ports":[{}]}}]}}}}"#,
            port("web", 9090),
            port("side", 7070),
            port("once", 6060)
        ));
        let found: Vec<_> = ports(&service, &pod)
            .iter()
            .map(|port| (port.text_at(&["name"]).to_owned(), port.get("port").and_then(Value::as_i64)))
            .collect();
        let expected = [("a", 8080), ("b", 9090), ("d", 7070)];
        assert_eq!(found, expected.map(|(name, number)| (name.to_owned(), Some(number))));
        assert_eq!(ports(&service, &pod)[1].text_at(&["appProtocol"]), "http");
    }

    #[test]
    fn families_are_the_services_own_or_those_of_its_address() {
        let of = |spec: &str| Family::of_service(&service(spec));
        assert_eq!(of(r#""ipFamilies":["IPv6","IPv4"]"#), Family::ALL);
        assert_eq!(of(r#""ipFamilies":["IPv6"]"#), [Family::V6]);
        assert_eq!(of(r#""clusterIP":"10.0.0.1""#), [Family::V4]);
        assert_eq!(of(r#""clusterIP":"fd00::1""#), [Family::V6]);
        assert_eq!(of(r#""clusterIP":"None""#), Family::ALL);
    }

    #[test]
    fn pods_that_have_ended_or_have_no_address_are_no_endpoints() {
        assert!(has_endpoint(&pod("False", "")));
        assert!(!has_endpoint(&object(r#"{"status":{"phase":"Running"}}"#)));
        assert!(!has_endpoint(&object(r#"{"status":{"phase":"Failed","podIP":"10.0.0.1"}}"#)));
    }
}
