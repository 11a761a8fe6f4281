//! The header of a signed token. Errors have the words of Go's decoders, since clients see them.

use base64::engine::general_purpose::NO_PAD;
use base64::{DecodeError, Engine, alphabet};
use pintle_meta::value::Node;
use pintle_meta::{Value, quote};

use super::LONGEST_ID;

const NAMES: [&str; 3] = ["alg", "kid", "typ"];
/// The algorithms that this server signs with itself.
const ALGORITHMS: [&str; 4] = ["RS256", "ES256", "ES384", "ES512"];
const BASE64: base64::engine::GeneralPurpose =
    base64::engine::GeneralPurpose::new(&alphabet::URL_SAFE, NO_PAD.with_decode_allow_trailing_bits(true));

/// A header that is good as far as it shows by itself.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// Of the key.
    pub(super) id: String,
}

impl Header {
    pub(super) fn read(text: &str) -> Result<Header, String> {
        let json = BASE64
            .decode(text)
            .map_err(|error| format!("while unwrapping header: {}", base64(&error, text)))?;
        let [algorithm, id, kind] =
            fields(&json).map_err(|why| format!("while parsing header JSON: {why}"))?;
        if kind != "JWT" {
            return Err("bad type".into());
        }
        if id.is_empty() {
            return Err("key id missing".into());
        }
        if id.len() > LONGEST_ID {
            return Err("key id longer than 1 kb".into());
        }
        if !ALGORITHMS.contains(&algorithm.as_str()) {
            return Err(format!("bad signing algorithm {}", quote(&algorithm)));
        }
        Ok(Header { id })
    }
}

fn base64(error: &DecodeError, text: &str) -> String {
    let at = match error {
        DecodeError::InvalidByte(at, _) | DecodeError::InvalidLastSymbol(at, _) => *at,
        DecodeError::InvalidLength(_) | DecodeError::InvalidPadding => text.len().saturating_sub(1),
    };
    format!("illegal base64 data at input byte {at}")
}

/// The three fields, in the order of their names; nothing else may be there.
fn fields(json: &[u8]) -> Result<[String; 3], String> {
    let value = pintle_codec::json::decode_any(json).map_err(|error| error.to_string())?.value;
    let mut found = [const { String::new() }; 3];
    let object = match value.node() {
        Node::Object(object) => object,
        Node::Null => return Ok(found),
        _ => return Err(format!("json: cannot unmarshal {} into Go value of type struct", kind(&value))),
    };
    for (name, value) in object.iter() {
        // Go takes names in any case.
        let Some(at) = NAMES.iter().position(|known| known.eq_ignore_ascii_case(name)) else {
            return Err(format!("json: unknown field {}", quote(name)));
        };
        match value.node() {
            Node::String(text) => found[at] = text.to_owned(),
            Node::Null => {}
            _ => {
                let field = NAMES[at];
                let kind = kind(value);
                return Err(format!(
                    "json: cannot unmarshal {kind} into Go struct field .{field} of type string"
                ));
            }
        }
    }
    Ok(found)
}

fn kind(value: &Value) -> &'static str {
    match value.node() {
        Node::Object(_) => "object",
        Node::List(_) => "array",
        Node::Bool(_) => "bool",
        Node::String(_) => "string",
        _ => "number",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<String, String> {
        Header::read(&BASE64.encode(json)).map(|header| header.id)
    }

    #[test]
    fn a_header_needs_its_fields() {
        for algorithm in ALGORITHMS {
            let header = format!(r#"{{"alg":"{algorithm}","kid":"k","typ":"JWT"}}"#);
            assert_eq!(read(&header).as_deref(), Ok("k"));
        }
        assert_eq!(read(r#"{"ALG":"RS256","Kid":"k","typ":"JWT"}"#).as_deref(), Ok("k"));
        let longest = "k".repeat(LONGEST_ID);
        assert_eq!(read(&format!(r#"{{"alg":"RS256","kid":"{longest}","typ":"JWT"}}"#)), Ok(longest.clone()));
        let too_long = format!(r#"{{"alg":"RS256","kid":"{longest}k","typ":"JWT"}}"#);
        for (header, why) in [
            ("null", "bad type"),
            ("{}", "bad type"),
            (r#"{"alg":"RS256","kid":"k"}"#, "bad type"),
            (r#"{"alg":"RS256","kid":"k","typ":"jwt"}"#, "bad type"),
            (r#"{"alg":"RS256","typ":"JWT"}"#, "key id missing"),
            (r#"{"alg":"RS256","typ":"JWT","kid":null}"#, "key id missing"),
            (&too_long, "key id longer than 1 kb"),
            (r#"{"typ":"JWT","kid":"k"}"#, "bad signing algorithm \"\""),
            (r#"{"typ":"JWT","kid":"k","alg":"none"}"#, "bad signing algorithm \"none\""),
            (r#"{"typ":"JWT","kid":"k","alg":"PS256"}"#, "bad signing algorithm \"PS256\""),
            (
                r#"{"typ":"JWT","kid":"k","alg":"RS256","jku":"x"}"#,
                "while parsing header JSON: json: unknown field \"jku\"",
            ),
            (
                r#"{"typ":"JWT","kid":1,"alg":"RS256"}"#,
                "while parsing header JSON: json: cannot unmarshal number into Go struct field .kid of type string",
            ),
        ] {
            assert_eq!(read(header).unwrap_err(), why, "{header}");
        }
    }

    #[test]
    fn a_malformed_header_is_refused() {
        assert_eq!(
            Header::read("e30=").unwrap_err(),
            "while unwrapping header: illegal base64 data at input byte 3"
        );
        assert_eq!(
            Header::read("{}").unwrap_err(),
            "while unwrapping header: illegal base64 data at input byte 0"
        );
        assert_eq!(
            Header::read("e30AA").unwrap_err(),
            "while unwrapping header: illegal base64 data at input byte 4"
        );
        assert!(read("{").unwrap_err().starts_with("while parsing header JSON: "));
        assert!(
            read("[]").unwrap_err().starts_with("while parsing header JSON: json: cannot unmarshal array")
        );
        assert!(read("").unwrap_err().starts_with("while parsing header JSON: "));
    }
}
