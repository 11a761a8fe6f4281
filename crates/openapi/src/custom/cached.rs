//! The encoded parts of the OpenAPI v2 document.
//!
//! A definition that changes makes the whole document another one. All that is not about that definition is as it was:
//! The part of a custom resource is cached with its definition, up to a budget for all of them together, and the built-in
//! part with the list of built-in group versions.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use pintle_codec::json;
use pintle_discovery::{Custom, CustomVersion, GroupVersion};
use pintle_meta::Value;
use pintle_schema::Type;

use super::names::Names;
use super::{Format, Source, roots, text};
use crate::Options;
use crate::protobuf;
use crate::schema::Dialect;
use crate::v2::Parts;

/// Byte budget of what is cached with all definitions. Parts beyond it are encoded each time.
const MOST: usize = 32 << 20;

/// The built-in part. Belongs to [`Options`] that do not change.
pub struct Builtin {
    pub(super) format: Format,
    /// In the order of their names.
    pub(super) definitions: Vec<(String, Value)>,
    pub(super) paths: Vec<(String, Value)>,
    pub(super) parameters: BTreeMap<String, Value>,
}

impl Builtin {
    pub fn new(served: &[GroupVersion], logs: bool, format: Format, options: &Options<'_>) -> Builtin {
        let also: Vec<&'static Type> = roots(true).collect();
        let Parts { paths, mut definitions, parameters } = Parts::builtin(served, logs, options, &also);
        let write = |all: &mut Vec<(String, Value)>, message: fn(&Value) -> Vec<u8>| {
            for (_, value) in all {
                *value = encoded(value, format, message);
            }
        };
        definitions.sort_by(|(a, _), (b, _)| a.cmp(b));
        write(&mut definitions, protobuf::schema);
        let mut paths = paths;
        write(&mut paths, protobuf::path);
        Builtin { format, definitions, paths, parameters }
    }

    /// Whether there is a type of this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    fn find(&self, name: &str) -> Option<&Value> {
        let place = self.definitions.binary_search_by(|(known, _)| known.as_str().cmp(name)).ok()?;
        self.definitions.get(place).map(|(_, value)| value)
    }

    /// Returns a definition as a tree. Only of parts in JSON.
    pub(crate) fn definition(&self, name: &str) -> Option<Value> {
        json::decode_any(self.find(name)?.as_bytes()?).ok().map(|decoded| decoded.value)
    }

    /// Returns a shared parameter, as it would be decoded.
    pub(crate) fn parameter(&self, name: &str) -> Option<Value> {
        json::decode_any(&text(self.parameters.get(name)?)).ok().map(|decoded| decoded.value)
    }
}

fn encoded(value: &Value, format: Format, message: impl Fn(&Value) -> Vec<u8>) -> Value {
    Value::bytes(match format {
        Format::Json => text(value),
        Format::Protobuf => message(value),
    })
}

/// A resource in one of its versions.
pub struct Member<'a, F> {
    pub custom: &'a Custom,
    pub version: &'a CustomVersion,
    pub cached: &'a CachedParts,
    /// Called where nothing is cached.
    pub source: F,
}

/// The encoded part of a resource in one of its versions, once it was made.
#[derive(Default)]
pub struct CachedParts {
    json: OnceLock<Encoded>,
    protobuf: OnceLock<Encoded>,
}

struct Encoded {
    /// The names of the resource and its list, which are part of the text.
    names: [Box<str>; 2],
    values: [Value; 2],
    size: usize,
    /// The bytes of all cached parts.
    counted: Arc<AtomicUsize>,
}

impl Drop for Encoded {
    fn drop(&mut self) {
        self.counted.fetch_sub(self.size, Ordering::Relaxed);
    }
}

impl<'a, F: FnOnce() -> Source<'a>> Member<'a, F> {
    /// The resource and the list of it.
    pub(super) fn encoded(
        self,
        names: &Names,
        format: Format,
        counted: &Arc<AtomicUsize>,
        options: &Options<'_>,
    ) -> [Value; 2] {
        let place = match format {
            Format::Json => &self.cached.json,
            Format::Protobuf => &self.cached.protobuf,
        };
        let called = [names.definition(), names.list_definition()];
        // They are called otherwise where a built-in type has taken their names, which may come and go.
        let is_same = |known: &&Encoded| known.names.iter().zip(called).all(|(known, name)| **known == *name);
        if let Some(known) = place.get().filter(is_same) {
            return known.values.clone();
        }
        let made = (self.source)().definitions(names, Dialect::V2, options);
        let values = made.map(|(_, value)| encoded(&value, format, protobuf::schema));
        let size = values.iter().map(|value| value.as_bytes().map_or(0, <[u8]>::len)).sum();
        if counted.fetch_add(size, Ordering::Relaxed) + size > MOST {
            counted.fetch_sub(size, Ordering::Relaxed);
            return values;
        }
        // Where there is something else in its place, this one is dropped and not counted any more.
        let _ = place.set(Encoded {
            names: called.map(Box::from),
            values: values.clone(),
            size,
            counted: counted.clone(),
        });
        values
    }
}
