//! Rules of ingresses.

use pintle_features::Feature;

use crate::framework::strategy::testing::{of, warnings};
use crate::framework::validation::testing::Base;

const GROUP: &str = "networking.k8s.io";
const INGRESS: &str = r#"{"metadata":{"name":"a","namespace":"n"},"spec":{"rules":[{"host":"a.b","http":{"paths":[
    {"path":"/x","pathType":"Prefix","backend":{"service":{"name":"s","port":{"number":80}}}}]}}],
    "tls":[{"hosts":["a.b"],"secretName":"t"}]}}"#;
const PATH: &str = "/spec/rules/0/http/paths/0";
const SUBDOMAIN: &str = r"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const WILDCARD: &str = r"a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', regex used for validation is '\*\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const DNS1035: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";

fn base() -> Base {
    Base::new(GROUP, "ingresses", INGRESS)
}

fn at(field: &str) -> String {
    format!("spec.rules[0].http.paths[0].{field}")
}

#[test]
fn an_ingress_has_rules_or_a_default_backend() {
    let backend = r#"{"service":{"name":"s","port":{"name":"http"}}}"#;
    base().accepts(&[
        &[("/spec/rules", ""), ("/spec/defaultBackend", backend)],
        &[("/spec/rules/0/http", "")],
        &[("/spec/tls/0/secretName", "")],
    ]);
    base().refuses(&[
        (
            &[("/spec/rules", "")],
            &["spec: Invalid value: null: either `defaultBackend` or `rules` must be specified"],
        ),
        (
            &[("/spec/defaultBackend", "{}")],
            &[r#"spec.defaultBackend: Invalid value: "": resource or service backend is required"#],
        ),
        (&[("/spec/rules/0/http/paths", "[]")], &["spec.rules[0].http.paths: Required value"]),
    ]);
}

#[test]
fn hosts_are_names() {
    base().accepts(&[&[("/spec/rules/0/host", r#""*.a""#)], &[("/spec/rules/0/host", "")]]);
    base().refuses(&[
        (
            &[("/spec/rules/0/host", r#""1.2.3.4""#)],
            &[r#"spec.rules[0].host: Invalid value: "1.2.3.4": must be a DNS name, not an IP address"#],
        ),
        (
            &[("/spec/rules/0/host", r#""a.*""#)],
            &[&format!(r#"spec.rules[0].host: Invalid value: "a.*": {WILDCARD}"#)],
        ),
        (
            &[("/spec/rules/0/host", r#""A""#)],
            &[&format!(r#"spec.rules[0].host: Invalid value: "A": {SUBDOMAIN}"#)],
        ),
        (
            &[("/spec/tls/0/hosts", r#"["*","A"]"#), ("/spec/tls/0/secretName", r#""B""#)],
            &[
                &format!(r#"spec.tls[0].hosts[0]: Invalid value: "*": {WILDCARD}"#),
                &format!(r#"spec.tls[0].hosts[1]: Invalid value: "A": {SUBDOMAIN}"#),
                &format!(r#"spec.tls[0].secretName: Invalid value: "B": {SUBDOMAIN}"#),
            ],
        ),
        (
            &[("/spec/ingressClassName", r#""A""#)],
            &[&format!(r#"spec.ingressClassName: Invalid value: "A": {SUBDOMAIN}"#)],
        ),
    ]);
}

#[test]
fn paths_are_absolute() {
    let (path, kind) = (format!("{PATH}/path"), format!("{PATH}/pathType"));
    base().accepts(&[
        &[(&kind, r#""ImplementationSpecific""#), (&path, r#""""#)],
        &[(&kind, r#""ImplementationSpecific""#), (&path, r#""/a//b""#)],
    ]);
    base().refuses(&[
        (&[(&kind, "")], &[&format!("{}: Required value: pathType must be specified", at("pathType"))]),
        (
            &[(&kind, r#""x""#)],
            &[&format!(
                r#"{}: Unsupported value: "x": supported values: "Exact", "ImplementationSpecific", "Prefix""#,
                at("pathType")
            )],
        ),
        (
            &[(&path, r#""""#)],
            &[&format!(r#"{}: Invalid value: "": must be an absolute path"#, at("path"))],
        ),
        (
            &[(&kind, r#""ImplementationSpecific""#), (&path, r#""x""#)],
            &[&format!(r#"{}: Invalid value: "x": must be an absolute path"#, at("path"))],
        ),
        (
            &[(&path, r#""/a//%2f/..""#)],
            &[
                &format!(r#"{}: Invalid value: "/a//%2f/..": must not contain '//'"#, at("path")),
                &format!(r#"{}: Invalid value: "/a//%2f/..": must not contain '%2f'"#, at("path")),
                &format!(r#"{}: Invalid value: "/a//%2f/..": cannot end with '/..'"#, at("path")),
            ],
        ),
    ]);
}

#[test]
fn backends_are_services_or_other_resources() {
    let backend = format!("{PATH}/backend");
    base().accepts(&[&[(&backend, r#"{"resource":{"apiGroup":"g.io","kind":"K","name":"n"}}"#)]]);
    base().refuses(&[
        (
            &[(&format!("{backend}/resource"), r#"{"kind":"K","name":"n"}"#)],
            &[&format!(
                r#"{}: Invalid value: "": cannot set both resource and service backends"#,
                at("backend")
            )],
        ),
        (
            &[(&backend, r#"{"resource":{"kind":"","name":"n"}}"#)],
            &[&format!("{}: Required value", at("backend.resource.kind"))],
        ),
        (
            &[(&format!("{backend}/service"), r#"{"name":"","port":{}}"#)],
            &[
                &format!("{}: Required value", at("backend.service.name")),
                &format!("{}: Required value: port name or number is required", at("backend")),
            ],
        ),
        (
            &[(&format!("{backend}/service/port/name"), r#""x""#)],
            &[&format!(r#"{}: Invalid value: "": cannot set both port name & port number"#, at("backend"))],
        ),
        (
            &[(&format!("{backend}/service/port"), r#"{"name":"x!"}"#)],
            &[&format!(
                r#"{}: Invalid value: "x!": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)"#,
                at("backend.service.port.name")
            )],
        ),
        (
            &[(&format!("{backend}/service/port/number"), "65536")],
            &[&format!(
                "{}: Invalid value: 65536: must be between 1 and 65535, inclusive",
                at("backend.service.port.number")
            )],
        ),
    ]);
}

#[test]
fn names_of_services_begin_with_a_letter_without_the_feature() {
    let name = format!("{PATH}/backend/service/name");
    let digit = [(name.as_str(), r#""1s""#)];
    base().accepts(&[&digit]);
    let strict =
        Base::with_features(GROUP, "ingresses", INGRESS, &[(Feature::RelaxedServiceNameValidation, false)]);
    let error = format!(r#"{}: Invalid value: "1s": {DNS1035}"#, at("backend.service.name"));
    strict.refuses(&[(&digit, &[&error])]);
    strict.refuses_update(&[(&digit, &[&error])]);
    // Once one is stored, others may be so too.
    let default = r#"{"service":{"name":"2s","port":{"number":1}}}"#;
    strict.accepts_update_of(&digit, &[&[("/spec/defaultBackend", default)]]);
    strict.accepts_update_of(&[("/spec/defaultBackend", default)], &[&digit]);
}

#[test]
fn stored_values_may_stay() {
    let secret = [("/spec/tls/0/secretName", r#""B""#)];
    base().accepts_update_of(&secret, &[&[("/spec/tls/0/secretName", r#""C""#)]]);
    let wildcard = [("/spec/rules/0/host", r#""*.a""#), ("/spec/rules/0/http/paths", "[]")];
    base().accepts_update_of(&wildcard, &[&[("/metadata/labels", r#"{"a":"b"}"#)]]);
    base().refuses_update_of(
        &[("/spec/rules/0/host", r#""*.a""#)],
        &[(&[("/spec/rules/0/http/paths", "[]")], &["spec.rules[0].http.paths: Required value"])],
    );
}

#[test]
fn a_class_is_named_once() {
    let annotation = ("/metadata/annotations", r#"{"kubernetes.io/ingress.class":"x"}"#);
    base().accepts(&[&[annotation], &[annotation, ("/spec/ingressClassName", r#""x""#)]]);
    let both = [annotation, ("/spec/ingressClassName", r#""y""#)];
    base().refuses(&[(
        &both,
        &[
            r#"annotations.kubernetes.io/ingress.class: Invalid value: "x": must match `ingressClassName` when both are specified"#,
        ],
    )]);
    base().accepts_update(&[&both]);
}

#[test]
fn the_old_way_to_name_a_class_is_warned_of_once() {
    let ingresses = of(GROUP, "ingresses");
    let old = r#"{"metadata":{"name":"a","annotations":{"kubernetes.io/ingress.class":"x"}}}"#;
    assert_eq!(
        warnings(&ingresses, old, None),
        [
            r#"annotation "kubernetes.io/ingress.class" is deprecated, please use 'spec.ingressClassName' instead"#
        ]
    );
    assert!(warnings(&ingresses, old, Some(old)).is_empty());
}

#[test]
fn a_status_has_addresses_and_names() {
    let status = Base::new(GROUP, "ingresses/status", INGRESS);
    let points = |points: &str| format!(r#"{{"loadBalancer":{{"ingress":[{points}]}}}}"#);
    let sloppy = points(r#"{"ip":"010.0.0.1"}"#);
    status.accepts_update(&[&[("/status", &points(r#"{"ip":"1.2.3.4"},{"hostname":"a.b"}"#))]]);
    status.accepts_update_of(&[("/status", &sloppy)], &[&[("/metadata/labels", r#"{"a":"b"}"#)]]);
    let path = "status.loadBalancer.ingress[0]";
    status.refuses_update(&[
        (
            &[("/status", &points(r#"{"ip":"x"}"#))],
            &[&format!(
                r#"{path}.ip: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"#
            )],
        ),
        (
            &[("/status", &points(r#"{"hostname":"1.2.3.4"}"#))],
            &[&format!(r#"{path}.hostname: Invalid value: "1.2.3.4": must be a DNS name, not an IP address"#)],
        ),
        (
            &[("/status", &points(r#"{"hostname":"A"}"#))],
            &[&format!(r#"{path}.hostname: Invalid value: "A": {SUBDOMAIN}"#)],
        ),
    ]);
}

#[test]
fn addresses_that_read_in_two_ways_are_warned_of() {
    let status = r#"{"metadata":{"name":"a"},"status":{"loadBalancer":{"ingress":[{"ip":"1.2.3.4"},{"ip":"010.2.3.4"}]}}}"#;
    let found = warnings(&of(GROUP, "ingresses/status"), status, Some(status));
    assert!(found.len() == 1 && found[0].starts_with("status.loadBalancer.ingress[1]: "), "{found:?}");
}
