//! The flow schemas and priority levels that every cluster has, and the conditions of flow schemas.
//!
//! Two of each are mandatory: their specs are always set back. The others are suggested: their specs are left alone where the object
//! is annotated with `apf.kubernetes.io/autoupdate-spec: "false"`. Missing objects are created again either way. An object that is
//! annotated with `"true"` and not in the lists was in those of another release, and is deleted.

mod dangling;
mod objects;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::join_all;
use pintle_meta::{Object, Reason, Value};
use pintle_registry::{Client, Result, Store};
use pintle_runtime::Clock;
use tokio::sync::Mutex;

use self::dangling::Dangling;
use crate::runtime::{Controller, Requeue, Source};

const INTERVAL: Duration = Duration::from_secs(60);
const AUTO_UPDATE: &str = "apf.kubernetes.io/autoupdate-spec";
const PRODUCER: &str = "api-priority-and-fairness-config-producer-v1";
const CONSUMER: &str = "api-priority-and-fairness-config-consumer-v1";

/// Keeps the flow schemas and priority levels that every cluster has.
pub struct FlowControl {
    levels: Client,
    schemas: Client,
    /// The conditions of flow schemas, where this server has them in effect.
    dangling: Option<Arc<Dangling>>,
}

impl FlowControl {
    /// The post-start hook.
    pub const HOOK: &'static str = "priority-and-fairness-config-producer";
    /// The post-start hook of the controller of conditions.
    pub const CONSUMER_HOOK: &'static str = "priority-and-fairness-config-consumer";

    /// `statuses` is the store of flow schemas with the strategy of their status. `has_conditions`: this server has flow schemas
    /// in effect, so that it says of each whether its priority level exists.
    pub fn new(
        levels: Client,
        schemas: Client,
        statuses: Arc<Store>,
        clock: Clock,
        has_conditions: bool,
    ) -> FlowControl {
        let statuses = schemas.through(statuses, "status", CONSUMER);
        let (levels, schemas) = (levels.managed_by(PRODUCER), schemas.managed_by(PRODUCER));
        let dangling = has_conditions.then(|| Dangling {
            levels: levels.clone(),
            schemas: schemas.clone(),
            statuses,
            clock,
            written: Mutex::default(),
        });
        FlowControl { levels, schemas, dangling: dangling.map(Arc::new) }
    }

    /// Returns the controller of the `Dangling` conditions, which is started beside this one.
    pub fn dangling(&self) -> Option<Arc<dyn Controller>> {
        self.dangling.clone().map(|dangling| dangling as Arc<dyn Controller>)
    }

    /// Does one round: writes all objects at once, in one commit, and then the conditions that follow from them.
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
        let done = match (configured.await, &self.dangling) {
            (Ok(()), Some(dangling)) => dangling.sync().await,
            (done, _) => done,
        };
        if let Err(status) = done {
            tracing::error!("APF bootstrap ensurer ran into error, will retry later: {}", status.message);
        }
    }
}

#[async_trait]
impl Controller for FlowControl {
    fn name(&self) -> &'static str {
        "priority_and_fairness_config_producer"
    }

    fn sources(&self) -> Vec<Source> {
        vec![Source::every(INTERVAL, "")]
    }

    async fn reconcile(&self, _: &str) -> Result<Requeue> {
        self.sync().await;
        Ok(Requeue::Never)
    }

    fn awaited(&self) -> Option<&'static str> {
        Some("the flow schemas and priority levels of the system")
    }
}

/// An object that every cluster has.
pub(crate) struct Wanted {
    pub(crate) name: &'static str,
    /// Whether its spec is set back whatever its annotation says.
    pub(crate) mandatory: bool,
    pub(crate) json: String,
}

/// Creates missing objects, sets back changed ones, deletes those of other releases.
async fn ensure(objects: &Client, wanted: Vec<Wanted>, found: &[Value]) -> Result<()> {
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

async fn ensure_one(objects: &Client, wanted: &Wanted, current: Option<&Value>) -> Result<()> {
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
        // Another writer was faster; the next round looks at its spec.
        Err(status) if !matches!(status.reason, Reason::Conflict | Reason::NotFound) => Err(status),
        _ => Ok(()),
    }
}

/// Returns the value of the annotation; `None` if it is missing or not a boolean.
fn auto_update(object: &Value) -> Option<bool> {
    match object.annotation(AUTO_UPDATE)? {
        "1" | "t" | "T" | "TRUE" | "true" | "True" => Some(true),
        "0" | "f" | "F" | "FALSE" | "false" | "False" => Some(false),
        _ => None,
    }
}

/// Sets back the annotation and, where it says so, the spec. Returns whether anything changed.
fn revise(object: &mut Value, mandatory: bool, spec: &Value) -> bool {
    // Without the annotation, an object is updated as long as its spec was never changed.
    let updates = mandatory || auto_update(object).unwrap_or_else(|| object.generation() == 1);
    let annotate = auto_update(object) != Some(updates);
    let replace = updates && object.get("spec") != Some(spec);
    if annotate && let Some(metadata) = object.metadata_mut() {
        let annotations = metadata.get_or_insert_with("annotations", || Object::default().into());
        if let Some(annotations) = annotations.as_object_mut() {
            annotations.insert(AUTO_UPDATE, if updates { "true" } else { "false" });
        }
    }
    if replace && let Some(object) = object.as_object_mut() {
        object.insert("spec", spec.clone());
    }
    annotate || replace
}
