//! Rules of signing requests and of the three ways to write them.

use pintle_registry::Context;

use crate::framework::strategy::testing::{NOW, Subject, invalid, invalid_update, of, text};

const GROUP: &str = "certificates.k8s.io";
/// A request in PEM, in base 64.
const REQUEST: &str = "\
    LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlISE1IQUNBUUF3RGpFTU1Bb0dBMVVFQXd3RFlXNXVNRmt3\
    RXdZSEtvWkl6ajBDQVFZSUtvWkl6ajBEQVFjRApRZ0FFclhZSmNsZ0dZa2xYTkZEMEYyTmxYSDFyVCtWendpcStON1BvY29i\
    dDJoSkt2dHpiMUI2ME51Nm5yZ2ZyCkUzbHFxMVIzRnU2QStIKzFHdkk0QzlBazU2QUFNQW9HQ0NxR1NNNDlCQU1DQTBjQU1F\
    UUNJSG1KM3l2UGdjRHUKSXNFcHFZRGl2cldETWxIekw5TkorK1YvZmdsY1p2ZHdBaUErZW9palJtam82K1NlRm9zTUJvNzIy\
    SUNyS0ZIQgpZai9LZUEyc0JMZm5ZUT09Ci0tLS0tRU5EIENFUlRJRklDQVRFIFJFUVVFU1QtLS0tLQo=\
    ";
/// A certificate in PEM, in base 64.
const CERTIFICATE: &str = "\
    LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUJiekNDQVJXZ0F3SUJBZ0lVS0FLUzU1bkpxRXBtK3pSSXJJVS94R2F3\
    OGdVd0NnWUlLb1pJemowRUF3SXcKRERFS01BZ0dBMVVFQXd3QllUQWdGdzB5TmpFeE1UWXhOalExTlRsYUdBOHlNVEkyTVRB\
    eU16RTJORFUxT1ZvdwpEREVLTUFnR0ExVUVBd3dCWVRCWk1CTUdCeXFHU000OUFnRUdDQ3FHU000OUF3RUhBMElBQksxMkNY\
    SllCbUpKClZ6UlE5QmRqWlZ4OWEwL2xjOElxdmplejZIS0c3ZG9TU3I3YzI5UWV0RGJ1cDY0SDZ4TjVhcXRVZHhidWdQaC8K\
    dFJyeU9BdlFKT2VqVXpCUk1CMEdBMVVkRGdRV0JCVHJadWRDdDltdkJneGI5MnFGYk1Lc3B2N1FuekFmQmdOVgpIU01FR0RB\
    V2dCVHJadWRDdDltdkJneGI5MnFGYk1Lc3B2N1FuekFQQmdOVkhSTUJBZjhFQlRBREFRSC9NQW9HCkNDcUdTTTQ5QkFNQ0Ew\
    Z0FNRVVDSVFEVG5KaTNuT1BwOGpWTTFGVjl6bENaN2M4MlNpZHJmVy9uMVpXVEo2eVgKeGdJZ0E3VXdvYmhqUHRLR2YwZlVC\
    b25aNXp1S2YwUEZqUnFpUlI3SW9aNDRZMTA9Ci0tLS0tRU5EIENFUlRJRklDQVRFLS0tLS0K\
    ";

fn requests(subresource: &str) -> Subject {
    of(GROUP, &format!("certificatesigningrequests{subresource}"))
}

fn request(status: &str) -> String {
    format!(
        r#"{{"metadata":{{"name":"a","resourceVersion":"1"}},"spec":{{"request":"{REQUEST}","signerName":"a.b/c","usages":["client auth"]}},"status":{{{status}}}}}"#
    )
}

fn condition(kind: &str, status: &str, time: &str) -> String {
    format!(
        r#"{{"type":"{kind}","status":"{status}","reason":"r","lastUpdateTime":{time},"lastTransitionTime":{time}}}"#
    )
}

fn decided(kind: &str, status: &str) -> String {
    request(&format!(r#""conditions":[{}]"#, condition(kind, status, "null")))
}

#[test]
fn who_asks_is_what_the_server_knows() {
    let context = Context {
        user: "admin".into(),
        user_uid: "u".into(),
        groups: vec!["g".into(), "h".into()],
        extra: [("k".into(), vec!["v".into()])].into(),
        ..Context::default()
    };
    let given = r#"{"metadata":{"name":"a"},"spec":{"request":"cg==","signerName":"s","username":"x","uid":"y","groups":["z"],"extra":{"a":["b"]}},
        "status":{"conditions":[{"type":"Approved","status":"True"}]}}"#;
    let created = requests("").created_by(&context, given);
    assert_eq!(
        text(&created),
        r#"{"metadata":{"name":"a"},"spec":{"request":"cg==","signerName":"s","username":"admin","uid":"u","groups":["g","h"],"extra":{"k":["v"]}},"status":{}}"#
    );
    let created = requests("").created(given);
    assert_eq!(text(created.get("spec").unwrap()), r#"{"request":"cg==","signerName":"s"}"#);
    let changed = requests("").updated(&decided("Approved", "True"), &request(""));
    assert_eq!(text(&changed), request(""));
}

#[test]
fn an_approval_writes_conditions_and_notes_when() {
    let approval = requests("/approval");
    let new = decided("Approved", "True")
        .replace("a.b/c", "x/y")
        .replace(r#"{"conditions""#, r#"{"certificate":"Y2VydA==","conditions""#);
    let at_now = condition("Approved", "True", &format!("{NOW:?}"));
    assert_eq!(text(&approval.updated(&new, &request(""))), request(&format!(r#""conditions":[{at_now}]"#)));
    // A time that is known stays, and a condition that was there turned when it did.
    let before = condition("Approved", "True", r#""2020-01-01T00:00:00Z""#);
    let old = request(&format!(r#""conditions":[{before}]"#));
    let updated = approval.updated(&decided("Approved", "True"), &old);
    let condition = &updated.items_at(&["status", "conditions"])[0];
    assert_eq!(condition.text_at(&["lastTransitionTime"]), "2020-01-01T00:00:00Z");
    assert_eq!(condition.text_at(&["lastUpdateTime"]), NOW);
}

#[test]
fn a_status_does_not_decide() {
    let status = requests("/status");
    let before = condition("Approved", "True", r#""2020-01-01T00:00:00Z""#);
    let old = request(&format!(r#""conditions":[{before}]"#));
    let new = decided("Approved", "True").replace(r#""r""#, r#""other""#);
    assert_eq!(text(&status.updated(&new, &old)), old);
    assert_eq!(
        invalid_update(&status, &decided("Approved", "True"), &request("")),
        [r#"status.conditions: Forbidden: updates may not add a condition of type "Approved""#]
    );
    let signed = |certificate: &str| request(&format!(r#""certificate":"{certificate}""#));
    assert!(invalid_update(&status, &signed(CERTIFICATE), &request("")).is_empty());
    assert_eq!(
        invalid_update(&status, &signed("YQ=="), &request("")),
        [
            r#"status.certificate: Invalid value: "<certificate data>": must contain at least one CERTIFICATE PEM block"#
        ]
    );
    assert_eq!(
        invalid_update(&status, &signed("YQ=="), &signed("Yg==")),
        ["status.certificate: Forbidden: updates may not modify existing certificate content"]
    );
}

#[test]
fn what_is_asked_for_is_a_signed_request_for_known_uses() {
    let check = |change: &dyn Fn(String) -> String, expected: &[&str]| {
        let created = change(request("")).replace(r#","resourceVersion":"1""#, "");
        assert_eq!(invalid(&requests(""), &created), expected);
    };
    check(&|text| text, &[]);
    check(
        &|text| text.replace(REQUEST, "Z2FyYmFnZQ=="),
        &[r#"spec.request: Invalid value: "Z2FyYmFnZQ==": PEM block type must be CERTIFICATE REQUEST"#],
    );
    check(
        &|text| text.replace(&format!(r#""request":"{REQUEST}","#), ""),
        &["spec.request: Invalid value: null: PEM block type must be CERTIFICATE REQUEST"],
    );
    check(&|text| text.replace(r#","usages":["client auth"]"#, ""), &["spec.usages: Required value"]);
    let usages = r#"["client auth"]"#;
    check(&|text| text.replace(usages, r#"["client auth","server auth"]"#), &[]);
    check(&|text| text.replace(usages, r#"["any","any"]"#), &[r#"spec.usages[1]: Duplicate value: "any""#]);
    let wrong = invalid(&requests(""), &request("").replace(usages, r#"["bogus"]"#));
    assert!(wrong[0].starts_with(r#"spec.usages[0]: Unsupported value: "bogus": supported values: "any", "#));
    check(&|text| text.replace(r#""a.b/c""#, r#""""#), &["spec.signerName: Required value"]);
    check(
        &|text| text.replace("a.b/c", "nodomain"),
        &[
            r#"spec.signerName: Invalid value: "nodomain": must be a fully qualified domain and path of the form 'example.com/signer-name'"#,
        ],
    );
    check(
        &|text| text.replace("a.b/c", "a/c"),
        &[
            r#"spec.signerName: Invalid value: "a": should be a domain with at least two segments separated by dots"#,
        ],
    );
    check(
        &|text| text.replace("a.b/c", "kubernetes.io/legacy-unknown"),
        &[
            r#"spec.signerName: Invalid value: "kubernetes.io/legacy-unknown": the legacy signerName is not allowed via this API version"#,
        ],
    );
    check(
        &|text| text.replace(r#","usages""#, r#","expirationSeconds":599,"usages""#),
        &[
            "spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 600 seconds (10 minutes)",
        ],
    );
    // Stored values stay.
    let stored = request("").replace(usages, r#"["x","x"]"#).replace("a.b/c", "kubernetes.io/legacy-unknown");
    assert!(invalid_update(&requests("/approval"), &stored, &stored).is_empty());
}

#[test]
fn conditions_are_whole_and_do_not_contradict() {
    let approval = requests("/approval");
    let check = |conditions: &[(&str, &str)], expected: &[&str]| {
        let all: Vec<String> =
            conditions.iter().map(|(kind, status)| condition(kind, status, "null")).collect();
        let new = request(&format!(r#""conditions":[{}]"#, all.join(",")));
        assert_eq!(invalid_update(&approval, &new, &request("")), expected);
    };
    check(&[("Approved", "True")], &[]);
    check(&[("Custom", "Unknown")], &[]);
    check(
        &[("Approved", "False")],
        &[r#"status.conditions[0].status: Unsupported value: "False": supported values: "True""#],
    );
    check(
        &[("", "Perhaps"), ("x", "")],
        &[
            "status.conditions[0].type: Required value",
            r#"status.conditions[0].status: Unsupported value: "Perhaps": supported values: "False", "True", "Unknown""#,
            "status.conditions[1].status: Required value",
        ],
    );
    check(
        &[("Approved", "True"), ("Approved", "True")],
        &[r#"status.conditions[1].type: Duplicate value: "Approved""#],
    );
    check(
        &[("Approved", "True"), ("Denied", "True")],
        &[
            r#"status.conditions: Invalid value: "Denied": Approved and Denied conditions are mutually exclusive"#,
        ],
    );
}

#[test]
fn a_decision_stays_and_so_does_what_is_stored_already() {
    let approval = requests("/approval");
    for kind in ["Approved", "Denied", "Failed"] {
        assert_eq!(
            invalid_update(&approval, &request(""), &decided(kind, "True")),
            [format!("status.conditions: Forbidden: updates may not remove a condition of type {kind:?}")]
        );
    }
    let twice = condition("x", "True", "null");
    let twice = request(&format!(r#""conditions":[{twice},{twice}]"#));
    assert!(invalid_update(&approval, &twice, &twice).is_empty());
}
