//! The metrics of stored objects: their number and size, by resource.
//!
//! Objects are counted when metrics are scraped, at most once per period, so that a server without a scraper does no work.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use pintle_metrics::{Error, Gauges, Registry};
use pintle_runtime::Clock;

/// How long a scrape waits for the store.
const WAIT: Duration = Duration::from_secs(2);

/// The stored objects of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredCount {
    pub group: String,
    pub resource: String,
    /// `None` if the store could not be asked.
    pub objects: Option<u64>,
    /// Bytes of all of them, if known.
    pub size: Option<u64>,
}

type Count = Box<dyn Fn() -> BoxFuture<'static, Vec<StoredCount>> + Send + Sync>;

struct Counting {
    metrics: Metrics,
    period: Duration,
    /// Whether sizes are exposed.
    sizes: bool,
    count: Count,
    clock: Clock,
    /// The last counts, and when they were made.
    last: tokio::sync::Mutex<Option<(Instant, Vec<StoredCount>)>>,
}

/// The metrics of this crate. Clones are the same metrics.
#[derive(Clone)]
pub struct Metrics {
    by_resource: Gauges,
    by_group: Gauges,
    sizes: Gauges,
}

impl Metrics {
    pub fn new(registry: &Registry) -> Result<Metrics, Error> {
        Ok(Metrics {
            by_resource: registry.gauges(
                "apiserver_storage_objects",
                "Objects that are stored; -1 where the store did not say. Earlier name of apiserver_resource_objects.",
                &["resource"],
            )?,
            by_group: registry.gauges(
                "apiserver_resource_objects",
                "Objects that are stored; -1 where the store did not say.",
                &["group", "resource"],
            )?,
            sizes: registry.gauges(
                "apiserver_resource_size_estimate_bytes",
                "Bytes of the objects that are stored; -1 if unknown.",
                &["group", "resource"],
            )?,
        })
    }

    fn expose(&self, found: &[StoredCount], sizes: bool) {
        let value =
            |number: Option<u64>| number.map_or(-1, |number| i64::try_from(number).unwrap_or(i64::MAX));
        for StoredCount { group, resource, objects, size } in found {
            self.by_resource.with(&[&qualified(group, resource)]).set(value(*objects));
            self.by_group.with(&[group, resource]).set(value(*objects));
            if sizes {
                let nothing = (*objects == Some(0)).then_some(0);
                self.sizes.with(&[group, resource]).set(value(nothing.or(*size)));
            }
        }
    }

    fn remove(&self, gone: &StoredCount) {
        let StoredCount { group, resource, .. } = gone;
        self.by_resource.remove(&[&qualified(group, resource)]);
        self.by_group.remove(&[group, resource]);
        self.sizes.remove(&[group, resource]);
    }
}

fn qualified(group: &str, resource: &str) -> String {
    if group.is_empty() { resource.to_owned() } else { format!("{resource}.{group}") }
}

impl Metrics {
    /// Counts stored objects with `count` from now on, whenever metrics are scraped and at most once per period.
    pub fn count_stored_objects(
        &self,
        registry: &Registry,
        clock: Clock,
        period: Duration,
        sizes: bool,
        count: impl Fn() -> BoxFuture<'static, Vec<StoredCount>> + Send + Sync + 'static,
    ) {
        let (metrics, count, last) = (self.clone(), Box::new(count), tokio::sync::Mutex::default());
        let counting = Arc::new(Counting { metrics, period, sizes, count, clock, last });
        registry.before_scrape(move || {
            let counting = counting.clone();
            async move { counting.refresh().await }
        });
    }
}

impl Counting {
    /// Counts again if the period has passed.
    async fn refresh(&self) {
        let mut last = self.last.lock().await;
        let now = self.clock.instant();
        if last.as_ref().is_some_and(|(at, _)| now.saturating_duration_since(*at) < self.period) {
            return;
        }
        let Some(found) = self.clock.timeout(WAIT, (self.count)()).await else {
            // The last counts are not known to be right any more.
            if let Some((_, known)) = &mut *last {
                known.iter_mut().for_each(|known| (known.objects, known.size) = (None, None));
                self.metrics.expose(known, self.sizes);
            }
            return;
        };
        let same = |a: &StoredCount, b: &StoredCount| (&a.group, &a.resource) == (&b.group, &b.resource);
        for (_, known) in last.iter() {
            known
                .iter()
                .filter(|old| !found.iter().any(|new| same(old, new)))
                .for_each(|gone| self.metrics.remove(gone));
        }
        self.metrics.expose(&found, self.sizes);
        *last = Some((now, found));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::sync::{Arc, Mutex};

    use std::time::SystemTime;

    use pintle_runtime::ManualClock;

    use super::*;

    fn count(group: &str, resource: &str, objects: Option<u64>, size: Option<u64>) -> StoredCount {
        StoredCount { group: group.into(), resource: resource.into(), objects, size }
    }

    fn lines(registry: &Registry) -> Vec<String> {
        let text = String::from_utf8(registry.render().unwrap()).unwrap();
        let ours = ["apiserver_storage_objects{", "apiserver_resource_"];
        text.lines()
            .filter(|line| ours.iter().any(|name| line.starts_with(name)))
            .map(str::to_owned)
            .collect()
    }

    #[tokio::test]
    async fn a_scrape_counts_once_per_period() {
        let (registry, clock) = (Registry::default(), ManualClock::starting_at(SystemTime::UNIX_EPOCH));
        let metrics = Metrics::new(&registry).unwrap();
        let (asked, found) = (Arc::new(AtomicU64::new(0)), Arc::new(Mutex::new(Vec::new())));
        *found.lock().unwrap() = vec![
            count("", "pods", Some(3), Some(900)),
            count("a.b", "foos", Some(1), None),
            count("", "nodes", None, None),
        ];
        let (asks, finds) = (asked.clone(), found.clone());
        metrics.count_stored_objects(&registry, clock.clock(), Duration::from_secs(3600), true, move || {
            asks.fetch_add(1, Ordering::Relaxed);
            let found = finds.lock().unwrap().clone();
            Box::pin(async move { found })
        });
        assert_eq!(lines(&registry), [""; 0], "not scraped yet");
        registry.refresh().await;
        registry.refresh().await;
        assert_eq!(asked.load(Ordering::Relaxed), 1, "the second scrape is in the same period");
        clock.advance(Duration::from_secs(3600));
        registry.refresh().await;
        assert_eq!(asked.load(Ordering::Relaxed), 2);
        assert_eq!(
            lines(&registry),
            [
                r#"apiserver_resource_objects{group="",resource="nodes"} -1"#,
                r#"apiserver_resource_objects{group="",resource="pods"} 3"#,
                r#"apiserver_resource_objects{group="a.b",resource="foos"} 1"#,
                r#"apiserver_resource_size_estimate_bytes{group="",resource="nodes"} -1"#,
                r#"apiserver_resource_size_estimate_bytes{group="",resource="pods"} 900"#,
                r#"apiserver_resource_size_estimate_bytes{group="a.b",resource="foos"} -1"#,
                r#"apiserver_storage_objects{resource="foos.a.b"} 1"#,
                r#"apiserver_storage_objects{resource="nodes"} -1"#,
                r#"apiserver_storage_objects{resource="pods"} 3"#,
            ]
        );
    }

    #[tokio::test]
    async fn resources_that_are_not_served_any_more_are_removed() {
        let registry = Registry::default();
        let metrics = Metrics::new(&registry).unwrap();
        let turn = AtomicU64::new(0);
        metrics.count_stored_objects(&registry, Clock::system(), Duration::ZERO, false, move || {
            let gone = turn.fetch_add(1, Ordering::Relaxed) > 0;
            Box::pin(
                async move { if gone { Vec::new() } else { vec![count("a.b", "foos", Some(1), Some(1))] } },
            )
        });
        registry.refresh().await;
        assert_eq!(lines(&registry).len(), 2, "without sizes");
        registry.refresh().await;
        assert_eq!(lines(&registry), [""; 0]);
    }
}
