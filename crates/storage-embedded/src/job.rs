//! Jobs that callers hand to the writer, and their replies.

use std::time::Duration;

use pintle_storage::{Error, LeaseId, Result, Revision, Txn, TxnResult};
use tokio::sync::{OwnedSemaphorePermit, oneshot};

pub(crate) enum Job {
    Txn { txn: Txn, size: usize, permit: OwnedSemaphorePermit, reply: oneshot::Sender<Result<TxnResult>> },
    Compact { revision: Revision, reply: oneshot::Sender<Result<()>> },
    Grant { ttl: Duration, reply: oneshot::Sender<Result<LeaseId>> },
    Ping { reply: oneshot::Sender<Result<()>> },
    Stop,
}

/// A request that was applied and waits for the commit. A grant comes with the end of its lease.
pub(crate) enum Done {
    Txn(oneshot::Sender<Result<TxnResult>>, Result<TxnResult>),
    Compact(oneshot::Sender<Result<()>>, Result<()>),
    Grant(oneshot::Sender<Result<LeaseId>>, Result<LeaseId>, u64),
    Ping(oneshot::Sender<Result<()>>),
}

impl Done {
    /// Answers, with `failure` if the commit failed. The caller may have stopped waiting.
    pub(crate) fn answer(self, failure: Option<&Error>) {
        fn send<T>(reply: oneshot::Sender<Result<T>>, result: Result<T>, failure: Option<&Error>) {
            let _ = reply.send(match failure {
                Some(error) => Err(error.clone()),
                None => result,
            });
        }
        match self {
            Done::Txn(reply, result) => send(reply, result, failure),
            Done::Compact(reply, result) => send(reply, result, failure),
            Done::Grant(reply, result, _) => send(reply, result, failure),
            Done::Ping(reply) => send(reply, Ok(()), failure),
        }
    }
}

/// For a request that will not be looked at: only its reply is left.
pub(crate) fn refuse(job: Job) -> Option<Done> {
    let unseen = || Error::Unavailable("not applied".into());
    match job {
        Job::Txn { reply, .. } => Some(Done::Txn(reply, Err(unseen()))),
        Job::Compact { reply, .. } => Some(Done::Compact(reply, Err(unseen()))),
        Job::Grant { reply, .. } => Some(Done::Grant(reply, Err(unseen()), 0)),
        Job::Ping { reply } => Some(Done::Ping(reply)),
        Job::Stop => None,
    }
}
