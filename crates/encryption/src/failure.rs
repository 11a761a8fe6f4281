//! The failure of one value, in the reference's words, which clients see.

use std::fmt;

use pintle_outbound::grpc::{Code, Status, code_name};

/// The code in metrics of failures that are not gRPC statuses.
pub(crate) const NOT_GRPC: &str = "unknown-non-grpc";

/// The reason why a value could not be encrypted or decrypted. Never shows a key or a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    message: String,
    /// The answer of a KMS plugin.
    code: Option<Code>,
}

impl Failure {
    pub(crate) fn new(message: impl Into<String>) -> Failure {
        Failure { message: message.into(), code: None }
    }

    /// Puts words before the message.
    #[must_use]
    pub(crate) fn wrapped(self, words: &str) -> Failure {
        Failure { message: format!("{words}{}", self.message), code: self.code }
    }

    /// The code in metrics.
    pub(crate) fn code(&self) -> &'static str {
        self.code.map_or(NOT_GRPC, code_name)
    }

    /// Joins the failures of several providers or keys.
    pub(crate) fn joined(mut failures: Vec<Failure>) -> Option<Failure> {
        match failures.len() {
            0 => None,
            1 => failures.pop(),
            _ => Some(Failure::new(pintle_meta::field_path::aggregate(&failures))),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

impl From<Status> for Failure {
    fn from(status: Status) -> Failure {
        Failure { code: Some(status.code), message: status.to_string() }
    }
}
