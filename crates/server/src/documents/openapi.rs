//! What types and operations there are, to be kept by clients: every document has an ETag, and those of version 3 can be asked
//! for by the hash of their content, which makes them good for ever.

use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use http::header::{
    ACCEPT, CACHE_CONTROL, CONTENT_TYPE, ETAG, EXPIRES, HeaderMap, HeaderValue, LOCATION, VARY,
};
use http::{Response as HttpResponse, StatusCode};
use pintle_codec::negotiate;
use pintle_openapi::{v2, v3};

use super::bodies::Format;
use super::content::{self, insert};
use super::served::{Builtin, Made, Slot};
use super::{Documents, DocumentsConfig};
use crate::{Body, Request, Response, respond};

const V2_PROTOBUF: [&str; 2] =
    ["com.github.proto-openapi.spec.v2@v1.0+protobuf", "com.github.proto-openapi.spec.v2.v1.0+protobuf"];

const V3_PROTOBUF: [&str; 2] =
    ["com.github.proto-openapi.spec.v3@v1.0+protobuf", "com.github.proto-openapi.spec.v3.v1.0+protobuf"];

/// A year, which is as long as a client may be told to keep anything.
const FOR_EVER: i64 = 365 * 86_400;

/// Which document of a list of what is served.
enum Which {
    V2,
    V3(String),
}

impl Documents {
    /// `/openapi/v2`
    pub(super) async fn v2(&self, request: &Request) -> Response {
        // The reference compresses this one for who can read that, and says so to everybody.
        let mut response = HttpResponse::new(Body::empty());
        response.headers_mut().insert(VARY, HeaderValue::from_static("Accept-Encoding"));
        response.headers_mut().append(VARY, HeaderValue::from_static("Accept"));
        let Some((format, media_type)) = format_of(request, &V2_PROTOBUF) else {
            *response.status_mut() = StatusCode::NOT_ACCEPTABLE;
            return response;
        };
        let (builtin, slot) = {
            let served = self.served();
            (Arc::clone(&served.builtin), Arc::clone(&served.whole.v2))
        };
        let Some((made, body)) = self.made(&builtin, &slot, Which::V2, format).await else {
            return respond::text_error(StatusCode::SERVICE_UNAVAILABLE, "the document cannot be made");
        };
        insert(response.headers_mut(), CONTENT_TYPE, &media_type);
        insert(response.headers_mut(), ETAG, &quoted(&made.hash));
        content::serve(request, response, made.modified, body)
    }

    /// `/openapi/v3`: the names of all documents and the hashes of their content.
    pub(super) async fn v3_index(&self, request: &Request) -> Response {
        let builtin = Arc::clone(&self.served().builtin);
        if self.name_all(&builtin).await.is_none() {
            return respond::text_error(StatusCode::INTERNAL_SERVER_ERROR, "the index cannot be made");
        }
        let hash = |slot: &'_ Arc<Slot>| slot.made.get().map(|made| made.hash.clone());
        let named: Vec<(&str, String)> =
            builtin.v3.iter().filter_map(|(name, slot)| Some((name.as_str(), hash(slot)?))).collect();
        let index = v3::index(named.iter().map(|(name, hash)| (*name, hash.as_str())));
        let mut response = HttpResponse::new(Body::empty());
        // The reference lets its library guess.
        response.headers_mut().insert(CONTENT_TYPE, respond::TEXT);
        insert(response.headers_mut(), ETAG, &quoted(&index.hash));
        content::serve(request, response, SystemTime::now(), index.json.into())
    }

    /// `/openapi/v3/{name}`
    pub(super) async fn v3(&self, request: &Request, name: &str) -> Response {
        let mut response = HttpResponse::new(Body::empty());
        let (builtin, slot) = {
            let served = self.served();
            (Arc::clone(&served.builtin), served.v3(name))
        };
        let Some(slot) = slot else {
            *response.status_mut() = StatusCode::NOT_FOUND;
            return response;
        };
        response.headers_mut().insert(VARY, HeaderValue::from_static("Accept"));
        let Some((format, media_type)) = format_of(request, &V3_PROTOBUF) else {
            *response.status_mut() = StatusCode::NOT_ACCEPTABLE;
            return response;
        };
        let Some((made, body)) = self.made(&builtin, &slot, Which::V3(name.to_owned()), format).await else {
            return respond::text_error(StatusCode::SERVICE_UNAVAILABLE, "the document cannot be made");
        };
        insert(response.headers_mut(), CONTENT_TYPE, &media_type);
        insert(response.headers_mut(), ETAG, &quoted(&made.hash));
        match request.query("hash").next() {
            Some(hash) if !hash.is_empty() && hash != made.hash => {
                let place = format!("/openapi/v3/{name}?hash={}", made.hash);
                insert(response.headers_mut(), LOCATION, &place);
                *response.status_mut() = StatusCode::MOVED_PERMANENTLY;
                return response;
            }
            Some(hash) if !hash.is_empty() => keep_for_ever(response.headers_mut()),
            _ => {}
        }
        content::serve(request, response, made.modified, body)
    }

    /// A document, made now if it has to be. `None` if whoever was to make it failed.
    async fn made<'a>(
        &self,
        served: &Arc<Builtin>,
        slot: &'a Arc<Slot>,
        which: Which,
        format: Format,
    ) -> Option<(&'a Made, Bytes)> {
        let kept = || self.bodies.find(slot, format).zip(slot.made.get());
        if let Some((body, made)) = kept() {
            return Some((made, body));
        }
        let making = self.making.clone().lock_owned().await;
        if let Some((body, made)) = kept() {
            return Some((made, body));
        }
        let (served, config, bodies) = (served.clone(), self.config.clone(), self.bodies.clone());
        let to_fill = slot.clone();
        // The lock goes along: a client that goes away does not let the next one begin beside this.
        let body = tokio::task::spawn_blocking(move || {
            let body: Bytes = make(&served, &config, &to_fill, &which, format)?.into();
            bodies.keep(&to_fill, format, body.clone());
            drop(making);
            Some(body)
        });
        let body = body.await.ok()??;
        Some((slot.made.get()?, body))
    }

    /// Sees to it that the hash of every document of version 3 is known.
    async fn name_all(&self, served: &Arc<Builtin>) -> Option<()> {
        let unknown = |served: &Builtin| served.v3.iter().any(|(_, slot)| slot.made.get().is_none());
        if !unknown(served) {
            return Some(());
        }
        let making = self.making.clone().lock_owned().await;
        let (served, config) = (served.clone(), self.config.clone());
        let named = tokio::task::spawn_blocking(move || {
            for (name, slot) in served.v3.iter().filter(|(_, slot)| slot.made.get().is_none()) {
                make(&served, &config, slot, &Which::V3(name.clone()), Format::Json)?;
            }
            drop(making);
            Some(())
        });
        named.await.ok()?
    }
}

/// Makes a document and notes its hash.
fn make(
    served: &Builtin,
    config: &DocumentsConfig,
    slot: &Slot,
    which: &Which,
    format: Format,
) -> Option<Vec<u8>> {
    let options = config.options();
    let document = || match which {
        Which::V2 => Some(v2::document(&served.versions, config.logs, &options)),
        Which::V3(name) => v3::document(&served.versions, config.logs, name, &options),
    };
    match format {
        Format::Json => {
            let document = document()?;
            slot.made(document.hash);
            Some(document.json)
        }
        Format::Protobuf => {
            // Its hash is that of the JSON.
            if slot.made.get().is_none() {
                slot.made(document()?.hash);
            }
            match which {
                Which::V2 => Some(v2::protobuf(&served.versions, config.logs, &options)),
                Which::V3(name) => v3::protobuf(&served.versions, config.logs, name, &options),
            }
        }
    }
}

/// What a client gets, by the order of its wishes; `protobuf` are the names of that form, of which the last is answered.
fn format_of(request: &Request, protobuf: &[&str]) -> Option<(Format, String)> {
    let accept = request.header(&ACCEPT).filter(|accept| !accept.is_empty()).unwrap_or("*/*");
    negotiate::media_ranges(accept).find_map(|(media, sub)| {
        if media != "application" && media != "*" {
            return None;
        }
        if matches!(sub, "json" | "*") {
            return Some((Format::Json, "application/json".to_owned()));
        }
        let answered = protobuf.last().filter(|_| protobuf.contains(&sub))?;
        Some((Format::Protobuf, format!("application/{answered}")))
    })
}

fn quoted(hash: &str) -> String {
    format!("\"{hash}\"")
}

fn keep_for_ever(headers: &mut HeaderMap) {
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("public, immutable"));
    let until = content::unix(SystemTime::now()).saturating_add(FOR_EVER);
    insert(headers, EXPIRES, &content::date(until, "UTC"));
}
