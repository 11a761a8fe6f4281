//! The conditions of a signing request: what was decided about it, by whom, when.

use std::collections::BTreeSet;

use pintle_auth::certificate_request::check_certificates;
use pintle_meta::Value;
use pintle_meta::field_path::{Error, Path};

use crate::framework::strategy::tree;

const CONDITIONS: tree::Path = &["status", "conditions"];
const APPROVED: &str = "Approved";
const DENIED: &str = "Denied";
const FAILED: &str = "Failed";

/// Through what a request is written.
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

/// Fills in the times that nobody gave: of the last change, and of the last turn.
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

/// What is wrong with a changed status. What was stored so before may stay so.
pub(super) fn validate(request: &Value, old: &Value, write: Write) -> Vec<Error> {
    let path = Path::new("status");
    let path = path.child("conditions");
    let mut errors = each(request, old, &path);
    let counts = |wanted: &str| (of_kind(request, wanted).len(), of_kind(old, wanted).len());
    for decision in [APPROVED, DENIED, FAILED] {
        let (now, before) = counts(decision);
        if now < before {
            let wrong = format!("updates may not remove a condition of type {decision:?}");
            errors.push(Error::forbidden(&path, wrong));
        }
    }
    // Where there are as many as before, they are the same: whatever writes here has seen to it.
    if write != Write::Approval {
        for decision in [APPROVED, DENIED] {
            let (now, before) = counts(decision);
            if now > before {
                let wrong = format!("updates may not add a condition of type {decision:?}");
                errors.push(Error::forbidden(&path, wrong));
            }
        }
    }
    errors.extend(certificate_content(request, old));
    errors.extend(certificate(request, old, write));
    errors
}

/// What was stored so before may stay so, and may be replaced by something that is no better.
fn certificate_content(request: &Value, old: &Value) -> Option<Error> {
    let content = |request: &Value| {
        request.at(&["status", "certificate"]).and_then(Value::as_bytes).unwrap_or_default().to_vec()
    };
    let (new, old) = (content(request), content(old));
    if new == old || check_certificates(&old).is_err() {
        return None;
    }
    let wrong = check_certificates(&new).err()?;
    let path = Path::new("status");
    Some(Error::invalid(&path.child("certificate"), "<certificate data>", wrong))
}

fn certificate(request: &Value, old: &Value, write: Write) -> Option<Error> {
    let content = |request: &Value| -> Vec<u8> {
        request.at(&["status", "certificate"]).and_then(Value::as_bytes).unwrap_or_default().to_vec()
    };
    let (new, old) = (content(request), content(old));
    let path = Path::new("status");
    let path = path.child("certificate");
    match write {
        _ if new == old => None,
        Write::Status if old.is_empty() => None,
        Write::Status => Some(Error::forbidden(&path, "updates may not modify existing certificate content")),
        _ => Some(Error::forbidden(&path, "updates may not set certificate content")),
    }
}

fn each(request: &Value, old: &Value, path: &Path<'_>) -> Vec<Error> {
    let before = old.items_at(CONDITIONS);
    let kinds: BTreeSet<&str> = before.iter().map(kind).collect();
    let may_repeat = kinds.len() < before.len();
    let may_be_nameless = kinds.contains("");
    let may_contradict = kinds.contains(APPROVED) && kinds.contains(DENIED);
    let mut errors = Vec::new();
    let mut seen = BTreeSet::new();
    for (index, condition) in request.items_at(CONDITIONS).iter().enumerate() {
        let (kind, status) = (kind(condition), condition.text_at(&["status"]));
        let here = path.index(index);
        if kind.is_empty() && !may_be_nameless {
            errors.push(Error::required(&here.child("type"), ""));
        }
        let allowed: &[&str] = if [APPROVED, DENIED, FAILED].contains(&kind) {
            &["True"]
        } else {
            &["False", "True", "Unknown"]
        };
        if status.is_empty() {
            errors.push(Error::required(&here.child("status"), ""));
        } else if !allowed.contains(&status) {
            errors.push(Error::not_supported(&here.child("status"), status, allowed));
        }
        let opposite = match kind {
            APPROVED => Some(DENIED),
            DENIED => Some(APPROVED),
            _ => None,
        };
        if !may_contradict && opposite.is_some_and(|opposite| seen.contains(opposite)) {
            let wrong = "Approved and Denied conditions are mutually exclusive";
            errors.push(Error::invalid(path, kind, wrong));
        }
        if !seen.insert(kind) && !may_repeat {
            errors.push(Error::duplicate(&here.child("type"), kind));
        }
    }
    errors
}
