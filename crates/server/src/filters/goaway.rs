//! `--goaway-chance`: now and then an HTTP/2 client is asked to reconnect, which spreads clients over replicas.

use async_trait::async_trait;
use http::Version;
use pintle_runtime::Random;

use crate::filter::{Filter, Next};
use crate::{Request, Response};

pub struct Goaway {
    pub chance: f64,
    pub random: Random,
}

#[async_trait]
impl Filter for Goaway {
    async fn handle(&self, request: Box<Request>, next: Next<'_>) -> Response {
        if request.parts.version == Version::HTTP_2 && self.random.fraction() < self.chance {
            request.connection.close_when_idle();
        }
        next.run(request).await
    }
}
