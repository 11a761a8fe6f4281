//! `Status` objects: errors, and answers without an object. A status has a kind of its own whatever shape was asked for, so
//! that only its encoding is negotiated.

use std::sync::Arc;

use http::StatusCode;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderValue};
use pintle_codec::frame::TypeMeta;
use pintle_codec::json;
use pintle_codec::negotiate::Encoding;
use pintle_meta::{Status, Value};

use super::{Document, Representation, message};
use crate::audit::SuccessStatus;
use crate::rest::{Result, internal};
use crate::{Body, Response, respond};

impl Representation {
    /// Answers with a `Status` that is no error.
    pub(crate) fn status(&self, status: &Status, code: StatusCode) -> Response {
        let mut response = respond::status(status);
        *response.status_mut() = code;
        response.extensions_mut().remove::<Status>();
        response.extensions_mut().insert(SuccessStatus(Arc::new(status.clone())));
        self.encode_status(response, status)
    }

    /// Encodes the status of an answer whose body is that status as compact JSON.
    pub(crate) fn encode_status(&self, mut response: Response, status: &Status) -> Response {
        if self.encoding == Encoding::Json && !self.pretty {
            return response;
        }
        let Ok(body) = self.status_body(status) else { return response };
        response.headers_mut().remove(CONTENT_LENGTH);
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(self.encoding.media_type()));
        response.map(|_| Body::from(body))
    }

    fn status_body(&self, status: &Status) -> Result<Vec<u8>> {
        match self.encoding {
            Encoding::Json if self.pretty => Ok(status.to_pretty_json()),
            Encoding::Json => Ok(status.to_json()),
            _ => self.encoded(self.status_document(status)?),
        }
    }

    /// Shows a status, as an answer or as the ERROR event of a watch.
    pub(crate) fn status_document(&self, status: &Status) -> Result<Document<'static>> {
        let text = status.to_json();
        if self.encoding == Encoding::Json {
            return Ok(Document::Json(text.trim_ascii_end().to_vec()));
        }
        let schema = pintle_schema::find("meta/v1.Status").ok_or_else(|| internal("no such type"))?;
        let tree: Value = json::decode(schema, &text).map_err(internal)?.value;
        match self.encoding {
            Encoding::Protobuf => message(TypeMeta { kind: "Status", api_version: "v1" }, &tree),
            _ => Ok(Document::Tree(tree)),
        }
    }
}

#[cfg(test)]
mod tests {
    use pintle_codec::{protobuf, yaml};

    use super::*;

    fn body(encoding: Encoding, pretty: bool) -> Vec<u8> {
        let status = Status::not_found("apps", "deployments", "<web>");
        Representation::plain(encoding, pretty).status_body(&status).unwrap()
    }

    #[test]
    fn a_status_has_the_same_content_in_every_encoding() {
        let text = String::from_utf8(body(Encoding::Json, false)).unwrap();
        let expect = r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"deployments.apps \"<web>\" not found","reason":"NotFound","details":{"name":"<web>","group":"apps","kind":"deployments"},"code":404}"#;
        assert_eq!(text, format!("{expect}\n"));
        let pretty = String::from_utf8(body(Encoding::Json, true)).unwrap();
        assert!(pretty.starts_with("{\n  \"kind\": \"Status\",\n"), "{pretty}");

        let schema = pintle_schema::find("meta/v1.Status").unwrap();
        let tree = json::decode(schema, text.as_bytes()).unwrap().value;
        let mut expect = Vec::new();
        yaml::encode(&tree, &mut expect);
        assert_eq!(body(Encoding::Yaml, false), expect);
        let (mut message, mut expect) = (Vec::new(), Vec::new());
        protobuf::encode(schema, &tree, &mut message).unwrap();
        protobuf::envelope::write("v1", "Status", &message, &mut expect);
        assert_eq!(body(Encoding::Protobuf, false), expect);
    }
}
