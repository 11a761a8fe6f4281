//! The metrics of the availability of APIServices.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use pintle_metrics::{Counters, Error, Registry};

use crate::api_services::ApiServices;

#[derive(Clone)]
pub(crate) struct Metrics {
    unavailable: Counters,
}

impl Metrics {
    pub(crate) fn new(registry: &Registry, services: &Arc<ApiServices>) -> Result<Metrics, Error> {
        let (services, shown) = (Arc::downgrade(services), Mutex::new(BTreeSet::<String>::new()));
        registry.gauges_at_scrape(
            "aggregator_unavailable_apiservice",
            "Gauge of APIServices which are marked as unavailable broken down by APIService name.",
            &["name"],
            move |gauges| {
                let now = services.upgrade().map(|services| services.availability()).unwrap_or_default();
                let mut shown = shown.lock().unwrap_or_else(PoisonError::into_inner);
                shown.retain(|name| {
                    let stays = now.contains_key(name);
                    if !stays {
                        gauges.remove(&[name]);
                    }
                    stays
                });
                for (name, is_available) in now {
                    gauges.with(&[&name]).set(if is_available { 0.0 } else { 1.0 });
                    shown.insert(name);
                }
            },
        )?;
        let unavailable = registry.counters(
            "aggregator_unavailable_apiservice_total",
            "Counter of APIServices which are marked as unavailable broken down by APIService name and reason.",
            &["name", "reason"],
        )?;
        Ok(Metrics { unavailable })
    }

    /// Counts an APIService that has become unavailable.
    pub(crate) fn became_unavailable(&self, name: &str, reason: &str) {
        self.unavailable.with(&[name, reason]).inc();
    }
}
