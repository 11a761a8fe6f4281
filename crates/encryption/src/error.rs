//! The reasons why a configuration cannot be used, in the reference's words.

/// Messages show neither keys nor the file's content.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    #[error("error while parsing file: {0}")]
    File(String),
    #[error("error while building transformers: {0}")]
    Transformers(String),
    /// Plugins of a configuration that was loaded again do not answer.
    #[error("health check for new transformers failed, polling error {polling}: {reason}")]
    Unhealthy { polling: &'static str, reason: String },
}
