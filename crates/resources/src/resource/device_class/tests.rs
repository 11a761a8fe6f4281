use pintle_features::Feature;

use crate::framework::strategy::Settings;
use crate::framework::strategy::testing::{text, with_settings};
use crate::framework::validation::testing::Base;

const GROUP: &str = "resource.k8s.io";
const CLASS: &str = r#"{"metadata":{"name":"a"},"spec":{
    "selectors":[{"cel":{"expression":"device.driver == 'd'"}}],
    "config":[{"opaque":{"driver":"d.example.com","parameters":{"a":1}}}],
    "extendedResourceName":"example.com/gpu"}}"#;
const EXPRESSION: &str = "/spec/selectors/0/cel/expression";

fn base() -> Base {
    Base::new(GROUP, "deviceclasses", CLASS)
}

fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

#[test]
fn selectors_are_expressions_of_a_device() {
    let base = base();
    base.accepts(&[
        &[("/spec/selectors", "")],
        &[(EXPRESSION, r#""device.attributes['a'].b""#)],
        &[(EXPRESSION, r#""cel.bind(a, device.attributes['a'], a.b && a.c == 1)""#)],
        &[(EXPRESSION, r#""device.allowMultipleAllocations""#)],
    ]);
    let items = vec![r#"{"cel":{"expression":"true"}}"#; 33].join(",");
    let long = quoted(&format!("'{}' == ''", "a".repeat(10 * 1024)));
    let costly = "device.attributes.all(a, device.attributes.all(b, device.attributes.all(c, device.attributes.all(d, a == b))))";
    base.refuses(&[
        (&[("/spec/selectors", &format!("[{items}]"))], &["spec.selectors: Too many: 33: must have at most 32 items"]),
        (&[("/spec/selectors/0", "{}")], &["spec.selectors[0].cel: Required value"]),
        (
            &[(EXPRESSION, &long)],
            &["spec.selectors[0].cel.expression: Too long: may not be more than 10240 bytes"],
        ),
        (
            &[(EXPRESSION, r#""1 +""#)],
            &[concat!(
                "spec.selectors[0].cel.expression: Invalid value: \"1 +\": compilation failed: ERROR: <input>:1:4: Syntax ",
                "error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', ",
                "NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}\n | 1 +\n | ...^"
            )],
        ),
        (
            &[(EXPRESSION, r#""device.attributes""#)],
            &["spec.selectors[0].cel.expression: Invalid value: \"device.attributes\": must evaluate to bool or the unknown \
               type, not map(string, map(string, google.protobuf.Any))"],
        ),
        (
            &[(EXPRESSION, r#""dyn(true)""#)],
            &["spec.selectors[0].cel.expression: Invalid value: \"dyn(true)\": must evaluate to bool or the unknown type, not dyn"],
        ),
        (
            &[(EXPRESSION, &quoted(costly))],
            &["spec.selectors[0].cel.expression: Forbidden: too complex, exceeds cost limit"],
        ),
    ]);
}

#[test]
fn gates_change_the_expressions_but_not_stored_ones() {
    let with =
        |feature: Feature, on: bool| Base::with_features(GROUP, "deviceclasses", CLASS, &[(feature, on)]);
    let refusal = |base: &Base, expression: &str, why: &str| {
        let dots = why.split(": ").next().unwrap();
        let column: usize = dots.parse().unwrap();
        let caret = format!("{}^", ".".repeat(column - 1));
        let message = format!(
            "spec.selectors[0].cel.expression: Invalid value: {}: compilation failed: ERROR: <input>:1:{why}\n | {expression}\n | {caret}",
            pintle_meta::quote(expression)
        );
        base.refuses(&[(&[(EXPRESSION, &quoted(expression))], &[&message])]);
    };
    let shared = "device.allowMultipleAllocations";
    let off = with(Feature::DRAConsumableCapacity, false);
    refusal(&off, shared, "7: undefined field 'allowMultipleAllocations'");
    off.accepts_update_of(&[(EXPRESSION, &quoted(shared))], &[&[("/metadata/labels", r#"{"a":"b"}"#)]]);
    let (plain, lists) = (base(), with(Feature::DRAListTypeAttributes, true));
    let includes = "device.attributes['a'].b.includes('c')";
    let exists = "device.attributes['a'].b.exists(x, x == 1)";
    refusal(&plain, includes, "34: undeclared reference to 'includes' (in container '')");
    refusal(
        &plain,
        exists,
        "23: expression of type 'any' cannot be range of a comprehension (must be list, map, or dynamic)",
    );
    lists.accepts(&[
        &[(EXPRESSION, &quoted(includes))],
        &[(EXPRESSION, &quoted(exists))],
        &[(EXPRESSION, r#""device.attributes['a'].b""#)],
    ]);
    plain.accepts_update_of(&[(EXPRESSION, &quoted(includes))], &[&[("/metadata/labels", r#"{"a":"b"}"#)]]);
}

#[test]
fn configuration_is_an_object_for_a_driver() {
    let base = base();
    let parameters = "/spec/config/0/opaque/parameters";
    let items = vec![r#"{"opaque":{"driver":"d","parameters":{}}}"#; 33].join(",");
    let long = format!(r#"{{"a":"{}"}}"#, "x".repeat(10 * 1024));
    let too_long = "spec.config[0].opaque.parameters: Too long: may not be more than 10240 bytes";
    base.refuses(&[
        (&[("/spec/config", &format!("[{items}]"))], &["spec.config: Too many: 33: must have at most 32 items"]),
        (&[("/spec/config/0", "{}")], &["spec.config[0].opaque: Required value"]),
        (
            &[("/spec/config/0/opaque", "{}")],
            &["spec.config[0].opaque.driver: Required value", "spec.config[0].opaque.parameters: Required value"],
        ),
        (&[(parameters, &long)], &[too_long]),
        (&[(parameters, "null")], &["spec.config[0].opaque.parameters: Required value"]),
        (
            &[(parameters, "[]")],
            &["spec.config[0].opaque.parameters: Invalid value: \"<value omitted>\": must be a valid JSON object"],
        ),
        (
            &[("/spec/extendedResourceName", r#""gpu""#)],
            &["spec.extendedResourceName: Invalid value: \"gpu\": must be a valid extended resource name"],
        ),
    ]);
    base.accepts(&[&[("/spec/config", "")], &[("/spec/extendedResourceName", "")]]);
    base.refuses_update(&[(&[(parameters, &long)], &[too_long])]);
    base.accepts_update_of(&[(parameters, &long)], &[&[("/spec/selectors", "")]]);
}

#[test]
fn names_are_checked_again_on_an_update() {
    let why = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end \
               with an alphanumeric character (e.g. 'example.com', regex used for validation is \
               '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
    let wrong = format!("metadata.name: Invalid value: \"A\": {why}");
    let finalizer = "metadata.finalizers[0]: Invalid value: \"x\": name is neither a standard finalizer name nor is it fully qualified";
    let base = base();
    base.refuses(&[(&[("/metadata/name", r#""A""#)], &[&wrong])]);
    base.refuses_update(&[(
        &[("/metadata/name", r#""A""#), ("/metadata/finalizers", r#"["x"]"#)],
        &[&wrong, finalizer, "metadata.name: Invalid value: \"A\": field is immutable", finalizer],
    )]);
}

#[test]
fn extended_resources_have_a_gate() {
    let mut settings = Settings::default();
    settings.features.set(Feature::DRAExtendedResource, false);
    let off = with_settings(GROUP, "deviceclasses", &settings);
    let class = |spec: &str| format!(r#"{{"metadata":{{"name":"a","generation":1}},"spec":{{{spec}}}}}"#);
    let (named, plain) = (class(r#""extendedResourceName":"example.com/gpu""#), class(""));
    assert_eq!(text(&off.created(&named)), plain);
    assert_eq!(text(&off.updated(&named, &plain)), plain);
    assert_eq!(text(&off.updated(&named, &named)), named);
    let on = with_settings(GROUP, "deviceclasses", &Settings::default());
    assert_eq!(text(&on.created(&named)), named);
}
