//! All of discovery in one document: what `/api` and `/apis` answer to
//! `Accept: application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList`.

use aws_lc_rs::digest::{SHA512, digest};
use pintle_codec::json;
use pintle_meta::Value;
use smol_str::SmolStr;

use crate::custom::{Custom, CustomVersion};
use crate::served::{GroupVersion, Kind, Resource, Subresource};
use crate::tree::{known, object, texts};
use crate::{Document, RemoteVersion};

/// The freshness of a version whose resources are known. `Stale` is for versions of a remote server that could not be asked.
const CURRENT: &str = "Current";

/// The versions of the document, which differ in nothing but their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    V2,
    V2beta1,
}

impl Version {
    pub fn name(self) -> &'static str {
        match self {
            Version::V2 => "v2",
            Version::V2beta1 => "v2beta1",
        }
    }

    fn of(self, name: &str) -> &'static pintle_schema::Type {
        known(&format!("apidiscovery/{}.{name}", self.name()))
    }
}

/// `/api`: the core group alone.
pub fn api(served: &[GroupVersion], version: Version) -> Document {
    document(served.iter().filter(|served| served.group.is_empty()), version)
}

/// `/apis`: all other groups.
pub fn apis(served: &[GroupVersion], version: Version) -> Document {
    document(served.iter().filter(|served| !served.group.is_empty()), version)
}

/// A document as JSON, and its ETag without the quotes around it. Whatever encoding and version is asked for, the ETag is
/// that of [`Version::V2`] (a client that caches goes by `Vary: Accept` too).
pub fn json_and_etag(mut document: Document) -> (Vec<u8>, String) {
    let mut json = Vec::new();
    if let Some(object) = document.value.as_object_mut() {
        // Not part of what is hashed; they stand at the front, so that the rest need not be written twice.
        let (kind, version) = (object.remove("kind"), object.remove("apiVersion"));
        json.extend_from_slice(b"{\"kind\":");
        json::encode(&kind.unwrap_or_default(), &mut json);
        json.extend_from_slice(b",\"apiVersion\":");
        json::encode(&version.unwrap_or_default(), &mut json);
    }
    let front = json.len();
    json::encode(&document.value, &mut json);
    let mut hash = String::with_capacity(128);
    for byte in digest(&SHA512, json.get(front..).unwrap_or_default()).as_ref() {
        hash.push_str(&format!("{byte:02X}"));
    }
    if let Some(brace) = json.get_mut(front) {
        *brace = b',';
    }
    (json, hash)
}

fn document<'a>(served: impl Iterator<Item = &'a GroupVersion>, as_version: Version) -> Document {
    let mut groups: Vec<(SmolStr, Vec<Value>)> = Vec::new();
    for served in served {
        let version = builtin(served, as_version);
        match groups.last_mut().filter(|(name, _)| *name == served.group) {
            Some((_, versions)) => versions.push(version),
            None => groups.push((served.group.clone(), vec![version])),
        }
    }
    list(groups, as_version)
}

/// Groups with their versions, in the order in which they are shown. The versions are made by [`builtin`] and [`custom`].
pub fn list(groups: Vec<(SmolStr, Vec<Value>)>, as_version: Version) -> Document {
    let items = groups.into_iter().map(|(name, versions)| {
        let metadata = object(known("meta/v1.ObjectMeta"), [("name", name.into())]);
        let fields = [("metadata", metadata), ("versions", Value::list(versions))];
        object(as_version.of("APIGroupDiscovery"), fields)
    });
    let of = as_version.of("APIGroupDiscoveryList");
    let value = object(
        of,
        [
            ("kind", Value::literal("APIGroupDiscoveryList")),
            ("apiVersion", format!("apidiscovery.k8s.io/{}", as_version.name()).into()),
            ("items", Value::list(items.collect())),
        ],
    );
    Document { of, value }
}

/// A built-in group version.
pub fn builtin(served: &GroupVersion, as_version: Version) -> Value {
    let location = Location { group: &served.group, version: &served.version, full_kinds: false };
    let resources = served.resources.iter().map(|found| resource(location, found, as_version)).collect();
    version(&served.version, resources, CURRENT, as_version)
}

/// A group version of another server, whose kinds all have their group and version.
pub fn remote(remote: &RemoteVersion, as_version: Version) -> Value {
    let served = &remote.version;
    let location = Location { group: &served.group, version: &served.version, full_kinds: true };
    let resources = served.resources.iter().map(|found| resource(location, found, as_version)).collect();
    let freshness = if remote.is_stale { "Stale" } else { CURRENT };
    version(&served.version, resources, freshness, as_version)
}

/// A version of custom resources, which are made by [`custom_resource`] and stand in the order of their names.
pub fn custom(name: &str, resources: Vec<Value>, as_version: Version) -> Value {
    version(name, resources, CURRENT, as_version)
}

/// A custom resource in a version.
pub fn custom_resource(custom: &Custom, version: &CustomVersion, as_version: Version) -> Value {
    let location = Location { group: &custom.group, version: &version.name, full_kinds: true };
    resource(location, &custom.resource(version), as_version)
}

/// The group version that serves a resource.
#[derive(Clone, Copy)]
struct Location<'a> {
    group: &'a SmolStr,
    version: &'a SmolStr,
    /// Whether each kind has group and version even where they are those of the location.
    full_kinds: bool,
}

fn version(name: &str, resources: Vec<Value>, freshness: &'static str, as_version: Version) -> Value {
    object(
        as_version.of("APIVersionDiscovery"),
        [
            ("version", name.into()),
            ("resources", Value::list(resources)),
            ("freshness", Value::literal(freshness)),
        ],
    )
}

fn resource(served: Location<'_>, resource: &Resource, as_version: Version) -> Value {
    let subresources = resource.subresources.iter().map(|found| subresource(served, found, as_version));
    object(
        as_version.of("APIResourceDiscovery"),
        [
            ("resource", resource.name.clone().into()),
            ("responseKind", response_kind(served, &resource.kind)),
            ("scope", Value::literal(if resource.namespaced { "Namespaced" } else { "Cluster" })),
            ("singularResource", resource.singular.clone().into()),
            ("verbs", texts(&resource.verbs)),
            ("shortNames", texts(&resource.short_names)),
            ("categories", texts(&resource.categories)),
            ("subresources", Value::list(subresources.collect())),
        ],
    )
}

fn subresource(served: Location<'_>, subresource: &Subresource, as_version: Version) -> Value {
    object(
        as_version.of("APISubresourceDiscovery"),
        [
            ("subresource", subresource.name.clone().into()),
            ("responseKind", response_kind(served, &subresource.kind)),
            ("verbs", texts(&subresource.verbs)),
        ],
    )
}

fn response_kind(served: Location<'_>, kind: &Kind) -> Value {
    let (group, version) = match &kind.foreign {
        Some((group, version)) => (group.clone(), version.clone()),
        None if served.full_kinds => (served.group.clone(), served.version.clone()),
        None => (SmolStr::default(), SmolStr::default()),
    };
    object(
        known("meta/v1.GroupVersionKind"),
        [("group", group.into()), ("version", version.into()), ("kind", kind.name.clone().into())],
    )
}
