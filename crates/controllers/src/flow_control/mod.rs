//! The flow schemas and priority levels that every cluster has, and what is wrong with flow schemas.
//!
//! Two are mandatory: their specs are set back whatever anybody does. The others are suggestions: whoever annotates one with
//! `apf.kubernetes.io/autoupdate-spec: "false"` keeps his own. What is missing is made again either way. One that says
//! `"true"` and is not among ours was ours in another release, and goes.

mod objects;

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use pintle_meta::{Object, Reason, Value, quote};
use pintle_registry::{Result, Store};

use crate::keep::keep;
use crate::objects::Objects;

const INTERVAL: Duration = Duration::from_secs(60);
const AUTO_UPDATE: &str = "apf.kubernetes.io/autoupdate-spec";
const PRODUCER: &str = "api-priority-and-fairness-config-producer-v1";
const CONSUMER: &str = "api-priority-and-fairness-config-consumer-v1";

/// Keeps the configuration of flow control.
#[derive(Clone)]
pub struct FlowControl {
    levels: Objects,
    schemas: Objects,
    statuses: Objects,
}

impl FlowControl {
    /// The name of the hook that starts it.
    pub const HOOK: &'static str = "priority-and-fairness-config-producer";

    /// `statuses` is the store of flow schemas by the rules of their status.
    pub fn new(levels: Objects, schemas: Objects, statuses: Arc<Store>) -> FlowControl {
        let statuses = schemas.through(statuses, "status", CONSUMER);
        FlowControl { levels: levels.managed_by(PRODUCER), schemas: schemas.managed_by(PRODUCER), statuses }
    }

    /// Does it once, returns, and goes on until `shutdown`.
    pub async fn start(self, shutdown: impl Future<Output = ()> + Send + 'static) {
        let round = move || {
            let controller = self.clone();
            async move { controller.sync().await }
        };
        keep("the flow schemas and priority levels of the system", INTERVAL, round, shutdown).await;
    }

    /// One round. What is written is written at once, in one commit; then what follows from it.
    pub async fn sync(&self) {
        let configured = async {
            let (levels, schemas) =
                (self.levels.store().list("").await?, self.schemas.store().list("").await?);
            let wanted = objects::LEVELS.iter().map(objects::Level::wanted);
            let levels = ensure(&self.levels, wanted.collect(), &levels);
            let wanted = objects::SCHEMAS.iter().map(objects::Schema::wanted);
            let schemas = ensure(&self.schemas, wanted.collect(), &schemas);
            let (levels, schemas) = tokio::join!(levels, schemas);
            levels.and(schemas)
        };
        let done = match configured.await {
            Ok(()) => self.note_dangling().await,
            Err(status) => Err(status),
        };
        if let Err(status) = done {
            tracing::error!("APF bootstrap ensurer ran into error, will retry later: {}", status.message);
        }
    }

    /// Says of every flow schema whether its priority level is there.
    async fn note_dangling(&self) -> Result<()> {
        let levels = self.levels.store().list("").await?;
        let schemas = self.schemas.store().list("").await?;
        let notes = schemas.iter().filter_map(|schema| {
            let level = schema.text_at(&["spec", "priorityLevelConfiguration", "name"]);
            let exists = levels.iter().any(|known| known.name() == level);
            let config = self.dangling(schema, level, exists)?;
            Some(async move { self.statuses.apply("", schema.name(), &config).await.map(drop) })
        });
        join_all(notes).await.into_iter().collect()
    }

    /// The status to apply, if it is another.
    fn dangling(&self, schema: &Value, level: &str, exists: bool) -> Option<Value> {
        let (status, reason, rest) = match exists {
            true => ("False", "Found", "and it exists"),
            false => ("True", "NotFound", "but there is no such object"),
        };
        let level = quote(level);
        let message =
            format!("This FlowSchema references the PriorityLevelConfiguration object named {level} {rest}");
        let text = |condition: &Value, field: &str, wanted: &str| condition.text_at(&[field]) == wanted;
        let said = schema.items_at(&["status", "conditions"]).iter().any(|condition| {
            text(condition, "type", "Dangling")
                && text(condition, "status", status)
                && text(condition, "reason", reason)
                && text(condition, "message", &message)
        });
        if said {
            return None;
        }
        let now = self.statuses.store().now().truncated().to_string();
        let condition = [
            ("type", "Dangling"),
            ("status", status),
            ("lastTransitionTime", &now),
            ("reason", reason),
            ("message", &message),
        ];
        let condition: Object =
            condition.into_iter().map(|(field, text)| (field, Value::from(text))).collect();
        let object =
            |field: &'static str, value: Value| -> Value { Object::from_iter([(field, value)]).into() };
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
}

/// An object that should be there.
pub(crate) struct Wanted {
    pub(crate) name: &'static str,
    /// Its spec is ours, whatever it says.
    pub(crate) mandatory: bool,
    pub(crate) json: String,
}

/// Makes what is missing, sets back what has changed, removes what was ours once.
async fn ensure(objects: &Objects, wanted: Vec<Wanted>, found: &[Value]) -> Result<()> {
    let stale = found.iter().filter(|object| {
        auto_update(object) == Some(true) && !wanted.iter().any(|wanted| wanted.name == object.name())
    });
    let removed = join_all(stale.map(|object| objects.delete("", object)));
    let ensured = join_all(wanted.iter().map(|wanted| {
        let current = found.iter().find(|object| object.name() == wanted.name);
        ensure_one(objects, wanted, current)
    }));
    let (removed, ensured) = tokio::join!(removed, ensured);
    removed.into_iter().chain(ensured).collect()
}

async fn ensure_one(objects: &Objects, wanted: &Wanted, current: Option<&Value>) -> Result<()> {
    let Some(current) = current else {
        objects.create_if_missing("", wanted.json.as_bytes()).await?;
        return Ok(());
    };
    let spec = objects.read(wanted.json.as_bytes())?.get("spec").cloned().unwrap_or_default();
    if !revise(&mut current.clone(), wanted.mandatory, &spec) {
        return Ok(());
    }
    let mut change = |object: &Value| {
        let mut new = object.clone();
        Ok(revise(&mut new, wanted.mandatory, &spec).then_some(new))
    };
    match objects.update("", wanted.name, &mut change).await {
        // Somebody else was faster; its spec is looked at next time.
        Err(status) if !matches!(status.reason, Reason::Conflict | Reason::NotFound) => Err(status),
        _ => Ok(()),
    }
}

/// What an object says of itself: may it be changed by us? Nothing, if it says nothing that can be understood.
fn auto_update(object: &Value) -> Option<bool> {
    match object.annotation(AUTO_UPDATE)? {
        "1" | "t" | "T" | "TRUE" | "true" | "True" => Some(true),
        "0" | "f" | "F" | "FALSE" | "false" | "False" => Some(false),
        _ => None,
    }
}

/// Sets back what is ours to set; whether anything had to be.
fn revise(object: &mut Value, mandatory: bool, spec: &Value) -> bool {
    // One that does not say is ours as long as nobody has changed it.
    let ours = mandatory || auto_update(object).unwrap_or_else(|| object.generation() == 1);
    let annotate = auto_update(object) != Some(ours);
    let replace = ours && object.get("spec") != Some(spec);
    if annotate && let Some(metadata) = object.metadata_mut() {
        let annotations = metadata.get_or_insert_with("annotations", || Object::default().into());
        if let Some(annotations) = annotations.as_object_mut() {
            annotations.insert(AUTO_UPDATE, if ours { "true" } else { "false" });
        }
    }
    if replace && let Some(object) = object.as_object_mut() {
        object.insert("spec", spec.clone());
    }
    annotate || replace
}
