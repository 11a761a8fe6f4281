//! Decodes JSON one level deep.

use pintle_meta::Value;
use pintle_meta::value::{Key, Object};

use super::read::Reader;
use crate::Error;

pub(super) fn open(text: &[u8]) -> Result<Value, Error> {
    let mut reader = Reader::new(text);
    let value = match reader.begin()? {
        b'{' => {
            let mut entries: Vec<(Key, Value)> = Vec::new();
            let mut more = reader.enter_object()?;
            while more {
                let key = Key::new(reader.key()?);
                entries.push((key, closed(&mut reader)?));
                more = reader.next_field()?;
            }
            Value::object(Object::from_unsorted(entries))
        }
        b'[' => {
            let mut items = Vec::new();
            let mut more = reader.enter_list()?;
            while more {
                items.push(closed(&mut reader)?);
                more = reader.next_item()?;
            }
            Value::list(items)
        }
        _ => closed(&mut reader)?,
    };
    reader.end()?;
    Ok(value)
}

/// Returns the next value as raw JSON.
fn closed(reader: &mut Reader<'_>) -> Result<Value, Error> {
    Ok(match reader.raw()? {
        b"null" => Value::NULL,
        raw => Value::raw(raw),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::encode;

    #[test]
    fn only_the_outermost_level_is_decoded() {
        let opened = open(br#" {"b": {"z":1.50, "a":[]}, "a": null, "b": "<" , "c": [1,{}]} "#).unwrap();
        assert_eq!(opened.get("a"), Some(&Value::NULL));
        assert_eq!(opened.get("b").and_then(Value::as_raw), Some(&b"\"<\""[..]));
        let mut text = Vec::new();
        encode(&opened, &mut text);
        assert_eq!(String::from_utf8(text).unwrap(), r#"{"a":null,"b":"\u003c","c":[1,{}]}"#);
        assert_eq!(open(b"[ 1.0 ,null]").unwrap().as_list().unwrap(), [Value::raw(*b"1.0"), Value::NULL]);
        assert_eq!(open(b" 1.0 ").unwrap(), Value::raw(*b"1.0"));
        assert_eq!(open(b"null").unwrap(), Value::NULL);
    }

    #[test]
    fn the_whole_text_is_validated() {
        let bad = |text: &str| open(text.as_bytes()).unwrap_err().to_string();
        assert_eq!(bad(""), "unexpected end of JSON input");
        assert_eq!(bad(r#"{"a":{"b":[}}"#), "invalid character '}' looking for beginning of value");
        assert_eq!(bad("[1] 2"), "invalid character '2' after top-level value");
        let deep = "[".repeat(crate::MAX_DEPTH + 1);
        assert!(bad(&deep).contains("exceeded max depth"), "{}", bad(&deep));
    }
}
