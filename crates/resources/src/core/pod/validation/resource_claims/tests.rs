//! Tests of resource claims.

use pintle_meta::validation::{dns1123_label, object_meta};

use crate::core::pod::validation::testing::{pods, wrong};

const AT: &str = "/spec/resourceClaims/-";

#[test]
fn claims_have_a_name_and_one_source() {
    let label = wrong("spec.resourceClaims[0].name", "A", dns1123_label);
    let subdomain = |name: &str| object_meta::subdomain_name(name, false);
    let claim = wrong("spec.resourceClaims[0].resourceClaimName", "A", subdomain);
    let template = wrong("spec.resourceClaims[0].resourceClaimTemplateName", "A", subdomain);
    pods().refuses(&[
        (&[(AT, r#"{"name":"A","resourceClaimName":"a"}"#)], &[&label]),
        (
            &[(AT, r#"{"name":"","resourceClaimName":"a"}"#)],
            &["spec.resourceClaims[0].name: Required value"],
        ),
        (
            &[
                (AT, r#"{"name":"a","resourceClaimName":"a"}"#),
                (AT, r#"{"name":"a","resourceClaimTemplateName":"a"}"#),
            ],
            &[r#"spec.resourceClaims[1].name: Duplicate value: "a""#],
        ),
        (
            &[(AT, r#"{"name":"a"}"#)],
            &[
                r#"spec.resourceClaims[0]: Invalid value: {"Name":"a","ResourceClaimName":null,"ResourceClaimTemplateName":null}: must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"#,
            ],
        ),
        (
            &[(AT, r#"{"name":"a","resourceClaimName":"a","resourceClaimTemplateName":"b"}"#)],
            &[
                r#"spec.resourceClaims[0]: Invalid value: {"Name":"a","ResourceClaimName":"a","ResourceClaimTemplateName":"b"}: at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"#,
            ],
        ),
        (&[(AT, r#"{"name":"a","resourceClaimName":"A"}"#)], &[&claim]),
        (&[(AT, r#"{"name":"a","resourceClaimTemplateName":"A"}"#)], &[&template]),
    ]);
}

#[test]
fn static_pods_have_no_claims() {
    pods().refuses(&[(
        &[
            ("/metadata/annotations", r#"{"kubernetes.io/config.mirror":"x"}"#),
            ("/spec/nodeName", r#""n""#),
            (AT, r#"{"name":"A"}"#),
            (AT, r#"{"name":"B"}"#),
        ],
        &[
            "[]: Forbidden: static pods do not support resource claims",
            "[]: Forbidden: static pods do not support resource claims",
        ],
    )]);
}
