//! `/`: what paths there are.

use async_trait::async_trait;
use http::StatusCode;
use serde::Serialize;

use crate::filter::Handler;
use crate::{Request, Response, respond};

pub struct Index {
    json: Vec<u8>,
}

#[derive(Serialize)]
struct RootPaths<'a> {
    paths: &'a [String],
}

impl Index {
    pub fn new(paths: &[String]) -> Index {
        Index { json: serde_json::to_vec_pretty(&RootPaths { paths }).unwrap_or_default() }
    }
}

#[async_trait]
impl Handler for Index {
    async fn handle(&self, _: Request) -> Response {
        respond::json(StatusCode::OK, self.json.clone())
    }
}
