//! Tests of annotations.

use pintle_features::Feature;

use crate::core::pod::validation::testing::{pods, pods_with};

const AT: &str = "/metadata/annotations";
const COST: &str = "metadata.annotations[controller.kubernetes.io/pod-deletion-cost]";

fn cost(value: &str) -> String {
    format!(r#"{{"controller.kubernetes.io/pod-deletion-cost":"{value}"}}"#)
}

#[test]
fn mirrors_have_a_node() {
    let mirror = r#"{"kubernetes.io/config.mirror":"x"}"#;
    pods().refuses(&[(
        &[(AT, mirror)],
        &[
            r#"metadata.annotations[kubernetes.io/config.mirror]: Invalid value: "x": must set spec.nodeName if mirror pod annotation is set"#,
        ],
    )]);
    pods().accepts(&[&[(AT, mirror), ("/spec/nodeName", r#""n""#)]]);
}

#[test]
fn deletion_costs_are_plain_numbers() {
    for value in ["", "+1", "01", "-", "2147483648", "a"] {
        let expected = format!("{COST}: Invalid value: {value:?}: must be a 32bit integer");
        pods().refuses(&[(&[(AT, &cost(value))], &[&expected])]);
        pods_with(&[(Feature::PodDeletionCost, false)]).accepts(&[&[(AT, &cost(value))]]);
    }
    for value in ["0", "10", "-2147483648", "-01"] {
        pods().accepts(&[&[(AT, &cost(value))]]);
    }
    // A wrong one of the old pod may stay, and be replaced by another.
    pods().accepts_update_of(
        &[(AT, &cost("a"))],
        &[&[("/metadata/labels", r#"{"a":"b"}"#)], &[(AT, &cost("b"))]],
    );
    let expected = format!("{COST}: Invalid value: \"a\": must be a 32bit integer");
    pods().refuses_update(&[(&[(AT, &cost("a"))], &[&expected, &expected])]);
}

#[test]
fn tolerations_were_annotations() {
    let with =
        |text: &str| serde_json::json!({ "scheduler.alpha.kubernetes.io/tolerations": text }).to_string();
    let at = "metadata.annotations.scheduler.alpha.kubernetes.io/tolerations[0]";
    let refuses = |text: &str, expected: &str| pods().refuses(&[(&[(AT, &with(text))], &[expected])]);
    refuses(
        r#"[{"Key":"a","OPERATOR":"x"}]"#,
        &format!(r#"{at}.operator: Unsupported value: "x": supported values: "Equal", "Exists""#),
    );
    refuses(
        "[null]",
        &format!(
            r#"{at}.operator: Invalid value: "": operator must be Exists when `key` is empty, which means "match all values and all keys""#
        ),
    );
    let unread = |why: &str| {
        format!(r#"metadata.annotations: Invalid value: "scheduler.alpha.kubernetes.io/tolerations": {why}"#)
    };
    for (text, why) in [
        ("{}", "json: cannot unmarshal object into Go value of type []core.Toleration"),
        ("true", "json: cannot unmarshal bool into Go value of type []core.Toleration"),
        ("[", "unexpected end of JSON input"),
        (r#"["a"]"#, "json: cannot unmarshal string into Go value of type core.Toleration"),
        ("[[]]", "json: cannot unmarshal array into Go value of type core.Toleration"),
        (
            r#"[{"key":1,"value":2}]"#,
            "json: cannot unmarshal number into Go struct field Toleration.Key of type string",
        ),
        (
            r#"[{"tolerationSeconds":1.5}]"#,
            "json: cannot unmarshal number 1.5 into Go struct field Toleration.TolerationSeconds of type int64",
        ),
        (
            r#"[{"effect":true}]"#,
            "json: cannot unmarshal bool into Go struct field Toleration.Effect of type core.TaintEffect",
        ),
    ] {
        refuses(text, &unread(why));
    }
    for text in [
        "",
        "null",
        "[]",
        r#"[{"key":"a","effect":"NoExecute","tolerationSeconds":1,"other":2,"value":null}]"#,
    ] {
        pods().accepts(&[&[(AT, &with(text))]]);
    }
}

#[test]
fn annotations_about_source_and_profiles_stay() {
    let app_armor = r#"{"container.apparmor.security.beta.kubernetes.io/c":"runtime/default"}"#;
    let mirror = r#"{"kubernetes.io/config.mirror":"x"}"#;
    let at_armor = "metadata.annotations[container.apparmor.security.beta.kubernetes.io/c]";
    let at_mirror = "metadata.annotations[kubernetes.io/config.mirror]";
    let node = ("/spec/nodeName", r#""n""#);
    let profile = ("/spec/containers/0/securityContext/appArmorProfile", r#"{"type":"RuntimeDefault"}"#);
    for (at, text, other, what) in [
        (at_armor, app_armor, app_armor.replace("runtime/default", "unconfined"), "AppArmor annotations"),
        (at_mirror, mirror, mirror.replace('x', "y"), "mirror pod annotation"),
    ] {
        let added = format!("{at}: Forbidden: may not add {what}");
        let changed = format!("{at}: Forbidden: may not remove or update {what}");
        pods().refuses_update_of(&[node, profile], &[(&[(AT, text)], &[&added])]);
        pods().refuses_update_of(
            &[node, profile, (AT, text)],
            &[(&[(AT, "{}")], &[&changed]), (&[(AT, &other)], &[&changed])],
        );
        pods().accepts_update_of(&[node, profile, (AT, text)], &[&[("/metadata/labels", r#"{"a":"b"}"#)]]);
    }
}
