//! StorageVersion objects: the versions in which this server stores its resources, published for other servers.

use std::sync::Arc;

use pintle_controllers::{Runtime, StorageVersionObjects, StorageVersions, StoredResource};
use pintle_discovery::GroupVersion;
use pintle_meta::gvk::compare_versions;
use pintle_registry::MANAGER;
use pintle_resources::strategy::{self, Settings};
use pintle_schema::{Resource, Resources, find_kind};
use pintle_server::filters::UnpublishedVersions;
use pintle_server::lifecycle::Hooks;

use crate::Error;
use crate::api_groups;
use crate::error::no_resource;
use crate::stores::Stores;

const GROUP: &str = "internal.apiserver.k8s.io";
const VERSION: &str = "v1alpha1";
const RESOURCE: &str = "storageversions";

/// Adds the hook that publishes storage versions under the name of this server's lease. Returns which writes wait for it.
pub(crate) fn add_hook(
    stores: &Stores,
    settings: &Settings,
    served: &[GroupVersion],
    server: &str,
    hooks: &mut Hooks,
    runtime: &Runtime,
) -> Result<UnpublishedVersions, Error> {
    let resources = stored(&Resources::builtin()?, served);
    let leases = stores.require_client("coordination.k8s.io", "v1", "leases")?;
    let is_served = served.iter().any(|version| version.group == GROUP && version.version == VERSION);
    let objects = is_served.then(|| objects(stores, settings).ok_or_else(no_resource(RESOURCE)));
    let (objects, clock) = (objects.transpose()?, runtime.clock.clone());
    let controller = StorageVersions::new(objects, leases, server.to_owned(), resources, clock);
    let (pending, runtime) = (controller.pending(), runtime.clone());
    hooks.post_start(StorageVersions::HOOK, move || async move {
        controller.start(&runtime).await;
        Ok(())
    });
    Ok(Arc::new(move |group, resource| pending.of(group, resource)))
}

fn objects(stores: &Stores, settings: &Settings) -> Option<StorageVersionObjects> {
    let versions = stores.client(GROUP, VERSION, RESOURCE)?;
    let status = strategy::of(GROUP, &format!("{RESOURCE}/status"), settings)?;
    let statuses = Arc::new(versions.store().with_strategy(status));
    let statuses = versions.through(statuses, "status", MANAGER);
    Some(StorageVersionObjects { versions, statuses })
}

/// Returns the resources of `served` that are stored. One that several groups serve belongs to the first of them by name.
fn stored(resources: &Resources, served: &[GroupVersion]) -> Vec<StoredResource> {
    let mut found: Vec<(&str, &str, &Resource)> = Vec::new();
    for version in resources.versions() {
        let kept = version.resources.iter().filter(|resource| resource.storage.is_some());
        let kept = kept.filter(|resource| api_groups::contains(served, version, resource));
        found.extend(kept.map(|resource| (version.group, version.version, resource)));
    }
    // Versions of a group stay in the order of their priority.
    found.sort_by_key(|(group, _, resource)| (*group, resource.name));
    let mut stored: Vec<(&str, StoredResource)> = Vec::new();
    for (group, version, resource) in found {
        let Some(storage) = resource.storage else { continue };
        let api_version = named(group, version);
        let known = stored.iter_mut().find(|(path, _)| *path == storage.path).map(|(_, known)| known);
        let Some(known) = known else {
            let entry = StoredResource {
                group: group.to_owned(),
                resource: resource.name.to_owned(),
                encoding: storage.kind.api_version().into_owned(),
                decodable: decodable(group, resource.kind.kind_name()),
                served: vec![api_version],
                also_in: Vec::new(),
            };
            stored.push((storage.path, entry));
            continue;
        };
        if known.group == group {
            known.served.push(api_version);
            continue;
        }
        if !known.also_in.iter().any(|other| other == group) {
            known.also_in.push(group.to_owned());
        }
        known.decodable.push(api_version);
    }
    stored.into_iter().map(|(_, resource)| resource).collect()
}

/// Returns all versions of a kind that can be decoded, served or not, the preferred one first.
fn decodable(group: &str, kind: &str) -> Vec<String> {
    let types = pintle_schema::types().iter().filter(|found| found.kind_name() == kind);
    let mut versions: Vec<&str> = types
        .filter(|found| find_kind(group, found.version(), kind).is_some_and(|of| of.name == found.name))
        .map(|found| found.version())
        .collect();
    versions.sort_by(|a, b| compare_versions(b, a));
    versions.into_iter().map(|version| named(group, version)).collect()
}

fn named(group: &str, version: &str) -> String {
    if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<StoredResource> {
        let resources = Resources::builtin().unwrap();
        let by_default = |version: &pintle_schema::GroupVersion| {
            version.is_served_by_default() || version.group == "resource.k8s.io"
        };
        let mut served = pintle_discovery::builtin(&resources, |_| true);
        let versions = resources.versions();
        served.retain(|served| {
            versions.iter().any(|version| {
                by_default(version) && version.group == served.group && version.version == served.version
            })
        });
        stored(&resources, &served)
    }

    #[track_caller]
    fn check(group: &str, resource: &str, encoding: &str, decodable: &[&str], served: &[&str]) {
        let all = all();
        let found = all.iter().find(|found| found.group == group && found.resource == resource).unwrap();
        assert_eq!(found.encoding, encoding);
        assert_eq!(found.decodable, decodable);
        assert_eq!(found.served, served);
    }

    #[test]
    fn versions_are_the_preferred_ones_first_and_also_those_that_are_not_served() {
        check("", "pods", "v1", &["v1"], &["v1"]);
        check("apps", "deployments", "apps/v1", &["apps/v1", "apps/v1beta2", "apps/v1beta1"], &["apps/v1"]);
        check("batch", "jobs", "batch/v1", &["batch/v1"], &["batch/v1"]);
        check("batch", "cronjobs", "batch/v1", &["batch/v1", "batch/v1beta1"], &["batch/v1"]);
        let both = &["autoscaling/v2", "autoscaling/v1"];
        check("autoscaling", "horizontalpodautoscalers", "autoscaling/v2", both, both);
        let group = "flowcontrol.apiserver.k8s.io";
        let versions = ["v1", "v1beta3", "v1beta2", "v1beta1"].map(|version| named(group, version));
        let versions: Vec<&str> = versions.iter().map(String::as_str).collect();
        check(group, "flowschemas", versions[0], &versions, &versions[..1]);
        let group = "apiextensions.k8s.io";
        let (new, old) = (named(group, "v1"), named(group, "v1beta1"));
        check(group, "customresourcedefinitions", &old, &[&new, &old], &[&new]);
    }

    #[test]
    fn a_resource_of_two_groups_is_published_once() {
        check("", "events", "v1", &["v1", "events.k8s.io/v1"], &["v1"]);
        let all = all();
        assert!(!all.iter().any(|resource| resource.group == "events.k8s.io"));
        let events = all.iter().find(|resource| resource.resource == "events").unwrap();
        assert_eq!(events.also_in, ["events.k8s.io"]);
    }

    #[test]
    fn reviews_and_resources_that_are_not_served_are_not_published() {
        let all = all();
        for name in ["tokenreviews", "bindings", "componentstatuses", "storageversions", "leasecandidates"] {
            assert!(!all.iter().any(|resource| resource.resource == name), "{name}");
        }
        for resource in &all {
            let StoredResource { encoding, decodable, served, .. } = resource;
            assert!(decodable.contains(encoding), "{resource:?}");
            assert!(served.iter().all(|version| decodable.contains(version)), "{resource:?}");
        }
    }
}
