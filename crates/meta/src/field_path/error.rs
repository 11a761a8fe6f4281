//! Field errors: one problem of one field, in the reference's words.

use std::collections::HashSet;
use std::fmt;

use super::{Path, Value};
use crate::push_quoted;
use crate::status::{Cause, CauseType};

/// Type of a field error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorType {
    NotFound,
    Required,
    Duplicate,
    Invalid,
    NotSupported,
    Forbidden,
    TooLong,
    TooShort,
    TooMany,
    TooFew,
    TypeInvalid,
    Internal,
}

impl ErrorType {
    fn words(self) -> &'static str {
        match self {
            ErrorType::NotFound => "Not found",
            ErrorType::Required => "Required value",
            ErrorType::Duplicate => "Duplicate value",
            ErrorType::Invalid | ErrorType::TypeInvalid => "Invalid value",
            ErrorType::NotSupported => "Unsupported value",
            ErrorType::Forbidden => "Forbidden",
            ErrorType::TooLong => "Too long",
            ErrorType::TooShort => "Too short",
            ErrorType::TooMany => "Too many",
            ErrorType::TooFew => "Too few",
            ErrorType::Internal => "Internal error",
        }
    }

    fn shows_value(self) -> bool {
        use ErrorType::{Forbidden, Internal, Required, TooLong, TooShort};
        !matches!(self, Required | Forbidden | TooLong | TooShort | Internal)
    }
}

impl From<ErrorType> for CauseType {
    fn from(kind: ErrorType) -> CauseType {
        match kind {
            ErrorType::NotFound => CauseType::FieldValueNotFound,
            ErrorType::Required => CauseType::FieldValueRequired,
            ErrorType::Duplicate => CauseType::FieldValueDuplicate,
            ErrorType::Invalid => CauseType::FieldValueInvalid,
            ErrorType::NotSupported => CauseType::FieldValueNotSupported,
            ErrorType::Forbidden => CauseType::FieldValueForbidden,
            ErrorType::TooLong => CauseType::FieldValueTooLong,
            ErrorType::TooShort => CauseType::FieldValueTooShort,
            ErrorType::TooMany => CauseType::FieldValueTooMany,
            ErrorType::TooFew => CauseType::FieldValueTooFew,
            ErrorType::TypeInvalid => CauseType::FieldValueTypeInvalid,
            ErrorType::Internal => CauseType::InternalError,
        }
    }
}

/// One problem of one field: `spec.x: Invalid value: "y": why`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    pub kind: ErrorType,
    pub field: String,
    pub value: Value,
    pub detail: String,
    pub origin: Origin,
}

/// The line of the rule that an error is of: in debug builds the call of the constructor, or of the first function above it
/// that is not marked `#[track_caller]`. Release builds keep nothing. All origins are equal.
#[derive(Clone, Copy, Debug)]
pub struct Origin {
    #[cfg(debug_assertions)]
    location: &'static std::panic::Location<'static>,
}

impl Origin {
    #[track_caller]
    fn caller() -> Origin {
        Origin {
            #[cfg(debug_assertions)]
            location: std::panic::Location::caller(),
        }
    }

    /// Returns file and line, in debug builds.
    pub fn location(&self) -> Option<(&'static str, u32)> {
        #[cfg(debug_assertions)]
        return Some((self.location.file(), self.location.line()));
        #[cfg(not(debug_assertions))]
        None
    }
}

impl PartialEq for Origin {
    fn eq(&self, _: &Origin) -> bool {
        true
    }
}

impl Eq for Origin {}

impl Error {
    #[track_caller]
    fn new(kind: ErrorType, path: &Path<'_>, value: Value, detail: impl Into<String>) -> Error {
        Error { kind, field: path.to_string(), value, detail: detail.into(), origin: Origin::caller() }
    }

    /// A referenced object does not exist.
    #[track_caller]
    pub fn not_found(path: &Path<'_>, value: impl Into<Value>) -> Error {
        Error::new(ErrorType::NotFound, path, value.into(), "")
    }

    /// The detail may be empty.
    #[track_caller]
    pub fn required(path: &Path<'_>, detail: impl Into<String>) -> Error {
        Error::new(ErrorType::Required, path, Value::Omitted, detail)
    }

    #[track_caller]
    pub fn duplicate(path: &Path<'_>, value: impl Into<Value>) -> Error {
        Error::new(ErrorType::Duplicate, path, value.into(), "")
    }

    #[track_caller]
    pub fn invalid(path: &Path<'_>, value: impl Into<Value>, detail: impl Into<String>) -> Error {
        Error::new(ErrorType::Invalid, path, value.into(), detail)
    }

    /// The value does not have the schema's type.
    #[track_caller]
    pub fn type_invalid(path: &Path<'_>, value: impl Into<Value>, detail: impl Into<String>) -> Error {
        Error::new(ErrorType::TypeInvalid, path, value.into(), detail)
    }

    /// The supported values are printed in the given order: where the reference prints them sorted, its callers sort
    /// them.
    #[track_caller]
    pub fn not_supported<S: AsRef<str>>(path: &Path<'_>, value: impl Into<Value>, supported: &[S]) -> Error {
        let mut detail = String::new();
        for (position, supported) in supported.iter().enumerate() {
            detail.push_str(if position == 0 { "supported values: " } else { ", " });
            push_quoted(&mut detail, supported.as_ref());
        }
        Error::new(ErrorType::NotSupported, path, value.into(), detail)
    }

    #[track_caller]
    pub fn forbidden(path: &Path<'_>, detail: impl Into<String>) -> Error {
        Error::new(ErrorType::Forbidden, path, Value::Omitted, detail)
    }

    /// The value has more bytes than allowed; `None` for a limit without a number.
    #[track_caller]
    pub fn too_long(path: &Path<'_>, max: Option<usize>) -> Error {
        let detail = match max {
            Some(max) => format!("may not be more than {}", counted(max, "byte")),
            None => "value is too long".into(),
        };
        Error::new(ErrorType::TooLong, path, Value::Omitted, detail)
    }

    /// Like [`Error::too_long`], for checks that count characters.
    #[track_caller]
    pub fn too_long_characters(path: &Path<'_>, max: Option<usize>) -> Error {
        let mut error = Error::too_long(path, max);
        if let Some(max) = max {
            error.detail = format!("may not be more than {}", counted(max, "character"));
        }
        error
    }

    #[track_caller]
    pub fn too_short(path: &Path<'_>, min: Option<usize>) -> Error {
        let detail = match min {
            Some(min) => format!("must be at least {}", counted(min, "character")),
            None => "value is too short".into(),
        };
        Error::new(ErrorType::TooShort, path, Value::Omitted, detail)
    }

    /// `None` for a number that is unknown or not printed.
    #[track_caller]
    pub fn too_many(path: &Path<'_>, actual: Option<usize>, max: Option<usize>) -> Error {
        let detail = match max {
            Some(max) => format!("must have at most {}", counted(max, "item")),
            None => "has too many items".into(),
        };
        Error::new(ErrorType::TooMany, path, actual.map_or(Value::Omitted, Value::from), detail)
    }

    #[track_caller]
    pub fn too_few(path: &Path<'_>, actual: usize, min: Option<usize>) -> Error {
        let detail = match min {
            Some(min) => format!("must have at least {}", counted(min, "item")),
            None => "has too few items".into(),
        };
        Error::new(ErrorType::TooFew, path, actual.into(), detail)
    }

    #[track_caller]
    pub fn internal(path: &Path<'_>, error: impl fmt::Display) -> Error {
        Error::new(ErrorType::Internal, path, Value::Omitted, error.to_string())
    }

    /// Returns the message without the path.
    pub fn body(&self) -> String {
        let mut body = String::from(self.kind.words());
        if let (true, Value::Printed(value)) = (self.kind.shows_value(), &self.value) {
            body.push_str(": ");
            body.push_str(value);
        }
        if !self.detail.is_empty() {
            body.push_str(": ");
            body.push_str(&self.detail);
        }
        body
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.body())
    }
}

impl std::error::Error for Error {}

impl From<&Error> for Cause {
    fn from(error: &Error) -> Cause {
        Cause { kind: Some(error.kind.into()), message: error.body(), field: error.field.clone() }
    }
}

/// Joins errors into one text: `[a, b]` without duplicates; a single one without the brackets.
pub fn aggregate<E: fmt::Display>(errors: &[E]) -> String {
    let mut seen = HashSet::new();
    let texts: Vec<String> =
        errors.iter().map(E::to_string).filter(|text| seen.insert(text.clone())).collect();
    match texts.as_slice() {
        [text] => text.clone(),
        [] => String::new(),
        texts => format!("[{}]", texts.join(", ")),
    }
}

/// `1 byte`, `2 bytes`.
fn counted(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_the_references_messages() {
        let path = Path::new("spec.x");
        let cases = [
            (Error::invalid(&path, "y", "why"), r#"spec.x: Invalid value: "y": why"#),
            (Error::invalid(&path, 5i64, ""), "spec.x: Invalid value: 5"),
            (Error::invalid(&path, Value::null(), "no"), "spec.x: Invalid value: null: no"),
            (Error::invalid(&path, Value::Omitted, "no"), "spec.x: Invalid value: no"),
            (Error::type_invalid(&path, "a", "must be int"), r#"spec.x: Invalid value: "a": must be int"#),
            (Error::required(&path, ""), "spec.x: Required value"),
            (Error::required(&path, "need it"), "spec.x: Required value: need it"),
            (Error::duplicate(&path, "y"), r#"spec.x: Duplicate value: "y""#),
            (Error::not_found(&path, "y"), r#"spec.x: Not found: "y""#),
            (Error::forbidden(&path, "field is immutable"), "spec.x: Forbidden: field is immutable"),
            (
                Error::not_supported(&path, "X", &["File", "None"]),
                r#"spec.x: Unsupported value: "X": supported values: "File", "None""#,
            ),
            (Error::not_supported(&path, "X", &[] as &[&str]), r#"spec.x: Unsupported value: "X""#),
            (Error::too_long(&path, Some(63)), "spec.x: Too long: may not be more than 63 bytes"),
            (Error::too_long(&path, Some(1)), "spec.x: Too long: may not be more than 1 byte"),
            (Error::too_long(&path, None), "spec.x: Too long: value is too long"),
            (
                Error::too_long_characters(&path, Some(2)),
                "spec.x: Too long: may not be more than 2 characters",
            ),
            (Error::too_short(&path, Some(1)), "spec.x: Too short: must be at least 1 character"),
            (Error::too_many(&path, Some(9), Some(8)), "spec.x: Too many: 9: must have at most 8 items"),
            (Error::too_many(&path, None, Some(1)), "spec.x: Too many: must have at most 1 item"),
            (Error::too_many(&path, Some(9), None), "spec.x: Too many: 9: has too many items"),
            (Error::too_few(&path, 0, Some(1)), "spec.x: Too few: 0: must have at least 1 item"),
            (Error::internal(&path, "broken"), "spec.x: Internal error: broken"),
        ];
        for (error, want) in cases {
            assert_eq!(error.to_string(), want);
        }
    }

    #[test]
    fn an_aggregate_names_each_error_once() {
        let path = Path::new("a");
        let (one, two) = (Error::required(&path, ""), Error::required(&path, "b"));
        assert_eq!(aggregate::<Error>(&[]), "");
        assert_eq!(aggregate(std::slice::from_ref(&one)), "a: Required value");
        assert_eq!(aggregate(&[one.clone(), one.clone()]), "a: Required value");
        assert_eq!(aggregate(&[two.clone(), one, two]), "[a: Required value: b, a: Required value]");
    }

    #[test]
    fn a_cause_has_type_message_and_field() {
        let cause = Cause::from(&Error::too_few(&Path::new("spec").child("x"), 0, Some(2)));
        assert_eq!(cause.kind, Some(CauseType::FieldValueTooFew));
        assert_eq!(cause.message, "Too few: 0: must have at least 2 items");
        assert_eq!(cause.field, "spec.x");
    }
}
