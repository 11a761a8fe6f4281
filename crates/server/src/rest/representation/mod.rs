//! How a client is shown objects: their shape, encoding and layout, for single answers, lists, events, computed objects and
//! errors alike.
//!
//! ```text
//! object -> Document (a tree, or a protobuf message) -> framed as an answer or as an event of a watch
//! entry  -> body that the cache keeps encoded -> framed in the same way, without a tree
//! ```

mod list;
mod negotiate;
mod parts;
mod status;
mod table;

pub(crate) use negotiate::{StatusRequest, wants_pretty};

use std::sync::Arc;

use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Response as HttpResponse, StatusCode};
use pintle_cache::Entry;
use pintle_codec::frame::{self, TypeMeta};
use pintle_codec::negotiate::Encoding;
use pintle_codec::partial::{self, Version};
use pintle_codec::table::Include;
use pintle_codec::{cbor, json, protobuf, yaml};
use pintle_meta::time::Time;
use pintle_meta::{Reason, Status, Value};

use super::endpoint::{Endpoint, StoredEndpoint};
use super::{Result, internal};
use crate::{Body, Response};

/// Cost of an answer made through a tree in relation to one that is transcoded.
const TRANSCODED: usize = 4;

/// The kind that objects are shown as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Their own.
    Own,
    Table(Version, Include),
    Partial(Version),
    PartialList(Version),
}

/// The representation that was negotiated with a client.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Representation {
    pub(crate) encoding: Encoding,
    pub(crate) pretty: bool,
    pub(crate) shape: Shape,
    /// The time that ages in tables are as of.
    pub(crate) now: Time,
}

/// An object in a shape, before it is framed.
pub(crate) enum Document<'a> {
    Tree(Value),
    /// A protobuf message, and the type that its envelope names.
    Message(TypeMeta<'a>, Vec<u8>),
    /// Compact JSON, encoded already.
    Json(Vec<u8>),
}

impl Representation {
    /// Returns the representation of objects as themselves.
    pub(crate) fn plain(encoding: Encoding, pretty: bool) -> Representation {
        let pretty = pretty && encoding == Encoding::Json;
        Representation { encoding, pretty, shape: Shape::Own, now: Time::from_unix(0, 0) }
    }

    /// Shows an object of the stored version; a table says its columns if `columns`.
    pub(crate) fn document<'a>(
        &self,
        endpoint: &'a Endpoint,
        object: Value,
        columns: bool,
    ) -> Result<Document<'a>> {
        let object = if self.shape == Shape::Own { endpoint.served.to_served(object)? } else { object };
        self.served_document(endpoint, object, columns)
    }

    /// The same for an object that is of the served version already.
    pub(crate) fn served_document<'a>(
        &self,
        endpoint: &'a Endpoint,
        object: Value,
        columns: bool,
    ) -> Result<Document<'a>> {
        match self.shape {
            Shape::Own if self.encoding == Encoding::Protobuf && !endpoint.served.is_custom() => {
                let mut message = Vec::new();
                endpoint.served.write_protobuf(&object, &mut message).map_err(internal)?;
                Ok(Document::Message(endpoint.type_meta(), message))
            }
            Shape::Own => Ok(Document::Tree(object)),
            Shape::Partial(version) | Shape::PartialList(version) => {
                self.meta_document("PartialObjectMetadata", version, partial::object(version, &object))
            }
            Shape::Table(version, include) => {
                table::of_object(endpoint, object, version, include, columns, self.now).map(Document::Tree)
            }
        }
    }

    /// A document of `meta.k8s.io`.
    fn meta_document(&self, kind: &'static str, version: Version, tree: Value) -> Result<Document<'static>> {
        if self.encoding != Encoding::Protobuf {
            return Ok(Document::Tree(tree));
        }
        message(TypeMeta { kind, api_version: version.api_version() }, &tree)
    }

    /// Answers with an object of the stored version.
    pub(crate) fn object(&self, endpoint: &Endpoint, object: Value, code: StatusCode) -> Result<Response> {
        if let Shape::PartialList(_) = self.shape {
            let message = partial::refuse_object(&endpoint.served.internal_name());
            return Err(not_acceptable(message));
        }
        let body = self.encoded(self.document(endpoint, object, true)?)?;
        Ok(self.respond(code, body))
    }

    /// Answers with an object of the cache.
    pub(crate) fn entry(&self, serving: &StoredEndpoint, entry: &Arc<Entry>) -> Result<Response> {
        // The cache keeps what the resource itself shows; a subresource does not decorate what is stored.
        let is_kept = serving.subresource.is_none() || entry.is_as_stored();
        let format =
            serving.served.body_format(self.encoding).filter(|_| self.shape == Shape::Own && is_kept);
        let Some(format) = format else {
            return self.object(serving, serving.store.object(entry)?, StatusCode::OK);
        };
        let kind = serving.store.cache().kind();
        let body = entry.body(&**kind, &serving.pool, format).map_err(internal)?;
        let mut out = Vec::with_capacity(body.len() + 96);
        match self.encoding {
            Encoding::Protobuf => frame::protobuf_object(serving.type_meta(), &body, &mut out),
            _ if serving.served.is_custom() => {
                out.extend_from_slice(&body);
                out.push(b'\n');
            }
            _ => frame::json_object(serving.type_meta(), &body, &mut out),
        }
        let out = if self.pretty { indented(&out) } else { out };
        Ok(self.respond(StatusCode::OK, out))
    }

    /// Returns the cost of making an answer of stored objects, as bytes of JSON.
    pub(crate) fn weight(&self, stored: usize) -> usize {
        let is_transcoded = self.shape == Shape::Own
            && matches!(self.encoding, Encoding::Json | Encoding::Protobuf)
            && !self.pretty;
        if is_transcoded { stored / TRANSCODED } else { stored }
    }

    /// Encodes a document as a whole answer.
    fn encoded(&self, document: Document<'_>) -> Result<Vec<u8>> {
        match document {
            Document::Tree(tree) => self.tree(&tree),
            Document::Message(of, message) => {
                let mut body = Vec::with_capacity(message.len() + 64);
                frame::protobuf_object(of, &message, &mut body);
                Ok(body)
            }
            Document::Json(text) if self.pretty => Ok(indented(&text)),
            Document::Json(mut text) => {
                text.push(b'\n');
                Ok(text)
            }
        }
    }

    /// Encodes a tree as a whole answer. Errors: it has no protobuf form.
    pub(crate) fn tree(&self, tree: &Value) -> Result<Vec<u8>> {
        // Most objects fit, so that they are not moved while they grow.
        let mut out = Vec::with_capacity(8 << 10);
        match self.encoding {
            Encoding::Json if self.pretty => json::encode_pretty(tree, &mut out),
            Encoding::Json => {
                json::encode(tree, &mut out);
                out.push(b'\n');
            }
            Encoding::Yaml => yaml::encode(tree, &mut out),
            Encoding::Cbor => cbor::encode(tree, &mut out),
            Encoding::Protobuf => return Err(internal("a document without a protobuf form")),
        }
        Ok(out)
    }

    pub(crate) fn respond(&self, code: StatusCode, body: impl Into<Body>) -> Response {
        let mut response = HttpResponse::new(body.into());
        *response.status_mut() = code;
        let content_type = HeaderValue::from_static(self.encoding.media_type());
        response.headers_mut().insert(CONTENT_TYPE, content_type);
        response
    }
}

/// A tree of a kind of `meta.k8s.io` as a protobuf message.
pub(crate) fn message(of: TypeMeta<'static>, tree: &Value) -> Result<Document<'static>> {
    let known = pintle_schema::find(&format!("meta/v1.{}", of.kind));
    let mut message = Vec::new();
    protobuf::encode(known.ok_or_else(|| internal("no such type"))?, tree, &mut message).map_err(internal)?;
    Ok(Document::Message(of, message))
}

fn not_acceptable(message: String) -> Box<Status> {
    let mut status = Status::not_acceptable::<&str>(&[]);
    status.message = message;
    status.reason = Reason::NotAcceptable;
    Box::new(status)
}

/// A JSON document, indented as for people.
fn indented(document: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(document.len() * 2);
    let mut indenter = json::Indenter::default();
    indenter.write(document, &mut out);
    out
}
