//! A request as flow control sees it.

use pintle_auth::User;

/// The attributes by which flow schemas match a request.
#[derive(Clone, Copy, Debug)]
pub struct Digest<'a> {
    pub user: &'a User,
    pub verb: &'a str,
    /// Whether the request is for a resource. The fields from `group` to `name` are for such requests only.
    pub is_resource: bool,
    pub group: &'a str,
    pub resource: &'a str,
    pub subresource: &'a str,
    pub namespace: &'a str,
    pub name: &'a str,
    pub path: &'a str,
}

impl Digest<'_> {
    pub(crate) fn is_mutating(&self) -> bool {
        !matches!(self.verb, "get" | "list" | "watch")
    }
}

/// A request that a dump can show. It is kept with each request that executes or waits, and read only by dumps.
pub trait Describe: Send + Sync {
    fn details(&self) -> RequestDetails;
}

/// The columns of a request in a dump with details.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestDetails {
    pub user: String,
    pub verb: String,
    pub path: String,
    pub namespace: String,
    pub name: String,
    pub group: String,
    pub version: String,
    pub resource: String,
    pub subresource: String,
}
