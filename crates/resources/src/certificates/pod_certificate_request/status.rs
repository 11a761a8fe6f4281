//! The status: it changes once, from nothing to issued, denied or failed.

use pintle_meta::Value;
use pintle_meta::field_path::Value as Printed;

use super::issued;
use crate::framework::strategy::Settings;
use crate::framework::validation::Cursor;

const ISSUED: &str = "Issued";
const DENIED: &str = "Denied";
const FAILED: &str = "Failed";

pub(super) fn validate(settings: &Settings, request: &Cursor<'_, '_>) {
    let before = request.error_count();
    let status = request.field("status");
    validate_types(&status.field("conditions"));
    status.field("conditions").conditions();
    // The rest depends on the conditions.
    if request.error_count() > before {
        return;
    }
    let old = status.before();
    if [ISSUED, DENIED, FAILED].iter().any(|end| is(old.value(), end)) {
        if status.changed() {
            let why = "immutable after PodCertificateRequest is issued, denied, or failed";
            status.invalid(Printed::Omitted, why);
        }
    } else if is(status.value(), DENIED) || is(status.value(), FAILED) {
        let has_more = ["certificateChain", "notBefore", "beginRefreshAt", "notAfter"];
        if has_more.iter().any(|field| status.field(field).is_set()) {
            let why =
                "non-condition status fields must be empty when denying or failing the PodCertificateRequest";
            status.invalid(Printed::Omitted, why);
        }
    } else if is(status.value(), ISSUED) {
        issued::validate(settings, request);
    } else if status.changed() {
        let why = r#"status is immutable unless transitioning to "Issued", "Denied", or "Failed""#;
        status.invalid(Printed::Omitted, why);
    }
}

/// Whether a status has a condition that is true.
fn is(status: &Value, kind: &str) -> bool {
    let mut conditions = status.items_at(&["conditions"]).iter();
    conditions.any(|found| found.text_at(&["type"]) == kind && found.text_at(&["status"]) == "True")
}

/// Checks that there is at most one condition, of a known type, and that it is true. The reference's errors have the index as
/// if it were a field.
fn validate_types(conditions: &Cursor<'_, '_>) {
    let mut known = 0;
    for (index, condition) in conditions.values().iter().enumerate() {
        let name = format!("[{index}]");
        let at = conditions.at_as(&[], &name);
        let (kind, status) = (condition.text_at(&["type"]), condition.text_at(&["status"]));
        if ![ISSUED, DENIED, FAILED].contains(&kind) {
            at.field("type").not_supported(kind, &[ISSUED, DENIED, FAILED]);
            continue;
        }
        known += 1;
        if known > 1 {
            let why = r#"There may be at most one condition with type "Issued", "Denied", or "Failed""#;
            at.field("type").invalid(kind, why);
        }
        if status != "True" {
            at.field("status").not_supported(Printed::json(status), &["True"]);
        }
    }
}
