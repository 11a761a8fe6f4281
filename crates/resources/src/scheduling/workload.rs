//! Workloads: templates of the PodGroups of a controller.

use pintle_meta::Value;

use super::pod_group::{Gates, claim_key, controller_reference, drop_disabled, template};
use super::strategy::UNCONDITIONAL;
use crate::framework::strategy::{Rules, Settings, tree};
use crate::framework::validation::Cursor;
use crate::framework::validation::declarative::{self, all};

pub(super) const WORKLOADS: Rules = Rules {
    on_create: |settings, _, workload| drop_from_templates(settings, workload, None),
    on_update: |settings, _, workload, old| drop_from_templates(settings, workload, Some(old)),
    validate,
    validate_update: validate,
    ..UNCONDITIONAL
};

const TEMPLATE: &str = "scheduling/v1alpha2.PodGroupTemplate";
const TEMPLATES: tree::Path = &["spec", "podGroupTemplates"];
const MAX_TEMPLATES: usize = 8;

fn drop_from_templates(settings: &Settings, workload: &mut Value, old: Option<&Value>) {
    let old = old.map(|old| old.items_at(TEMPLATES)).unwrap_or_default();
    let templates = workload.at_mut(TEMPLATES).and_then(Value::as_list_mut);
    for (index, template) in templates.into_iter().flatten().enumerate() {
        drop_disabled(TEMPLATE, settings, Some(template), old.get(index));
    }
}

fn validate(settings: &Settings, workload: &Cursor<'_, '_>) {
    let gates = &Gates::new(settings);
    declarative::field(workload, "spec", |spec| {
        declarative::field(spec, "controllerRef", |reference| {
            if all([declarative::immutable(reference), reference.is_set()]) {
                controller_reference(reference);
            }
        });
        declarative::field(spec, "podGroupTemplates", |templates| {
            let is_new = declarative::immutable(templates);
            let fits = declarative::max_items(templates, MAX_TEMPLATES);
            if all([is_new, fits, declarative::required_items(templates)]) {
                declarative::unique_by(templates, claim_key);
                declarative::each_by(templates, claim_key, |item| template(item, gates));
            }
        });
    });
}

#[cfg(test)]
mod tests {
    use pintle_features::Feature;

    use crate::framework::strategy::testing::{of, text};
    use crate::framework::validation::testing::Base;

    const GROUP: &str = "scheduling.k8s.io";
    const WORKLOAD: &str = r#"{"metadata":{"name":"a","namespace":"n"},"spec":{
        "controllerRef":{"apiGroup":"batch","kind":"Job","name":"j"},
        "podGroupTemplates":[{"name":"x","schedulingPolicy":{"basic":{}}}]}}"#;
    const FIRST: &str = "/spec/podGroupTemplates/0";

    fn base() -> Base {
        let features = [
            (Feature::TopologyAwareWorkloadScheduling, true),
            (Feature::DRAWorkloadResourceClaims, true),
            (Feature::WorkloadAwarePreemption, true),
        ];
        Base::with_features(GROUP, "workloads", WORKLOAD, &features)
    }

    #[test]
    fn fields_of_features_that_are_off_go_unless_they_were_there() {
        let workloads = of(GROUP, "workloads");
        let workload = r#"{"metadata":{"name":"a","namespace":"n"},"spec":{"podGroupTemplates":[{"name":"x","schedulingPolicy":{},"priority":1}]}}"#;
        assert!(!text(&workloads.created(workload)).contains("priority"));
        assert!(text(&workloads.updated(workload, workload)).contains("priority"));
    }

    #[test]
    fn a_workload_has_one_to_eight_templates_with_names_of_their_own() {
        let template = |name: &str| format!(r#"{{"name":"{name}","schedulingPolicy":{{"basic":{{}}}}}}"#);
        let list = |count: usize| {
            let all: Vec<String> = (0..count).map(|index| template(&format!("t{index}"))).collect();
            format!("[{}]", all.join(","))
        };
        base().accepts(&[
            &[("/spec/podGroupTemplates", &list(8))],
            &[("/spec/controllerRef", "")],
            &[("/spec/controllerRef/apiGroup", "")],
        ]);
        base().refuses(&[
            (&[("/spec/podGroupTemplates", "")], &["spec.podGroupTemplates: Required value"]),
            (
                &[("/spec/podGroupTemplates", &list(9))],
                &["spec.podGroupTemplates: Too many: 9: must have at most 8 items"],
            ),
            (
                &[("/spec/podGroupTemplates/-", &template("x"))],
                &[
                    r#"spec.podGroupTemplates[1]: Duplicate value: {"name":"x","schedulingPolicy":{"basic":{}},"schedulingConstraints":null}"#,
                ],
            ),
            (&[(&format!("{FIRST}/name"), r#""""#)], &["spec.podGroupTemplates[0].name: Required value"]),
            (
                &[(&format!("{FIRST}/schedulingPolicy"), "{}")],
                &[
                    r#"spec.podGroupTemplates[0].schedulingPolicy: Invalid value: "": must specify one of: `basic`, `gang`"#,
                ],
            ),
        ]);
    }

    #[test]
    fn a_controller_is_named_in_full() {
        base().refuses(&[
            (
                &[("/spec/controllerRef/kind", ""), ("/spec/controllerRef/name", r#""a/b""#)],
                &[
                    "spec.controllerRef.kind: Required value",
                    r#"spec.controllerRef.name: Invalid value: "a/b": may not contain '/'"#,
                ],
            ),
            (
                &[("/spec/controllerRef/apiGroup", r#""A""#)],
                &[
                    r#"spec.controllerRef.apiGroup: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"#,
                ],
            ),
        ]);
    }

    #[test]
    fn a_spec_is_immutable() {
        base().accepts_update(&[&[("/metadata/labels", r#"{"a":"b"}"#)]]);
        base().refuses_update(&[
            (
                &[("/spec/controllerRef", "")],
                &["spec.controllerRef: Invalid value: null: field is immutable"],
            ),
            (
                &[(&format!("{FIRST}/priority"), "2")],
                &["spec.podGroupTemplates: Invalid value: null: field is immutable"],
            ),
            (
                &[("/spec/podGroupTemplates", "")],
                &[
                    "spec.podGroupTemplates: Invalid value: null: field is immutable",
                    "spec.podGroupTemplates: Required value",
                ],
            ),
        ]);
    }

    #[test]
    fn templates_with_fields_of_features_are_checked() {
        let at = |field: &str| format!("{FIRST}/{field}");
        base().accepts(&[&[
            (&at("schedulingConstraints"), r#"{"topology":[{"key":"a.b/c"}]}"#),
            (&at("resourceClaims"), r#"[{"name":"c","resourceClaimName":"d"}]"#),
            (&at("disruptionMode"), r#""PodGroup""#),
            (&at("priorityClassName"), r#""p""#),
            (&at("priority"), "-5"),
        ]]);
        base().refuses(&[
            (
                &[(&at("schedulingConstraints"), r#"{"topology":[{"key":""}]}"#)],
                &["spec.podGroupTemplates[0].schedulingConstraints.topology[0].key: Required value"],
            ),
            (
                &[(&at("disruptionMode"), r#""x""#)],
                &[
                    r#"spec.podGroupTemplates[0].disruptionMode: Unsupported value: "x": supported values: "Pod", "PodGroup""#,
                ],
            ),
            (
                &[(&at("priority"), "1000000001")],
                &[
                    "spec.podGroupTemplates[0].priority: Invalid value: 1000000001: must be less than or equal to 1000000000",
                ],
            ),
        ]);
    }
}
