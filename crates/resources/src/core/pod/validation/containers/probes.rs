//! Probes, and the handlers that probes and lifecycle hooks share.

use pintle_meta::Node;
use pintle_meta::validation::{http_header_name, port_name, port_number};

use super::super::Facts;
use crate::framework::validation::Cursor;

/// Handlers in the order in which the first one counts. Probes do not sleep, and hooks do not call gRPC.
const HANDLERS: [&str; 5] = ["exec", "httpGet", "tcpSocket", "grpc", "sleep"];

pub(super) fn liveness(probe: &Cursor<'_, '_>, facts: &Facts<'_>) {
    if probe.is_set() {
        self::probe(probe, facts);
        single_success(&probe.field("successThreshold"));
    }
}

pub(super) fn readiness(probe: &Cursor<'_, '_>, facts: &Facts<'_>) {
    if !probe.is_set() {
        return;
    }
    self::probe(probe, facts);
    let seconds = probe.field("terminationGracePeriodSeconds");
    if seconds.is_set() {
        seconds.invalid(seconds.integer(), "must not be set for readinessProbes");
    }
}

pub(super) fn startup(probe: &Cursor<'_, '_>, facts: &Facts<'_>) {
    if probe.is_set() {
        self::probe(probe, facts);
        single_success(&probe.field("successThreshold"));
    }
}

fn single_success(threshold: &Cursor<'_, '_>) {
    if threshold.integer() != 1 {
        threshold.invalid(threshold.integer(), "must be 1");
    }
}

fn probe(probe: &Cursor<'_, '_>, facts: &Facts<'_>) {
    handler(probe, facts);
    for field in
        ["initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"]
    {
        probe.field(field).non_negative();
    }
    let seconds = probe.field("terminationGracePeriodSeconds");
    if seconds.optional_integer().is_some_and(|seconds| seconds <= 0) {
        seconds.invalid(seconds.integer(), "must be greater than 0");
    }
}

/// Checks the one handler of a probe or hook.
pub(super) fn handler(owner: &Cursor<'_, '_>, facts: &Facts<'_>) {
    let mut has_one = false;
    for kind in HANDLERS {
        let handler = owner.field(kind);
        if !handler.is_set() {
            continue;
        }
        if has_one {
            handler.forbidden("may not specify more than 1 handler type");
            continue;
        }
        has_one = true;
        match kind {
            "exec" => exec(&handler),
            "httpGet" => http_get(&handler),
            "sleep" => sleep(&handler, facts),
            _ => port(&handler.field("port")),
        }
    }
    if !has_one {
        owner.required("must specify a handler type");
    }
}

fn exec(exec: &Cursor<'_, '_>) {
    if exec.field("command").is_empty() {
        exec.field("command").required("");
    }
}

fn http_get(get: &Cursor<'_, '_>) {
    if get.field("path").is_empty() {
        get.field("path").required(""); // unreachable: it has a default
    }
    port(&get.field("port"));
    get.field("scheme").one_of(&["HTTP", "HTTPS"]);
    let headers = get.field("httpHeaders");
    for header in headers.items() {
        let name = header.field("name").text();
        http_header_name(name).into_iter().for_each(|why| headers.invalid(name, why));
    }
}

/// Checks a port that may be given by number or by name.
fn port(port: &Cursor<'_, '_>) {
    match port.value().node() {
        Node::String(_) => port.text_format(port_name),
        _ => port.integer_format(port_number),
    }
}

fn sleep(sleep: &Cursor<'_, '_>, facts: &Facts<'_>) {
    let seconds = sleep.field("seconds").integer();
    if let Some(grace_period) = facts.grace_period
        && !(0..=grace_period).contains(&seconds)
    {
        let why =
            format!("must be non-negative and less than terminationGracePeriodSeconds ({grace_period})");
        sleep.invalid(seconds, why);
    }
}
