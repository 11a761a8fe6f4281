use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

fn object(json: &str) -> Value {
    pintle_codec::json::decode_untyped(json.as_bytes()).expect("a test's JSON").value
}

fn pod(name: &str, node: &str, rest: &str) -> Value {
    object(&format!(
        r#"{{"metadata":{{"name":"{name}","namespace":"ns"}},"spec":{{"nodeName":"{node}"{rest}}}}}"#
    ))
}

fn volume(name: &str, claim: &str, rest: &str) -> Value {
    object(&format!(
        r#"{{"metadata":{{"name":"{name}"}},"spec":{{"claimRef":{{"namespace":"ns","name":"{claim}"}}{rest}}}}}"#
    ))
}

fn graph_of(pods: &[Value]) -> Graph {
    let mut graph = Graph::new();
    for pod in pods {
        graph.set(Kind::Pod, pod.namespace(), pod.name(), pod);
    }
    graph
}

#[test]
fn objects_of_a_pod_lead_to_its_node_only() {
    let graph = graph_of(&[pod(
        "p",
        "n1",
        r#","serviceAccountName":"sa","imagePullSecrets":[{"name":"pull"},{"name":""}],
        "initContainers":[{"envFrom":[{"secretRef":{"name":"s1"}},{"configMapRef":{"name":"c1"}}]}],
        "containers":[{"env":[{"valueFrom":{"secretKeyRef":{"name":"s2"}}},{"valueFrom":{"configMapKeyRef":{"name":"c2"}}}]}],
        "ephemeralContainers":[{"envFrom":[{"secretRef":{"name":"s3"}}]}],
        "volumes":[{"name":"a","secret":{"secretName":"s4"}},{"name":"b","configMap":{"name":"c3"}},
          {"name":"c","projected":{"sources":[{"secret":{"name":"s5"}},{"configMap":{"name":"c4"}}]}},
          {"name":"d","persistentVolumeClaim":{"claimName":"pvc"}},{"name":"e","ephemeral":{}},
          {"name":"f","csi":{"driver":"x","nodePublishSecretRef":{"name":"s6"}}},
          {"name":"g","azureFile":{"secretName":"s7"}},{"name":"h","iscsi":{"secretRef":{"name":"s8"}}}],
        "resourceClaims":[{"name":"x","resourceClaimName":"rc"}]"#,
    )]);
    let mut expected: Vec<_> = (1..=8).map(|n| (Kind::Secret, format!("s{n}"))).collect();
    expected.extend((1..=4).map(|n| (Kind::ConfigMap, format!("c{n}"))));
    expected.extend(
        [
            (Kind::Pod, "p"),
            (Kind::ServiceAccount, "sa"),
            (Kind::Secret, "pull"),
            (Kind::PersistentVolumeClaim, "pvc"),
            (Kind::PersistentVolumeClaim, "p-e"),
            (Kind::ResourceClaim, "rc"),
        ]
        .map(|(kind, name)| (kind, name.to_owned())),
    );
    for (kind, name) in &expected {
        assert!(graph.has_path(*kind, "ns", name, "n1"), "{kind:?} {name}");
        assert!(!graph.has_path(*kind, "ns", name, "n2"));
        assert!(!graph.has_path(*kind, "other", name, "n1"));
    }
    assert_eq!(graph.len(), expected.len() + 1, "{graph:#?}");
}

#[test]
fn claims_made_from_templates_count_once_they_are_known() {
    let claims = r#","resourceClaims":[{"name":"a","resourceClaimTemplateName":"t"},{"name":"b","resourceClaimTemplateName":"t"}]"#;
    let mut with_status = pod("p", "n1", claims);
    let graph = graph_of(std::slice::from_ref(&with_status));
    assert!(!graph.has_path(Kind::ResourceClaim, "ns", "t", "n1"));
    let status = object(
        r#"{"resourceClaimStatuses":[{"name":"a","resourceClaimName":"p-a"},{"name":"b"}],"extendedResourceClaimStatus":{"resourceClaimName":"x"}}"#,
    );
    with_status.as_object_mut().expect("a pod").insert("status", status);
    let graph = graph_of(&[with_status]);
    assert!(graph.has_path(Kind::ResourceClaim, "ns", "p-a", "n1"));
    assert!(graph.has_path(Kind::ResourceClaim, "ns", "x", "n1"));
}

#[test]
fn a_mirror_pod_gives_its_node_nothing() {
    let mut mirror = pod("p", "n1", r#","volumes":[{"name":"a","secret":{"secretName":"s"}}]"#);
    let annotations = object(r#"{"kubernetes.io/config.mirror":"x"}"#);
    mirror.metadata_mut().expect("metadata").insert("annotations", annotations);
    let graph = graph_of(&[mirror]);
    assert!(graph.has_path(Kind::Pod, "ns", "p", "n1"));
    assert!(!graph.has_path(Kind::Secret, "ns", "s", "n1"));
}

#[test]
fn a_pod_without_a_node_leads_to_no_node() {
    let mut graph = graph_of(&[pod("p", "", r#","serviceAccountName":"sa""#)]);
    assert!(graph.is_empty());
    graph.set(Kind::Pod, "ns", "p", &pod("p", "n1", r#","serviceAccountName":"sa""#));
    assert!(graph.has_path(Kind::ServiceAccount, "ns", "sa", "n1"));
    graph.remove(Kind::Pod, "ns", "p");
    assert!(graph.is_empty(), "{graph:?}");
}

#[test]
fn secrets_of_volumes_lead_through_claims() {
    let uses = |name: &str, node: &str| {
        pod(name, node, r#","volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"c"}}]"#)
    };
    let csi = r#","csi":{"driver":"d","nodeStageSecretRef":{"namespace":"x","name":"s"},"controllerPublishSecretRef":{"namespace":"x","name":"t"}}"#;
    let mut graph = Graph::new();
    graph.set(Kind::PersistentVolume, "", "v", &volume("v", "c", csi));
    assert!(!graph.has_path(Kind::Secret, "x", "s", "n1"));
    graph.set(Kind::Pod, "ns", "a", &uses("a", "n1"));
    graph.set(Kind::Pod, "ns", "b", &uses("b", "n1"));
    graph.set(Kind::Pod, "ns", "c", &uses("c", "n2"));
    for node in ["n1", "n2"] {
        assert!(graph.has_path(Kind::PersistentVolume, "", "v", node));
        assert!(graph.has_path(Kind::Secret, "x", "s", node));
        assert!(!graph.has_path(Kind::Secret, "x", "t", node), "the controller's secret");
    }
    graph.remove(Kind::Pod, "ns", "a");
    assert!(graph.has_path(Kind::Secret, "x", "s", "n1"));
    graph.remove(Kind::Pod, "ns", "b");
    assert!(!graph.has_path(Kind::Secret, "x", "s", "n1"));
    assert!(graph.has_path(Kind::Secret, "x", "s", "n2"));
    graph.remove(Kind::PersistentVolume, "", "v");
    assert!(!graph.has_path(Kind::Secret, "x", "s", "n2"));
    assert!(graph.has_path(Kind::PersistentVolumeClaim, "ns", "c", "n2"));
}

#[test]
fn a_secret_without_a_namespace_may_be_of_the_claim_s() {
    let user = pod("a", "n", r#","volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"c"}}]"#);
    for (source, namespace) in [
        (r#","rbd":{"secretRef":{"name":"s"}}"#, "ns"),
        (r#","rbd":{"secretRef":{"name":"s","namespace":"x"}}"#, "x"),
        (r#","azureFile":{"secretName":"s"}"#, "ns"),
        (r#","azureFile":{"secretName":"s","secretNamespace":"x"}"#, "x"),
        (r#","cinder":{"secretRef":{"name":"s"}}"#, ""),
    ] {
        let mut graph = graph_of(std::slice::from_ref(&user));
        graph.set(Kind::PersistentVolume, "", "v", &volume("v", "c", source));
        for place in ["ns", "x", ""] {
            assert_eq!(graph.has_path(Kind::Secret, place, "s", "n"), place == namespace, "{source} {place}");
        }
    }
}

#[test]
fn clearing_one_kind_leaves_the_others() {
    let mut graph = graph_of(&[pod("p", "n1", r#","serviceAccountName":"sa""#)]);
    let attachment = object(r#"{"spec":{"nodeName":"n1"}}"#);
    graph.set(Kind::VolumeAttachment, "", "va", &attachment);
    graph.clear(Kind::Pod);
    assert!(!graph.has_path(Kind::ServiceAccount, "ns", "sa", "n1"));
    assert!(graph.has_path(Kind::VolumeAttachment, "", "va", "n1"));
    graph.clear(Kind::VolumeAttachment);
    assert!(graph.is_empty());
}

#[test]
fn hostile_names_find_nothing_of_others() {
    let graph = graph_of(&[pod("p", "n1", r#","serviceAccountName":"sa""#)]);
    let long = "x".repeat(10_000);
    for (namespace, name) in [("ns\0sa", ""), ("", "ns\0sa"), ("n", "s\0sa"), (&long, &long), ("", "")] {
        assert!(!graph.has_path(Kind::ServiceAccount, namespace, name, "n1"));
    }
    assert!(!graph.has_path(Kind::Pod, "ns", "p", &long));
}

/// A configmap that every pod uses, a secret that every volume uses: asking about them must not cost more for it. This takes
/// minutes if a check walks.
#[test]
fn ten_thousand_pods_are_small_and_quick_to_ask_about() {
    let mut graph = Graph::new();
    for n in 0..10_000 {
        let (node, name) = (format!("node-{}", n % 1000), format!("pod-{n}"));
        let rest = format!(
            r#","serviceAccountName":"sa-{}","volumes":[{{"name":"a","configMap":{{"name":"all"}}}},
            {{"name":"b","persistentVolumeClaim":{{"claimName":"claim-{n}"}}}},{{"name":"c","secret":{{"secretName":"secret-{}"}}}}]"#,
            n % 50,
            n % 500
        );
        graph.set(Kind::Pod, "ns", &name, &pod(&name, &node, &rest));
        let csi = r#","csi":{"nodePublishSecretRef":{"namespace":"x","name":"shared"}}"#;
        graph.set(Kind::PersistentVolume, "", &name, &volume(&name, &format!("claim-{n}"), csi));
    }
    let bytes: usize = graph.slots.len() * (size_of::<Option<Vertex>>() + size_of::<(Arc<str>, Id)>() * 2)
        + graph.slots.iter().flatten().map(Vertex::heap).sum::<usize>();
    assert!(bytes < 10_000_000, "{bytes} bytes for {} vertices", graph.len());
    for n in 0..100_000 {
        let node = format!("node-{}", n % 1000);
        assert!(graph.has_path(Kind::Secret, "x", "shared", &node));
        assert!(!graph.has_path(Kind::Secret, "x", "shared", "elsewhere"));
    }
}

impl Vertex {
    fn heap(&self) -> usize {
        let nodes = self.nodes.iter().count();
        let counts = if nodes > 1 { 24 + nodes * 16 } else { 0 };
        16 + self.key.len() + counts + self.related.capacity() * size_of::<Id>()
    }
}

#[derive(Clone, Debug)]
enum Step {
    Set(Kind, u8, Value),
    Remove(Kind, u8),
    Clear(Kind),
}

fn any_object(kind: Kind) -> BoxedStrategy<Value> {
    match kind {
        Kind::Pod => (0..4_u8, vec(0..3_u8, 0..3), vec(0..3_u8, 0..3), 0..3_u8, any::<bool>())
            .prop_map(|(node, secrets, claims, account, mirror)| {
                let node = if node == 0 { String::new() } else { format!("n{node}") };
                let secrets = secrets.iter().map(|n| format!(r#"{{"secret":{{"secretName":"s{n}"}}}}"#));
                let claims =
                    claims.iter().map(|n| format!(r#"{{"persistentVolumeClaim":{{"claimName":"c{n}"}}}}"#));
                let volumes: Vec<_> = secrets.chain(claims).collect();
                let mark = if mirror { r#","annotations":{"kubernetes.io/config.mirror":"x"}"# } else { "" };
                object(&format!(
                    r#"{{"metadata":{{"namespace":"ns"{mark}}},"spec":{{"nodeName":"{node}","serviceAccountName":"a{account}","volumes":[{}]}}}}"#,
                    volumes.join(",")
                ))
            })
            .boxed(),
        Kind::PersistentVolume => (0..4_u8, vec(0..3_u8, 3))
            .prop_map(|(claim, secrets)| {
                let references: Vec<_> = ["nodePublishSecretRef", "nodeStageSecretRef", "nodeExpandSecretRef"]
                    .iter()
                    .zip(secrets)
                    .map(|(field, n)| format!(r#""{field}":{{"namespace":"ns","name":"s{n}"}}"#))
                    .collect();
                let claim = match claim {
                    0 => String::new(),
                    n => format!(r#""claimRef":{{"namespace":"ns","name":"c{}"}},"#, n - 1),
                };
                object(&format!(r#"{{"spec":{{{claim}"csi":{{{}}}}}}}"#, references.join(",")))
            })
            .boxed(),
        _ => (0..4_u8)
            .prop_map(|node| {
                let node = if node == 0 { String::new() } else { format!("n{node}") };
                object(&format!(r#"{{"spec":{{"nodeName":"{node}"}}}}"#))
            })
            .boxed(),
    }
}

fn any_step() -> impl Strategy<Value = Step> {
    let kinds = proptest::sample::select(Kind::SOURCES.to_vec());
    kinds.prop_flat_map(|kind| {
        prop_oneof![
            8 => (0..4_u8, any_object(kind)).prop_map(move |(name, value)| Step::Set(kind, name, value)),
            4 => (0..4_u8).prop_map(move |name| Step::Remove(kind, name)),
            1 => Just(Step::Clear(kind)),
        ]
    })
}

/// The definition of a path from an object to a node, as a walk.
fn walked(left: &BTreeMap<(Kind, u8), Value>, kind: Kind, name: &str, node: &str) -> bool {
    left.iter().any(|((source, id), object)| {
        let Some(references) = references::of(*source, object) else { return false };
        let names = references.sources.iter().any(|(of, _, it)| (*of, it.as_str()) == (kind, name));
        let itself = *source == kind && format!("o{id}") == name;
        match references.claim {
            Some((_, claim)) => (names || itself) && walked(left, Kind::PersistentVolumeClaim, &claim, node),
            None => references.node == node && (names || itself),
        }
    })
}

proptest! {
    /// The counts are right whatever happened before, and nothing is left behind.
    #[test]
    fn after_any_changes_it_is_as_if_built_from_what_is_left(steps in vec(any_step(), 0..60)) {
        let mut graph = Graph::new();
        let mut left = BTreeMap::new();
        let namespace = |kind| if kind == Kind::Pod || kind == Kind::PodCertificateRequest { "ns" } else { "" };
        for step in steps {
            match step {
                Step::Set(kind, name, value) => {
                    graph.set(kind, namespace(kind), &format!("o{name}"), &value);
                    left.insert((kind, name), value);
                }
                Step::Remove(kind, name) => {
                    graph.remove(kind, namespace(kind), &format!("o{name}"));
                    left.remove(&(kind, name));
                }
                Step::Clear(kind) => {
                    graph.clear(kind);
                    left.retain(|(of, _), _| *of != kind);
                }
            }
        }
        let mut anew = Graph::new();
        for ((kind, name), value) in &left {
            anew.set(*kind, namespace(*kind), &format!("o{name}"), value);
        }
        prop_assert_eq!(format!("{graph:#?}"), format!("{anew:#?}"));
        for node in ["n1", "n2", "n3"] {
            for n in 0..4 {
                for (kind, letter) in [(Kind::Secret, 's'), (Kind::PersistentVolumeClaim, 'c'), (Kind::ServiceAccount, 'a')] {
                    let name = format!("{letter}{n}");
                    prop_assert_eq!(graph.has_path(kind, "ns", &name, node), walked(&left, kind, &name, node));
                }
                for kind in Kind::SOURCES {
                    let name = format!("o{n}");
                    prop_assert_eq!(graph.has_path(kind, namespace(kind), &name, node), walked(&left, kind, &name, node));
                }
            }
        }
    }
}
