//! The strategies of the group's resources.

use std::sync::Arc;

use pintle_features::Feature;
use pintle_meta::field_path::Path;
use pintle_meta::validation::{dns1123_label, object_meta};
use pintle_meta::{Value, Warnings};
use pintle_registry::{ResetFields, Strategy};

use super::conversion::{TEMPLATE_GENERATION, parse_int};
use crate::core::pod;
use crate::framework::conversion::set_annotation;
use crate::framework::strategy::{Entry, MetadataRecheck, Rules, Settings, find, tree};

const TABLE: &[Entry] = &[
    Entry {
        name: "controllerrevisions",
        kind: "apps/v1.ControllerRevision",
        rules: Rules { recheck: MetadataRecheck::Both, ..NAMESPACED },
    },
    Entry {
        name: "daemonsets",
        kind: "apps/v1.DaemonSet",
        rules: Rules {
            on_create: |settings, _, set| {
                new_template(settings, set);
                let generation = template_generation(set);
                set_template_generation(set, generation.max(1));
            },
            on_update: |settings, _, set, old| {
                changed_template(settings, set, old);
                let changed = !tree::is_same(set, old, TEMPLATE);
                set_template_generation(set, template_generation(old) + i64::from(changed));
            },
            warnings: |_, set, old| {
                let counted = |set: &Value| template_generation(set);
                about_template(set, old.is_none_or(|old| counted(old) != counted(set)))
            },
            ..WORKLOADS
        },
    },
    Entry { name: "daemonsets/status", kind: "apps/v1.DaemonSet", rules: WORKLOADS.of_status() },
    Entry {
        name: "deployments",
        kind: "apps/v1.Deployment",
        rules: Rules {
            // Annotations are copied to replica sets, so a change of them is work to do.
            generation_fields: &[&["spec"], &["metadata", "annotations"]],
            warnings: |_, deployment, old| about_pods(deployment, old),
            ..WORKLOADS
        },
    },
    Entry {
        name: "deployments/status",
        kind: "apps/v1.Deployment",
        rules: Rules {
            kept_on_update: &[&["spec"], &["metadata", "labels"]],
            reset_fields: ResetFields::These(&[&["spec"], &["metadata", "labels"]]),
            ..WORKLOADS.of_status()
        },
    },
    Entry {
        name: "replicasets",
        kind: "apps/v1.ReplicaSet",
        rules: Rules { warnings: |_, set, old| about_pods(set, old), ..WORKLOADS },
    },
    Entry { name: "replicasets/status", kind: "apps/v1.ReplicaSet", rules: WORKLOADS.of_status() },
    Entry {
        name: "statefulsets",
        kind: "apps/v1.StatefulSet",
        rules: Rules {
            on_create: |settings, _, set| {
                drop_unavailable(settings, set, None);
                new_template(settings, set);
            },
            on_update: |settings, _, set, old| {
                drop_unavailable(settings, set, Some(old));
                changed_template(settings, set, old);
            },
            warnings: |_, set, old| {
                let mut warnings = about_template(set, is_counted(set, old));
                warnings.extend(about_claims(set, old));
                warnings.extend(negative_history(set));
                warnings
            },
            ..STATEFUL_SETS
        },
    },
    Entry { name: "statefulsets/status", kind: "apps/v1.StatefulSet", rules: STATEFUL_SETS.of_status() },
];

const NAMESPACED: Rules = Rules { unconditional_update: true, ..Rules::NAMESPACED };
const WORKLOADS: Rules = Rules {
    on_create: |settings, _, workload| new_template(settings, workload),
    on_update: |settings, _, workload, old| changed_template(settings, workload, old),
    ..NAMESPACED.with_status().counting_spec()
};
const STATEFUL_SETS: Rules = Rules { name: object_meta::label_name, ..WORKLOADS };

/// How often the template of a daemon set changed; an annotation, since the field is no more.
fn template_generation(set: &Value) -> i64 {
    set.annotation(TEMPLATE_GENERATION).and_then(|text| parse_int(text).ok()).unwrap_or_default()
}

fn set_template_generation(set: &mut Value, generation: i64) {
    let written = generation.to_string();
    if set.annotation(TEMPLATE_GENERATION) != Some(&written)
        && let Some(metadata) = set.get_mut("metadata")
    {
        set_annotation(metadata, TEMPLATE_GENERATION, written);
    }
}

const TEMPLATE: tree::Path = &["spec", "template"];

fn new_template(settings: &Settings, workload: &mut Value) {
    pod::drop_disabled_template(&settings.features, workload, None, TEMPLATE);
}

fn changed_template(settings: &Settings, workload: &mut Value, old: &Value) {
    pod::drop_disabled_template(&settings.features, workload, Some(old), TEMPLATE);
}

/// Drops `maxUnavailable` while its feature is off, unless the old object has it.
fn drop_unavailable(settings: &Settings, set: &mut Value, old: Option<&Value>) {
    const FIELD: tree::Path = &["spec", "updateStrategy", "rollingUpdate", "maxUnavailable"];
    if !settings.features.enabled(Feature::MaxUnavailableStatefulSet)
        && old.is_none_or(|old| old.at(FIELD).is_none())
    {
        tree::remove(set, FIELD);
    }
}

/// A new object's name becomes a part of its pods' names, which want to be labels.
pub(crate) fn name_of_pods(object: &Value, old: Option<&Value>) -> Vec<String> {
    let wrong = if old.is_none() { dns1123_label(object.name()) } else { Vec::new() };
    if wrong.is_empty() {
        return Vec::new();
    }
    let wrong = wrong.join(" ");
    vec![format!(
        "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is \
         recommended: [{wrong}]"
    )]
}

/// Whether an object is of another generation than before.
pub(crate) fn is_counted(object: &Value, old: Option<&Value>) -> bool {
    old.is_none_or(|old| old.generation() != object.generation())
}

fn about_template(workload: &Value, is_new: bool) -> Vec<String> {
    if is_new { pod::warnings::of_template(workload, TEMPLATE) } else { Vec::new() }
}

fn about_pods(workload: &Value, old: Option<&Value>) -> Vec<String> {
    let mut warnings = name_of_pods(workload, old);
    warnings.extend(about_template(workload, is_counted(workload, old)));
    warnings
}

/// The paths that are told are the reference's, right or not.
fn about_claims(set: &Value, old: Option<&Value>) -> Vec<String> {
    let path = Path::new("spec.volumeClaimTemplates");
    let mut warnings = Warnings::new();
    for (index, claim) in set.items_at(&["spec", "volumeClaimTemplates"]).iter().enumerate() {
        let claim_path = path.index(index);
        let spec_path = claim_path.child("Spec");
        let told = if old.is_none() { &claim_path } else { &spec_path };
        let spec = claim.get("spec").unwrap_or(&Value::NULL);
        warnings.extend(pod::warnings::claim_spec(told, spec));
        if warnings.is_full() {
            break;
        }
    }
    warnings.into_texts()
}

fn negative_history(set: &Value) -> Vec<String> {
    let limit = set.at(&["spec", "revisionHistoryLimit"]).and_then(Value::as_i64);
    if limit.is_none_or(|limit| limit >= 0) {
        return Vec::new();
    }
    let why = "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended";
    vec![why.into()]
}

/// The strategy of a resource or subresource.
pub(crate) fn strategy(name: &str, settings: &Settings) -> Option<Arc<dyn Strategy>> {
    find(TABLE, name, settings)
}

#[cfg(test)]
mod tests {
    use crate::framework::strategy::testing::{invalid, of, text, warnings};

    const GENERATION: &str = "deprecated.daemonset.template.generation";

    fn object(metadata: &str, spec: &str, status: &str) -> String {
        format!(
            r#"{{"metadata":{{"name":"a","namespace":"n"{metadata}}},"spec":{{{spec}}},"status":{{{status}}}}}"#
        )
    }

    #[test]
    fn a_deployment_counts_its_annotations() {
        let deployments = of("apps", "deployments");
        let old = object(r#","generation":4"#, r#""replicas":1"#, r#""replicas":1"#);
        let created = deployments.created(&old);
        assert_eq!((created.generation(), created.at(&["status", "replicas"])), (1, None));
        let labelled = object(r#","generation":4,"labels":{"a":"b"}"#, r#""replicas":1"#, "");
        assert_eq!(deployments.updated(&labelled, &old).generation(), 4);
        assert_eq!(deployments.updated(&labelled.replace("labels", "annotations"), &old).generation(), 5);
        assert_eq!(
            deployments.updated(&old.replace(r#""replicas":1"#, r#""replicas":2"#), &old).generation(),
            5
        );
        let status = of("apps", "deployments/status");
        let updated = status.updated(&labelled.replace(r#""status":{"#, r#""status":{"replicas":9"#), &old);
        assert_eq!(updated.label("a"), None);
        assert_eq!(updated.at(&["status", "replicas"]), Some(&9.into()));
    }

    #[test]
    fn a_daemon_set_counts_its_templates_beside() {
        let sets = of("apps", "daemonsets");
        let annotated =
            |count: &str| format!(r#","generation":7,"annotations":{{"{GENERATION}":"{count}"}}"#);
        let template = |name: &str| format!(r#""template":{{"spec":{{"hostname":"{name}"}}}}"#);
        assert_eq!(sets.created(&object("", "", "")).annotation(GENERATION), Some("1"));
        assert_eq!(sets.created(&object(&annotated("-3"), "", "")).annotation(GENERATION), Some("1"));
        assert_eq!(sets.created(&object(&annotated("5"), "", "")).annotation(GENERATION), Some("5"));
        let old = object(&annotated("5"), &template("x"), "");
        let check = |new: &str, count: &str, generation: i64| {
            let updated = sets.updated(new, &old);
            assert_eq!((updated.annotation(GENERATION), updated.generation()), (Some(count), generation));
        };
        check(&object(&annotated("9"), &template("x"), ""), "5", 7);
        check(&object(r#","generation":7"#, &template("x"), ""), "5", 7);
        check(&object(&annotated("9"), &template("y"), ""), "6", 8);
        check(&object(&annotated("9"), &format!(r#""minReadySeconds":3,{}"#, template("x")), ""), "5", 8);
    }

    #[test]
    fn how_many_pods_are_away_goes_unless_it_was_said_before() {
        let sets = of("apps", "statefulsets");
        let set =
            |field: &str| object("", &format!(r#""updateStrategy":{{"rollingUpdate":{{{field}}}}}"#), "");
        let with = set(r#""maxUnavailable":2"#);
        assert!(!text(&sets.created(&with)).contains("maxUnavailable"));
        assert!(!text(&sets.updated(&with, &set(""))).contains("maxUnavailable"));
        assert!(text(&sets.updated(&with, &set(r#""maxUnavailable":1"#))).contains(r#""maxUnavailable":2"#));
    }

    #[test]
    fn templates_are_warned_of_when_they_count() {
        let template = r#""template":{"spec":{"containers":[],"hostAliases":[{"ip":"01.1.1.1"}]}}"#;
        let old = object(r#","generation":1"#, template, "");
        let new = old.replace(r#""generation":1"#, r#""generation":2"#);
        for name in ["deployments", "replicasets", "statefulsets"] {
            let found = warnings(&of("apps", name), &old, None);
            assert!(
                found.len() == 1 && found[0].starts_with("spec.template.spec.hostAliases[0].ip: "),
                "{found:?}"
            );
            assert_eq!(warnings(&of("apps", name), &new, Some(&old)).len(), 1, "{name}");
            assert!(warnings(&of("apps", name), &old, Some(&old)).is_empty(), "{name}");
        }
        let annotated = object(&format!(r#","annotations":{{"{GENERATION}":"3"}}"#), template, "");
        assert!(warnings(&of("apps", "daemonsets"), &new, Some(&old)).is_empty());
        assert_eq!(warnings(&of("apps", "daemonsets"), &annotated, Some(&old)).len(), 1);
        let claims = object(
            "",
            r#""volumeClaimTemplates":[{"spec":{"resources":{"requests":{"storage":"100m"}}}}]"#,
            "",
        );
        let place = |old| warnings(&of("apps", "statefulsets"), &claims, old)[0].clone();
        let why = r#"fractional byte value "100m" is invalid, must be an integer"#;
        assert_eq!(place(None), format!("spec.volumeClaimTemplates[0].resources.requests[storage]: {why}"));
        assert_eq!(
            place(Some(claims.as_str())),
            format!("spec.volumeClaimTemplates[0].Spec.resources.requests[storage]: {why}")
        );
    }

    #[test]
    fn a_stateful_set_has_a_label_for_a_name() {
        let dotted = object("", "", "").replace(r#""a""#, r#""a.b""#);
        assert_eq!(invalid(&of("apps", "statefulsets"), &dotted).len(), 1);
        assert!(invalid(&of("apps", "deployments"), &dotted).is_empty());
        assert_eq!(
            warnings(&of("apps", "deployments"), &dotted, None),
            [
                "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is \
                 recommended: [must not contain dots]"
            ]
        );
        assert!(warnings(&of("apps", "replicasets"), &dotted, Some(&dotted)).is_empty());
        let endless = object("", r#""revisionHistoryLimit":-1"#, "");
        assert_eq!(warnings(&of("apps", "statefulsets"), &endless, Some(&endless)).len(), 1);
    }
}
