//! Validation of ingresses.

use std::collections::HashSet;

use pintle_features::Feature;
use pintle_meta::Value;
use pintle_meta::validation::{
    dns1035_label, dns1123_label, dns1123_subdomain, parse_ip_sloppy, port_name, port_number,
    wildcard_dns1123_subdomain,
};

use super::CLASS_ANNOTATION;
use crate::framework::strategy::Settings;
use crate::framework::validation::{Cursor, Errors};
use crate::networking::ingress_class::validate_reference;

const NOT_AN_ADDRESS: &str = "must be a DNS name, not an IP address";
const INVALID_SEQUENCES: [&str; 5] = ["//", "/./", "/../", "%2f", "%2F"];
const INVALID_SUFFIXES: [&str; 2] = ["/..", "/."];

/// Conditions that depend on gates and on invalid values of the old object, which may stay.
#[derive(Default)]
pub(super) struct Options {
    allow_invalid_secret_name: bool,
    /// Anything below a host with a wildcard.
    allow_invalid_wildcard_rule: bool,
    /// Names of services that begin with a digit.
    allow_relaxed_service_name: bool,
}

impl Options {
    pub(super) fn new(settings: &Settings, ingress: &Cursor<'_, '_>) -> Options {
        let old = ingress.before();
        let old = old.field("spec");
        let relaxed = settings.features.enabled(Feature::RelaxedServiceNameValidation);
        Options {
            allow_invalid_secret_name: old.field("tls").items().any(|tls| has_invalid_secret_name(&tls)),
            allow_invalid_wildcard_rule: old.field("rules").values().iter().any(is_invalid_wildcard_rule),
            allow_relaxed_service_name: relaxed || has_relaxed_service_name(&old),
        }
    }
}

fn has_invalid_secret_name(tls: &Cursor<'_, '_>) -> bool {
    let name = tls.field("secretName");
    !name.is_empty() && !dns1123_subdomain(name.text()).is_empty()
}

fn is_invalid_wildcard_rule(rule: &Value) -> bool {
    let errors = Errors::default();
    if rule.text_at(&["host"]).contains('*') {
        rule_value(&Cursor::root(rule, None, &errors), &Options::default());
    }
    errors.len() > 0
}

/// Whether a backend has the name of a service that only the relaxed format accepts.
fn has_relaxed_service_name(spec: &Cursor<'_, '_>) -> bool {
    let is_relaxed = |backend: &Value| {
        let name = backend.text_at(&["service", "name"]);
        dns1123_label(name).is_empty() && !dns1035_label(name).is_empty()
    };
    let paths = spec.field("rules").values().iter().flat_map(|rule| rule.items_at(&["http", "paths"]));
    is_relaxed(spec.field("defaultBackend").value())
        || paths.filter_map(|path| path.get("backend")).any(is_relaxed)
}

pub(super) fn spec(spec: &Cursor<'_, '_>, options: &Options) {
    let (rules, default_backend) = (spec.field("rules"), spec.field("defaultBackend"));
    if rules.len() == 0 && !default_backend.is_set() {
        let why = "either `defaultBackend` or `rules` must be specified";
        spec.invalid(rules.printed_as("[]networking.IngressRule"), why);
    }
    if default_backend.is_set() {
        backend(&default_backend, options);
    }
    for rule in rules.items() {
        host(&rule.field("host"));
        let has_wildcard = rule.field("host").text().contains('*');
        if !has_wildcard || !options.allow_invalid_wildcard_rule {
            rule_value(&rule, options);
        }
    }
    for item in spec.field("tls").items() {
        item.field("hosts").each(|host| host_name(host));
        if !options.allow_invalid_secret_name && !item.field("secretName").is_empty() {
            item.field("secretName").text_format(dns1123_subdomain);
        }
    }
    let class = spec.field("ingressClassName");
    if class.is_set() {
        class.text_format(dns1123_subdomain);
    }
}

/// Checks the class that a new ingress names twice.
pub(super) fn class_annotation(ingress: &Cursor<'_, '_>) {
    let annotations = ingress.at_as(&["metadata", "annotations"], "annotations");
    let annotation = annotations.field(CLASS_ANNOTATION);
    let class = ingress.at(&["spec", "ingressClassName"]);
    if annotation.is_set() && class.is_set() && annotation.text() != class.text() {
        annotation.invalid(annotation.text(), "must match `ingressClassName` when both are specified");
    }
}

fn host(host: &Cursor<'_, '_>) {
    if host.is_empty() {
        return;
    }
    if parse_ip_sloppy(host.text()).is_some() {
        host.invalid(host.text(), NOT_AN_ADDRESS);
    }
    host_name(host);
}

/// Checks a name that may have a wildcard for its first label.
fn host_name(host: &Cursor<'_, '_>) {
    if host.text().contains('*') {
        host.text_format(wildcard_dns1123_subdomain);
    } else {
        host.text_format(dns1123_subdomain);
    }
}

fn rule_value(rule: &Cursor<'_, '_>, options: &Options) {
    let http = rule.field("http");
    if !http.is_set() {
        return;
    }
    let paths = http.field("paths");
    if paths.len() == 0 {
        paths.required("");
    }
    paths.each(|item| http_path(item, options));
}

fn http_path(item: &Cursor<'_, '_>, options: &Options) {
    let (path, kind) = (item.field("path"), item.field("pathType"));
    let check_absolute = || {
        if !path.text().starts_with('/') {
            path.invalid(path.text(), "must be an absolute path");
        }
    };
    match kind.optional_text() {
        None => return kind.required("pathType must be specified"),
        Some("Exact" | "Prefix") => {
            check_absolute();
            for part in INVALID_SEQUENCES.iter().filter(|part| path.text().contains(**part)) {
                path.invalid(path.text(), format!("must not contain '{part}'"));
            }
            for end in INVALID_SUFFIXES.iter().filter(|end| path.text().ends_with(**end)) {
                path.invalid(path.text(), format!("cannot end with '{end}'"));
            }
        }
        Some("ImplementationSpecific") if path.is_empty() => {}
        Some("ImplementationSpecific") => check_absolute(),
        Some(_) => kind.one_of(&["Exact", "ImplementationSpecific", "Prefix"]),
    }
    backend(&item.field("backend"), options);
}

fn backend(backend: &Cursor<'_, '_>, options: &Options) {
    let (resource, service) = (backend.field("resource"), backend.field("service"));
    match (resource.is_set(), service.is_set()) {
        (true, true) => backend.invalid("", "cannot set both resource and service backends"),
        (true, false) => validate_reference(&resource),
        (false, true) => service_backend(backend, &service, options),
        (false, false) => backend.invalid("", "resource or service backend is required"),
    }
}

fn service_backend(backend: &Cursor<'_, '_>, service: &Cursor<'_, '_>, options: &Options) {
    let name = service.field("name");
    if name.is_empty() {
        name.required("");
    } else {
        name.text_format(if options.allow_relaxed_service_name { dns1123_label } else { dns1035_label });
    }
    let port = service.field("port");
    let (name, number) = (port.field("name"), port.field("number"));
    match (!name.is_empty(), number.integer() != 0) {
        (true, true) => backend.invalid("", "cannot set both port name & port number"),
        (true, false) => name.text_format(port_name),
        (false, true) => number.integer_format(port_number),
        (false, false) => backend.required("port name or number is required"),
    }
}

/// Checks the addresses of a status. Those that were stored may stay.
pub(super) fn status(ingress: &Cursor<'_, '_>) {
    let points = ingress.at(&["status", "loadBalancer", "ingress"]);
    let before = points.before();
    let old: HashSet<&str> = before.values().iter().map(|point| point.text_at(&["ip"])).collect();
    for point in points.items() {
        let (address, name) = (point.field("ip"), point.field("hostname"));
        if !address.is_empty() {
            let stored = old.contains(address.text()).then_some(address.text());
            address.legacy_ip(stored.as_slice());
        }
        if !name.is_empty() {
            name.text_format(dns1123_subdomain);
            if parse_ip_sloppy(name.text()).is_some() {
                name.invalid(name.text(), NOT_AN_ADDRESS);
            }
        }
    }
}
