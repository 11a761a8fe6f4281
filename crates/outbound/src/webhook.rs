//! Posting reviews to webhooks: which responses count as answers, and which failures are retried.

use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER};
use http::{HeaderMap, Method};
use pintle_meta::{Reason, ServerResponse, Status};
use pintle_runtime::{Clock, Random, Stopwatch};

use crate::Failure;
use crate::client::{Answer, Client, ClientOptions};
use crate::kubeconfig::Kubeconfig;
use crate::tls::SetupError;
use crate::url::Url;

/// Delays and number of attempts of a review whose failure may be transient.
#[derive(Clone, Copy, Debug)]
pub struct Backoff {
    /// Before the second attempt; half as much more before each further one, and up to a fifth on top by chance.
    pub first: Duration,
    pub attempts: u32,
}

impl Default for Backoff {
    fn default() -> Backoff {
        Backoff { first: Duration::from_millis(500), attempts: 5 }
    }
}

/// Number of `Retry-After` responses that are followed within one attempt.
const MOST_RETRIES_AFTER: u32 = 10;
/// Bytes that a message shows of a body that is no `Status`.
const MOST_SHOWN: usize = 2048;

/// A webhook that answers reviews.
pub struct Webhook {
    client: Client,
    url: Url,
    backoff: Backoff,
    clock: Clock,
    random: Random,
}

/// The reason why there is no answer to a review.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    #[error("{0}")]
    Transport(#[from] crate::Error),
    #[error("{}", .0.message)]
    Status(Box<Status>),
    /// A response that is no review.
    #[error("{0}")]
    Garbage(String),
}

impl Error {
    fn is_transient(&self) -> bool {
        match self {
            Error::Transport(error) => error.failure.is_transient(),
            Error::Status(status) => {
                let delay = status.details.as_ref().is_some_and(|details| details.retry_after_seconds > 0);
                let reasons =
                    [Reason::InternalError, Reason::Timeout, Reason::TooManyRequests, Reason::ServerTimeout];
                reasons.contains(&status.reason) || delay
            }
            Error::Garbage(_) => false,
        }
    }

    pub fn is_timeout(&self) -> bool {
        matches!(self, Error::Transport(error) if error.failure.is_timeout())
    }
}

/// One attempt, for metrics.
#[derive(Clone, Copy, Debug)]
pub struct Attempt<'a> {
    /// The HTTP code, if there was an answer.
    pub code: Option<u16>,
    pub error: Option<&'a Error>,
    pub duration: Duration,
}

impl Webhook {
    /// Returns the webhook that a kubeconfig names, which also has its TLS options and credentials; all other options are the
    /// caller's. Posts go to the server's URL as it is, with `?timeout=`, as those of client-go.
    pub fn from_kubeconfig(
        kubeconfig: &Kubeconfig,
        options: ClientOptions,
        backoff: Backoff,
    ) -> Result<Webhook, SetupError> {
        let ClientOptions { tls, authorization, .. } = kubeconfig.client_options();
        Webhook::new(&kubeconfig.server, ClientOptions { tls, authorization, ..options }, backoff)
    }

    /// Returns the webhook at a URL, whose query is not sent.
    pub fn new(url: &Url, options: ClientOptions, backoff: Backoff) -> Result<Webhook, SetupError> {
        let timeout = options.timeout;
        let nanos = i64::try_from(timeout.as_nanos()).unwrap_or(i64::MAX);
        let query = format!("timeout={}", pintle_meta::format_duration(nanos));
        let to = if timeout.is_zero() { url.clone() } else { url.with_query(&query) };
        let (clock, random) = (options.clock.clone(), options.random.clone());
        Ok(Webhook { client: Client::new(url, options)?, url: to, backoff, clock, random })
    }

    /// Posts a review and returns the answer. Retries transient failures with backoff; calls `observe` after every attempt.
    pub async fn post(
        &self,
        review: Bytes,
        mut observe: impl FnMut(Attempt<'_>) + Send,
    ) -> Result<Bytes, Error> {
        let mut wait = self.backoff.first;
        let mut attempt = 1;
        loop {
            let start = Stopwatch::start();
            let (code, result) = self.attempt(&review).await;
            observe(Attempt { code, error: result.as_ref().err(), duration: start.elapsed() });
            match result {
                Err(error) if error.is_transient() && attempt < self.backoff.attempts => {
                    tracing::debug!(%error, "a webhook failed and is tried again");
                    self.clock.sleep(self.random.jitter(wait, 0.2)).await;
                    wait = wait.mul_f64(1.5);
                    attempt += 1;
                }
                result => return result,
            }
        }
    }

    /// Posts a document that needs no answer: any code of success will do. Retries every failure with backoff, since a webhook that
    /// refuses today may be repaired.
    pub async fn deliver(&self, document: Bytes) -> Result<(), Error> {
        let mut wait = self.backoff.first;
        let mut attempt = 1;
        loop {
            let error = match self.attempt(&document).await {
                // The body says nothing that counts, unless it is a failure.
                (_, Ok(_)) | (Some(200..=206), Err(Error::Garbage(_))) => return Ok(()),
                (_, Err(error)) => error,
            };
            if attempt >= self.backoff.attempts {
                return Err(error);
            }
            tracing::debug!(%error, "a webhook failed and is tried again");
            self.clock.sleep(self.random.jitter(wait, 0.2)).await;
            wait = wait.mul_f64(1.5);
            attempt += 1;
        }
    }

    /// Posts a review that must be answered within `limit`, which `?timeout=` tells the webhook, in seconds and rounded up. Only
    /// `Retry-After` is followed, within the same limit.
    pub async fn post_within(&self, review: Bytes, limit: Duration) -> Result<Bytes, Error> {
        let start = self.clock.instant();
        let left = || limit.saturating_sub(self.clock.instant().saturating_duration_since(start));
        let seconds = limit.as_secs() + u64::from(limit.subsec_nanos() > 0);
        let nanos = i64::try_from(seconds).unwrap_or(i64::MAX).saturating_mul(1_000_000_000);
        let url = self.url.with_query(&format!("timeout={}", pintle_meta::format_duration(nanos)));
        let mut retries = 0;
        loop {
            let sent = self.client.send_within(Method::POST, &url, headers(), review.clone(), left()).await;
            let answer = sent.map_err(|(failure, has_header)| match has_header {
                false => Error::Transport(failure.at(&Method::POST, &url)),
                true => Error::Garbage(format!(
                    "unexpected error when reading response body. Please retry. Original error: {failure}"
                )),
            })?;
            let code = answer.status.as_u16();
            match retry_after(&answer).filter(|_| code == 429 || code >= 500) {
                Some(seconds) if retries < MOST_RETRIES_AFTER => {
                    retries += 1;
                    let (wait, left) = (Duration::from_secs(seconds), left());
                    self.clock.sleep(wait.min(left)).await;
                    if wait >= left {
                        return Err(Failure::DeadlineExceeded.at(&Method::POST, &url).into());
                    }
                }
                _ => return review_of(answer),
            }
        }
    }

    async fn attempt(&self, review: &Bytes) -> (Option<u16>, Result<Bytes, Error>) {
        let mut retries = 0;
        loop {
            let answer = match self.client.send(Method::POST, &self.url, headers(), review.clone()).await {
                Ok(answer) => answer,
                Err(error) => return (None, Err(error.into())),
            };
            let code = answer.status.as_u16();
            match retry_after(&answer).filter(|_| code == 429 || code >= 500) {
                Some(seconds) if retries < MOST_RETRIES_AFTER => {
                    retries += 1;
                    // No longer than for a webhook that does not answer at all.
                    let wait = Duration::from_secs(seconds).min(self.client.timeout());
                    self.clock.sleep(wait).await;
                }
                _ => return (Some(code), review_of(answer)),
            }
        }
    }
}

fn headers() -> HeaderMap {
    const JSON: HeaderValue = HeaderValue::from_static("application/json");
    const ACCEPTED: HeaderValue = HeaderValue::from_static("application/json, */*");
    let all: [(HeaderName, HeaderValue); 2] = [(CONTENT_TYPE, JSON), (ACCEPT, ACCEPTED)];
    all.into_iter().collect()
}

fn retry_after(answer: &Answer) -> Option<u64> {
    answer.headers.get(RETRY_AFTER)?.to_str().ok()?.parse().ok()
}

/// Returns the body of a response, or the failure that its body or code stands for.
fn review_of(answer: Answer) -> Result<Bytes, Error> {
    let code = answer.status.as_u16();
    let content_type =
        answer.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if (200..=206).contains(&code) {
        if answer.body.is_empty() {
            return Err(Error::Garbage(format!(
                "0-length response with status code: {code} and content type: {content_type}"
            )));
        }
        return match status_of(&answer.body) {
            Some(status) if status.is_failure() => Err(Error::Status(Box::new(status))),
            _ => Ok(answer.body),
        };
    }
    if let Some(status) = status_of(&answer.body).filter(Status::is_failure) {
        return Err(Error::Status(Box::new(status)));
    }
    let is_text = content_type.is_empty() || content_type.trim_start().starts_with("text/");
    let shown = if is_text {
        let part = answer.body.get(..MOST_SHOWN).unwrap_or(&answer.body);
        String::from_utf8_lossy(part).trim().to_owned()
    } else {
        "unknown".into()
    };
    let seconds = retry_after(&answer).and_then(|seconds| u32::try_from(seconds).ok()).unwrap_or(0);
    let response = ServerResponse {
        code,
        verb: "POST",
        message: &shown,
        retry_after_seconds: seconds,
        unexpected: true,
        ..ServerResponse::default()
    };
    Err(Error::Status(Box::new(response.into())))
}

fn status_of(body: &[u8]) -> Option<Status> {
    // Most answers are no failures, so look before reading.
    let text = std::str::from_utf8(body).ok()?;
    if !text.contains("\"Status\"") {
        return None;
    }
    let value = pintle_codec::json::decode_untyped(body).ok()?.value;
    let is = |key: &str, expect: &str| value.get(key).and_then(|value| value.as_str()) == Some(expect);
    (is("kind", "Status") && is("apiVersion", "v1")).then(|| Status::from_value(&value))
}
