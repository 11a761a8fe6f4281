//! IngressClasses: the controllers of ingresses.

use pintle_meta::validation::{dns1123_label, dns1123_subdomain, domain_prefixed_path, path_segment_name};

use super::strategy::CLUSTER;
use crate::framework::strategy::Rules;
use crate::framework::validation::Cursor;

const MAX_CONTROLLER: usize = 250;

const CLASSES: Rules = CLUSTER.counting_spec();

pub(super) const INGRESS_CLASSES: Rules = Rules {
    validate: |_, class| validate(class),
    validate_update: |_, class| {
        class.at(&["spec", "controller"]).immutable("string");
        CLASSES.check_metadata(class);
        validate(class);
    },
    ..CLASSES
};

fn validate(class: &Cursor<'_, '_>) {
    let spec = class.field("spec");
    let controller = spec.field("controller");
    if controller.text().len() > MAX_CONTROLLER {
        controller.too_long(MAX_CONTROLLER);
    }
    controller.text_check(domain_prefixed_path);
    let parameters = spec.field("parameters");
    if parameters.is_set() {
        validate_parameters(&parameters);
    }
}

fn validate_parameters(parameters: &Cursor<'_, '_>) {
    validate_reference(parameters);
    let (scope, namespace) = (parameters.field("scope"), parameters.field("namespace"));
    match scope.optional_text() {
        None => scope.required(""), // unreachable: defaulted
        Some("Namespace") if !namespace.is_set() => {
            namespace.required("`parameters.scope` is set to 'Namespace'");
        }
        Some("Namespace") => namespace.text_format(dns1123_label),
        Some("Cluster") if namespace.is_set() => {
            namespace.forbidden("`parameters.scope` is set to 'Cluster'")
        }
        Some("Cluster") => {}
        Some(other) => scope.not_supported(other, &["Cluster", "Namespace"]),
    }
}

/// Checks a reference to an object by group, kind and name.
pub(super) fn validate_reference(reference: &Cursor<'_, '_>) {
    let group = reference.field("apiGroup");
    if group.is_set() {
        group.text_format(dns1123_subdomain);
    }
    for field in ["kind", "name"] {
        let name = reference.field(field);
        if name.is_empty() {
            name.required("");
        } else {
            name.text_format(path_segment_name);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::framework::validation::testing::Base;

    const SUBDOMAIN: &str = r"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

    fn base() -> Base {
        let class =
            r#"{"metadata":{"name":"a"},"spec":{"controller":"a.b/c","parameters":{"kind":"K","name":"n"}}}"#;
        Base::new("networking.k8s.io", "ingressclasses", class)
    }

    #[test]
    fn a_controller_is_a_path_below_a_domain() {
        let long = format!(r#""a.b/{}""#, "x".repeat(250));
        base().refuses(&[
            (&[("/spec/controller", r#""""#)], &["spec.controller: Required value"]),
            (
                &[("/spec/controller", r#""x""#)],
                &[
                    r#"spec.controller: Invalid value: "x": must be a domain-prefixed path (such as "acme.io/foo")"#,
                ],
            ),
            (&[("/spec/controller", &long)], &["spec.controller: Too long: may not be more than 250 bytes"]),
        ]);
        base().refuses_update(&[(
            &[("/spec/controller", r#""d/e""#)],
            &[r#"spec.controller: Invalid value: "d/e": field is immutable"#],
        )]);
        base().accepts_update(&[&[("/spec/parameters", "")]]);
    }

    /// As in the reference, a changed controller is reported between the checks of metadata.
    #[test]
    fn an_update_checks_metadata_twice() {
        base().refuses_update(&[(
            &[("/spec/controller", r#""d/e""#), ("/metadata/finalizers", r#"["x"]"#)],
            &[
                r#"metadata.finalizers[0]: Invalid value: "x": name is neither a standard finalizer name nor is it fully qualified"#,
                r#"spec.controller: Invalid value: "d/e": field is immutable"#,
                r#"metadata.finalizers[0]: Invalid value: "x": name is neither a standard finalizer name nor is it fully qualified"#,
            ],
        )]);
    }

    #[test]
    fn parameters_are_of_the_cluster_or_of_a_namespace() {
        const SCOPE: &str = "/spec/parameters/scope";
        const NAMESPACE: &str = "/spec/parameters/namespace";
        base().accepts(&[
            &[(SCOPE, r#""Namespace""#), (NAMESPACE, r#""n""#)],
            &[("/spec/parameters/apiGroup", r#""g.io""#)],
            &[("/spec/parameters", "")],
        ]);
        base().refuses(&[
            (
                &[("/spec/parameters/apiGroup", r#""G""#), ("/spec/parameters/kind", "")],
                &[
                    &format!(r#"spec.parameters.apiGroup: Invalid value: "G": {SUBDOMAIN}"#),
                    "spec.parameters.kind: Required value",
                ],
            ),
            (
                &[("/spec/parameters/kind", r#""a/b""#), ("/spec/parameters/name", r#""..""#)],
                &[
                    r#"spec.parameters.kind: Invalid value: "a/b": may not contain '/'"#,
                    r#"spec.parameters.name: Invalid value: "..": may not be '..'"#,
                ],
            ),
            (
                &[(SCOPE, r#""x""#), (NAMESPACE, r#""n""#)],
                &[r#"spec.parameters.scope: Unsupported value: "x": supported values: "Cluster", "Namespace""#],
            ),
            (
                &[(SCOPE, r#""Namespace""#)],
                &["spec.parameters.namespace: Required value: `parameters.scope` is set to 'Namespace'"],
            ),
            (
                &[(NAMESPACE, r#""n""#)],
                &["spec.parameters.namespace: Forbidden: `parameters.scope` is set to 'Cluster'"],
            ),
            (
                &[(SCOPE, r#""Namespace""#), (NAMESPACE, r#""A""#)],
                &[
                    r#"spec.parameters.namespace: Invalid value: "A": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"#,
                ],
            ),
        ]);
    }
}
