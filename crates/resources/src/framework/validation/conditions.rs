//! Conditions of a status (`meta/v1.Condition`).

use std::collections::HashSet;

use pintle_meta::field_path::Value as Printed;
use pintle_meta::validation::{qualified_name, regex_error};

use super::Cursor;

const STATUSES: &[&str] = &["False", "True", "Unknown"];
const MAX_REASON: usize = 1024;
const MAX_MESSAGE: usize = 32 * 1024;

impl Cursor<'_, '_> {
    /// Checks a list of conditions, of which each type occurs once.
    #[track_caller]
    pub(crate) fn conditions(&self) {
        let mut types = HashSet::new();
        for condition in self.items() {
            let of = condition.field("type");
            if !types.insert(of.text()) {
                of.duplicate(of.text());
            }
            condition.condition();
        }
    }

    /// Checks one condition.
    #[track_caller]
    pub(crate) fn condition(&self) {
        self.field("type").text_format(qualified_name);
        let status = self.field("status");
        if !STATUSES.contains(&status.text()) {
            status.not_supported(Printed::json(status.text()), STATUSES);
        }
        let generation = self.field("observedGeneration");
        if generation.integer() < 0 {
            generation.invalid(generation.integer(), "must be greater than or equal to zero");
        }
        let since = self.field("lastTransitionTime");
        if !since.is_set() {
            since.required("");
        }
        let reason = self.field("reason");
        if reason.is_empty() {
            reason.required("");
        } else {
            reason.text_format(condition_reason);
            if reason.text().len() > MAX_REASON {
                reason.too_long(MAX_REASON);
            }
        }
        let message = self.field("message");
        if message.text().len() > MAX_MESSAGE {
            message.too_long(MAX_MESSAGE);
        }
    }
}

/// Checks the format of a reason, not its length.
fn condition_reason(reason: &str) -> Vec<String> {
    const FORMAT: &str = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?";
    const MESSAGE: &str = "a condition reason must start with alphabetic character, optionally followed by a string of \
                           alphanumeric characters or '_,:', and must end with an alphanumeric character or '_'";
    const EXAMPLES: &[&str] = &["my_name", "MY_NAME", "MyName", "ReasonA,ReasonB", "ReasonA:ReasonB"];
    let bytes = reason.as_bytes();
    let is_inner = |byte: &u8| byte.is_ascii_alphanumeric() || b"_,:".contains(byte);
    let is_right = bytes.first().is_some_and(u8::is_ascii_alphabetic)
        && bytes.last().is_some_and(|last| last.is_ascii_alphanumeric() || *last == b'_')
        && bytes.iter().all(is_inner);
    if is_right { Vec::new() } else { vec![regex_error(MESSAGE, FORMAT, EXAMPLES)] }
}
