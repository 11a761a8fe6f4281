//! Errors in the form the client reads best: in the encoding that it accepts, indented for `?pretty` and for people's own
//! tools. An error is never hidden behind a negotiation that fails: then it is indented JSON.

use std::borrow::Cow;

use async_trait::async_trait;
use http::Uri;
use http::header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE, HeaderName, HeaderValue, USER_AGENT};
use pintle_codec::negotiate::{self, Accepted, ENCODINGS, Encoding};
use pintle_codec::{cbor, json, protobuf, yaml};
use pintle_meta::{Status, Value};

use crate::filter::{Filter, Next};
use crate::metrics::Counted;
use crate::query;
use crate::request::text_of;
use crate::{Body, Request, Response};

pub struct StatusEncoding {
    /// The encodings that clients of resources may ask for.
    pub encodings: &'static [Encoding],
}

#[async_trait]
impl Filter for StatusEncoding {
    async fn handle(&self, request: Box<Request>, next: Next<'_>) -> Response {
        // Kept and not parsed: most requests succeed, and then the headers are not needed.
        let header = |name: &HeaderName| request.parts.headers.get(name).cloned();
        let wish =
            Wish { accept: header(&ACCEPT), agent: header(&USER_AGENT), uri: request.parts.uri.clone() };
        let mut response = next.run(request).await;
        let Some(status) = response.extensions_mut().remove::<Status>() else { return response };
        // Others than resources know no CBOR.
        let is_resource = response.extensions().get::<Counted>().is_some();
        let (encoding, pretty) = wish.read(if is_resource { self.encodings } else { ENCODINGS });
        encoded(response, &status, encoding, pretty)
    }
}

/// The answer, which is the status as compact JSON, in another form.
pub(crate) fn encoded(mut response: Response, status: &Status, encoding: Encoding, pretty: bool) -> Response {
    if encoding == Encoding::Json && !pretty {
        return response;
    }
    let Some(body) = encode(status, encoding) else { return response };
    response.headers_mut().remove(CONTENT_LENGTH);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(encoding.media_type()));
    response.map(|_| Body::from(body))
}

/// The parts of a request that say how an answer should look.
struct Wish {
    accept: Option<HeaderValue>,
    agent: Option<HeaderValue>,
    uri: Uri,
}

impl Wish {
    /// The encoding, and whether to indent it.
    fn read(&self, encodings: &[Encoding]) -> (Encoding, bool) {
        match negotiate::output(&text(self.accept.as_ref()), encodings, Accepted::is_plain) {
            Some(accepted) => {
                let pretty = accepted.pretty || wants_pretty(&self.uri, &text(self.agent.as_ref()));
                (accepted.encoding, pretty)
            }
            None => (Encoding::Json, true),
        }
    }
}

/// Whether to indent: where `?pretty` says something that Go takes for true, or says nothing and the tool is one that people
/// read answers in.
pub(crate) fn wants_pretty(uri: &Uri, agent: &str) -> bool {
    match query::first(uri.query().unwrap_or_default(), "pretty").filter(|value| !value.is_empty()) {
        Some(value) => matches!(&*value, "1" | "t" | "T" | "TRUE" | "true" | "True"),
        None => ["curl", "Wget", "Mozilla/5.0"].iter().any(|tool| agent.starts_with(tool)),
    }
}

fn text(header: Option<&HeaderValue>) -> Cow<'_, str> {
    header.map(text_of).unwrap_or_default()
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
