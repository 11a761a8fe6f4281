//! MutatingAdmissionPolicies and their bindings.

use pintle_cel::Type;

use super::expressions::Compiler;
use super::policy;
use super::rules::mutating_operations;
use super::strategy::{RULES, check_static_name};
use super::webhook_configuration::REINVOCATION_POLICIES;
use crate::framework::strategy::Rules;
use crate::framework::validation::Cursor;

const PATCH_TYPES: &[&str] = &["ApplyConfiguration", "JSONPatch"];

pub(super) const POLICIES: Rules = Rules {
    validate: |settings, policy| {
        validate(&policy.field("spec"));
        check_static_name(settings, policy);
    },
    validate_update: |_, policy| validate(&policy.field("spec")),
    ..RULES.counting_spec()
};

pub(super) const BINDINGS: Rules = Rules {
    validate: |settings, binding| {
        validate_binding(&binding.field("spec"));
        check_static_name(settings, binding);
    },
    validate_update: |_, binding| validate_binding(&binding.field("spec")),
    ..RULES.counting_spec()
};

fn validate(spec: &Cursor<'_, '_>) {
    policy::beginning(spec, mutating_operations);
    let mut compiler = Compiler::new(spec.field("paramKind").is_set(), true);
    policy::variables(&spec.field("variables"), &mut compiler);
    let mutations = spec.field("mutations");
    if mutations.is_empty() {
        mutations.required("mutations must contain at least one item");
    }
    for mutation in mutations.items() {
        validate_mutation(&mutation, &compiler);
    }
    spec.field("reinvocationPolicy").required_one_of(REINVOCATION_POLICIES);
}

fn validate_mutation(mutation: &Cursor<'_, '_>, compiler: &Compiler) {
    let (apply, patch) = (mutation.field("applyConfiguration"), mutation.field("jsonPatch"));
    let of = mutation.field("patchType");
    match of.text() {
        "JSONPatch" => {
            if patch.is_set() {
                compiler.mutation(&patch.field("expression"), Type::list(Type::json_patch()));
            } else {
                patch.required("must be specified when patchType is JSONPatch");
            }
            if apply.is_set() {
                apply.invalid("{applyConfiguration}", "must not be specified when patchType is JSONPatch");
            }
        }
        "ApplyConfiguration" => {
            if apply.is_set() {
                compiler.mutation(&apply.field("expression"), Type::apply_configuration());
            } else {
                apply.required("must be specified when patchType is ApplyConfiguration");
            }
            if patch.is_set() {
                patch.invalid("{jsonPatch}", "must not be specified when patchType is ApplyConfiguration");
            }
        }
        _ => of.required_one_of(PATCH_TYPES),
    }
}

fn validate_binding(spec: &Cursor<'_, '_>) {
    policy::binding(spec);
    mutating_operations(&spec.field("matchResources"));
}
