//! Reasons for which a control plane cannot start or did not end cleanly.

/// A failure of a control plane as a whole; requests get a `Status` instead.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A built-in resource that the control plane itself needs is not there.
    #[error("there is no resource {0}")]
    NoResource(String),

    /// The configuration of API groups names what cannot be served.
    #[error("{0}")]
    ApiGroups(String),

    /// The configuration of an admission plugin is wrong.
    #[error("failed to apply admission: {0}")]
    Admission(String),

    #[error(transparent)]
    Schema(#[from] pintle_schema::Error),

    #[error(transparent)]
    Cache(#[from] pintle_cache::Error),

    /// A hook failed.
    #[error(transparent)]
    Server(#[from] pintle_server::Error),

    #[error("the store did not close cleanly: {0}")]
    Close(#[source] pintle_storage::Error),

    /// A part of the control plane, or one that the program made for it, cannot be used.
    #[error(transparent)]
    Part(Box<dyn std::error::Error + Send + Sync>),
}

impl Error {
    pub(crate) fn part(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
        Error::Part(error.into())
    }
}

/// Names a missing resource.
pub(crate) fn no_resource(name: &str) -> impl FnOnce() -> Error {
    let name = name.to_owned();
    move || Error::NoResource(name)
}
