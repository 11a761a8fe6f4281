//! Content negotiation: the representation that a request asks for.

use http::Uri;
use http::header::ACCEPT;
use pintle_codec::negotiate::{self, Accepted, Encoding};
use pintle_codec::partial::Version;
use pintle_codec::table::Include;
use pintle_meta::{Details, Reason, Status};
use pintle_runtime::Clock;

use super::{Representation, Shape};
use crate::rest::endpoint::Endpoint;
use crate::rest::{Result, bad_request};
use crate::{Request, query};

/// The only version of `meta.k8s.io` that `sv` may name.
const SERVER_VERSION: &str = "v1";

/// The parts of a request that a status is represented by.
pub(crate) struct StatusRequest<'a> {
    pub(crate) accept: &'a str,
    pub(crate) user_agent: &'a str,
    pub(crate) uri: &'a Uri,
}

impl Representation {
    /// Negotiates the representation of a status. An error is never hidden behind a negotiation that fails: then it is
    /// indented JSON.
    pub(crate) fn for_status(request: &StatusRequest<'_>, encodings: &[Encoding]) -> Representation {
        match negotiate::output(request.accept, encodings, Accepted::is_plain) {
            Some(accepted) => {
                let pretty = accepted.pretty || wants_pretty(request.uri, request.user_agent);
                Representation::plain(accepted.encoding, pretty)
            }
            None => Representation::plain(Encoding::Json, true),
        }
    }

    /// Negotiates the representation of objects. Errors: not acceptable; a bad `includeObject`.
    pub(crate) fn negotiate(
        endpoint: &Endpoint,
        request: &Request,
        encodings: &'static [Encoding],
        clock: &Clock,
    ) -> Result<Representation> {
        let accept = request.header(&ACCEPT).unwrap_or_default();
        let streams = endpoint.allows("watch") && request.info.parts.len() < 2;
        if !endpoint.is_custom && !router_accepts(accept, encodings, streams) {
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
        Ok(Representation {
            encoding: accepted.encoding,
            pretty: pretty && accepted.encoding == Encoding::Json,
            shape,
            now: clock.now().into(),
        })
    }
}

/// Returns whether to indent: where `?pretty` says something that Go takes for true, or is missing and the client is a tool
/// that people read answers in.
pub(crate) fn wants_pretty(uri: &Uri, user_agent: &str) -> bool {
    match query::first(uri.query().unwrap_or_default(), "pretty").filter(|value| !value.is_empty()) {
        Some(value) => matches!(&*value, "1" | "t" | "T" | "TRUE" | "true" | "True"),
        None => ["curl", "Wget", "Mozilla/5.0"].iter().any(|tool| user_agent.starts_with(tool)),
    }
}

/// Returns whether an endpoint can answer in this encoding and form. A clause that it cannot answer is passed over, so
/// that clients that prefer protobuf get JSON of custom resources.
fn allows(endpoint: &Endpoint, asked: &Accepted) -> bool {
    if !matches!(&*asked.server_version, "" | SERVER_VERSION) {
        return false;
    }
    // Custom resources have no protobuf form of their own, and neither do their subresources; their metadata has.
    let Some(convert) = &asked.convert else {
        return !(endpoint.is_custom && asked.encoding == Encoding::Protobuf);
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
