//! Conditions of a status, in the form that all newer kinds share (`meta/v1.Condition`).

use std::collections::HashSet;

use pintle_meta::validation::{label_name, regex_error};

use super::Cursor;

const REASON: &str = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?";
const REASON_MESSAGE: &str = "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_'";
const REASON_EXAMPLES: &[&str] = &["my_name", "MY_NAME", "MyName", "ReasonA,ReasonB", "ReasonA:ReasonB"];
const MAX_REASON: usize = 1024;
const MAX_MESSAGE: usize = 32 * 1024;

impl Cursor<'_, '_> {
    /// Checks a list of conditions.
    #[track_caller]
    pub(crate) fn conditions(&self) {
        let mut types = HashSet::new();
        for condition in self.items() {
            let kind = condition.field("type");
            if !types.insert(kind.text()) {
                kind.duplicate(kind.text());
            }
            condition.condition();
        }
    }

    /// Checks one condition.
    #[track_caller]
    fn condition(&self) {
        self.field("type").text_check(label_name);
        self.field("status").one_of(&["False", "True", "Unknown"]);
        let generation = self.field("observedGeneration");
        if generation.integer() < 0 {
            generation.invalid(generation.integer(), "must be greater than or equal to zero");
        }
        if !self.field("lastTransitionTime").is_set() {
            self.field("lastTransitionTime").required("");
        }
        let reason = self.field("reason");
        if reason.text().is_empty() {
            reason.required("");
        } else {
            if !is_reason(reason.text()) {
                reason.invalid(reason.text(), regex_error(REASON_MESSAGE, REASON, REASON_EXAMPLES));
            }
            if reason.text().len() > MAX_REASON {
                reason.too_long(MAX_REASON);
            }
        }
        if self.field("message").text().len() > MAX_MESSAGE {
            self.field("message").too_long(MAX_MESSAGE);
        }
    }
}

fn is_reason(text: &str) -> bool {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    match text.as_bytes() {
        [first] => first.is_ascii_alphabetic(),
        [first, middle @ .., last] => {
            let is_inner = |byte: &u8| is_word(byte) || b",:".contains(byte);
            first.is_ascii_alphabetic() && middle.iter().all(is_inner) && is_word(last)
        }
        [] => false,
    }
}

#[cfg(test)]
mod tests {
    use super::is_reason;

    #[test]
    fn reasons_are_words_in_lists() {
        for good in ["a", "A_", "ReasonA,ReasonB", "a:b", "A1"] {
            assert!(is_reason(good), "{good}");
        }
        for bad in ["", "_", "1", "a,", "a:", "a b", "ä"] {
            assert!(!is_reason(bad), "{bad}");
        }
    }
}
