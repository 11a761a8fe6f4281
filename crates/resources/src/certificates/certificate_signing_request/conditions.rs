//! The conditions of a signing request: what was decided about it, and when.

use std::collections::HashSet;

use pintle_meta::Value;
use pintle_meta::field_path::Value as Printed;

use crate::framework::strategy::tree;
use crate::framework::validation::Cursor;

const CONDITIONS: tree::Path = &["status", "conditions"];
const APPROVED: &str = "Approved";
const DENIED: &str = "Denied";
const FAILED: &str = "Failed";

/// The resource or subresource through which a request is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Write {
    Request,
    Approval,
    Status,
}

fn kind(condition: &Value) -> &str {
    condition.text_at(&["type"])
}

fn of_kind<'a>(request: &'a Value, wanted: &str) -> Vec<&'a Value> {
    request.items_at(CONDITIONS).iter().filter(|condition| kind(condition) == wanted).collect()
}

/// Approvals and denials stay as they were, where there are as many as before.
pub(super) fn keep_decision(request: &mut Value, old: &Value) {
    for decision in [APPROVED, DENIED] {
        let before = of_kind(old, decision);
        let now = of_kind(request, decision);
        if before.len() != now.len() || before == now {
            continue;
        }
        let conditions = request.at_mut(CONDITIONS).and_then(Value::as_list_mut).into_iter().flatten();
        for (condition, before) in conditions.filter(|found| kind(found) == decision).zip(before) {
            *condition = before.clone();
        }
    }
}

/// Fills in missing times: lastUpdateTime and lastTransitionTime.
pub(super) fn note_times(request: &mut Value, old: &Value, now: &Value) {
    const UPDATED: tree::Path = &["lastUpdateTime"];
    const TURNED: tree::Path = &["lastTransitionTime"];
    let is_unset = |condition: &Value, path: tree::Path| condition.text_at(path).is_empty();
    let whole = |condition: &Value| !is_unset(condition, UPDATED) && !is_unset(condition, TURNED);
    if request.items_at(CONDITIONS).iter().all(whole) {
        return;
    }
    let conditions = request.at_mut(CONDITIONS).and_then(Value::as_list_mut).into_iter().flatten();
    for condition in conditions {
        if is_unset(condition, UPDATED) {
            tree::set(condition, UPDATED, now.clone());
        }
        if is_unset(condition, TURNED) {
            let same = |before: &&Value| {
                kind(before) == kind(condition)
                    && before.get("status") == condition.get("status")
                    && !is_unset(before, TURNED)
            };
            let before = old.items_at(CONDITIONS).iter().find(same);
            let turned = before.and_then(|before| before.at(TURNED)).unwrap_or(now).clone();
            tree::set(condition, TURNED, turned);
        }
    }
}

/// Checks conditions. Faults that the stored ones have already may stay.
pub(super) fn validate(conditions: &Cursor<'_, '_>) {
    let before = conditions.before();
    let kinds: HashSet<&str> = before.values().iter().map(kind).collect();
    let may_repeat = kinds.len() < before.len();
    let may_be_nameless = kinds.contains("");
    let may_contradict = kinds.contains(APPROVED) && kinds.contains(DENIED);
    let mut seen = HashSet::new();
    for condition in conditions.items() {
        let (kind, status) = (condition.field("type"), condition.field("status"));
        if kind.is_empty() && !may_be_nameless {
            kind.required("");
        }
        let is_decision = [APPROVED, DENIED, FAILED].contains(&kind.text());
        status.required_one_of(if is_decision { &["True"] } else { &["False", "True", "Unknown"] });
        let opposite = match kind.text() {
            APPROVED => Some(DENIED),
            DENIED => Some(APPROVED),
            _ => None,
        };
        if !may_contradict && opposite.is_some_and(|opposite| seen.contains(opposite)) {
            let why = "Approved and Denied conditions are mutually exclusive";
            conditions.invalid(Printed::json(kind.text()), why);
        }
        if !seen.insert(kind.text()) && !may_repeat {
            kind.duplicate(Printed::json(kind.text()));
        }
    }
}

/// Checks a change of the status: decisions stay, and are made by approval alone; a certificate is set once, by the status.
pub(super) fn validate_update(request: &Cursor<'_, '_>, write: Write) {
    let conditions = request.at(CONDITIONS);
    let old = request.before();
    let counts = |wanted: &str| (of_kind(request.value(), wanted).len(), of_kind(old.value(), wanted).len());
    for decision in [APPROVED, DENIED, FAILED] {
        let (now, before) = counts(decision);
        if now < before {
            conditions.forbidden(format!("updates may not remove a condition of type {decision:?}"));
        }
    }
    // Where there are as many as before, they are the same: all other writes restore them.
    if write != Write::Approval {
        for decision in [APPROVED, DENIED] {
            let (now, before) = counts(decision);
            if now > before {
                conditions.forbidden(format!("updates may not add a condition of type {decision:?}"));
            }
        }
    }
    let certificate = request.at(&["status", "certificate"]);
    let is_empty = |at: &Cursor<'_, '_>| at.value().as_bytes().unwrap_or_default().is_empty();
    if certificate.changed() {
        if write != Write::Status {
            certificate.forbidden("updates may not set certificate content"); // unreachable: other writes keep it
        } else if !is_empty(&certificate.before()) {
            certificate.forbidden("updates may not modify existing certificate content");
        }
    }
}
