//! The messages of version 3.

use pintle_meta::Value;

use super::{EXTERNAL_DOCS, Message, Part, message, one};

static DOCUMENT: Message = Message {
    fields: &[
        ("openapi", 1, Part::Text),
        ("info", 2, one(&INFO)),
        ("paths", 4, Part::Map { of: &PATH, number: 1, wrap: &[] }),
        ("components", 5, one(&COMPONENTS)),
    ],
    extensions: Some(9),
};

static INFO: Message = Message {
    fields: &[("title", 1, Part::Text), ("description", 2, Part::Text), ("version", 6, Part::Text)],
    extensions: Some(7),
};

static COMPONENTS: Message = Message {
    fields: &[
        ("schemas", 1, Part::EitherMap { of: &SCHEMA, number: 1 }),
        ("securitySchemes", 7, Part::EitherMap { of: &SECURITY_SCHEME, number: 1 }),
    ],
    extensions: Some(10),
};

static SECURITY_SCHEME: Message = Message {
    fields: &[
        ("type", 1, Part::Text),
        ("description", 2, Part::Text),
        ("name", 3, Part::Text),
        ("in", 4, Part::Text),
    ],
    extensions: Some(9),
};

static PATH: Message = Message {
    fields: &[
        ("get", 4, one(&OPERATION)),
        ("put", 5, one(&OPERATION)),
        ("post", 6, one(&OPERATION)),
        ("delete", 7, one(&OPERATION)),
        ("options", 8, one(&OPERATION)),
        ("head", 9, one(&OPERATION)),
        ("patch", 10, one(&OPERATION)),
        ("parameters", 13, Part::Eithers { of: &PARAMETER }),
    ],
    extensions: Some(14),
};

static OPERATION: Message = Message {
    fields: &[
        ("tags", 1, Part::Texts),
        ("description", 3, Part::Text),
        ("operationId", 5, Part::Text),
        ("parameters", 6, Part::Eithers { of: &PARAMETER }),
        ("requestBody", 7, Part::Either { of: &REQUEST_BODY, wrap: &[] }),
        ("responses", 8, Part::EitherMap { of: &RESPONSE, number: 2 }),
        ("deprecated", 10, Part::Flag),
    ],
    extensions: Some(13),
};

static PARAMETER: Message = Message {
    fields: &[
        ("name", 1, Part::Text),
        ("in", 2, Part::Text),
        ("description", 3, Part::Text),
        ("required", 4, Part::Flag),
        ("schema", 10, Part::Either { of: &SCHEMA, wrap: &[] }),
    ],
    extensions: Some(14),
};

static REQUEST_BODY: Message = Message {
    fields: &[
        ("description", 1, Part::Text),
        ("content", 2, Part::Map { of: &MEDIA_TYPE, number: 1, wrap: &[] }),
        ("required", 3, Part::Flag),
    ],
    extensions: Some(4),
};

static RESPONSE: Message = Message {
    fields: &[
        ("description", 1, Part::Text),
        ("content", 3, Part::Map { of: &MEDIA_TYPE, number: 1, wrap: &[] }),
    ],
    extensions: Some(5),
};

static MEDIA_TYPE: Message =
    Message { fields: &[("schema", 1, Part::Either { of: &SCHEMA, wrap: &[] })], extensions: Some(5) };

static SCHEMA: Message = Message {
    fields: &[
        ("nullable", 1, Part::Flag),
        ("externalDocs", 6, one(&EXTERNAL_DOCS)),
        ("example", 7, Part::Any),
        ("title", 9, Part::Text),
        ("multipleOf", 10, Part::Double),
        ("maximum", 11, Part::Double),
        ("exclusiveMaximum", 12, Part::Flag),
        ("minimum", 13, Part::Double),
        ("exclusiveMinimum", 14, Part::Flag),
        ("maxLength", 15, Part::Int),
        ("minLength", 16, Part::Int),
        ("pattern", 17, Part::Text),
        ("maxItems", 18, Part::Int),
        ("minItems", 19, Part::Int),
        ("uniqueItems", 20, Part::Flag),
        ("maxProperties", 21, Part::Int),
        ("minProperties", 22, Part::Int),
        ("required", 23, Part::Texts),
        ("enum", 24, Part::Anything),
        ("type", 25, Part::Text),
        ("allOf", 26, Part::Eithers { of: &SCHEMA }),
        ("oneOf", 27, Part::Eithers { of: &SCHEMA }),
        ("anyOf", 28, Part::Eithers { of: &SCHEMA }),
        ("not", 29, one(&SCHEMA)),
        ("items", 30, Part::Either { of: &SCHEMA, wrap: &[1] }),
        ("properties", 31, Part::EitherMap { of: &SCHEMA, number: 1 }),
        ("additionalProperties", 32, Part::Others { of: &SCHEMA }),
        ("default", 33, Part::Scalar),
        ("description", 34, Part::Text),
        ("format", 35, Part::Text),
    ],
    extensions: Some(36),
};

/// The bytes of a document of version 3.
pub(crate) fn encode(document: &Value) -> Vec<u8> {
    message(&DOCUMENT, document)
}

#[cfg(test)]
mod tests {
    use pintle_codec::json::decode_any;

    use super::*;

    fn schema(json: &str) -> Vec<u8> {
        message(&SCHEMA, &decode_any(json.as_bytes()).unwrap().value)
    }

    #[test]
    fn defaults_are_told_by_their_kind_even_when_they_are_zero() {
        assert_eq!(schema(r#"{"default":""}"#), b"\x8a\x02\x02\x1a\x00");
        assert_eq!(schema(r#"{"default":false}"#), b"\x8a\x02\x02\x10\x00");
        assert_eq!(schema(r#"{"default":0}"#), b"\x8a\x02\x09\x09\0\0\0\0\0\0\0\0");
        // There is no place for an object, so all that is said is that there is a default.
        assert_eq!(schema(r#"{"default":{}}"#), b"\x8a\x02\x00");
    }

    #[test]
    fn a_schema_or_a_reference_says_which_it_is() {
        let items = r##"{"items":{"$ref":"#/a"}}"##;
        assert_eq!(schema(items), b"\xf2\x01\x09\x0a\x07\x12\x05\x0a\x03#/a");
        let map = r#"{"additionalProperties":{"type":"a"}}"#;
        assert_eq!(schema(map), b"\x82\x02\x08\x0a\x06\x0a\x04\xca\x01\x01a");
        assert_eq!(schema(r#"{"additionalProperties":true}"#), b"\x82\x02\x02\x10\x01");
        let property = r#"{"properties":{"p":{"type":"a"}}}"#;
        assert_eq!(schema(property), b"\xfa\x01\x0d\x0a\x0b\x0a\x01p\x12\x06\x0a\x04\xca\x01\x01a");
    }
}
