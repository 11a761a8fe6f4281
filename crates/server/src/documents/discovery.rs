//! The discovery documents.
//!
//! The documents are answered by two different parts of the reference, and it shows: what belongs to a group version (and the
//! core group, and the group of API services) takes GET alone and looks at media types before anything else; what is about
//! several takes any method.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderValue, IF_NONE_MATCH, VARY};
use http::{Method, Response as HttpResponse, StatusCode};
use pintle_codec::negotiate::{self, Accepted, ENCODINGS, ENCODINGS_WITH_CBOR, Encoding};
use pintle_codec::{cbor, json, protobuf, yaml};
use pintle_discovery::aggregated::{self, Version};
use pintle_discovery::{Document, GroupVersion, legacy};
use pintle_meta::{ServerResponse, Status, Value};

use super::content::insert;
use super::served::{Aggregated, Builtin, Content, Group, ListedVersion};
use super::{Documents, RouteName};
use crate::rest::wants_pretty;
use crate::{Body, Request, Response, respond};

/// The group that the reference's front serves itself.
const API_SERVICES: &str = "apiregistration.k8s.io";

const AGGREGATED: (&str, &str, &str) = ("apidiscovery.k8s.io", "v2", "APIGroupDiscoveryList");

impl Documents {
    /// `/api`
    pub(super) fn api(&self, request: &Request) -> Response {
        let builtin = Arc::clone(&self.served().builtin);
        if !builtin.has_group(None) {
            return respond::not_found();
        }
        if let Some(refusal) = refused(request, ENCODINGS) {
            return respond::status(&refusal);
        }
        match wants_aggregated(request) {
            Some(accepted) => {
                let make = || aggregated::api(&builtin.versions, Version::V2);
                let kept = builtin.core.get_or_init(|| encode_aggregated(make()));
                counted(aggregated_response(kept, make, &accepted, request), "api")
            }
            None => answer(request, ENCODINGS, || legacy::api_versions(&self.config.address)),
        }
    }

    /// `/apis`
    pub(super) fn apis(&self, request: &Request) -> Response {
        let Some(accepted) = wants_aggregated(request) else { return self.group_list(request) };
        let as_kept = accepted.encoding == Encoding::Json && !is_pretty(&accepted, request);
        let (builtin, whole, groups) = {
            let served = self.served();
            let enough = as_kept && served.whole.groups.get().is_some();
            let groups = if enough { Vec::new() } else { served.groups() };
            (Arc::clone(&served.builtin), Arc::clone(&served.whole), groups)
        };
        let kept = whole.groups.get_or_init(|| encode_aggregated(all_groups(&builtin, &groups, true)));
        let make = || all_groups(&builtin, &groups, false);
        counted(aggregated_response(kept, make, &accepted, request), "apis")
    }

    /// `/apis/`, and `/apis` for clients that do not know of aggregated documents.
    pub(super) fn group_list(&self, request: &Request) -> Response {
        let groups = self.served().named_groups();
        answer(request, ENCODINGS, || {
            legacy::api_group_list(groups.iter().map(|(name, versions)| (name.as_str(), versions.clone())))
        })
    }

    /// `/apis/{group}`
    pub(super) fn group(&self, request: &Request, group: &str) -> Response {
        let versions = self.served().versions(group);
        if versions.is_empty() {
            return respond::not_found();
        }
        if group == API_SERVICES
            && let Some(refusal) = refused(request, ENCODINGS)
        {
            return respond::status(&refusal);
        }
        answer(request, ENCODINGS, || legacy::api_group(group, &versions))
    }

    /// `/api/{version}`, `/apis/{group}/{version}`
    pub(super) fn version(&self, request: &Request, group: Option<&str>, version: &str) -> Response {
        let (builtin, content) = {
            let served = self.served();
            (Arc::clone(&served.builtin), served.content(group, version))
        };
        if let (Some(content), Some(group)) = (content, group) {
            // These are not behind the router that looks at methods and media types first.
            return answer(request, ENCODINGS, || match content {
                Content::Remote(remote) => legacy::api_resource_list(&remote.version),
                Content::Custom(members) => {
                    let resources = members.iter().map(|(entry, _, version)| entry.custom.resource(version));
                    legacy::api_resource_list(&GroupVersion {
                        group: group.into(),
                        version: version.into(),
                        resources: resources.collect(),
                    })
                }
            });
        }
        let Some(found) = builtin.version(group, version) else { return self.missing(group) };
        let encodings = if self.config.cbor { ENCODINGS_WITH_CBOR } else { ENCODINGS };
        match refused(request, encodings) {
            Some(refusal) => respond::status(&refusal),
            None => answer(request, encodings, || legacy::api_resource_list(found)),
        }
    }

    /// Answers a request below a group version that is not served; a built-in group is known all the same.
    pub(super) fn missing(&self, group: Option<&str>) -> Response {
        if self.served().builtin.has_group(group) {
            respond::status(&Status::no_such_resource())
        } else {
            respond::not_found()
        }
    }
}

/// All groups in one. As `text`, custom resources stand in it as JSON that is written already.
fn all_groups(builtin: &Builtin, groups: &[Group], text: bool) -> Document {
    let version = |shown: &ListedVersion| match shown {
        ListedVersion::Builtin(place) => builtin
            .versions
            .get(*place)
            .map_or(Value::NULL, |served| aggregated::builtin(served, Version::V2)),
        ListedVersion::Custom(members) => {
            let resources = members.iter().map(|(entry, place, version)| {
                if text {
                    entry.discovery(place, version)
                } else {
                    aggregated::custom_resource(&entry.custom, version, Version::V2)
                }
            });
            aggregated::custom(&members.version, resources.collect(), Version::V2)
        }
        ListedVersion::Remote(remote) => aggregated::remote(remote, Version::V2),
    };
    let groups =
        groups.iter().map(|group| (group.name.clone(), group.versions.iter().map(version).collect()));
    aggregated::list(groups.collect(), Version::V2)
}

/// Returns the error of the reference's router, which goes by the names of media types alone.
fn refused(request: &Request, encodings: &[Encoding]) -> Option<Status> {
    let served: Vec<&str> = encodings.iter().map(|encoding| encoding.media_type()).collect();
    let named = |header: &str, anything: bool| {
        header.split(',').any(|clause| {
            let media = clause.split(';').next().unwrap_or_default().trim_matches(' ');
            served.contains(&media) || (anything && media == "*/*")
        })
    };
    let (content_type, accept) = (request.header(&CONTENT_TYPE), request.header(&ACCEPT));
    let (code, message) = if request.parts.method != Method::GET {
        (405, String::new())
    } else if content_type.is_some_and(|given| !given.is_empty() && !named(given, false)) {
        (415, "415: Unsupported Media Type".to_owned())
    } else if accept.is_some_and(|given| !given.is_empty() && !named(given, true)) {
        (406, format!("406: Not Acceptable\n\nAvailable representations: {}", served.join(", ")))
    } else {
        return None;
    };
    Some(ServerResponse { code, message: &message, ..ServerResponse::default() }.into())
}

/// Returns the negotiated encoding, if the client prefers all groups in one document.
fn wants_aggregated(request: &Request) -> Option<Accepted> {
    let is_aggregated = |accepted: &Accepted| {
        let kind = accepted.convert.as_ref().filter(|_| accepted.server_version.is_empty());
        kind.is_some_and(|kind| (&*kind.group, &*kind.version, &*kind.kind) == AGGREGATED)
    };
    let accept = request.header(&ACCEPT)?;
    negotiate::output(accept, ENCODINGS, is_aggregated).filter(|accepted| accepted.convert.is_some())
}

fn is_pretty(accepted: &Accepted, request: &Request) -> bool {
    accepted.pretty || wants_pretty(&request.parts.uri, &request.user_agent())
}

fn counted(mut response: Response, name: &'static str) -> Response {
    response.extensions_mut().insert(RouteName(name));
    response
}

fn encode_aggregated(document: Document) -> Aggregated {
    let (mut json, etag) = aggregated::json_and_etag(document);
    json.push(b'\n');
    Aggregated { json: json.into(), etag: format!("\"{etag}\"") }
}

fn aggregated_response(
    kept: &Aggregated,
    make: impl Fn() -> Document,
    accepted: &Accepted,
    request: &Request,
) -> Response {
    let mut response = HttpResponse::new(Body::empty());
    let headers = response.headers_mut();
    insert(headers, ETAG, &kept.etag);
    headers.insert(VARY, HeaderValue::from_static("Accept"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("public"));
    if request.header(&IF_NONE_MATCH) == Some(&kept.etag) {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        return response;
    }
    let (group, version, kind) = AGGREGATED;
    let media_type = format!("{};g={group};v={version};as={kind}", accepted.encoding.media_type());
    insert(headers, CONTENT_TYPE, &media_type);
    let pretty = is_pretty(accepted, request);
    let body = match accepted.encoding {
        Encoding::Json if !pretty => Some(kept.json.clone()),
        encoding => encode(&make(), encoding, pretty),
    };
    finish(response, body)
}

/// A document in the encoding that the client accepts.
fn answer(request: &Request, encodings: &'static [Encoding], make: impl FnOnce() -> Document) -> Response {
    let accept = request.header(&ACCEPT).unwrap_or_default();
    let Some(accepted) = negotiate::output(accept, encodings, Accepted::is_plain) else {
        let served: Vec<&str> = encodings.iter().map(|encoding| encoding.media_type()).collect();
        return respond::status(&Status::not_acceptable(&served));
    };
    let pretty = is_pretty(&accepted, request);
    let mut response = HttpResponse::new(Body::empty());
    insert(response.headers_mut(), CONTENT_TYPE, accepted.encoding.media_type());
    finish(response, encode(&make(), accepted.encoding, pretty))
}

fn finish(response: Response, body: Option<Bytes>) -> Response {
    match body {
        Some(body) => response.map(|_| Body::from(body)),
        None => respond::status(&Status::internal("the document cannot be encoded")),
    }
}

fn encode(document: &Document, encoding: Encoding, pretty: bool) -> Option<Bytes> {
    let Document { of, value } = document;
    let mut body = Vec::new();
    match encoding {
        Encoding::Json if pretty => json::encode_pretty(value, &mut body),
        Encoding::Json => {
            json::encode(value, &mut body);
            body.push(b'\n');
        }
        Encoding::Yaml => yaml::encode(value, &mut body),
        Encoding::Cbor => cbor::encode(value, &mut body),
        Encoding::Protobuf => {
            let mut message = Vec::new();
            protobuf::encode(of, value, &mut message).ok()?;
            let (version, kind) = (value.text_at(&["apiVersion"]), value.text_at(&["kind"]));
            protobuf::envelope::write(version, kind, &message, &mut body);
        }
    }
    Some(body.into())
}
