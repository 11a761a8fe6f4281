//! Repeated fields: Go decodes each occurrence into the value of the previous one.

use super::*;

#[test]
fn structs_and_maps_are_merged_and_the_rest_is_replaced() {
    check(
        "core/v1.ConfigMap",
        &[
            (
                r#"{"data":{"a":"1","b":"2"},"data":{"b":"3","c":"4"}}"#,
                r#"{"metadata":{},"data":{"a":"1","b":"3","c":"4"}}"#,
            ),
            (
                r#"{"metadata":{"name":"a","uid":"u"},"metadata":{"name":"b"}}"#,
                r#"{"metadata":{"name":"b","uid":"u"}}"#,
            ),
            (
                r#"{"metadata":{"name":"a","generation":1},"metadata":{"name":"","generation":0}}"#,
                r#"{"metadata":{}}"#,
            ),
            (r#"{"immutable":true,"immutable":null}"#, r#"{"metadata":{}}"#),
            (r#"{"data":{"a":"1"},"data":null}"#, r#"{"metadata":{}}"#),
            (r#"{"data":null,"data":{"a":"1"}}"#, r#"{"metadata":{},"data":{"a":"1"}}"#),
        ],
    );
}

#[test]
fn a_null_leaves_a_non_nullable_value_unchanged() {
    check(
        "core/v1.ConfigMap",
        &[
            (r#"{"metadata":{"name":"a"},"metadata":null}"#, r#"{"metadata":{"name":"a"}}"#),
            (r#"{"metadata":{"name":"a","name":null}}"#, r#"{"metadata":{"name":"a"}}"#),
        ],
    );
}

#[test]
fn lists_are_replaced_but_their_items_are_merged() {
    check(
        "core/v1.PodSpec",
        &[
            (
                r#"{"containers":[{"name":"a","image":"i"},{"name":"b"}],"containers":[{"name":"c"}]}"#,
                r#"{"containers":[{"name":"c","image":"i","resources":{}}]}"#,
            ),
            (r#"{"containers":[{"name":"a"}],"containers":[]}"#, r#"{"containers":[]}"#),
        ],
    );
}

#[test]
fn pointers_are_merged_through() {
    check(
        "core/v1.PodSpec",
        &[(
            r#"{"securityContext":{"runAsUser":1},"securityContext":{"runAsGroup":2}}"#,
            r#"{"containers":null,"securityContext":{"runAsUser":1,"runAsGroup":2}}"#,
        )],
    );
}

#[test]
fn fields_of_an_earlier_occurrence_are_no_duplicates() {
    let found =
        decoded("core/v1.ConfigMap", r#"{"metadata":{"name":"a"},"metadata":{"name":"b","name":"c"}}"#)
            .unwrap();
    assert_eq!(found.strict, [r#"duplicate field "metadata""#, r#"duplicate field "metadata.name""#]);
    let found = decoded("core/v1.ConfigMap", r#"{"metadata":{"name":"a"},"metadata":{"name":"b"}}"#).unwrap();
    assert_eq!(found.strict, [r#"duplicate field "metadata""#]);
}

#[test]
fn entries_of_a_map_replace_each_other() {
    check(
        "core/v1.ResourceRequirements",
        &[
            (r#"{"limits":{"cpu":"1","cpu":"2"}}"#, r#"{"limits":{"cpu":"2"}}"#),
            (r#"{"limits":{"cpu":"1","cpu":null}}"#, r#"{"limits":{"cpu":"0"}}"#),
        ],
    );
}
