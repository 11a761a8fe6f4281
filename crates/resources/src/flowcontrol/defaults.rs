//! Defaults of priority and fairness.

use crate::defaults::Fill::Int;
use crate::defaults::{Place, Rule};

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
