//! Defaults of webhooks and admission policies. The first version of webhooks was more lenient.

use crate::defaults::Fill::{Int, Text, Texts, Zero};
use crate::defaults::Rule;

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
