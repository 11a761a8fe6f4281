//! How a request passes through filters to a handler.

use std::pin::Pin;
use std::sync::Arc;

use async_trait::async_trait;

use crate::{Request, Response};

/// Answers requests. They are boxed, since they pass from hand to hand a score of times.
#[async_trait]
pub trait Handler: Send + Sync + 'static {
    async fn handle(&self, request: Box<Request>) -> Response;
}

/// Stands in the way of every request. It may answer itself, change the request before `next`, or the response after.
#[async_trait]
pub trait Filter: Send + Sync + 'static {
    async fn handle(&self, request: Box<Request>, next: Next<'_>) -> Response;
}

/// The filters still to pass, and the handler behind them.
#[derive(Clone, Copy)]
pub struct Next<'a> {
    filters: &'a [Box<dyn Filter>],
    handler: &'a dyn Handler,
}

impl<'a> Next<'a> {
    pub fn run(self, request: Box<Request>) -> Pin<Box<dyn Future<Output = Response> + Send + 'a>> {
        match self.filters.split_first() {
            Some((filter, rest)) => filter.handle(request, Next { filters: rest, handler: self.handler }),
            None => self.handler.handle(request),
        }
    }
}

/// A handler behind filters, the first of which sees the request first.
pub struct Chain {
    filters: Vec<Box<dyn Filter>>,
    handler: Arc<dyn Handler>,
}

impl Chain {
    pub fn new(filters: Vec<Box<dyn Filter>>, handler: Arc<dyn Handler>) -> Chain {
        Chain { filters, handler }
    }
}

#[async_trait]
impl Handler for Chain {
    async fn handle(&self, request: Box<Request>) -> Response {
        Next { filters: &self.filters, handler: &*self.handler }.run(request).await
    }
}
