//! A MutatingAdmissionPolicy, compiled.

use std::sync::Arc;

use pintle_meta::Value;

use super::mutation::Mutation;
use crate::expressions::Inputs;
use crate::expressions::{Compiler, Expression, PolicyCompiler, Uses, Variable};
use crate::manifests::ManifestRules;
use crate::objects::Resource;
use crate::policies::conditions::{self, ConditionsRun};
use crate::policies::manifests;
use crate::policies::source::Compiled;

/// The expressions of a policy.
#[derive(Debug)]
pub(crate) struct MutatingPolicy {
    conditions: Vec<Arc<Expression>>,
    pub(super) variables: Vec<Variable>,
    pub(crate) mutations: Vec<Mutation>,
    ignores_failures: bool,
    /// `reinvocationPolicy: IfNeeded`.
    pub(crate) is_reinvoked: bool,
    /// The inputs that any of the expressions reads.
    pub(crate) uses: Uses,
}

impl Compiled for MutatingPolicy {
    const RESOURCES: [Resource; 2] =
        [Resource::MutatingAdmissionPolicy, Resource::MutatingAdmissionPolicyBinding];
    const MANIFESTS: &'static ManifestRules = &manifests::MUTATING;

    /// The error of an expression that does not compile is its result in every evaluation. Only mutations can make objects.
    fn compile(policy: &Value, compiler: &Compiler) -> MutatingPolicy {
        let (mut compiler, conditions) = PolicyCompiler::of_policy(policy, compiler);
        let mutations = policy.items_at(&["spec", "mutations"]).iter();
        let mutations = mutations.filter_map(|mutation| Mutation::compile(mutation, &mut compiler)).collect();
        let (variables, uses) = compiler.finish();
        MutatingPolicy {
            conditions,
            variables,
            mutations,
            ignores_failures: policy.text_at(&["spec", "failurePolicy"]) == "Ignore",
            is_reinvoked: policy.text_at(&["spec", "reinvocationPolicy"]) == "IfNeeded",
            uses,
        }
    }
}

impl MutatingPolicy {
    pub(crate) fn has_conditions(&self) -> bool {
        !self.conditions.is_empty()
    }

    /// Evaluates the match conditions. Errors deny the request.
    pub(crate) fn matches(&self, inputs: &Inputs<'_>) -> (ConditionsRun, Result<bool, String>) {
        conditions::evaluate(&self.conditions, &self.variables, self.ignores_failures, inputs)
    }
}
