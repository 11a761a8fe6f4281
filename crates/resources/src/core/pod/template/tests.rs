//! Tests of PodTemplates.

use crate::framework::validation::testing::Base;

#[test]
fn updates_are_checked_like_new_templates() {
    let base = Base::new(
        "",
        "podtemplates",
        r#"{"metadata":{"name":"t","namespace":"n"},"template":{"spec":{"containers":[{"name":"c","image":"i"}]}}}"#,
    );
    let wrong = ("/template/spec/restartPolicy", r#""x""#);
    let expected = r#"template.spec.restartPolicy: Unsupported value: "x": supported values: "Always", "OnFailure", "Never""#;
    base.refuses(&[(&[wrong], &[expected])]);
    base.refuses_update(&[(&[wrong], &[expected])]);
    // A part of a huge page may stay.
    let pages = ("/template/spec/containers/0/resources/limits", r#"{"cpu":"1","hugepages-2Mi":"3Mi"}"#);
    base.accepts_update_of(&[pages], &[&[("/template/spec/nodeName", r#""n""#)]]);
}
