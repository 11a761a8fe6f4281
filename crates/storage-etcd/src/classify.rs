//! Classification of failed calls: refused, lost, or worth another attempt.
//!
//! etcd's own refusals are recognised by their text, which is part of its API: the gRPC code alone does not distinguish "no leader"
//! (nothing happened) from "request timed out" (perhaps it did).

use tonic::{Code, ConnectError, Status};

/// Why a call failed, before it is put into the terms of the caller's request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    Compacted,
    FutureRevision,
    LeaseNotFound,
    NoSpace(String),
    TooLarge,
    /// The answer is larger than we take. Asking for less may help.
    AnswerTooLarge(String),
    InvalidArgument(String),
    Corrupt(String),
    /// Not applied.
    Unavailable(String),
    /// Perhaps applied.
    Unknown(String),
    Closed,
}

/// The reaction to a status.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Another attempt would end the same.
    Final(Failure),
    /// It had no effect, and another attempt or another member may do better.
    Refused(String),
    /// It may have had its effect.
    Lost(String),
}

/// Refusals before a request was proposed to the cluster.
const REFUSED: [&str; 7] = [
    "etcdserver: no leader",
    "etcdserver: not leader",
    "etcdserver: too many requests",
    "etcdserver: unhealthy cluster",
    "etcdserver: rpc not supported for learner",
    "etcdserver: not capable",
    "raft proposal dropped",
];

pub(crate) fn classify(status: &Status) -> Verdict {
    let message = status.message();
    let text = || message.to_owned();
    if never_sent(status) {
        return Verdict::Refused(describe(status));
    }
    let failure = match message {
        "etcdserver: mvcc: required revision has been compacted" => Failure::Compacted,
        "etcdserver: mvcc: required revision is a future revision" => Failure::FutureRevision,
        "etcdserver: requested lease not found" => Failure::LeaseNotFound,
        "etcdserver: mvcc: database space exceeded" => Failure::NoSpace(text()),
        "etcdserver: request is too large" => Failure::TooLarge,
        "etcdserver: corrupt cluster" => Failure::Corrupt(text()),
        _ if REFUSED.contains(&message) => return Verdict::Refused(text()),
        // The server's gRPC layer refuses it before etcd sees it.
        _ if message.starts_with("grpc: received message larger than max") => Failure::TooLarge,
        _ if message.starts_with("Error, decoded message length too large") => {
            Failure::AnswerTooLarge(text())
        }
        _ if !message.starts_with("etcdserver: ") => match status.code() {
            Code::Unimplemented => Failure::Unavailable(text()),
            _ => return Verdict::Lost(describe(status)),
        },
        // Authentication is refused under InvalidArgument too; that is not the caller's fault.
        _ if message.contains("auth") || message.contains("permission") || message.contains("user") => {
            Failure::Unavailable(text())
        }
        _ => match status.code() {
            Code::InvalidArgument | Code::OutOfRange => Failure::InvalidArgument(text()),
            Code::FailedPrecondition | Code::NotFound => Failure::Unavailable(text()),
            // Timeouts, changes of leader, a server that stops: it may be in the log already.
            _ => return Verdict::Lost(text()),
        },
    };
    Verdict::Final(failure)
}

/// A status that a member did not send says little without its causes.
pub(crate) fn describe(status: &Status) -> String {
    let message = if status.message().is_empty() { status.code().description() } else { status.message() };
    std::error::Error::source(status)
        .map_or_else(|| message.to_owned(), |source| format!("{message}: {}", chain(source)))
}

/// An error with everything that caused it, in one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}

/// Whether the connection failed before the request went out on it.
fn never_sent(status: &Status) -> bool {
    let mut source = std::error::Error::source(status);
    while let Some(error) = source {
        if error.is::<ConnectError>() {
            return true;
        }
        source = error.source();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(code: Code, message: &str) -> Verdict {
        classify(&Status::new(code, message))
    }

    #[test]
    fn a_refusal_of_etcd_had_no_effect() {
        for (code, message) in [
            (Code::Unavailable, "etcdserver: no leader"),
            (Code::ResourceExhausted, "etcdserver: too many requests"),
            (Code::FailedPrecondition, "etcdserver: rpc not supported for learner"),
            (Code::Unknown, "raft proposal dropped"),
        ] {
            assert_eq!(verdict(code, message), Verdict::Refused(message.into()));
        }
        for (code, message) in [
            (Code::Unauthenticated, "etcdserver: invalid auth token"),
            (Code::PermissionDenied, "etcdserver: permission denied"),
            (Code::InvalidArgument, "etcdserver: user name is empty"),
        ] {
            assert_eq!(verdict(code, message), Verdict::Final(Failure::Unavailable(message.into())));
        }
    }

    #[test]
    fn the_outcome_of_an_interrupted_request_is_unknown() {
        for (code, message) in [
            (Code::Unavailable, "etcdserver: request timed out"),
            (Code::Unavailable, "etcdserver: request timed out, possibly due to previous leader failure"),
            (Code::Unavailable, "etcdserver: leader changed"),
            (Code::Unavailable, "etcdserver: server stopped"),
            (Code::Unavailable, "transport is closing"),
            (Code::Unknown, "h2 protocol error: error reading a body from connection"),
            (Code::Cancelled, "operation was canceled"),
        ] {
            assert_eq!(verdict(code, message), Verdict::Lost(message.into()), "{message}");
        }
    }

    #[test]
    fn final_refusals_are_told_apart() {
        let space = "etcdserver: mvcc: database space exceeded";
        let duplicate = "etcdserver: duplicate key given in txn request";
        for (code, message, failure) in [
            (Code::OutOfRange, "etcdserver: mvcc: required revision has been compacted", Failure::Compacted),
            (
                Code::OutOfRange,
                "etcdserver: mvcc: required revision is a future revision",
                Failure::FutureRevision,
            ),
            (Code::ResourceExhausted, space, Failure::NoSpace(space.into())),
            (Code::InvalidArgument, "etcdserver: request is too large", Failure::TooLarge),
            (Code::ResourceExhausted, "grpc: received message larger than max (3 vs. 2)", Failure::TooLarge),
            (Code::NotFound, "etcdserver: requested lease not found", Failure::LeaseNotFound),
            (Code::InvalidArgument, duplicate, Failure::InvalidArgument(duplicate.into())),
        ] {
            assert_eq!(verdict(code, message), Verdict::Final(failure));
        }
    }

    #[test]
    fn a_connection_that_never_came_up_sent_nothing() {
        let status = Status::from_error(Box::new(ConnectError("connection refused".into())));
        assert!(matches!(classify(&status), Verdict::Refused(_)));
    }
}
