//! Counts what handlers have marked to be counted, once the last byte of the answer is sent. It stands outside of all that
//! changes answers, so that sizes are those that clients see.

use async_trait::async_trait;

use crate::filter::{Filter, Next};
use crate::metrics::ResponseMetrics;
use crate::{Request, Response};

pub struct Measurement;

#[async_trait]
impl Filter for Measurement {
    async fn handle(&self, request: Box<Request>, next: Next<'_>) -> Response {
        let received = request.received;
        let mut response = next.run(request).await;
        let Some(ResponseMetrics(metrics)) = response.extensions_mut().remove() else { return response };
        // The reference records code 0 for a connection that was upgraded from HTTP.
        let code = match response.status().as_u16() {
            101 => 0,
            code => code,
        };
        response.map(|body| body.at_end(move |sent| metrics.answered(code, sent, received.elapsed())))
    }
}
