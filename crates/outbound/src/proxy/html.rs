//! Links in HTML pages, rewritten while a page streams.
//!
//! Only values of attributes that are links change; every other byte stays. A tag is held until it is complete, up to
//! [`LARGEST_TAG`] bytes, beyond which it is no tag.

use std::io::Write;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use flate2::Compression;
use flate2::write::{DeflateDecoder, DeflateEncoder, GzDecoder, GzEncoder};
use http_body::{Body, Frame};

use super::ProxiedBody;
use crate::body::BoxError;

const LARGEST_TAG: usize = 16 << 10;
/// Compressed bytes that are taken at once, so that what they become is bounded.
const PART: usize = 1 << 10;

/// Elements and their attributes that are links.
const LINKS: [(&str, &[&str]); 25] = [
    ("a", &["href"]),
    ("applet", &["codebase"]),
    ("area", &["href"]),
    ("audio", &["src"]),
    ("base", &["href"]),
    ("blockquote", &["cite"]),
    ("body", &["background"]),
    ("button", &["formaction"]),
    ("command", &["icon"]),
    ("del", &["cite"]),
    ("embed", &["src"]),
    ("form", &["action"]),
    ("frame", &["longdesc", "src"]),
    ("head", &["profile"]),
    ("html", &["manifest"]),
    ("iframe", &["longdesc", "src"]),
    ("img", &["longdesc", "src", "usemap"]),
    ("input", &["src", "usemap", "formaction"]),
    ("ins", &["cite"]),
    ("link", &["href"]),
    ("object", &["classid", "codebase", "data", "usemap"]),
    ("q", &["cite"]),
    ("script", &["src"]),
    ("source", &["src"]),
    ("video", &["poster", "src"]),
];
/// Elements whose content has no tags.
const RAW: [&str; 8] = ["script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes"];

/// Returns the new form of a link; `None` leaves it.
pub(super) type Rewrite = Box<dyn Fn(&str) -> Option<String> + Send>;

/// The compression of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coding {
    Plain,
    Gzip,
    Deflate,
}

impl Coding {
    /// Returns the coding that `Content-Encoding` names, if it is known.
    pub(super) fn named(name: &str) -> Option<Coding> {
        match name {
            "" => Some(Coding::Plain),
            "gzip" => Some(Coding::Gzip),
            "deflate" => Some(Coding::Deflate),
            _ => None,
        }
    }
}

/// A page whose links are rewritten.
pub(super) struct Page {
    body: ProxiedBody,
    codec: Codec,
    /// The end of the body after the last bytes of the page.
    last: Option<Option<Frame<Bytes>>>,
}

impl Page {
    pub(super) fn new(body: ProxiedBody, coding: Coding, rewrite: Rewrite) -> Page {
        let links = Links { rewrite, pending: Vec::new(), state: State::Text };
        let codec = match coding {
            Coding::Plain => Codec::Plain(links),
            Coding::Gzip => Codec::Gzip(
                Box::new(GzDecoder::new(Vec::new())),
                links,
                Box::new(GzEncoder::new(Vec::new(), Compression::fast())),
            ),
            Coding::Deflate => Codec::Deflate(
                Box::new(DeflateDecoder::new(Vec::new())),
                links,
                Box::new(DeflateEncoder::new(Vec::new(), Compression::fast())),
            ),
        };
        Page { body, codec, last: None }
    }
}

impl Body for Page {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        loop {
            if let Some(last) = &mut self.last {
                return Poll::Ready(last.take().map(Ok));
            }
            let out = match ready!(Pin::new(&mut self.body).poll_frame(context)) {
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => self.codec.push(&data)?,
                    Err(trailers) => {
                        self.last = Some(Some(trailers));
                        self.codec.finish()?
                    }
                },
                None => {
                    self.last = Some(None);
                    self.codec.finish()?
                }
            };
            if !out.is_empty() {
                return Poll::Ready(Some(Ok(Frame::data(out.into()))));
            }
        }
    }
}

enum Codec {
    Plain(Links),
    Gzip(Box<GzDecoder<Vec<u8>>>, Links, Box<GzEncoder<Vec<u8>>>),
    Deflate(Box<DeflateDecoder<Vec<u8>>>, Links, Box<DeflateEncoder<Vec<u8>>>),
}

impl Codec {
    fn push(&mut self, input: &[u8]) -> std::io::Result<Vec<u8>> {
        let mut out = Vec::new();
        match self {
            Codec::Plain(links) => links.push(input, &mut out),
            Codec::Gzip(decoder, links, encoder) => {
                for part in input.chunks(PART) {
                    decoder.write_all(part)?;
                    decoder.flush()?;
                    links.push(&std::mem::take(decoder.get_mut()), &mut out);
                    encoder.write_all(&std::mem::take(&mut out))?;
                }
                encoder.flush()?;
                out = std::mem::take(encoder.get_mut());
            }
            Codec::Deflate(decoder, links, encoder) => {
                for part in input.chunks(PART) {
                    decoder.write_all(part)?;
                    decoder.flush()?;
                    links.push(&std::mem::take(decoder.get_mut()), &mut out);
                    encoder.write_all(&std::mem::take(&mut out))?;
                }
                encoder.flush()?;
                out = std::mem::take(encoder.get_mut());
            }
        }
        Ok(out)
    }

    fn finish(&mut self) -> std::io::Result<Vec<u8>> {
        let mut out = Vec::new();
        match self {
            Codec::Plain(links) => links.finish(&mut out),
            Codec::Gzip(decoder, links, encoder) => {
                decoder.try_finish()?;
                links.push(&std::mem::take(decoder.get_mut()), &mut out);
                links.finish(&mut out);
                encoder.write_all(&out)?;
                encoder.try_finish()?;
                out = std::mem::take(encoder.get_mut());
            }
            Codec::Deflate(decoder, links, encoder) => {
                decoder.try_finish()?;
                links.push(&std::mem::take(decoder.get_mut()), &mut out);
                links.finish(&mut out);
                encoder.write_all(&out)?;
                encoder.try_finish()?;
                out = std::mem::take(encoder.get_mut());
            }
        }
        Ok(out)
    }
}

/// The links of a page, as it arrives.
struct Links {
    rewrite: Rewrite,
    /// Bytes that may be part of something longer.
    pending: Vec<u8>,
    state: State,
}

#[derive(Clone, Copy)]
enum State {
    Text,
    Comment,
    /// `</a>`, `<!doctype>`.
    Markup,
    Raw(&'static str),
}

struct Attribute {
    name: std::ops::Range<usize>,
    /// Without quotes.
    value: std::ops::Range<usize>,
    is_quoted: bool,
}

impl Links {
    fn push(&mut self, input: &[u8], out: &mut Vec<u8>) {
        let mut bytes = std::mem::take(&mut self.pending);
        bytes.extend_from_slice(input);
        let mut at = 0;
        while at < bytes.len() {
            match self.step(&bytes[at..], out) {
                Some(taken) => at += taken,
                None => break,
            }
        }
        self.pending = bytes.split_off(at);
    }

    fn finish(&mut self, out: &mut Vec<u8>) {
        out.append(&mut self.pending);
    }

    /// Writes what the bytes begin with; returns how many were taken. `None`: more must arrive.
    fn step(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Option<usize> {
        // A marker that may have arrived in part keeps its bytes back.
        let through = |marker: &[u8], out: &mut Vec<u8>| match find(bytes, marker) {
            Some(place) => {
                out.extend_from_slice(&bytes[..place + marker.len()]);
                (place + marker.len(), true)
            }
            None => {
                let taken = (bytes.len() + 1).saturating_sub(marker.len());
                out.extend_from_slice(&bytes[..taken]);
                (taken, false)
            }
        };
        let (taken, ends) = match self.state {
            State::Text => return self.text(bytes, out),
            State::Comment => through(b"-->", out),
            State::Markup => through(b">", out),
            State::Raw(name) => {
                let end = |place: &usize| {
                    bytes[place + 2..]
                        .get(..name.len())
                        .is_some_and(|at| at.eq_ignore_ascii_case(name.as_bytes()))
                };
                let mut places = (0..bytes.len()).filter(|place| bytes[*place..].starts_with(b"</"));
                let found = places.find(end);
                let taken = found.unwrap_or((bytes.len()).saturating_sub(name.len() + 2));
                out.extend_from_slice(&bytes[..taken]);
                (taken, found.is_some())
            }
        };
        if ends {
            self.state = State::Text;
        }
        (taken > 0 || ends).then_some(taken)
    }

    fn text(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Option<usize> {
        let Some(begin) = bytes.iter().position(|byte| *byte == b'<') else {
            out.extend_from_slice(bytes);
            return Some(bytes.len());
        };
        if begin > 0 {
            out.extend_from_slice(&bytes[..begin]);
            return Some(begin);
        }
        match bytes.get(1)? {
            b'!' if bytes.starts_with(b"<!--") => self.state = State::Comment,
            b'!' if b"<!--".starts_with(bytes) => return None,
            b'!' | b'/' | b'?' => self.state = State::Markup,
            first if first.is_ascii_alphabetic() => match tag(bytes) {
                Some((end, attributes)) => {
                    self.write_tag(&bytes[..end], &attributes, out);
                    return Some(end);
                }
                None if bytes.len() < LARGEST_TAG => return None,
                None => {}
            },
            _ => {}
        }
        out.push(b'<');
        Some(1)
    }

    fn write_tag(&mut self, tag: &[u8], attributes: &[Attribute], out: &mut Vec<u8>) {
        let name = &tag[1..name_end(tag, 1)];
        let is = |known: &str| name.eq_ignore_ascii_case(known.as_bytes());
        if let Some(raw) = RAW.into_iter().find(|raw| is(raw)) {
            self.state = State::Raw(raw);
        }
        let links = LINKS.iter().find(|(known, _)| is(known)).map_or(&[][..], |(_, links)| links);
        let mut written = 0;
        for attribute in attributes {
            let name = &tag[attribute.name.clone()];
            if !links.iter().any(|link| name.eq_ignore_ascii_case(link.as_bytes())) {
                continue;
            }
            let Ok(value) = std::str::from_utf8(&tag[attribute.value.clone()]) else { continue };
            let value = unescaped(value);
            let Some(new) = (self.rewrite)(&value).filter(|new| *new != value) else { continue };
            let quote = if attribute.is_quoted { "" } else { "\"" };
            out.extend_from_slice(&tag[written..attribute.value.start]);
            out.extend_from_slice(format!("{quote}{}{quote}", escaped(&new)).as_bytes());
            written = attribute.value.end;
        }
        out.extend_from_slice(&tag[written..]);
    }
}

fn find(bytes: &[u8], marker: &[u8]) -> Option<usize> {
    bytes.windows(marker.len()).position(|window| window == marker)
}

fn name_end(tag: &[u8], from: usize) -> usize {
    let ends = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'/' | b'>');
    tag[from..].iter().position(ends).map_or(tag.len(), |length| from + length)
}

/// Takes a start tag apart. Returns its end and its attributes; `None` if it is not complete.
fn tag(bytes: &[u8]) -> Option<(usize, Vec<Attribute>)> {
    let mut at = name_end(bytes, 1);
    let mut attributes = Vec::new();
    let skip_space = |mut at: usize| {
        while bytes.get(at).is_some_and(u8::is_ascii_whitespace) {
            at += 1;
        }
        at
    };
    loop {
        while bytes.get(at).is_some_and(|byte| byte.is_ascii_whitespace() || *byte == b'/') {
            at += 1;
        }
        if *bytes.get(at)? == b'>' {
            return Some((at + 1, attributes));
        }
        let begin = at;
        // A name may begin with `=`.
        at += 1;
        while !(matches!(bytes.get(at)?, b'=' | b'/' | b'>') || bytes[at].is_ascii_whitespace()) {
            at += 1;
        }
        let name = begin..at;
        at = skip_space(at);
        if *bytes.get(at)? != b'=' {
            continue;
        }
        at = skip_space(at + 1);
        let (value, is_quoted) = match bytes.get(at)? {
            quote @ (b'"' | b'\'') => {
                let length = bytes[at + 1..].iter().position(|byte| byte == quote)?;
                (at + 1..at + 1 + length, true)
            }
            _ => {
                let ends = |byte: &u8| byte.is_ascii_whitespace() || *byte == b'>';
                let length = bytes[at..].iter().position(ends)?;
                (at..at + length, false)
            }
        };
        at = value.end + usize::from(is_quoted);
        attributes.push(Attribute { name, value, is_quoted });
    }
}

const ESCAPES: [(&str, &str); 5] =
    [("&lt;", "<"), ("&gt;", ">"), ("&#34;", "\""), ("&#39;", "'"), ("&quot;", "\"")];

fn unescaped(value: &str) -> String {
    let value = ESCAPES.iter().fold(value.to_owned(), |value, (escape, plain)| value.replace(escape, plain));
    value.replace("&amp;", "&")
}

fn escaped(value: &str) -> String {
    let value = value.replace('&', "&amp;");
    ESCAPES[..4].iter().fold(value, |value, (escape, plain)| value.replace(plain, escape))
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::GzDecoder as GzReader;
    use http_body_util::{BodyExt, StreamBody};

    use super::*;

    fn prefixed(link: &str) -> Option<String> {
        link.starts_with('/').then(|| format!("/proxy{link}"))
    }

    async fn rewritten(page: &[u8], chunk: usize, coding: Coding) -> Vec<u8> {
        let chunks: Vec<_> =
            page.chunks(chunk).map(|chunk| Ok(Frame::data(Bytes::copy_from_slice(chunk)))).collect();
        let body = StreamBody::new(tokio_stream::iter(chunks)).boxed_unsync();
        Page::new(body, coding, Box::new(prefixed)).collect().await.unwrap().to_bytes().to_vec()
    }

    const PAGE: &str = "<!doctype html><!-- <a href=\"/no\"> --><html><a  HREF='/a?x=1&amp;y=2' title=\"a>b\">/a</a>\
        <img src=/i.png alt=x><a href=\"rel\">\u{fc} < 3</a><script src=\"/s.js\">if (a<b) \"<a href='/no'>\"</script>\
        <form action=\"/f\" method=post><input formaction='/g'/></FORM><b href=\"/no\">";
    const EXPECT: &str = "<!doctype html><!-- <a href=\"/no\"> --><html><a  HREF='/proxy/a?x=1&amp;y=2' title=\"a>b\">/a</a>\
        <img src=\"/proxy/i.png\" alt=x><a href=\"rel\">\u{fc} < 3</a><script src=\"/proxy/s.js\">if (a<b) \"<a href='/no'>\"</script>\
        <form action=\"/proxy/f\" method=post><input formaction='/proxy/g'/></FORM><b href=\"/no\">";

    #[tokio::test]
    async fn links_change_and_every_other_byte_stays() {
        for chunk in [1, 2, 7, 10_000] {
            let page = rewritten(PAGE.as_bytes(), chunk, Coding::Plain).await;
            assert_eq!(String::from_utf8(page).unwrap(), EXPECT, "{chunk}");
        }
    }

    #[tokio::test]
    async fn compressed_pages_stay_compressed() {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(PAGE.as_bytes()).unwrap();
        let page = encoder.finish().unwrap();
        for chunk in [3, 10_000] {
            let mut text = String::new();
            let page = rewritten(&page, chunk, Coding::Gzip).await;
            GzReader::new(&*page).read_to_string(&mut text).unwrap();
            assert_eq!(text, EXPECT);
        }
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(PAGE.as_bytes()).unwrap();
        let page = rewritten(&encoder.finish().unwrap(), 5, Coding::Deflate).await;
        let mut text = String::new();
        flate2::read::DeflateDecoder::new(&*page).read_to_string(&mut text).unwrap();
        assert_eq!(text, EXPECT);
    }

    #[tokio::test]
    async fn unfinished_and_endless_tags_are_text() {
        for page in ["<a href=\"/x", "<!-", "<", "a <a", "<!-- x", "<script>x</scrip", "</"] {
            assert_eq!(rewritten(page.as_bytes(), 1, Coding::Plain).await, page.as_bytes(), "{page}");
        }
        let endless = format!("<a title='{}", "x".repeat(3 * LARGEST_TAG));
        assert_eq!(rewritten(endless.as_bytes(), 5000, Coding::Plain).await, endless.as_bytes());
    }
}
