//! Services: their number, their node ports, and those with a load balancer.

use pintle_meta::Value;

use crate::resource_list::ResourceList;

const COUNT: &str = "count/services";
const SERVICES: &str = "services";
const NODE_PORTS: &str = "services.nodeports";
const LOAD_BALANCERS: &str = "services.loadbalancers";

/// Returns whether a name counts every object as one.
pub(super) fn counts_objects(name: &str) -> bool {
    [COUNT, SERVICES].contains(&name)
}

pub(super) fn tracks(name: &str) -> bool {
    [COUNT, SERVICES, NODE_PORTS, LOAD_BALANCERS].contains(&name)
}

/// Counts node ports by intent: the ports may not be allocated yet.
pub(super) fn usage(service: &Value) -> ResourceList {
    let ports = service.items_at(&["spec", "ports"]);
    let is_chosen = |port: &&Value| port.get("nodePort").and_then(Value::as_i64).unwrap_or(0) != 0;
    let allocates = service.at(&["spec", "allocateLoadBalancerNodePorts"]).and_then(Value::as_bool);
    let (node_ports, load_balancers) = match charged_type(service) {
        "LoadBalancer" if allocates == Some(false) => (ports.iter().filter(is_chosen).count(), 1),
        "LoadBalancer" => (ports.len(), 1),
        "NodePort" => (ports.len(), 0),
        _ => (0, 0),
    };
    let mut usage = ResourceList::default();
    usage.set_count(COUNT, 1);
    usage.set_count(SERVICES, 1);
    usage.set_count(NODE_PORTS, node_ports as i64);
    usage.set_count(LOAD_BALANCERS, load_balancers);
    usage
}

/// Returns the type of a service if it counts for more than one service; else an empty text.
pub(super) fn charged_type(service: &Value) -> &str {
    match service.text_at(&["spec", "type"]) {
        charged @ ("NodePort" | "LoadBalancer") => charged,
        _ => "",
    }
}
