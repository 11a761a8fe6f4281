//! Events of a watch as frames, in the shape and encoding that the client asks for.

use std::sync::Arc;

use bytes::Bytes;
use pintle_cache::{Change, Entry, Form, Frame};
use pintle_codec::negotiate::Encoding;
use pintle_codec::{cbor, frame, json};
use pintle_meta::{Status, Value};
use prometheus::Histogram;
use tokio::time::Instant;

use super::stream::Event;
use crate::metrics::EventMetrics;
use crate::rest::endpoint::StoredEndpoint;
use crate::rest::representation::{self, Document, Representation, Shape};
use crate::rest::{Result, internal};

/// Marks the bookmark after which a client has seen every object that existed.
const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

/// Writes events in the encoding and shape that were agreed on.
pub(super) struct Encoder {
    pub(super) serving: StoredEndpoint,
    pub(super) representation: Representation,
    /// Only the first table says what its columns are.
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

    /// Forms of which frames are shared.
    fn form(&self) -> Option<Form> {
        self.serving
            .served
            .form(self.representation.encoding)
            .filter(|_| self.representation.shape == Shape::Own)
    }

    pub(super) fn change(&mut self, change: &Arc<Change>, event: Event) -> Result<Bytes> {
        let entry = match event {
            Event::Left => change.left().ok_or_else(|| internal("there was nothing before"))?,
            _ => &change.entry,
        };
        match self.form() {
            Some(form) => {
                let number = u32::from(form.0) * 4 + event as u32;
                let make = || {
                    // Not kept beside the frame, which is.
                    let body =
                        entry.body_once(&**self.serving.store.cache().kind(), form).map_err(internal)?;
                    Ok(self.framed(event.name(), &body))
                };
                change.frame(&self.serving.pool, Frame(number), make)
            }
            None => self.entry(event.name(), entry),
        }
    }

    pub(super) fn entry(&mut self, event: &str, entry: &Arc<Entry>) -> Result<Bytes> {
        match self.form() {
            Some(form) => {
                let kind = self.serving.store.cache().kind();
                let body = entry.body(&**kind, &self.serving.pool, form).map_err(internal)?;
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

    pub(super) fn bookmark(&mut self, revision: u64, ends: bool) -> Result<Bytes> {
        let mut object = self.serving.served.zero();
        if let Some(metadata) = object.metadata_mut() {
            metadata.insert("resourceVersion", revision.to_string());
            if ends {
                let mut annotations = pintle_meta::Object::new();
                annotations.insert(INITIAL_EVENTS_END, "true");
                metadata.insert("annotations", annotations);
            }
        }
        let columns = self.is_first();
        let document = self.at_this_time().served_document(&self.serving, object, columns)?;
        Ok(self.document("BOOKMARK", document))
    }

    /// An object of the stored version.
    fn object(&mut self, event: &str, object: Value) -> Result<Bytes> {
        let columns = self.is_first();
        let document = self.at_this_time().document(&self.serving, object, columns)?;
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
        }
    }

    /// Ages in tables are as of the event.
    fn at_this_time(&self) -> Representation {
        match self.representation.shape {
            Shape::Table(..) => {
                Representation { now: self.serving.clock.now().into(), ..self.representation }
            }
            _ => self.representation,
        }
    }

    fn is_first(&mut self) -> bool {
        !std::mem::replace(&mut self.has_sent_columns, true)
    }

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

    pub(super) fn error(&self, status: &Status) -> Result<Bytes> {
        let body = status.to_json();
        let of = pintle_schema::find("meta/v1.Status").ok_or_else(|| internal("no such type"))?;
        match self.representation.encoding {
            Encoding::Json | Encoding::Yaml => {
                let mut out = Vec::new();
                frame::json_watch("ERROR", None, body.trim_ascii_end(), &mut out);
                Ok(out.into())
            }
            Encoding::Protobuf => {
                let tree = json::decode(of, &body).map_err(internal)?.value;
                let of = frame::TypeMeta { kind: "Status", api_version: "v1" };
                Ok(self.document("ERROR", representation::message(of, &tree)?))
            }
            Encoding::Cbor => Ok(self.untyped("ERROR", &json::decode(of, &body).map_err(internal)?.value)),
        }
    }
}
