//! The documents of other servers: which resources their group versions have, and their OpenAPI documents. Controllers fetch them, so
//! that no request waits for another server's document.

mod conversion;
mod decode;
mod discovery;
mod openapi;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pintle_controllers::{CatalogResource, CatalogVerbs};
use pintle_discovery::{
    Contribution, GroupVersion, Priority, Publisher, RemoteDocument, RemoteVersion, Resource, version_order,
};
use pintle_meta::gvk::GroupVersionResource;

use crate::api_services::RemoteService;
use crate::server::ServiceReference;

pub(crate) use discovery::DiscoveryController;
pub(crate) use openapi::{OpenApiController, OpenApiVersion};

/// The group versions of other servers, published for discovery and OpenAPI.
#[derive(Default)]
pub(crate) struct RemoteVersions {
    publisher: Arc<Publisher>,
    /// By the name of the APIService.
    known: Mutex<HashMap<String, Known>>,
}

/// A group version, as far as it is known.
struct Known {
    group: String,
    version: String,
    priority: Priority,
    service: ServiceReference,
    /// The resources that its server had when it was last asked; stale ones are forgotten.
    resources: Option<Vec<Resource>>,
    openapi_v2: Option<RemoteDocument>,
    openapi_v3: Option<RemoteDocument>,
}

impl Known {
    fn contribution(&self) -> Contribution {
        Contribution::Remote(Arc::new(RemoteVersion {
            version: GroupVersion {
                group: self.group.as_str().into(),
                version: self.version.as_str().into(),
                resources: self.resources.clone().unwrap_or_default(),
            },
            priority: self.priority,
            is_stale: self.resources.is_none(),
            openapi_v2: self.openapi_v2.clone(),
            openapi_v3: self.openapi_v3.clone(),
        }))
    }

    fn document(&self, version: OpenApiVersion) -> &Option<RemoteDocument> {
        match version {
            OpenApiVersion::V2 => &self.openapi_v2,
            OpenApiVersion::V3 => &self.openapi_v3,
        }
    }
}

impl RemoteVersions {
    pub(crate) fn publisher(&self) -> &Arc<Publisher> {
        &self.publisher
    }

    fn known(&self) -> MutexGuard<'_, HashMap<String, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Publishes an APIService, stale until its server was asked. What is known of it stays, unless another server has it now.
    pub(crate) fn add(&self, remote: &RemoteService) {
        let mut known = self.known();
        let service = &remote.server.service;
        let found = match known.get_mut(&remote.name).filter(|found| found.service == *service) {
            Some(found) if found.priority == remote.priority => return,
            Some(found) => {
                found.priority = remote.priority;
                found
            }
            None => {
                let new = Known {
                    group: remote.group.clone(),
                    version: remote.version.clone(),
                    priority: remote.priority,
                    service: service.clone(),
                    resources: None,
                    openapi_v2: None,
                    openapi_v3: None,
                };
                known.insert(remote.name.clone(), new);
                &known[&remote.name]
            }
        };
        self.publish(&remote.name, found);
    }

    pub(crate) fn remove(&self, name: &str) {
        let mut known = self.known();
        known.remove(name);
        self.publisher.publish(name, None);
    }

    /// Called while the lock is held, so that changes are published in their order.
    fn publish(&self, name: &str, known: &Known) {
        // The core group has a discovery document of its own.
        if !known.group.is_empty() {
            self.publisher.publish(name, Some(known.contribution()));
        }
    }

    /// Sets the resources of a group version; `None`: its server could not be asked.
    fn set_resources(&self, name: &str, resources: Option<Vec<Resource>>) {
        let mut known = self.known();
        let Some(found) = known.get_mut(name).filter(|found| found.resources != resources) else { return };
        found.resources = resources;
        self.publish(name, &known[name]);
    }

    /// Returns the hash of a document that is known.
    fn document_hash(&self, name: &str, version: OpenApiVersion) -> Option<String> {
        Some(self.known().get(name)?.document(version).as_ref()?.hash.clone())
    }

    /// Sets a document. Group versions of one server share it.
    fn set_document(&self, name: &str, version: OpenApiVersion, mut document: Option<RemoteDocument>) {
        let mut known = self.known();
        let Some(service) = known.get(name).map(|found| found.service.clone()) else { return };
        if let Some(new) = &mut document {
            let of_server = known.values().filter(|found| found.service == service);
            let same = of_server.filter_map(|found| found.document(version).as_ref());
            if let Some(same) = same.into_iter().find(|same| *same == new) {
                *new = same.clone();
            }
        }
        let Some(found) = known.get_mut(name).filter(|found| *found.document(version) != document) else {
            return;
        };
        match version {
            OpenApiVersion::V2 => found.openapi_v2 = document,
            OpenApiVersion::V3 => found.openapi_v3 = document,
        }
        self.publish(name, &known[name]);
    }

    /// Returns the resources of these APIServices for controllers, and what is not known.
    pub(crate) fn catalog(
        &self,
        services: &[Arc<RemoteService>],
    ) -> (Vec<CatalogResource>, Vec<(String, String)>) {
        let known = self.known();
        let mut failures = Vec::new();
        let mut by_group: BTreeMap<&str, Vec<(&RemoteService, &[Resource])>> = BTreeMap::new();
        for service in services {
            let found = known.get(&service.name).and_then(|found| found.resources.as_deref());
            match found.filter(|_| service.is_available) {
                Some(resources) => by_group.entry(&service.group).or_default().push((service, resources)),
                None => {
                    let version = format!("{}/{}", service.group, service.version);
                    let why = format!("stale GroupVersion discovery: {version}");
                    failures.push((version, why));
                }
            }
        }
        let mut listed: Vec<CatalogResource> = Vec::new();
        for versions in by_group.values_mut() {
            versions.sort_by(|(a, _), (b, _)| {
                let by_priority = b.priority.version.cmp(&a.priority.version);
                by_priority.then_with(|| version_order(&a.version, &b.version))
            });
            for (service, resources) in versions {
                for resource in resources.iter() {
                    let is_listed = |known: &CatalogResource| {
                        known.resource.group == service.group
                            && known.resource.resource == resource.name.as_str()
                    };
                    if !listed.iter().any(is_listed) {
                        listed.push(catalog_resource(service, resource));
                    }
                }
            }
        }
        (listed, failures)
    }

    /// Returns the resource of a kind, and whether it is namespaced.
    pub(crate) fn resource_of_kind(&self, group: &str, version: &str, kind: &str) -> Option<(String, bool)> {
        let known = self.known();
        let found = known.get(&format!("{version}.{group}"))?;
        let resource = found.resources.as_ref()?.iter().find(|resource| resource.kind.name == kind)?;
        Some((resource.name.to_string(), resource.namespaced))
    }
}

fn catalog_resource(service: &RemoteService, resource: &Resource) -> CatalogResource {
    CatalogResource {
        resource: GroupVersionResource::new(&*service.group, &*service.version, &*resource.name),
        kind: resource.kind.name.to_string(),
        is_namespaced: resource.namespaced,
        verbs: CatalogVerbs::of(&resource.verbs),
        stored: None,
    }
}

#[cfg(test)]
mod tests {
    use pintle_discovery::{GroupSource, Kind};

    use super::*;
    use crate::server::{Server, ServerTls, testing};

    fn remote(version: &str, priority: i32, is_available: bool) -> Arc<RemoteService> {
        let service = ServiceReference { namespace: "ns".into(), name: "s".into(), port: 443 };
        let tls = ServerTls { ca_bundle: Vec::new(), skip_verification: true };
        Arc::new(RemoteService {
            name: format!("{version}.g"),
            group: "g".into(),
            version: version.into(),
            priority: Priority { group: 100, version: priority },
            is_available,
            server: Arc::new(Server::new(service, tls, testing::connector())),
        })
    }

    fn boats() -> Vec<Resource> {
        vec![Resource {
            name: "boats".into(),
            singular: "boat".into(),
            short_names: Vec::new(),
            categories: Vec::new(),
            kind: Kind { name: "Boat".into(), foreign: None },
            namespaced: true,
            verbs: vec!["list".into(), "delete".into()],
            subresources: Vec::new(),
            storage: None,
        }]
    }

    #[test]
    fn a_group_version_is_stale_until_its_server_was_asked_and_when_it_fails() {
        let versions = RemoteVersions::default();
        let stale = |versions: &RemoteVersions| match versions.publisher().take_changes().pop() {
            Some((_, Some(Contribution::Remote(remote)))) => Some(remote.is_stale),
            _ => None,
        };
        versions.add(&remote("v1", 1, true));
        assert_eq!(stale(&versions), Some(true));
        versions.set_resources("v1.g", Some(boats()));
        assert_eq!(stale(&versions), Some(false));
        versions.set_resources("v1.g", Some(boats()));
        versions.add(&remote("v1", 1, false));
        assert_eq!(stale(&versions), None, "nothing has changed");
        versions.set_resources("v1.g", None);
        assert_eq!(stale(&versions), Some(true));
        versions.remove("v1.g");
        assert!(matches!(&versions.publisher().take_changes()[..], [(_, None)]));
    }

    #[test]
    fn controllers_see_the_preferred_version_and_what_is_not_known() {
        let versions = RemoteVersions::default();
        let all = [remote("v1", 1, true), remote("v2", 5, true), remote("v3", 9, false)];
        all.iter().for_each(|remote| versions.add(remote));
        for name in ["v1.g", "v2.g", "v3.g"] {
            versions.set_resources(name, Some(boats()));
        }
        let (resources, failures) = versions.catalog(&all);
        let found: Vec<&str> = resources.iter().map(|found| found.resource.version.as_str()).collect();
        assert_eq!(found, ["v2"]);
        assert!(resources[0].verbs.delete && !resources[0].verbs.delete_collection);
        assert_eq!(failures, [("g/v3".into(), "stale GroupVersion discovery: g/v3".into())]);
        assert_eq!(versions.resource_of_kind("g", "v1", "Boat"), Some(("boats".into(), true)));
        assert_eq!(versions.resource_of_kind("g", "v1", "Ship"), None);
    }

    #[test]
    fn group_versions_of_one_server_share_its_document() {
        let versions = RemoteVersions::default();
        for version in ["v1", "v2"] {
            versions.add(&remote(version, 1, true));
            let document = RemoteDocument { json: b"{}".to_vec().into(), hash: "A".into() };
            versions.set_document(&format!("{version}.g"), OpenApiVersion::V2, Some(document));
        }
        let known = versions.known();
        let json = |name: &str| known[name].openapi_v2.as_ref().unwrap().json.clone();
        assert!(Arc::ptr_eq(&json("v1.g"), &json("v2.g")));
    }
}
