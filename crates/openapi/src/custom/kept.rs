//! The encoded parts of the OpenAPI v2 document.
//!
//! A definition that changes makes the whole document another one. All that is not about that definition is as it was:
//! what documents say of a resource is kept with its definition, up to so many bytes of all of them together, and
//! what is built in with the list of it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use pintle_discovery::{Custom, CustomVersion, GroupVersion};
use pintle_meta::Value;
use pintle_schema::Type;

use super::names::Names;
use super::{Form, Source, roots, text};
use crate::Options;
use crate::protobuf;
use crate::schema::Dialect;
use crate::v2::Parts;

/// How many bytes are kept with definitions in all. What comes later is made anew each time.
const MOST: usize = 32 << 20;

/// The built-in part. Belongs to [`Options`] that do not change.
pub struct Builtin {
    pub(super) form: Form,
    /// In the order of their names.
    pub(super) definitions: Vec<(String, Value)>,
    pub(super) paths: Vec<(String, Value)>,
    pub(super) parameters: BTreeMap<String, Value>,
}

impl Builtin {
    pub fn of(served: &[GroupVersion], logs: bool, form: Form, options: &Options<'_>) -> Builtin {
        let also: Vec<&'static Type> = roots(true).collect();
        let Parts { paths, mut definitions, parameters } = Parts::of(served, logs, options, &also);
        let write = |all: &mut Vec<(String, Value)>, message: fn(&Value) -> Vec<u8>| {
            for (_, value) in all {
                *value = written(value, form, message);
            }
        };
        definitions.sort_by(|(a, _), (b, _)| a.cmp(b));
        write(&mut definitions, protobuf::schema);
        let mut paths = paths;
        write(&mut paths, protobuf::path);
        Builtin { form, definitions, paths, parameters }
    }

    /// Whether there is a type of this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.definitions.binary_search_by(|(known, _)| known.as_str().cmp(name)).is_ok()
    }
}

fn written(value: &Value, form: Form, message: impl Fn(&Value) -> Vec<u8>) -> Value {
    Value::bytes(match form {
        Form::Json => text(value),
        Form::Protobuf => message(value),
    })
}

/// A resource in one of its versions.
pub struct Member<'a, F> {
    pub custom: &'a Custom,
    pub version: &'a CustomVersion,
    pub kept: &'a Kept,
    /// Asked for where there is nothing kept.
    pub source: F,
}

/// The encoded part of a resource in one of its versions, once it was made.
#[derive(Default)]
pub struct Kept {
    json: OnceLock<Written>,
    protobuf: OnceLock<Written>,
}

struct Written {
    /// The names of the resource and its list, which are part of the text.
    names: [Box<str>; 2],
    values: [Value; 2],
    size: usize,
    /// Of everything that is kept.
    counted: Arc<AtomicUsize>,
}

impl Drop for Written {
    fn drop(&mut self) {
        self.counted.fetch_sub(self.size, Ordering::Relaxed);
    }
}

impl<'a, F: FnOnce() -> Source<'a>> Member<'a, F> {
    /// The resource and the list of it.
    pub(super) fn written(
        self,
        names: &Names,
        form: Form,
        counted: &Arc<AtomicUsize>,
        options: &Options<'_>,
    ) -> [Value; 2] {
        let place = match form {
            Form::Json => &self.kept.json,
            Form::Protobuf => &self.kept.protobuf,
        };
        let called = [names.definition(), names.list_definition()];
        // They are called otherwise where a built-in type has taken their names, which may come and go.
        let is_same = |known: &&Written| known.names.iter().zip(called).all(|(known, name)| **known == *name);
        if let Some(known) = place.get().filter(is_same) {
            return known.values.clone();
        }
        let made = (self.source)().definitions(names, Dialect::V2, options);
        let values = made.map(|(_, value)| written(&value, form, protobuf::schema));
        let size = values.iter().map(|value| value.as_bytes().map_or(0, <[u8]>::len)).sum();
        if counted.fetch_add(size, Ordering::Relaxed) + size > MOST {
            counted.fetch_sub(size, Ordering::Relaxed);
            return values;
        }
        // Where there is something else in its place, this one is dropped and not counted any more.
        let _ = place.set(Written {
            names: called.map(Box::from),
            values: values.clone(),
            size,
            counted: counted.clone(),
        });
        values
    }
}
