//! Resources over HTTP: which endpoint a request is for ([`route`]), one file for each verb ([`verbs`]), and what they share.
//!
//! ```text
//! Rest (which endpoint) -> negotiate -> options -> get | list | watch | create | update | delete | delete collection -> answer
//! ```

#[cfg(test)]
mod admission_tests;
mod apply;
mod body;
mod bound;
mod call;
mod computed;
mod connection;
mod endpoint;
mod may_create;
mod options;
mod patch_body;
mod representation;
mod revision;
mod route;
mod select;
mod stored;
mod subresource;
#[cfg(test)]
mod testing;
mod token;
mod uncached;
mod verbs;
mod websocket;
mod write;

pub use call::Shared;
pub use connection::{Connector, Target};
pub use endpoint::{Endpoint, EndpointConfig, Implementation};
pub(crate) use representation::{Representation, StatusRequest, wants_pretty};
pub use route::Rest;

use pintle_meta::Status;
pub(crate) use pintle_registry::cache_error;

/// The result of a verb. A failure is the status that the client gets.
pub(crate) type Result<T> = std::result::Result<T, Box<Status>>;

pub(crate) fn bad_request(message: impl Into<String>) -> Box<Status> {
    Box::new(Status::bad_request(message))
}

pub(crate) fn internal(reason: impl std::fmt::Display) -> Box<Status> {
    Box::new(Status::internal(reason))
}

/// An error that the reference does not expect, and passes on as it is.
pub(crate) fn unexpected(reason: impl std::fmt::Display) -> Box<Status> {
    Box::new(Status::plain(reason))
}
