//! Cases of StorageClasses.

use crate::framework::validation::testing::Base;

fn base() -> Base {
    Base::new(
        "storage.k8s.io",
        "storageclasses",
        r#"{"metadata":{"name":"a"},"provisioner":"example.com/P","parameters":{"a":"b"}}"#,
    )
}

#[test]
fn provisioner_and_parameters_are_limited() {
    let long = "A".repeat(64);
    let lower = "a".repeat(64);
    let many: Vec<String> = (0..513).map(|n| format!(r#""k{n}":"v""#)).collect();
    let large = format!(r#""{}""#, "x".repeat(256 * 1024));
    base().refuses(&[
        (&[("/provisioner", r#""""#)], &["provisioner: Required value"]),
        (
            &[("/provisioner", &format!(r#""{long}""#))],
            &[&format!(r#"provisioner: Invalid value: "{lower}": name part must be no more than 63 bytes"#)],
        ),
        (
            &[("/parameters", &format!("{{{}}}", many.join(",")))],
            &["parameters: Too long: may not be more than 512 bytes"],
        ),
        (&[("/parameters", r#"{"":"v"}"#)], &[r#"parameters: Invalid value: "": field can not be empty."#]),
        (&[("/parameters/a", &large)], &["parameters: Too long: may not be more than 262144 bytes"]),
    ]);
    base().accepts(&[&[("/parameters", "")]]);
}

#[test]
fn policies_are_known() {
    base().refuses(&[
        (
            &[("/reclaimPolicy", r#""Recycle""#)],
            &[r#"reclaimPolicy: Unsupported value: "Recycle": supported values: "Delete", "Retain""#],
        ),
        (
            &[("/volumeBindingMode", r#""Late""#)],
            &[
                r#"volumeBindingMode: Unsupported value: "Late": supported values: "Immediate", "WaitForFirstConsumer""#,
            ],
        ),
    ]);
    base().accepts(&[&[("/reclaimPolicy", r#""""#)]]);
}

#[test]
fn topologies_differ() {
    const TERMS: &str = "/allowedTopologies";
    let long = "a".repeat(64);
    let duplicate =
        |index: usize| format!(r#"allowedTopologies[{index}].matchLabelExpressions: Duplicate value: """#);
    let expression = "allowedTopologies[0].matchLabelExpressions";
    base().refuses(&[
        (
            &[(TERMS, r#"[{"matchLabelExpressions":[{"key":"k","values":[]}]}]"#)],
            &[&format!("{expression}[0].values: Required value")],
        ),
        (
            &[(TERMS, &format!(r#"[{{"matchLabelExpressions":[{{"key":"{long}","values":["a","a"]}}]}}]"#))],
            &[
                &format!(r#"{expression}[0].values[1]: Duplicate value: "a""#),
                &format!(r#"{expression}[0].key: Invalid value: "{long}": name part must be no more than 63 bytes"#),
            ],
        ),
        (
            &[(TERMS, r#"[{"matchLabelExpressions":[{"key":"k","values":["a"]},{"key":"k","values":["b"]}]}]"#)],
            &[&format!(r#"{expression}[1].key: Duplicate value: "k""#)],
        ),
        (
            &[(
                TERMS,
                r#"[{"matchLabelExpressions":[{"key":"k","values":["a","b"]}]},{"matchLabelExpressions":[{"key":"k","values":["b","a"]}]}]"#,
            )],
            &[&duplicate(1)],
        ),
        // Terms without expressions are repeated from the start.
        (&[(TERMS, "[{}]")], &[&duplicate(0)]),
        (
            &[(TERMS, "[{},{}]")],
            &[&duplicate(0), &duplicate(0), &duplicate(1), &duplicate(1), &duplicate(1)],
        ),
    ]);
    base().accepts(&[&[(
        TERMS,
        r#"[{"matchLabelExpressions":[{"key":"k","values":["a"]}]},{"matchLabelExpressions":[{"key":"k","values":["b"]}]}]"#,
    )]]);
}

#[test]
fn what_provisioners_see_is_immutable() {
    base().refuses_update(&[(
        &[
            ("/parameters", r#"{"c":"d"}"#),
            ("/provisioner", r#""example.com/q""#),
            ("/reclaimPolicy", r#""Retain""#),
            ("/volumeBindingMode", r#""WaitForFirstConsumer""#),
        ],
        &[
            r#"parameters: Invalid value: {"c":"d"}: field is immutable"#,
            r#"provisioner: Invalid value: "example.com/q": field is immutable"#,
            r#"reclaimPolicy: Invalid value: "Retain": field is immutable"#,
            r#"volumeBindingMode: Invalid value: "WaitForFirstConsumer": field is immutable"#,
        ],
    )]);
    base().accepts_update(&[&[("/allowVolumeExpansion", "true"), ("/mountOptions", r#"["ro"]"#)]]);
}
