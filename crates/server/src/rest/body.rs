//! What a client sends, up to a limit.

use bytes::{Bytes, BytesMut};
use http::header::CONTENT_TYPE;
use http_body_util::BodyExt;
use pintle_codec::negotiate::{self, Encoding};
use pintle_meta::Status;

use super::{Result, bad_request};
use crate::Request;
use crate::request::RequestBody;

/// As the reference bounds it: what a store takes at once, twice.
pub(crate) const MAX_BODY: usize = 3 * 1024 * 1024;

/// Reads the whole body of a request.
pub(crate) async fn read(body: &mut RequestBody) -> Result<Bytes> {
    let too_large = || Box::new(Status::request_entity_too_large(format_args!("limit is {MAX_BODY}")));
    let mut whole = BytesMut::new();
    let mut first = None;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| bad_request(format!("unable to read the body: {error}")))?;
        let Ok(data) = frame.into_data() else { continue };
        if whole.len() + data.len() + first.as_ref().map_or(0, Bytes::len) > MAX_BODY {
            return Err(too_large());
        }
        // Mostly there is one part, which need not be copied.
        match first.take() {
            None if whole.is_empty() => first = Some(data),
            None => whole.extend_from_slice(&data),
            Some(before) => {
                whole.extend_from_slice(&before);
                whole.extend_from_slice(&data);
            }
        }
    }
    Ok(first.unwrap_or_else(|| whole.freeze()))
}

/// In what the body is written.
pub(crate) fn encoding(request: &Request, supported: &'static [Encoding]) -> Result<Encoding> {
    let content_type = request.header(&CONTENT_TYPE).unwrap_or_default();
    negotiate::input(content_type, supported).ok_or_else(|| {
        let known: Vec<&str> = supported.iter().map(|encoding| encoding.media_type()).collect();
        Box::new(Status::unsupported_media_type(&known))
    })
}
