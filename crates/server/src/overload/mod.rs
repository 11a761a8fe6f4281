//! Overload: what one client may take of the server while others wait.
//!
//! ```text
//! Shares   divides a number of anything among users, always leaving room for one more
//! Slot     the right of a request to be worked on; set down while it waits for its client or for a revision
//! Memory   bytes of bodies that are being read or worked on
//! Pool     threads for work that is too long for those of the runtime
//! Movable  the handler that runs requests on either
//! ```
//!
//! `filters::Limits` hands out slots and memory, in the place of priority and fairness.

mod job;
mod memory;
mod movable;
mod pool;
mod room;
mod shares;
mod slot;

pub(crate) use memory::{Memory, Reserved};
pub(crate) use movable::Movable;
pub(crate) use room::Room;
pub(crate) use slot::{Slot, outside};

use http::StatusCode;
use http::header::RETRY_AFTER;
use pintle_meta::Status;

use crate::{Response, respond};

const WHY: &str = "Too many requests, please try again later.";

/// The answer to a request for which there is no room, in the reference's form.
pub(crate) fn too_many_requests() -> Response {
    let mut response = respond::text_error(StatusCode::TOO_MANY_REQUESTS, WHY);
    response.headers_mut().insert(RETRY_AFTER, 1.into());
    response
}

/// The same to a request that has come as far as its handler.
pub(crate) fn no_room() -> Box<Status> {
    Box::new(Status::too_many_requests(WHY, 1))
}
