//! The APIServices that this server keeps: of built-in group versions, and of those of custom resources.
//!
//! A label says how an APIService is kept. `onstart`: compared once when a server starts, so that users may change it from then on.
//! `true`: always. Any other APIService is left alone.
//!
//! | stored | not wanted | wanted on start | always wanted |
//! |---|---|---|---|
//! | none | - | created once | created |
//! | without label | - | - | - |
//! | `onstart`, made since the start | - | - | - |
//! | `onstart`, older | deleted once | updated once | updated once |
//! | `true` | deleted | updated once | updated |

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::join_all;
use pintle_controllers::{Controller, Key, Requeue, Source, WorkQueue};
use pintle_discovery::Priority;
use pintle_meta::{Reason, Status, Value};
use pintle_registry::{Client, Result};
use pintle_runtime::Clock;
use serde_json::json;

const LABEL: &str = "kube-aggregator.kubernetes.io/automanaged";

/// Delay before a cache that could not be loaded is asked again.
const PAUSE: Duration = Duration::from_millis(200);

/// An APIService that is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Wanted {
    group: String,
    version: String,
    priority: Priority,
    /// Whether it is compared only once.
    on_start: bool,
}

impl Wanted {
    fn name(&self) -> String {
        format!("{}.{}", self.version, self.group)
    }

    fn json(&self) -> String {
        let mut spec = json!({
            "version": self.version,
            "groupPriorityMinimum": self.priority.group,
            "versionPriority": self.priority.version,
        });
        if !self.group.is_empty() {
            spec["group"] = json!(self.group);
        }
        let label = if self.on_start { "onstart" } else { "true" };
        json!({
            "kind": "APIService",
            "apiVersion": "apiregistration.k8s.io/v1",
            "metadata": {"name": self.name(), "labels": {LABEL: label}},
            "spec": spec,
        })
        .to_string()
    }
}

/// Keeps the APIServices of this server.
pub(crate) struct AutoRegistration {
    services: Client,
    state: Mutex<State>,
    /// Set when the controller starts.
    queue: Arc<OnceLock<WorkQueue<Key>>>,
}

#[derive(Default)]
struct State {
    wanted: HashMap<String, Wanted>,
    /// Names of the APIServices that were stored when the controller started.
    at_start: HashSet<String>,
    /// Names that were brought to their state at least once.
    synced: HashSet<String>,
}

impl AutoRegistration {
    /// `builtin`: group and version of each that is served here.
    pub(crate) fn new<'a>(
        services: Client,
        builtin: impl Iterator<Item = (&'a str, &'a str)>,
    ) -> AutoRegistration {
        let wanted = builtin.filter_map(|(group, version)| {
            let priority = Priority::builtin(group, version)?;
            let (group, version) = (group.to_owned(), version.to_owned());
            let wanted = Wanted { group, version, priority, on_start: true };
            Some((wanted.name(), wanted))
        });
        let state = State { wanted: wanted.collect(), ..State::default() };
        AutoRegistration { services, state: Mutex::new(state), queue: Arc::default() }
    }

    /// Returns the names of the APIServices of built-in group versions.
    pub(crate) fn builtin(&self) -> Vec<String> {
        let state = self.state();
        state.wanted.iter().filter(|(_, wanted)| wanted.on_start).map(|(name, _)| name.clone()).collect()
    }

    /// Wants the APIService of a group version of custom resources.
    pub(crate) fn add(&self, group: &str, version: &str) {
        let (group, version) = (group.to_owned(), version.to_owned());
        let wanted = Wanted { group, version, priority: Priority::CUSTOM, on_start: false };
        let name = wanted.name();
        self.state().wanted.insert(name.clone(), wanted);
        self.queue(&name);
    }

    /// Wants it no longer.
    pub(crate) fn remove(&self, group: &str, version: &str) {
        let name = format!("{version}.{group}");
        self.state().wanted.remove(&name);
        self.queue(&name);
    }

    fn queue(&self, name: &str) {
        if let Some(queue) = self.queue.get() {
            queue.add(name.into());
        }
    }

    /// Brings all APIServices to their state at once: the store writes together what comes together. What fails is left to the
    /// controller. Called before it starts, when all that is wanted is known.
    pub(crate) async fn begin(&self, clock: &Clock) {
        while self.services.cache().ready().await.is_err() {
            clock.sleep(PAUSE).await;
        }
        let names: Vec<String> = {
            let mut state = self.state();
            if let Ok((stored, _)) =
                self.services.cache().snapshot_and_watch(pintle_cache::Interest::Everything)
            {
                state.at_start = stored.objects.iter().map(|entry| entry.key().to_owned()).collect();
            }
            state
                .at_start
                .iter()
                .chain(state.wanted.keys())
                .cloned()
                .collect::<HashSet<_>>()
                .into_iter()
                .collect()
        };
        for synced in join_all(names.iter().map(|name| self.sync(name))).await {
            if let Err(status) = synced {
                tracing::debug!("an APIService could not be registered yet: {}", status.message);
            }
        }
    }

    /// Brings an APIService to its state.
    async fn sync(&self, name: &str) -> Result<()> {
        let result = self.decide(name).await;
        if result.is_ok() {
            self.state().synced.insert(name.to_owned());
        }
        result
    }

    async fn decide(&self, name: &str) -> Result<()> {
        let (wanted, is_synced, was_there) = {
            let state = self.state();
            (state.wanted.get(name).cloned(), state.synced.contains(name), state.at_start.contains(name))
        };
        let stored = self.services.cached("", name);
        match (stored, wanted) {
            (None, None) => Ok(()),
            (_, Some(wanted)) if wanted.on_start && is_synced => Ok(()),
            (None, Some(wanted)) => {
                self.services.create_if_missing("", wanted.json().as_bytes()).await.map(drop)
            }
            (Some(stored), wanted) => {
                let label = stored.labels().find(|(key, _)| *key == LABEL).map(|(_, value)| value.to_owned());
                match label.as_deref() {
                    Some("onstart") if was_there && !is_synced => {}
                    Some("true") => {}
                    _ => return Ok(()),
                }
                match wanted {
                    None => changed_meanwhile(self.services.delete("", &stored).await),
                    Some(wanted) => self.update(&stored, &wanted).await,
                }
            }
        }
    }

    async fn update(&self, stored: &Value, wanted: &Wanted) -> Result<()> {
        let wanted = self.services.read(wanted.json().as_bytes())?;
        let spec = wanted.get("spec").cloned().unwrap_or_default();
        if stored.get("spec") == Some(&spec) {
            return Ok(());
        }
        let mut change = |current: &Value| {
            let mut new = current.clone();
            if let Some(object) = new.as_object_mut() {
                object.insert("spec", spec.clone());
            }
            Ok(Some(new))
        };
        changed_meanwhile(self.services.update_known("", stored, &mut change).await.map(drop))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An APIService that was changed or deleted comes up again.
fn changed_meanwhile(result: Result<()>) -> Result<()> {
    match result {
        Err(status) if matches!(status.reason, Reason::NotFound | Reason::Conflict) => Ok(()),
        result => result,
    }
}

#[async_trait]
impl Controller for AutoRegistration {
    fn name(&self) -> &'static str {
        "autoregister"
    }

    fn sources(&self) -> Vec<Source> {
        let queue = self.queue.clone();
        vec![
            Source::informer(self.services.store().clone(), |entry, _| Some(entry.key().into())),
            Source::feeder(move |own| {
                // A controller is started once.
                let _ = queue.set(own);
                async {}
            }),
        ]
    }

    async fn reconcile(&self, name: &str) -> Result<Requeue> {
        self.sync(name).await.map(|()| Requeue::Never)
    }

    fn failed(&self, name: &str, status: &Status) {
        tracing::error!("{name} failed with : {}", status.message);
    }
}

#[cfg(test)]
#[path = "automatic_tests.rs"]
mod tests;
