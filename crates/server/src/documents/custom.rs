//! A definition with the cached parts of documents about it, which are small and can be made again.

use std::sync::OnceLock;

use pintle_codec::json;
use pintle_discovery::aggregated::{self, Version};
use pintle_discovery::{Custom, CustomVersion};
use pintle_meta::Value;
use pintle_openapi::custom::{CachedParts, Digest};

pub(super) struct Entry {
    pub(super) custom: Custom,
    /// Beside each of its versions.
    made: Box<[Made]>,
}

#[derive(Default)]
struct Made {
    /// Its entry in the document of all groups, as text.
    discovery: OnceLock<Value>,
    /// The hash of its part of OpenAPI.
    digest: OnceLock<Digest>,
    /// Its part of the OpenAPI v2 document.
    openapi: CachedParts,
}

impl Entry {
    pub(super) fn new(custom: Custom) -> Entry {
        let made = custom.versions.iter().map(|_| Made::default()).collect();
        Entry { custom, made }
    }

    /// The entry of a version in the document of all groups. `place` is the version's among those of the definition.
    pub(super) fn discovery(&self, place: usize, version: &CustomVersion) -> Value {
        let make = || {
            let mut text = Vec::new();
            json::encode(&aggregated::custom_resource(&self.custom, version, Version::V2), &mut text);
            Value::raw(text)
        };
        self.made.get(place).map_or(Value::NULL, |made| made.discovery.get_or_init(make).clone())
    }

    /// Returns the cached part of the OpenAPI v2 document of one of its versions.
    pub(super) fn openapi(&self, place: usize) -> Option<&CachedParts> {
        self.made.get(place).map(|made| &made.openapi)
    }

    /// Returns the hash of a version's part of OpenAPI; computed if it is not known.
    pub(super) fn digest(&self, place: usize, make: impl FnOnce() -> Digest) -> Digest {
        self.made.get(place).map_or_else(Digest::default, |made| *made.digest.get_or_init(make))
    }
}
