//! The documents of one path each: `/api`, `/apis`, a group, a group version.

use pintle_meta::Value;
use smol_str::SmolStr;

use crate::Document;
use crate::served::{GroupVersion, Kind, Resource, Subresource, storage_version_hash};
use crate::tree::{known, object, texts};

/// `/api`: the versions of the core group, and where the server is. `address` is the server's own, `host:port`.
///
/// As old as the API, it says no `apiVersion`.
pub fn api_versions(address: &str) -> Document {
    let of = known("meta/v1.APIVersions");
    let cidr = object(
        known("meta/v1.ServerAddressByClientCIDR"),
        [("clientCIDR", Value::literal("0.0.0.0/0")), ("serverAddress", address.into())],
    );
    let value = object(
        of,
        [
            ("kind", Value::literal("APIVersions")),
            ("versions", Value::list(vec![Value::literal("v1")])),
            ("serverAddressByClientCIDRs", Value::list(vec![cidr])),
        ],
    );
    Document { of, value }
}

/// `/apis`: groups with their versions, the preferred first; the core group is not among them.
pub fn api_group_list<'a>(groups: impl IntoIterator<Item = (&'a str, Vec<SmolStr>)>) -> Document {
    let groups = groups.into_iter().map(|(name, versions)| group(name, &versions, false)).collect();
    let of = known("meta/v1.APIGroupList");
    let value = object(
        of,
        [
            ("kind", Value::literal("APIGroupList")),
            ("apiVersion", Value::literal("v1")),
            ("groups", Value::list(groups)),
        ],
    );
    Document { of, value }
}

/// `/apis/{group}`
pub fn api_group(name: &str, versions: &[SmolStr]) -> Document {
    Document { of: known("meta/v1.APIGroup"), value: group(name, versions, true) }
}

fn group(name: &str, versions: &[SmolStr], on_its_own: bool) -> Value {
    let of = known("meta/v1.GroupVersionForDiscovery");
    let version = |version: &SmolStr| {
        object(
            of,
            [("groupVersion", format!("{name}/{version}").into()), ("version", version.clone().into())],
        )
    };
    let versions: Vec<Value> = versions.iter().map(version).collect();
    let preferred = versions.first().cloned().unwrap_or_default();
    let says = |text| if on_its_own { Value::literal(text) } else { Value::NULL };
    object(
        known("meta/v1.APIGroup"),
        [
            ("kind", says("APIGroup")),
            ("apiVersion", says("v1")),
            ("name", name.into()),
            ("versions", Value::list(versions)),
            ("preferredVersion", preferred),
        ],
    )
}

/// `/api/v1`, `/apis/{group}/{version}`. That of the core group, as old as the API, says no `apiVersion`.
pub fn api_resource_list(served: &GroupVersion) -> Document {
    let mut resources = Vec::new();
    for resource in &served.resources {
        resources.push(of_resource(resource));
        resources.extend(resource.subresources.iter().map(|sub| of_subresource(resource, sub)));
    }
    let version = if served.group.is_empty() { Value::NULL } else { Value::literal("v1") };
    let of = known("meta/v1.APIResourceList");
    let value = object(
        of,
        [
            ("kind", Value::literal("APIResourceList")),
            ("apiVersion", version),
            ("groupVersion", served.name().into()),
            ("resources", Value::list(resources)),
        ],
    );
    Document { of, value }
}

fn of_resource(resource: &Resource) -> Value {
    let (group, version, kind) = kind(&resource.kind);
    let hash = resource.storage.as_ref().map_or(Value::NULL, |kind| storage_version_hash(kind).into());
    object(
        known("meta/v1.APIResource"),
        [
            ("name", resource.name.clone().into()),
            ("singularName", resource.singular.clone().into()),
            ("namespaced", resource.namespaced.into()),
            ("group", group),
            ("version", version),
            ("kind", kind),
            ("verbs", texts(&resource.verbs)),
            ("shortNames", texts(&resource.short_names)),
            ("categories", texts(&resource.categories)),
            ("storageVersionHash", hash),
        ],
    )
}

fn of_subresource(resource: &Resource, subresource: &Subresource) -> Value {
    let (group, version, kind) = kind(&subresource.kind);
    object(
        known("meta/v1.APIResource"),
        [
            ("name", format!("{}/{}", resource.name, subresource.name).into()),
            ("namespaced", resource.namespaced.into()),
            ("group", group),
            ("version", version),
            ("kind", kind),
            ("verbs", texts(&subresource.verbs)),
        ],
    )
}

/// Group and version, said only where they are others, and the kind.
fn kind(kind: &Kind) -> (Value, Value, Value) {
    let (group, version) = match kind.foreign.clone() {
        Some((group, version)) => (group.into(), version.into()),
        None => (Value::NULL, Value::NULL),
    };
    (group, version, kind.name.clone().into())
}
