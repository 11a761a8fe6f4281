//! Named formats for the validation of strings: `format.dns1123Label().validate(name)`.

use std::fmt;

use pintle_meta::validation::{
    dns1035_label, dns1123_label, dns1123_subdomain, label_value, mask_trailing_dash, qualified_name,
};

use super::Declared;
use super::url::request_uri;
use crate::evaluate::Call;
use crate::meter::Outcome;
use crate::types::Type;
use crate::value::{Other, Timestamp, Val, opaque};

/// Named format: its validation, and the pattern length that its cost is computed from.
#[derive(Clone, Copy, Debug)]
struct NamedFormat {
    name: &'static str,
    shown: &'static str,
    validate: fn(&str) -> Vec<String>,
    pattern: u64,
}

opaque!(NamedFormat, Type::Named("kubernetes.NamedFormat"));

const UUID: &str = "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$";
const DATE_TIME: &str = "^([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))$";

const FORMATS: &[NamedFormat] = &[
    named("dns1123Label", "DNS1123Label", dns1123_label, 30),
    named("dns1123Subdomain", "DNS1123Subdomain", dns1123_subdomain, 60),
    named("dns1035Label", "DNS1035Label", dns1035_label, 30),
    named("qualifiedName", "QualifiedName", qualified_name, 60),
    named("dns1123LabelPrefix", "DNS1123LabelPrefix", |text| dns1123_label(&mask_trailing_dash(text)), 30),
    named(
        "dns1123SubdomainPrefix",
        "DNS1123SubdomainPrefix",
        |text| dns1123_subdomain(&mask_trailing_dash(text)),
        60,
    ),
    named("dns1035LabelPrefix", "DNS1035LabelPrefix", |text| dns1035_label(&mask_trailing_dash(text)), 30),
    named("labelValue", "LabelValue", label_value, 40),
    named("uri", "URI", |text| request_uri(text).err().into_iter().collect(), 1103),
    named("uuid", "uuid", |text| unless(is_uuid(text), "does not match the UUID format"), UUID.len() as u64),
    named("byte", "byte", |text| unless(is_base64(text), "invalid base64"), 84),
    named("date", "date", |text| unless(is_date(text), "invalid date"), DATE_TIME.len() as u64),
    named(
        "datetime",
        "datetime",
        |text| unless(is_date_time(text), "invalid datetime"),
        DATE_TIME.len() as u64,
    ),
];

const fn named(
    name: &'static str,
    shown: &'static str,
    validate: fn(&str) -> Vec<String>,
    pattern: u64,
) -> NamedFormat {
    NamedFormat { name, shown, validate, pattern }
}

/// Function that returns one of the formats.
macro_rules! constant {
    ($name:literal) => {
        Declared {
            name: concat!("format.", $name),
            overloads: &[(concat!("format.", $name), "-> kubernetes.NamedFormat")],
            run: |call, args| match find($name) {
                Some(format) => Ok(Val::Other(Other::new(*format))),
                None => call.no_such_overload(args),
            },
        }
    };
}

pub(super) const FUNCTIONS: &[Declared] = &[
    Declared {
        name: "validate",
        overloads: &[("format-validate", ".kubernetes.NamedFormat, string -> optional(list(string))")],
        run: validate,
    },
    Declared {
        name: "format.named",
        overloads: &[("format-named", "string -> optional(kubernetes.NamedFormat)")],
        run: |call, args| match args {
            [Val::String(name)] => Ok(match find(name) {
                Some(format) => Val::some(Val::Other(Other::new(*format))),
                None => Val::Optional(None),
            }),
            _ => call.no_such_overload(args),
        },
    },
    constant!("dns1123Label"),
    constant!("dns1123Subdomain"),
    constant!("dns1035Label"),
    constant!("qualifiedName"),
    constant!("dns1123LabelPrefix"),
    constant!("dns1123SubdomainPrefix"),
    constant!("dns1035LabelPrefix"),
    constant!("labelValue"),
    constant!("uri"),
    constant!("uuid"),
    constant!("byte"),
    constant!("date"),
    constant!("datetime"),
];

fn find(name: &str) -> Option<&'static NamedFormat> {
    FORMATS.iter().find(|format| format.name == name)
}

/// Returns the pattern length that the cost of a format's validation is computed from.
pub(crate) fn longest_pattern(format: &Other) -> u64 {
    format.downcast::<NamedFormat>().map_or(1, |format| format.pattern)
}

fn validate<'v>(call: &mut Call<'_, '_>, args: &[Val<'v>]) -> Outcome<'v> {
    match args {
        [Val::Other(other), Val::String(text)] if let Some(format) = other.downcast::<NamedFormat>() => {
            let problems = (format.validate)(text);
            if problems.is_empty() {
                return Ok(Val::Optional(None));
            }
            Ok(Val::some(Val::list(problems.into_iter().map(Val::string).collect())))
        }
        _ => call.no_such_overload(args),
    }
}

impl PartialEq for NamedFormat {
    fn eq(&self, other: &NamedFormat) -> bool {
        self.name == other.name
    }
}

impl fmt::Display for NamedFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.shown)
    }
}

fn unless(valid: bool, problem: &str) -> Vec<String> {
    if valid { Vec::new() } else { vec![problem.to_owned()] }
}

/// Returns whether the text is a request URI: an absolute URL or path.
pub fn is_request_uri(text: &str) -> bool {
    request_uri(text).is_ok()
}

/// Returns whether the text is groups of 8, 4, 4, 4 and 12 hex digits, with or without dashes between them.
pub fn is_uuid(text: &str) -> bool {
    let mut rest = text;
    for (index, length) in [8, 4, 4, 4, 12].into_iter().enumerate() {
        if index > 0 {
            rest = rest.strip_prefix('-').unwrap_or(rest);
        }
        match rest.get(..length) {
            Some(digits) if digits.bytes().all(|b| b.is_ascii_hexdigit()) => rest = &rest[length..],
            _ => return false,
        }
    }
    rest.is_empty()
}

/// Returns whether the text is non-empty standard base64 with padding.
pub fn is_base64(text: &str) -> bool {
    let body = text.trim_end_matches('=');
    !text.is_empty()
        && text.len().is_multiple_of(4)
        && text.len() - body.len() <= 2
        && body.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'+' || b == b'/')
}

/// Returns whether the text is a date that exists, in the form `2006-01-02`.
pub fn is_date(text: &str) -> bool {
    text.len() == 10 && text.is_ascii() && Timestamp::parse(&format!("{text}T00:00:00Z")).is_some()
}

/// Returns whether the text is a date and a time.
pub fn is_date_time(text: &str) -> bool {
    let lower = text.to_lowercase();
    let mut parts = lower.split('t');
    let (Some(date), Some(time)) = (parts.next(), parts.next()) else { return false };
    is_date(date) && is_time(time).unwrap_or(false)
}

/// Returns whether the text is `23:59:59`, an optional fraction after any character, and `z` or an offset.
fn is_time(text: &str) -> Option<bool> {
    let number = |text: &str, most: u32| {
        text.len() == 2
            && text.bytes().all(|b| b.is_ascii_digit())
            && text.parse().is_ok_and(|n: u32| n <= most)
    };
    let colons = text.get(2..3)? == ":" && text.get(5..6)? == ":";
    if !colons || !number(text.get(..2)?, 23) || !number(text.get(3..5)?, 59) || !number(text.get(6..8)?, 59)
    {
        return Some(false);
    }
    let rest = text.get(8..)?;
    let is_zone = |zone: &str| {
        zone == "z"
            || (zone.len() == 6
                && zone.starts_with(['+', '-'])
                && zone.get(3..4) == Some(":")
                && [zone.get(1..3), zone.get(4..6)]
                    .into_iter()
                    .all(|part| part.is_some_and(|part| number(part, 99))))
    };
    if is_zone(rest) {
        return Some(true);
    }
    let after = rest.get(rest.chars().next()?.len_utf8()..)?;
    let digits = after.bytes().take_while(u8::is_ascii_digit).count();
    Some(digits > 0 && is_zone(&after[digits..]))
}
