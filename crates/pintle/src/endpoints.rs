//! Where requests for a resource lead: to its objects, or to what does something with them.

use std::collections::HashMap;
use std::sync::Arc;

use pintle_admission::{Chain, Request, RequestAdmission, Target};
use pintle_auth::authorizer::rbac::Escalation;
use pintle_auth::{Authorizer, User};
use pintle_meta::gvk::GroupVersionResource;
use pintle_registry::{Client, Computed, Served, Subresource};
use pintle_resources::reviews::{AccessReview, RulesReview, SelfReview, TokenReview, Whose};
use pintle_resources::served::Version;
use pintle_resources::strategy::{self, Settings};
use pintle_resources::subresources::{Binding, Eviction, Scale, TokenRequest, TokenRequestSettings};
use pintle_schema::{GroupVersion, Resource, Resources};
use pintle_server::rest::{Behind, Endpoint, EndpointConfig};

use crate::access::claims::ClaimStatuses;
use crate::access::escalation::NoEscalation;
use crate::access::rbac::Roles;
use crate::config::Tokens;
use crate::plane::Kept;

/// What endpoints are made of.
pub(crate) struct Endpoints<'a> {
    pub(crate) resources: &'a Resources,
    /// By the path of the keys.
    pub(crate) kept: &'a HashMap<&'static str, Kept>,
    pub(crate) settings: &'a Settings,
    /// Of what one resource writes to another.
    pub(crate) admission: &'a Chain,
    /// How the programs beside the server are.
    pub(crate) components: &'a Arc<dyn Computed>,
    pub(crate) authorizer: &'a Arc<dyn Authorizer>,
    /// What those who write roles and bindings may give.
    pub(crate) escalation: &'a Arc<Escalation<Roles>>,
    pub(crate) tokens: &'a Tokens,
    pub(crate) token_requests: &'a Option<TokenRequestSettings>,
    /// Whether who connects to a pod needs the permission to create, whatever the request's method
    /// (feature gate `AuthorizePodWebsocketUpgradeCreatePermission`).
    pub(crate) connecting_is_creating: bool,
    /// Whether what a status of a claim says needs permissions of its own, and that of devices too
    /// (feature gates `DRAResourceClaimGranularStatusAuthorization` and `DRAResourceClaimDeviceStatus`).
    pub(crate) granular_claims: Option<bool>,
}

impl Endpoints<'_> {
    pub(crate) fn endpoint(&self, version: &GroupVersion, resource: &Resource) -> Endpoint {
        let (served, behind) = self.behind(version, resource);
        Endpoint::new(EndpointConfig {
            group: version.group.into(),
            version: version.version.into(),
            resource: resource.name.into(),
            subresource: resource.subresource.map(str::to_owned),
            namespaced: resource.namespaced,
            verbs: resource.verbs.clone(),
            served,
            behind,
            is_defined: false,
            ended: None,
        })
    }

    fn behind(&self, version: &GroupVersion, resource: &Resource) -> (Arc<dyn Served>, Behind) {
        let plain = || Arc::new(Version::new(resource, None).with_defaults(self.settings.defaults()));
        if (version.group, resource.name) == ("", "componentstatuses") {
            return (plain(), Behind::Computed(self.components.clone()));
        }
        if let Some(review) = self.review(version.group, resource.name) {
            return (plain(), Behind::Subresource(review));
        }
        // The older way to bind pods is a resource of its own.
        let name = if resource.name == "bindings" { "pods" } else { resource.name };
        let Some(kept) = self.kept(version, name) else { return (plain(), Behind::Missing) };
        let own = || Arc::new(Version::new(resource, Some(kept.builtin.clone())));
        let settings = self.settings;
        match (resource.name, resource.subresource) {
            ("bindings", _) | (_, Some("binding")) => {
                (plain(), Behind::Subresource(Arc::new(Binding::new(&kept.store, settings))))
            }
            (_, Some("eviction")) => match self.eviction(kept) {
                Some(eviction) => {
                    let served = Version::new(resource, None)
                        .with_defaults(settings.defaults())
                        .or("policy/v1beta1.Eviction");
                    (Arc::new(served), Behind::Subresource(Arc::new(eviction)))
                }
                None => (plain(), Behind::Missing),
            },
            ("serviceaccounts", Some("token")) => match self.token_request() {
                Some(request) => (plain(), Behind::Subresource(Arc::new(request))),
                None => (plain(), Behind::Missing),
            },
            ("pods", Some("attach" | "exec" | "portforward")) if self.connecting_is_creating => {
                (plain(), Behind::Connection)
            }
            (_, Some("scale")) => {
                let api_version = match version.group {
                    "" => version.version.to_owned(),
                    group => format!("{group}/{}", version.version),
                };
                match Scale::new(kept.store.clone(), &api_version) {
                    Some(scale) => (plain(), Behind::Subresource(Arc::new(scale))),
                    None => (plain(), Behind::Missing),
                }
            }
            ("resourceclaims", Some("status")) if self.granular_claims.is_some() => {
                match strategy::of(version.group, "resourceclaims/status", settings) {
                    Some(strategy) => {
                        let guard = ClaimStatuses {
                            authorizer: self.authorizer.clone(),
                            version: version.version.into(),
                            devices: self.granular_claims == Some(true),
                        };
                        let store = kept.store.with_strategy(strategy).with_guard(Arc::new(guard));
                        (own(), Behind::Store(Arc::new(store)))
                    }
                    None => (plain(), Behind::Missing),
                }
            }
            (name, Some(subresource)) => {
                match strategy::of(version.group, &format!("{name}/{subresource}"), settings) {
                    Some(strategy) => (own(), Behind::Store(Arc::new(kept.store.with_strategy(strategy)))),
                    None => (plain(), Behind::Missing),
                }
            }
            // What is served by two groups has rules of both.
            (name, None) => match strategy::of(version.group, name, settings) {
                Some(strategy) if kept.store.config().group != version.group => {
                    (own(), Behind::Store(Arc::new(kept.store.with_strategy(strategy))))
                }
                _ if version.group == "rbac.authorization.k8s.io" => {
                    let guard = NoEscalation { resource: name.into(), escalation: self.escalation.clone() };
                    (own(), Behind::Store(Arc::new(kept.store.with_guard(Arc::new(guard)))))
                }
                _ => (own(), Behind::Store(kept.store.clone())),
            },
        }
    }

    /// What answers questions about access.
    fn review(&self, group: &str, name: &str) -> Option<Arc<dyn Subresource>> {
        let access = |whose| Arc::new(AccessReview { authorizer: self.authorizer.clone(), whose });
        Some(match (group, name) {
            ("authorization.k8s.io", "subjectaccessreviews") => access(Whose::Anyone),
            ("authorization.k8s.io", "localsubjectaccessreviews") => access(Whose::AnyoneLocally),
            ("authorization.k8s.io", "selfsubjectaccessreviews") => access(Whose::Own),
            ("authorization.k8s.io", "selfsubjectrulesreviews") => {
                Arc::new(RulesReview { authorizer: self.authorizer.clone() })
            }
            ("authentication.k8s.io", "tokenreviews") => Arc::new(TokenReview {
                tokens: self.tokens.tokens.clone(),
                audiences: self.tokens.audiences.clone(),
                anonymous: self.tokens.anonymous,
                clock: self.settings.clock.clone(),
            }),
            ("authentication.k8s.io", "selfsubjectreviews") => Arc::new(SelfReview { clock: self.settings.clock.clone() }),
            _ => return None,
        })
    }

    /// How the objects of a resource of a version are kept.
    fn kept(&self, version: &GroupVersion, name: &str) -> Option<&Kept> {
        let found = version.resources.iter().find(|other| other.name == name && other.subresource.is_none());
        self.kept.get(found?.storage?.path)
    }

    fn eviction(&self, pods: &Kept) -> Option<Eviction> {
        let budgets = self.client("policy", "v1", "poddisruptionbudgets", "status")?;
        Eviction::new(&pods.store, budgets, self.settings)
    }

    fn token_request(&self) -> Option<TokenRequest> {
        let store = |path: &str| Some(self.kept.get(path)?.store.clone());
        Some(TokenRequest {
            accounts: store("serviceaccounts")?,
            pods: store("pods")?,
            secrets: store("secrets")?,
            nodes: store("minions")?,
            settings: self.token_requests.clone()?,
            clock: self.settings.clock.clone(),
        })
    }

    /// A resource or subresource for the server itself.
    pub(crate) fn client(&self, group: &str, version: &str, name: &str, subresource: &str) -> Option<Client> {
        let resource = self.resources.find(group, version, name)?;
        let kept = self.kept.get(resource.storage?.path)?;
        let path = if subresource.is_empty() { name.to_owned() } else { format!("{name}/{subresource}") };
        let strategy = strategy::of(group, &path, self.settings)?;
        let served = Arc::new(Version::new(resource, Some(kept.builtin.clone())));
        let target = Arc::new(Target {
            kind: served.kind().clone(),
            resource: GroupVersionResource::new(group, version, name),
            subresource: subresource.into(),
        });
        let (chain, user) = (self.admission.clone(), Arc::new(User::api_server()));
        let admission = Arc::new(move |namespace: &str, name: &str| {
            let request = Request {
                target: target.clone(),
                namespace: namespace.into(),
                name: name.into(),
                user: user.clone(),
                ..Request::default()
            };
            Box::new(RequestAdmission::new(chain.clone(), request)) as _
        });
        let store = Arc::new(kept.store.with_strategy(strategy));
        Some(Client::of_subresource(store, served, subresource).admitted_by(admission))
    }
}
