//! Lists of accepted objects: what the store's cache has, and the bodies of LIST answers in every served version.

use std::sync::Arc;

use bytes::Bytes;
use pintle_cache::{Feed, Limits};
use pintle_codec::{json, protobuf};
use pintle_meta::Value;
use pintle_registry::{Store, StoreConfig};
use pintle_resources::builtin::Body;
use pintle_schema::Type;
use pintle_storage::{Backend, Op, Txn};
use pintle_storage_embedded::Options;

use crate::subject::{Subject, write};

/// Objects that one transaction stores.
const MOST_PUTS: usize = 100;

/// A store in memory.
pub(crate) struct Lists {
    backend: Arc<dyn Backend>,
    feed: Feed,
}

impl Lists {
    pub(crate) async fn start() -> Lists {
        let backend = Arc::new(pintle_storage_embedded::Store::open(Options::memory()).expect("a store"));
        let feed = Feed::start(backend.clone(), Bytes::from_static(b"/registry/"), Limits::default());
        Lists { feed: feed.await.expect("a feed"), backend }
    }

    /// Stores objects of a kind and checks their lists; says what is wrong.
    pub(crate) async fn check(&self, subject: &Subject, objects: &[&Value]) -> Result<(), String> {
        let prefix = format!("/registry/{}/{}/", subject.group, subject.name);
        let key = |place: usize| Bytes::from(format!("{prefix}default/{place:04}"));
        let put = |(place, object): (usize, &&Value)| {
            let value = pintle_registry::Stored::encode(&*subject.builtin, object)?;
            Ok(Op::Put { key: key(place), value, lease: None })
        };
        let puts = objects.iter().enumerate().map(put).collect::<Result<Vec<_>, String>>()?;
        for then in puts.chunks(MOST_PUTS) {
            let txn = Txn { then: then.to_vec(), ..Txn::default() };
            self.backend.txn(txn).await.map_err(|error| error.to_string())?;
        }
        let prefix = Bytes::from(prefix);
        let builtin = &subject.builtin;
        let store = Store::new(StoreConfig {
            group: subject.group.into(),
            resource: subject.name.into(),
            kind: subject.stored.kind_name().into(),
            namespaced: subject.namespaced,
            cache: self.feed.resource(prefix.clone(), || builtin.clone()),
            prefix,
            backend: self.backend.clone(),
            stored: builtin.clone(),
            strategy: subject.strategy.clone(),
        });
        let entries = store.entries_cached("").await.map_err(|error| error.message)?;
        if entries.len() != objects.len() {
            return Err(format!("{} of {} objects", entries.len(), objects.len()));
        }
        let at = |revision: u64, object: &Value| {
            let mut object = object.clone();
            if let Some(metadata) = object.metadata_mut() {
                metadata.insert("resourceVersion", revision.to_string());
            }
            object
        };
        for (entry, object) in entries.iter().zip(objects) {
            let listed = store.object(entry).map_err(|error| error.message)?;
            let object = at(entry.revision(), object);
            // Services are shown with what old ones lack.
            if !entry.is_as_stored() || listed != object {
                return Err(format!("{} is listed as {}", write(&object), write(&listed)));
            }
        }
        for version in &subject.served {
            let bodies = |body| -> Result<Vec<Bytes>, String> {
                let format = builtin.body_format(version, body).ok_or("no such version")?;
                entries.iter().map(|entry| entry.body_once(&**builtin, format)).collect()
            };
            let shown = entries
                .iter()
                .zip(objects)
                .map(|(entry, object)| builtin.to_version(version, at(entry.revision(), object)));
            let shown = shown.collect::<Result<Vec<_>, _>>()?;
            of_json(version, &bodies(Body::Json)?, &shown)?;
            of_protobuf(version, &bodies(Body::Protobuf)?, &shown)?;
        }
        Ok(())
    }
}

/// Checks that a list of JSON bodies is read as these objects.
fn of_json(version: &'static Type, bodies: &[Bytes], objects: &[Value]) -> Result<(), String> {
    let of = list_of(version)?;
    let (kind, api_version) = (of.kind_name(), of.api_version());
    let mut text =
        format!(r#"{{"kind":"{kind}","apiVersion":"{api_version}","metadata":{{}},"items":["#).into_bytes();
    for (place, body) in bodies.iter().enumerate() {
        text.extend_from_slice(if place > 0 { b"," } else { b"" });
        text.extend_from_slice(body);
    }
    text.extend_from_slice(b"]}");
    let list = json::decode(of, &text).map_err(|error| format!("{kind}: {error}"))?;
    if !list.strict.is_empty() {
        return Err(format!("{kind}: {:?}", list.strict));
    }
    compare(&list.value, objects, |object| {
        let mut item = object.clone();
        if let Some(fields) = item.as_object_mut() {
            fields.remove("kind");
            fields.remove("apiVersion");
        }
        write(&item)
    })
}

/// As [`of_json`], of bare messages.
fn of_protobuf(version: &'static Type, bodies: &[Bytes], objects: &[Value]) -> Result<(), String> {
    let of = list_of(version)?;
    let mut message = vec![0x0a, 0];
    for (body, object) in bodies.iter().zip(objects) {
        let mut expected = Vec::new();
        protobuf::encode(version, object, &mut expected).map_err(|error| error.to_string())?;
        if *body != expected {
            return Err(format!("{} has another body in protobuf", write(object)));
        }
        message.push(0x12);
        let mut length = body.len();
        while length >= 0x80 {
            message.push((length & 0x7f) as u8 | 0x80);
            length >>= 7;
        }
        message.push(length as u8);
        message.extend_from_slice(body);
    }
    let list = protobuf::decode(of, &message).map_err(|error| format!("{}: {error}", of.name))?;
    // Messages have no place for kinds, also those of objects inside.
    compare(&list, objects, |object| {
        let mut bytes = Vec::new();
        let encoded = protobuf::encode(version, object, &mut bytes);
        let item = encoded.and_then(|()| protobuf::decode(version, &bytes));
        item.map_or_else(|error| error.to_string(), |item| write(&item))
    })
}

fn compare(list: &Value, objects: &[Value], expected: impl Fn(&Value) -> String) -> Result<(), String> {
    let items = list.items_at(&["items"]);
    if items.len() != objects.len() {
        return Err(format!("{} of {} items", items.len(), objects.len()));
    }
    for (item, object) in items.iter().zip(objects) {
        let (found, expected) = (write(item), expected(object));
        if found != expected {
            return Err(format!("{expected} is {found} in a list"));
        }
    }
    Ok(())
}

fn list_of(version: &Type) -> Result<&'static Type, String> {
    let name = format!("{}List", version.name);
    pintle_schema::find(&name).ok_or_else(|| format!("no type {name}"))
}
