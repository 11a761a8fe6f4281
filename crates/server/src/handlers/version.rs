//! `/version`.

use async_trait::async_trait;
use http::{Method, StatusCode};
use pintle_meta::Status;
use serde::Serialize;

use crate::filter::Handler;
use crate::{Request, Response, respond};

/// The server's version, as `kubectl version` shows it. Clients decide by it what they may ask for.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Version {
    pub major: String,
    pub minor: String,
    pub emulation_major: String,
    pub emulation_minor: String,
    pub min_compatibility_major: String,
    pub min_compatibility_minor: String,
    pub git_version: String,
    pub git_commit: String,
    pub git_tree_state: String,
    pub build_date: String,
    pub go_version: String,
    pub compiler: String,
    pub platform: String,
}

pub struct VersionEndpoint {
    json: Vec<u8>,
}

impl VersionEndpoint {
    pub fn new(version: &Version) -> VersionEndpoint {
        VersionEndpoint { json: serde_json::to_vec_pretty(version).unwrap_or_default() }
    }
}

#[async_trait]
impl Handler for VersionEndpoint {
    async fn handle(&self, request: Box<Request>) -> Response {
        match request.parts.method {
            Method::GET | Method::HEAD => respond::json(StatusCode::OK, self.json.clone()),
            _ => respond::status(&Status::method_not_allowed()),
        }
    }
}
