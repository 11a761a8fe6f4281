//! Errors in the form the client reads best: in the encoding that it accepts, indented for `?pretty` and for people's own
//! tools. An error is never hidden behind a negotiation that fails: then it is JSON.

use async_trait::async_trait;
use http::header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE, HeaderValue};
use pintle_codec::negotiate::{self, Encoding};
use pintle_codec::{cbor, json, protobuf, yaml};
use pintle_meta::{Status, Value};

use crate::filter::{Filter, Next};
use crate::{Body, Request, Response};

pub struct StatusEncoding {
    /// What clients may ask for.
    pub encodings: &'static [Encoding],
}

#[async_trait]
impl Filter for StatusEncoding {
    async fn handle(&self, request: Request, next: Next<'_>) -> Response {
        let pretty = wants_pretty(&request);
        let accept = request.header(&ACCEPT).unwrap_or_default();
        let accepted = negotiate::output(accept, self.encodings, |_, convert| convert.is_none());
        let (encoding, pretty) = match accepted {
            Some(accepted) => (accepted.encoding, accepted.pretty || pretty),
            None => (Encoding::Json, false),
        };
        let mut response = next.run(request).await;
        let Some(status) = response.extensions_mut().remove::<Status>() else { return response };
        if encoding == Encoding::Json && !pretty {
            return response;
        }
        let Some(body) = encode(&status, encoding) else { return response };
        response.headers_mut().remove(CONTENT_LENGTH);
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(encoding.media_type()));
        response.map(|_| Body::from(body))
    }
}

/// The whole document; indented if it is JSON, which is otherwise left as it is.
fn encode(status: &Status, encoding: Encoding) -> Option<Vec<u8>> {
    if encoding == Encoding::Json {
        return Some(status.to_pretty_json());
    }
    let of = pintle_schema::find("meta/v1.Status")?;
    let tree: Value = json::decode(of, &status.to_json()).ok()?.value;
    let mut body = Vec::new();
    match encoding {
        Encoding::Json => {}
        Encoding::Yaml => yaml::encode(&tree, &mut body),
        Encoding::Cbor => cbor::encode(&tree, &mut body),
        Encoding::Protobuf => {
            let mut message = Vec::new();
            protobuf::encode(of, &tree, &mut message).ok()?;
            protobuf::envelope::write("v1", "Status", &message, &mut body);
        }
    }
    Some(body)
}

/// `?pretty` with any value but `false` and `0`; else by the tools that people read answers in.
fn wants_pretty(request: &Request) -> bool {
    match request.query("pretty").next() {
        Some(value) => !matches!(value.as_str(), "false" | "0"),
        None => ["curl", "Wget", "Mozilla/5.0"].iter().any(|tool| request.user_agent().starts_with(tool)),
    }
}
