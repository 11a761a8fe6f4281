//! Cases of controller revisions.

use pintle_meta::Value;
use pintle_registry::Context;

use crate::framework::strategy::testing::of;
use crate::framework::validation::testing::Base;

const REVISION: &str =
    r#"{"metadata":{"name":"r","namespace":"n"},"data":{"spec":{"b":1,"a":"x"}},"revision":3}"#;

#[test]
fn data_are_an_object() {
    let base = Base::new("apps", "controllerrevisions", REVISION);
    base.refuses(&[
        (&[("/data", "")], &["data: Required value: data is mandatory"]),
        (&[("/data", "null")], &["data: Required value: data is mandatory"]),
        (&[("/data", "[1]")], &["data: Required value: data must be a valid JSON object"]),
        (
            &[("/revision", "-1"), ("/data", "5")],
            &[
                "revision: Invalid value: -1: must be greater than or equal to 0",
                "data: Required value: data must be a valid JSON object",
            ],
        ),
    ]);
    base.accepts(&[&[("/data", "{}")]]);
}

#[test]
fn data_that_are_no_json_are_refused() {
    let revisions = of("apps", "controllerrevisions");
    let found = |data: &[u8]| {
        let mut revision = revisions.tree(REVISION);
        revision.as_object_mut().unwrap().insert("data", Value::raw(data.to_vec()));
        let errors = revisions.strategy.validate(&Context::default(), &revision);
        errors.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(
        found(b"{"),
        [r#"data: Invalid value: "<value omitted>": error parsing data: unexpected end of JSON input"#]
    );
    assert_eq!(found(b"null"), ["data: Required value: data is mandatory"]);
}

#[test]
fn data_do_not_change() {
    let base = Base::new("apps", "controllerrevisions", REVISION);
    base.refuses_update(&[
        (
            &[("/revision", "-1"), ("/data/spec", r#"{"b":2}"#)],
            &[
                "revision: Invalid value: -1: must be greater than or equal to 0",
                r#"data: Invalid value: {"spec":{"b":2}}: field is immutable"#,
            ],
        ),
        (&[("/data", "")], &["data: Invalid value: null: field is immutable"]),
    ]);
    base.accepts_update(&[&[("/revision", "9")]]);
}
