//! All strategies: what they leave is in normal form, a write that changes nothing changes nothing, and new objects become
//! what a reference server made of them. Full objects are made from the types, and are published ones too where those are at hand.

use std::fs;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use pintle_codec::json;
use pintle_features::{Feature, Features};
use pintle_meta::{Object, Value};
use pintle_published::{recorded, upstream};
use pintle_registry::{Context, ResetFields, Stored, Strategy};
use pintle_resources::builtin::Builtin;
use pintle_resources::defaults;
use pintle_resources::strategy::{Settings, of};
use pintle_runtime::ManualClock;
use pintle_schema::normal::{Builder, zero_struct};
use pintle_schema::{Opaque, Resource, Resources, Scalar, Shape, Type};

fn write(value: &Value) -> String {
    let mut out = Vec::new();
    json::encode(value, &mut out);
    String::from_utf8(out).unwrap()
}

fn read(of: &'static Type, text: &str) -> Value {
    json::decode(of, text.as_bytes()).unwrap_or_else(|error| panic!("{error}: {text}")).value
}

struct Subject {
    group: &'static str,
    name: String,
    stored: &'static Type,
    strategy: Arc<dyn Strategy>,
    is_main: bool,
}

/// Every resource of the first version that has it, and the subresources that have a strategy.
fn subjects(resources: &Resources) -> Vec<Subject> {
    let settings = Settings::default();
    let mut found: Vec<Subject> = Vec::new();
    for version in resources.versions() {
        let main = |resource: &Resource| {
            let all = version.resources.iter();
            all.clone().find(|main| main.name == resource.name && main.subresource.is_none())?.storage
        };
        for resource in &version.resources {
            let Some(storage) = main(resource) else { continue };
            let name = match resource.subresource {
                None => resource.name.to_owned(),
                Some(subresource) => format!("{}/{subresource}", resource.name),
            };
            if found.iter().any(|known| known.group == version.group && known.name == name) {
                continue;
            }
            if let Some(strategy) = of(version.group, &name, &settings) {
                let is_main = resource.subresource.is_none();
                found.push(Subject { group: version.group, name, stored: storage.kind, strategy, is_main });
            }
        }
    }
    found
}

/// A value of a shape of which every field is set, once for each type on the way down.
fn full(shape: Shape, above: &[&'static str]) -> Value {
    match shape.underlying() {
        Shape::Scalar(Scalar::Bool) => true.into(),
        Shape::Scalar(Scalar::Int32 | Scalar::Int64) => 5i64.into(),
        Shape::Scalar(Scalar::Float64) => 0.5.into(),
        Shape::Scalar(Scalar::String | Scalar::Any) => "text".into(),
        Shape::Bytes => Value::bytes(*b"bytes"),
        Shape::Pointer(of) => full(*of, above),
        Shape::List(of) => Value::list(vec![full(*of, above)]),
        Shape::Map(_, of) => [("a", full(*of, above))].into_iter().collect::<Object>().into(),
        named @ Shape::Named(of) => match (named.structure(), named.opaque()) {
            (Some(_), _) if above.contains(&of.name) => Value::NULL,
            (Some(structure), _) => {
                let path = [above, &[of.name]].concat();
                let mut builder = Builder::default();
                let frame = builder.open(structure);
                for (place, field) in structure.flat.iter().enumerate() {
                    builder.set(frame, place, full(field.shape, &path));
                }
                builder.close(frame)
            }
            (None, Some(Opaque::Time)) => "2026-01-01T00:00:00Z".into(),
            (None, Some(Opaque::MicroTime)) => "2026-01-01T00:00:00.000000Z".into(),
            (None, Some(Opaque::IntOrString)) => 3i64.into(),
            (None, Some(Opaque::Quantity)) => "5Gi".into(),
            _ => Value::raw(*b"{}"),
        },
    }
}

/// An object with nothing in it, and one with everything; where published data is at hand, the published one too.
fn samples(of: &'static Type) -> Vec<Value> {
    let mut samples =
        vec![zero_struct(of.structure().unwrap()), read(of, &write(&full(Shape::Named(of), &[])))];
    let group = if of.group().is_empty() { "core".into() } else { of.group() };
    if let Some(folder) = upstream("full objects") {
        let file = format!("{group}.{}.{}.json", of.version(), of.kind_name());
        if let Ok(text) = fs::read_to_string(folder.join("wire").join(file)) {
            samples.push(read(of, &text));
        }
    }
    for sample in &mut samples {
        // Requests cannot set it, and statuses of pods are written without it.
        sample.metadata_mut().unwrap().remove("deletionTimestamp");
        defaults::apply(of, sample, &Default::default());
    }
    samples
}

/// The first place where two texts differ.
fn difference(a: &str, b: &str) -> Option<String> {
    let common = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    let around = |text: &str| {
        let bytes = &text.as_bytes()[common.saturating_sub(60)..(common + 60).min(text.len())];
        String::from_utf8_lossy(bytes).into_owned()
    };
    (a != b).then(|| format!("...{}...\nand ...{}...", around(a), around(b)))
}

#[test]
fn what_strategies_leave_is_normal_and_writing_it_again_changes_nothing() {
    let resources = Resources::builtin().unwrap();
    let subjects = subjects(&resources);
    let (mut checked, mut context) = (0, Context::default());
    for subject in &subjects {
        for sample in samples(subject.stored) {
            let name = format!("{} {}", subject.group, subject.name);
            let mut object = sample.clone();
            if subject.is_main {
                subject.strategy.prepare_for_create(&mut context, &mut object);
                let text = write(&object);
                assert_eq!(difference(&write(&read(subject.stored, &text)), &text), None, "new {name}");
            }
            let old = object.clone();
            subject.strategy.prepare_for_update(&context, &mut object, &old);
            assert_eq!(difference(&write(&object), &write(&old)), None, "{name} written again");
            // From everything to nothing and back.
            for other in samples(subject.stored) {
                let mut changed = other.clone();
                subject.strategy.prepare_for_update(&context, &mut changed, &old);
                let text = write(&changed);
                assert_eq!(difference(&write(&read(subject.stored, &text)), &text), None, "changed {name}");
            }
            checked += 1;
        }
    }
    assert!(subjects.len() > 90 && checked >= subjects.len(), "{} {checked}", subjects.len());
}

/// Recorded as reset and yet written in part, as the reference has it.
const WRITTEN_IN_PART: &[(&str, &str)] = &[
    // Other conditions than approvals and denials.
    ("certificatesigningrequests/status", "status.conditions"),
    // A version that becomes the stored one is noted.
    ("customresourcedefinitions", "status"),
    // Without a load balancer there is nothing to say about it.
    ("services", "status"),
];

#[test]
fn a_write_leaves_what_is_said_to_be_reset() {
    let resources = Resources::builtin().unwrap();
    let mut checked = 0;
    for subject in subjects(&resources) {
        let ResetFields::These(paths) = subject.strategy.reset_fields() else { continue };
        let samples = samples(subject.stored);
        for path in paths.iter().filter(|path| **path != ["metadata"]) {
            if WRITTEN_IN_PART.contains(&(&subject.name, &path.join("."))) {
                continue;
            }
            for (new, old) in samples.iter().flat_map(|new| samples.iter().map(move |old| (new, old))) {
                let mut written = new.clone();
                subject.strategy.prepare_for_update(&Context::default(), &mut written, old);
                assert_eq!(written.at(path), old.at(path), "{} {}: {path:?}", subject.group, subject.name);
                checked += 1;
            }
        }
    }
    assert!(checked > 80, "{checked}");
}

/// What the server sets for every object, or what is not a strategy's business.
fn without_system_metadata(mut object: Value) -> Value {
    let metadata = object.metadata_mut().unwrap();
    for field in ["uid", "resourceVersion", "creationTimestamp", "managedFields", "namespace", "name"] {
        metadata.remove(field);
    }
    object
}

/// What a strategy and what comes before it make of a new object, in the version of the request.
fn created(resources: &Resources, resource: &Resource, group: &str, body: &str) -> Option<Value> {
    let builtin = Builtin::new(resource.storage?.kind, resources);
    let clock = ManualClock::starting_at(SystemTime::UNIX_EPOCH + Duration::from_secs(1_767_225_600)).clock();
    let settings = Settings { clock, ..Settings::default() };
    let strategy = of(group, resource.name, &settings)?;
    let mut object = builtin.from_version(resource.kind, read(resource.kind, body)).unwrap();
    object.metadata_mut()?.insert("uid", "<uid>");
    let mut context = Context {
        user: "admin".into(),
        user_uid: "<uid>".into(),
        groups: vec!["system:masters".into(), "system:authenticated".into()],
        ..Context::default()
    };
    strategy.prepare_for_create(&mut context, &mut object);
    // Clients get what is stored.
    let stored = Stored::encode(&*builtin, &object).unwrap();
    builtin.to_version(resource.kind, builtin.decode(&stored).unwrap()).ok()
}

/// Kinds that admission or allocation add to, which is not here, or whose own times the recording has blanked.
const NOT_COMPARABLE: &[&str] = &[
    "ConfigMap",
    "Event",
    "Lease",
    "Node",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "Pod",
    "Service",
    "VolumeAttributesClass",
];

#[test]
fn new_objects_become_what_the_reference_made_of_them() {
    let resources = Resources::builtin().unwrap();
    let mut compared = 0;
    let mut wrong = Vec::new();
    for (cases, golden) in recorded::exchanges() {
        let open = |text: &str| -> serde_json::Value { serde_json::from_str(text).unwrap() };
        let (cases, golden) = (open(&cases), open(&golden));
        for case in cases["cases"].as_array().unwrap() {
            let id = case["id"].as_str().unwrap();
            let steps = case["steps"].as_array().unwrap().iter().filter(|step| step["quiet"] != true);
            let answers = golden[id].as_array().unwrap();
            let steps: Vec<_> = steps.collect();
            if steps.len() != answers.len() {
                continue;
            }
            for (step, answer) in steps.into_iter().zip(answers) {
                let text = step["b"].to_string().replace("${ns}", "<ns>");
                let body = &answer["body"];
                if step["m"] != "POST"
                    || answer["status"] != 201
                    || text.contains("${")
                    || !step["b"].is_object()
                {
                    continue;
                }
                let path = step["p"].as_str().unwrap().split('?').next().unwrap();
                let kind = body["kind"].as_str().unwrap_or_default();
                let found = resources.versions().iter().find_map(|version| {
                    let api_version = body["apiVersion"].as_str()?;
                    let resource = version.resources.iter().find(|resource| {
                        resource.kind.kind_name() == kind
                            && resource.kind.api_version() == api_version
                            && path.ends_with(&format!("/{}", resource.name))
                    })?;
                    Some((version.group, resource))
                });
                let Some((group, resource)) = found.filter(|_| !NOT_COMPARABLE.contains(&kind)) else {
                    continue;
                };
                let expected =
                    read(resource.kind, &body.to_string().replace("<time>", "2026-01-01T00:00:00Z"));
                let Some(object) = created(&resources, resource, group, &text) else { continue };
                let (object, expected) = (without_system_metadata(object), without_system_metadata(expected));
                let differs = difference(&write(&object), &write(&expected));
                wrong.extend(differs.map(|differs| format!("{id} {kind}: {differs}")));
                compared += 1;
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(compared > 30, "{compared}");
}

#[test]
fn fields_of_features_that_are_on_stay() {
    let features = [
        Feature::CoordinatedLeaderElection,
        Feature::DRAListTypeAttributes,
        Feature::DRANodeAllocatableResources,
        Feature::DRAWorkloadResourceClaims,
        Feature::MaxUnavailableStatefulSet,
        Feature::TopologyAwareWorkloadScheduling,
        Feature::VolumeLimitScaling,
        Feature::WorkloadAwarePreemption,
    ]
    .into_iter()
    .fold(Features::default(), |features, feature| features.with(feature, true));
    let check = |group: &str, name: &str, kind: &str, spec: &str| {
        let kind = pintle_schema::find(kind).unwrap();
        let text = format!(r#"{{"metadata":{{"name":"a"}},"spec":{{{spec}}}}}"#);
        let kept = |features: Features| {
            let strategy = of(group, name, &Settings { features, ..Settings::default() }).unwrap();
            let mut object = read(kind, &text);
            strategy.prepare_for_create(&mut Context::default(), &mut object);
            object.get("spec") == read(kind, &text).get("spec")
        };
        assert!(kept(features) && !kept(Features::default()), "{group} {name}");
    };
    check("coordination.k8s.io", "leases", "coordination/v1.Lease", r#""strategy":"OldestEmulationVersion""#);
    check(
        "apps",
        "statefulsets",
        "apps/v1.StatefulSet",
        r#""updateStrategy":{"rollingUpdate":{"maxUnavailable":2}}"#,
    );
    check("storage.k8s.io", "csidrivers", "storage/v1.CSIDriver", r#""preventPodSchedulingIfMissing":true"#);
    for device in [r#""attributes":{"a":{"ints":[1]}}"#, r#""nodeAllocatableResourceMappings":{"cpu":{}}"#] {
        let spec = format!(r#""driver":"d","devices":[{{"name":"x",{device}}}]"#);
        check("resource.k8s.io", "resourceslices", "resource/v1.ResourceSlice", &spec);
    }
    for field in [
        r#""schedulingConstraints":{}"#,
        r#""resourceClaims":[{"name":"c"}]"#,
        r#""disruptionMode":"PodGroup""#,
        r#""priorityClassName":"p""#,
        r#""priority":1"#,
    ] {
        check("scheduling.k8s.io", "podgroups", "scheduling/v1alpha2.PodGroup", field);
    }
}
