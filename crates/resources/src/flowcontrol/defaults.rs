//! Defaults of priority and fairness.

use crate::framework::defaults::Fill::Int;
use crate::framework::defaults::{Place, Rule};

pub(crate) const RULES: &[Rule] = &[
    Rule::table(
        &[
            "flowcontrol/v1.FlowSchemaSpec",
            "flowcontrol/v1beta3.FlowSchemaSpec",
            "flowcontrol/v1beta2.FlowSchemaSpec",
            "flowcontrol/v1beta1.FlowSchemaSpec",
        ],
        &[("matchingPrecedence", Int(1000))],
    ),
    Rule::table(
        &[
            "flowcontrol/v1.ExemptPriorityLevelConfiguration",
            "flowcontrol/v1beta3.ExemptPriorityLevelConfiguration",
            "flowcontrol/v1beta2.ExemptPriorityLevelConfiguration",
            "flowcontrol/v1beta1.ExemptPriorityLevelConfiguration",
        ],
        &[("nominalConcurrencyShares", Int(0)), ("lendablePercent", Int(0))],
    ),
    Rule::table(
        &["flowcontrol/v1.LimitedPriorityLevelConfiguration"],
        &[("nominalConcurrencyShares", Int(SHARES)), ("lendablePercent", Int(0))],
    ),
    Rule::code(&["flowcontrol/v1beta3.PriorityLevelConfiguration"], shares_unless_zero_was_meant),
    Rule::table(&["flowcontrol/v1beta3.LimitedPriorityLevelConfiguration"], &[("lendablePercent", Int(0))]),
    Rule::table(
        &[
            "flowcontrol/v1beta2.LimitedPriorityLevelConfiguration",
            "flowcontrol/v1beta1.LimitedPriorityLevelConfiguration",
        ],
        &[("assuredConcurrencyShares", Int(SHARES)), ("lendablePercent", Int(0))],
    ),
    Rule::table(
        &[
            "flowcontrol/v1.QueuingConfiguration",
            "flowcontrol/v1beta3.QueuingConfiguration",
            "flowcontrol/v1beta2.QueuingConfiguration",
            "flowcontrol/v1beta1.QueuingConfiguration",
        ],
        &[("handSize", Int(8)), ("queues", Int(64)), ("queueLengthLimit", Int(50))],
    ),
];

const SHARES: i64 = 30;

/// This version cannot tell zero from nothing; an annotation says that zero is meant.
fn shares_unless_zero_was_meant(level: &mut Place<'_>) {
    const ANNOTATION: &str = "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares";
    let annotations = level.get("metadata").and_then(|metadata| metadata.at(&["annotations", ANNOTATION]));
    if annotations.is_none() {
        level.within("spec", |spec| {
            spec.within("limited", |limited| limited.default("nominalConcurrencyShares", SHARES));
        });
    }
}

#[cfg(test)]
mod tests {
    use crate::framework::defaults::tests::check;

    const VERSIONS: [&str; 4] = ["v1", "v1beta3", "v1beta2", "v1beta1"];

    #[test]
    fn flow_schemas_have_a_precedence() {
        for version in VERSIONS {
            let kind = format!("flowcontrol/{version}.FlowSchema");
            let schema = |precedence: &str| {
                format!(
                    r#"{{"metadata":{{}},"spec":{{"priorityLevelConfiguration":{{"name":"p"}}{precedence}}},"status":{{}}}}"#
                )
            };
            check(&kind, &schema(""), &schema(r#","matchingPrecedence":1000"#));
            check(&kind, &schema(r#","matchingPrecedence":5"#), &schema(r#","matchingPrecedence":5"#));
        }
    }

    fn level(spec: &str) -> String {
        format!(r#"{{"metadata":{{}},"spec":{{"type":"t",{spec}}},"status":{{}}}}"#)
    }

    #[test]
    fn limited_levels_have_shares_and_queues() {
        for version in VERSIONS {
            let kind = format!("flowcontrol/{version}.PriorityLevelConfiguration");
            let shares = if version == "v1" || version == "v1beta3" {
                "nominalConcurrencyShares"
            } else {
                "assuredConcurrencyShares"
            };
            check(
                &kind,
                &level(r#""limited":{"limitResponse":{"type":"Queue","queuing":{"queues":7}}}"#),
                &level(&format!(
                    r#""limited":{{"{shares}":30,"limitResponse":{{"type":"Queue","queuing":
                        {{"queues":7,"handSize":8,"queueLengthLimit":50}}}},"lendablePercent":0}}"#
                )),
            );
            check(
                &kind,
                &level(r#""limited":{"limitResponse":{"type":"Reject"},"lendablePercent":5}"#),
                &level(&format!(
                    r#""limited":{{"{shares}":30,"limitResponse":{{"type":"Reject"}},"lendablePercent":5}}"#
                )),
            );
        }
    }

    #[test]
    fn zero_shares_can_be_meant() {
        let limited = |more: &str| {
            level(&format!(r#""limited":{{{more}"limitResponse":{{"type":"Reject"}},"lendablePercent":0}}"#))
        };
        let zero = limited(r#""nominalConcurrencyShares":0,"#);
        check("flowcontrol/v1.PriorityLevelConfiguration", &zero, &zero);
        let kind = "flowcontrol/v1beta3.PriorityLevelConfiguration";
        check(kind, &zero, &limited(r#""nominalConcurrencyShares":30,"#));
        let annotations = r#""metadata":{"annotations":{"flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares":""}}"#;
        let meant = |level: &str| level.replace(r#""metadata":{}"#, annotations);
        check(kind, &meant(&zero), &meant(&limited(r#""nominalConcurrencyShares":0,"#)));
    }

    #[test]
    fn exempt_levels_lend_nothing() {
        for version in VERSIONS {
            check(
                &format!("flowcontrol/{version}.PriorityLevelConfiguration"),
                &level(r#""exempt":{}"#),
                &level(r#""exempt":{"nominalConcurrencyShares":0,"lendablePercent":0}"#),
            );
        }
    }
}
