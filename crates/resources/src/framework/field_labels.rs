//! Field selectors: which fields of a kind can be selected by, under what names, and what an object has there.
//!
//! A request names fields as its version does; [`convert`] gives the name under which the stored object has them, or says
//! that there is no such field. [`fields`] are those of an object. The two do not quite agree, as in the reference:
//! `status.podIPs` may be asked for and is nowhere, `name` of a namespace is there and may not be asked for.

use std::borrow::Cow;

use pintle_meta::{Value, quote};
use pintle_schema::Type;

use crate::framework::conversion::hub;

const NAME: &str = "metadata.name";
const NAMESPACE: &str = "metadata.namespace";

/// How a kind refuses a field that it does not have.
enum Refusal {
    /// `field label not supported: X`.
    Plain,
    /// `field label not supported for KIND: X`.
    Of(&'static str),
    /// `field label "X" not supported for KIND`.
    Quoted(&'static str),
}

/// What can be selected by in a version of a kind, besides what every kind has.
struct Labels {
    known: &'static [&'static str],
    /// Names that the stored version does not have, and what it calls them.
    renamed: &'static [(&'static str, &'static str)],
    refusal: Refusal,
}

const fn plain(known: &'static [&'static str]) -> Labels {
    Labels { known, renamed: &[], refusal: Refusal::Plain }
}

/// The kinds that have rules of their own.
fn labels(group: &str, version: &str, kind: &str) -> Option<Labels> {
    const SUCCESSFUL: &[&str] = &[NAME, NAMESPACE, "status.successful"];
    const SLICE: &[&str] = &[NAME, "spec.nodeName", "spec.driver"];
    Some(match (group, version, kind) {
        ("", "v1", "Pod") => Labels {
            renamed: &[("spec.host", "spec.nodeName")],
            ..plain(&[
                NAME,
                NAMESPACE,
                "spec.nodeName",
                "spec.restartPolicy",
                "spec.schedulerName",
                "spec.serviceAccountName",
                "spec.hostNetwork",
                "status.phase",
                "status.podIP",
                "status.podIPs",
                "status.nominatedNodeName",
            ])
        },
        ("", "v1", "Node") => plain(&[NAME, "spec.unschedulable"]),
        ("", "v1", "ReplicationController") => plain(&[NAME, NAMESPACE, "status.replicas"]),
        ("", "v1", "Event") => plain(&[
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "source",
            "type",
            NAMESPACE,
            NAME,
        ]),
        ("", "v1", "Namespace") => plain(&[NAME, "status.phase"]),
        ("", "v1", "Secret") => plain(&[NAME, NAMESPACE, "type"]),
        ("", "v1", "Service") => plain(&[NAME, NAMESPACE, "spec.clusterIP", "spec.type"]),
        ("events.k8s.io", "v1" | "v1beta1", "Event") => Labels {
            renamed: &[
                ("regarding.kind", "involvedObject.kind"),
                ("regarding.namespace", "involvedObject.namespace"),
                ("regarding.name", "involvedObject.name"),
                ("regarding.uid", "involvedObject.uid"),
                ("regarding.apiVersion", "involvedObject.apiVersion"),
                ("regarding.resourceVersion", "involvedObject.resourceVersion"),
                ("regarding.fieldPath", "involvedObject.fieldPath"),
                ("reportingController", "reportingComponent"),
            ],
            ..plain(&[NAME, NAMESPACE, "reason", "type"])
        },
        ("apps", "v1beta1", "StatefulSet") => {
            Labels { refusal: Refusal::Of("appsv1beta1.StatefulSet"), ..plain(SUCCESSFUL) }
        }
        ("apps", "v1beta2", "StatefulSet") => {
            Labels { refusal: Refusal::Of("appsv1beta2.StatefulSet"), ..plain(SUCCESSFUL) }
        }
        ("batch", "v1", "Job") => Labels { refusal: Refusal::Quoted("Job"), ..plain(SUCCESSFUL) },
        ("batch", "v1beta1", "CronJob") => {
            Labels { refusal: Refusal::Quoted("\"CronJob\""), ..plain(SUCCESSFUL) }
        }
        ("certificates.k8s.io", "v1" | "v1beta1", "CertificateSigningRequest")
        | ("certificates.k8s.io", "v1beta1" | "v1alpha1", "ClusterTrustBundle") => {
            plain(&[NAME, "spec.signerName"])
        }
        ("certificates.k8s.io", "v1beta1" | "v1alpha1", "PodCertificateRequest") => {
            plain(&[NAME, "spec.signerName", "spec.podName", "spec.nodeName"])
        }
        ("resource.k8s.io", "v1", "ResourceSlice") => {
            Labels { refusal: Refusal::Of("resource.k8s.io/v1, Kind=ResourceSlice"), ..plain(SLICE) }
        }
        ("resource.k8s.io", "v1beta2", "ResourceSlice") => {
            Labels { refusal: Refusal::Of("resource.k8s.io/v1beta2, Kind=ResourceSlice"), ..plain(SLICE) }
        }
        ("resource.k8s.io", "v1beta1", "ResourceSlice") => {
            Labels { refusal: Refusal::Of("resource.k8s.io/v1beta1, Kind=ResourceSlice"), ..plain(SLICE) }
        }
        _ => return None,
    })
}

/// A term of a request's field selector as the stored version has it; the error is what the client is told.
pub fn convert(
    group: &str,
    version: &str,
    kind: &str,
    label: &str,
    value: &str,
) -> Result<(String, String), String> {
    let Some(labels) = labels(group, version, kind) else {
        return match label {
            NAME | NAMESPACE => Ok((label.into(), value.into())),
            _ => Err(format!("{} is not a known field selector: only {NAME:?}, {NAMESPACE:?}", quote(label))),
        };
    };
    if labels.known.contains(&label) {
        return Ok((label.into(), value.into()));
    }
    if let Some((_, stored)) = labels.renamed.iter().find(|(known, _)| *known == label) {
        return Ok(((*stored).into(), value.into()));
    }
    Err(match labels.refusal {
        Refusal::Plain => format!("field label not supported: {label}"),
        Refusal::Of(kind) => format!("field label not supported for {kind}: {label}"),
        Refusal::Quoted(kind) => format!("field label {} not supported for {kind}", quote(label)),
    })
}

/// As [`convert`], for a custom resource with the selectable fields of its version, which are written without the dot that
/// their paths begin with.
pub fn convert_custom(
    namespaced: bool,
    selectable: &[impl AsRef<str>],
    label: &str,
    value: &str,
) -> Result<(String, String), String> {
    let known = label == NAME
        || namespaced && label == NAMESPACE
        || selectable.iter().any(|field| field.as_ref() == label);
    if known { Ok((label.into(), value.into())) } else { Err(format!("field label not supported: {label}")) }
}

/// Where a field is found in an object.
enum Source {
    Text(&'static [&'static str]),
    Bool(&'static [&'static str]),
    Int(&'static [&'static str]),
    /// The first of two that says anything.
    Either(&'static [&'static str], &'static [&'static str]),
    PodIp,
}

use Source::{Bool, Either, Int, PodIp, Text};

/// What stored kinds have besides their name and namespace.
const SOURCES: &[(&str, &[(&str, Source)])] = &[
    (
        "core/v1.Pod",
        &[
            ("spec.nodeName", Text(&["spec", "nodeName"])),
            ("spec.restartPolicy", Text(&["spec", "restartPolicy"])),
            ("spec.schedulerName", Text(&["spec", "schedulerName"])),
            ("spec.serviceAccountName", Either(&["spec", "serviceAccountName"], &["spec", "serviceAccount"])),
            ("spec.hostNetwork", Bool(&["spec", "hostNetwork"])),
            ("status.phase", Text(&["status", "phase"])),
            ("status.podIP", PodIp),
            ("status.nominatedNodeName", Text(&["status", "nominatedNodeName"])),
        ],
    ),
    ("core/v1.Node", &[("spec.unschedulable", Bool(&["spec", "unschedulable"]))]),
    ("core/v1.ReplicationController", &[("status.replicas", Int(&["status", "replicas"]))]),
    ("apps/v1.ReplicaSet", &[("status.replicas", Int(&["status", "replicas"]))]),
    (
        "core/v1.Event",
        &[
            ("involvedObject.kind", Text(&["involvedObject", "kind"])),
            ("involvedObject.namespace", Text(&["involvedObject", "namespace"])),
            ("involvedObject.name", Text(&["involvedObject", "name"])),
            ("involvedObject.uid", Text(&["involvedObject", "uid"])),
            ("involvedObject.apiVersion", Text(&["involvedObject", "apiVersion"])),
            ("involvedObject.resourceVersion", Text(&["involvedObject", "resourceVersion"])),
            ("involvedObject.fieldPath", Text(&["involvedObject", "fieldPath"])),
            ("reason", Text(&["reason"])),
            ("reportingComponent", Text(&["reportingComponent"])),
            ("source", Either(&["source", "component"], &["reportingComponent"])),
            ("type", Text(&["type"])),
        ],
    ),
    (
        "core/v1.Namespace",
        &[("status.phase", Text(&["status", "phase"])), ("name", Text(&["metadata", "name"]))],
    ),
    ("core/v1.PersistentVolume", &[("name", Text(&["metadata", "name"]))]),
    ("core/v1.PersistentVolumeClaim", &[("name", Text(&["metadata", "name"]))]),
    ("core/v1.Secret", &[("type", Text(&["type"]))]),
    (
        "core/v1.Service",
        &[("spec.clusterIP", Text(&["spec", "clusterIP"])), ("spec.type", Text(&["spec", "type"]))],
    ),
    ("batch/v1.Job", &[("status.successful", Int(&["status", "succeeded"]))]),
    ("certificates/v1.CertificateSigningRequest", &[("spec.signerName", Text(&["spec", "signerName"]))]),
    ("certificates/v1beta1.ClusterTrustBundle", &[("spec.signerName", Text(&["spec", "signerName"]))]),
    (
        "certificates/v1beta1.PodCertificateRequest",
        &[
            ("spec.signerName", Text(&["spec", "signerName"])),
            ("spec.podName", Text(&["spec", "podName"])),
            ("spec.nodeName", Text(&["spec", "nodeName"])),
        ],
    ),
    ("coordination/v1beta1.LeaseCandidate", &[("spec.leaseName", Text(&["spec", "leaseName"]))]),
    (
        "resource/v1.ResourceSlice",
        &[("spec.nodeName", Text(&["spec", "nodeName"])), ("spec.driver", Text(&["spec", "driver"]))],
    ),
];

fn sources(of: &Type) -> &'static [(&'static str, Source)] {
    SOURCES.iter().find(|(name, _)| *name == of.name).map_or(&[], |(_, sources)| sources)
}

/// The fields of an object of its kind's stored version. One that is not there is as good as empty.
pub fn fields<'a>(of: &'static Type, value: &'a Value) -> Vec<(&'static str, Cow<'a, str>)> {
    debug_assert!(of == hub(of), "{} is not what is stored", of.name);
    let own = sources(of);
    let mut found = Vec::with_capacity(own.len() + 2);
    found.push((NAME, value.name().into()));
    found.push((NAMESPACE, value.namespace().into()));
    found.extend(own.iter().map(|(label, source)| (*label, source.read(value))));
    found
}

/// The place of a label among the [`fields`] of a stored kind.
pub fn place(of: &str, label: &str) -> Option<usize> {
    match label {
        NAME => Some(0),
        NAMESPACE => Some(1),
        _ => {
            let (_, own) = SOURCES.iter().find(|(name, _)| *name == of)?;
            own.iter().position(|(known, _)| *known == label).map(|place| place + 2)
        }
    }
}

/// One of the [`fields`].
pub fn field<'a>(of: &'static Type, value: &'a Value, label: &str) -> Cow<'a, str> {
    match label {
        NAME => value.name().into(),
        NAMESPACE => value.namespace().into(),
        _ => {
            let source = sources(of).iter().find(|(known, _)| *known == label);
            source.map_or(Cow::Borrowed(""), |(_, source)| source.read(value))
        }
    }
}

impl Source {
    fn read<'a>(&self, value: &'a Value) -> Cow<'a, str> {
        match self {
            Text(path) => value.text_at(path).into(),
            Bool(path) => {
                let set = value.at(path).and_then(Value::as_bool).unwrap_or_default();
                Cow::Borrowed(if set { "true" } else { "false" })
            }
            Int(path) => match value.at(path).and_then(Value::as_i64).unwrap_or_default() {
                0 => Cow::Borrowed("0"),
                number => number.to_string().into(),
            },
            Either(first, second) => match value.text_at(first) {
                "" => value.text_at(second).into(),
                text => text.into(),
            },
            PodIp => match value.text_at(&["status", "podIP"]) {
                "" => {
                    let first = value.items_at(&["status", "podIPs"]).first();
                    first.map_or("", |first| first.text_at(&["ip"])).into()
                }
                address => address.into(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use pintle_codec::json;
    use pintle_meta::selector::field::Selector;
    use pintle_schema::{Resources, find};

    use super::*;

    #[track_caller]
    fn check(group: &str, version: &str, kind: &str, label: &str, expected: Result<&str, &str>) {
        let found = convert(group, version, kind, label, "v").map(|(label, value)| {
            assert_eq!(value, "v");
            label
        });
        assert_eq!(found.as_deref().map_err(String::as_str), expected);
    }

    #[test]
    fn most_kinds_know_their_name_and_namespace_only() {
        check("", "v1", "ConfigMap", NAME, Ok(NAME));
        check("apps", "v1", "ReplicaSet", NAMESPACE, Ok(NAMESPACE));
        let refusal =
            "\"data.x\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"";
        check("", "v1", "ConfigMap", "data.x", Err(refusal));
        // It has the field, and does not let anybody ask for it.
        let refusal = refusal.replace("data.x", "status.replicas");
        check("apps", "v1", "ReplicaSet", "status.replicas", Err(&refusal));
        // A kind that is cluster-wide and has no rules of its own takes a namespace.
        check("rbac.authorization.k8s.io", "v1", "ClusterRole", NAMESPACE, Ok(NAMESPACE));
    }

    #[test]
    fn kinds_with_rules_of_their_own_refuse_in_their_own_words() {
        check("", "v1", "Namespace", "spec.finalizers", Err("field label not supported: spec.finalizers"));
        check("", "v1", "Namespace", NAMESPACE, Err("field label not supported: metadata.namespace"));
        check("", "v1", "Pod", "spec.host", Ok("spec.nodeName"));
        check("", "v1", "Pod", "status.podIPs", Ok("status.podIPs"));
        check("", "v1", "Pod", "", Err("field label not supported: "));
        check("batch", "v1", "Job", "status.successful", Ok("status.successful"));
        check("batch", "v1", "Job", "a\"b", Err(r#"field label "a\"b" not supported for Job"#));
        check("batch", "v1beta1", "CronJob", "x", Err(r#"field label "x" not supported for "CronJob""#));
        check(
            "apps",
            "v1beta2",
            "StatefulSet",
            "x",
            Err("field label not supported for appsv1beta2.StatefulSet: x"),
        );
        check("resource.k8s.io", "v1beta1", "ResourceSlice", "spec.driver", Ok("spec.driver"));
        check(
            "resource.k8s.io",
            "v1",
            "ResourceSlice",
            "spec.pool",
            Err("field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: spec.pool"),
        );
    }

    #[test]
    fn events_are_selected_by_the_names_of_their_version() {
        check("events.k8s.io", "v1", "Event", "regarding.uid", Ok("involvedObject.uid"));
        check("events.k8s.io", "v1", "Event", "reportingController", Ok("reportingComponent"));
        check("events.k8s.io", "v1", "Event", "source", Err("field label not supported: source"));
        check("", "v1", "Event", "source", Ok("source"));
        check("", "v1", "Event", "regarding.uid", Err("field label not supported: regarding.uid"));
    }

    #[test]
    fn custom_resources_are_selected_by_what_their_definition_lists() {
        let convert = |namespaced, label| convert_custom(namespaced, &["spec.s"], label, "v");
        assert_eq!(convert(true, "spec.s"), Ok(("spec.s".into(), "v".into())));
        assert_eq!(convert(true, NAMESPACE), Ok((NAMESPACE.into(), "v".into())));
        assert_eq!(convert(false, NAMESPACE), Err("field label not supported: metadata.namespace".into()));
        assert_eq!(convert(true, "spec.n"), Err("field label not supported: spec.n".into()));
    }

    #[test]
    fn an_object_has_the_fields_of_its_kind() {
        let pod = find("core/v1.Pod").unwrap();
        let text = br#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","namespace":"b"},"spec":{"nodeName":"n",
            "serviceAccount":"s","hostNetwork":true,"containers":[]},"status":{"podIPs":[{"ip":"::1"}]}}"#;
        let value = json::decode(pod, text).unwrap().value;
        let found: Vec<(&str, String)> =
            fields(pod, &value).into_iter().map(|(label, text)| (label, text.into())).collect();
        let expected = [
            (NAME, "a"),
            (NAMESPACE, "b"),
            ("spec.nodeName", "n"),
            ("spec.restartPolicy", ""),
            ("spec.schedulerName", ""),
            ("spec.serviceAccountName", "s"),
            ("spec.hostNetwork", "true"),
            ("status.phase", ""),
            ("status.podIP", "::1"),
            ("status.nominatedNodeName", ""),
        ];
        assert_eq!(found, expected.map(|(label, text)| (label, text.to_owned())));
        for (label, text) in &found {
            assert_eq!(field(pod, &value, label), text.as_str());
        }
        assert_eq!(field(pod, &value, "status.podIPs"), "");
    }

    #[test]
    fn numbers_and_sources_are_texts() {
        let read = |of: &str, text: &str| json::decode(find(of).unwrap(), text.as_bytes()).unwrap().value;
        let field =
            |of: &str, text: &str, label: &str| field(find(of).unwrap(), &read(of, text), label).into_owned();
        assert_eq!(field("batch/v1.Job", "{}", "status.successful"), "0");
        assert_eq!(field("batch/v1.Job", r#"{"status":{"succeeded":12}}"#, "status.successful"), "12");
        assert_eq!(field("core/v1.Node", "{}", "spec.unschedulable"), "false");
        assert_eq!(field("core/v1.Event", r#"{"reportingComponent":"c"}"#, "source"), "c");
        let both = r#"{"reportingComponent":"c","source":{"component":"s"}}"#;
        assert_eq!(field("core/v1.Event", both, "source"), "s");
    }

    #[test]
    fn every_table_is_of_a_kind_that_is_served_or_was() {
        let resources = Resources::builtin().unwrap();
        let mut with_fields = 0;
        for version in resources.versions() {
            for resource in version.resources.iter().filter(|resource| resource.storage.is_some()) {
                let kind = resource.kind.kind_name();
                let stored = resource.storage.unwrap().kind;
                let Some(labels) = labels(version.group, version.version, kind) else { continue };
                let structure = stored.structure().unwrap();
                let value = pintle_schema::normal::zero_struct(structure);
                let has: Vec<&str> = fields(stored, &value).into_iter().map(|(label, _)| label).collect();
                let asked = labels.known.iter().chain(labels.renamed.iter().map(|(_, stored)| stored));
                for label in asked.filter(|label| **label != "status.podIPs") {
                    assert!(has.contains(label), "{label} of {}", stored.name);
                }
                with_fields += 1;
            }
        }
        assert_eq!(with_fields, 16);
    }

    #[test]
    fn every_field_is_one_of_a_stored_kind() {
        for (name, sources) in SOURCES {
            let of = find(name).unwrap();
            assert_eq!(of, hub(of));
            for (_, source) in *sources {
                let paths = match source {
                    Text(path) | Bool(path) | Int(path) => vec![*path],
                    Either(first, second) => vec![*first, *second],
                    PodIp => vec![&["status", "podIP"][..], &["status", "podIPs"]],
                };
                for path in paths {
                    let mut structure = of.structure();
                    for step in path {
                        let field = structure.and_then(|of| of.field(step));
                        let shape = field.unwrap_or_else(|| panic!("{step} of {name}")).shape.underlying();
                        structure = shape.structure();
                    }
                }
            }
        }
    }

    #[test]
    fn selectors_are_converted_term_by_term() {
        let selector = Selector::parse("regarding.name=p,type!=Normal").unwrap();
        let event = |label: &str, value: &str| convert("events.k8s.io", "v1", "Event", label, value);
        assert_eq!(selector.transform(event).unwrap().to_string(), "involvedObject.name=p,type!=Normal");
    }
}
