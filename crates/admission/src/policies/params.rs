//! Parameters of policies: objects of any kind, read from the caches of their stores.
//!
//! A cache that nothing else reads is loaded when the first request needs it. Decoded parameters are kept with the binding that
//! refers to them, so they go when it goes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use pintle_cache::Entry;
use pintle_meta::Value;
use pintle_meta::gvk::GroupVersionKind;
use pintle_meta::selector::LabelSelector;
use pintle_meta::selector::label::Selector;
use pintle_registry::{Served, Store};
use pintle_runtime::Clock;

/// How long a request waits until the cache of parameters is loaded.
const LOAD_TIMEOUT: Duration = Duration::from_secs(1);

/// Decoded parameters that are kept with a binding.
const MOST_KEPT: usize = 4096;

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
    decoded: Mutex<HashMap<String, Decoded>>,
}

struct Decoded {
    revision: u64,
    served: Arc<dyn Served>,
    object: Arc<Value>,
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
        let entries = match &self.selector {
            Some(_) if !self.name.is_empty() => {
                return Err("paramRef.name and paramRef.selector are mutually exclusive".to_owned());
            }
            Some(selector) => selected(resource, namespace, selector.as_ref().map_err(String::clone)?)?,
            None if self.name.is_empty() => return Err("one of name or selector must be provided".to_owned()),
            None => {
                let key =
                    if is_namespaced { format!("{namespace}/{}", self.name) } else { self.name.clone() };
                resource.store.cache().get(&key).into_iter().collect()
            }
        };
        if entries.is_empty() && self.denies_absence {
            return Err("no params found for policy binding with `Deny` parameterNotFoundAction".to_owned());
        }
        let decode = || {
            let decoded = |entry: &Arc<Entry>| {
                pintle_work::check();
                self.decoded(resource, entry)
            };
            entries.iter().map(decoded).collect()
        };
        pintle_work::run(decode).await
    }

    fn decoded(&self, resource: &ParamResource, entry: &Entry) -> Result<Arc<Value>, String> {
        let mut kept = self.decoded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = kept.get(entry.key())
            && known.revision == entry.revision()
            && Arc::ptr_eq(&known.served, &resource.served)
        {
            return Ok(known.object.clone());
        }
        drop(kept);
        let served = resource.store.object(entry).and_then(|object| resource.served.to_served(object));
        let object = Arc::new(served.map_err(|status| status.message)?);
        kept = self.decoded.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= MOST_KEPT {
            kept.clear();
        }
        let (revision, served) = (entry.revision(), resource.served.clone());
        kept.insert(entry.key().to_owned(), Decoded { revision, served, object: object.clone() });
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
    let is_selected =
        |entry: &&Arc<Entry>| entry.read().is_ok_and(|facts| selector.matches(|key| facts.label(key)));
    Ok(snapshot.objects.iter_prefix(&prefix).filter(is_selected).cloned().collect())
}
