//! The ConfigMap with the date since which the use of service account tokens in secrets is tracked. A cleaner of such tokens must
//! not take one for unused that was not tracked.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use pintle_meta::time::Time;
use pintle_meta::value::Object;
use pintle_meta::{Reason, Status, Value};
use pintle_registry::{Client, Result};
use pintle_runtime::Clock;

use crate::runtime::{Controller, Requeue, Source};

const NAMESPACE: &str = "kube-system";
const NAME: &str = "kube-apiserver-legacy-service-account-token-tracking";
const KEY: &str = "since";
const INTERVAL: Duration = Duration::from_secs(60);
/// The least time between two creations: older servers of the cluster may delete the ConfigMap, and must not be fought.
const BETWEEN_CREATIONS: Duration = Duration::from_secs(30 * 60);

/// Creates the ConfigMap where it is missing, and mends its date.
pub struct LegacyTokenTracking {
    maps: Client,
    clock: Clock,
    created: Mutex<Option<Instant>>,
}

impl LegacyTokenTracking {
    /// The post-start hook.
    pub const HOOK: &'static str = "start-legacy-token-tracking-controller";

    pub fn new(maps: Client, clock: Clock) -> LegacyTokenTracking {
        LegacyTokenTracking { maps, clock, created: Mutex::default() }
    }

    pub async fn sync(&self) -> Result<()> {
        let mut today = Time::from(self.clock.now()).truncated().to_string();
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
        if last.is_some_and(|last| self.clock.instant().saturating_duration_since(last) < BETWEEN_CREATIONS) {
            return Ok(());
        }
        let json = format!(
            r#"{{"kind":"ConfigMap","apiVersion":"v1","metadata":{{"name":"{NAME}","namespace":"{NAMESPACE}"}},"data":{{"{KEY}":"{today}"}}}}"#
        );
        if self.maps.create_if_missing(NAMESPACE, json.as_bytes()).await?.is_some() {
            *self.created.lock().unwrap_or_else(PoisonError::into_inner) = Some(self.clock.instant());
        }
        Ok(())
    }
}

#[async_trait]
impl Controller for LegacyTokenTracking {
    fn name(&self) -> &'static str {
        "legacy_token_tracking_controller"
    }

    fn sources(&self) -> Vec<Source> {
        let object = format!("{NAMESPACE}/{NAME}");
        vec![Source::stored(self.maps.store().clone(), object, ""), Source::every(INTERVAL, "")]
    }

    async fn reconcile(&self, _: &str) -> Result<Requeue> {
        self.sync().await.map(|()| Requeue::Never)
    }

    fn failed(&self, _: &str, status: &Status) {
        tracing::error!("Error while syncing ConfigMap {NAMESPACE}/{NAME}: {}", status.message);
    }
}

/// Returns whether a text is a date, as `2006-01-02`.
fn is_date(text: &str) -> bool {
    text.len() == "2006-01-02".len() && Time::parse(&format!("{text}T00:00:00Z")).is_ok()
}
