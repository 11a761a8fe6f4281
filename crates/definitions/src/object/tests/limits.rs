//! Limits of messages and of time.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use pintle_work::{Interrupted, Token};

use super::validation::check;
use super::{schema, tree};
use crate::object::{Validator, embedded, lists};

#[test]
fn messages_are_limited() {
    let long = "k".repeat(1 << 20);
    let of = |of: &str| schema(&format!(r#"{{"properties":{{"{long}":{of}}}}}"#));
    let object = |items: &[String]| tree(&format!(r#"{{"{long}":[{}]}}"#, items.join(",")));
    let twice: Vec<String> = (0..40).map(|n| (n / 2).to_string()).collect();
    let set = of(r#"{"x-kubernetes-list-type":"set","items":{"type":"string"}}"#);
    assert_eq!(lists::validate(&set, &object(&twice)).len(), 8);
    assert_eq!(Validator::new(&set).validate(&object(&twice)).len(), 4);
    let embedded = of(r#"{"items":{"x-kubernetes-embedded-resource":true}}"#);
    let empty: Vec<String> = (0..40).map(|_| "{}".to_owned()).collect();
    assert_eq!(embedded::validate(&embedded, &object(&empty), false).len(), 8);
    // However many there are, the last ones too decide whether an alternative is one.
    let any = schema(r#"{"items":{"type":"string"},"anyOf":[{"items":{"enum":["a"]}},{"minItems":1}]}"#);
    let many: Vec<String> = (0..20_000).map(|n| n.to_string()).collect();
    let errors = Validator::new(&any).validate(&tree(&format!("[{}]", many.join(","))));
    assert_eq!(errors.len(), 10_000);
    assert!(errors[0].to_string().starts_with("[0]: Invalid value: \"integer\""), "{}", errors[0]);
}

#[test]
fn alternatives_of_numbers_and_strings() {
    let any = r#""anyOf":[{"type":"integer"},{"type":"string"}]"#;
    let both = r#"f: Invalid value: "number": f in body must be of type integer,string: "number""#;
    let one = r#"f: Invalid value: "number": f in body must be of type integer: "number""#;
    let least = r#"<nil>: Invalid value: "": "f" must validate at least one schema (anyOf)"#;
    let range = r#"<nil>: Invalid value: "": Checked value must be of type integer (default format) in f"#;
    check(
        &format!(r#"{{"x-kubernetes-int-or-string":true,"nullable":true,{any}}}"#),
        &[("null", &[]), ("1", &[]), (r#""a""#, &[]), ("1.2", &[both, least, one, range])],
    );
    let none = r#"<nil>: Invalid value: "": "f" must validate all the schemas (allOf). None validated"#;
    check(
        &format!(r#"{{"x-kubernetes-int-or-string":true,"allOf":[{{{any}}}]}}"#),
        &[("1", &[]), ("1.2", &[both, least, one, range, none])],
    );
    check(
        r#"{"type":"integer","format":"int64"}"#,
        &[(
            "1e19",
            &[
                r#"f: Invalid value: "float64": f in body must be of type int64: "float64""#,
                r#"<nil>: Invalid value: "": Checked value must be of type integer with format int64 in f"#,
            ],
        )],
    );
}

/// Long enumerations, at many items that are right by one alternative, wrong, or wrong as they were before: a megabyte of
/// text for each of them would take minutes.
#[test]
fn long_enumerations_are_shown_a_few_times_only() {
    let values = |letter: &str| {
        (0..20_000).map(|number| format!(r#""{letter}{number}""#)).collect::<Vec<_>>().join(",")
    };
    let list = |item: &str| format!(r#"{{"f":[{}]}}"#, vec![item; 20_000].join(","));
    let of = |items: &str| {
        schema(&format!(r#"{{"type":"object","properties":{{"f":{{"type":"array","items":{items}}}}}}}"#))
    };
    let started = Instant::now();
    let plain = Validator::new(&of(&format!(r#"{{"type":"string","enum":[{}]}}"#, values("a"))));
    assert!(plain.validate(&tree(&list(r#""a19999""#))).is_empty());
    let errors = plain.validate(&tree(&list(r#""b""#)));
    assert!(!errors.is_empty() && errors.len() < 1000, "{}", errors.len());
    let errors = plain.validate_update(&tree(&list(r#""b""#)), &tree(&list(r#""b""#))).errors;
    assert!(errors.is_empty(), "as before");
    let fields = |last: &str| {
        let same: Vec<String> = (0..20_000).map(|number| format!(r#""k{number}":"b""#)).collect();
        format!(r#"{{"f":{{{},"z":"{last}"}}}}"#, same.join(","))
    };
    let map = format!(
        r#"{{"type":"object","properties":{{"f":{{"type":"object","additionalProperties":{{"type":"string","enum":[{}]}}}}}}}}"#,
        values("a")
    );
    let errors =
        Validator::new(&schema(&map)).validate_update(&tree(&fields("c")), &tree(&fields("d"))).errors;
    assert_eq!(errors.len(), 1, "all others are as before");

    let either = format!(r#"[{{"enum":[{}]}},{{"enum":["b"]}}]"#, values("a"));
    for keyword in ["anyOf", "oneOf"] {
        let either = Validator::new(&of(&format!(r#"{{"type":"string","{keyword}":{either}}}"#)));
        assert!(either.validate(&tree(&list(r#""b""#))).is_empty());
        let wrong = list(r#""b""#).replacen(r#""b"]"#, r#""c"]"#, 1);
        assert_eq!(either.validate(&tree(&wrong)).len(), 2, "{keyword}");
        let errors = either.validate(&tree(&list(r#""c""#)));
        assert!(!errors.is_empty() && errors.len() < 1000, "{}", errors.len());
    }
    assert!(started.elapsed() < Duration::from_secs(100), "{:?}", started.elapsed());
}

/// Values that are all right are not reported, and matching them takes as long. The work is over before it begins, so that the
/// speed of the matcher does not decide.
#[test]
fn a_deadline_ends_the_matching_of_patterns() {
    let items = r#"{"type":"string","pattern":"^(a)?$"}"#;
    let root =
        schema(&format!(r#"{{"type":"object","properties":{{"f":{{"type":"array","items":{items}}}}}}}"#));
    let validator = Validator::new(&root);
    for count in [1, 1000] {
        let object = tree(&format!(r#"{{"f":[{}]}}"#, vec![r#""a""#; count].join(",")));
        assert!(validator.validate(&object).is_empty());
        let token = Arc::new(Token::new(None));
        token.cancel();
        let mut work = pin!(pintle_work::run(|| validator.validate(&object)));
        let polled = pintle_work::polled_aside(&token, || {
            work.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready()
        });
        assert_eq!(polled, Err(Interrupted), "{count} values");
    }
}
