//! The flow schemas and priority levels that every cluster has, and what is wrong with flow schemas.
//!
//! Two are mandatory: their specs are set back whatever anybody does. The others are suggestions: whoever annotates one with
//! `apf.kubernetes.io/autoupdate-spec: "false"` keeps his own. What is missing is made again either way. One that says
//! `"true"` and is not among ours was ours in another release, and goes.

mod dangling;
mod objects;

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::join_all;
use pintle_meta::{Object, Reason, Value};
use pintle_registry::{Result, Store};
use tokio::sync::Mutex;

use self::dangling::Dangling;
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
    dangling: Arc<Dangling>,
}

impl FlowControl {
    /// The name of the hook that starts it.
    pub const HOOK: &'static str = "priority-and-fairness-config-producer";

    /// `statuses` is the store of flow schemas by the rules of their status.
    pub fn new(levels: Objects, schemas: Objects, statuses: Arc<Store>) -> FlowControl {
        let statuses = schemas.through(statuses, "status", CONSUMER);
        let (levels, schemas) = (levels.managed_by(PRODUCER), schemas.managed_by(PRODUCER));
        let dangling = Arc::new(Dangling {
            levels: levels.clone(),
            schemas: schemas.clone(),
            statuses,
            written: Mutex::default(),
        });
        FlowControl { levels, schemas, dangling }
    }

    /// Does it once, returns, and goes on until `shutdown`.
    pub async fn start(self, shutdown: impl Future<Output = ()> + Send + 'static) {
        let (dangling, ended) = (self.dangling.clone(), shutdown.shared());
        let stopped = ended.clone();
        let round = move || {
            let controller = self.clone();
            async move { controller.sync().await }
        };
        keep("the flow schemas and priority levels of the system", INTERVAL, round, ended).await;
        tokio::spawn(async move {
            tokio::select! {
                () = dangling.run() => {}
                () = stopped => {}
            }
        });
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
            Ok(()) => self.dangling.sync().await,
            Err(status) => Err(status),
        };
        if let Err(status) = done {
            tracing::error!("APF bootstrap ensurer ran into error, will retry later: {}", status.message);
        }
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
