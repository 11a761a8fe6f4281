//! How a client wants its answer, and answers with one object.

use std::sync::Arc;

use http::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use http::{Response as HttpResponse, StatusCode};
use pintle_cache::Entry;
use pintle_codec::frame;
use pintle_codec::negotiate::{self, Accepted, Encoding};
use pintle_codec::partial::{self, Version};
use pintle_codec::table::Include;
use pintle_codec::{cbor, json, protobuf, yaml};
use pintle_meta::time::Time;
use pintle_meta::{Details, Reason, Status, Value};
use pintle_runtime::Clock;

use super::endpoint::{Endpoint, Serving};
use super::{Result, bad_request, internal, shown};
use crate::filters::{encoded, wants_pretty};
use crate::{Body, Request, Response};

/// The only version of `meta.k8s.io` that `sv` may name.
const SERVER_VERSION: &str = "v1";

/// How much faster stored bytes become an answer without a tree than with one.
const TRANSCODED: usize = 4;

/// As what objects are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Own,
    Table(Version, Include),
    Partial(Version),
    PartialList(Version),
}

/// What was agreed on with the client.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Negotiated {
    pub(crate) encoding: Encoding,
    pub(crate) pretty: bool,
    pub(crate) shape: Shape,
    /// The time that ages in tables are as of.
    pub(crate) now: Time,
}

impl Negotiated {
    /// Errors: not acceptable; a bad `includeObject`.
    pub(crate) fn new(
        endpoint: &Endpoint,
        request: &Request,
        encodings: &'static [Encoding],
        clock: &Clock,
    ) -> Result<Negotiated> {
        let accept = request.header(&ACCEPT).unwrap_or_default();
        let streams = endpoint.allows("watch") && request.info.parts.len() < 2;
        if !endpoint.is_defined && !router_accepts(accept, encodings, streams) {
            return Err(Box::new(router_refuses(encodings, streams)));
        }
        let Some(accepted) = negotiate::output(accept, encodings, |asked| allows(endpoint, asked)) else {
            let known: Vec<&str> = encodings.iter().map(|encoding| encoding.media_type()).collect();
            return Err(Box::new(Status::not_acceptable(&known)));
        };
        let shape = match &accepted.convert {
            None => Shape::Own,
            Some(kind) => {
                let version = Version::parse(&kind.version).unwrap_or(Version::V1);
                match kind.kind.as_str() {
                    "Table" => {
                        let include = request.query("includeObject").next().unwrap_or_default();
                        Shape::Table(version, Include::parse(&include).map_err(bad_request)?)
                    }
                    "PartialObjectMetadata" => Shape::Partial(version),
                    _ => Shape::PartialList(version),
                }
            }
        };
        let pretty = accepted.pretty || wants_pretty(&request.parts.uri, &request.user_agent());
        Ok(Negotiated {
            encoding: accepted.encoding,
            pretty: pretty && accepted.encoding == Encoding::Json,
            shape,
            now: clock.now().into(),
        })
    }

    /// Answers with an object of the stored version.
    pub(crate) fn object(&self, endpoint: &Endpoint, object: Value, code: StatusCode) -> Result<Response> {
        match self.shape {
            Shape::Own => {
                let object = endpoint.served.to_served(object)?;
                let body = match self.encoding {
                    Encoding::Protobuf if !endpoint.served.is_custom() => {
                        let mut message = Vec::new();
                        endpoint.served.write_protobuf(&object, &mut message).map_err(internal)?;
                        let mut body = Vec::with_capacity(message.len() + 64);
                        frame::protobuf_object(endpoint.type_meta(), &message, &mut body);
                        body
                    }
                    _ => self.tree(&object)?,
                };
                Ok(self.respond(code, body))
            }
            Shape::Partial(version) => {
                let view = partial::object(version, &object);
                Ok(self.respond(code, self.view("PartialObjectMetadata", version, &view)?))
            }
            Shape::PartialList(_) => {
                let message = partial::refuse_object(&endpoint.served.internal_name());
                Err(Box::new(shown::not_acceptable(message)))
            }
            Shape::Table(version, include) => {
                let table = shown::object_table(endpoint, object, version, include, self.now)?;
                Ok(self.respond(code, self.tree(&table)?))
            }
        }
    }

    /// The cost of making an answer of stored objects, as bytes of JSON.
    pub(crate) fn weight(&self, stored: usize) -> usize {
        let is_transcoded = self.shape == Shape::Own
            && matches!(self.encoding, Encoding::Json | Encoding::Protobuf)
            && !self.pretty;
        if is_transcoded { stored / TRANSCODED } else { stored }
    }

    /// Answers with an object of the cache.
    pub(crate) fn entry(&self, serving: &Serving, entry: &Arc<Entry>) -> Result<Response> {
        // The cache keeps what the resource itself shows; a subresource does not decorate what is stored.
        let is_kept = serving.subresource.is_none() || entry.is_as_stored();
        let form = serving.served.form(self.encoding).filter(|_| self.shape == Shape::Own && is_kept);
        let Some(form) = form else {
            return self.object(serving, serving.store.object(entry)?, StatusCode::OK);
        };
        let kind = serving.store.cache().kind();
        let body = entry.body(&**kind, &serving.pool, form).map_err(internal)?;
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

    /// A document that is no object of an endpoint's own kind.
    pub(crate) fn tree(&self, tree: &Value) -> Result<Vec<u8>> {
        // What most objects fit in, so that they are not moved while they grow.
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

    /// A document of `meta.k8s.io`.
    pub(crate) fn view(&self, kind: &str, version: Version, tree: &Value) -> Result<Vec<u8>> {
        if self.encoding != Encoding::Protobuf {
            return self.tree(tree);
        }
        let name = format!("meta/v1.{kind}");
        let of = pintle_schema::find(&name).ok_or_else(|| internal("no such type"))?;
        let (mut message, mut out) = (Vec::new(), Vec::new());
        protobuf::encode(of, tree, &mut message).map_err(internal)?;
        protobuf::envelope::write(version.api_version(), kind, &message, &mut out);
        Ok(out)
    }

    /// A `Status` that is no error: it is what it is, whatever form of the object was asked for, in the encoding of that.
    pub(crate) fn status(&self, status: &Status, code: StatusCode) -> Response {
        let mut response = crate::respond::status(status);
        *response.status_mut() = code;
        response.extensions_mut().remove::<Status>();
        encoded(response, status, self.encoding, self.pretty)
    }

    pub(crate) fn respond(&self, code: StatusCode, body: impl Into<Body>) -> Response {
        let mut response = HttpResponse::new(body.into());
        *response.status_mut() = code;
        let content_type = HeaderValue::from_static(self.encoding.media_type());
        response.headers_mut().insert(CONTENT_TYPE, content_type);
        response
    }
}

/// Whether an endpoint can answer in this encoding and form. A clause that it cannot answer is passed over, so that clients
/// that prefer protobuf get JSON of custom resources.
fn allows(endpoint: &Endpoint, asked: &Accepted) -> bool {
    if !matches!(&*asked.server_version, "" | SERVER_VERSION) {
        return false;
    }
    // Custom resources have no protobuf form of their own, and neither do their subresources; their metadata has.
    let Some(convert) = &asked.convert else {
        return !(endpoint.is_defined && asked.encoding == Encoding::Protobuf);
    };
    if convert.group != "meta.k8s.io" || Version::parse(&convert.version).is_none() {
        return false;
    }
    match convert.kind.as_str() {
        "Table" => {
            matches!(asked.encoding, Encoding::Json | Encoding::Yaml) && endpoint.served.table().is_some()
        }
        "PartialObjectMetadata" | "PartialObjectMetadataList" => true,
        _ => false,
    }
}

/// The first look at `Accept`: by media types alone, and only those that are spelled out.
fn router_accepts(accept: &str, encodings: &[Encoding], streams: bool) -> bool {
    if accept.is_empty() {
        return true;
    }
    accept.split(',').any(|clause| {
        let media = clause.split(';').next().unwrap_or_default().trim();
        media == "*/*" || media.is_empty() || produced(encodings, streams).any(|known| known == media)
    })
}

fn produced(encodings: &[Encoding], streams: bool) -> impl Iterator<Item = &'static str> {
    let plain = encodings.iter().map(|encoding| encoding.media_type());
    let streamed =
        encodings.iter().filter(move |_| streams).filter_map(|encoding| encoding.stream_media_type());
    plain.chain(streamed)
}

/// The router's own words for an `Accept` that nothing matches.
fn router_refuses(encodings: &[Encoding], streams: bool) -> Status {
    let known: Vec<&str> = produced(encodings, streams).collect();
    let mut status = Status::not_acceptable(&known);
    status.message = format!("406: Not Acceptable\n\nAvailable representations: {}", known.join(", "));
    status.reason = Reason::NotAcceptable;
    status.details = Some(Details::default());
    status
}

/// A JSON document, indented as for people.
pub(crate) fn indented(document: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(document.len() * 2);
    let mut indenter = json::Indenter::default();
    indenter.write(document, &mut out);
    out
}
