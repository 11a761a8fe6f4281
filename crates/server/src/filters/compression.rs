//! Long answers are compressed for clients that ask for it, while they are sent: never more than a part is held, and no
//! part takes so long that other requests would notice.

use std::io::Write;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use async_trait::async_trait;
use bytes::Bytes;
use flate2::write::GzEncoder;
use futures_core::Stream;
use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, HeaderValue, VARY};
use http::{Method, StatusCode};
use http_body::Body as _;

use crate::body::Error;
use crate::filter::{Filter, Next};
use crate::{Body, Request, Response};

/// API answers longer than this are worth it.
const LONG: u64 = 128 * 1024;
/// The OpenAPI 2 document goes through another library in the reference, with a limit of its own.
const LONG_DOCUMENT: u64 = 1399;
/// The least work, for results that are hardly longer.
const LEVEL: u32 = 1;
/// Bytes that are compressed at once.
const PART: usize = 128 * 1024;
/// Bytes of compressed output from which on it is sent.
const WORTH_SENDING: usize = 16 * 1024;

pub struct Compression {
    /// Whether answers of the API are compressed at all (feature gate `APIResponseCompression`).
    pub api: bool,
}

#[async_trait]
impl Filter for Compression {
    async fn handle(&self, request: Box<Request>, next: Next<'_>) -> Response {
        let longer_than = self.min_length(&request);
        let response = next.run(request).await;
        match longer_than {
            Some(limit) if is_longer(&response, limit) => compressed(response, limit == LONG),
            _ => response,
        }
    }
}

impl Compression {
    /// Returns the length from which on the answer is compressed; `None` for never.
    fn min_length(&self, request: &Request) -> Option<u64> {
        if request.parts.method == Method::HEAD || request.info.is_long_running() {
            return None;
        }
        let accepted = request.header(&ACCEPT_ENCODING)?;
        match request.info.path.as_str() {
            "/openapi/v2" => accepts_gzip(accepted).then_some(LONG_DOCUMENT),
            "/metrics" | "/metrics/slis" => accepts_gzip(accepted).then_some(0),
            "/api" | "/apis" => (self.api && names_gzip(accepted)).then_some(LONG),
            path if path.starts_with("/api/") || path.starts_with("/apis/") => {
                (self.api && names_gzip(accepted)).then_some(LONG)
            }
            _ => None,
        }
    }
}

/// Whether `Accept-Encoding` has the bare word, as the API requires: a client that attaches a weight to it gets no compression.
fn names_gzip(accepted: &str) -> bool {
    accepted.split(',').any(|token| token.trim() == "gzip")
}

/// Returns whether `Accept-Encoding` allows gzip, weights included: for paths outside of the API.
fn accepts_gzip(accepted: &str) -> bool {
    accepted.split(',').any(|clause| {
        let mut parts = clause.split(';').map(str::trim);
        let refused =
            |part: &str| part.strip_prefix("q=").is_some_and(|q| q.parse::<f32>().unwrap_or(0.0) <= 0.0);
        parts.next().is_some_and(|coding| coding.eq_ignore_ascii_case("gzip")) && !parts.any(refused)
    })
}

/// Whether a body is longer than the limit. One of unknown length is taken to be: it is streamed because it is long.
fn is_longer(response: &Response, limit: u64) -> bool {
    let fits = response.status() != StatusCode::PARTIAL_CONTENT
        && !response.headers().contains_key(CONTENT_ENCODING)
        && !response.body().is_passed_on();
    fits && response.body().size_hint().exact().is_none_or(|length| length > limit)
}

fn compressed(response: Response, vary: bool) -> Response {
    let mut response = response.map(|body| Body::stream(Compressed::new(body)));
    let headers = response.headers_mut();
    headers.remove(CONTENT_LENGTH);
    headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    if vary {
        headers.append(VARY, HeaderValue::from_static("Accept-Encoding"));
    }
    response
}

struct Compressed {
    body: Body,
    /// The bytes of the body that have come and are not compressed yet.
    rest: Bytes,
    /// Gone once everything is.
    encoder: Option<GzEncoder<Vec<u8>>>,
}

impl Compressed {
    fn new(body: Body) -> Compressed {
        let encoder = GzEncoder::new(Vec::new(), flate2::Compression::new(LEVEL));
        Compressed { body, rest: Bytes::new(), encoder: Some(encoder) }
    }
}

impl Stream for Compressed {
    type Item = Result<Bytes, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Error>>> {
        let this = &mut *self;
        let Some(encoder) = &mut this.encoder else { return Poll::Ready(None) };
        if this.rest.is_empty() {
            match ready!(Pin::new(&mut this.body).poll_frame(cx)) {
                Some(Ok(frame)) => this.rest = frame.into_data().unwrap_or_default(),
                Some(Err(error)) => {
                    this.encoder = None;
                    return Poll::Ready(Some(Err(error)));
                }
                None => {
                    let end = this.encoder.take().map(GzEncoder::finish);
                    return Poll::Ready(end.map(|end| end.map(Bytes::from).map_err(Error::from)));
                }
            }
        }
        // A little more at once is better than a little left.
        let length = if this.rest.len() < 2 * PART { this.rest.len() } else { PART };
        let part = this.rest.split_to(length);
        if let Err(error) = encoder.write_all(&part) {
            this.encoder = None;
            return Poll::Ready(Some(Err(error.into())));
        }
        if encoder.get_ref().len() < WORTH_SENDING {
            // Others first: the next part may take just as long and bring as little.
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let room = Vec::with_capacity(encoder.get_ref().len());
        Poll::Ready(Some(Ok(std::mem::replace(encoder.get_mut(), room).into())))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use futures_util::StreamExt;
    use http_body_util::BodyExt;

    use super::*;

    fn unzipped(bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        flate2::read::GzDecoder::new(bytes).read_to_end(&mut out).unwrap();
        out
    }

    #[test]
    fn the_api_wants_the_bare_word_and_others_know_weights() {
        for (header, bare, weighted) in [
            ("gzip", true, true),
            ("deflate, gzip", true, true),
            ("gzip;q=0.5", false, true),
            ("gzip;q=0", false, false),
            ("GZIP", false, true),
            ("gzip, gzip;q=0", true, true),
            ("br", false, false),
            ("", false, false),
        ] {
            assert_eq!((names_gzip(header), accepts_gzip(header)), (bare, weighted), "{header:?}");
        }
    }

    #[tokio::test]
    async fn a_long_answer_is_compressed_part_by_part() {
        let text: Vec<u8> =
            (0..400_000_u32).flat_map(|number| number.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
        let mut whole = Compressed::new(Body::from(text.clone()));
        let mut out = Vec::new();
        while let Some(part) = whole.next().await {
            let part = part.unwrap();
            assert!(part.len() <= 3 * PART, "{}", part.len());
            out.extend(part);
        }
        assert_eq!(unzipped(&out), text);
        let parts = text.chunks(1000).map(|chunk| Ok(Bytes::copy_from_slice(chunk))).collect::<Vec<_>>();
        let body = Body::stream(futures_util::stream::iter(parts));
        let body = Body::stream(Compressed::new(body)).collect().await.unwrap().to_bytes();
        assert_eq!(unzipped(&body), text);
    }

    #[tokio::test]
    async fn a_long_answer_of_nothing_much_ends() {
        let text = vec![b'a'; 8 << 20];
        let body =
            Body::stream(Compressed::new(Body::from(text.clone()))).collect().await.unwrap().to_bytes();
        assert!(body.len() < text.len() / 100);
        assert_eq!(unzipped(&body), text);
    }

    #[tokio::test]
    async fn an_answer_that_breaks_stays_broken() {
        let parts = [Ok(Bytes::from_static(b"some")), Err(Error::from("broken"))];
        let body = Body::stream(futures_util::stream::iter(parts));
        assert!(Body::stream(Compressed::new(body)).collect().await.is_err());
    }
}
