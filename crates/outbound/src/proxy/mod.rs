//! The streaming proxy: passes a client's request on to another server, and its answer back.
//!
//! One proxy serves the aggregator, `proxy` subresources and connections to kubelets. A caller makes a [`Request`] of what the client
//! sent, describes the way in a [`Proxy`], and gets a [`Proxied`]:
//!
//! ```text
//! let proxy = Proxy { host: Host::Target, ..Proxy::new(&client, url) };
//! match proxy.forward(request).await? {
//!     Proxied::Response(response)      => its body and trailers are read from the server as the client takes them
//!     Proxied::Tunnel(head, upgraded)  => answer `head` (101), then `upgraded.tunnel(the client's connection)`
//! }
//! ```
//!
//! - **Headers.** Headers of the client's connection go, `Trailer` and `TE: trailers` aside; `X-Forwarded-For` gets the client's address.
//!   [`Proxy::identity`] is set after that: a client that lists such a header in `Connection` cannot have it removed. Which headers of the
//!   client must not pass ([`Proxy::hidden`]) is the caller's to say. `Content-Length` is made of the body's length, so that the
//!   server reads the request as it was read here.
//! - **Bodies** stream both ways at once, with backpressure. Dropping the response body ends the exchange on the other side too.
//! - **Upgrades** (WebSocket, SPDY) have a connection of their own, over HTTP/1.1. As in the reference, there are none over HTTP/2.
//!   Nothing of the client passes before the server has agreed; a server that does not is read for [`Proxy::refusal`] more, and its
//!   connection is closed (CVE-2018-1002105).
//! - **Links** of HTML pages and redirects lead back through the proxy where it says so ([`Rewriting`]); nothing else of a body changes.
//! - **Redirects** pass, are rewritten ([`Rewriting`]) or refused ([`Redirects::Refused`]); they are never followed.
//! - **Limits** are those of [`StreamLimits`]; a refused upgrade has narrower ones.

mod html;
mod rewriting;
#[cfg(test)]
mod tests;

use std::net::IpAddr;
use std::time::Duration;

use bytes::Bytes;
use http::header::{
    CONNECTION, CONTENT_LENGTH, HOST, HeaderMap, HeaderName, HeaderValue, LOCATION, TRANSFER_ENCODING,
};
use http::{Method, Response, StatusCode};
use http_body::Body;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};

pub use rewriting::Rewriting;

use crate::body::BoxError;
use crate::upgrade::Upgraded;
use crate::{Client, Failure, RequestBody, StreamLimits, Streamed, Url, headers};

const REFUSAL: Duration = Duration::from_secs(10);
/// Bytes of such an answer that are passed on.
const LARGEST_REFUSAL: u64 = 1 << 20;
const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const REDIRECT_REFUSED: &str = "the backend attempted to redirect this request, which is not permitted";

/// The body of an answer that passes through.
pub type ProxiedBody = UnsyncBoxBody<Bytes, BoxError>;

/// A client's request.
pub struct Request {
    pub method: Method,
    /// As the client sent them, without its credentials.
    pub headers: HeaderMap,
    /// The host that the client asked: `Host`, or `:authority` of HTTP/2.
    pub host: Option<HeaderValue>,
    pub body: RequestBody,
    /// The client's address.
    pub remote: Option<IpAddr>,
    /// Whether the client's connection can be upgraded.
    pub can_upgrade: bool,
}

/// The way to another server.
pub struct Proxy<'a> {
    pub client: &'a Client,
    /// The target, with the path and query that the server is to see.
    pub url: Url,
    pub limits: StreamLimits,
    /// The time that the answer to a refused upgrade may take.
    pub refusal: Duration,
    pub host: Host,
    pub redirects: Redirects,
    /// Set: links of answers lead through this server.
    pub rewriting: Option<Rewriting>,
    /// Whether a request that asks for no upgrade is refused.
    pub requires_upgrade: bool,
    /// Headers of the client that the server must not see.
    pub hidden: &'a (dyn Fn(&HeaderName) -> bool + Sync),
    /// Headers that the server gets in place of any that the client sent.
    pub identity: HeaderMap,
}

/// The host that the other server is asked as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Host {
    /// The one that the client has asked.
    Client,
    /// That of the target.
    Target,
}

/// The treatment of answers that redirect the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Redirects {
    Passed,
    /// They are answered with 502.
    Refused,
}

/// The outcome of a request that was passed on.
pub enum Proxied {
    Response(Response<ProxiedBody>),
    /// The head of the answer, and the connection to the other server: from here on both are a byte tunnel.
    Tunnel(Response<()>, Upgraded),
}

/// The reason why a request has no answer of the other server.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// 400.
    #[error("Upgrade request required")]
    UpgradeRequired,
    /// 500.
    #[error("invalid upgrade response: status code {0}")]
    InvalidUpgrade(u16),
    /// 500.
    #[error("error dialing backend: {0}")]
    Dial(Failure),
    /// 503, of a proxy that rewrites.
    #[error("error trying to reach service: {0}")]
    Unreachable(Failure),
    /// 500, of any other.
    #[error("{0}")]
    Failed(Failure),
    /// 500.
    #[error("error trying to parse Location header: {0}")]
    Location(String),
}

impl<'a> Proxy<'a> {
    /// Returns a proxy that passes everything on as it is.
    pub fn new(client: &'a Client, url: Url) -> Proxy<'a> {
        Proxy {
            client,
            url,
            limits: StreamLimits::default(),
            refusal: REFUSAL,
            host: Host::Client,
            redirects: Redirects::Passed,
            rewriting: None,
            requires_upgrade: false,
            hidden: &|_| false,
            identity: HeaderMap::new(),
        }
    }

    /// Passes a request on and waits for the head of its answer.
    pub async fn forward(&self, mut request: Request) -> Result<Proxied, Error> {
        let mut protocol = headers::forward(&mut request.headers);
        if !request.can_upgrade && protocol.is_some() {
            for name in [CONNECTION, http::header::UPGRADE] {
                request.headers.remove(name);
            }
            protocol = None;
        }
        if protocol.is_none() && self.requires_upgrade {
            return Err(Error::UpgradeRequired);
        }
        let is_upgrade = protocol.is_some();
        let is_head = request.method == Method::HEAD;
        self.prepare(&mut request, is_upgrade);
        let Request { method, headers, body, host, .. } = request;
        // Nothing follows the head of such a request before the server has agreed.
        let body = if is_upgrade { RequestBody::empty() } else { body };
        let streamed = self.client.stream(method, &self.url, headers, body, self.limits.clone()).await;
        let streamed = streamed.map_err(|error| match self.rewriting {
            _ if is_upgrade => Error::Dial(error.failure),
            Some(_) => Error::Unreachable(error.failure),
            None => Error::Failed(error.failure),
        })?;
        match streamed {
            Streamed::Upgraded(upgraded) => {
                let mut head = Response::new(());
                *head.status_mut() = upgraded.response.status;
                *head.headers_mut() = upgraded.response.headers.clone();
                Ok(Proxied::Tunnel(head, upgraded))
            }
            Streamed::Response(response) if is_upgrade => self.refused_upgrade(response),
            Streamed::Response(response) => {
                let response = sized(response, is_head).map(|body| body.map_err(Into::into).boxed_unsync());
                self.answer(response, host.as_ref(), is_head).map(Proxied::Response)
            }
        }
    }

    /// Prepares the headers of a request for the other server.
    fn prepare(&self, request: &mut Request, is_upgrade: bool) {
        let headers = &mut request.headers;
        headers.remove(CONTENT_LENGTH);
        let hidden: Vec<HeaderName> = headers.keys().filter(|name| (self.hidden)(name)).cloned().collect();
        for name in hidden {
            headers.remove(name);
        }
        if let Some(remote) = request.remote {
            append_forwarded_for(headers, remote);
        }
        if let Some(rewriting) = self.rewriting.as_ref().filter(|_| !is_upgrade) {
            rewriting.announce(headers, &self.url);
        }
        let names: Vec<HeaderName> = self.identity.keys().cloned().collect();
        for name in names {
            headers.remove(&name);
            for value in self.identity.get_all(&name) {
                headers.append(&name, value.clone());
            }
        }
        headers.remove(HOST);
        if let (Host::Client, Some(host)) = (self.host, &request.host) {
            headers.insert(HOST, host.clone());
        }
    }

    /// Prepares an answer for the client.
    fn answer(
        &self,
        mut response: Response<ProxiedBody>,
        host: Option<&HeaderValue>,
        is_head: bool,
    ) -> Result<Response<ProxiedBody>, Error> {
        let redirects = response.status().is_redirection() && response.headers().contains_key(LOCATION);
        if self.redirects == Redirects::Refused && redirects {
            let text = Full::new(Bytes::from_static(REDIRECT_REFUSED.as_bytes()));
            let mut refusal = Response::new(text.map_err(|error| match error {}).boxed_unsync());
            *refusal.status_mut() = StatusCode::BAD_GATEWAY;
            return Ok(refusal);
        }
        let Some(rewriting) = &self.rewriting else { return Ok(response) };
        rewriting.rewrite_head(response.headers_mut(), &self.url, host)?;
        Ok(if is_head { response } else { rewriting.rewrite_page(response, &self.url, host) })
    }

    /// Returns the answer of a server that did not agree to upgrade. The client's connection is closed after it.
    fn refused_upgrade(&self, response: Response<crate::ResponseBody>) -> Result<Proxied, Error> {
        let code = response.status().as_u16();
        if code < 400 {
            return Err(Error::InvalidUpgrade(code));
        }
        let mut response = sized(response, false).map(|body| body.within(self.refusal, LARGEST_REFUSAL));
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        Ok(Proxied::Response(response.map(|body| body.map_err(Into::into).boxed_unsync())))
    }
}

/// Adds the client to the addresses that the request has passed.
fn append_forwarded_for(headers: &mut HeaderMap, remote: IpAddr) {
    let mut all = Vec::new();
    for before in headers.get_all(FORWARDED_FOR) {
        all.extend_from_slice(before.as_bytes());
        all.extend_from_slice(b", ");
    }
    all.extend_from_slice(remote.to_canonical().to_string().as_bytes());
    if let Ok(all) = HeaderValue::from_bytes(&all) {
        headers.insert(FORWARDED_FOR, all);
    }
}

/// Removes a `Content-Length` that is not the length of the body.
fn sized<B: Body>(mut response: Response<B>, is_head: bool) -> Response<B> {
    let has_body = !is_head && response.status() != StatusCode::NOT_MODIFIED;
    if has_body && response.body().size_hint().exact().is_none() {
        response.headers_mut().remove(CONTENT_LENGTH);
    }
    response.headers_mut().remove(TRANSFER_ENCODING);
    response
}
