//! Endpoints that connect a client to a node, pod or service. How is not known here.

use async_trait::async_trait;
use pintle_meta::{Status, Value};
use pintle_registry::Context;

use crate::lifecycle::Signal;
use crate::{Request, Response};

/// Connects clients: one implementation for each subresource that leads somewhere.
#[async_trait]
pub trait Connector: Send + Sync + 'static {
    /// Connects the client of a request, which may take the request apart. Called once for each request, after its permission was
    /// checked and admission has agreed. A failure is answered to the client.
    async fn connect(&self, target: Target<'_>, request: &mut Request) -> Result<Response, Box<Status>>;
}

/// The object that a connection is for.
pub struct Target<'a> {
    /// The namespace and the user.
    pub context: Context,
    /// The name in the path, which may have a scheme and a port (`https:name:443`).
    pub name: String,
    /// The options as admission has seen them; null where there is none.
    pub options: &'a Value,
    /// Set when connections are to end with the server.
    pub stop: Signal,
}
