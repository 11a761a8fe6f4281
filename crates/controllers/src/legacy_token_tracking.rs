//! The config map that says since when the use of service account tokens in secrets is tracked. Who cleans such tokens up
//! must not take one for unused because nobody looked.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use pintle_meta::time::Time;
use pintle_meta::value::Object;
use pintle_meta::{Reason, Value};
use pintle_registry::Result;
use tokio::sync::Notify;

use crate::follow::follow;
use crate::objects::Objects;

const NAMESPACE: &str = "kube-system";
const NAME: &str = "kube-apiserver-legacy-service-account-token-tracking";
const KEY: &str = "since";
/// Other servers of the cluster may delete it, being older. Nobody is to fight with them.
const BETWEEN_CREATIONS: Duration = Duration::from_secs(30 * 60);

/// Keeps it.
#[derive(Clone)]
pub struct LegacyTokenTracking {
    maps: Objects,
    created: Arc<Mutex<Option<Instant>>>,
}

impl LegacyTokenTracking {
    /// The name of the hook that starts it.
    pub const HOOK: &'static str = "start-legacy-token-tracking-controller";

    pub fn new(maps: Objects) -> LegacyTokenTracking {
        LegacyTokenTracking { maps, created: Arc::default() }
    }

    /// Goes on until `shutdown`.
    pub fn start(self, shutdown: impl Future<Output = ()> + Send + 'static) {
        let store = self.maps.store().clone();
        let round = move || {
            let controller = self.clone();
            async move {
                if let Err(status) = controller.sync(SystemTime::now()).await {
                    tracing::error!("Error while syncing ConfigMap {NAMESPACE}/{NAME}: {}", status.message);
                }
            }
        };
        follow(store, format!("{NAMESPACE}/{NAME}"), Arc::new(Notify::new()), round, shutdown);
    }

    pub async fn sync(&self, now: SystemTime) -> Result<()> {
        let mut today = Time::from(now).truncated().to_string();
        today.truncate("2006-01-02".len());
        let Some(map) = self.maps.find(NAMESPACE, NAME).await? else { return self.create(&today).await };
        if is_date(map.text_at(&["data", KEY])) {
            return Ok(());
        }
        let mut change = |map: &Value| {
            let mut new = map.clone();
            let Some(object) = new.as_object_mut().filter(|_| !is_date(map.text_at(&["data", KEY]))) else {
                return Ok(None);
            };
            let data = object.get_or_insert_with("data", || Object::default().into());
            if let Some(data) = data.as_object_mut() {
                data.insert(KEY, today.as_str());
            }
            Ok(Some(new))
        };
        match self.maps.update(NAMESPACE, NAME, &mut change).await {
            Err(status) if !matches!(status.reason, Reason::Conflict | Reason::NotFound) => Err(status),
            _ => Ok(()),
        }
    }

    async fn create(&self, today: &str) -> Result<()> {
        let last = *self.created.lock().unwrap_or_else(PoisonError::into_inner);
        if last.is_some_and(|last| last.elapsed() < BETWEEN_CREATIONS) {
            return Ok(());
        }
        let json = format!(
            r#"{{"kind":"ConfigMap","apiVersion":"v1","metadata":{{"name":"{NAME}","namespace":"{NAMESPACE}"}},"data":{{"{KEY}":"{today}"}}}}"#
        );
        if self.maps.create_if_missing(NAMESPACE, json.as_bytes()).await?.is_some() {
            *self.created.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        }
        Ok(())
    }
}

/// Whether a text is a day, as `2006-01-02`.
fn is_date(text: &str) -> bool {
    text.len() == "2006-01-02".len() && Time::parse(&format!("{text}T00:00:00Z")).is_ok()
}
