//! Events of `audit.k8s.io/v1`: one stage of one request.

mod encode;
mod managed_fields;
mod text;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use pintle_auth::User;
use pintle_meta::Status;
use pintle_meta::time::MicroTime;

pub use self::encode::json_of;
pub(crate) use self::encode::{LINE_START, list_of};
pub use self::managed_fields::without_managed_fields;

/// How much of a request is recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    #[default]
    None,
    Metadata,
    Request,
    RequestResponse,
}

impl Level {
    pub const ALL: [Level; 4] = [Level::None, Level::Metadata, Level::Request, Level::RequestResponse];

    pub fn as_str(self) -> &'static str {
        match self {
            Level::None => "None",
            Level::Metadata => "Metadata",
            Level::Request => "Request",
            Level::RequestResponse => "RequestResponse",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Level> {
        Level::ALL.into_iter().find(|level| level.as_str() == name)
    }
}

/// A moment in the handling of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    RequestReceived,
    /// The headers of the answer are there, of a long-running request.
    ResponseStarted,
    ResponseComplete,
    Panic,
}

impl Stage {
    pub const ALL: [Stage; 4] =
        [Stage::RequestReceived, Stage::ResponseStarted, Stage::ResponseComplete, Stage::Panic];

    pub fn as_str(self) -> &'static str {
        match self {
            Stage::RequestReceived => "RequestReceived",
            Stage::ResponseStarted => "ResponseStarted",
            Stage::ResponseComplete => "ResponseComplete",
            Stage::Panic => "Panic",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Stage> {
        Stage::ALL.into_iter().find(|stage| stage.as_str() == name)
    }
}

/// The part of an event that is known when a request arrives, the same for all its stages.
#[derive(Debug)]
pub struct RequestPart {
    pub level: Level,
    pub audit_id: String,
    pub uri: String,
    pub verb: String,
    /// `None` for a request that was not authenticated.
    pub user: Option<Arc<User>>,
    /// From the client to the last proxy, as IP addresses.
    pub source_ips: Vec<String>,
    pub user_agent: String,
    pub received: MicroTime,
    /// The JSON from `requestURI` to `user`, for all stages.
    pub(crate) json: OnceLock<Vec<u8>>,
}

/// The object that a request is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectReference {
    pub resource: String,
    pub namespace: String,
    pub name: String,
    pub uid: String,
    pub group: String,
    pub version: String,
    pub resource_version: String,
    pub subresource: String,
}

/// The outcome of a request: of answers without a `Status`, only the code.
#[derive(Clone, Debug, PartialEq)]
pub struct ResponseStatus {
    pub code: u16,
    pub status: Option<Arc<Status>>,
}

/// One stage of one request. What is shown of objects is compact JSON.
#[derive(Clone, Debug)]
pub struct Event {
    pub request: Arc<RequestPart>,
    pub stage: Stage,
    pub stage_time: MicroTime,
    pub impersonated_user: Option<Arc<User>>,
    /// The verb that allowed the impersonation, if it is a constrained one.
    pub impersonation_constraint: &'static str,
    pub object: Option<Arc<ObjectReference>>,
    pub response_status: Option<ResponseStatus>,
    pub request_object: Option<Bytes>,
    pub response_object: Option<Bytes>,
    pub annotations: BTreeMap<String, String>,
    /// The JSON from `level` on, without the braces' beginning.
    pub(crate) json: OnceLock<Bytes>,
}

impl Event {
    /// Returns about how much memory the event takes, in bytes.
    pub fn weight(&self) -> usize {
        let object = |object: &Option<Bytes>| object.as_ref().map_or(0, Bytes::len);
        let annotations = self.annotations.iter().map(|(key, value)| key.len() + value.len() + 64);
        let request = &self.request;
        let request = request.uri.len() + request.user_agent.len() + request.audit_id.len() + 512;
        request
            + object(&self.request_object)
            + object(&self.response_object)
            + annotations.sum::<usize>()
            + self.json.get().map_or(0, Bytes::len)
    }

    /// Returns a copy without objects that says so in an annotation.
    pub(crate) fn truncated(&self) -> Event {
        let mut event =
            Event { request_object: None, response_object: None, json: OnceLock::new(), ..self.clone() };
        event.annotations.insert("audit.k8s.io/truncated".into(), "true".into());
        event
    }
}

#[cfg(test)]
mod tests;
