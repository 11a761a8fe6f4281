//! Long answers, put together while they are sent.

use bytes::Bytes;
use futures_util::stream;
use http::StatusCode;
use pintle_codec::json::Indenter;

use super::{Representation, indented};
use crate::rest::{Result, internal};
use crate::{Body, Response};

/// An answer of no more than this is sent whole, with its length; a longer one may be compressed.
const WHOLE: usize = 128 * 1024;
/// Size of the parts in which a longer answer is sent.
const CHUNK: usize = 96 * 1024;
/// Room for the object that makes it enough. Together less than what allocators ask the system for each time.
const LAST: usize = 24 * 1024;

/// A long document, put together while it is sent.
pub(super) struct Parts<I, W> {
    items: I,
    /// Number of items that are written before other tasks get their turn.
    at_once: usize,
    write: W,
    buffer: Vec<u8>,
    end: Option<Vec<u8>>,
}

impl<T, I, W> Parts<I, W>
where
    I: Iterator<Item = std::result::Result<T, String>> + Send + 'static,
    W: FnMut(T, &mut Vec<u8>) -> std::result::Result<(), String> + Send + 'static,
{
    pub(super) fn new(head: Vec<u8>, items: I, end: &[u8], write: W) -> Parts<I, W> {
        Parts { items, at_once: usize::MAX, write, buffer: head, end: Some(end.to_vec()) }
    }

    /// Limits the number of items of a part, for items that take more time than their length says.
    #[must_use]
    pub(super) fn at_once(self, items: usize) -> Parts<I, W> {
        Parts { at_once: items, ..self }
    }

    pub(super) fn respond(mut self, representation: Representation) -> Result<Response> {
        let mut indenter = representation.pretty.then(Indenter::default);
        let Some(first) = self.part(WHOLE, usize::MAX) else {
            return Ok(representation.respond(StatusCode::OK, Body::empty()));
        };
        let first = first.map_err(internal)?;
        // An answer of one part is sent with its length.
        if self.end.is_none() {
            let whole = if representation.pretty { indented(&first).into() } else { first };
            return Ok(representation.respond(StatusCode::OK, whole));
        }
        let mut parts =
            std::iter::once(Ok(first)).chain(std::iter::from_fn(move || self.part(CHUNK, self.at_once)));
        let parts = std::iter::from_fn(move || {
            let part = parts.next()?;
            // The client sees a broken answer, not a list that lacks something.
            Some(part.map_err(crate::body::Error::from).map(|part| match &mut indenter {
                None => part,
                Some(indenter) => {
                    let mut out = Vec::with_capacity(part.len() * 2);
                    indenter.write(&part, &mut out);
                    out.into()
                }
            }))
        });
        Ok(representation.respond(StatusCode::OK, Body::stream(stream::iter(parts))))
    }

    fn part(&mut self, most: usize, items: usize) -> Option<std::result::Result<Bytes, String>> {
        self.end.as_ref()?;
        self.buffer.reserve(CHUNK + LAST);
        let mut left = items;
        while self.buffer.len() < most && left > 0 {
            left -= 1;
            let failed = match self.items.next() {
                Some(Ok(item)) => (self.write)(item, &mut self.buffer).err(),
                Some(Err(reason)) => Some(reason),
                None => {
                    self.buffer.extend(self.end.take().unwrap_or_default());
                    break;
                }
            };
            if let Some(reason) = failed {
                self.end = None;
                return Some(Err(reason));
            }
        }
        Some(Ok(std::mem::take(&mut self.buffer).into()))
    }
}
