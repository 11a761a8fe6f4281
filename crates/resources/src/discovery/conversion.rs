//! Versions of endpoint slices: `v1beta1` had a map where `v1` has the zone and the node.

use pintle_meta::Value;
use pintle_meta::value::Object;

use crate::framework::conversion::{Error, Fields, Pair};

pub(crate) const PAIRS: &[Pair] =
    &[Pair::new("discovery/v1beta1.Endpoint", "discovery/v1.Endpoint").inward(inward).outward(outward)];

const ZONE: &str = "topology.kubernetes.io/zone";
const HOSTNAME: &str = "kubernetes.io/hostname";

fn inward(value: &Value, out: &mut Fields) -> Result<(), Error> {
    let Some(topology) = value.get("topology").and_then(Value::as_object) else { return Ok(()) };
    let mut rest = topology.clone();
    if let Some(zone) = rest.remove(ZONE) {
        out.set("zone", zone);
    }
    // A host name that is not the node's is kept, odd as it is.
    if rest.contains(HOSTNAME) && rest.get(HOSTNAME) == value.get("nodeName") {
        rest.remove(HOSTNAME);
    }
    out.set("deprecatedTopology", rest);
    Ok(())
}

fn outward(value: &Value, out: &mut Fields) -> Result<(), Error> {
    let (topology, zone, node) = (value.get("deprecatedTopology"), value.get("zone"), value.get("nodeName"));
    if topology.is_none() && zone.is_none() && node.is_none() {
        return Ok(());
    }
    let mut topology: Object = topology.and_then(Value::as_object).cloned().unwrap_or_default();
    if let Some(zone) = zone {
        topology.insert(ZONE, zone.clone());
    }
    let hostname = topology.get(HOSTNAME).and_then(Value::as_str).unwrap_or_default();
    if let Some(node) = node
        && hostname.is_empty()
    {
        topology.insert(HOSTNAME, node.clone());
    }
    out.set("topology", topology);
    Ok(())
}
