//! The continue token: which revision a list is of, and where its next page begins. Any replica can go on with it, also one
//! of the reference, so it has the reference's form.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use pintle_meta::Status;
use serde::{Deserialize, Serialize};

use super::Result;

const VERSION: &str = "meta.k8s.io/v1";

#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default)]
struct Encoded {
    v: String,
    rv: i64,
    start: String,
}

/// A continue token: the position where a list goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    /// Below zero for whatever is there now.
    pub(crate) revision: i64,
    /// Below the list's own prefix.
    pub(crate) start: String,
}

impl Token {
    pub(crate) fn parse(text: &str) -> Result<Token> {
        let refuse = |why: &dyn std::fmt::Display| {
            Box::new(Status::bad_request(format!("invalid continue token: continue key is not valid: {why}")))
        };
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|error| match error {
            base64::DecodeError::InvalidByte(at, _) | base64::DecodeError::InvalidLastSymbol(at, _) => {
                refuse(&format_args!("illegal base64 data at input byte {at}"))
            }
            _ => refuse(&format_args!("illegal base64 data at input byte {}", text.len())),
        })?;
        let encoded: Encoded = serde_json::from_slice(&bytes).map_err(|error| {
            // Go's words for the same, where they are known.
            match pintle_codec::json::validate(&bytes) {
                Err(syntax) => refuse(&syntax),
                Ok(()) => refuse(&error),
            }
        })?;
        if encoded.v != VERSION {
            let version = pintle_meta::quote(&encoded.v);
            return Err(refuse(&format_args!("server does not recognize this encoded version {version}")));
        }
        if encoded.rv == 0 {
            return Err(refuse(&format_args!("incorrect encoded start resourceVersion (version {VERSION})")));
        }
        if encoded.start.is_empty() {
            return Err(refuse(&format_args!("encoded start key empty (version {VERSION})")));
        }
        if encoded.start.split('/').any(|part| part == ".." || part == ".") {
            return Err(refuse(&encoded.start));
        }
        Ok(Token { revision: encoded.rv, start: encoded.start })
    }

    pub(crate) fn encode(&self) -> String {
        let encoded = Encoded { v: VERSION.into(), rv: self.revision, start: self.start.clone() };
        // A struct of texts and numbers always has a JSON form.
        URL_SAFE_NO_PAD.encode(serde_json::to_vec(&encoded).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_the_references() {
        let token = Token { revision: 5, start: "b\0".into() };
        assert_eq!(token.encode(), "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6NSwic3RhcnQiOiJiXHUwMDAwIn0");
        assert_eq!(Token::parse(&token.encode()).unwrap(), token);
    }

    #[test]
    fn a_malformed_token_is_refused() {
        for text in [
            "%%%",
            "e30",
            "eyJ2IjoieCJ9",
            &URL_SAFE_NO_PAD.encode(r#"{"v":"meta.k8s.io/v1","rv":1,"start":"../x"}"#),
        ] {
            let message = Token::parse(text).unwrap_err().message;
            assert!(message.starts_with("invalid continue token: continue key is not valid: "), "{message}");
        }
    }
}
