//! Priority and fairness of one control plane: its configuration from stored objects, and its hooks.

mod object_counts;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use pintle_controllers::{Controller, Runtime};
use pintle_features::{Feature, Features};
use pintle_flow_control::{Config, FlowControl, LevelSpec, SchemaSpec};
use pintle_meta::Value;
use pintle_metrics::Registry;
use pintle_registry::{Mirror, Reflect};
use pintle_server::Metrics;
use pintle_server::filters::FlowControlConfig;
use pintle_server::lifecycle::Hooks;

use self::object_counts::ObjectCounts;
use crate::Error;
use crate::resources::ServedResources;
use crate::stores::Stores;

/// The hook that waits for the configuration.
pub(crate) const CONSUMER_HOOK: &str = pintle_controllers::FlowControl::CONSUMER_HOOK;
/// The hook of the task that moves seats between levels.
pub(crate) const FILTER_HOOK: &str = "priority-and-fairness-filter";
/// The hook of a server without priority and fairness.
pub(crate) const MAX_IN_FLIGHT_HOOK: &str = "max-in-flight-filter";

/// The resources of the mirror, by their position in it.
const RESOURCES: [&str; 2] = ["prioritylevelconfigurations", "flowschemas"];

/// The stored configuration, as current as the cache.
struct StoredConfiguration {
    mirror: Mirror<Objects>,
    control: Arc<FlowControl>,
    /// Locked while changes are put into effect, so that no request goes on with the old ones meanwhile.
    applying: Mutex<()>,
}

/// The specs of all objects by name.
#[derive(Default)]
struct Objects {
    levels: BTreeMap<String, LevelSpec>,
    schemas: BTreeMap<String, SchemaSpec>,
    /// Whether they were changed since they were put into effect.
    is_changed: AtomicBool,
}

impl Reflect for Objects {
    fn set(&mut self, resource: usize, key: &str, object: Option<&Value>) {
        match resource {
            0 => change(&mut self.levels, key, object.and_then(LevelSpec::read)),
            _ => change(&mut self.schemas, key, object.and_then(SchemaSpec::read)),
        }
        *self.is_changed.get_mut() = true;
    }

    fn clear(&mut self, resource: usize) {
        match resource {
            0 => self.levels.clear(),
            _ => self.schemas.clear(),
        }
        *self.is_changed.get_mut() = true;
    }
}

fn change<T>(specs: &mut BTreeMap<String, T>, key: &str, spec: Option<T>) {
    match spec {
        Some(spec) => drop(specs.insert(key.to_owned(), spec)),
        None => drop(specs.remove(key)),
    }
}

impl StoredConfiguration {
    /// Puts changes into effect, if there are any.
    fn refresh(&self) {
        self.mirror.read(|objects| {
            if !objects.is_changed.load(Ordering::Acquire) {
                return;
            }
            let _applying = self.applying.lock().unwrap_or_else(PoisonError::into_inner);
            if objects.is_changed.load(Ordering::Acquire) {
                let (levels, schemas) = (objects.levels.values(), objects.schemas.values());
                self.control.reconfigure(levels.cloned().collect(), schemas.cloned().collect());
                objects.is_changed.store(false, Ordering::Release);
            }
        });
    }
}

/// The parts that flow control of a control plane needs.
pub(crate) struct Parts<'a> {
    /// Requests that are executed at once.
    pub(crate) seats: usize,
    pub(crate) stores: &'a Stores,
    pub(crate) resources: &'a ServedResources,
    pub(crate) features: Features,
    pub(crate) registry: &'a Registry,
    pub(crate) metrics: &'a Metrics,
    /// The controller that says of each flow schema whether its level exists.
    pub(crate) conditions: Option<Arc<dyn Controller>>,
    pub(crate) runtime: &'a Runtime,
}

/// Makes flow control and adds its hooks.
pub(crate) fn flow_control(parts: Parts<'_>, hooks: &mut Hooks) -> Result<FlowControlConfig, Error> {
    let Parts { seats, stores, resources, features, registry, metrics, conditions, runtime } = parts;
    let objects =
        ObjectCounts::new(stores, &resources.definitions, runtime.spawner.clone(), runtime.clock.clone());
    let control = FlowControl::new(Config {
        seats,
        clock: runtime.clock.clone(),
        registry: registry.clone(),
        size_based_lists: features.enabled(Feature::SizeBasedListCostEstimate),
        watch_list: features.enabled(Feature::WatchList),
        objects: Arc::new(objects),
        note: metrics.flow_control_note(),
    })
    .map_err(Error::part)?;
    let mirrored = RESOURCES.iter().map(|path| stores.require_store(path)).collect::<Result<Vec<_>, _>>()?;
    let stored = Arc::new(StoredConfiguration {
        mirror: Mirror::new(mirrored, Objects::default()),
        control: control.clone(),
        applying: Mutex::default(),
    });
    let (configured, controllers) = (stored.clone(), runtime.clone());
    hooks.post_start(CONSUMER_HOOK, move || async move {
        configured.mirror.ready().await.map_err(|status| status.message)?;
        configured.refresh();
        if let Some(conditions) = conditions {
            pintle_controllers::start(conditions, &controllers).await;
        }
        Ok(())
    });
    let (run, spawner) = (control.clone(), runtime.spawner.clone());
    hooks.post_start(FILTER_HOOK, move || async move {
        spawner.spawn_until_stop(async move { run.run().await });
        Ok(())
    });
    Ok(FlowControlConfig { control, refresh: Arc::new(move || stored.refresh()), seats })
}
