//! The encoding of custom resources in the store: JSON, or CBOR where that is configured.
//!
//! Both are always read, so that a server can be told otherwise on the same store. A value stays what it is until its object
//! is written again, and then it is written even if nothing else has changed.

use pintle_codec::{cbor, json, kind};
use pintle_meta::Value;

/// The encoding of new values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StoredAs {
    #[default]
    Json,
    Cbor,
}

impl StoredAs {
    /// Returns the encoding of a value.
    pub(crate) fn detect(value: &[u8]) -> StoredAs {
        if cbor::is_self_described(value) { StoredAs::Cbor } else { StoredAs::Json }
    }

    pub(crate) fn encode(self, object: &Value) -> Vec<u8> {
        let mut out = Vec::with_capacity(4 << 10);
        match self {
            StoredAs::Json => {
                json::encode(object, &mut out);
                out.push(b'\n');
            }
            StoredAs::Cbor => cbor::encode(object, &mut out),
        }
        out
    }
}

/// The object that a value is, whatever it is written as.
pub(crate) fn decode(value: &[u8]) -> Result<Value, String> {
    let untyped = kind::decode_untyped_stored(value).map_err(|error| error.to_string())?;
    Ok(untyped.decoded.value)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        r#"{"apiVersion":"x.io/v1","kind":"Foo","metadata":{"name":"f1"},"spec":{"n":[1,-1,1.5]}}"#;

    #[test]
    fn values_are_written_as_the_reference_writes_them() {
        let object = decode(TEXT.as_bytes()).unwrap();
        assert_eq!(StoredAs::Json.encode(&object), format!("{TEXT}\n").as_bytes());
        // Told to be CBOR, strings are byte strings, short keys come first, and floats are as short as can be.
        let expect = [
            &b"\xd9\xd9\xf7\xa4\x44kind\x43Foo\x44spec\xa1\x41n\x83\x01\x20\xf9\x3e\x00"[..],
            b"\x48metadata\xa1\x44name\x42f1\x4aapiVersion\x47x.io/v1",
        ];
        assert_eq!(StoredAs::Cbor.encode(&object), expect.concat());
    }

    #[test]
    fn whatever_a_value_is_written_as_it_is_the_same_object() {
        let object = decode(TEXT.as_bytes()).unwrap();
        for stored_as in [StoredAs::Json, StoredAs::Cbor] {
            let value = stored_as.encode(&object);
            assert_eq!((StoredAs::detect(&value), decode(&value)), (stored_as, Ok(object.clone())));
        }
    }

    #[test]
    fn a_value_that_is_no_object_is_told_in_the_words_of_its_encoding() {
        let refused = |value: &[u8]| decode(value).unwrap_err();
        assert_eq!(refused(b"junk"), "invalid character 'j' looking for beginning of value");
        assert_eq!(refused(b"{}"), "Object 'Kind' is missing in '{}'");
        // The kind is looked for once more, and that fails first.
        assert_eq!(
            refused(b"\xd9\xd9\xf7\xa1\x44kind"),
            "unable to determine group/version/kind: unexpected EOF"
        );
        assert_eq!(refused(b"\xd9\xd9\xf7\xa0"), "Object 'Kind' is missing in '55799({})'");
        let no_version = b"\xd9\xd9\xf7\xa1\x44kind\x43Foo";
        assert_eq!(refused(no_version), "Object 'apiVersion' is missing in '55799({'kind': 'Foo'})'");
    }
}
