//! The taking up of APIServices of other servers: their group versions are published, and the controllers that look after them are
//! told of every change.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use pintle_controllers::{Controller, Key, Requeue, Source, WorkQueue};
use pintle_registry::Result;
use pintle_runtime::Clock;
use tokio::sync::watch;

use crate::api_services::ApiServices;
use crate::remote::RemoteVersions;

/// Delay before a cache that could not be loaded is asked again.
const PAUSE: Duration = Duration::from_millis(200);

/// Delay until OpenAPI documents of a new or changed APIService are fetched: its server is often just starting.
const SETTLE: Duration = Duration::from_secs(1);

/// The queue of a controller that is told of changes; empty until the controller starts.
type Subscription = Arc<OnceLock<WorkQueue<Key>>>;

/// The controllers that look after remote APIServices.
pub(crate) struct Subscribers {
    pub(crate) availability: Subscription,
    pub(crate) discovery: Subscription,
    /// Controllers of OpenAPI documents.
    pub(crate) openapi: [Subscription; 2],
    /// Whether there is any remote APIService.
    pub(crate) has_remote: watch::Sender<bool>,
}

impl Default for Subscribers {
    fn default() -> Subscribers {
        Subscribers {
            availability: Arc::default(),
            discovery: Arc::default(),
            openapi: Default::default(),
            has_remote: watch::Sender::new(false),
        }
    }
}

impl Subscribers {
    fn tell(&self, name: &str) {
        let key: Key = name.into();
        for subscription in [&self.availability, &self.discovery] {
            if let Some(queue) = subscription.get() {
                queue.add(key.clone());
            }
        }
        for queue in self.openapi.iter().filter_map(|subscription| subscription.get()) {
            // One that failed for long is tried soon.
            queue.forget(&key);
            queue.add_after(key.clone(), SETTLE);
        }
    }
}

/// Returns the source of a controller that is told of changes, and first of all that is there.
pub(crate) fn subscribe(subscription: &Subscription, services: &Arc<ApiServices>) -> Source {
    let (subscription, services) = (subscription.clone(), services.clone());
    Source::feeder(move |queue| {
        // A controller is started once. What was taken up before is found here, what comes later is told.
        let _ = subscription.set(queue.clone());
        services.all_remote().iter().for_each(|remote| queue.add(remote.name.as_str().into()));
        async {}
    })
}

/// Follows APIServices.
pub(crate) struct RemoteRegistration {
    services: Arc<ApiServices>,
    versions: Arc<RemoteVersions>,
    subscribers: Arc<Subscribers>,
    /// Names of the APIServices that were taken up.
    known: Mutex<HashSet<String>>,
}

impl RemoteRegistration {
    pub(crate) fn new(
        services: Arc<ApiServices>,
        versions: Arc<RemoteVersions>,
        subscribers: Arc<Subscribers>,
    ) -> RemoteRegistration {
        RemoteRegistration { services, versions, subscribers, known: Mutex::default() }
    }

    /// Waits until all stored APIServices are taken up: from then on requests find their servers.
    pub(crate) async fn begin(&self, clock: &Clock) {
        while self.services.ready().await.is_err() {
            clock.sleep(PAUSE).await;
        }
        self.services.all_remote().iter().for_each(|remote| self.sync(&remote.name));
    }

    fn sync(&self, name: &str) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        match self.services.named(name) {
            Some(remote) => {
                known.insert(name.to_owned());
                self.versions.add(&remote);
            }
            None if known.remove(name) => self.versions.remove(name),
            None => return,
        }
        let has_remote = !known.is_empty();
        drop(known);
        self.subscribers
            .has_remote
            .send_if_modified(|before| std::mem::replace(before, has_remote) != has_remote);
        self.subscribers.tell(name);
    }
}

#[async_trait]
impl Controller for RemoteRegistration {
    fn name(&self) -> &'static str {
        "APIServiceRegistrationController"
    }

    fn sources(&self) -> Vec<Source> {
        vec![Source::informer(self.services.store().clone(), |entry, _| Some(entry.key().into()))]
    }

    async fn reconcile(&self, name: &str) -> Result<Requeue> {
        self.sync(name);
        Ok(Requeue::Never)
    }
}
