//! The metrics of the controller.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use pintle_meta::Value;
use pintle_metrics::{Counters, Error, Gauge, Gauges, Histogram, Histograms, Registry, exponential_buckets};

use super::packing::Totals;
use crate::runtime::Key;

/// Metrics of endpoints and slices.
pub(super) struct Metrics {
    added: Histogram,
    removed: Histogram,
    changes: Counters,
    changed: Histograms,
    syncs: Counters,
    endpoints: Gauge,
    slices: Gauge,
    fewest: Gauge,
    distributions: Gauges,
    services: Mutex<HashMap<Key, (Totals, Option<String>)>>,
}

impl Metrics {
    pub(super) fn new(registry: &Registry) -> Result<Metrics, Error> {
        let name = |name: &str| format!("endpoint_slice_controller_{name}");
        let buckets = exponential_buckets(2.0, 2.0, 15);
        let gauge = |of: &str, help: &str| Ok::<_, Error>(registry.gauges(&name(of), help, &[])?.with(&[]));
        Ok(Metrics {
            added: registry.histogram(
                &name("endpoints_added_per_sync"),
                "Number of endpoints added on each Service sync",
                &buckets,
            )?,
            removed: registry.histogram(
                &name("endpoints_removed_per_sync"),
                "Number of endpoints removed on each Service sync",
                &buckets,
            )?,
            changes: registry.counters(
                &name("changes"),
                "Number of EndpointSlice changes",
                &["operation"],
            )?,
            changed: registry.histograms(
                &name("endpointslices_changed_per_sync"),
                "Number of EndpointSlices changed on each Service sync",
                &["topology", "traffic_distribution"],
                &[0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0],
            )?,
            syncs: registry.counters(&name("syncs"), "Number of EndpointSlice syncs", &["result"])?,
            endpoints: gauge("endpoints_desired", "Number of endpoints desired")?,
            slices: gauge("num_endpoint_slices", "Number of EndpointSlices")?,
            fewest: gauge(
                "desired_endpoint_slices",
                "Number of EndpointSlices that would exist with perfect endpoint allocation",
            )?,
            distributions: registry.gauges(
                &name("services_count_by_traffic_distribution"),
                "Number of Services using some specific trafficDistribution",
                &["traffic_distribution"],
            )?,
            services: Mutex::default(),
        })
    }

    pub(super) fn synced(&self, succeeded: bool) {
        self.syncs.with(&[if succeeded { "success" } else { "error" }]).inc();
    }

    pub(super) fn wrote(&self, operation: &str) {
        self.changes.with(&[operation]).inc();
    }

    pub(super) fn planned(&self, added: usize, removed: usize, changed: usize, service: &Value) {
        self.added.observe(added as f64);
        self.removed.observe(removed as f64);
        let labels = ["Disabled", service.text_at(&["spec", "trafficDistribution"])];
        self.changed.with(&labels).observe(changed as f64);
    }

    /// Counts what a service has now; none if it is gone.
    pub(super) fn set(&self, service: &str, now: Option<(Totals, Option<String>)>) {
        let mut services = self.services.lock().unwrap_or_else(PoisonError::into_inner);
        let old = match now.clone() {
            Some(now) => services.insert(service.into(), now),
            None => services.remove(service),
        };
        let (new_totals, new_distribution) = now.unwrap_or_default();
        let (old_totals, old_distribution) = old.unwrap_or_default();
        let add = |gauge: &Gauge, of: fn(&Totals) -> usize| {
            gauge.add(of(&new_totals) as i64 - of(&old_totals) as i64);
        };
        add(&self.endpoints, |totals| totals.endpoints);
        add(&self.slices, |totals| totals.slices);
        add(&self.fewest, |totals| totals.fewest);
        if let Some(distribution) = old_distribution {
            self.distributions.with(&[&distribution]).dec();
        }
        if let Some(distribution) = new_distribution {
            self.distributions.with(&[&distribution]).inc();
        }
    }
}
