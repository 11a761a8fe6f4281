//! Overload: limits on what one user takes of the server while others wait.
//!
//! ```text
//! FairShares         divides a number of anything among users, always leaving some for one more
//! Slots, Slot        permissions to execute a request; given back while it waits for its client or for a revision
//! PausedRequests     requests that have given back seats of a priority level
//! BodyMemory         bytes of bodies that are being read or worked on
//! Pool               threads for work that is too long for those of the runtime
//! OffloadingHandler  runs requests on the threads of the runtime, or of the pool
//! ```
//!
//! `filters::PriorityAndFairness` hands out seats of priority levels and memory, or, where that is off, `filters::Limits`
//! slots of users. Both kinds of permission are a [`Slot`] to the code behind.

mod body_memory;
mod fair_shares;
mod job;
mod offloading;
mod permission;
mod pool;
mod slot;
mod slots;

pub(crate) use body_memory::{BodyMemory, ReservedBytes};
pub(crate) use offloading::OffloadingHandler;
pub(crate) use permission::PausedRequests;
pub(crate) use slot::{Slot, without_slot};
pub(crate) use slots::Slots;

use http::StatusCode;
use http::header::RETRY_AFTER;
use pintle_meta::Status;

use crate::{Response, respond};

const TOO_MANY_REQUESTS: &str = "Too many requests, please try again later.";

/// Returns the answer to a request that gets no slot, in the reference's form.
pub(crate) fn too_many_requests() -> Response {
    let mut response = respond::text_error(StatusCode::TOO_MANY_REQUESTS, TOO_MANY_REQUESTS);
    response.headers_mut().insert(RETRY_AFTER, 1.into());
    response
}

/// Returns the same answer for a request that has come as far as its handler.
pub(crate) fn too_many_requests_status() -> Box<Status> {
    Box::new(Status::too_many_requests(TOO_MANY_REQUESTS, 1))
}
