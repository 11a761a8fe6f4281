//! Defaults of webhooks and admission policies. The first version of webhooks was more lenient.

use crate::framework::defaults::Fill::{Int, Text, Texts, Zero};
use crate::framework::defaults::Rule;

pub(crate) const RULES: &[Rule] = &[
    Rule::table(
        &["admissionregistration/v1.ValidatingWebhook"],
        &[
            ("failurePolicy", Text("Fail")),
            ("matchPolicy", Text("Equivalent")),
            ("namespaceSelector", Zero),
            ("objectSelector", Zero),
            ("timeoutSeconds", Int(10)),
        ],
    ),
    Rule::table(
        &["admissionregistration/v1.MutatingWebhook"],
        &[
            ("failurePolicy", Text("Fail")),
            ("matchPolicy", Text("Equivalent")),
            ("namespaceSelector", Zero),
            ("objectSelector", Zero),
            ("timeoutSeconds", Int(10)),
            ("reinvocationPolicy", Text("Never")),
        ],
    ),
    Rule::table(
        &["admissionregistration/v1beta1.ValidatingWebhook"],
        &[
            ("failurePolicy", Text("Ignore")),
            ("matchPolicy", Text("Exact")),
            ("namespaceSelector", Zero),
            ("objectSelector", Zero),
            ("sideEffects", Text("Unknown")),
            ("timeoutSeconds", Int(30)),
            ("admissionReviewVersions", Texts(&["v1beta1"])),
        ],
    ),
    Rule::table(
        &["admissionregistration/v1beta1.MutatingWebhook"],
        &[
            ("failurePolicy", Text("Ignore")),
            ("matchPolicy", Text("Exact")),
            ("namespaceSelector", Zero),
            ("objectSelector", Zero),
            ("sideEffects", Text("Unknown")),
            ("timeoutSeconds", Int(30)),
            ("reinvocationPolicy", Text("Never")),
            ("admissionReviewVersions", Texts(&["v1beta1"])),
        ],
    ),
    // Of all versions: the others have no rules of their own.
    Rule::table(&["admissionregistration/v1.Rule"], &[("scope", Text("*"))]),
    Rule::table(
        &["admissionregistration/v1.ServiceReference", "admissionregistration/v1beta1.ServiceReference"],
        &[("port", Int(443))],
    ),
    Rule::table(
        &[
            "admissionregistration/v1.ValidatingAdmissionPolicySpec",
            "admissionregistration/v1.MutatingAdmissionPolicySpec",
            "admissionregistration/v1beta1.ValidatingAdmissionPolicySpec",
            "admissionregistration/v1beta1.MutatingAdmissionPolicySpec",
            "admissionregistration/v1alpha1.ValidatingAdmissionPolicySpec",
            "admissionregistration/v1alpha1.MutatingAdmissionPolicySpec",
        ],
        &[("failurePolicy", Text("Fail"))],
    ),
    Rule::table(
        &[
            "admissionregistration/v1.MatchResources",
            "admissionregistration/v1beta1.MatchResources",
            "admissionregistration/v1alpha1.MatchResources",
        ],
        &[("matchPolicy", Text("Equivalent")), ("namespaceSelector", Zero), ("objectSelector", Zero)],
    ),
    // Later versions want it said.
    Rule::table(&["admissionregistration/v1alpha1.ParamRef"], &[("parameterNotFoundAction", Text("Deny"))]),
];

#[cfg(test)]
mod tests {
    use crate::framework::defaults::tests::check;

    const RULE_IN: &str = r#""rules":[{"operations":["*"]},{"scope":"Namespaced"}]"#;
    const RULE_OUT: &str = r#""rules":[{"operations":["*"],"scope":"*"},{"scope":"Namespaced"}]"#;
    const CLIENT_IN: &str = r#""clientConfig":{"service":{"namespace":"n","name":"s"}}"#;
    const CLIENT_OUT: &str = r#""clientConfig":{"service":{"namespace":"n","name":"s","port":443}}"#;

    #[test]
    fn webhooks_are_completed() {
        for (kind, more) in [("Validating", ""), ("Mutating", r#","reinvocationPolicy":"Never""#)] {
            let input = format!(r#"{{"webhooks":[{{"name":"w",{CLIENT_IN},{RULE_IN}}}]}}"#);
            check(
                &format!("admissionregistration/v1.{kind}WebhookConfiguration"),
                &input,
                &format!(
                    r#"{{"metadata":{{}},"webhooks":[{{"name":"w",{CLIENT_OUT},{RULE_OUT},"failurePolicy":"Fail",
                        "matchPolicy":"Equivalent","namespaceSelector":{{}},"objectSelector":{{}},"sideEffects":null,
                        "timeoutSeconds":10,"admissionReviewVersions":null{more}}}]}}"#
                ),
            );
            check(
                &format!("admissionregistration/v1beta1.{kind}WebhookConfiguration"),
                &input,
                &format!(
                    r#"{{"metadata":{{}},"webhooks":[{{"name":"w",{CLIENT_OUT},{RULE_OUT},"failurePolicy":"Ignore",
                        "matchPolicy":"Exact","namespaceSelector":{{}},"objectSelector":{{}},"sideEffects":"Unknown",
                        "timeoutSeconds":30,"admissionReviewVersions":["v1beta1"]{more}}}]}}"#
                ),
            );
        }
    }

    #[test]
    fn what_webhooks_say_stays() {
        let webhook = r#"{"metadata":{},"webhooks":[{"name":"w","clientConfig":{"url":"u"},"failurePolicy":"Ignore",
            "matchPolicy":"Exact","namespaceSelector":{"matchLabels":{"a":"b"}},"objectSelector":{},"sideEffects":"None",
            "timeoutSeconds":1,"admissionReviewVersions":["v1"],"reinvocationPolicy":"IfNeeded"}]}"#;
        check("admissionregistration/v1.MutatingWebhookConfiguration", webhook, webhook);
        check("admissionregistration/v1beta1.MutatingWebhookConfiguration", webhook, webhook);
    }

    #[test]
    fn policies_and_bindings_are_completed() {
        let rules_in =
            r#"{"resourceRules":[{"resourceNames":["a"]}],"excludeResourceRules":[{"scope":"Cluster"},{}]}"#;
        let rules_out = r#"{"resourceRules":[{"resourceNames":["a"],"scope":"*"}],
            "excludeResourceRules":[{"scope":"Cluster"},{"scope":"*"}],"matchPolicy":"Equivalent",
            "namespaceSelector":{},"objectSelector":{}}"#;
        for version in ["v1", "v1beta1", "v1alpha1"] {
            for kind in ["Validating", "Mutating"] {
                let spec = format!("admissionregistration/{version}.{kind}AdmissionPolicySpec");
                check(
                    &spec,
                    &format!(r#"{{"matchConstraints":{rules_in}}}"#),
                    &format!(r#"{{"matchConstraints":{rules_out},"failurePolicy":"Fail"}}"#),
                );
                let action = if version == "v1alpha1" { r#","parameterNotFoundAction":"Deny""# } else { "" };
                check(
                    &format!("admissionregistration/{version}.{kind}AdmissionPolicyBinding"),
                    &format!(r#"{{"spec":{{"matchResources":{rules_in},"paramRef":{{"name":"p"}}}}}}"#),
                    &format!(
                        r#"{{"metadata":{{}},"spec":{{"matchResources":{rules_out},"paramRef":{{"name":"p"{action}}}}}}}"#
                    ),
                );
            }
        }
    }
}
