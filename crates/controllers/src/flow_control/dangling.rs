//! The `Dangling` condition of flow schemas: whether the priority level that a flow schema refers to exists.
//!
//! It is set on every flow schema, as soon as a flow schema or a priority level changes.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use futures_util::future::join_all;
use pintle_meta::{Object, Reason, Status, Value, quote};
use pintle_registry::{Client, ObjectIdentity, Result, Store};
use pintle_runtime::Clock;
use tokio::sync::Mutex;

use crate::runtime::{Controller, Requeue, Source};

/// The interval of full rounds, which find the conditions that were written too often.
const INTERVAL: Duration = Duration::from_secs(60);
/// The most writes of a condition in a minute, where servers do not agree on it.
const MOST_WRITES: usize = 6;
const MINUTE: Duration = Duration::from_secs(60);

/// Sets the conditions.
pub(super) struct Dangling {
    pub(super) levels: Client,
    pub(super) schemas: Client,
    /// Client of the status of flow schemas.
    pub(super) statuses: Client,
    pub(super) clock: Clock,
    /// The times of the last writes, by flow schema. Locked during a round.
    pub(super) written: Mutex<HashMap<String, VecDeque<Instant>>>,
}

impl Dangling {
    /// Brings the conditions of all flow schemas up to date.
    pub(super) async fn sync(&self) -> Result<()> {
        let mut written = self.written.lock().await;
        let levels = self.levels.store().list("").await?;
        let schemas = self.schemas.store().list("").await?;
        let now = self.clock.instant();
        written.retain(|_, times| {
            times.retain(|time| now.saturating_duration_since(*time) < MINUTE);
            !times.is_empty()
        });
        let mut notes = Vec::new();
        for schema in &schemas {
            let level = schema.text_at(&["spec", "priorityLevelConfiguration", "name"]);
            let exists = levels.iter().any(|known| known.name() == level);
            let Some(config) = wanted(self.statuses.store(), schema, level, exists) else { continue };
            let times = written.entry(schema.name().to_owned()).or_default();
            if times.len() < MOST_WRITES {
                times.push_back(now);
                notes.push(self.note(schema, config));
            }
        }
        join_all(notes).await.into_iter().collect()
    }

    async fn note(&self, schema: &Value, config: Value) -> Result<()> {
        match self.statuses.apply("", &ObjectIdentity::of(schema), &config).await {
            // It was deleted or replaced meanwhile, which the watch sees.
            Err(status) if !matches!(status.reason, Reason::NotFound | Reason::Conflict) => {
                let mut status = *status;
                status.message = format!(
                    "failed to set a status.condition for FlowSchema {}: {}",
                    schema.name(),
                    status.message
                );
                Err(Box::new(status))
            }
            _ => Ok(()),
        }
    }
}

#[async_trait]
impl Controller for Dangling {
    fn name(&self) -> &'static str {
        "priority_and_fairness_config_queue"
    }

    fn sources(&self) -> Vec<Source> {
        vec![
            Source::stored(self.schemas.store().clone(), "", ""),
            Source::stored(self.levels.store().clone(), "", ""),
            Source::every(INTERVAL, ""),
        ]
    }

    async fn reconcile(&self, _: &str) -> Result<Requeue> {
        self.sync().await.map(|()| Requeue::Never)
    }

    fn failed(&self, _: &str, status: &Status) {
        tracing::error!("{}", status.message);
    }
}

/// Returns the status to apply to a flow schema, if it does not have it.
fn wanted(store: &Store, schema: &Value, level: &str, exists: bool) -> Option<Value> {
    let (status, reason, rest) = if exists {
        ("False", "Found", "and it exists")
    } else {
        ("True", "NotFound", "but there is no such object")
    };
    let level = quote(level);
    let message =
        format!("This FlowSchema references the PriorityLevelConfiguration object named {level} {rest}");
    let mut conditions = schema.items_at(&["status", "conditions"]).iter();
    let known = conditions.find(|condition| condition.text_at(&["type"]) == "Dangling");
    let said = known.map(|known| ["status", "reason", "message"].map(|field| known.text_at(&[field])));
    if said == Some([status, reason, &message]) {
        return None;
    }
    let now = store.now().truncated().to_string();
    let condition = [
        ("type", "Dangling"),
        ("status", status),
        ("lastTransitionTime", &now),
        ("reason", reason),
        ("message", &message),
    ];
    let condition: Object = condition.into_iter().map(|(field, text)| (field, Value::from(text))).collect();
    let object = |field: &'static str, value: Value| -> Value { Object::from_iter([(field, value)]).into() };
    let config: Object = [
        ("apiVersion", "flowcontrol.apiserver.k8s.io/v1".into()),
        ("kind", "FlowSchema".into()),
        ("metadata", object("name", schema.name().into())),
        ("status", object("conditions", Value::list(vec![condition.into()]))),
    ]
    .into_iter()
    .collect();
    Some(config.into())
}
