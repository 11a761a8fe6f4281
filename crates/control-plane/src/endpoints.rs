//! Endpoints of built-in resources: their store, or the code of a subresource or review.

use std::collections::HashMap;
use std::sync::Arc;

use pintle_admission::{Chain, ObjectConversion, ServedVersions};
use pintle_connections::Connections;
use pintle_features::Feature;
use pintle_meta::gvk::GroupVersionResource;
use pintle_registry::{Client, Guard, Served, Store, Subresource};
use pintle_resources::reviews::{AccessReview, Kind, RulesReview, SelfReview, TokenReview};
use pintle_resources::served::Version;
use pintle_resources::strategy;
use pintle_resources::subresources::{Binding, Eviction, Scale, TokenRequest};
use pintle_schema::{GroupVersion, Resource, Resources};
use pintle_server::rest::{Endpoint, EndpointConfig, Implementation};

use crate::access::claims::{AdminAccess, ClaimStatuses, Permissions};
use crate::access::escalation::NoEscalation;
use crate::access::params::ReadableParams;
use crate::access::pod_certificates::PodCertificateStatuses;
use crate::resources::ResourcesConfig;
use crate::stores::StoredKind;
use crate::{api_groups, own_writes};

/// Makes the endpoints of built-in resources.
pub(crate) struct Endpoints<'a> {
    pub(crate) connections: &'a Connections,
    pub(crate) resources: &'a Arc<Resources>,
    /// By the path of the keys.
    pub(crate) kinds: &'a HashMap<&'static str, StoredKind>,
    /// The admission of writes from one resource to another.
    pub(crate) admission: &'a Chain,
    pub(crate) config: &'a ResourcesConfig,
    /// The group versions that are served.
    pub(crate) served: &'a [pintle_discovery::GroupVersion],
}

fn named(version: &GroupVersion, resource: &Resource) -> GroupVersionResource {
    GroupVersionResource::new(version.group, version.version, resource.name)
}

/// Returns a resource or subresource in all other served group versions that have the same stored objects.
fn equivalent<'a>(
    resources: &'a Resources,
    served: &'a [pintle_discovery::GroupVersion],
    version: &'a GroupVersion,
    resource: &'a Resource,
) -> impl Iterator<Item = (&'a GroupVersion, &'a Resource)> {
    let path = |version: &GroupVersion, name: &str| {
        let mut stored = version.resources.iter().filter(|found| found.subresource.is_none());
        Some(stored.find(|found| found.name == name)?.storage?.path)
    };
    let own_path = path(version, resource.name);
    let others = resources
        .versions()
        .iter()
        .filter(move |other| (other.group, other.version) != (version.group, version.version));
    others.flat_map(move |other| {
        let found = other.resources.iter().filter(move |found| {
            found.subresource == resource.subresource
                && own_path.is_some()
                && path(other, found.name) == own_path
                && api_groups::contains(served, other, found)
        });
        found.map(move |found| (other, found))
    })
}

impl Endpoints<'_> {
    pub(crate) fn endpoint(&self, version: &GroupVersion, resource: &Resource) -> Endpoint {
        let (served, implementation) = self.implementation(version, resource);
        let conversion = self.conversion(version, resource, &served, &implementation);
        Endpoint::new(EndpointConfig {
            group: version.group.into(),
            version: version.version.into(),
            resource: resource.name.into(),
            subresource: resource.subresource.map(str::to_owned),
            namespaced: resource.namespaced,
            verbs: resource.verbs.clone(),
            served,
            implementation,
            conversion,
            is_custom: false,
            removed: None,
        })
    }

    /// Returns the conversion of a resource's objects for admission: between all served versions where they are stored, else only
    /// that of the request.
    fn conversion(
        &self,
        version: &GroupVersion,
        resource: &Resource,
        served: &Arc<dyn Served>,
        implementation: &Implementation,
    ) -> Arc<dyn ObjectConversion> {
        let is_stored = matches!(implementation, Implementation::Store(_));
        let kind = self.kind(version, resource.name).filter(|_| is_stored);
        let others = kind.into_iter().flat_map(|kind| {
            let equivalent = equivalent(self.resources, self.served, version, resource);
            equivalent.map(|(other_version, other)| {
                let served = Arc::new(Version::new(other, Some(kind.builtin.clone()))) as Arc<dyn Served>;
                (named(other_version, other), served)
            })
        });
        let own = std::iter::once((named(version, resource), served.clone()));
        Arc::new(ServedVersions::new(own.chain(others)))
    }

    fn implementation(
        &self,
        version: &GroupVersion,
        resource: &Resource,
    ) -> (Arc<dyn Served>, Implementation) {
        let plain = || Arc::new(Version::new(resource, None).with_defaults(self.config.settings.defaults()));
        if (version.group, resource.name) == ("", "componentstatuses") {
            return (plain(), Implementation::Computed(self.config.components.clone()));
        }
        if let Some(review) = self.review(version.group, resource.name) {
            return (plain(), Implementation::Subresource(review));
        }
        // The older way to bind pods is a resource of its own.
        let name = if resource.name == "bindings" { "pods" } else { resource.name };
        let Some(kind) = self.kind(version, name) else { return (plain(), Implementation::Missing) };
        let own = || Arc::new(Version::new(resource, Some(kind.builtin.clone())));
        let (settings, features) = (&self.config.settings, self.config.features);
        match (resource.name, resource.subresource) {
            ("bindings", _) | (_, Some("binding")) => {
                (plain(), Implementation::Subresource(Arc::new(Binding::new(&kind.store, settings))))
            }
            ("pods", Some("log")) => match self.connections.connector(resource.name, "log") {
                Some(connector) => (plain(), Implementation::Stream(connector)),
                None => (plain(), Implementation::Missing),
            },
            (_, Some("eviction")) => match self.eviction(kind) {
                Some(eviction) => {
                    let served = Version::new(resource, None)
                        .with_defaults(settings.defaults())
                        .or("policy/v1beta1.Eviction");
                    (Arc::new(served), Implementation::Subresource(Arc::new(eviction)))
                }
                None => (plain(), Implementation::Missing),
            },
            ("serviceaccounts", Some("token")) => match self.token_request() {
                Some(request) => (plain(), Implementation::Subresource(Arc::new(request))),
                None => (plain(), Implementation::Missing),
            },
            (name, Some(subresource @ ("attach" | "exec" | "portforward" | "proxy"))) => {
                let requires_create = subresource != "proxy"
                    && features.enabled(Feature::AuthorizePodWebsocketUpgradeCreatePermission);
                match self.connections.connector(name, subresource) {
                    Some(connector) => (plain(), Implementation::Connection { connector, requires_create }),
                    None => (plain(), Implementation::Missing),
                }
            }
            (_, Some("scale")) => {
                let api_version = match version.group {
                    "" => version.version.to_owned(),
                    group => format!("{group}/{}", version.version),
                };
                match Scale::new(kind.store.clone(), &api_version) {
                    Some(scale) => (plain(), Implementation::Subresource(Arc::new(scale))),
                    None => (plain(), Implementation::Missing),
                }
            }
            ("resourceclaims", Some("status")) => {
                let strategy = strategy::of(version.group, "resourceclaims/status", settings);
                match strategy.zip(self.claim_statuses(version.version)) {
                    Some((strategy, guard)) => {
                        let store = kind.store.with_strategy(strategy).with_guard(Arc::new(guard));
                        (own(), Implementation::Store(Arc::new(store)))
                    }
                    None => (plain(), Implementation::Missing),
                }
            }
            ("podcertificaterequests", Some("status")) => {
                match strategy::of(version.group, "podcertificaterequests/status", settings) {
                    Some(strategy) => {
                        let guard = PodCertificateStatuses { authorizer: self.config.authorizer.clone() };
                        let store = kind.store.with_strategy(strategy).with_guard(Arc::new(guard));
                        (own(), Implementation::Store(Arc::new(store)))
                    }
                    None => (plain(), Implementation::Missing),
                }
            }
            (name, Some(subresource)) => {
                match strategy::of(version.group, &format!("{name}/{subresource}"), settings) {
                    Some(strategy) => {
                        (own(), Implementation::Store(Arc::new(kind.store.with_strategy(strategy))))
                    }
                    None => (plain(), Implementation::Missing),
                }
            }
            // A resource that two groups serve has a strategy in each.
            (name, None) => match strategy::of(version.group, name, settings) {
                Some(strategy) if kind.store.config().group != version.group => {
                    let store = kind.store.with_strategy(strategy).served_in(version.group);
                    (own(), Implementation::Store(Arc::new(store)))
                }
                _ if version.group == "rbac.authorization.k8s.io" => {
                    let guard =
                        NoEscalation { resource: name.into(), escalation: self.config.escalation.clone() };
                    (own(), Implementation::Store(Arc::new(kind.store.with_guard(Arc::new(guard)))))
                }
                _ => match self.guard(version.group, name) {
                    Some(guard) => (own(), Implementation::Store(Arc::new(kind.store.with_guard(guard)))),
                    None => (own(), Implementation::Store(kind.store.clone())),
                },
            },
        }
    }

    /// Returns the guard of a resource's writes, if it has one.
    fn guard(&self, group: &str, name: &str) -> Option<Arc<dyn Guard>> {
        let spec: &[&str] = match (group, name) {
            ("resource.k8s.io", "resourceclaims") => &["spec"],
            ("resource.k8s.io", "resourceclaimtemplates") => &["spec", "spec"],
            _ => return Some(Arc::new(self.readable_params(group, name)?)),
        };
        Some(Arc::new(AdminAccess { namespaces: self.namespaces()?, spec }))
    }

    fn namespaces(&self) -> Option<Arc<Store>> {
        Some(self.kinds.get("namespaces")?.store.clone())
    }

    fn claim_statuses(&self, version: &str) -> Option<ClaimStatuses> {
        let features = self.config.features;
        let permissions =
            features.enabled(Feature::DRAResourceClaimGranularStatusAuthorization).then(|| Permissions {
                authorizer: self.config.authorizer.clone(),
                version: version.into(),
                devices: features.enabled(Feature::DRAResourceClaimDeviceStatus),
            });
        Some(ClaimStatuses { namespaces: self.namespaces()?, permissions })
    }

    /// Returns the guard of admission policies and their bindings.
    fn readable_params(&self, group: &str, name: &str) -> Option<ReadableParams> {
        if group != "admissionregistration.k8s.io" {
            return None;
        }
        let store = |group: &str, name: &str| {
            let mut versions = self.resources.versions().iter().filter(|version| version.group == group);
            versions.find_map(|version| Some(self.kind(version, name)?.store.clone()))
        };
        let policies = match name {
            "mutatingadmissionpolicies" | "validatingadmissionpolicies" => None,
            "mutatingadmissionpolicybindings" => Some(store(group, "mutatingadmissionpolicies")?),
            "validatingadmissionpolicybindings" => Some(store(group, "validatingadmissionpolicies")?),
            _ => return None,
        };
        Some(ReadableParams {
            authorizer: self.config.authorizer.clone(),
            resources: self.resources.clone(),
            definitions: store("apiextensions.k8s.io", "customresourcedefinitions"),
            is_mutating: name.starts_with("mutating"),
            policies,
        })
    }

    /// Returns the handler of a review.
    fn review(&self, group: &str, name: &str) -> Option<Arc<dyn Subresource>> {
        let access = |kind| Arc::new(AccessReview { authorizer: self.config.authorizer.clone(), kind });
        Some(match (group, name) {
            ("authorization.k8s.io", "subjectaccessreviews") => access(Kind::Subject),
            ("authorization.k8s.io", "localsubjectaccessreviews") => access(Kind::LocalSubject),
            ("authorization.k8s.io", "selfsubjectaccessreviews") => access(Kind::SelfSubject),
            ("authorization.k8s.io", "selfsubjectrulesreviews") => {
                Arc::new(RulesReview { authorizer: self.config.authorizer.clone() })
            }
            ("authentication.k8s.io", "tokenreviews") => Arc::new(TokenReview {
                tokens: self.config.tokens.authenticator.clone(),
                audiences: self.config.tokens.audiences.clone(),
                anonymous: self.config.tokens.anonymous,
                clock: self.config.settings.clock.clone(),
            }),
            ("authentication.k8s.io", "selfsubjectreviews") => {
                Arc::new(SelfReview { clock: self.config.settings.clock.clone() })
            }
            _ => return None,
        })
    }

    /// Returns the stored kind of a resource of a version.
    fn kind(&self, version: &GroupVersion, name: &str) -> Option<&StoredKind> {
        let found = version.resources.iter().find(|other| other.name == name && other.subresource.is_none());
        self.kinds.get(found?.storage?.path)
    }

    fn eviction(&self, pods: &StoredKind) -> Option<Eviction> {
        let budgets = self.client("policy", "v1", "poddisruptionbudgets", "status")?;
        Eviction::new(&pods.store, budgets, &self.config.settings)
    }

    fn token_request(&self) -> Option<TokenRequest> {
        let store = |path: &str| Some(self.kinds.get(path)?.store.clone());
        Some(TokenRequest {
            accounts: store("serviceaccounts")?,
            pods: store("pods")?,
            secrets: store("secrets")?,
            nodes: store("minions")?,
            settings: self.config.token_requests.clone()?,
            clock: self.config.settings.clock.clone(),
        })
    }

    /// Returns a client of a resource or subresource, whose writes are admitted like those of requests.
    pub(crate) fn client(&self, group: &str, version: &str, name: &str, subresource: &str) -> Option<Client> {
        let resource = self.resources.find(group, version, name)?;
        let kind = self.kinds.get(resource.storage?.path)?;
        let path = if subresource.is_empty() { name.to_owned() } else { format!("{name}/{subresource}") };
        let strategy = strategy::of(group, &path, &self.config.settings)?;
        let served = Arc::new(Version::new(resource, Some(kind.builtin.clone())));
        let (chain, resource) = (self.admission.clone(), GroupVersionResource::new(group, version, name));
        let admission = own_writes::admission(move || chain.clone(), served.clone(), resource, subresource);
        let store = Arc::new(kind.store.with_strategy(strategy));
        Some(Client::of_subresource(store, served, subresource).admitted_by(admission))
    }
}

#[cfg(test)]
mod tests {
    use pintle_features::Features;

    use super::*;
    use crate::ApiGroupsConfig;

    /// Returns the kinds that admission sees objects of a resource in, besides that of the request.
    fn others(group: &str, version: &str, name: &str, subresource: Option<&str>) -> Vec<String> {
        let resources = Resources::builtin().expect("the built-in resources");
        let served = api_groups::served(&resources, &ApiGroupsConfig::default(), Features::default());
        let served = served.expect("the default group versions");
        let mut versions = resources.versions().iter();
        let found =
            versions.find(|found| (found.group, found.version) == (group, version)).expect("a version");
        let mut named = found.resources.iter();
        let resource = named.find(|found| found.name == name && found.subresource == subresource);
        let others = equivalent(&resources, &served, found, resource.expect("a resource"));
        others.map(|(_, other)| Version::new(other, None).kind().api_version()).collect()
    }

    #[test]
    fn admission_sees_stored_objects_in_all_served_versions() {
        assert_eq!(others("", "v1", "pods", None), [""; 0]);
        assert_eq!(others("", "v1", "events", None), ["events.k8s.io/v1"]);
        assert_eq!(others("events.k8s.io", "v1", "events", None), ["v1"]);
        assert_eq!(others("autoscaling", "v1", "horizontalpodautoscalers", None), ["autoscaling/v2"]);
        let status = others("autoscaling", "v2", "horizontalpodautoscalers", Some("status"));
        assert_eq!(status, ["autoscaling/v1"]);
    }
}
