//! Conditional and range requests of documents.

use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use http::header::{
    ACCEPT_RANGES, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG, HeaderMap, HeaderName, HeaderValue,
    IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE, IF_UNMODIFIED_SINCE, LAST_MODIFIED, RANGE,
};
use http::{Method, StatusCode};
use pintle_meta::time::Time;

use crate::{Body, Request, Response, respond};

/// Answers with `body`, a part of it, or only that the client has it already. `response` has the headers of the document, its
/// ETag among them if it has one.
pub(super) fn serve(
    request: &Request,
    mut response: Response,
    modified: SystemTime,
    body: Bytes,
) -> Response {
    let seconds = unix(modified);
    insert(response.headers_mut(), LAST_MODIFIED, &date(seconds, "GMT"));
    let etag = text(response.headers(), &ETAG).to_owned();
    match precondition(request, &etag, seconds) {
        Precondition::Passes => {}
        Precondition::NotModified => {
            let headers = response.headers_mut();
            headers.remove(CONTENT_TYPE);
            if !etag.is_empty() {
                headers.remove(LAST_MODIFIED);
            }
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            return response;
        }
        Precondition::Fails => {
            *response.status_mut() = StatusCode::PRECONDITION_FAILED;
            return response;
        }
    }
    response.headers_mut().insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    let whole = body.len();
    let body = match range(request, &etag, seconds, whole) {
        Range::GlobalDocuments => body,
        Range::Part(start, end) => {
            let part = format!("bytes {start}-{}/{whole}", end.saturating_sub(1));
            insert(response.headers_mut(), CONTENT_RANGE, &part);
            *response.status_mut() = StatusCode::PARTIAL_CONTENT;
            body.slice(start..end)
        }
        Range::Outside => {
            let mut refusal =
                respond::text_error(StatusCode::RANGE_NOT_SATISFIABLE, "invalid range: failed to overlap");
            insert(refusal.headers_mut(), CONTENT_RANGE, &format!("bytes */{whole}"));
            return refusal;
        }
    };
    response.headers_mut().insert(CONTENT_LENGTH, body.len().into());
    response.map(|_| Body::from(body))
}

/// Returns whether a conditional request is answered with 304, so that the document need not be made.
pub(super) fn is_known(request: &Request, etag: &str, modified: SystemTime) -> bool {
    matches!(precondition(request, etag, unix(modified)), Precondition::NotModified)
}

pub(super) fn insert(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> &'a str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

enum Precondition {
    Passes,
    NotModified,
    Fails,
}

fn precondition(request: &Request, etag: &str, modified: i64) -> Precondition {
    let header = |name: &HeaderName| request.header(name).filter(|value| !value.is_empty());
    let reads = matches!(request.parts.method, Method::GET | Method::HEAD);
    if let Some(wanted) = header(&IF_MATCH) {
        let same = |tag: &str| tag == "*" || (tag == etag && !tag.starts_with("W/"));
        if !tags(wanted).any(same) {
            return Precondition::Fails;
        }
    } else if let Some(since) = header(&IF_UNMODIFIED_SINCE).and_then(parse_date)
        && modified > since
    {
        return Precondition::Fails;
    }
    if let Some(known) = header(&IF_NONE_MATCH) {
        let weak = |tag: &str| tag.trim_start_matches("W/").to_owned();
        if !tags(known).any(|tag| tag == "*" || weak(tag) == weak(etag)) {
            return Precondition::Passes;
        }
        return if reads { Precondition::NotModified } else { Precondition::Fails };
    }
    match header(&IF_MODIFIED_SINCE).and_then(parse_date) {
        Some(since) if reads && modified <= since => Precondition::NotModified,
        _ => Precondition::Passes,
    }
}

fn tags(header: &str) -> impl Iterator<Item = &str> {
    header.split(',').map(str::trim)
}

enum Range {
    GlobalDocuments,
    Part(usize, usize),
    Outside,
}

/// One range at most: a request for several gets the whole document, which is always allowed.
fn range(request: &Request, etag: &str, modified: i64, length: usize) -> Range {
    let Some(spec) = request.header(&RANGE).and_then(|range| range.strip_prefix("bytes=")) else {
        return Range::GlobalDocuments;
    };
    if let Some(condition) = request.header(&IF_RANGE).filter(|value| !value.is_empty()) {
        let same = match parse_date(condition) {
            Some(date) => date == modified,
            None => condition == etag && !condition.starts_with("W/"),
        };
        if !same {
            return Range::GlobalDocuments;
        }
    }
    let Some((start, end)) = spec.trim().split_once('-').filter(|_| !spec.contains(',')) else {
        return Range::GlobalDocuments;
    };
    match (start.trim().parse::<usize>(), end.trim().parse::<usize>()) {
        (Ok(start), _) if start >= length => Range::Outside,
        (Ok(start), Ok(end)) if end >= start => Range::Part(start, end.saturating_add(1).min(length)),
        (Ok(start), Err(_)) if end.trim().is_empty() => Range::Part(start, length),
        (Err(_), Ok(last)) if start.trim().is_empty() && last > 0 => {
            Range::Part(length.saturating_sub(last), length)
        }
        _ => Range::Outside,
    }
}

pub(super) fn unix(time: SystemTime) -> i64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs().try_into().unwrap_or(i64::MAX))
}

const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// `Mon, 02 Jan 2006 15:04:05 GMT`; Go says `UTC` where it does not know of HTTP.
pub(super) fn date(seconds: i64, zone: &str) -> String {
    let ascii = Time::from_unix(seconds, 0).to_ascii().unwrap_or(*b"1970-01-01T00:00:00Z");
    let ascii = String::from_utf8_lossy(&ascii).into_owned();
    let part = |from: usize, to: usize| ascii.get(from..to).unwrap_or_default();
    let day = usize::try_from(seconds.div_euclid(86_400).rem_euclid(7)).unwrap_or_default();
    let month = part(5, 7).parse::<usize>().unwrap_or(1).saturating_sub(1);
    let (day, month) = (DAYS.get(day).unwrap_or(&""), MONTHS.get(month).unwrap_or(&""));
    format!("{day}, {} {month} {} {} {zone}", part(8, 10), part(0, 4), part(11, 19))
}

/// Parses the form that clients send; the two obsolete ones are not supported.
fn parse_date(text: &str) -> Option<i64> {
    let rest = text.get(5..).filter(|_| text.is_ascii() && text.ends_with(" GMT"))?;
    let mut parts = rest.split(' ');
    let (day, month, year, time) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let month = MONTHS.iter().position(|name| *name == month)? + 1;
    let time = Time::parse(&format!("{year}-{month:02}-{day}T{time}Z")).ok()?;
    Some(time.unix_seconds())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_http() {
        assert_eq!(date(0, "GMT"), "Thu, 01 Jan 1970 00:00:00 GMT");
        assert_eq!(date(1_136_214_245, "UTC"), "Mon, 02 Jan 2006 15:04:05 UTC");
        assert_eq!(parse_date("Mon, 02 Jan 2006 15:04:05 GMT"), Some(1_136_214_245));
        for text in
            ["", "Mon, 02 Jan 2006 15:04:05 MST", "Monday", "Mon, 99 Foo 2006 15:04:05 GMT", "ééééé GMT"]
        {
            assert_eq!(parse_date(text), None, "{text}");
        }
    }
}
