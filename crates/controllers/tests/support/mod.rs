//! The surroundings of controllers in tests.

use std::sync::Arc;

use pintle_controllers::{Controller, Metrics, Runtime, start};
use pintle_metrics::Registry;
use pintle_runtime::{Clock, Random, Tasks};

/// Starts controllers whose tasks end with the returned value.
pub(crate) async fn started(controllers: Vec<Arc<dyn Controller>>, clock: Clock) -> Tasks {
    let tasks = Tasks::new();
    let metrics = Metrics::new(&Registry::default()).unwrap();
    let runtime = Runtime { spawner: tasks.spawner(), clock, random: Random::system(), metrics };
    for controller in controllers {
        start(controller, &runtime).await;
    }
    tasks
}
