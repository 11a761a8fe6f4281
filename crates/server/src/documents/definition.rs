//! A definition with the cached parts of documents about it, which are small and can be made again.

use std::sync::OnceLock;

use pintle_codec::json;
use pintle_discovery::aggregated::{self, Version};
use pintle_discovery::{Custom, CustomVersion};
use pintle_meta::Value;
use pintle_openapi::custom::{CachedParts, Digest};

/// A definition, and the cached parts of each of its versions.
pub(super) struct Definition {
    pub(super) custom: Custom,
    /// Cached parts by the index of the version.
    cached: Box<[VersionCache]>,
}

#[derive(Default)]
struct VersionCache {
    /// Its entry in the document of all groups, as text.
    discovery: OnceLock<Value>,
    /// The hash of its part of OpenAPI.
    digest: OnceLock<Digest>,
    /// Its part of the OpenAPI v2 document.
    openapi: CachedParts,
}

impl Definition {
    pub(super) fn new(custom: Custom) -> Definition {
        let cached = custom.versions.iter().map(|_| VersionCache::default()).collect();
        Definition { custom, cached }
    }

    /// Returns the entry of a version in the document of all groups. `version_index` is its index in the definition.
    pub(super) fn discovery(&self, version_index: usize, version: &CustomVersion) -> Value {
        let make = || {
            let mut text = Vec::new();
            json::encode(&aggregated::custom_resource(&self.custom, version, Version::V2), &mut text);
            Value::raw(text)
        };
        self.cached
            .get(version_index)
            .map_or(Value::NULL, |cached| cached.discovery.get_or_init(make).clone())
    }

    /// Returns the cached part of the OpenAPI v2 document of one of its versions.
    pub(super) fn openapi(&self, version_index: usize) -> Option<&CachedParts> {
        self.cached.get(version_index).map(|cached| &cached.openapi)
    }

    /// Returns the hash of a version's part of OpenAPI; computed if it is not known.
    pub(super) fn digest(&self, version_index: usize, make: impl FnOnce() -> Digest) -> Digest {
        self.cached.get(version_index).map_or_else(Digest::default, |cached| *cached.digest.get_or_init(make))
    }
}
