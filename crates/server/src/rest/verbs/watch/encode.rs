//! Events of a watch as frames, in the shape and encoding that the client asks for.

use std::sync::Arc;

use bytes::Bytes;
use pintle_cache::{BodyFormat, Change, Entry, Frame};
use pintle_codec::negotiate::Encoding;
use pintle_codec::{cbor, frame, json};
use pintle_meta::{Status, Value};
use prometheus::Histogram;
use tokio::time::Instant;

use super::batch::Event;
use crate::metrics::EventMetrics;
use crate::rest::endpoint::StoredEndpoint;
use crate::rest::representation::{Document, Representation, Shape};
use crate::rest::{Result, internal};

/// Marks the bookmark after which a client has seen every object that existed.
const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

/// Writes events in the encoding and shape that were agreed on.
pub(super) struct Encoder {
    pub(super) serving: StoredEndpoint,
    pub(super) representation: Representation,
    /// Only the first table defines its columns.
    pub(super) has_sent_columns: bool,
    pub(super) metrics: Option<EventMetrics>,
    /// The histogram of the time until the initial events are sent, and the start of the request; taken once they are.
    pub(super) initial: Option<(Histogram, Instant)>,
}

impl Encoder {
    /// Counts an event that is about to be sent.
    pub(super) fn sent(&self, event: Bytes) -> Bytes {
        if let Some(metrics) = &self.metrics {
            // The length before a message is not part of it.
            let frame = if self.representation.encoding == Encoding::Protobuf { 4 } else { 0 };
            metrics.sent(event.len().saturating_sub(frame));
        }
        event
    }

    /// Returns the form whose frames watchers share; `None` if this one's frames are its own.
    fn shared_format(&self) -> Option<BodyFormat> {
        self.serving
            .served
            .body_format(self.representation.encoding)
            .filter(|_| self.representation.shape == Shape::Own)
    }

    pub(super) fn change(&mut self, change: &Arc<Change>, event: Event) -> Result<Bytes> {
        let entry = match event {
            Event::Deselected => {
                change.left().ok_or_else(|| internal("the change has no previous object"))?
            }
            _ => &change.entry,
        };
        match self.shared_format() {
            Some(format) => {
                let number = u32::from(format.0) * 4 + event as u32;
                let make = || {
                    // Not kept beside the frame, which is.
                    let body =
                        entry.body_once(&**self.serving.store.cache().kind(), format).map_err(internal)?;
                    Ok(self.framed(event.name(), &body))
                };
                change.frame(&self.serving.pool, Frame(number), make)
            }
            None => self.entry(event.name(), entry),
        }
    }

    pub(super) fn entry(&mut self, event: &str, entry: &Arc<Entry>) -> Result<Bytes> {
        match self.shared_format() {
            Some(format) => {
                let kind = self.serving.store.cache().kind();
                let body = entry.body(&**kind, &self.serving.pool, format).map_err(internal)?;
                Ok(self.framed(event, &body))
            }
            None => {
                let object = self.serving.store.object(entry)?;
                self.object(event, object)
            }
        }
    }

    fn framed(&self, event: &str, body: &[u8]) -> Bytes {
        let mut out = Vec::with_capacity(body.len() + 128);
        match self.representation.encoding {
            Encoding::Protobuf => frame::protobuf_watch(event, self.serving.type_meta(), body, &mut out),
            _ => {
                let of = (!self.serving.served.is_custom()).then(|| self.serving.type_meta());
                frame::json_watch(event, of, body, &mut out);
            }
        }
        out.into()
    }

    /// Returns a bookmark; one that ends the initial events if `ends_initial`.
    pub(super) fn bookmark(&mut self, revision: u64, ends_initial: bool) -> Result<Bytes> {
        let mut object = self.serving.served.zero();
        if let Some(metadata) = object.metadata_mut() {
            metadata.insert("resourceVersion", revision.to_string());
            if ends_initial {
                let mut annotations = pintle_meta::Object::new();
                annotations.insert(INITIAL_EVENTS_END, "true");
                metadata.insert("annotations", annotations);
            }
        }
        let columns = self.takes_columns();
        let document = self.representation_now().served_document(&self.serving, object, columns)?;
        Ok(self.document("BOOKMARK", document))
    }

    /// An object of the stored version.
    fn object(&mut self, event: &str, object: Value) -> Result<Bytes> {
        let columns = self.takes_columns();
        let document = self.representation_now().document(&self.serving, object, columns)?;
        Ok(self.document(event, document))
    }

    fn document(&self, event: &str, document: Document<'_>) -> Bytes {
        match document {
            Document::Tree(tree) => self.untyped(event, &tree),
            Document::Message(of, message) => {
                let mut out = Vec::new();
                frame::protobuf_watch(event, of, &message, &mut out);
                out.into()
            }
            Document::Json(text) => {
                let mut out = Vec::new();
                frame::json_watch(event, None, &text, &mut out);
                out.into()
            }
        }
    }

    /// Returns the representation with the time of the event, which ages in tables are as of.
    fn representation_now(&self) -> Representation {
        match self.representation.shape {
            Shape::Table(..) => {
                Representation { now: self.serving.clock.now().into(), ..self.representation }
            }
            _ => self.representation,
        }
    }

    /// Returns whether the columns are still to be sent, and notes that they are.
    fn takes_columns(&mut self) -> bool {
        !std::mem::replace(&mut self.has_sent_columns, true)
    }

    /// Frames an object of any kind, in JSON or CBOR.
    fn untyped(&self, event: &str, object: &Value) -> Bytes {
        let mut out = Vec::new();
        match self.representation.encoding {
            Encoding::Cbor => {
                let mut pair = pintle_meta::Object::new();
                pair.insert("type", event);
                pair.insert("object", object.clone());
                cbor::encode(&pair.into(), &mut out);
            }
            _ => {
                let mut body = Vec::new();
                json::encode(object, &mut body);
                frame::json_watch(event, None, &body, &mut out);
            }
        }
        out.into()
    }

    /// Returns an ERROR event.
    pub(super) fn error(&self, status: &Status) -> Result<Bytes> {
        Ok(self.document("ERROR", self.representation.status_document(status)?))
    }
}
