//! One origin, and how we present ourselves to it.

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::{Bytes, BytesMut};
use http::header::{AUTHORIZATION, CONTENT_LENGTH, HOST, HeaderValue, LOCATION, USER_AGENT};
use http::{HeaderMap, Method, StatusCode, Uri};
use http_body::Body;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;

use crate::dial::{Connection, Dialer};
use crate::egress::Egress;
use crate::error::broken;
use crate::pool::Pool;
use crate::services::{Address, Service};
use crate::tls::{SetupError, Tls, TlsOptions, read_file};
use crate::url::Url;
use crate::{Error, Failure};

/// How long the content of a token file is relied on.
const TOKEN_LIFE: Duration = Duration::from_secs(60);
/// As many as Go's client follows.
const MOST_REDIRECTS: usize = 10;
const OWN_NAME: HeaderValue = HeaderValue::from_static(concat!("pintle/", env!("CARGO_PKG_VERSION")));

/// How to say who we are.
#[derive(Clone, Default, PartialEq, Eq)]
pub enum Authorization {
    #[default]
    None,
    Bearer(String),
    /// Read again from time to time, since tokens in files are rotated.
    BearerFile(PathBuf),
    Basic {
        user: String,
        password: String,
    },
}

#[derive(Clone)]
pub struct ClientOptions {
    pub tls: TlsOptions,
    pub authorization: Authorization,
    /// For one request, its answer read to the end.
    pub timeout: Duration,
    /// How many bytes an answer may have.
    pub largest_answer: usize,
    /// Whether GETs go where answers send them, over TLS and without our credentials. Nothing else is ever sent elsewhere.
    pub follow_redirects: bool,
    /// Where the origin is a service of the cluster, which is looked up before every request.
    pub service: Option<Service>,
    /// The way of connections, if it is not the straight one.
    pub egress: Option<Egress>,
}

impl Default for ClientOptions {
    fn default() -> ClientOptions {
        ClientOptions {
            tls: TlsOptions::default(),
            authorization: Authorization::None,
            timeout: Duration::from_secs(30),
            largest_answer: 3 << 20,
            follow_redirects: false,
            service: None,
            egress: None,
        }
    }
}

/// An answer, whole.
#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// Talks to one origin. Cheap to call from many tasks at once.
pub struct Client {
    origin: Url,
    options: ClientOptions,
    dialer: Dialer,
    pool: Pool,
    token: Mutex<Option<(Instant, HeaderValue)>>,
}

impl Client {
    /// The path of `origin` means nothing here; requests bring their own.
    pub fn new(origin: &Url, options: ClientOptions) -> Result<Client, SetupError> {
        let dialer = Dialer { tls: Tls::new(options.tls.clone())?, egress: options.egress.clone() };
        let client = Client {
            origin: origin.clone(),
            options,
            dialer,
            pool: Pool::default(),
            token: Mutex::new(None),
        };
        // What is wrong with credentials is better known now than with the first request.
        client.authorization()?;
        Ok(client)
    }

    pub fn timeout(&self) -> Duration {
        self.options.timeout
    }

    pub async fn get(&self, url: &Url) -> Result<Answer, Error> {
        self.send(Method::GET, url, HeaderMap::new(), Bytes::new()).await
    }

    /// Sends a request to a URL of this client's origin and reads the answer to its end.
    pub async fn send(
        &self,
        method: Method,
        url: &Url,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<Answer, Error> {
        let progress = Mutex::new(false);
        let exchange = self.exchange(&method, url, headers, body, &progress);
        let result = match tokio::time::timeout(self.options.timeout, exchange).await {
            Ok(result) => result,
            Err(_) if *progress.lock().unwrap_or_else(PoisonError::into_inner) => Err(Failure::TimeoutInBody),
            Err(_) => Err(Failure::Timeout),
        };
        result.map_err(|failure| failure.at(&method, url))
    }

    async fn exchange(
        &self,
        method: &Method,
        url: &Url,
        headers: HeaderMap,
        body: Bytes,
        has_header: &Mutex<bool>,
    ) -> Result<Answer, Failure> {
        let mut url = url.clone();
        for _ in 0..=MOST_REDIRECTS {
            let at_home = url.same_origin(&self.origin);
            let request = self.request(method, &url, &headers, at_home)?;
            let away = Pool::default();
            let pool = if at_home { &self.pool } else { &away };
            let address = match self.options.service.as_ref().filter(|_| at_home) {
                Some(service) => service.address().await.map_err(Failure::Unresolved)?,
                None => Address::of(&url),
            };
            let answer = self.round_trip(pool, &address, &url, request, body.clone(), has_header).await?;
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

    fn request(
        &self,
        method: &Method,
        url: &Url,
        headers: &HeaderMap,
        at_home: bool,
    ) -> Result<http::request::Builder, Failure> {
        let mut request = http::Request::builder().method(method.clone());
        if let Some(all) = request.headers_mut() {
            *all = headers.clone();
            all.entry(USER_AGENT).or_insert(OWN_NAME);
            if at_home
                && let Some(value) =
                    self.authorization().map_err(|error| Failure::Setup(error.to_string()))?
            {
                all.insert(AUTHORIZATION, value);
            }
        }
        Ok(request.uri(uri(url)?))
    }

    /// A connection that was kept may be dead. What was not sent then is sent on another; a GET even if it was.
    async fn round_trip(
        &self,
        pool: &Pool,
        address: &Address,
        url: &Url,
        request: http::request::Builder,
        body: Bytes,
        has_header: &Mutex<bool>,
    ) -> Result<Answer, Failure> {
        let request = request.body(Full::new(body)).map_err(|error| Failure::Protocol(error.to_string()))?;
        let (mut connection, reused) = pool.connection(address, url, &self.dialer).await?;
        let again = (reused && request.method() == Method::GET).then(|| request.clone());
        match self.attempt(pool, connection, address, url, request, has_header).await {
            Err((failure, unsent)) => {
                let Some(request) = unsent.or(again).filter(|_| reused) else { return Err(failure) };
                connection = pool.fresh(address, url, &self.dialer).await?;
                self.attempt(pool, connection, address, url, request, has_header)
                    .await
                    .map_err(|(failure, _)| failure)
            }
            Ok(answer) => Ok(answer),
        }
    }

    /// One request on one connection; a failure comes with the request if it was not sent.
    async fn attempt(
        &self,
        pool: &Pool,
        connection: Connection,
        address: &Address,
        url: &Url,
        mut request: http::Request<Full<Bytes>>,
        has_header: &Mutex<bool>,
    ) -> Result<Answer, (Failure, Option<http::Request<Full<Bytes>>>)> {
        let failed = |mut error: hyper::client::conn::TrySendError<http::Request<Full<Bytes>>>| {
            let unsent = error.take_message();
            (broken(error.error()), unsent)
        };
        match connection {
            Connection::Http2(mut sender) => {
                let response = sender.try_send_request(request).await.map_err(failed)?;
                self.read(response, has_header).await.map_err(|failure| (failure, None))
            }
            Connection::Http1(mut sender) => {
                let host = HeaderValue::try_from(url.authority())
                    .map_err(|error| (Failure::Protocol(error.to_string()), None))?;
                request.headers_mut().insert(HOST, host);
                let relative: Uri = url
                    .path_and_query()
                    .parse()
                    .map_err(|error: http::uri::InvalidUri| (Failure::Protocol(error.to_string()), None))?;
                let absolute = std::mem::replace(request.uri_mut(), relative);
                if let Err(error) = sender.ready().await {
                    *request.uri_mut() = absolute;
                    return Err((broken(&error), Some(request)));
                }
                let response = sender.try_send_request(request).await.map_err(failed)?;
                let answer = self.read(response, has_header).await.map_err(|failure| (failure, None))?;
                pool.keep(address, sender);
                Ok(answer)
            }
        }
    }

    async fn read(
        &self,
        response: http::Response<Incoming>,
        has_header: &Mutex<bool>,
    ) -> Result<Answer, Failure> {
        *has_header.lock().unwrap_or_else(PoisonError::into_inner) = true;
        let limit = self.options.largest_answer;
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
            let frame = frame.map_err(|error| broken(&error))?;
            if let Some(chunk) = frame.data_ref() {
                if whole.len() + chunk.len() > limit {
                    return Err(too_large());
                }
                whole.extend_from_slice(chunk);
            }
        }
        Ok(Answer { status: head.status, headers: head.headers, body: whole.freeze() })
    }

    fn authorization(&self) -> Result<Option<HeaderValue>, SetupError> {
        let secret = |text: String| {
            let mut value = HeaderValue::try_from(text)
                .map_err(|_| SetupError("the credentials cannot be sent in a header".into()))?;
            value.set_sensitive(true);
            Ok(value)
        };
        match &self.options.authorization {
            Authorization::None => Ok(None),
            Authorization::Bearer(token) => secret(format!("Bearer {token}")).map(Some),
            Authorization::Basic { user, password } => {
                secret(format!("Basic {}", STANDARD.encode(format!("{user}:{password}")))).map(Some)
            }
            Authorization::BearerFile(path) => {
                let mut known = self.token.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some((_, value)) = known.as_ref().filter(|(since, _)| since.elapsed() < TOKEN_LIFE) {
                    return Ok(Some(value.clone()));
                }
                let text = read_file(path)
                    .and_then(|text| {
                        String::from_utf8(text)
                            .map_err(|_| SetupError(format!("{} is not a token", path.display())))
                    })
                    .and_then(|text| match text.trim() {
                        "" => Err(SetupError(format!(
                            "read empty token from file {}",
                            pintle_meta::quote(&path.display().to_string())
                        ))),
                        token => secret(format!("Bearer {token}")),
                    });
                match (text, known.as_ref()) {
                    (Ok(value), _) => {
                        *known = Some((Instant::now(), value.clone()));
                        Ok(Some(value))
                    }
                    // A file that is being replaced: the last token is the best there is.
                    (Err(error), Some((_, old))) => {
                        tracing::error!(%error, "cannot read a token again, the old one stays");
                        Ok(Some(old.clone()))
                    }
                    (Err(error), None) => Err(error),
                }
            }
        }
    }
}

fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

fn uri(url: &Url) -> Result<Uri, Failure> {
    let scheme = if url.https { "https" } else { "http" };
    format!("{scheme}://{}{}", url.authority(), url.path_and_query())
        .parse()
        .map_err(|error: http::uri::InvalidUri| Failure::Protocol(error.to_string()))
}
