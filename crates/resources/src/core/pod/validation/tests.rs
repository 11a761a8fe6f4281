//! Tests of rules about whole pods and templates.

use pintle_features::Feature;
use pintle_meta::validation::{dns1123_label, object_meta};

use super::testing::{POD, pods, wrong};
use crate::framework::validation::testing::{Base, Case};

fn subdomain(name: &str) -> Vec<String> {
    object_meta::subdomain_name(name, false)
}

#[test]
fn names_in_a_spec_have_their_formats() {
    for (field, format) in [
        ("serviceAccountName", subdomain as fn(&str) -> Vec<String>),
        ("nodeName", subdomain),
        ("priorityClassName", subdomain),
        ("runtimeClassName", subdomain),
        ("hostname", dns1123_label),
        ("subdomain", dns1123_label),
    ] {
        let expected = wrong(&format!("spec.{field}"), "A", format);
        pods().refuses(&[(&[(&format!("/spec/{field}"), r#""A""#)], &[&expected])]);
        pods().accepts(&[&[(&format!("/spec/{field}"), r#""a""#)]]);
    }
    let empty: Vec<String> = subdomain("")
        .iter()
        .map(|why| format!("spec.runtimeClassName: Invalid value: \"\": {why}"))
        .collect();
    let empty: Vec<&str> = empty.iter().map(String::as_str).collect();
    pods().refuses(&[(&[("/spec/runtimeClassName", r#""""#)], &empty)]);
}

#[test]
fn deadlines_and_policies_are_in_range() {
    let deadline = |seconds: i64| {
        format!(
            "spec.activeDeadlineSeconds: Invalid value: {seconds}: must be between 1 and 2147483647, inclusive"
        )
    };
    pods().refuses(&[
        (&[("/spec/activeDeadlineSeconds", "0")], &[&deadline(0)]),
        (&[("/spec/activeDeadlineSeconds", "2147483648")], &[&deadline(2147483648)]),
        (
            &[("/spec/restartPolicy", r#""never""#)],
            &[r#"spec.restartPolicy: Unsupported value: "never": supported values: "Always", "OnFailure", "Never""#],
        ),
    ]);
}

#[test]
fn node_selectors_are_labels() {
    let expected = wrong("spec.nodeSelector", "-", pintle_meta::validation::label_value);
    pods().refuses(&[(&[("/spec/nodeSelector", r#"{"a":"-"}"#)], &[&expected])]);
}

#[test]
fn new_pods_have_no_debuggers_and_no_node_while_gated() {
    pods().refuses(&[
        (
            &[("/spec/ephemeralContainers", r#"[{"name":"d","image":"i"}]"#)],
            &["spec.ephemeralContainers: Forbidden: cannot be set on create"],
        ),
        (
            &[("/spec/nodeName", r#""n""#), ("/spec/schedulingGates", r#"[{"name":"g"}]"#)],
            &["spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared"],
        ),
    ]);
}

#[test]
fn pods_have_an_account_for_tokens_and_trimmed_images() {
    let token = r#"[{"name":"v","projected":{"sources":[{"configMap":{"name":"c"}},{"serviceAccountToken":{"path":"t"}}]}}]"#;
    pods().refuses(&[
        (
            &[("/spec/volumes", token)],
            &[
                "spec.volumes[0].projected.sources[1].serviceAccountToken: Forbidden: must not be specified when serviceAccountName is not set",
            ],
        ),
        (
            &[("/spec/containers/0/image", r#"" i""#), ("/spec/initContainers", r#"[{"name":"d","image":"i\t"}]"#)],
            &[
                r#"spec.containers[0].image: Invalid value: " i": must not have leading or trailing whitespace"#,
                r#"spec.initContainers[0].image: Invalid value: "i\t": must not have leading or trailing whitespace"#,
            ],
        ),
    ]);
    pods().accepts(&[&[("/spec/volumes", token), ("/spec/serviceAccountName", r#""a""#)]]);
}

#[test]
fn a_grace_period_is_required() {
    use crate::framework::validation::{Cursor, Errors};
    let pod = crate::framework::strategy::testing::of("", "pods").tree(POD);
    let errors = Errors::default();
    let options = super::Options::for_pod(&Default::default(), &Cursor::root(&pod, None, &errors));
    super::create(&Cursor::root(&pod, None, &errors), &options);
    let errors: Vec<String> = errors.into_vec().iter().map(ToString::to_string).collect();
    assert_eq!(errors[0], "spec.terminationGracePeriodSeconds: Required value");
}

#[test]
fn templates_are_checked_at_their_own_paths() {
    let template = format!(r#"{{"metadata":{{"name":"t","namespace":"n"}},"template":{POD}}}"#);
    let base = Base::new("", "podtemplates", &template);
    let label = pintle_meta::validation::label_value("-");
    let label = format!("template.labels: Invalid value: \"-\": {}", label[0]);
    let key = pintle_meta::validation::qualified_name("a b");
    let key = format!("template.annotations: Invalid value: \"a b\": {}", key[0]);
    let cases: &[Case<'_>] = &[
        (&[("/template/metadata/labels", r#"{"a":"-"}"#)], &[&label]),
        (&[("/template/metadata/annotations", r#"{"a b":""}"#)], &[&key]),
        (
            &[("/template/metadata/annotations", r#"{"controller.kubernetes.io/pod-deletion-cost":"a"}"#)],
            &[
                r#"template.annotations[controller.kubernetes.io/pod-deletion-cost]: Invalid value: "a": must be a 32bit integer"#,
            ],
        ),
        (
            &[("/template/spec/preemptionPolicy", r#""a""#)],
            &[
                r#"template.spec.preemptionPolicy: Unsupported value: "a": supported values: "PreemptLowerPriority", "Never""#,
            ],
        ),
        (
            &[("/template/spec/ephemeralContainers", r#"[{"name":"d","image":"i"}]"#)],
            &[
                "template.spec.ephemeralContainers: Forbidden: ephemeral containers not allowed in pod template",
            ],
        ),
    ];
    base.refuses(cases);
    base.refuses_update(cases);
    // Rules of pods alone.
    base.accepts(&[&[
        ("/template/spec/containers/0/image", r#"" i""#),
        ("/template/spec/nodeName", r#""n""#),
        ("/template/spec/schedulingGates", r#"[{"name":"g"}]"#),
    ]]);
    base.accepts_update(&[&[("/template/spec/nodeName", r#""n""#)]]);
    let off = Base::with_features("", "podtemplates", &template, &[(Feature::PodDeletionCost, false)]);
    off.accepts(&[&[(
        "/template/metadata/annotations",
        r#"{"controller.kubernetes.io/pod-deletion-cost":"a"}"#,
    )]]);
}
