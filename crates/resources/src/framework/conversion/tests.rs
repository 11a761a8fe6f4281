use std::collections::BTreeSet;

use pintle_codec::json;
use pintle_schema::normal::zero_struct;
use pintle_schema::{Resources, find, types};

use super::tables::{FIXES, PAIRS, tables};
use super::*;

/// Reads an object of the kind that it says it is.
fn read(text: &str) -> Value {
    let said = json::decode_untyped(text.as_bytes()).unwrap().value.group_version_kind();
    let of = find_kind(&said.group, &said.version, &said.kind).unwrap();
    json::decode(of, text.as_bytes()).unwrap().value
}

fn write(value: &Value) -> String {
    let mut out = Vec::new();
    json::encode(value, &mut out);
    String::from_utf8(out).unwrap()
}

/// What `text` becomes in another version.
#[track_caller]
fn check(text: &str, to: &str, expected: &str) {
    let converted = convert(find(to).unwrap(), read(text)).unwrap();
    assert_eq!(write(&converted), write(&read(expected)));
}

/// That one is the other in its version, and the other way round.
#[track_caller]
fn check_both(a: &str, b: &str) {
    let kind = |text: &str| {
        let said = read(text).group_version_kind();
        find_kind(&said.group, &said.version, &said.kind).unwrap().name
    };
    check(a, kind(b), b);
    check(b, kind(a), a);
}

/// What the way through the internal type makes of an object.
#[track_caller]
fn check_trip(text: &str, expected: &str) {
    let mut value = read(text);
    let said = value.group_version_kind();
    let of = find_kind(&said.group, &said.version, &said.kind).unwrap();
    round_trip(of, &mut value).unwrap();
    assert_eq!(write(&value), write(&read(expected)));
    let before = value.clone();
    round_trip(of, &mut value).unwrap();
    assert!(value.is_same(&before), "the second time, nothing changes and nothing is copied");
}

fn refusal(text: &str) -> String {
    let value = read(text);
    let said = value.group_version_kind();
    convert(find_kind(&said.group, &said.version, &said.kind).unwrap(), value).unwrap_err().to_string()
}

#[test]
fn the_tables_name_types_and_fields_that_exist() {
    for pair in PAIRS.iter().copied().flatten() {
        let version = find(pair.version).unwrap_or_else(|| panic!("{}", pair.version)).structure().unwrap();
        let hub = find(pair.hub).unwrap_or_else(|| panic!("{}", pair.hub)).structure().unwrap();
        for (in_version, in_hub) in pair.renamed {
            assert!(
                version.field(in_version).is_some() && hub.field(in_hub).is_some(),
                "{in_version} {in_hub}"
            );
        }
    }
    for fix in FIXES.iter().copied().flatten() {
        let of = find(fix.of).unwrap_or_else(|| panic!("{}", fix.of)).structure().unwrap();
        for name in fix.filled {
            assert!(matches!(of.field(name).unwrap().shape, pintle_schema::Shape::Pointer(_)), "{name}");
        }
    }
}

#[test]
fn every_resource_finds_its_stored_kind_and_so_do_its_lists() {
    let resources = Resources::builtin().unwrap();
    let mut stored = 0;
    for resource in resources.versions().iter().flat_map(|version| &version.resources) {
        let Some(storage) = resource.storage else { continue };
        stored += 1;
        assert_eq!(hub(resource.kind).name, storage.kind.name, "{}", resource.kind.name);
        let list = find(&format!("{}List", resource.kind.name)).unwrap();
        assert_eq!(hub(list).name, format!("{}List", storage.kind.name));
        for of in [resource.kind, list] {
            let zero = zero_struct(of.structure().unwrap());
            let kept = convert_from(of, hub(of), zero).unwrap();
            let back = convert_from(hub(of), of, kept.clone()).unwrap();
            assert_eq!(convert_from(of, hub(of), back).unwrap(), kept, "{}", of.name);
        }
    }
    assert!(stored > 80, "{stored}");
}

/// Where a kind has another shape than its hub. What is not listed differs in `apiVersion` only.
#[test]
fn these_versions_differ_in_more_than_their_name() {
    let tables = tables();
    let differ: BTreeSet<&str> = types()
        .iter()
        .filter(|of| !tables.is_same(of, tables.hub(of)) && !of.name.ends_with("List"))
        .map(|of| of.name)
        .collect();
    let expected = [
        // Fields that may be absent in one and not in the other.
        "admissionregistration/v1beta1.MutatingWebhookConfiguration",
        "admissionregistration/v1beta1.ValidatingWebhookConfiguration",
        "apiextensions/v1.CustomResourceDefinition",
        "apps/v1beta1.Deployment",
        "apps/v1beta1.Scale",
        "apps/v1beta1.StatefulSet",
        "authorization/v1beta1.LocalSubjectAccessReview",
        "authorization/v1beta1.SubjectAccessReview",
        "autoscaling/v1.HorizontalPodAutoscaler",
        "apps/v1beta2.Scale",
        "certificates/v1beta1.CertificateSigningRequest",
        "discovery/v1beta1.EndpointSlice",
        "events/v1.Event",
        "events/v1beta1.Event",
        "extensions/v1beta1.DaemonSet",
        "extensions/v1beta1.Deployment",
        "extensions/v1beta1.Ingress",
        "extensions/v1beta1.ReplicaSet",
        "extensions/v1beta1.Scale",
        "flowcontrol/v1beta1.PriorityLevelConfiguration",
        "flowcontrol/v1beta2.PriorityLevelConfiguration",
        "flowcontrol/v1beta3.PriorityLevelConfiguration",
        "networking/v1beta1.Ingress",
        "node/v1alpha1.RuntimeClass",
        // The same fields, another meaning of the empty selector.
        "policy/v1beta1.PodDisruptionBudget",
        "rbac/v1alpha1.ClusterRoleBinding",
        "rbac/v1alpha1.RoleBinding",
        // Not a kind, but it has a field of that name.
        "rbac/v1alpha1.Subject",
        "resource/v1beta1.ResourceClaim",
        "resource/v1beta1.ResourceClaimTemplate",
        "resource/v1beta1.ResourceSlice",
    ];
    assert_eq!(differ, expected.into_iter().collect());
}

/// Every field that one of two structs lacks is spoken for by a pair; a new release of Kubernetes may bring one that is not.
#[test]
fn no_field_is_lost_by_accident() {
    // Moved by the pair of the object they are in.
    let from_above = [
        "apps/v1beta1.DeploymentSpec rollbackTo",
        "extensions/v1beta1.DeploymentSpec rollbackTo",
        "extensions/v1beta1.DaemonSetSpec templateGeneration",
        "autoscaling/v1.HorizontalPodAutoscalerSpec targetCPUUtilizationPercentage",
        "autoscaling/v2.HorizontalPodAutoscalerSpec metrics",
        "autoscaling/v2.HorizontalPodAutoscalerSpec behavior",
        "autoscaling/v1.HorizontalPodAutoscalerStatus currentCPUUtilizationPercentage",
        "autoscaling/v2.HorizontalPodAutoscalerStatus currentMetrics",
        "autoscaling/v2.HorizontalPodAutoscalerStatus conditions",
    ];
    let tables = tables();
    let mut open: Vec<_> =
        types().iter().map(|of| (*of, tables.hub(of))).filter(|(of, hub)| of != hub).collect();
    let mut seen = BTreeSet::new();
    while let Some((a, b)) = open.pop() {
        if a == b || !seen.insert((a.name, b.name)) {
            continue;
        }
        let (left, right) = (a.structure().unwrap(), b.structure().unwrap());
        for field in left.flat {
            match right.field(field.name) {
                None => {
                    let known = from_above.contains(&&*format!("{} {}", a.name, field.name));
                    let known = known || tables.pair(a, b).is_some();
                    assert!(known, "{} has {} and {} has not", a.name, field.name, b.name);
                }
                Some(other) => {
                    let (mut x, mut y) = (field.shape.underlying(), other.shape.underlying());
                    use pintle_schema::Shape::{List, Map, Pointer};
                    loop {
                        (x, y) = match (x, y) {
                            (Pointer(x), Pointer(y)) | (List(x), List(y)) | (Map(_, x), Map(_, y)) => {
                                (x.underlying(), y.underlying())
                            }
                            _ => break,
                        };
                    }
                    if let (pintle_schema::Shape::Named(x), pintle_schema::Shape::Named(y)) = (x, y)
                        && x.structure().is_some()
                        && y.structure().is_some()
                    {
                        open.push((x, y));
                        open.push((y, x));
                    }
                }
            }
        }
    }
    assert!(seen.len() > 300, "{}", seen.len());
}

/// The internal types' declarations say where they have a value and the hub a pointer, and where they lack a field.
#[test]
fn whatever_the_internal_types_hold_otherwise_is_fixed() {
    let facts = concat!(env!("CARGO_MANIFEST_DIR"), "/../schema/data/internal.facts");
    let facts = std::fs::read_to_string(facts).unwrap();
    let mut aliases = std::collections::HashMap::new();
    for line in facts.lines() {
        if let ["alias", name, of] = line.split(' ').collect::<Vec<_>>()[..] {
            aliases.insert(name, of);
        }
    }
    let fix = |of: &str| FIXES.iter().copied().flatten().find(|fix| fix.of == of);
    let (mut open, mut filled, mut pairs) = (None, BTreeSet::new(), 0);
    for line in facts.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let ["struct", _, external] = words[..] {
            open = find(external);
            pairs += 1;
        }
        let (Some(of), [_, shape, name], true) = (open, &words[..], line.starts_with("  ")) else {
            continue;
        };
        let Some(field) = of.structure().and_then(|of| of.field(name)) else { continue };
        let mut shape = *shape;
        while let Some(found) = aliases.get(shape) {
            shape = found;
        }
        let is_pointer = matches!(field.shape.underlying(), pintle_schema::Shape::Pointer(_));
        if is_pointer && !shape.starts_with('*') {
            assert!(fix(of.name).is_some_and(|fix| fix.filled.contains(name)), "{} {name}", of.name);
            filled.insert((of.name, *name));
        }
    }
    let ours = FIXES.iter().copied().flatten().flat_map(|fix| fix.filled.iter().map(|name| (fix.of, *name)));
    assert_eq!(filled, ours.collect());
    assert!(pairs > 500, "{pairs}");
}

#[test]
fn deep_schemas_need_no_deep_stack() {
    // Each property lies two levels below the one before.
    let depth = pintle_codec::MAX_DEPTH / 2 - 10;
    let schema = r#"{"properties":{"a":"#.repeat(depth) + r#"{"default":[ 1 ]}"# + &"}}".repeat(depth);
    let text = format!(
        r#"{{"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/v1","spec":{{"group":"e.com",
        "names":{{"plural":"ws","kind":"W"}},"scope":"Cluster","versions":[
        {{"name":"v1","served":true,"storage":true,"schema":{{"openAPIV3Schema":{schema}}}}}]}}}}"#
    );
    let on_stack = |size: usize| std::thread::Builder::new().stack_size(size);
    let definition = on_stack(2 << 20).spawn(move || read(&text)).unwrap().join().unwrap();
    let of = find("apiextensions/v1.CustomResourceDefinition").unwrap();
    let convert = move || convert(of, convert(hub(of), definition).unwrap()).unwrap();
    let back = on_stack(2 << 20).spawn(convert).unwrap().join().unwrap();
    assert!(write(&back).contains(r#"{"default":[1]}"#));
}

#[test]
fn versions_of_one_shape_share_the_tree() {
    let before =
        read(r#"{"kind":"Lease","apiVersion":"coordination.k8s.io/v1beta1","metadata":{"name":"a"}}"#);
    let after = convert(find("coordination/v1.Lease").unwrap(), before.clone()).unwrap();
    assert_eq!(after.api_version(), "coordination.k8s.io/v1");
    assert!(after.get("metadata").unwrap().is_same(before.get("metadata").unwrap()));
    let same = convert(find("coordination/v1.Lease").unwrap(), after.clone()).unwrap();
    assert!(same.is_same(&after));
}

#[test]
fn what_is_not_known_or_not_related_is_refused() {
    let pod = read(r#"{"kind":"Pod","apiVersion":"v1"}"#);
    let error = convert(find("core/v1.Service").unwrap(), pod).unwrap_err();
    assert_eq!(error.to_string(), "converting (v1.Pod) to (v1.Service): unknown conversion");
    let other: Object = [("apiVersion", "example.com/v1"), ("kind", "Pod")].into_iter().collect();
    let error = convert(find("core/v1.Pod").unwrap(), other.into()).unwrap_err();
    assert_eq!(error.to_string(), r#"no kind "Pod" is registered for version "example.com/v1""#);
}

#[test]
fn items_of_lists_are_converted_and_say_no_kind() {
    check(
        r#"{"kind":"EventList","apiVersion":"events.k8s.io/v1","metadata":{"resourceVersion":"5"},"items":[
            {"kind":"Event","apiVersion":"events.k8s.io/v1","metadata":{"name":"a"},"note":"n"}]}"#,
        "core/v1.EventList",
        r#"{"kind":"EventList","apiVersion":"v1","metadata":{"resourceVersion":"5"},
            "items":[{"metadata":{"name":"a"},"message":"n"}]}"#,
    );
}

#[test]
fn events_of_both_groups_are_the_same() {
    check_both(
        r#"{"kind":"Event","apiVersion":"events.k8s.io/v1","metadata":{"name":"a","namespace":"b"},
            "eventTime":"2020-01-02T03:04:05.000006Z","series":{"count":2,"lastObservedTime":null},
            "reportingController":"c","reportingInstance":"i","action":"act","reason":"why",
            "regarding":{"kind":"Pod","name":"p"},"note":"text","type":"Normal","deprecatedSource":{"component":"s"},
            "deprecatedFirstTimestamp":"2020-01-02T03:04:05Z","deprecatedCount":3}"#,
        r#"{"kind":"Event","apiVersion":"v1","metadata":{"name":"a","namespace":"b"},
            "involvedObject":{"kind":"Pod","name":"p"},"reason":"why","message":"text","source":{"component":"s"},
            "firstTimestamp":"2020-01-02T03:04:05Z","count":3,"type":"Normal",
            "eventTime":"2020-01-02T03:04:05.000006Z","series":{"count":2},"action":"act",
            "reportingComponent":"c","reportingInstance":"i"}"#,
    );
}

#[test]
fn reviews_have_groups_and_once_had_group() {
    check_both(
        r#"{"kind":"SubjectAccessReview","apiVersion":"authorization.k8s.io/v1beta1","spec":{"user":"u","group":["g"]}}"#,
        r#"{"kind":"SubjectAccessReview","apiVersion":"authorization.k8s.io/v1","spec":{"user":"u","groups":["g"]}}"#,
    );
}

mod autoscalers;
mod kinds;
mod trips;
