//! Delegation: the first server in a chain that has the group version serves the request.
//!
//! ```text
//! aggregator   group versions that another server answers for
//! core         the built-in ones
//! extensions   those that custom resources are of
//! ```
//!
//! Each is offered a request, and takes it or passes it on. A request that none takes is
//! answered with 404, and so is one that the owner of its group does not take, whatever comes after it.

use std::sync::Arc;

use async_trait::async_trait;
use pintle_meta::Status;

use crate::filter::Handler;
use crate::{Request, Response, respond};

/// A server in the chain.
#[async_trait]
pub trait Delegate: Send + Sync + 'static {
    /// Answers a request for something that it has; gives any other back.
    async fn offer(&self, request: Box<Request>) -> Result<Response, Box<Request>>;

    /// Returns whether it has any version of a group. Then no delegate after it has another, and a client learns that
    /// it has the version or resource wrong, and not everything.
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
    async fn handle(&self, mut request: Box<Request>) -> Response {
        for server in &self.servers {
            match server.offer(request).await {
                Ok(response) => return response,
                Err(back) if server.owns_group(&back.info.group) => {
                    return respond::status(&Status::no_such_resource());
                }
                Err(back) => request = back,
            }
        }
        respond::not_found()
    }
}
