//! Slices of services: tables, and random changes of pods against a model.

use std::collections::BTreeSet;

use pintle_runtime::Random;

use super::*;

fn object(json: &str) -> Value {
    pintle_codec::json::decode_untyped(json.as_bytes()).expect("JSON").value
}

fn service(labels: &str, spec: &str) -> Value {
    object(&format!(
        r#"{{"metadata":{{"namespace":"n","name":"s","uid":"own","labels":{{{labels}}}}},"spec":{{{spec}}}}}"#
    ))
}

fn endpoint(number: u64, ready: bool) -> Endpoint {
    Endpoint(object(&format!(
        r#"{{"addresses":["10.0.{}.{}"],"conditions":{{"ready":{ready}}},"zone":"z","nodeName":"o",
            "targetRef":{{"kind":"Pod","namespace":"n","name":"p{number}"}}}}"#,
        number / 250,
        number % 250 + 1
    )))
}

fn port(number: u16) -> Vec<Value> {
    vec![object(&format!(r#"{{"name":"","protocol":"TCP","port":{number}}}"#))]
}

fn desired(endpoints: impl IntoIterator<Item = (u16, u64, bool)>) -> Desired {
    let mut desired = Desired::default();
    for (number, pod, ready) in endpoints {
        desired.add(port(number), Some(endpoint(pod, ready)));
    }
    desired
}

/// The slices of a service as a store would have them.
#[derive(Default)]
struct Slices {
    slices: Vec<Value>,
    created: usize,
}

impl Slices {
    /// Does what was planned, and returns the number of writes.
    fn apply(&mut self, plan: Plan) -> usize {
        let writes = plan.create.len() + plan.update.len() + plan.delete.len();
        self.slices.retain(|slice| plan.delete.iter().all(|deleted| deleted.name() != slice.name()));
        for updated in plan.update {
            let place = self.slices.iter().position(|slice| slice.name() == updated.name());
            self.slices[place.expect("an update of a slice that exists")] = updated;
        }
        for mut created in plan.create {
            self.created += 1;
            let name = format!("s-{}", self.created);
            created.metadata_mut().expect("metadata").insert("name", name);
            self.slices.push(created);
        }
        writes
    }

    fn plan(&self, service: &Value, desired: Desired, most: usize) -> Plan {
        plan(service, Family::V4, desired, &self.slices, most)
    }

    fn sync(&mut self, service: &Value, desired: Desired, most: usize) -> usize {
        let plan = self.plan(service, desired, most);
        self.apply(plan)
    }

    fn sizes(&self) -> Vec<usize> {
        let mut sizes: Vec<_> =
            self.slices.iter().map(|slice| slice.items_at(&["endpoints"]).len()).collect();
        sizes.sort_unstable();
        sizes
    }
}

#[test]
fn a_service_without_endpoints_has_one_slice_without_ports() {
    let (mut slices, service) = (Slices::default(), service("", r#""clusterIP":"None""#));
    assert_eq!(slices.sync(&service, Desired::default(), 100), 1);
    let slice = slices.slices[0].clone();
    assert!(slice.items_at(&["ports"]).is_empty() && slice.items_at(&["endpoints"]).is_empty());
    let label = |key| slice.label(key);
    assert_eq!(label(SERVICE_NAME), Some("s"));
    assert_eq!(label(MANAGED_BY), Some(MANAGER));
    assert_eq!(label(HEADLESS), Some(""));
    assert_eq!(slices.sync(&service, Desired::default(), 100), 0, "it stays");
    assert_eq!(slices.sync(&service, desired([(80, 1, true)]), 100), 1, "it is taken for the endpoint");
    assert_eq!(slices.slices.len(), 1);
    assert_eq!(slices.sync(&service, Desired::default(), 100), 1);
    assert_eq!((slices.sizes(), slices.slices[0].name()), (vec![0], "s-1"));
}

#[test]
fn endpoints_are_packed_and_gaps_are_filled_by_slices_that_change_anyway() {
    let (mut slices, service) = (Slices::default(), service("", r#""clusterIP":"10.0.0.1""#));
    let all = |range: std::ops::Range<u64>| desired(range.map(|pod| (80, pod, true)));
    slices.sync(&service, all(0..250), 100);
    assert_eq!(slices.sizes(), [50, 100, 100]);
    assert_eq!(slices.sync(&service, all(0..250), 100), 0);
    // Endpoints that fit go into the slice with room.
    assert_eq!(slices.sync(&service, all(0..290), 100), 1);
    assert_eq!(slices.sizes(), [90, 100, 100]);
    // A rolling update: as many come as go, in the slices that change.
    slices.sync(&service, all(10..300), 100);
    assert_eq!(slices.sizes(), [90, 100, 100]);
    assert_eq!(slices.created, 3);
    let plan = slices.plan(&service, all(10..300), 100);
    assert_eq!(plan.totals, Totals { endpoints: 290, slices: 3, fewest: 3 });
}

#[test]
fn endpoints_with_other_ports_have_slices_of_their_own() {
    let (mut slices, service) = (Slices::default(), service("", ""));
    slices.sync(&service, desired([(80, 1, true), (81, 2, true), (80, 3, true)]), 100);
    assert_eq!(slices.sizes(), [1, 2]);
    assert_eq!(slices.sync(&service, desired([(80, 1, true), (80, 2, true), (80, 3, true)]), 100), 2);
    assert_eq!(slices.sizes(), [3]);
}

#[test]
fn a_changed_condition_or_label_is_one_write() {
    let mut slices = Slices::default();
    let plain = service("", "");
    slices.sync(&plain, desired([(80, 1, true), (80, 2, true)]), 100);
    assert_eq!(slices.sync(&plain, desired([(80, 1, false), (80, 2, true)]), 100), 1);
    let labelled = service(r#""app":"x","endpointslice.kubernetes.io/managed-by":"me""#, "");
    assert_eq!(slices.sync(&labelled, desired([(80, 1, false), (80, 2, true)]), 100), 1);
    assert_eq!(slices.slices[0].label("app"), Some("x"));
    assert_eq!(slices.slices[0].label(MANAGED_BY), Some(MANAGER), "a reserved label is not the service's");
    assert_eq!(slices.sync(&labelled, desired([(80, 1, false), (80, 2, true)]), 100), 0);
}

#[test]
fn slices_of_a_former_service_are_replaced() {
    let mut slices = Slices::default();
    slices.sync(&service("", ""), desired([(80, 1, true)]), 100);
    let again = object(r#"{"metadata":{"namespace":"n","name":"s","uid":"other"},"spec":{}}"#);
    let plan = slices.plan(&again, desired([(80, 1, true)]), 100);
    assert_eq!((plan.create.len(), plan.update.len(), plan.delete.len()), (1, 0, 1));
}

#[test]
fn hints_follow_the_traffic_distribution() {
    let mut slices = Slices::default();
    let (near, same_node, plain) = (
        service("", r#""trafficDistribution":"PreferClose""#),
        service("", r#""trafficDistribution":"PreferSameNode""#),
        service("", ""),
    );
    let both = || desired([(80, 1, true), (80, 2, false)]);
    slices.sync(&near, both(), 100);
    let hints = |slices: &Slices| {
        let endpoints = slices.slices[0].items_at(&["endpoints"]).to_vec();
        let name = |field: &'static str| {
            move |endpoint: &Value| {
                let names = endpoint.items_at(&["hints", field]).iter();
                names.map(|name| name.text_at(&["name"]).to_owned()).collect::<String>()
            }
        };
        [
            endpoints.iter().map(name("forZones")).collect::<String>(),
            endpoints.iter().map(name("forNodes")).collect(),
        ]
    };
    assert_eq!(hints(&slices), ["z", ""], "only of the ready one");
    assert_eq!(slices.sync(&near, both(), 100), 0);
    assert_eq!(slices.sync(&same_node, both(), 100), 1);
    assert_eq!(hints(&slices), ["z", "o"]);
    assert_eq!(slices.sync(&plain, both(), 100), 1);
    assert_eq!(hints(&slices), ["", ""]);
}

/// Whatever pods come, go and change, the slices have exactly the endpoints, none is too long, and a second look writes nothing.
#[test]
fn random_changes_of_pods_converge_in_one_round() {
    const MOST: usize = 7;
    for seed in 0..40 {
        let random = Random::seeded(seed);
        let number = |below: u64| random.number() % below;
        let (mut slices, service) = (Slices::default(), service("", ""));
        let mut pods: BTreeMap<u64, (u16, bool)> = BTreeMap::new();
        for round in 0..30 {
            for _ in 0..number(12) {
                let pod = number(40);
                match number(3) {
                    0 => drop(pods.remove(&pod)),
                    _ => drop(pods.insert(pod, (80 + (number(2) as u16), number(2) == 0))),
                }
            }
            let wanted = || desired(pods.iter().map(|(pod, (port, ready))| (*port, *pod, *ready)));
            let plan = slices.plan(&service, wanted(), MOST);
            let fewest = plan.totals.fewest;
            slices.apply(plan);
            let mut found = BTreeSet::new();
            for slice in &slices.slices {
                let endpoints = slice.items_at(&["endpoints"]);
                assert!(endpoints.len() <= MOST);
                let port = slice.items_at(&["ports"]).first().and_then(|port| port.get("port")?.as_i64());
                for endpoint in endpoints {
                    let endpoint = Endpoint(endpoint.clone());
                    assert!(
                        found.insert((endpoint.identity(), port, endpoint.is_ready())),
                        "it is there twice"
                    );
                }
            }
            let expected: BTreeSet<_> = pods
                .iter()
                .map(|(pod, (port, ready))| (endpoint(*pod, *ready).identity(), Some((*port).into()), *ready))
                .collect();
            assert_eq!(found, expected, "seed {seed}, round {round}");
            assert_eq!(slices.sync(&service, wanted(), MOST), 0, "seed {seed}, round {round}");
            let totals = slices.plan(&service, wanted(), MOST).totals;
            assert_eq!(totals.slices, slices.slices.len(), "seed {seed}, round {round}");
            assert!(totals.slices >= fewest);
        }
    }
}
