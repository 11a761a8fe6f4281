//! Request bodies, read up to a limit.

use std::io;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::CONTENT_TYPE;
use http_body_util::BodyExt;
use pintle_codec::negotiate::{self, Encoding};
use pintle_meta::Status;

use super::Result;
use crate::Request;
use crate::overload::{ReservedBytes, without_slot};
use crate::request::RequestBody;

/// Limit on a body, as in the reference: twice what a store takes at once.
pub(crate) const MAX_BODY: usize = 3 * 1024 * 1024;

/// Limit on the bytes of a longer body that are read and ignored, so that the client gets the answer; and on the time.
const MAX_IGNORED: usize = MAX_BODY;
const IGNORING: Duration = Duration::from_secs(5);

/// Cost of YAML in relation to as much JSON.
const YAML: usize = 4;

/// Reads the whole body of a request, without its slot if the client takes its time. A request with a long body moves to the
/// pool.
pub(crate) async fn read(request: &mut Request) -> Result<Bytes> {
    let slot = request.slot.clone();
    let bytes = without_slot(slot.as_ref(), whole(&mut request.body, request.reserved.as_mut())).await?;
    let content_type = request.header(&CONTENT_TYPE).unwrap_or_default();
    pintle_work::aside(weight(content_type, bytes.len())).await;
    Ok(bytes)
}

/// The cost of decoding a body, as bytes of JSON. A type that says nothing may be the costliest.
fn weight(content_type: &str, length: usize) -> usize {
    let is_yaml = !["json", "protobuf", "cbor"].iter().any(|known| content_type.contains(known));
    if is_yaml { length.saturating_mul(YAML) } else { length }
}

async fn whole(body: &mut RequestBody, mut reserved: Option<&mut ReservedBytes>) -> Result<Bytes> {
    let mut whole = BytesMut::new();
    let mut first: Option<Bytes> = None;
    while let Some(data) = next(body).await? {
        let length = whole.len() + data.len() + first.as_ref().map_or(0, Bytes::len);
        if length > MAX_BODY {
            let _ = tokio::time::timeout(IGNORING, ignore(body)).await;
            let message = format_args!("limit is {MAX_BODY}");
            return Err(Box::new(Status::request_entity_too_large(message)));
        }
        if let Some(reserved) = &mut reserved {
            reserved.grow(length)?;
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

async fn next(body: &mut RequestBody) -> Result<Option<Bytes>> {
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| Box::new(Status::plain(reason(&*error))))?;
        if let Ok(data) = frame.into_data() {
            return Ok(Some(data));
        }
    }
    Ok(None)
}

async fn ignore(body: &mut RequestBody) {
    let mut ignored = 0;
    while let Ok(Some(data)) = next(body).await {
        ignored += data.len();
        if ignored > MAX_IGNORED {
            return;
        }
    }
}

/// Why a body came to no proper end, in the reference's words.
fn reason(error: &(dyn std::error::Error + 'static)) -> &'static str {
    let mut cause = Some(error);
    while let Some(error) = cause {
        match error.downcast_ref::<io::Error>().map(io::Error::kind) {
            Some(io::ErrorKind::UnexpectedEof) => return "unexpected EOF",
            Some(io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData) => {
                return "malformed chunked encoding";
            }
            _ => cause = error.source(),
        }
    }
    "unexpected EOF"
}

/// Returns the encoding of the body.
pub(crate) fn encoding(request: &Request, supported: &'static [Encoding]) -> Result<Encoding> {
    let content_type = request.header(&CONTENT_TYPE).unwrap_or_default();
    negotiate::input(content_type, supported).ok_or_else(|| {
        let known: Vec<&str> = supported.iter().map(|encoding| encoding.media_type()).collect();
        Box::new(Status::unsupported_media_type(&known))
    })
}
