//! All of discovery in one document: what `/api` and `/apis` answer to
//! `Accept: application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList`.

use aws_lc_rs::digest::{SHA512, digest};
use pintle_codec::json;
use pintle_meta::Value;
use smol_str::SmolStr;

use crate::Document;
use crate::served::{GroupVersion, Kind, Resource, Subresource};
use crate::tree::{known, object, texts};

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

/// The ETag of a document, without the quotes around it. Whatever encoding and version is asked for, it is that of
/// [`Version::V2`] (a client that caches goes by `Vary: Accept` too).
pub fn etag(document: &Document) -> String {
    let mut value = document.value.clone();
    if let Some(object) = value.as_object_mut() {
        object.remove("kind");
        object.remove("apiVersion");
    }
    let mut text = Vec::new();
    json::encode(&value, &mut text);
    let mut hash = String::with_capacity(128);
    for byte in digest(&SHA512, &text).as_ref() {
        hash.push_str(&format!("{byte:02X}"));
    }
    hash
}

fn document<'a>(served: impl Iterator<Item = &'a GroupVersion>, as_version: Version) -> Document {
    let mut groups: Vec<(&SmolStr, Vec<Value>)> = Vec::new();
    for served in served {
        let version = version(served, as_version);
        match groups.iter_mut().find(|(name, _)| **name == served.group) {
            Some((_, versions)) => versions.push(version),
            None => groups.push((&served.group, vec![version])),
        }
    }
    let items = groups.into_iter().map(|(name, versions)| {
        let metadata = object(known("meta/v1.ObjectMeta"), [("name", name.clone().into())]);
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

fn version(served: &GroupVersion, as_version: Version) -> Value {
    let resources = served.resources.iter().map(|found| resource(served, found, as_version)).collect();
    object(
        as_version.of("APIVersionDiscovery"),
        [
            ("version", served.version.clone().into()),
            ("resources", Value::list(resources)),
            // Always: what is stale is what another server was asked for and did not tell.
            ("freshness", Value::literal("Current")),
        ],
    )
}

fn resource(served: &GroupVersion, resource: &Resource, as_version: Version) -> Value {
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

fn subresource(served: &GroupVersion, subresource: &Subresource, as_version: Version) -> Value {
    object(
        as_version.of("APISubresourceDiscovery"),
        [
            ("subresource", subresource.name.clone().into()),
            ("responseKind", response_kind(served, &subresource.kind)),
            ("verbs", texts(&subresource.verbs)),
        ],
    )
}

fn response_kind(served: &GroupVersion, kind: &Kind) -> Value {
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
