//! Defaults of network policies and ingresses.

use pintle_meta::Value;

use crate::defaults::Fill::Text;
use crate::defaults::{Place, Rule};

pub(crate) const RULES: &[Rule] = &[
    Rule::code(&["networking/v1.NetworkPolicy", "extensions/v1beta1.NetworkPolicy"], policy_types),
    // Not in extensions/v1beta1, where it is forgotten.
    Rule::table(&["networking/v1.NetworkPolicyPort"], &[("protocol", Text("TCP"))]),
    Rule::code(&["networking/v1.IngressClass"], |class| {
        class.within("spec", |spec| {
            spec.within("parameters", |parameters| parameters.default("scope", "Cluster"));
        });
    }),
    Rule::table(
        &["networking/v1beta1.HTTPIngressPath", "extensions/v1beta1.HTTPIngressPath"],
        &[("pathType", Text("ImplementationSpecific"))],
    ),
];

/// A policy is about what comes in, and about what goes out if it has rules for that.
fn policy_types(policy: &mut Place<'_>) {
    policy.within("spec", |spec| {
        if spec.items("policyTypes").is_empty() {
            let mut types = vec![Value::literal("Ingress")];
            if !spec.items("egress").is_empty() {
                types.push(Value::literal("Egress"));
            }
            spec.set("policyTypes", types);
        }
    });
}
