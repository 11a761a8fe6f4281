//! Events of a watch as frames, in the shape and encoding that the client asks for.

use std::sync::Arc;

use bytes::Bytes;
use pintle_cache::{Change, Entry, Form, Frame};
use pintle_codec::negotiate::Encoding;
use pintle_codec::partial::Version;
use pintle_codec::table::Include;
use pintle_codec::{cbor, frame, json, partial, protobuf};
use pintle_meta::{Status, Value};
use prometheus::Histogram;
use tokio::time::Instant;

use super::stream::Event;
use crate::metrics::EventMetrics;
use crate::rest::answer::{Negotiated, Shape};
use crate::rest::endpoint::Serving;
use crate::rest::{Result, internal, shown};

/// Marks the bookmark after which a client has seen every object that existed.
const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

/// Writes events in the encoding and shape that were agreed on.
pub(super) struct Encoder {
    pub(super) serving: Serving,
    pub(super) negotiated: Negotiated,
    /// Only the first table says what its columns are.
    pub(super) has_sent_columns: bool,
    pub(super) metrics: Option<EventMetrics>,
    /// Told once all that was there at the beginning is sent: how long that took since the request came.
    pub(super) initial: Option<(Histogram, Instant)>,
}

impl Encoder {
    /// Counts an event that is about to be sent.
    pub(super) fn sent(&self, event: Bytes) -> Bytes {
        if let Some(metrics) = &self.metrics {
            // The length before a message is not part of it.
            let frame = if self.negotiated.encoding == Encoding::Protobuf { 4 } else { 0 };
            metrics.sent(event.len().saturating_sub(frame));
        }
        event
    }

    /// Forms of which frames are shared.
    fn form(&self) -> Option<Form> {
        self.serving.served.form(self.negotiated.encoding).filter(|_| self.negotiated.shape == Shape::Own)
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
                self.tree(event, object)
            }
        }
    }

    fn framed(&self, event: &str, body: &[u8]) -> Bytes {
        let mut out = Vec::with_capacity(body.len() + 128);
        match self.negotiated.encoding {
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
        self.served("BOOKMARK", object)
    }

    /// An object of the stored version.
    pub(super) fn tree(&mut self, event: &str, object: Value) -> Result<Bytes> {
        let object = match self.negotiated.shape {
            Shape::Table(version, include) => {
                let first = !std::mem::replace(&mut self.has_sent_columns, true);
                let table = self.table(object, version, include, first)?;
                return self.untyped(event, &table);
            }
            _ => self.serving.served.to_served(object)?,
        };
        self.served(event, object)
    }

    /// An object of the served version.
    fn served(&mut self, event: &str, object: Value) -> Result<Bytes> {
        match self.negotiated.shape {
            Shape::Own => match self.negotiated.encoding {
                Encoding::Protobuf => {
                    let (mut message, mut out) = (Vec::new(), Vec::new());
                    self.serving.served.write_protobuf(&object, &mut message).map_err(internal)?;
                    frame::protobuf_watch(event, self.serving.type_meta(), &message, &mut out);
                    Ok(out.into())
                }
                _ => self.untyped(event, &object),
            },
            Shape::Partial(version) | Shape::PartialList(version) => {
                let view = partial::object(version, &object);
                if self.negotiated.encoding != Encoding::Protobuf {
                    return self.untyped(event, &view);
                }
                let of = pintle_schema::find("meta/v1.PartialObjectMetadata");
                let of = of.ok_or_else(|| internal("no such type"))?;
                let (mut message, mut out) = (Vec::new(), Vec::new());
                protobuf::encode(of, &view, &mut message).map_err(internal)?;
                let api_version = version.api_version();
                let type_meta = frame::TypeMeta { kind: "PartialObjectMetadata", api_version };
                frame::protobuf_watch(event, type_meta, &message, &mut out);
                Ok(out.into())
            }
            Shape::Table(version, include) => {
                let first = !std::mem::replace(&mut self.has_sent_columns, true);
                let table = self.table(object, version, include, first)?;
                self.untyped(event, &table)
            }
        }
    }

    fn table(&self, object: Value, version: Version, include: Include, first: bool) -> Result<Value> {
        let now = self.serving.clock.now().into();
        shown::event_table(&self.serving, object, version, include, first, now)
    }

    fn untyped(&self, event: &str, object: &Value) -> Result<Bytes> {
        let mut out = Vec::new();
        match self.negotiated.encoding {
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
        Ok(out.into())
    }

    pub(super) fn error(&self, status: &Status) -> Result<Bytes> {
        let body = status.to_json();
        let of = pintle_schema::find("meta/v1.Status").ok_or_else(|| internal("no such type"))?;
        match self.negotiated.encoding {
            Encoding::Json | Encoding::Yaml => {
                let mut out = Vec::new();
                frame::json_watch("ERROR", None, body.trim_ascii_end(), &mut out);
                Ok(out.into())
            }
            Encoding::Protobuf => {
                let tree = json::decode(of, &body).map_err(internal)?.value;
                let (mut message, mut out) = (Vec::new(), Vec::new());
                protobuf::encode(of, &tree, &mut message).map_err(internal)?;
                let type_meta = frame::TypeMeta { kind: "Status", api_version: "v1" };
                frame::protobuf_watch("ERROR", type_meta, &message, &mut out);
                Ok(out.into())
            }
            Encoding::Cbor => self.untyped("ERROR", &json::decode(of, &body).map_err(internal)?.value),
        }
    }
}
