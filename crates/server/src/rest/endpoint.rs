//! A served resource, as the verb handlers see it.

use std::ops::Deref;
use std::sync::Arc;

use pintle_admission::{ObjectConversion, Target};
use pintle_cache::Pool;
use pintle_codec::frame::TypeMeta;
use pintle_meta::gvk::GroupVersionResource;
use pintle_registry::{Computed, Context, ResetFields, Served, Store, Subresource};
use pintle_runtime::{Clock, Random};

use super::connection::Connector;
use crate::Request;
use crate::lifecycle::Signal;
use crate::metrics::{EndpointLabels, EndpointMetrics};

/// One resource or subresource of a served version.
pub struct Endpoint {
    config: EndpointConfig,
    /// The resource and kind that admission sees.
    pub(crate) target: Arc<Target>,
    pub(crate) metrics: EndpointMetrics,
    /// `v1`, `apps/v1`.
    api_version: String,
    list_kind: String,
}

impl Deref for Endpoint {
    type Target = EndpointConfig;

    fn deref(&self) -> &EndpointConfig {
        &self.config
    }
}

/// The implementation of an endpoint.
pub enum Implementation {
    /// Objects of a store; for a subresource, the same objects by other rules.
    Store(Arc<Store>),
    /// A subresource with code of its own.
    Subresource(Arc<dyn Subresource>),
    /// Objects that are computed and not stored.
    Computed(Arc<dyn Computed>),
    /// A connection to a pod, service or node (`exec`, `proxy`). Admitted as one.
    Connection {
        connector: Arc<dyn Connector>,
        /// Whether the user needs the permission to create, too: a WebSocket begins with a GET, and yet it runs something.
        requires_create: bool,
    },
    /// A stream that is read (`log`): no admission plugin sees it.
    Stream(Arc<dyn Connector>),
    /// Not implemented yet.
    Missing,
}

impl Implementation {
    /// Returns the store of an endpoint that has one.
    pub fn store(&self) -> Option<&Arc<Store>> {
        match self {
            Implementation::Store(store) => Some(store),
            _ => None,
        }
    }

    /// Returns the fields that requests cannot set.
    pub(crate) fn reset_fields(&self) -> ResetFields {
        match self {
            Implementation::Store(store) => store.config().strategy.reset_fields(),
            _ => ResetFields::These(&[]),
        }
    }
}

/// The parts of an [`Endpoint`].
pub struct EndpointConfig {
    pub group: String,
    pub version: String,
    /// The plural name.
    pub resource: String,
    pub subresource: Option<String>,
    pub namespaced: bool,
    pub verbs: Vec<&'static str>,
    /// The kind of requests and answers, in the served version.
    pub served: Arc<dyn Served>,
    pub implementation: Implementation,
    /// Shows objects to admission plugins in the version of the request and in all others that are served.
    pub conversion: Arc<dyn ObjectConversion>,
    /// Whether it belongs to a custom resource, also if its kind is built in (`scale`). The reference has no router before
    /// custom resources, which would take more patches and has error messages of its own.
    pub is_custom: bool,
    /// Set when the endpoint is not served any more; its watches end.
    pub removed: Option<Signal>,
}

impl Endpoint {
    pub fn new(config: EndpointConfig) -> Endpoint {
        let kind = config.served.kind();
        let target = Arc::new(Target {
            kind: kind.clone(),
            resource: GroupVersionResource::new(&*config.group, &*config.version, &*config.resource),
            subresource: config.subresource.clone().unwrap_or_default(),
            equivalents: config.conversion.equivalents().into(),
        });
        Endpoint {
            api_version: kind.api_version(),
            list_kind: config.served.list_kind(),
            config,
            target,
            metrics: EndpointMetrics::default(),
        }
    }

    pub(crate) fn type_meta(&self) -> TypeMeta<'_> {
        TypeMeta { kind: &self.served.kind().kind, api_version: &self.api_version }
    }

    pub(crate) fn list_type_meta(&self) -> TypeMeta<'_> {
        TypeMeta { kind: &self.list_kind, api_version: &self.api_version }
    }

    /// Returns the labels that its requests are counted under.
    pub(crate) fn labels(&self) -> EndpointLabels<'_> {
        EndpointLabels {
            group: &self.group,
            version: &self.version,
            resource: &self.resource,
            subresource: self.subresource.as_deref().unwrap_or_default(),
        }
    }

    pub(crate) fn allows(&self, verb: &str) -> bool {
        self.verbs.contains(&verb)
    }

    /// `pods`, `pods/status`.
    pub(crate) fn name(&self) -> String {
        match &self.subresource {
            Some(subresource) => format!("{}/{subresource}", self.resource),
            None => self.resource.clone(),
        }
    }

    /// Makes the context of a request for the registry.
    pub(crate) fn context(&self, request: &Request) -> Context {
        let namespace = if self.namespaced { request.info.namespace.clone() } else { String::new() };
        let Some(user) = &request.user else { return Context { namespace, ..Context::default() } };
        Context {
            namespace,
            user: user.name.clone(),
            user_uid: user.uid.clone(),
            groups: user.groups.clone(),
            extra: user.extra.clone(),
            verb: match request.info.verb.as_str() {
                "create" => "create",
                "update" => "update",
                "patch" => "patch",
                _ => "",
            },
            ..Context::default()
        }
    }
}

/// An endpoint of stored objects, with the state that serving them needs.
#[derive(Clone)]
pub(crate) struct StoredEndpoint {
    pub(crate) endpoint: Arc<Endpoint>,
    pub(crate) store: Arc<Store>,
    pub(crate) pool: Arc<Pool>,
    pub(crate) clock: Clock,
    pub(crate) random: Random,
}

impl Deref for StoredEndpoint {
    type Target = Endpoint;

    fn deref(&self) -> &Endpoint {
        &self.endpoint
    }
}
