//! `/`: what paths there are.

use std::sync::Arc;

use async_trait::async_trait;
use http::StatusCode;
use serde::Serialize;

use crate::filter::Handler;
use crate::{Documents, Request, Response, respond};

pub struct Index {
    /// Paths of the server's own endpoints.
    own: Vec<String>,
    documents: Arc<Documents>,
}

#[derive(Serialize)]
struct RootPaths<'a> {
    paths: &'a [String],
}

impl Index {
    pub fn new(own: Vec<String>, documents: Arc<Documents>) -> Index {
        Index { own, documents }
    }
}

#[async_trait]
impl Handler for Index {
    async fn handle(&self, _: Box<Request>) -> Response {
        let mut paths = self.documents.paths();
        paths.extend_from_slice(&self.own);
        paths.sort_unstable();
        respond::json(
            StatusCode::OK,
            serde_json::to_vec_pretty(&RootPaths { paths: &paths }).unwrap_or_default(),
        )
    }
}
