//! A ValidatingAdmissionPolicy, compiled.

use std::sync::Arc;

use pintle_meta::{Reason, Value};

use crate::expressions::{Compiler, Expression, PolicyCompiler, Uses, Variable, Wanted};
use crate::manifests::ManifestRules;
use crate::objects::Resource;
use crate::policies::manifests;
use crate::policies::source::Compiled;

/// The expressions of a policy.
#[derive(Debug)]
pub(crate) struct ValidatingPolicy {
    pub(super) conditions: Vec<Arc<Expression>>,
    pub(super) variables: Vec<Variable>,
    pub(super) validations: Vec<Validation>,
    pub(super) annotations: Vec<AuditAnnotation>,
    pub(super) ignores_failures: bool,
    /// The inputs that any of the expressions reads.
    pub(crate) uses: Uses,
}

#[derive(Debug)]
pub(super) struct Validation {
    pub(super) expression: Arc<Expression>,
    pub(super) message: String,
    pub(super) message_expression: Option<Arc<Expression>>,
    pub(super) reason: Reason,
}

#[derive(Debug)]
pub(super) struct AuditAnnotation {
    pub(super) key: String,
    pub(super) value: Arc<Expression>,
}

impl Compiled for ValidatingPolicy {
    const RESOURCES: [Resource; 2] =
        [Resource::ValidatingAdmissionPolicy, Resource::ValidatingAdmissionPolicyBinding];
    const MANIFESTS: &'static ManifestRules = &manifests::VALIDATING;

    /// The error of an expression that does not compile is its result in every evaluation.
    fn compile(policy: &Value, compiler: &Compiler) -> ValidatingPolicy {
        let (mut compiler, conditions) = PolicyCompiler::of_policy(policy, compiler);
        let validations = policy.items_at(&["spec", "validations"]).iter();
        let validations =
            validations.map(|validation| Validation::compile(validation, &mut compiler)).collect();
        let annotations = policy.items_at(&["spec", "auditAnnotations"]).iter();
        let annotations = annotations.map(|annotation| AuditAnnotation {
            key: annotation.text_at(&["key"]).to_owned(),
            value: compiler.expression(annotation.text_at(&["valueExpression"]), Wanted::TextOrNull, true),
        });
        let annotations = annotations.collect();
        let (variables, uses) = compiler.finish();
        let ignores_failures = policy.text_at(&["spec", "failurePolicy"]) == "Ignore";
        ValidatingPolicy { conditions, variables, validations, annotations, ignores_failures, uses }
    }
}

impl Validation {
    fn compile(validation: &Value, compiler: &mut PolicyCompiler<'_>) -> Validation {
        let message_expression = validation.text_at(&["messageExpression"]);
        Validation {
            expression: compiler.expression(validation.text_at(&["expression"]), Wanted::Bool, true),
            message: validation.text_at(&["message"]).to_owned(),
            message_expression: (!message_expression.is_empty())
                .then(|| compiler.expression(message_expression, Wanted::Text, false)),
            reason: match validation.text_at(&["reason"]) {
                "Unauthorized" => Reason::Unauthorized,
                "Forbidden" => Reason::Forbidden,
                "RequestEntityTooLarge" => Reason::RequestEntityTooLarge,
                _ => Reason::Invalid,
            },
        }
    }
}
