//! Requests that another server answers: the way from a client's request to [`outbound::proxy`](pintle_outbound::proxy), and back.
//!
//! The handler takes the request apart with [`take`], passes it on, and gives the outcome to [`Client::answer`]. An upgraded connection
//! goes on as a tunnel of the same connection: counted, and ended when the server stops.

use std::sync::Arc;

use futures_util::stream;
use http::header::HOST;
use http::{HeaderValue, Method};
use http_body_util::{BodyExt, Empty};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use pintle_meta::Status;
use pintle_outbound::RequestBody;
use pintle_outbound::egress::BoxedStream;
use pintle_outbound::proxy::{self, Proxied};

use crate::lifecycle::Signal;
use crate::request::Connection;
use crate::{Body, Request, Response, respond};

/// The client of a request that is passed on.
pub struct Client {
    connection: Arc<Connection>,
    upgrade: Option<OnUpgrade>,
    is_head: bool,
}

/// Takes what is passed on out of a request: its headers, its body and the connection's upgrade.
pub fn take(request: &mut Request) -> (proxy::Request, Client) {
    let upgrade = request.parts.extensions.remove::<OnUpgrade>();
    let headers = std::mem::take(&mut request.parts.headers);
    let authority =
        || request.parts.uri.authority().and_then(|host| HeaderValue::from_str(host.as_str()).ok());
    let host = headers.get(HOST).cloned().or_else(authority);
    let none = Empty::new().map_err(|error| match error {}).boxed();
    let body = std::mem::replace(&mut request.body, none);
    let method = request.parts.method.clone();
    let client = Client { connection: request.connection.clone(), is_head: method == Method::HEAD, upgrade };
    let request = proxy::Request {
        method,
        headers,
        host,
        body: RequestBody::stream(body),
        remote: Some(request.connection.remote.ip()),
        can_upgrade: client.upgrade.is_some(),
    };
    (request, client)
}

impl Client {
    /// Answers with what the other server has answered. A tunnel runs until one side or `stop` ends it.
    pub fn answer(self, proxied: Proxied, stop: Signal) -> Response {
        match proxied {
            Proxied::Response(response) => response.map(|body| match self.is_head {
                // Its `Content-Length` is that of the answer to a GET.
                true => Body::stream(stream::empty()),
                false => Body::passed_on(body),
            }),
            Proxied::Tunnel(head, upgraded) => self.switch(head, stop, async move |client| {
                upgraded.tunnel(client).await;
            }),
        }
    }

    /// Answers with a head (101) and serves the connection from then on, until `stop`.
    pub fn switch<R>(
        self,
        head: http::Response<()>,
        stop: Signal,
        serve: impl FnOnce(BoxedStream) -> R + Send + 'static,
    ) -> Response
    where
        R: Future<Output = ()> + Send + 'static,
    {
        let Some(upgrade) = self.upgrade else {
            return respond::status(&Status::bad_request(proxy::Error::UpgradeRequired.to_string()));
        };
        self.connection.continue_with(Box::pin(async move {
            let Ok(client) = upgrade.await else { return };
            tokio::select! {
                () = serve(Box::new(TokioIo::new(client))) => {}
                () = stop.wait() => {}
            }
        }));
        head.map(|()| Body::empty())
    }
}

/// Returns the status of a request that could not be passed on.
pub fn status(error: &proxy::Error) -> Status {
    match error {
        proxy::Error::UpgradeRequired => Status::bad_request(error.to_string()),
        proxy::Error::Unreachable(_) => Status::service_unavailable(error.to_string()),
        proxy::Error::Location(_) => Status::internal(error),
        _ => Status::plain(error),
    }
}
