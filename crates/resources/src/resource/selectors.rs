//! Device selectors: CEL expressions over a device, and configuration of drivers beside them.

use std::cell::OnceCell;

use pintle_cel::{DeviceFeatures, DeviceSizes, Environment, Type, device_selector};
use pintle_features::{Feature, Features};
use pintle_meta::field_path::Error;
use serde::de::IgnoredAny;

use super::collections::list;
use crate::core::volume_sources::driver_name;
use crate::framework::validation::Cursor;

const MOST_SELECTORS: usize = 32;
const LONGEST_EXPRESSION: usize = 10 * 1024;
const MOST_COST: u64 = 1_000_000;
const LONGEST_PARAMETERS: usize = 10 * 1024;

/// Compiles the selectors of one object.
pub(super) struct Selectors {
    features: DeviceFeatures,
    environment: OnceCell<Environment>,
}

impl Selectors {
    /// `stored` is for expressions that an update leaves as they were.
    pub(super) fn new(features: &Features, stored: bool) -> Selectors {
        let features = DeviceFeatures {
            stored,
            shared: features.enabled(Feature::DRAConsumableCapacity),
            lists: features.enabled(Feature::DRAListTypeAttributes),
        };
        Selectors { features, environment: OnceCell::new() }
    }

    /// Checks a list of selectors.
    pub(super) fn check(&self, selectors: &Cursor<'_, '_>) {
        list(selectors, MOST_SELECTORS, |selector| {
            let cel = selector.field("cel");
            if cel.is_set() {
                self.expression(&cel.field("expression"));
            } else {
                cel.required("");
            }
        });
    }

    fn expression(&self, at: &Cursor<'_, '_>) {
        if at.text().len() > LONGEST_EXPRESSION {
            return at.too_long(LONGEST_EXPRESSION);
        }
        let environment = self.environment.get_or_init(|| Environment::new(device_selector(self.features)));
        let expression = match environment.check(at.text()) {
            Ok(expression) => expression,
            Err(error) => {
                let why = format!("compilation failed: {error}");
                return at.report([Error::invalid(at.path(), at.text(), why)]);
            }
        };
        let of = expression.result_type();
        let fits = match of {
            Type::Bool | Type::Any => true,
            Type::Dyn => self.features.lists,
            _ => false,
        };
        if !fits {
            let why = format!("must evaluate to bool or the unknown type, not {}", of.declared_name());
            return at.invalid(at.text(), why);
        }
        if let Err(error) = expression.program() {
            return at.internal(format!("program instantiation failed: {error}"));
        }
        if expression.estimate(&DeviceSizes).max > MOST_COST {
            at.forbidden("too complex, exceeds cost limit");
        }
    }
}

/// Checks configuration of a driver; `stored` is for one that an update leaves as it was.
pub(super) fn configuration(of: &Cursor<'_, '_>, stored: bool) {
    let opaque = of.field("opaque");
    if !opaque.is_set() {
        return opaque.required("");
    }
    driver_name(&opaque.field("driver"));
    raw_object(&opaque.field("parameters"), stored, LONGEST_PARAMETERS);
}

/// Checks a JSON object that is not decoded.
pub(super) fn raw_object(at: &Cursor<'_, '_>, stored: bool, longest: usize) {
    const OMITTED: &str = "<value omitted>";
    let raw = at.value().as_raw().unwrap_or_default();
    if raw.is_empty() {
        return at.required("");
    }
    if !stored && raw.len() > longest {
        return at.too_long(longest);
    }
    // The first parser is fast, the second has the reference's limits and messages.
    if serde_json::from_slice::<IgnoredAny>(raw).is_err()
        && let Err(error) = pintle_codec::json::decode_any(raw)
    {
        return at.invalid(OMITTED, format!("error parsing data as JSON: {error}"));
    }
    match raw.trim_ascii_start().first() {
        Some(b'{') => {}
        Some(b'n') => at.required(""),
        _ => at.invalid(OMITTED, "must be a valid JSON object"),
    }
}

#[cfg(test)]
mod tests {
    use pintle_meta::Value;

    use super::*;
    use crate::framework::validation::Errors;

    #[track_caller]
    fn check(object: Value, expected: &str, rule: impl Fn(&Cursor<'_, '_>)) {
        let errors = Errors::default();
        rule(&Cursor::root(&object, None, &errors));
        let found: Vec<String> = errors.into_vec().iter().map(ToString::to_string).collect();
        assert_eq!(found.join("; "), expected);
    }

    #[test]
    fn raw_objects_are_json() {
        // Protobuf can have anything here.
        let raw = |text: &str, expected: &str| {
            check(Value::raw(text.as_bytes().to_vec()), expected, |at| raw_object(at, false, 1000));
        };
        raw(" {\"a\": [1]}", "");
        raw(&format!("{{\"a\":{}{}}}", "[".repeat(400), "]".repeat(400)), "");
        raw(" null", "<nil>: Required value");
        raw("", "<nil>: Required value");
        raw("[]", "<nil>: Invalid value: \"<value omitted>\": must be a valid JSON object");
        raw(
            "{",
            "<nil>: Invalid value: \"<value omitted>\": error parsing data as JSON: unexpected end of JSON input",
        );
    }

    #[test]
    fn constants_are_computed() {
        let selectors = Selectors::new(&Features::default(), false);
        check(
            Value::string("int('a') == 1"),
            "<nil>: Internal error: program instantiation failed: type conversion error from 'string' to 'int'",
            |at| {
                selectors.expression(at);
            },
        );
    }
}
