//! Numbers of pods, or percentages of them: rolling updates and disruption budgets.

use pintle_meta::field_path::Value as Printed;
use pintle_meta::int_or_string::IntOrString;
use pintle_meta::validation::percent;

use crate::framework::validation::Cursor;

/// Checks that a number is not negative, or that text is a percentage.
pub(crate) fn positive(amount: &Cursor<'_, '_>) {
    match amount.optional_text() {
        Some(text) => {
            for why in percent(text) {
                amount.invalid(printed(amount), why);
            }
        }
        None => amount.non_negative(),
    }
}

/// Checks that a percentage is at most 100; anything else is checked elsewhere.
pub(crate) fn at_most_100_percent(amount: &Cursor<'_, '_>) {
    if amount.optional_text().and_then(percentage).is_some_and(|value| value > 100) {
        amount.invalid(printed(amount), "must not be greater than 100%");
    }
}

/// Returns the number or the percentage; 0 for text that is neither.
pub(crate) fn value(amount: &Cursor<'_, '_>) -> i64 {
    match amount.optional_text() {
        Some(text) => percentage(text).unwrap_or_else(|| IntOrString::from(text).int_value()),
        None => amount.integer(),
    }
}

/// Returns the amount as errors show it: text in quotes.
pub(crate) fn printed(amount: &Cursor<'_, '_>) -> Printed {
    amount.optional_text().map_or_else(|| amount.integer().into(), Printed::json)
}

/// Returns the number before the sign; the largest one for what is too large.
fn percentage(text: &str) -> Option<i64> {
    let digits = text.strip_suffix('%').filter(|_| percent(text).is_empty())?;
    Some(digits.parse().unwrap_or(i64::MAX))
}
