//! Which node ports a service needs. All that one write needs are taken at once.

use std::collections::{BTreeMap, BTreeSet};

use pintle_meta::field_path::{Error, Path};
use pintle_meta::{Status, Value};
use pintle_registry::Result;

use super::allocations::Taken;
use super::families::refusal;
use super::fields::{self, HEALTH_PORT, PORTS};
use super::ports::Refusal;
use crate::framework::strategy::tree;

/// The use of a node port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum For {
    /// The port at this place.
    Port(usize),
    HealthCheck,
}

/// A needed node port: one of a number, or any.
type Need = (For, Option<i64>);

/// Takes the ports of a new service. Ports with one number share a node port, unless they ask for several.
pub(super) async fn of_new(service: &mut Value, taken: &mut Taken) -> Result<()> {
    let mut needs: Vec<Need> = Vec::new();
    // By number: the place of the first, and what it asks for. The others have what it gets.
    let mut first: BTreeMap<i64, (usize, i64)> = BTreeMap::new();
    let mut shared: Vec<(usize, usize)> = Vec::new();
    if fields::has_node_ports(service) {
        let requested = requested(service);
        for (place, port) in service.items_at(PORTS).iter().enumerate() {
            let (number, wanted) = (number(port), fields::node_port(port));
            // None is found for it, but one that it asks for it gets.
            if wanted == 0 && !fields::is_given_ports(service) {
                continue;
            }
            match first.get(&number) {
                None => {
                    let asked = requested.get(&number).copied().unwrap_or_default();
                    needs.push((For::Port(place), Some(asked).filter(|port| *port != 0)));
                    first.insert(number, (place, asked));
                }
                Some((other, _)) if wanted == 0 => shared.push((place, *other)),
                Some((_, asked)) if wanted != *asked => needs.push((For::Port(place), Some(wanted))),
                Some(_) => {}
            }
        }
    }
    if fields::has_health_port(service) {
        needs.push(health_check(service));
    }
    satisfy(service, &needs, taken).await?;
    for (place, other) in shared {
        let given = service.items_at(PORTS).get(other).map(fields::node_port).unwrap_or_default();
        set(service, place, given);
    }
    Ok(())
}

/// Takes the ports that a changed service needs in addition, and notes those that it gives up.
pub(super) async fn of_changed(new: &mut Value, old: &Value, taken: &mut Taken) -> Result<()> {
    let before = fields::node_ports(old);
    let mut needs: Vec<Need> = Vec::new();
    if fields::has_node_ports(new) {
        let mut fresh = BTreeSet::new();
        for (place, port) in new.items_at(PORTS).iter().enumerate() {
            match fields::node_port(port) {
                0 if fields::is_given_ports(new) => needs.push((For::Port(place), None)),
                0 => {}
                wanted if !before.contains(&wanted) && fresh.insert(wanted) => {
                    needs.push((For::Port(place), Some(wanted)));
                }
                _ => {}
            }
        }
    }
    match (fields::has_health_port(old), fields::has_health_port(new)) {
        (false, true) => needs.push(health_check(new)),
        (true, false) => taken.give_up_port(fields::health_port(old)),
        _ => {}
    }
    satisfy(new, &needs, taken).await?;
    if fields::has_node_ports(new) {
        let mut seen = BTreeSet::new();
        for port in new.items_at(PORTS) {
            let (protocol, given) = (port.text_at(&["protocol"]), fields::node_port(port));
            if given != 0 && !seen.insert((protocol, given)) {
                let why = format!("duplicate nodePort: {{{protocol} {given}}}");
                return Err(Box::new(Status::plain(why)));
            }
        }
        let after = fields::node_ports(new);
        before.difference(&after).for_each(|port| taken.give_up_port(*port));
    } else if fields::has_node_ports(old) {
        before.iter().for_each(|port| taken.give_up_port(*port));
    }
    Ok(())
}

async fn satisfy(service: &mut Value, needs: &[Need], taken: &mut Taken) -> Result<()> {
    let wanted: Vec<Option<i64>> = needs.iter().map(|(_, wanted)| *wanted).collect();
    let given = match taken.take_ports(&wanted).await {
        Ok(given) => given,
        Err((place, why)) => return Err(refused(service, needs.get(place), &why)),
    };
    for ((what, _), port) in needs.iter().zip(given) {
        match what {
            For::Port(place) => set(service, *place, port),
            For::HealthCheck => tree::set(service, HEALTH_PORT, port),
        }
    }
    Ok(())
}

fn refused(service: &Value, need: Option<&Need>, why: &Refusal) -> Box<Status> {
    let failed = |what: String| Box::new(Status::internal(format_args!("failed to allocate {what}: {why}")));
    match need {
        Some((For::Port(place), Some(wanted))) => {
            let spec = Path::new("spec");
            let ports = spec.child("ports");
            let path = ports.index(*place);
            let (path, why) = (path.child("nodePort"), why.to_string());
            // Tested by `what_is_refused_leaves_nothing`.
            let error = Error::invalid(&path, *wanted, why); // unreachable: reported by the allocator, see tests/services.rs
            refusal(service, &[error])
        }
        Some((For::HealthCheck, Some(wanted))) => failed(format!("requested HealthCheck NodePort {wanted}")),
        Some((For::HealthCheck, None)) => failed("a HealthCheck NodePort 0".into()),
        _ => failed("a nodePort".into()),
    }
}

fn health_check(service: &Value) -> Need {
    (For::HealthCheck, Some(fields::health_port(service)).filter(|port| *port != 0))
}

fn number(port: &Value) -> i64 {
    port.get("port").and_then(Value::as_i64).unwrap_or_default()
}

/// By number, the first node port that any port of that number asks for.
fn requested(service: &Value) -> BTreeMap<i64, i64> {
    let mut requested = BTreeMap::new();
    for port in service.items_at(PORTS).iter().filter(|port| fields::node_port(port) != 0) {
        requested.entry(number(port)).or_insert_with(|| fields::node_port(port));
    }
    requested
}

fn set(service: &mut Value, place: usize, node_port: i64) {
    let ports = service.at_mut(PORTS).and_then(Value::as_list_mut);
    if let Some(port) = ports.and_then(|ports| ports.get_mut(place)) {
        tree::set(port, &["nodePort"], node_port);
    }
}
