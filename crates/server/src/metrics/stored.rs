//! How many objects the store has of each resource.
//!
//! Nobody counts until somebody looks: a scrape counts anew what was counted longer ago than the period, so that a server
//! without a scraper does nothing for it.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use prometheus::IntGaugeVec;

use super::labels::Labelled;
use super::{Maker, Metrics};

/// How long a scrape waits for the store.
const WAIT: Duration = Duration::from_secs(2);

/// What the store has of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredCount {
    pub group: String,
    pub resource: String,
    /// Nothing where the store could not say.
    pub objects: Option<u64>,
    /// Bytes of all of them, where somebody knows.
    pub size: Option<u64>,
}

type Count = Box<dyn Fn() -> BoxFuture<'static, Vec<StoredCount>> + Send + Sync>;

struct Counting {
    period: Duration,
    /// Whether sizes are shown.
    sizes: bool,
    count: Count,
    /// When it was done, and of what.
    last: tokio::sync::Mutex<Option<(Instant, Vec<StoredCount>)>>,
}

pub(super) struct StoredFigures {
    by_resource: Labelled<IntGaugeVec>,
    by_group: Labelled<IntGaugeVec>,
    sizes: Labelled<IntGaugeVec>,
    counting: OnceLock<Counting>,
}

impl StoredFigures {
    pub(super) fn new(maker: &Maker<'_>) -> Result<StoredFigures, prometheus::Error> {
        Ok(StoredFigures {
            by_resource: maker.gauge(
                "apiserver_storage_objects",
                "Objects that are stored; -1 where the store did not say. Earlier name of apiserver_resource_objects.",
                &["resource"],
            )?,
            by_group: maker.gauge(
                "apiserver_resource_objects",
                "Objects that are stored; -1 where the store did not say.",
                &["group", "resource"],
            )?,
            sizes: maker.gauge(
                "apiserver_resource_size_estimate_bytes",
                "Bytes of the objects that are stored; -1 where nobody knows.",
                &["group", "resource"],
            )?,
            counting: OnceLock::new(),
        })
    }

    fn show(&self, found: &[StoredCount], sizes: bool) {
        let shown =
            |number: Option<u64>| number.map_or(-1, |number| i64::try_from(number).unwrap_or(i64::MAX));
        for StoredCount { group, resource, objects, size } in found {
            self.by_resource.with(&[&qualified(group, resource)]).set(shown(*objects));
            self.by_group.with(&[group, resource]).set(shown(*objects));
            if sizes {
                let nothing = (*objects == Some(0)).then_some(0);
                self.sizes.with(&[group, resource]).set(shown(nothing.or(*size)));
            }
        }
    }

    fn hide(&self, gone: &StoredCount) {
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
    /// From now on, scrapes show how many objects are stored, counted by `count` at most once per period.
    pub fn count_stored_objects(
        &self,
        period: Duration,
        sizes: bool,
        count: impl Fn() -> BoxFuture<'static, Vec<StoredCount>> + Send + Sync + 'static,
    ) {
        let counting =
            Counting { period, sizes, count: Box::new(count), last: tokio::sync::Mutex::default() };
        // There is one control plane behind these figures.
        let _ = self.0.stored.counting.set(counting);
    }

    /// Counts again what was counted too long ago.
    pub(crate) async fn refresh(&self) {
        let figures = &self.0.stored;
        let Some(counting) = figures.counting.get() else { return };
        let mut last = counting.last.lock().await;
        if last.as_ref().is_some_and(|(at, _)| at.elapsed() < counting.period) {
            return;
        }
        let Ok(found) = tokio::time::timeout(WAIT, (counting.count)()).await else {
            // What was known is not known any more.
            if let Some((_, known)) = &mut *last {
                known.iter_mut().for_each(|known| (known.objects, known.size) = (None, None));
                figures.show(known, counting.sizes);
            }
            return;
        };
        let same = |a: &StoredCount, b: &StoredCount| (&a.group, &a.resource) == (&b.group, &b.resource);
        for (_, known) in last.iter() {
            known
                .iter()
                .filter(|old| !found.iter().any(|new| same(old, new)))
                .for_each(|gone| figures.hide(gone));
        }
        figures.show(&found, counting.sizes);
        *last = Some((Instant::now(), found));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::metrics::MetricsOptions;

    fn count(group: &str, resource: &str, objects: Option<u64>, size: Option<u64>) -> StoredCount {
        StoredCount { group: group.into(), resource: resource.into(), objects, size }
    }

    fn lines(metrics: &Metrics) -> Vec<String> {
        let text = String::from_utf8(metrics.render().unwrap()).unwrap();
        let ours = ["apiserver_storage_objects{", "apiserver_resource_"];
        text.lines()
            .filter(|line| ours.iter().any(|name| line.starts_with(name)))
            .map(str::to_owned)
            .collect()
    }

    #[tokio::test]
    async fn a_scrape_counts_what_was_counted_too_long_ago() {
        let metrics = Metrics::new(&MetricsOptions::default()).unwrap();
        let (asked, found) = (Arc::new(AtomicU64::new(0)), Arc::new(Mutex::new(Vec::new())));
        *found.lock().unwrap() = vec![
            count("", "pods", Some(3), Some(900)),
            count("a.b", "foos", Some(1), None),
            count("", "nodes", None, None),
        ];
        let (asks, finds) = (asked.clone(), found.clone());
        metrics.count_stored_objects(Duration::from_secs(3600), true, move || {
            asks.fetch_add(1, Ordering::Relaxed);
            let found = finds.lock().unwrap().clone();
            Box::pin(async move { found })
        });
        assert_eq!(lines(&metrics), [""; 0], "nobody has looked yet");
        metrics.refresh().await;
        metrics.refresh().await;
        assert_eq!(asked.load(Ordering::Relaxed), 1, "the second look is not long after the first");
        assert_eq!(
            lines(&metrics),
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
    async fn what_is_not_served_any_more_is_not_shown() {
        let metrics = Metrics::new(&MetricsOptions::default()).unwrap();
        let turn = AtomicU64::new(0);
        metrics.count_stored_objects(Duration::ZERO, false, move || {
            let gone = turn.fetch_add(1, Ordering::Relaxed) > 0;
            Box::pin(
                async move { if gone { Vec::new() } else { vec![count("a.b", "foos", Some(1), Some(1))] } },
            )
        });
        metrics.refresh().await;
        assert_eq!(lines(&metrics).len(), 2, "without sizes");
        metrics.refresh().await;
        assert_eq!(lines(&metrics), [""; 0]);
    }
}
