//! The `Dangling` condition of flow schemas: whether the priority level that a flow schema refers to exists.
//!
//! It is kept of every flow schema, whoever made it, as soon as a flow schema or a priority level changes.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use futures_util::future::join_all;
use pintle_meta::{Object, Reason, Value, quote};
use pintle_registry::{Result, Store};
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep};

use crate::follow::{changed, watch};
use crate::objects::{ObjectIdentity, Objects};

/// How long the condition of a flow schema waits that is written too often, and that all are looked at again at the latest.
const INTERVAL: Duration = Duration::from_secs(60);
/// How soon a round that failed is repeated, or a store that could not be watched is asked again.
const PAUSE: Duration = Duration::from_secs(1);
/// Servers that do not agree on a condition write it this often in a minute at most.
const MOST_WRITES: usize = 6;
const MINUTE: Duration = Duration::from_secs(60);

/// Keeps the conditions.
pub(super) struct Dangling {
    pub(super) levels: Objects,
    pub(super) schemas: Objects,
    /// Flow schemas by the rules of their status.
    pub(super) statuses: Objects,
    /// When conditions were written lately, by the name of the flow schema. Held while a round is under way.
    pub(super) written: Mutex<HashMap<String, VecDeque<Instant>>>,
}

impl Dangling {
    /// Follows flow schemas and priority levels; never returns.
    pub(super) async fn run(&self) {
        loop {
            // Before the first round, so that nothing is missed.
            let mut schemas = watch(self.schemas.store(), "").await;
            let mut levels = watch(self.levels.store(), "").await;
            loop {
                let wait = match self.sync().await {
                    Ok(()) => INTERVAL,
                    Err(status) => {
                        tracing::error!("{}", status.message);
                        PAUSE
                    }
                };
                let go_on = tokio::select! {
                    changed = changed(&mut schemas) => changed,
                    changed = changed(&mut levels) => changed,
                    () = sleep(wait) => true,
                };
                if !go_on {
                    break;
                }
            }
            sleep(PAUSE).await;
        }
    }

    /// Brings the conditions of all flow schemas up to date.
    pub(super) async fn sync(&self) -> Result<()> {
        let mut written = self.written.lock().await;
        let levels = self.levels.store().list("").await?;
        let schemas = self.schemas.store().list("").await?;
        let now = Instant::now();
        written.retain(|_, times| {
            times.retain(|time| now.duration_since(*time) < MINUTE);
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
            // It was deleted or replaced meanwhile, which the watch tells.
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

/// The status to apply to a flow schema, if it does not have it.
fn wanted(store: &Store, schema: &Value, level: &str, exists: bool) -> Option<Value> {
    let (status, reason, rest) = match exists {
        true => ("False", "Found", "and it exists"),
        false => ("True", "NotFound", "but there is no such object"),
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
