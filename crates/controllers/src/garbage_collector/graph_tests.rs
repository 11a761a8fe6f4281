use std::collections::BTreeMap;

use bytes::Bytes;
use pintle_codec::ownership::Owner;
use pintle_runtime::Random;
use pintle_storage::Backend;
use pintle_storage_embedded::{Options, Store};

use super::*;
use crate::catalog::{CatalogResource, CatalogVerbs, ObjectKeys};

const PODS: ResourceId = ResourceId(0);
const NODES: ResourceId = ResourceId(1);

fn resource(backend: &Arc<dyn Backend>, name: &str, kind: &str, is_namespaced: bool) -> CatalogResource {
    CatalogResource {
        resource: GroupVersionResource::new("", "v1", name),
        kind: kind.into(),
        is_namespaced,
        verbs: CatalogVerbs { list: true, delete: true, delete_collection: true },
        stored: Some(ObjectKeys { backend: backend.clone(), prefix: Bytes::from(format!("/r/{name}/")) }),
    }
}

fn served() -> Vec<CatalogResource> {
    let backend: Arc<dyn Backend> = Arc::new(Store::open(Options::memory()).unwrap());
    vec![resource(&backend, "pods", "Pod", true), resource(&backend, "nodes", "Node", false)]
}

fn graph() -> Graph {
    let mut graph = Graph::default();
    graph.resources.update(&served());
    for (kind, name) in [("Pod", "pods"), ("Node", "nodes")] {
        let resource = GroupVersionResource::new("", "v1", name);
        graph.resources.learn(&GroupVersionKind::new("", "v1", kind), Some(&resource));
    }
    graph
}

fn uid(number: usize) -> String {
    format!("00000000-0000-0000-0000-{number:012x}")
}

fn owner(kind: &str, name: &str, number: usize, is_blocking: bool) -> Owner<'static> {
    let text = |text: String| std::borrow::Cow::Owned(text);
    Owner {
        api_version: "v1".into(),
        kind: text(kind.into()),
        name: text(name.into()),
        uid: text(uid(number)),
        controller: None,
        block_owner_deletion: Some(is_blocking),
    }
}

fn object(number: usize, owners: Vec<Owner<'static>>) -> Ownership<'static> {
    Ownership { uid: uid(number).into(), owners, ..Ownership::default() }
}

fn deleted(mut object: Ownership<'static>, finalizers: &[&'static str]) -> Ownership<'static> {
    object.is_being_deleted = true;
    object.finalizers = finalizers.iter().map(|finalizer| (*finalizer).into()).collect();
    object
}

impl Graph {
    fn put_pod(&mut self, name: &str, object: &Ownership<'static>) {
        self.put(PODS, &format!("a/{name}"), object, &Answers::new()).expect("known kinds");
    }

    /// The keys of the nodes that are to be looked at, sorted.
    fn asked(&mut self) -> Vec<String> {
        let effects = self.take_effects();
        let mut keys: Vec<_> = effects.delete.iter().filter_map(|id| Some(self.view(*id)?.key)).collect();
        keys.sort();
        keys
    }

    fn pod(&self, name: &str, number: usize) -> NodeId {
        self.find_id(PODS, &format!("a/{name}"), Uid::of(&uid(number))).expect("a node")
    }

    /// Both ends of every edge agree, counters count, and there is no node without a reason.
    fn check(&self) {
        for (place, node) in self.nodes.all() {
            assert!(node.is_needed(), "{node:?}");
            assert_eq!(self.find(node.resource, &node.key, node.uid), Some(place));
            let edge = |dependent: u32| {
                let owners = &self.node(dependent).expect("a dependent").owners;
                owners.iter().find(|edge| edge.owner == place).copied().expect("its edge")
            };
            let blocking = node.dependents().filter(|dependent| edge(*dependent).is_blocking).count();
            assert_eq!(node.blocking() as usize, blocking);
            for edge in &node.owners {
                assert!(self.node(edge.owner).expect("an owner").dependents().any(|known| known == place));
            }
        }
    }
}

#[test]
fn objects_without_owners_and_dependents_have_no_node() {
    let mut graph = graph();
    graph.put_pod("x", &object(1, vec![]));
    graph.put_pod("x", &deleted(object(1, vec![]), &["example.com/hold"]));
    assert_eq!((graph.len(), graph.index.len()), (0, 0));
    graph.put_pod("y", &object(2, vec![owner("Pod", "x", 1, false)]));
    assert_eq!((graph.len(), graph.asked()), (2, vec!["a/x".to_owned()]));
    graph.put_pod("y", &object(2, vec![]));
    assert_eq!((graph.len(), graph.index.len(), graph.asked()), (0, 0, vec![]));
}

#[test]
fn dependents_are_looked_at_when_their_owner_goes_or_never_was() {
    let mut graph = graph();
    graph.put_pod("y", &object(2, vec![owner("Pod", "x", 1, false)]));
    let x = graph.pod("x", 1);
    graph.take_effects();
    graph.verified_absent(x, false);
    assert_eq!(graph.asked(), ["a/y"]);
    graph.put_pod("z", &object(3, vec![owner("Pod", "x", 1, false)]));
    assert_eq!(graph.asked(), ["a/z"], "its end is remembered");

    graph.put_pod("w", &object(4, vec![owner("Node", "n", 5, false)]));
    assert_eq!(graph.asked(), ["n"]);
    graph.verified(graph.find_id(NODES, "n", Uid::of(&uid(5))).unwrap());
    graph.delete(NODES, "n");
    assert_eq!(graph.asked(), ["a/w"]);
    graph.check();
}

#[test]
fn an_object_under_the_same_name_is_another_one() {
    let mut graph = graph();
    graph.put_pod("x", &object(1, vec![owner("Node", "n", 9, false)]));
    graph.put_pod("y", &object(2, vec![owner("Pod", "x", 1, false)]));
    graph.take_effects();
    // The deletion in between was not seen.
    graph.put_pod("x", &object(3, vec![owner("Node", "n", 9, false)]));
    assert_eq!(graph.asked(), ["a/y", "n"]);
    let (old, new) = (graph.view(graph.pod("x", 1)).unwrap(), graph.view(graph.pod("x", 3)).unwrap());
    assert_eq!((old.existence, new.existence), (Existence::Absent, Existence::Present));
    graph.check();
}

#[test]
fn an_answer_from_before_a_deletion_does_not_count() {
    let mut graph = graph();
    graph.put_pod("y", &object(2, vec![owner("Pod", "x", 1, false)]));
    let x = graph.pod("x", 1);
    graph.begin_verification(x);
    graph.take_effects();
    graph.delete(PODS, "a/x");
    assert_eq!(graph.asked(), ["a/x"], "it is verified again");
    graph.verified(x);
    assert_eq!(graph.view(x).unwrap().existence, Existence::Unknown);
    graph.begin_verification(x);
    graph.verified(x);
    assert_eq!(graph.view(x).unwrap().existence, Existence::Present);
}

#[test]
fn an_owner_of_many_is_looked_at_once_when_the_last_of_them_is_gone() {
    const MANY: usize = 10_000;
    let mut graph = graph();
    let name = |number: usize| format!("d{number:05}");
    for number in 0..MANY {
        graph.put_pod(&name(number), &object(number + 10, vec![owner("Pod", "x", 1, true)]));
    }
    graph.verified(graph.pod("x", 1));
    graph.take_effects();
    graph.put_pod("x", &deleted(object(1, vec![]), &[FOREGROUND]));
    assert_eq!(graph.asked().len(), MANY + 1);
    let x = graph.pod("x", 1);
    let mut asked = Vec::new();
    for number in 0..MANY {
        graph.delete(PODS, &format!("a/{}", name(number)));
        asked.extend(graph.take_effects().delete);
    }
    assert_eq!(asked, [x]);
    assert_eq!((graph.len(), graph.view(x).unwrap().blocking), (1, 0));
    graph.put_pod("x", &object(1, vec![]));
    assert_eq!(graph.len(), 0);
}

#[test]
fn references_that_stop_blocking_let_their_owner_go() {
    let mut graph = graph();
    graph.put_pod("y", &object(2, vec![owner("Pod", "x", 1, true)]));
    graph.put_pod("x", &deleted(object(1, vec![]), &[FOREGROUND]));
    graph.take_effects();
    graph.put_pod("y", &object(2, vec![owner("Pod", "x", 1, false)]));
    assert_eq!(graph.asked(), ["a/x"]);
    graph.put_pod("y", &object(2, vec![owner("Pod", "x", 1, true), owner("Pod", "x", 1, false)]));
    assert_eq!(graph.view(graph.pod("x", 1)).unwrap().blocking, 1, "of two references one blocks");
    graph.put_pod("z", &object(3, vec![owner("Pod", "x", 1, false)]));
    assert_eq!(graph.asked(), ["a/z"], "a dependent that comes late goes, too");
    graph.check();
}

#[test]
fn orphaning_goes_before_waiting() {
    let mut graph = graph();
    let object = deleted(object(1, vec![]), &[ORPHAN, FOREGROUND]);
    graph.put_pod("x", &object);
    graph.put_pod("x", &object);
    let effects = graph.take_effects();
    assert_eq!((effects.orphan.len(), effects.delete.len()), (1, 0));
}

#[test]
fn the_store_is_asked_about_what_a_reload_does_not_find() {
    let mut graph = graph();
    for number in 0..3 {
        graph.put_pod(&format!("d{number}"), &object(number + 10, vec![owner("Node", "n", 1, false)]));
    }
    graph.put_pod("e", &object(20, vec![owner("Pod", "d1", 11, false)]));
    graph.take_effects();
    graph.loading = 1;
    graph.begin_load(&[PODS]);
    graph.put_pod("d0", &object(10, vec![owner("Node", "n", 1, false)]));
    graph.put_pod("e", &object(20, vec![owner("Pod", "d1", 11, false)]));
    graph.end_load(&[PODS], 7);
    assert_eq!(graph.asked(), [""; 0], "nothing is asked for while something may be missing");
    graph.loading = 0;
    graph.ask_all(None);
    assert_eq!(graph.asked(), ["a/d1", "a/d2", "n"]);
    for name in ["a/d1", "a/d2"] {
        let number = if name == "a/d1" { 11 } else { 12 };
        let id = graph.find_id(PODS, name, Uid::of(&uid(number))).expect("a node");
        graph.begin_verification(id);
        graph.verified_absent(id, false);
    }
    assert_eq!(graph.asked(), ["a/e"]);
    assert_eq!(graph.len(), 4, "d2 is forgotten, and d1 is remembered for its dependent");
    graph.check();
}

/// An owner has no node when its own resource is read, since it has no owners itself; a dependent that is read after it names it, and a
/// worker finds it in the store before everything is read.
#[test]
fn an_owner_that_is_verified_during_a_load_stays() {
    let mut graph = graph();
    graph.begin_load(&[PODS]);
    graph.put_pod("owner", &object(1, vec![]));
    graph.put_pod("d", &object(2, vec![owner("Pod", "owner", 1, false)]));
    let id = graph.find_id(PODS, "a/owner", Uid::of(&uid(1))).expect("a node");
    graph.begin_verification(id);
    graph.verified(id);
    graph.end_load(&[PODS], 7);
    assert_ne!(graph.view(id).expect("a node").existence, Existence::Absent);
    graph.begin_verification(id);
    graph.verified(id);
    assert_eq!(graph.view(id).expect("a node").existence, Existence::Present);
    graph.check();
}

#[test]
fn references_to_a_kind_without_a_resource_wait_for_one() {
    let mut graph = graph();
    let custom = GroupVersionKind::new("example.com", "v1", "Widget");
    let mut reference = owner("Widget", "w", 1, true);
    reference.api_version = "example.com/v1".into();
    let pod = object(2, vec![reference]);
    assert_eq!(graph.put(PODS, "a/y", &pod, &Answers::new()), Err(vec![custom.clone()]));
    let answers = Answers::from([(custom.clone(), None)]);
    graph.put(PODS, "a/y", &pod, &answers).unwrap();
    let unknown = graph.resources.unknown_kinds();
    assert_eq!(unknown.len(), 1);
    graph.take_effects();

    let mut all = served();
    let backend = all[0].stored.as_ref().unwrap().backend.clone();
    let mut widgets = resource(&backend, "widgets", "Widget", false);
    widgets.resource.group = "example.com".into();
    all.push(widgets.clone());
    graph.resources.update(&all);
    let to = graph.resources.of_resource(&widgets.resource).unwrap();
    graph.resources.relearn(&custom, to);
    graph.move_references(unknown[0].0, to);
    assert_eq!(graph.asked(), ["a/y", "w"]);
    assert!(graph.resources.unknown_kinds().is_empty());
    graph.check();

    // The definition goes, and its objects before it: their kind is remembered until their dependents are gone.
    graph.verified(graph.find_id(to, "w", Uid::of(&uid(1))).unwrap());
    graph.delete(to, "w");
    graph.resources.update(&served());
    assert_eq!((graph.resources.of_kind(&custom), graph.asked()), (Some(to), vec!["a/y".to_owned()]));
    graph.delete(PODS, "a/y");
    graph.resources.update(&served());
    assert_eq!((graph.resources.of_kind(&custom), graph.len()), (None, 0));
}

#[test]
fn kinds_are_forgotten_with_their_last_reference() {
    let mut graph = graph();
    for number in 0..1000 {
        let kind = GroupVersionKind::new("", "v1", format!("Kind{number}"));
        let answers = Answers::from([(kind.clone(), None)]);
        let pod = object(2, vec![owner(&kind.kind, "w", 1, true)]);
        graph.put(PODS, "a/y", &pod, &answers).unwrap();
        assert_eq!(graph.resources.unknown_kinds().len(), 1, "{number}");
    }
}

#[test]
fn a_hundred_thousand_owned_objects_take_less_than_20_mb() {
    let mut graph = graph();
    for number in 0..100_000 {
        let set = number / 10;
        let name = format!("deployment-name-{set:05}");
        let pod = object(number + 200_000, vec![owner("Pod", &name, set, true)]);
        graph.put_pod(&format!("{name}-5d4f8c7b9-{number:05}"), &pod);
    }
    assert_eq!(graph.len(), 110_000);
    let bytes = graph.memory();
    assert!(bytes < 20 << 20, "{bytes} bytes");
}

/// Random writes of few objects, beside a model of what there is.
#[test]
fn random_changes_keep_the_graph_consistent() {
    for seed in 0..200 {
        let random = Random::seeded(seed);
        let pick = |most: usize| usize::try_from(random.number()).unwrap_or(0) % most;
        let (mut graph, mut model) = (graph(), BTreeMap::<usize, Ownership<'static>>::new());
        // An object's number is its name and, with its generation, its uid.
        let mut generations = [0usize; 8];
        for _ in 0..200 {
            let number = pick(8);
            match pick(6) {
                0 => {
                    if model.remove(&number).is_some() {
                        generations[number] += 1;
                    }
                    graph.delete(PODS, &format!("a/o{number}"));
                }
                1 => {
                    graph.begin_load(&[PODS]);
                    for (number, object) in &model {
                        graph.put_pod(&format!("o{number}"), object);
                    }
                    graph.end_load(&[PODS], 1);
                }
                2 => {
                    let own = uid(number * 1000 + generations[number]);
                    if let Some(id) = graph.find_id(PODS, &format!("a/o{number}"), Uid::of(&own)) {
                        graph.begin_verification(id);
                        match model.contains_key(&number) {
                            true => graph.verified(id),
                            false => graph.verified_absent(id, false),
                        }
                    }
                }
                _ => {
                    let owners = (0..pick(4)).map(|_| {
                        let owner_number = pick(8);
                        let own = owner_number * 1000 + generations[owner_number].saturating_sub(pick(2));
                        owner("Pod", &format!("o{owner_number}"), own, pick(2) == 0)
                    });
                    let mut new = object(number * 1000 + generations[number], owners.collect());
                    if pick(4) == 0 {
                        new = deleted(new, [&[][..], &[FOREGROUND], &[ORPHAN]][pick(3)]);
                    }
                    graph.put_pod(&format!("o{number}"), &new);
                    model.insert(number, new);
                }
            }
            graph.check();
            for (number, object) in &model {
                let id = graph.find_id(PODS, &format!("a/o{number}"), Uid::of(&object.uid));
                let node = id.and_then(|id| graph.node(id.place));
                let owners: std::collections::BTreeSet<_> =
                    object.owners.iter().map(|owner| (owner.name.clone(), owner.uid.clone())).collect();
                assert_eq!(node.map_or(0, |node| node.owners.len()), owners.len(), "seed {seed}");
            }
        }
        for number in model.into_keys() {
            graph.delete(PODS, &format!("a/o{number}"));
        }
        assert_eq!((graph.len(), graph.index.len()), (0, 0), "seed {seed}");
    }
}
