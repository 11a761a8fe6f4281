//! The OpenAPI documents, which clients cache: every document has an ETag, and those of version 3 can be asked
//! for by the hash of their content, which makes them good for ever.

use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use http::header::{
    ACCEPT, CACHE_CONTROL, CONTENT_TYPE, ETAG, EXPIRES, HeaderMap, HeaderValue, LOCATION, VARY,
};
use http::{Response as HttpResponse, StatusCode};
use pintle_codec::negotiate;
use pintle_discovery::{CustomVersion, RemoteDocument, RemoteVersion};
use pintle_openapi::custom::{self, Format, Member, Source, Templates};
use pintle_openapi::remote::{self, RemoteParts};
use pintle_openapi::v3::Document;
use pintle_openapi::{v2, v3};

use super::content::{self, insert};
use super::definition::Definition;
use super::served::{Builtin, Content, CustomResources, LazyDocument, Validators};
use super::{Documents, DocumentsConfig};
use crate::{Body, Request, Response, respond};

const V2_PROTOBUF: [&str; 2] =
    ["com.github.proto-openapi.spec.v2@v1.0+protobuf", "com.github.proto-openapi.spec.v2.v1.0+protobuf"];

const V3_PROTOBUF: [&str; 2] =
    ["com.github.proto-openapi.spec.v3@v1.0+protobuf", "com.github.proto-openapi.spec.v3.v1.0+protobuf"];

/// A year, the longest time for which a client may be asked to cache anything.
const FOR_EVER: i64 = 365 * 86_400;

/// An OpenAPI document and its source.
#[derive(Clone)]
pub(super) struct OpenApiDocument {
    pub(super) builtin: Arc<Builtin>,
    pub(super) document: Arc<LazyDocument>,
    pub(super) source: OpenApiSource,
}

#[derive(Clone)]
pub(super) enum OpenApiSource {
    /// Of everything: built-in group versions and these.
    V2(Others),
    /// A built-in document, by its name.
    V3(String),
    /// Custom resources.
    Custom(CustomResources),
    /// The document of a remote server.
    Remote(RemoteDocument),
}

/// The group versions of the document of everything that are not built in.
#[derive(Clone, Default)]
pub(super) struct Others {
    pub(super) customs: Vec<CustomResources>,
    /// Each with a document of version 2.
    pub(super) remotes: Vec<Arc<RemoteVersion>>,
}

impl Others {
    pub(super) fn add(&mut self, content: Content) {
        match content {
            Content::Custom(members) => self.customs.push(members),
            Content::Remote(remote) if remote.openapi_v2.is_some() => self.remotes.push(remote),
            Content::Remote(_) => {}
        }
    }

    fn is_empty(&self) -> bool {
        self.customs.is_empty() && self.remotes.is_empty()
    }

    fn remote_documents(&self) -> impl Iterator<Item = remote::RemoteDocument<'_>> {
        self.remotes.iter().filter_map(|remote| {
            let RemoteVersion { version, openapi_v2, .. } = &**remote;
            let json = &*openapi_v2.as_ref()?.json;
            Some(remote::RemoteDocument { json, group: &version.group, version: &version.version })
        })
    }

    /// Returns the hash of the built-in part, followed by those of remote documents.
    fn hashed_with(&self, builtin: &str) -> String {
        let mut text = builtin.to_owned();
        for remote in &self.remotes {
            let hash = remote.openapi_v2.as_ref().map_or("", |document| document.hash.as_str());
            text.push_str(&format!("\n{} {hash}", remote.version.path()));
        }
        text
    }
}

impl OpenApiSource {
    /// Returns the document of version 3 of a group version that is not built in, if it has one.
    pub(super) fn from_content(content: Content) -> Option<OpenApiSource> {
        match content {
            Content::Custom(members) => Some(OpenApiSource::Custom(members)),
            Content::Remote(remote) => remote.openapi_v3.clone().map(OpenApiSource::Remote),
        }
    }
}

impl Documents {
    /// `/openapi/v2`
    pub(super) async fn v2(&self, request: &Request) -> Response {
        // The reference compresses this one for clients that accept it, and says so to all.
        let mut response = HttpResponse::new(Body::empty());
        response.headers_mut().insert(VARY, HeaderValue::from_static("Accept-Encoding"));
        response.headers_mut().append(VARY, HeaderValue::from_static("Accept"));
        let Some((format, media_type)) = format_of(request, &V2_PROTOBUF) else {
            *response.status_mut() = StatusCode::NOT_ACCEPTABLE;
            return response;
        };
        let wanted = self.served().v2();
        let Some((validators, body)) = self.make(&wanted, format, request).await else {
            return respond::text_error(StatusCode::SERVICE_UNAVAILABLE, "the document cannot be made");
        };
        insert(response.headers_mut(), CONTENT_TYPE, &media_type);
        insert(response.headers_mut(), ETAG, &quoted(&validators.hash));
        content::serve(request, response, validators.modified, body)
    }

    /// `/openapi/v3`: the names of all documents and the hashes of their content.
    pub(super) async fn v3_index(&self, request: &Request) -> Response {
        let whole = Arc::clone(&self.served().whole);
        let kept = match whole.index.get() {
            Some(kept) => Some(kept.clone()),
            None => self.make_index().await,
        };
        let Some((json, hash)) = kept else {
            return respond::text_error(StatusCode::INTERNAL_SERVER_ERROR, "the index cannot be made");
        };
        let mut response = HttpResponse::new(Body::empty());
        // The reference lets its library guess.
        response.headers_mut().insert(CONTENT_TYPE, respond::TEXT);
        insert(response.headers_mut(), ETAG, &quoted(&hash));
        content::serve(request, response, self.config.clock.now(), json)
    }

    /// `/openapi/v3/{name}`
    pub(super) async fn v3(&self, request: &Request, name: &str) -> Response {
        let mut response = HttpResponse::new(Body::empty());
        let Some(wanted) = self.served().v3(name) else {
            *response.status_mut() = StatusCode::NOT_FOUND;
            return response;
        };
        response.headers_mut().insert(VARY, HeaderValue::from_static("Accept"));
        let Some((format, media_type)) = format_of(request, &V3_PROTOBUF) else {
            *response.status_mut() = StatusCode::NOT_ACCEPTABLE;
            return response;
        };
        let Some((validators, body)) = self.make(&wanted, format, request).await else {
            return respond::text_error(StatusCode::SERVICE_UNAVAILABLE, "the document cannot be made");
        };
        insert(response.headers_mut(), CONTENT_TYPE, &media_type);
        insert(response.headers_mut(), ETAG, &quoted(&validators.hash));
        match request.query("hash").next() {
            Some(hash) if !hash.is_empty() && hash != validators.hash => {
                let index = format!("/openapi/v3/{name}?hash={}", validators.hash);
                insert(response.headers_mut(), LOCATION, &index);
                *response.status_mut() = StatusCode::MOVED_PERMANENTLY;
                return response;
            }
            Some(hash) if !hash.is_empty() => keep_for_ever(response.headers_mut(), self.config.clock.now()),
            _ => {}
        }
        content::serve(request, response, validators.modified, body)
    }

    /// Returns a document, made now if it is not cached; an empty one if the client has it already. `None` if making it
    /// failed.
    async fn make<'a>(
        &self,
        wanted: &'a OpenApiDocument,
        format: Format,
        request: &Request,
    ) -> Option<(&'a Validators, Bytes)> {
        let document = &wanted.document;
        let kept = || {
            let validators = document.validators.get()?;
            if content::is_known(request, &quoted(&validators.hash), validators.modified) {
                return Some((validators, Bytes::new()));
            }
            Some((validators, self.bodies.find(document, format)?))
        };
        if let Some(kept) = kept() {
            return Some(kept);
        }
        let making = self.making.clone().lock_owned().await;
        if let Some(kept) = kept() {
            return Some(kept);
        }
        let (wanted, maker, bodies) = (wanted.clone(), self.maker.clone(), self.bodies.clone());
        // The lock goes along: a client that goes away does not let the next one begin beside this.
        let body = tokio::task::spawn_blocking(move || {
            let body: Bytes = maker.make(&wanted, format)?.into();
            bodies.keep(&wanted.document, format, body.clone());
            drop(making);
            Some(body)
        });
        let body = body.await.ok()??;
        Some((document.validators.get()?, body))
    }

    /// The index, for which the hash of every document has to be known.
    async fn make_index(&self) -> Option<(Bytes, String)> {
        let making = self.making.clone().lock_owned().await;
        let (whole, all) = {
            let served = self.served();
            let all = if served.whole.index.get().is_some() { Vec::new() } else { served.all_v3() };
            (Arc::clone(&served.whole), all)
        };
        let maker = self.maker.clone();
        let made = tokio::task::spawn_blocking(move || {
            for (_, wanted) in &all {
                maker.hash(wanted)?;
            }
            let index = whole.index.get_or_init(|| {
                let named = all
                    .iter()
                    .filter_map(|(name, wanted)| Some((name.as_str(), wanted.document.validators.get()?)));
                let index = v3::index(named.map(|(name, validators)| (name, validators.hash.as_str())));
                (index.json.into(), index.hash)
            });
            drop(making);
            Some(index.clone())
        });
        made.await.ok()?
    }
}

/// Makes documents.
pub(super) struct Maker {
    pub(super) config: Arc<DocumentsConfig>,
    templates: Templates,
}

impl Maker {
    pub(super) fn new(config: Arc<DocumentsConfig>) -> Maker {
        Maker { config, templates: Templates::default() }
    }

    /// Makes a document and notes its hash.
    fn make(&self, wanted: &OpenApiDocument, format: Format) -> Option<Vec<u8>> {
        let (config, options) = (&self.config, self.config.options());
        let versions = &wanted.builtin.versions;
        match &wanted.source {
            OpenApiSource::Remote(document) => {
                self.hash(wanted)?;
                match format {
                    Format::Json => Some(document.json.to_vec()),
                    Format::Protobuf => v3::json_to_protobuf(&document.json),
                }
            }
            OpenApiSource::Custom(members) => {
                // One look at the schema is enough for both.
                let sources: Vec<Source<'_>> = members.iter().map(source).collect();
                for ((entry, index, _), source) in members.iter().zip(&sources) {
                    entry.digest(index, || source.digest());
                }
                self.hash(wanted)?;
                self.templates.v3(&sources, format, &options)
            }
            OpenApiSource::V2(others) if !others.is_empty() => {
                let members = others.customs.iter().flat_map(CustomResources::iter).filter_map(
                    |(entry, index, version)| {
                        let source = move || {
                            let source = Source::new(&entry.custom, version);
                            entry.digest(index, || source.digest());
                            source
                        };
                        Some(Member { custom: &entry.custom, version, cached: entry.openapi(index)?, source })
                    },
                );
                let builtin = |format: Format| {
                    wanted.builtin.v2[usize::from(format == Format::Protobuf)]
                        .get_or_init(|| custom::Builtin::new(versions, config.logs, format, &options))
                };
                let remote = if others.remotes.is_empty() {
                    RemoteParts::default()
                } else {
                    RemoteParts::merge(others.remote_documents(), builtin(Format::Json))
                };
                let body = self.templates.v2(builtin(format), members, &remote, &options);
                self.hash(wanted)?;
                Some(body)
            }
            source => {
                // The hash of a message is that of the JSON.
                if format == Format::Protobuf {
                    self.hash(wanted)?;
                }
                match (source, format) {
                    (OpenApiSource::V3(name), Format::Protobuf) => {
                        v3::protobuf(versions, config.logs, name, &options)
                    }
                    (_, Format::Protobuf) => Some(v2::protobuf(versions, config.logs, &options)),
                    (_, Format::Json) => {
                        let document = self.builtin(wanted)?;
                        wanted.document.set_hash(document.hash, &config.clock);
                        Some(document.json)
                    }
                }
            }
        }
    }

    /// Computes the hash of a document if it is not known.
    fn hash(&self, wanted: &OpenApiDocument) -> Option<()> {
        if wanted.document.validators.get().is_some() {
            return Some(());
        }
        let digest = |(entry, index, version): (&Definition, usize, &CustomVersion)| {
            entry.digest(index, || Source::new(&entry.custom, version).digest())
        };
        let hash = match &wanted.source {
            OpenApiSource::Remote(document) => document.hash.clone(),
            OpenApiSource::Custom(members) => custom::hash("", members.iter().map(digest)),
            OpenApiSource::V2(others) if !others.is_empty() => {
                let members = others.customs.iter().flat_map(CustomResources::iter);
                custom::hash(&others.hashed_with(wanted.builtin.content()), members.map(digest))
            }
            _ => self.builtin(wanted)?.hash,
        };
        wanted.document.set_hash(hash, &self.config.clock);
        Some(())
    }

    fn builtin(&self, wanted: &OpenApiDocument) -> Option<Document> {
        let (versions, logs, options) = (&wanted.builtin.versions, self.config.logs, self.config.options());
        match &wanted.source {
            OpenApiSource::V3(name) => v3::document(versions, logs, name, &options),
            _ => Some(v2::document(versions, logs, &options)),
        }
    }
}

fn source<'a>((entry, _, version): (&'a Definition, usize, &'a CustomVersion)) -> Source<'a> {
    Source::new(&entry.custom, version)
}

/// Negotiates the format; `protobuf` are the names of that format, of which the last is answered.
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

fn keep_for_ever(headers: &mut HeaderMap, now: SystemTime) {
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("public, immutable"));
    let until = content::unix(now).saturating_add(FOR_EVER);
    insert(headers, EXPIRES, &content::date(until, "UTC"));
}
