//! Parameters of policies: objects of any kind, read from the caches of their stores.
//!
//! A cache that nothing else reads is loaded when the first request needs it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use pintle_cache::{Entry, Interest};
use pintle_meta::Value;
use pintle_meta::gvk::GroupVersionKind;
use pintle_meta::selector::LabelSelector;
use pintle_meta::selector::label::Selector;
use pintle_registry::{Served, Store};
use pintle_runtime::Clock;

use super::decoded::{Decoded, Room};

/// How long a request waits until the cache of parameters is loaded.
const LOAD_TIMEOUT: Duration = Duration::from_secs(1);

/// Finds the resources of parameters. Implemented by the control plane.
#[async_trait]
pub trait ParamKinds: Send + Sync + 'static {
    /// Returns the resource that serves a kind, built in or custom; `None` if there is none.
    async fn find(&self, kind: &GroupVersionKind) -> Option<ParamResource>;
}

/// No kind is served; for clusters without policies.
pub struct NoParams;

#[async_trait]
impl ParamKinds for NoParams {
    async fn find(&self, _: &GroupVersionKind) -> Option<ParamResource> {
        None
    }
}

/// The objects of one kind.
#[derive(Clone)]
pub struct ParamResource {
    pub store: Arc<Store>,
    /// The version that policies see.
    pub served: Arc<dyn Served>,
}

/// `paramKind` of a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ParamKind {
    api_version: String,
    kind: GroupVersionKind,
}

impl ParamKind {
    pub(super) fn read(kind: &Value) -> ParamKind {
        let api_version = kind.text_at(&["apiVersion"]);
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let kind = GroupVersionKind::new(group, version, kind.text_at(&["kind"]));
        ParamKind { api_version: api_version.to_owned(), kind }
    }

    /// Finds the resource of the kind. Errors if there is none, in the reference's words.
    pub(crate) async fn resource(&self, kinds: &dyn ParamKinds) -> Result<ParamResource, String> {
        let GroupVersionKind { group, version, kind } = &self.kind;
        let missing =
            || format!("failed to find resource referenced by paramKind: '{group}/{version}, Kind={kind}'");
        kinds.find(&self.kind).await.ok_or_else(missing)
    }
}

/// Formats the kind as Go prints the message.
impl std::fmt::Display for ParamKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "&ParamKind{{APIVersion:{},Kind:{},}}", self.api_version, self.kind.kind)
    }
}

/// `paramRef` of a binding, with the parameters that were decoded for it.
pub(crate) struct ParamRef {
    name: String,
    namespace: String,
    /// The error of a wrong selector is that of the requests that need it.
    selector: Option<Result<Selector, String>>,
    denies_absence: bool,
    decoded: Mutex<Decoded>,
}

impl ParamRef {
    pub(super) fn read(reference: &Value) -> ParamRef {
        let selector = reference.get("selector").filter(|selector| !selector.is_null());
        ParamRef {
            name: reference.text_at(&["name"]).to_owned(),
            namespace: reference.text_at(&["namespace"]).to_owned(),
            selector: selector.map(|selector| {
                let selector: LabelSelector = selector.view().map_err(|error| error.to_string())?;
                selector.selector()
            }),
            denies_absence: reference.text_at(&["parameterNotFoundAction"]) == "Deny",
            decoded: Mutex::default(),
        }
    }

    /// Returns the parameters for a request in a namespace, by name; none if there are none and that does not deny the request.
    /// Errors are those of the configuration, in the reference's words.
    pub(crate) async fn collect(
        &self,
        kind: &ParamKind,
        resource: &ParamResource,
        namespace: &str,
        clock: &Clock,
        room: &Arc<Room>,
    ) -> Result<Vec<Arc<Value>>, String> {
        let is_namespaced = resource.store.config().namespaced;
        let namespace = match (is_namespaced, self.namespace.as_str()) {
            (true, "") if namespace.is_empty() => {
                return Err("cannot use namespaced paramRef in policy binding that matches cluster-scoped \
                            resources"
                    .to_owned());
            }
            (true, "") => namespace,
            (_, own) => own,
        };
        let loaded = clock.timeout(LOAD_TIMEOUT, resource.store.cache().ready()).await;
        // A parameter counts for the next request after its write was answered.
        if let Some(revision) = resource.store.config().backend.known_revision() {
            let _ = resource.store.cache().wait_for(revision.0, LOAD_TIMEOUT).await;
        }
        if !matches!(loaded, Some(Ok(()))) {
            return Err(format!("paramKind kind `{kind}` not yet synced to use for admission"));
        }
        if !is_namespaced && !namespace.is_empty() {
            return Err("paramRef.namespace must not be provided for a cluster-scoped `paramKind`".to_owned());
        }
        let selector = match &self.selector {
            Some(_) if !self.name.is_empty() => {
                return Err("paramRef.name and paramRef.selector are mutually exclusive".to_owned());
            }
            None if self.name.is_empty() => return Err("one of name or selector must be provided".to_owned()),
            selector => {
                selector.as_ref().map(|selector| selector.as_ref().map_err(String::clone)).transpose()?
            }
        };
        let collect = || {
            let entries = match selector {
                Some(selector) => selected(resource, namespace, selector)?,
                None => {
                    let key =
                        if is_namespaced { format!("{namespace}/{}", self.name) } else { self.name.clone() };
                    resource.store.cache().get(&key).into_iter().collect()
                }
            };
            if entries.is_empty() && self.denies_absence {
                return Err(
                    "no params found for policy binding with `Deny` parameterNotFoundAction".to_owned()
                );
            }
            self.decoded().follow(resource, &self.interest(is_namespaced), room);
            let decode = |entry: &Arc<Entry>| {
                pintle_work::check();
                self.decode(resource, entry)
            };
            entries.iter().map(decode).collect()
        };
        pintle_work::run(collect).await
    }

    /// Returns the objects among which the parameters of all requests are.
    fn interest(&self, is_namespaced: bool) -> Interest {
        match (self.namespace.as_str(), self.name.as_str()) {
            ("", "") => Interest::Everything,
            ("", _) if is_namespaced => Interest::Everything,
            ("", name) => Interest::Key(name.into()),
            (namespace, "") => Interest::Namespace(namespace.into()),
            (namespace, name) => Interest::Key(format!("{namespace}/{name}").into()),
        }
    }

    fn decoded(&self) -> MutexGuard<'_, Decoded> {
        self.decoded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn decode(&self, resource: &ParamResource, entry: &Entry) -> Result<Arc<Value>, String> {
        if let Some(known) = self.decoded().find(entry) {
            return Ok(known);
        }
        let served = resource.store.object(entry).and_then(|object| resource.served.to_served(object));
        let object = Arc::new(served.map_err(|status| status.message)?);
        self.decoded().keep(resource, entry, &object);
        Ok(object)
    }
}

fn selected(
    resource: &ParamResource,
    namespace: &str,
    selector: &Selector,
) -> Result<Vec<Arc<Entry>>, String> {
    let snapshot = resource.store.cache().snapshot().map_err(|error| error.to_string())?;
    let prefix = if namespace.is_empty() { String::new() } else { format!("{namespace}/") };
    let is_selected = |entry: &&Arc<Entry>| {
        pintle_work::check();
        entry.read().is_ok_and(|facts| selector.matches(|key| facts.label(key)))
    };
    Ok(snapshot.objects.iter_prefix(&prefix).filter(is_selected).cloned().collect())
}

#[cfg(test)]
#[path = "params_tests.rs"]
mod tests;
