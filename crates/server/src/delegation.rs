//! Who serves a resource: the first in a chain of servers that has its group version.
//!
//! ```text
//! aggregator   group versions that another server answers for
//! core         the built-in ones
//! extensions   those that custom resources are of
//! ```
//!
//! Each asks the next only by not owning what is asked for. What nobody owns is not there.

use std::sync::Arc;

use async_trait::async_trait;
use pintle_meta::Status;

use crate::filter::Handler;
use crate::{Request, Response, respond};

/// A server in the chain.
pub trait Delegate: Handler {
    /// Whether requests for a group version are this one's, also those for resources that it does not have.
    fn owns(&self, group: &str, version: &str) -> bool;

    /// Whether any version of a group is.
    fn owns_group(&self, group: &str) -> bool;
}

/// The chain, asked in its order.
pub struct Delegation {
    servers: Vec<Arc<dyn Delegate>>,
}

impl Delegation {
    pub fn new(servers: Vec<Arc<dyn Delegate>>) -> Delegation {
        Delegation { servers }
    }
}

#[async_trait]
impl Handler for Delegation {
    async fn handle(&self, request: Box<Request>) -> Response {
        let info = &request.info;
        let owner = self.servers.iter().find(|server| server.owns(&info.group, &info.version));
        match owner {
            Some(server) => server.handle(request).await,
            // A client learns whether it is the version that it has wrong, or everything.
            None if self.servers.iter().any(|server| server.owns_group(&info.group)) => {
                respond::status(&Status::no_such_resource())
            }
            None => respond::not_found(),
        }
    }
}
