//! Recorded creates: what the reference answered is the request with its defaults, but for what comes after defaulting.

use std::collections::BTreeSet;

use pintle_meta::Node;
use pintle_published::recorded;

use super::*;

fn read(text: &[u8]) -> Value {
    json::decode_any(text).unwrap().value
}

/// A request and its answer.
struct Exchange {
    case: String,
    step: Value,
    answer: Value,
}

/// What was recorded as it was.
fn exchanges() -> Vec<Exchange> {
    let mut found = Vec::new();
    for (cases, golden) in recorded::exchanges() {
        let (cases, golden) = (read(cases.as_bytes()), read(golden.as_bytes()));
        for case in cases.items_at(&["cases"]) {
            let id = case.text_at(&["id"]);
            // Some steps are not recorded, and of some not all.
            let recorded = |step: &&Value| step.get("sleep").is_none() && step.get("quiet").is_none();
            let steps = case.items_at(&["steps"]).iter().filter(recorded);
            let steps = steps.zip(golden.items_at(&[id])).filter(|(step, _)| step.get("ignore").is_none());
            found.extend(steps.filter_map(|(step, answer)| {
                Some(Exchange { case: id.into(), step: step.clone(), answer: answer.get("body")?.clone() })
            }));
        }
    }
    found
}

/// The type of an object, if it is built in.
pub(super) fn kind_of(object: &Value) -> Option<&'static Type> {
    let api_version = object.text_at(&["apiVersion"]);
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    pintle_schema::find_kind(group, version, object.text_at(&["kind"]))
}

/// What is set after defaulting, by the registry or by admission. Paths end where the rest below is not compared.
const LATER: &[(&str, &[&str])] = &[
    (
        "",
        &[
            ".metadata.creationTimestamp",
            ".metadata.deletionGracePeriodSeconds",
            ".metadata.deletionTimestamp",
            ".metadata.generation",
            ".metadata.managedFields",
            ".metadata.name",
            ".metadata.namespace",
            ".metadata.resourceVersion",
            ".metadata.uid",
        ],
    ),
    ("CertificateSigningRequest", &[".spec.groups", ".spec.uid", ".spec.username"]),
    ("DaemonSet", &[".metadata.annotations"]),
    // An empty list is none once it has been stored.
    ("EndpointSlice", &[".endpoints"]),
    ("Job", &[".metadata.labels", ".spec.selector", ".spec.template.metadata.labels"]),
    ("Namespace", &[".spec.finalizers"]),
    ("Node", &[".spec.configSource", ".spec.taints"]),
    ("PersistentVolume", &[".metadata.finalizers", ".status.lastPhaseTransitionTime"]),
    ("PersistentVolumeClaim", &[".metadata.finalizers", ".spec.dataSourceRef"]),
    (
        "Pod",
        &[
            ".spec.preemptionPolicy",
            ".spec.priority",
            ".spec.serviceAccount",
            ".spec.serviceAccountName",
            ".spec.tolerations",
            ".status",
        ],
    ),
    ("Secret", &[".data", ".stringData"]),
    ("SelfSubjectAccessReview", &[".status"]),
    ("SelfSubjectReview", &[".status"]),
    ("SelfSubjectRulesReview", &[".spec.namespace", ".status"]),
    (
        "Service",
        &[
            ".spec.clusterIP",
            ".spec.clusterIPs",
            ".spec.healthCheckNodePort",
            ".spec.ipFamilies",
            ".spec.ipFamilyPolicy",
            ".spec.ports[].nodePort",
        ],
    ),
    ("SubjectAccessReview", &[".status"]),
    ("TokenRequest", &[".spec.audiences", ".status"]),
    ("TokenReview", &[".spec.audiences", ".status"]),
    ("VolumeAttributesClass", &[".metadata.finalizers"]),
];

/// Cases in which more is filled in: by LimitRanger and other plugins, by mutating policies, by the test itself.
const OTHERWISE: &[&str] = &["body-3mb-limit", "default-storageclass", "lr-", "map-", "sa-imagepullsecrets"];

/// Where two trees differ, with what is there.
fn differences(
    path: &str,
    later: &[&str],
    ours: Option<&Value>,
    theirs: Option<&Value>,
    found: &mut Vec<String>,
) {
    if later.contains(&path) {
        return;
    }
    match (ours.map(Value::node), theirs.map(Value::node)) {
        (Some(Node::Object(a)), Some(Node::Object(b))) => {
            for key in a.keys().chain(b.keys()).collect::<BTreeSet<_>>() {
                differences(&format!("{path}.{key}"), later, a.get(key), b.get(key), found);
            }
        }
        (a @ (None | Some(Node::List(_))), Some(Node::List(b))) => {
            let ours = if let Some(Node::List(ours)) = a { ours } else { &[] };
            // Every pod gets a volume to reach the server with.
            let added = |item: &&Value| item.text_at(&["name"]).starts_with("kube-api-access-");
            let ours: Vec<_> = ours.iter().filter(|item| !added(item)).collect();
            let theirs: Vec<_> = b.iter().filter(|item| !added(item)).collect();
            if ours.len() != theirs.len() {
                found.push(format!("{path}: {ours:?} {theirs:?}"));
            }
            for (ours, theirs) in ours.into_iter().zip(theirs) {
                differences(&format!("{path}[]"), later, Some(ours), Some(theirs), found);
            }
        }
        // Names, times and the like are not recorded as they were.
        (Some(_), Some(Node::String(b))) if b.starts_with('<') => {}
        (a, b) if a == b => {}
        _ => found.push(format!("{path}: {ours:?} {theirs:?}")),
    }
}

#[test]
fn recorded_creates_have_their_defaults() {
    let (mut found, mut count) = (Vec::new(), 0);
    for exchange in exchanges() {
        let request = exchange.step.get("b").filter(|_| exchange.step.text_at(&["m"]) == "POST");
        let of = request.and_then(kind_of).filter(|of| kind_of(&exchange.answer) == Some(of));
        let (Some(request), Some(of)) = (request, of) else { continue };
        if OTHERWISE.iter().any(|case| exchange.case.starts_with(case)) {
            continue;
        }
        let text = encode(request).replace("${ns}", "<ns>");
        let ours = defaulted(of, &decode(of, &text), &Settings::default());
        let ours = json::decode_any(encode(&ours).as_bytes()).unwrap().value;
        let kind = of.kind_name();
        let later: Vec<_> = LATER.iter().filter(|(name, _)| ["", kind].contains(name)).collect();
        let later: Vec<_> = later.iter().flat_map(|(_, paths)| paths.iter().copied()).collect();
        let mut differing = Vec::new();
        differences("", &later, Some(&ours), Some(&exchange.answer), &mut differing);
        found.extend(differing.iter().map(|what| format!("{} {kind} {what}", exchange.case)));
        count += 1;
    }
    assert!(found.is_empty(), "{} differences in {count} exchanges:\n{}", found.len(), found.join("\n"));
    assert!(count > 150, "{count} exchanges");
}

/// Whole objects of built-in kinds in a recorded answer.
fn objects(value: &Value, found: &mut Vec<(&'static Type, Value)>) {
    // Those that were stored, and not what a client made up.
    let stored =
        |of: &&Type| value.at(&["metadata", "resourceVersion"]).is_some() || of.name.ends_with("List");
    if let Some(of) = kind_of(value).filter(stored) {
        found.push((of, value.clone()));
    }
    match value.node() {
        Node::List(items) => items.iter().for_each(|item| objects(item, found)),
        Node::Object(fields) => fields.iter().for_each(|(_, value)| objects(value, found)),
        _ => {}
    }
}

#[test]
fn what_the_reference_serves_has_its_defaults() {
    let mut found = Vec::new();
    for exchange in exchanges() {
        objects(&exchange.answer, &mut found);
    }
    let upstream =
        upstream("lists of a reference server").map(|upstream| upstream.join("etcd-dump/lists.json"));
    if let Some(lists) = upstream {
        objects(&read(&std::fs::read(lists).unwrap()), &mut found);
    }
    let (mut differing, mut count) = (Vec::new(), 0);
    for (of, object) in found {
        let text = encode(&object)
            .replace(r"\u003ctime\u003e", "2020-01-01T00:00:00.000000Z")
            .replace(r#""\u003cnodeport\u003e""#, "30000");
        let before = decode(of, &text);
        let after = defaulted(of, &before, &Settings::default());
        differences(of.name, &[], Some(&after), Some(&before), &mut differing);
        count += 1;
    }
    assert!(
        differing.is_empty(),
        "{} differences in {count} objects:\n{}",
        differing.len(),
        differing.join("\n")
    );
    assert!(count > 300, "{count} objects");
}
