//! Policies and bindings that are files.

use pintle_meta::{Value, quote};

use crate::manifests::{ManifestRules, Objects, STATIC_SUFFIX};

const SCHEME: &str = "pkg/admission/plugin/policy/manifest/loader/validating_loader.go:35";

pub(super) static VALIDATING: ManifestRules = ManifestRules {
    plugin: "ValidatingAdmissionPolicy",
    kinds: &["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"],
    scheme: SCHEME,
    check,
    check_all: check_bindings,
};

pub(super) static MUTATING: ManifestRules = ManifestRules {
    plugin: "MutatingAdmissionPolicy",
    kinds: &["MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"],
    ..VALIDATING
};

/// Returns the policies of manifests, each with its bindings.
pub(super) fn bound(objects: &Objects) -> impl Iterator<Item = (&Value, Vec<&Value>)> {
    let (policies, bindings) = split(objects);
    policies.map(move |policy| {
        let bindings = bindings.iter().copied();
        let own = bindings.filter(|binding| policy_name(binding) == policy.name());
        (policy, own.collect())
    })
}

fn policy_name(binding: &Value) -> &str {
    binding.text_at(&["spec", "policyName"])
}

/// Returns the policies and the bindings.
fn split(objects: &Objects) -> (impl Iterator<Item = &Value>, Vec<&Value>) {
    let of = |place: usize| [&VALIDATING, &MUTATING].map(|rules| objects.of(rules.kinds[place]));
    (of(0).into_iter().flatten(), of(1).into_iter().flatten().collect())
}

/// Refuses parameters: they are objects of the API, which manifests do not depend on.
fn check(kind: &str, object: &Value, _: &str) -> Result<(), String> {
    let is_set = |field: &str| object.at(&["spec", field]).is_some_and(|value| !value.is_null());
    let (name, unsupported) = (quote(object.name()), "is not supported for static manifests");
    if !kind.ends_with("Binding") {
        return match is_set("paramKind") {
            true => Err(format!("{kind} {name}: spec.paramKind {unsupported}")),
            false => Ok(()),
        };
    }
    let policy = policy_name(object);
    if policy.is_empty() {
        return Err(format!("binding {name} must reference a policy (spec.policyName)"));
    }
    if !policy.ends_with(STATIC_SUFFIX) {
        let (policy, suffix) = (quote(policy), quote(STATIC_SUFFIX));
        return Err(format!("binding {name}: spec.policyName {policy} must end with {suffix}"));
    }
    if is_set("paramRef") {
        return Err(format!("binding {name}: spec.paramRef {unsupported}"));
    }
    Ok(())
}

/// Checks that the policies of all bindings are there.
fn check_bindings(objects: &Objects) -> Result<(), String> {
    let (policies, bindings) = split(objects);
    let policies: Vec<&str> = policies.map(Value::name).collect();
    for binding in bindings {
        let policy = policy_name(binding);
        if !policies.contains(&policy) {
            let (binding, policy) = (quote(binding.name()), quote(policy));
            return Err(format!(
                "binding {binding} references policy {policy} which does not exist in the manifest directory"
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use pintle_registry::testing::object;

    use super::*;

    #[test]
    fn parameters_and_other_policies_are_refused() {
        for (kind, spec, expected) in [
            ("ValidatingAdmissionPolicy", "{}", None),
            (
                "MutatingAdmissionPolicy",
                r#"{"paramKind":{"kind":"A"}}"#,
                Some("MutatingAdmissionPolicy \"a\": spec.paramKind is not supported for static manifests"),
            ),
            ("ValidatingAdmissionPolicyBinding", r#"{"policyName":"p.static.k8s.io"}"#, None),
            (
                "ValidatingAdmissionPolicyBinding",
                "{}",
                Some("binding \"a\" must reference a policy (spec.policyName)"),
            ),
            (
                "MutatingAdmissionPolicyBinding",
                r#"{"policyName":"p"}"#,
                Some("binding \"a\": spec.policyName \"p\" must end with \".static.k8s.io\""),
            ),
            (
                "MutatingAdmissionPolicyBinding",
                r#"{"policyName":"p.static.k8s.io","paramRef":{"name":"x"}}"#,
                Some("binding \"a\": spec.paramRef is not supported for static manifests"),
            ),
        ] {
            let checked =
                check(kind, &object(&format!(r#"{{"metadata":{{"name":"a"}},"spec":{spec}}}"#)), "/f");
            assert_eq!(checked.err().as_deref(), expected, "{kind} {spec}");
        }
    }
}
