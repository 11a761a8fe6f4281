//! The queues of one priority level, and its seats.
//!
//! **Fair queuing.** Each queue has a virtual time `next_dispatch` at which its next request would begin if all queues that are in use
//! shared the seats evenly. The queue goes on whose first request would end first by that clock; its `next_dispatch` then moves on by
//! the expected work of the request, and is corrected by the work that it took when the request ends. The clock itself runs as fast as
//! the seats in use divided by the queues in use. A queue that was idle starts at the clock's time, so that it has saved nothing up.
//!
//! For example, with one seat, queue A with requests of 10 ms and queue B with one of 1 ms every 20 ms: A's `next_dispatch` is
//! ahead of the clock by what it took beyond its half, so B's request is next as soon as the seat is free.
//!
//! **Requests that resume.** A request gives its seats back while it waits for its client or for a revision
//! ([`QueueSet::suspend`]), and then wants them again ([`QueueSet::resume`]). It goes before the requests that wait in its queue: those
//! have not begun, and each of them is passed only by requests that were let in before it, a bounded number of times. Queues
//! compete by virtual time as ever, with the seats that the request takes until its end, so that a flow whose requests pause gains nothing
//! and no other queue waits longer. Where there are no queues, requests that resume form one line, and no new request is let in while
//! one waits there.
//!
//! **Seats after the answer.** A write with many watchers keeps its seats for its `additional_latency`. [`QueueSet::sync`], with which
//! every operation begins, gives back those whose time has come, at their time.

mod entries;
mod observed;
mod queue;
mod queue_set;
#[cfg(test)]
mod tests;

pub(crate) use entries::{Entry, Key, NONE, NewRequest};
pub(crate) use observed::{DEMAND, REQUESTS, SEATS, Samples};
pub(crate) use queue_set::{Finished, Limits, QueueSet, Started};

/// The state of a request in its queue set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Waits for its first seats.
    Waiting,
    /// Waits for the seats that it gave back.
    Resuming,
    Executing,
    /// Executes without seats: it waits for something else.
    Suspended,
}
