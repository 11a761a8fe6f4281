//! The OpenAPI documents of remote group versions, fetched every minute, or rarer where that fails. A document that has not changed is
//! not sent again: version 2 has an ETag, version 3 an index with a hash of each document.

use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use aws_lc_rs::digest::{SHA256, digest};
use http::StatusCode;
use http::header::ETAG;
use pintle_auth::User;
use pintle_codec::json;
use pintle_controllers::{Controller, RateLimits, Requeue, Source};
use pintle_discovery::RemoteDocument;
use pintle_meta::Status;
use pintle_outbound::Answer;
use pintle_registry::Result;

use super::{RemoteVersions, conversion, decode};
use crate::api_services::{ApiServices, RemoteService};
use crate::registration::{Subscribers, subscribe};
use crate::server::Fetch;

/// Interval of fetches, and the delay of the first retry.
const INTERVAL: Duration = Duration::from_secs(60);

/// The longest delay of a retry.
const LONGEST: Duration = Duration::from_secs(3600);

/// Time limit of a document.
const LIMIT: Duration = Duration::from_secs(60);

const JSON: &str = "application/json";

/// A version of OpenAPI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpenApiVersion {
    V2,
    V3,
}

/// Fetches the documents of one version.
pub(crate) struct OpenApiController {
    version: OpenApiVersion,
    services: Arc<ApiServices>,
    versions: Arc<RemoteVersions>,
    subscribers: Arc<Subscribers>,
}

/// The state of a document at its server.
enum Fetched {
    Unchanged,
    Document(RemoteDocument),
    /// The server has none.
    None,
}

impl OpenApiController {
    pub(crate) fn new(
        version: OpenApiVersion,
        services: Arc<ApiServices>,
        versions: Arc<RemoteVersions>,
        subscribers: Arc<Subscribers>,
    ) -> OpenApiController {
        OpenApiController { version, services, versions, subscribers }
    }

    async fn fetch(&self, remote: &RemoteService) -> std::result::Result<Fetched, String> {
        let known = self.versions.document_hash(&remote.name, self.version);
        match self.version {
            OpenApiVersion::V2 => v2(remote, known).await,
            OpenApiVersion::V3 => v3(remote, known).await,
        }
    }
}

async fn ask(remote: &RemoteService, path: &str, etag: Option<&str>) -> std::result::Result<Answer, String> {
    let user = User { name: "system:aggregator".into(), ..User::default() };
    let fetch = Fetch { path, user: &user, accept: JSON, etag, limit: LIMIT };
    remote.server.fetch(fetch).await.map(|(_, answer)| answer).map_err(|unanswered| unanswered.reason)
}

async fn v2(remote: &RemoteService, known: Option<String>) -> std::result::Result<Fetched, String> {
    let etag = known.as_ref().map(|hash| format!("\"{hash}\""));
    let answer = ask(remote, "/openapi/v2", etag.as_deref()).await?;
    match answer.status {
        StatusCode::NOT_MODIFIED if known.is_some() => Ok(Fetched::Unchanged),
        StatusCode::NOT_FOUND => Ok(Fetched::None),
        StatusCode::OK => {
            let etag = answer.headers.get(ETAG).and_then(|etag| etag.to_str().ok());
            let etag = etag.map(|etag| etag.trim_start_matches("W/").trim_matches('"').to_owned());
            document(&answer, etag).map(Fetched::Document)
        }
        code => Err(format!("failed to retrieve openAPI spec, http error: {}", code.as_u16())),
    }
}

async fn v3(remote: &RemoteService, known: Option<String>) -> std::result::Result<Fetched, String> {
    let answer = ask(remote, "/openapi/v3", None).await?;
    match answer.status {
        StatusCode::NOT_FOUND => return converted(remote, known.as_deref()).await,
        StatusCode::OK => {}
        _ => return Err("Error, could not get list of group versions for APIService".into()),
    }
    let path = decode::openapi_v3_path(&answer.body, &remote.group, &remote.version)?;
    let Some(path) = path else { return Ok(Fetched::None) };
    let (path, query) = path.split_once('?').unwrap_or((&path, ""));
    let hash = query.split('&').find_map(|pair| pair.strip_prefix("hash="));
    if hash.is_some() && hash == known.as_deref() {
        return Ok(Fetched::Unchanged);
    }
    let answer = ask(remote, path, None).await?;
    match answer.status {
        StatusCode::OK => document(&answer, hash.map(str::to_owned)).map(Fetched::Document),
        code => Err(format!("failed to retrieve openAPI spec, http error: {}", code.as_u16())),
    }
}

/// Returns the document of version 2 as version 3, of a server that has no other.
async fn converted(remote: &RemoteService, known: Option<&str>) -> std::result::Result<Fetched, String> {
    let answer = ask(remote, "/openapi/v2", None).await?;
    match answer.status {
        StatusCode::OK => {}
        StatusCode::NOT_FOUND => return Ok(Fetched::None),
        code => return Err(format!("failed to retrieve openAPI spec, http error: {}", code.as_u16())),
    }
    let json = conversion::v2_to_v3(&answer.body)?;
    let hash = hash(&json);
    match known == Some(&hash) {
        true => Ok(Fetched::Unchanged),
        false => Ok(Fetched::Document(RemoteDocument { json: json.into(), hash })),
    }
}

/// Reads a document, which clients get as it is: it must be JSON, and its hash must fit into a header.
fn document(answer: &Answer, hash: Option<String>) -> std::result::Result<RemoteDocument, String> {
    json::decode_any(&answer.body).map_err(|error| error.to_string())?;
    let is_plain = |hash: &String| {
        !hash.is_empty() && hash.len() <= 256 && hash.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    let hash = hash.filter(is_plain).unwrap_or_else(|| self::hash(&answer.body));
    Ok(RemoteDocument { json: answer.body.to_vec().into(), hash })
}

fn hash(document: &[u8]) -> String {
    let mut hash = String::with_capacity(64);
    for byte in digest(&SHA256, document).as_ref() {
        // Writing to a string does not fail.
        let _ = write!(hash, "{byte:02X}");
    }
    hash
}

#[async_trait]
impl Controller for OpenApiController {
    fn name(&self) -> &'static str {
        match self.version {
            OpenApiVersion::V2 => "open_api_aggregation_controller",
            OpenApiVersion::V3 => "open_api_v3_aggregation_controller",
        }
    }

    fn sources(&self) -> Vec<Source> {
        let [v2, v3] = &self.subscribers.openapi;
        let subscription = if self.version == OpenApiVersion::V2 { v2 } else { v3 };
        vec![subscribe(subscription, &self.services)]
    }

    async fn reconcile(&self, name: &str) -> Result<Requeue> {
        // One that is not available is fetched when it becomes so, which is a change.
        let Some(remote) = self.services.named(name).filter(|remote| remote.is_available) else {
            return Ok(Requeue::Never);
        };
        let fetched = self.fetch(&remote).await.map_err(|reason| Box::new(Status::plain(reason)))?;
        // Another server has it now, whose event is queued.
        if !self.services.named(name).is_some_and(|now| Arc::ptr_eq(&now.server, &remote.server)) {
            return Ok(Requeue::Never);
        }
        match fetched {
            Fetched::Unchanged => {}
            Fetched::Document(document) => self.versions.set_document(name, self.version, Some(document)),
            Fetched::None => self.versions.set_document(name, self.version, None),
        }
        Ok(Requeue::After(INTERVAL))
    }

    fn failed(&self, name: &str, status: &Status) {
        tracing::error!(
            "loading OpenAPI spec for {} failed with: {}",
            pintle_meta::quote(name),
            status.message
        );
    }

    fn workers(&self) -> usize {
        crate::WAITERS
    }

    fn rate_limits(&self) -> RateLimits {
        RateLimits { base_delay: INTERVAL, max_delay: LONGEST, per_second: 1000.0, burst: 1000.0 }
    }
}
