//! The group versions of custom resources: each that a definition serves gets an APIService.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use pintle_controllers::{Controller, Requeue, Source};
use pintle_registry::{Result, Store};
use pintle_runtime::Clock;

use super::AutoRegistration;
use crate::DefinitionVersions;

/// Delay before definitions that could not be loaded are asked for again.
const PAUSE: Duration = Duration::from_millis(200);

/// Follows definitions.
pub(crate) struct DefinitionRegistration {
    store: Arc<Store>,
    definitions: Arc<dyn DefinitionVersions>,
    auto: Arc<AutoRegistration>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The group and the served versions of each definition, as they were counted.
    known: HashMap<String, (String, Vec<String>)>,
    /// The number of definitions that serve a group version.
    counts: HashMap<(String, String), usize>,
}

impl DefinitionRegistration {
    pub(crate) fn new(
        store: Arc<Store>,
        definitions: Arc<dyn DefinitionVersions>,
        auto: Arc<AutoRegistration>,
    ) -> DefinitionRegistration {
        DefinitionRegistration { store, definitions, auto, state: Mutex::default() }
    }

    /// Waits until the group versions of all stored definitions are wanted, so that none of their APIServices is taken for one that
    /// nobody serves.
    pub(crate) async fn begin(&self, clock: &Clock) {
        while self.definitions.ready().await.is_err() {
            clock.sleep(PAUSE).await;
        }
        self.definitions.names().iter().for_each(|name| self.sync(name));
    }

    fn sync(&self, name: &str) {
        let now = self.definitions.served(name);
        let (mut added, mut removed) = (Vec::new(), Vec::new());
        {
            let state = &mut *self.state.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some((group, versions)) = &now {
                for version in versions {
                    let key = (group.clone(), version.clone());
                    let count = state.counts.entry(key.clone()).or_default();
                    *count += 1;
                    if *count == 1 {
                        added.push(key);
                    }
                }
            }
            let before = match now {
                Some(now) => state.known.insert(name.to_owned(), now),
                None => state.known.remove(name),
            };
            let (group, versions) = before.unwrap_or_default();
            for version in versions {
                let key = (group.clone(), version);
                let Some(count) = state.counts.get_mut(&key) else { continue };
                *count -= 1;
                if *count == 0 {
                    state.counts.remove(&key);
                    removed.push(key);
                }
            }
        }
        added.iter().for_each(|(group, version)| self.auto.add(group, version));
        removed.iter().for_each(|(group, version)| self.auto.remove(group, version));
    }
}

#[async_trait]
impl Controller for DefinitionRegistration {
    fn name(&self) -> &'static str {
        "crd_autoregistration_controller"
    }

    fn sources(&self) -> Vec<Source> {
        vec![Source::informer(self.store.clone(), |entry, _| Some(entry.key().into()))]
    }

    async fn reconcile(&self, name: &str) -> Result<Requeue> {
        self.sync(name);
        Ok(Requeue::Never)
    }
}
