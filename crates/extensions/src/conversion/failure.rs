//! Why objects could not be converted.

/// The message is what clients are told.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    pub message: String,
    /// It is about these objects, so that fewer of them may well be converted; else the webhook could not be reached.
    pub refused: bool,
}

impl Failure {
    pub fn unavailable(message: impl Into<String>) -> Failure {
        Failure { message: message.into(), refused: false }
    }

    pub fn refused(message: impl Into<String>) -> Failure {
        Failure { message: message.into(), refused: true }
    }
}
