//! Clients: requests whose responses are read whole, and requests that stream both ways.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::{CONTENT_LENGTH, HeaderValue, LOCATION, USER_AGENT};
use http::{HeaderMap, Method, StatusCode};
use http_body::Body;
use http_body_util::BodyExt;
use pintle_runtime::{Clock, Random};
use tokio::sync::oneshot;

use crate::body::{Exchange, RequestBody, ResponseBody};
use crate::credentials::{Authorization, Credentials};
use crate::dial::{Dialer, Versions};
use crate::egress::Egress;
use crate::error::broken;
use crate::hosts::Hosts;
use crate::pool::Pool;
use crate::round_trip::round_trip;
use crate::services::{Address, Service};
use crate::tls::{SetupError, Tls, TlsOptions};
use crate::upgrade::Upgraded;
use crate::url::Url;
use crate::{Error, Failure, StreamLimits, headers};

/// The limit of Go's client.
const MOST_REDIRECTS: usize = 10;
const OWN_NAME: HeaderValue = HeaderValue::from_static(concat!("pintle/", env!("CARGO_PKG_VERSION")));

#[derive(Clone)]
pub struct ClientOptions {
    pub tls: TlsOptions,
    pub authorization: Authorization,
    /// Time limit of one request whose response is read whole.
    pub timeout: Duration,
    /// Size limit of such a response, in bytes.
    pub largest_answer: usize,
    /// The `User-Agent` of requests without one; Pintle's own if `None`.
    pub user_agent: Option<HeaderValue>,
    /// Whether GETs follow redirects, over TLS and without the client's credentials. Other requests and streams never do.
    pub follow_redirects: bool,
    /// The service of the cluster that the origin is. Its address is looked up before every request.
    pub service: Option<Service>,
    /// The proxy for connections, if they are not direct.
    pub egress: Option<Egress>,
    /// The lookup of host names, done once for each connection. A proxy looks up the names of its own network.
    pub hosts: Hosts,
    pub clock: Clock,
    pub random: Random,
}

impl Default for ClientOptions {
    fn default() -> ClientOptions {
        ClientOptions {
            tls: TlsOptions::default(),
            authorization: Authorization::None,
            timeout: Duration::from_secs(30),
            largest_answer: 3 << 20,
            user_agent: None,
            follow_redirects: false,
            service: None,
            egress: None,
            hosts: Hosts::system(),
            clock: Clock::system(),
            random: Random::system(),
        }
    }
}

/// A response that was read whole.
#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// The outcome of a streamed request.
pub enum Streamed {
    /// A response, redirects among them.
    Response(http::Response<ResponseBody>),
    /// The other server agreed to speak the protocol that the request asked for.
    Upgraded(Upgraded),
}

/// A client of one origin, or of servers anywhere that are spoken to in the same way. Cheap to call from many tasks at once.
pub struct Client {
    /// `None`: of any.
    origin: Option<Url>,
    options: ClientOptions,
    dialer: Dialer,
    pool: Arc<Pool>,
    credentials: Credentials,
}

impl Client {
    /// The path of `origin` means nothing here; requests bring their own.
    pub fn new(origin: &Url, options: ClientOptions) -> Result<Client, SetupError> {
        Client::of(Some(origin.clone()), options)
    }

    /// Returns a client whose URLs may be of any origin: each gets the client's certificate and credentials.
    pub fn of_any(options: ClientOptions) -> Result<Client, SetupError> {
        Client::of(None, options)
    }

    fn of(origin: Option<Url>, options: ClientOptions) -> Result<Client, SetupError> {
        let (egress, hosts) = (options.egress.clone(), options.hosts.clone());
        let dialer = Dialer { tls: Tls::new(options.tls.clone())?, egress, hosts };
        let credentials = Credentials::new(options.authorization.clone(), options.clock.clone());
        // Credentials that cannot be used are an error now, and not of the first request.
        credentials.header()?;
        Ok(Client { origin, options, dialer, pool: Arc::default(), credentials })
    }

    pub fn timeout(&self) -> Duration {
        self.options.timeout
    }

    pub async fn get(&self, url: &Url) -> Result<Answer, Error> {
        self.send(Method::GET, url, HeaderMap::new(), Bytes::new()).await
    }

    /// Sends a request to a URL of this client's origin and reads the whole response.
    pub async fn send(
        &self,
        method: Method,
        url: &Url,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<Answer, Error> {
        let has_header = AtomicBool::new(false);
        let exchange = self.exchange(&method, url, headers, body, &has_header);
        let result = match tokio::time::timeout(self.options.timeout, exchange).await {
            Ok(result) => result,
            Err(_) if has_header.load(Ordering::Relaxed) => Err(Failure::TimeoutInBody),
            Err(_) => Err(Failure::Timeout),
        };
        result.map_err(|failure| failure.at(&method, url))
    }

    /// Sends a request as [`Client::send`] does, with a time limit of its own. A failure comes with whether the header of the
    /// response was there.
    pub(crate) async fn send_within(
        &self,
        method: Method,
        url: &Url,
        headers: HeaderMap,
        body: Bytes,
        limit: Duration,
    ) -> Result<Answer, (Failure, bool)> {
        let has_header = AtomicBool::new(false);
        let exchange = self.exchange(&method, url, headers, body, &has_header);
        let result = tokio::time::timeout(limit, exchange).await.unwrap_or(Err(Failure::DeadlineExceeded));
        result.map_err(|failure| (failure, has_header.load(Ordering::Relaxed)))
    }

    /// Sends a request to a URL of this client's origin; its body and that of the response stream.
    ///
    /// Headers of connections are handled here ([`headers::forward`]), also in the response. A request with
    /// `Connection: Upgrade` gets a connection of its own. Redirects are returned, never followed. A request whose body may have
    /// been sent is not repeated. A `Host` header stays what it is; only a request without one gets that of the URL. A
    /// request without `User-Agent` is sent without.
    pub async fn stream(
        &self,
        method: Method,
        url: &Url,
        headers: HeaderMap,
        body: RequestBody,
        limits: StreamLimits,
    ) -> Result<Streamed, Error> {
        let header_limit = limits.header;
        // On the heap, and only until the header is there: callers keep their futures for as long as streams last.
        let exchange = Box::pin(self.start_stream(&method, url, headers, body, limits));
        let result = tokio::time::timeout(header_limit, exchange).await;
        result.unwrap_or(Err(Failure::Timeout)).map_err(|failure| failure.at(&method, url))
    }

    async fn start_stream(
        &self,
        method: &Method,
        url: &Url,
        mut headers: HeaderMap,
        body: RequestBody,
        limits: StreamLimits,
    ) -> Result<Streamed, Failure> {
        if !self.is_own(url) {
            return Err(Failure::Protocol("the URL is not of the client's origin".into()));
        }
        let protocol = headers::forward(&mut headers);
        let versions = if protocol.is_some() { Versions::Http1 } else { Versions::Negotiated };
        let address = self.address(url, true).await?;
        let (request_alive, abandoned) = oneshot::channel();
        let request = self.request(method, url, headers, true)?;
        let request = request
            .body(body.limited(&limits, abandoned))
            .map_err(|error| Failure::Protocol(error.to_string()))?;
        let (response, mut connection) =
            round_trip(&self.pool, &self.dialer, &address, url, versions, request).await?;
        if protocol.is_some() {
            // Whatever follows a refused upgrade on that connection, no other request shall see it.
            connection = None;
        }
        if response.status() == StatusCode::SWITCHING_PROTOCOLS {
            return upgraded(response, protocol.as_ref(), limits).await.map(Streamed::Upgraded);
        }
        let (mut head, body) = response.into_parts();
        headers::forward(&mut head.headers);
        let exchange = Exchange { _request: request_alive, connection };
        Ok(Streamed::Response(http::Response::from_parts(head, ResponseBody::new(body, &limits, exchange))))
    }

    async fn exchange(
        &self,
        method: &Method,
        url: &Url,
        headers: HeaderMap,
        body: Bytes,
        has_header: &AtomicBool,
    ) -> Result<Answer, Failure> {
        let mut url = url.clone();
        for _ in 0..=MOST_REDIRECTS {
            let is_own = self.is_own(&url);
            let mut named = headers.clone();
            let name = || self.options.user_agent.clone().unwrap_or(OWN_NAME);
            named.entry(USER_AGENT).or_insert_with(name);
            let request = self.request(method, &url, named, is_own)?;
            let request = request
                .body(RequestBody::whole(body.clone()))
                .map_err(|error| Failure::Protocol(error.to_string()))?;
            let pool = if is_own { self.pool.clone() } else { Arc::default() };
            let address = self.address(&url, is_own).await?;
            let (response, connection) =
                round_trip(&pool, &self.dialer, &address, &url, Versions::Negotiated, request).await?;
            has_header.store(true, Ordering::Relaxed);
            let (request_alive, _) = oneshot::channel();
            let exchange = Exchange { _request: request_alive, connection };
            // The timeout of the whole request is the only limit on time.
            let limits = StreamLimits { idle: Duration::MAX, ..StreamLimits::default() };
            let response = response.map(|body| ResponseBody::new(body, &limits, exchange));
            let answer = read(response, self.options.largest_answer).await?;
            if !(self.options.follow_redirects && *method == Method::GET && is_redirect(answer.status)) {
                return Ok(answer);
            }
            let location = answer.headers.get(LOCATION).and_then(|location| location.to_str().ok());
            let location = location.ok_or_else(|| {
                Failure::Redirect(format!("{} response missing Location header", answer.status.as_u16()))
            })?;
            let next = url.join(location).map_err(|error| Failure::Redirect(error.to_string()))?;
            if url.https && !next.https {
                return Err(Failure::Redirect("redirected from https to http".into()));
            }
            url = next;
        }
        Err(Failure::Redirect(format!("stopped after {MOST_REDIRECTS} redirects")))
    }

    async fn address(&self, url: &Url, is_own: bool) -> Result<Address, Failure> {
        match self.options.service.as_ref().filter(|_| is_own) {
            Some(service) => service.address().await.map_err(Failure::Unresolved),
            None => Ok(Address::from_url(url)),
        }
    }

    fn is_own(&self, url: &Url) -> bool {
        self.origin.as_ref().is_none_or(|origin| url.same_origin(origin))
    }

    /// Returns a request with, to the client's own origin, its credentials.
    fn request(
        &self,
        method: &Method,
        url: &Url,
        mut headers: HeaderMap,
        is_own: bool,
    ) -> Result<http::request::Builder, Failure> {
        if is_own
            && let Some(value) =
                self.credentials.header().map_err(|error| Failure::Setup(error.to_string()))?
        {
            headers.insert(http::header::AUTHORIZATION, value);
        }
        let mut request = http::Request::builder().method(method.clone());
        if let Some(all) = request.headers_mut() {
            *all = headers;
        }
        Ok(request.uri(url.uri()?))
    }
}

/// Reads a response of at most `limit` bytes.
async fn read(response: http::Response<ResponseBody>, limit: usize) -> Result<Answer, Failure> {
    let (head, mut body) = response.into_parts();
    let announced =
        head.headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    let too_large = || Failure::TooLarge { limit };
    if announced.is_some_and(|length| length > limit as u64) {
        return Err(too_large());
    }
    let expected = body.size_hint().exact().and_then(|length| usize::try_from(length).ok()).unwrap_or(0);
    let mut whole = BytesMut::with_capacity(expected.min(limit));
    while let Some(frame) = body.frame().await {
        if let Some(chunk) = frame?.data_ref() {
            if whole.len() + chunk.len() > limit {
                return Err(too_large());
            }
            whole.extend_from_slice(chunk);
        }
    }
    Ok(Answer { status: head.status, headers: head.headers, body: whole.freeze() })
}

/// Takes over a connection whose server agrees to speak `asked_for`.
async fn upgraded(
    mut response: http::Response<hyper::body::Incoming>,
    asked_for: Option<&HeaderValue>,
    limits: StreamLimits,
) -> Result<Upgraded, Failure> {
    let agreed = headers::forward(response.headers_mut());
    let same = |a: &HeaderValue, b: &HeaderValue| a.as_bytes().eq_ignore_ascii_case(b.as_bytes());
    let is_same = asked_for.zip(agreed.as_ref()).is_some_and(|(a, b)| same(a, b));
    if !is_same {
        return Err(Failure::Protocol("the server switched to a protocol that was not asked for".into()));
    }
    let stream = hyper::upgrade::on(&mut response).await.map_err(|error| broken(&error))?;
    let (response, _) = response.into_parts();
    Ok(Upgraded { response, stream: Box::new(hyper_util::rt::TokioIo::new(stream)), limits })
}

fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}
