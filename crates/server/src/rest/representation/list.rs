//! Lists of objects.

use std::sync::Arc;

use bytes::Bytes;
use http::StatusCode;
use pintle_cache::{BodyFormat, Entry};
use pintle_codec::frame::{self, JSON_LIST_END, ListMeta};
use pintle_codec::negotiate::Encoding;
use pintle_codec::protobuf::envelope;
use pintle_codec::{json, partial};
use pintle_meta::{Object, Status, Value};

use super::parts::Parts;
use super::{Representation, Shape, indented, not_acceptable, table};
use crate::Response;
use crate::rest::endpoint::{Endpoint, StoredEndpoint};
use crate::rest::verbs::list::Page;
use crate::rest::{Result, internal};

impl Representation {
    /// Answers with a page of objects of the cache.
    pub(crate) fn page(self, serving: &StoredEndpoint, page: Page) -> Result<Response> {
        match self.shape {
            Shape::Own => match serving.served.body_format(self.encoding) {
                Some(format) if self.encoding == Encoding::Protobuf => {
                    protobuf_page(serving, self, format, page)
                }
                Some(format) => json_page(serving, self, format, page),
                None => {
                    let objects = page.entries.iter().map(|entry| serving.store.object(entry));
                    let list = tree(serving, &page.meta(), objects)?;
                    Ok(self.respond(StatusCode::OK, self.tree(&list)?))
                }
            },
            Shape::Partial(_) => Err(refuse_list(serving)),
            Shape::PartialList(version) => {
                let mut items = Vec::with_capacity(page.entries.len());
                for entry in &page.entries {
                    items.push(serving.store.object(entry)?);
                }
                let list = partial::list(version, &meta(&page), &items);
                let list = self.meta_document("PartialObjectMetadataList", version, list)?;
                Ok(self.respond(StatusCode::OK, self.encoded(list)?))
            }
            Shape::Table(version, include) => table::of_page(serving, self, version, include, page),
        }
    }

    /// Answers with a list of objects of the stored version that have no revision.
    pub(crate) fn objects(&self, endpoint: &Endpoint, objects: Vec<Value>) -> Result<Response> {
        let body = match self.shape {
            Shape::Own if self.encoding == Encoding::Protobuf => {
                let mut messages = Vec::with_capacity(objects.len());
                for object in objects {
                    let mut message = Vec::new();
                    let object = endpoint.served.to_served(object)?;
                    endpoint.served.write_protobuf(&object, &mut message).map_err(internal)?;
                    messages.push(message);
                }
                let mut out = Vec::new();
                let items = messages.iter().map(Vec::as_slice);
                frame::protobuf_list(endpoint.list_type_meta(), &ListMeta::default(), items, &mut out);
                out
            }
            Shape::Own if self.encoding == Encoding::Json => {
                let mut items = Vec::with_capacity(objects.len());
                for object in objects {
                    let mut text = Vec::new();
                    json::encode(&item(endpoint, object)?, &mut text);
                    items.push(text);
                }
                let mut out = Vec::new();
                let items = items.iter().map(Vec::as_slice);
                frame::json_list(endpoint.list_type_meta(), &ListMeta::default(), items, &mut out);
                if self.pretty { indented(&out) } else { out }
            }
            Shape::Own => {
                let objects = objects.into_iter().map(Ok);
                self.tree(&tree(endpoint, &ListMeta::default(), objects)?)?
            }
            Shape::Table(version, include) => {
                let meta = partial::ListMeta::default();
                self.tree(&table::of_objects(endpoint, objects, meta, version, include, self.now)?)?
            }
            Shape::PartialList(version) => {
                let list = partial::list(version, &partial::ListMeta::default(), &objects);
                self.encoded(self.meta_document("PartialObjectMetadataList", version, list)?)?
            }
            Shape::Partial(_) => return Err(refuse_list(endpoint)),
        };
        Ok(self.respond(StatusCode::OK, body))
    }
}

/// A list is not one object.
fn refuse_list(endpoint: &Endpoint) -> Box<Status> {
    let name = format!("{}List", endpoint.served.internal_name());
    not_acceptable(partial::refuse_list(&name))
}

/// The metadata of a page, for views of `meta.k8s.io`.
pub(super) fn meta(page: &Page) -> partial::ListMeta<'_> {
    partial::ListMeta {
        resource_version: &page.revision,
        continue_token: &page.token,
        remaining_item_count: page.remaining,
    }
}

/// The list in parts that are made when they are sent, so that a slow reader holds no more than one.
fn json_page(
    serving: &StoredEndpoint,
    representation: Representation,
    format: BodyFormat,
    page: Page,
) -> Result<Response> {
    let (mut head, mut end) = (Vec::new(), Vec::new());
    if serving.served.is_custom() {
        frame::json_unstructured_list_begin(serving.list_type_meta(), &mut head);
        frame::json_unstructured_list_end(serving.list_type_meta(), &page.meta(), &mut end);
    } else {
        frame::json_list_begin(serving.list_type_meta(), &page.meta(), &mut head);
        end.extend_from_slice(JSON_LIST_END);
    }
    let bodies = bodies(serving, format, page.entries);
    let mut first = true;
    let parts = Parts::new(head, bodies, &end, move |body, out| {
        if !std::mem::take(&mut first) {
            out.push(b',');
        }
        out.extend_from_slice(&body);
        Ok(())
    });
    parts.respond(representation)
}

/// Encodes a page as Protobuf, whose length comes first. Where it is known without the bodies, they are made while they are
/// sent, and not kept: they are nearly what is stored.
fn protobuf_page(
    serving: &StoredEndpoint,
    representation: Representation,
    format: BodyFormat,
    page: Page,
) -> Result<Response> {
    let kind = serving.store.cache().kind().clone();
    let lengths = page.entries.iter().map(|entry| kind.body_length(entry, format));
    let lengths: Option<Vec<usize>> = lengths.collect();
    let (mut head, mut end) = (Vec::new(), Vec::new());
    envelope::close(&mut end);
    let begin = |lengths: &mut dyn Iterator<Item = usize>, head: &mut Vec<u8>| {
        let items = lengths.map(frame::protobuf_item_length).sum();
        frame::protobuf_list_begin(serving.list_type_meta(), &page.meta(), items, head);
    };
    if let Some(lengths) = lengths {
        begin(&mut lengths.iter().copied(), &mut head);
        let items = page.entries.into_iter().zip(lengths).map(Ok);
        let write = move |(entry, length): (Arc<Entry>, usize), out: &mut Vec<u8>| {
            frame::protobuf_item_begin(length, out);
            let start = out.len();
            kind.write_body(&entry, format, out)?;
            // All that follows would be read wrong.
            if out.len() - start == length {
                Ok(())
            } else {
                Err(format!("{} has an odd length", entry.key()))
            }
        };
        return Parts::new(head, items, &end, write).respond(representation);
    }
    let bodies: std::result::Result<Vec<Bytes>, String> =
        bodies(serving, format, page.entries.clone()).collect();
    let bodies = bodies.map_err(internal)?;
    begin(&mut bodies.iter().map(Bytes::len), &mut head);
    let write = |body: Bytes, out: &mut Vec<u8>| {
        frame::protobuf_item_begin(body.len(), out);
        out.extend_from_slice(&body);
        Ok(())
    };
    Parts::new(head, bodies.into_iter().map(Ok), &end, write).respond(representation)
}

fn bodies(
    serving: &StoredEndpoint,
    format: BodyFormat,
    entries: Vec<Arc<Entry>>,
) -> impl Iterator<Item = std::result::Result<Bytes, String>> + Send + use<> {
    let serving = serving.clone();
    entries.into_iter().map(move |entry| {
        let kind = serving.store.cache().kind();
        entry.body(&**kind, &serving.pool, format)
    })
}

/// An object as an item of a list: what it is, the list says.
fn item(endpoint: &Endpoint, object: Value) -> Result<Value> {
    let mut item = endpoint.served.to_served(object)?;
    if endpoint.served.is_custom() {
        return Ok(item);
    }
    if let Some(item) = item.as_object_mut() {
        item.remove("kind");
        item.remove("apiVersion");
    }
    Ok(item)
}

/// The list as a tree, for encodings that the cache has no bodies of.
fn tree(
    endpoint: &Endpoint,
    meta: &ListMeta<'_>,
    objects: impl Iterator<Item = Result<Value>>,
) -> Result<Value> {
    let items: Vec<Value> = objects.map(|object| item(endpoint, object?)).collect::<Result<_>>()?;
    let mut metadata = Object::new();
    if endpoint.served.is_custom() {
        metadata.insert("continue", "");
    }
    if !meta.resource_version.is_empty() {
        metadata.insert("resourceVersion", meta.resource_version);
    }
    if !meta.continue_token.is_empty() {
        metadata.insert("continue", meta.continue_token);
    }
    if let Some(remaining) = meta.remaining {
        metadata.insert("remainingItemCount", remaining);
    }
    if !meta.shard.is_empty() && !endpoint.served.is_custom() {
        let mut shard = Object::new();
        shard.insert("selector", meta.shard);
        metadata.insert("shardInfo", shard);
    }
    let of = endpoint.list_type_meta();
    let mut list = Object::new();
    list.insert("kind", of.kind);
    list.insert("apiVersion", of.api_version);
    list.insert("metadata", metadata);
    list.insert("items", items);
    Ok(list.into())
}
