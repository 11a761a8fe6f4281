//! Decodes a `Status` from an object that another server or a webhook sent.

use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::{Error, StrDeserializer};

use super::{Cause, Details, Metadata, Reason, Status};
use crate::Value;

impl Status {
    /// Decodes a status; missing fields and fields of another type are empty. An unknown reason becomes
    /// [`Status::other_reason`]; a cause's type that is unknown is dropped.
    pub fn from_value(value: &Value) -> Status {
        let number = |key| value.get(key).and_then(Value::as_i64);
        let given = value.text_at(&["reason"]);
        let reason = word(given);
        let details = value.get("details").filter(|details| details.as_object().is_some());
        Status {
            code: number("code").and_then(|code| u16::try_from(code).ok()).unwrap_or_default(),
            reason: reason.unwrap_or(Reason::Unknown),
            other_reason: if reason.is_none() { given.to_owned() } else { String::new() },
            message: value.text_at(&["message"]).to_owned(),
            details: details.map(Details::from_value),
            metadata: Metadata::from_value(value),
        }
    }
}

impl Metadata {
    fn from_value(value: &Value) -> Metadata {
        let text = |key| value.text_at(&["metadata", key]).to_owned();
        Metadata {
            self_link: text("selfLink"),
            resource_version: text("resourceVersion"),
            continue_token: text("continue"),
            remaining_item_count: value.at(&["metadata", "remainingItemCount"]).and_then(Value::as_i64),
        }
    }
}

impl Details {
    fn from_value(value: &Value) -> Details {
        let text = |key| value.text_at(&[key]).to_owned();
        let seconds = value.get("retryAfterSeconds").and_then(Value::as_i64).unwrap_or_default();
        Details {
            name: text("name"),
            group: text("group"),
            kind: text("kind"),
            uid: text("uid"),
            causes: value.items_at(&["causes"]).iter().map(Cause::from_value).collect(),
            retry_after_seconds: i32::try_from(seconds).unwrap_or_default(),
        }
    }
}

impl Cause {
    fn from_value(value: &Value) -> Cause {
        Cause {
            kind: word(value.text_at(&["reason"])),
            message: value.text_at(&["message"]).to_owned(),
            field: value.text_at(&["field"]).to_owned(),
        }
    }
}

/// Parses a word of the wire.
fn word<'de, T: Deserialize<'de>>(text: &'de str) -> Option<T> {
    let text: StrDeserializer<'de, Error> = text.into_deserializer();
    T::deserialize(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CauseType, Object};

    /// Encodes a status as a tree.
    fn tree(status: &Status) -> Value {
        fn convert(json: &serde_json::Value) -> Value {
            match json {
                serde_json::Value::String(text) => text.as_str().into(),
                serde_json::Value::Number(number) => number.as_i64().unwrap().into(),
                serde_json::Value::Array(items) => Value::list(items.iter().map(convert).collect()),
                serde_json::Value::Object(fields) => fields
                    .iter()
                    .map(|(key, value)| (key.as_str(), convert(value)))
                    .collect::<Object>()
                    .into(),
                other => panic!("{other}"),
            }
        }
        convert(&serde_json::from_slice(&status.to_json()).unwrap())
    }

    #[test]
    fn statuses_round_trip() {
        let cause =
            Cause { kind: Some(CauseType::FieldValueInvalid), message: "m".into(), field: "f".into() };
        let details = Details {
            name: "n".into(),
            group: "g".into(),
            kind: "k".into(),
            uid: "u".into(),
            causes: vec![cause, Cause { kind: None, message: "other".into(), field: String::new() }],
            retry_after_seconds: 7,
        };
        let statuses = [
            Status {
                code: 422,
                reason: Reason::Invalid,
                other_reason: String::new(),
                message: "wrong".into(),
                details: Some(details.clone()),
                metadata: Metadata {
                    self_link: "/s".into(),
                    resource_version: "12".into(),
                    continue_token: "more".into(),
                    remaining_item_count: Some(3),
                },
            },
            Status {
                code: 500,
                reason: Reason::StoreReadError,
                other_reason: String::new(),
                message: String::new(),
                details: None,
                metadata: Metadata::default(),
            },
            Status::no_such_resource(),
            Status::success(Details { retry_after_seconds: -5, ..details }),
        ];
        for status in statuses {
            assert_eq!(Status::from_value(&tree(&status)), status);
        }
    }

    #[test]
    fn unknown_fields_are_dropped_and_an_unknown_reason_is_kept() {
        let odd: Object = [
            ("code", Value::from(70_000i64)),
            ("reason", "Tired".into()),
            ("message", 5i64.into()),
            ("details", "none".into()),
        ]
        .into_iter()
        .collect();
        let want = |other_reason: &str| Status {
            code: 0,
            reason: Reason::Unknown,
            other_reason: other_reason.into(),
            message: String::new(),
            details: None,
            metadata: Metadata::default(),
        };
        let read = Status::from_value(&odd.into());
        assert_eq!(read, want("Tired"));
        assert!(String::from_utf8_lossy(&read.to_json()).contains(r#""reason":"Tired""#));
        assert_eq!(Status::from_value(&Value::NULL), want(""));
    }
}
