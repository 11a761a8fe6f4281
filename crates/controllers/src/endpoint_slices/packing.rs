//! Packing endpoints into slices with as few writes as possible.
//!
//! ```text
//! slice with endpoints that changed or went    written anyway, so new endpoints fill it up first
//! the rest fits into a slice that is as it was  the fullest such slice takes it
//! else                                          new slices
//! slice without endpoints                       deleted, or taken for a new one
//! ```
//!
//! Endpoints with the same ports share slices. A service without endpoints has one slice without ports.

use std::collections::BTreeMap;

use pintle_meta::{Object, Value};

use super::endpoints::{Endpoint, Family};

/// The value of the label that says who looks after a slice.
pub(super) const MANAGER: &str = "endpointslice-controller.k8s.io";

pub(super) const SERVICE_NAME: &str = "kubernetes.io/service-name";
pub(super) const MANAGED_BY: &str = "endpointslice.kubernetes.io/managed-by";
const HEADLESS: &str = "service.kubernetes.io/headless";

/// Endpoints that have the same ports.
#[derive(Debug, Default)]
pub(super) struct Group {
    ports: Vec<Value>,
    /// By their identity.
    endpoints: BTreeMap<String, Endpoint>,
}

/// The endpoints that a service should have in one family, by a text of their ports.
#[derive(Debug, Default)]
pub(super) struct Desired(BTreeMap<String, Group>);

impl Desired {
    /// Adds a pod's ports and, if it has an address, its endpoint.
    pub(super) fn add(&mut self, ports: Vec<Value>, endpoint: Option<Endpoint>) {
        let group = self.0.entry(key_of(&ports)).or_default();
        group.ports = ports;
        if let Some(endpoint) = endpoint {
            group.endpoints.insert(endpoint.identity(), endpoint);
        }
    }
}

/// The writes that bring the slices of a service in one family to what they should be.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) create: Vec<Value>,
    pub(super) update: Vec<Value>,
    pub(super) delete: Vec<Value>,
    pub(super) added: usize,
    pub(super) removed: usize,
    /// Endpoints, slices, and the fewest slices that could have them.
    pub(super) totals: Totals,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Totals {
    pub(super) endpoints: usize,
    pub(super) slices: usize,
    pub(super) fewest: usize,
}

/// Hints for kube-proxy of where to route traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hints {
    None,
    /// Each endpoint for its own zone, and for its own node too.
    Zones {
        nodes: bool,
    },
    /// Slices of another controller.
    Kept,
}

impl Hints {
    pub(super) fn of_service(service: &Value) -> Hints {
        let mode = ["service.kubernetes.io/topology-aware-hints", "service.kubernetes.io/topology-mode"];
        let mode = mode.iter().find_map(|annotation| service.annotation(annotation));
        match (mode, service.text_at(&["spec", "trafficDistribution"])) {
            (Some("Auto" | "auto"), _) => Hints::Kept,
            (_, "PreferClose" | "PreferSameZone") => Hints::Zones { nodes: false },
            (_, "PreferSameNode") => Hints::Zones { nodes: true },
            _ => Hints::None,
        }
    }

    /// Sets the hints of an endpoint. Returns whether they were others.
    fn set(self, endpoint: &mut Value) -> bool {
        let hints = match self {
            Hints::Kept => return false,
            Hints::None => Object::default(),
            Hints::Zones { .. } if !Endpoint(endpoint.clone()).is_ready() => return false,
            Hints::Zones { nodes } => {
                let mut hints = Object::default();
                let mut add = |field: &'static str, name: &str| {
                    if !name.is_empty() {
                        hints.insert(field, vec![Value::object(Object::from_iter([("name", name)]))]);
                    }
                };
                add("forZones", endpoint.text_at(&["zone"]));
                add("forNodes", if nodes { endpoint.text_at(&["nodeName"]) } else { "" });
                hints
            }
        };
        let hints = (!hints.is_empty()).then(|| Value::object(hints));
        let Some(fields) = endpoint.as_object_mut() else { return false };
        if fields.get("hints") == hints.as_ref() {
            return false;
        }
        match hints {
            Some(hints) => fields.insert("hints", hints),
            None => fields.remove("hints"),
        };
        true
    }
}

/// Returns a text that is the same for the same ports in any order.
fn key_of(ports: &[Value]) -> String {
    let port = |port: &Value| {
        let number = port.get("port").and_then(Value::as_i64);
        let text = |field| port.text_at(&[field]);
        format!("{}|{}|{number:?}|{}", text("name"), text("protocol"), text("appProtocol"))
    };
    let mut ports: Vec<String> = ports.iter().map(port).collect();
    ports.sort_unstable();
    ports.join(",")
}

/// Plans the slices of a service in a family. `existing` are those that it has there.
pub(super) fn plan(
    service: &Value,
    family: Family,
    desired: Desired,
    existing: &[Value],
    most: usize,
) -> Plan {
    let mut plan = Plan::default();
    let mut by_ports: BTreeMap<String, Vec<&Value>> = BTreeMap::new();
    for slice in existing {
        match is_owned(slice, service) {
            true => by_ports.entry(key_of(slice.items_at(&["ports"]))).or_default().push(slice),
            false => plan.delete.push(slice.clone()),
        }
    }
    let mut unchanged = Vec::new();
    for (ports, group) in desired.0 {
        let slices = by_ports.remove(&ports).unwrap_or_default();
        pack(&mut plan, &mut unchanged, service, family, group, &slices, most);
    }
    plan.delete.extend(by_ports.into_values().flatten().cloned());
    if plan.delete.len() == existing.len() && plan.create.is_empty() {
        let empty = new_slice(service, family, &[], Vec::new());
        match &*plan.delete {
            [only] if is_placeholder(only, &empty) && is_owned(only, service) => plan.delete.clear(),
            _ => plan.create.push(empty),
        }
        plan.totals.slices += 1;
    }
    hint(&mut plan, unchanged, Hints::of_service(service));
    reuse(&mut plan, service);
    plan.totals.fewest = plan.totals.fewest.max(1);
    plan
}

/// Packs the endpoints that have the same ports.
fn pack(
    plan: &mut Plan,
    unchanged: &mut Vec<Value>,
    service: &Value,
    family: Family,
    group: Group,
    existing: &[&Value],
    most: usize,
) {
    let Group { ports, endpoints: mut missing } = group;
    plan.totals.endpoints += missing.len();
    plan.totals.fewest += missing.len().div_ceil(most);
    let (mut changed, mut same) = (Vec::new(), Vec::new());
    let deleted_before = plan.delete.len();
    for slice in existing {
        let old = slice.items_at(&["endpoints"]);
        let (mut kept, mut differs) = (Vec::with_capacity(old.len()), false);
        for endpoint in old.iter().cloned().map(Endpoint) {
            if let Some(mut wanted) = missing.remove(&endpoint.identity()) {
                differs |= !wanted.is_like(&endpoint);
                keep_hints(&mut wanted, &endpoint);
                kept.push(wanted.0);
            }
        }
        plan.removed += old.len() - kept.len();
        let (labels, relabelled) = labels(slice, service);
        if kept.is_empty() && !old.is_empty() {
            plan.delete.push((*slice).clone());
        } else if differs || kept.len() != old.len() || relabelled {
            let mut new = (*slice).clone();
            set_labels(&mut new, labels);
            changed.push((new, kept));
        } else {
            same.push(((*slice).clone(), kept));
        }
    }
    plan.added += missing.len();
    // The fullest first.
    changed.sort_by_key(|(_, endpoints)| std::cmp::Reverse(endpoints.len()));
    for (_, endpoints) in &mut changed {
        fill(endpoints, &mut missing, most);
    }
    let created_before = plan.create.len();
    while !missing.is_empty() {
        let room = |(place, (_, endpoints)): (usize, &(Value, Vec<Value>))| {
            Some((most.checked_sub(endpoints.len() + missing.len())?, place))
        };
        let fullest = same.iter().enumerate().filter_map(room).min();
        match fullest.filter(|(room, _)| *room < most && missing.len() < most) {
            Some((_, place)) => {
                let (slice, mut endpoints) = same.swap_remove(place);
                fill(&mut endpoints, &mut missing, most);
                changed.push((slice, endpoints));
            }
            None => {
                let mut endpoints = Vec::new();
                fill(&mut endpoints, &mut missing, most);
                plan.create.push(new_slice(service, family, &ports, endpoints));
            }
        }
    }
    plan.update.extend(changed.into_iter().map(|(slice, endpoints)| with_endpoints(slice, endpoints)));
    unchanged.extend(same.into_iter().map(|(slice, _)| slice));
    let (created, deleted) = (plan.create.len() - created_before, plan.delete.len() - deleted_before);
    plan.totals.slices += existing.len() + created - deleted;
}

/// Moves endpoints into a slice until it is full.
fn fill(slice: &mut Vec<Value>, missing: &mut BTreeMap<String, Endpoint>, most: usize) {
    while slice.len() < most
        && let Some((_, endpoint)) = missing.pop_first()
    {
        slice.push(endpoint.0);
    }
}

fn keep_hints(wanted: &mut Endpoint, old: &Endpoint) {
    if let (Some(fields), Some(hints)) = (wanted.0.as_object_mut(), old.0.get("hints")) {
        fields.insert("hints", hints.clone());
    }
}

/// Sets the hints of all slices; one that is as it was otherwise is updated for them.
fn hint(plan: &mut Plan, unchanged: Vec<Value>, hints: Hints) {
    let set = |slice: &mut Value| {
        let endpoints = slice.get_mut("endpoints").and_then(Value::as_list_mut);
        endpoints.map_or(0, |endpoints| {
            endpoints.iter_mut().filter_map(|one| hints.set(one).then_some(())).count()
        })
    };
    for slice in plan.create.iter_mut().chain(&mut plan.update) {
        set(slice);
    }
    for mut slice in unchanged {
        if set(&mut slice) > 0 {
            plan.update.push(slice);
        }
    }
}

/// Takes slices that would be deleted for ones that would be created.
fn reuse(plan: &mut Plan, service: &Value) {
    let mut kept = Vec::new();
    for old in std::mem::take(&mut plan.delete) {
        match plan.create.pop_if(|_| is_owned(&old, service)) {
            Some(mut new) => {
                if let Some(metadata) = new.metadata_mut() {
                    metadata.insert("name", old.name());
                }
                plan.update.push(new);
            }
            None => kept.push(old),
        }
    }
    plan.delete = kept;
}

/// Returns whether a service is an owner of a slice.
fn is_owned(slice: &Value, service: &Value) -> bool {
    slice.owner_references().iter().any(|owner| {
        owner.text_at(&["uid"]) == service.uid()
            && owner.text_at(&["kind"]) == "Service"
            && owner.text_at(&["apiVersion"]) == "v1"
    })
}

fn is_placeholder(slice: &Value, empty: &Value) -> bool {
    let sorted = |slice: &Value| -> BTreeMap<String, String> {
        slice.labels().map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
    };
    slice.items_at(&["endpoints"]).is_empty()
        && slice.items_at(&["ports"]).is_empty()
        && sorted(slice) == sorted(empty)
}

fn new_slice(service: &Value, family: Family, ports: &[Value], endpoints: Vec<Value>) -> Value {
    let mut owner = Object::from_iter([
        ("apiVersion", "v1"),
        ("kind", "Service"),
        ("name", service.name()),
        ("uid", service.uid()),
    ]);
    owner.insert("controller", true);
    owner.insert("blockOwnerDeletion", true);
    let mut metadata = Object::default();
    metadata.insert("generateName", format!("{}-", service.name()));
    metadata.insert("namespace", service.namespace());
    metadata.insert("ownerReferences", vec![Value::object(owner)]);
    let mut slice = Object::from_iter([
        ("kind", "EndpointSlice"),
        ("apiVersion", "discovery.k8s.io/v1"),
        ("addressType", family.name()),
    ]);
    slice.insert("metadata", Value::object(metadata));
    slice.insert("ports", ports.to_vec());
    slice.insert("endpoints", endpoints);
    let mut slice = Value::object(slice);
    let (labels, _) = labels(&slice, service);
    set_labels(&mut slice, labels);
    slice
}

fn with_endpoints(mut slice: Value, endpoints: Vec<Value>) -> Value {
    if let Some(fields) = slice.as_object_mut() {
        fields.insert("endpoints", endpoints);
    }
    slice
}

/// Returns the labels that a slice should have: the service's own and those of slices; and whether the service's are others now.
fn labels(slice: &Value, service: &Value) -> (BTreeMap<String, String>, bool) {
    let own = |object: &Value| -> BTreeMap<String, String> {
        let is_own = |key: &str| ![SERVICE_NAME, MANAGED_BY, HEADLESS].contains(&key);
        let labels = object.labels().filter(|(key, _)| is_own(key));
        labels.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
    };
    let mut labels = own(service);
    let differ = labels != own(slice);
    if matches!(service.text_at(&["spec", "clusterIP"]), "" | "None") {
        labels.insert(HEADLESS.into(), String::new());
    }
    labels.insert(SERVICE_NAME.into(), service.name().into());
    labels.insert(MANAGED_BY.into(), MANAGER.into());
    (labels, differ)
}

fn set_labels(slice: &mut Value, labels: BTreeMap<String, String>) {
    let labels = Object::from_iter(labels.iter().map(|(key, value)| (key.as_str(), value.as_str())));
    if let Some(metadata) = slice.metadata_mut() {
        metadata.insert("labels", Value::object(labels));
    }
}

#[cfg(test)]
#[path = "packing_tests.rs"]
mod tests;
