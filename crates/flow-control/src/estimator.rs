//! The expected work of a request, in seats.
//!
//! A LIST, and the initial events of a watch, cost by the number and size of the objects that it reads. A write costs by the
//! watches that it wakes: its seats stay taken for a while after its answer. All other requests take one seat.

use std::time::Duration;

use crate::work::SeatSeconds;
use crate::{Digest, WorkEstimate};

const LEAST: u64 = 1;
/// Limit on the seats of a LIST, with sizes of objects and without.
const MOST_BY_SIZE: u64 = 100;
const MOST_BY_COUNT: u64 = 10;
/// Limit on the seats of a write.
const MOST_MUTATING: u64 = 10;

const OBJECTS_PER_SEAT: f64 = 100.0;
const BYTES_PER_SEAT: f64 = 100_000.0;
/// The memory that a LIST from the cache takes at most, since its answer is streamed.
const STREAMED_BYTES: u64 = 1_000_000;
/// The size of objects of unknown size, and their number.
const LARGEST_OBJECT: u64 = 1_500_000;
const COUNTLESS: u64 = 1_000_000_000;

const WATCHES_PER_SEAT: usize = 10;
const EVENT_DURATION: Duration = Duration::from_millis(5);

/// The objects of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stats {
    /// The resource is not stored here, or was not counted yet.
    Unknown,
    /// It could not be counted for minutes.
    Stale,
    Known {
        objects: u64,
        /// Bytes of an object on average; zero if unknown.
        average_size: u64,
    },
}

/// Counts objects. It is asked by every LIST, so it answers from what it knows.
pub trait ObjectStats: Send + Sync {
    fn stats(&self, group: &str, resource: &str) -> Stats;

    /// Returns whether the cache answers reads of the most recent state.
    fn reads_recent_from_cache(&self) -> bool;
}

/// The options of a LIST or watch that decide what it costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ListOptions<'a> {
    pub resource_version: &'a str,
    pub resource_version_match: &'a str,
    pub limit: i64,
    pub is_continued: bool,
    /// Whether it selects by fields or labels.
    pub has_selector: bool,
    pub send_initial_events: Option<bool>,
}

/// The feature gates of estimates.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Estimator {
    /// `SizeBasedListCostEstimate`
    pub(crate) by_size: bool,
    /// `WatchList`
    pub(crate) watch_list: bool,
}

impl Estimator {
    /// Returns the estimate for a LIST or watch, whose options are `None` if they cannot be read. `most`: the limit of the
    /// priority level; zero for none.
    pub(crate) fn list(
        &self,
        digest: &Digest<'_>,
        options: Option<ListOptions<'_>>,
        stats: &dyn ObjectStats,
        most: u64,
    ) -> WorkEstimate {
        let is_watch = digest.verb == "watch";
        if is_watch && !self.watch_list {
            return WorkEstimate::seats(LEAST);
        }
        let most = within(most, if self.by_size { MOST_BY_SIZE } else { MOST_BY_COUNT });
        let Some(options) = options else { return WorkEstimate::seats(most) };
        let starts_at_revision = !matches!(options.resource_version, "" | "0");
        if is_watch && options.send_initial_events != Some(true) && starts_at_revision {
            return WorkEstimate::seats(LEAST);
        }
        let from_cache = is_watch || options.is_from_cache(stats.reads_recent_from_cache());
        let (objects, size) = match stats.stats(digest.group, digest.resource) {
            Stats::Unknown => return WorkEstimate::seats(LEAST),
            Stats::Stale => (COUNTLESS, LARGEST_OBJECT),
            Stats::Known { objects, average_size } => (objects, average_size),
        };
        let is_single = !digest.name.is_empty();
        let seats = match self.by_size {
            true => by_size(objects, size, &options, from_cache, is_single),
            false => by_count(objects, &options, from_cache, is_single),
        };
        WorkEstimate::seats(seats.max(LEAST).min(most))
    }

    /// Returns the estimate for a write that so many watches may see.
    pub(crate) fn mutating(watches: usize, most: u64) -> WorkEstimate {
        if watches < WATCHES_PER_SEAT {
            return WorkEstimate::seats(LEAST);
        }
        let wanted = watches.div_ceil(WATCHES_PER_SEAT) as u64;
        let work = SeatSeconds::of(wanted as f64, crate::work::nanoseconds(EVENT_DURATION));
        // Fewer seats for a longer time: a wide request holds up others until there is room for it.
        let final_seats = wanted.min(within(most, MOST_MUTATING));
        let additional_latency = work.duration_per_seat(final_seats);
        WorkEstimate { initial_seats: LEAST, final_seats, additional_latency }
    }
}

/// Returns whether a write is one that no watch sees: a token for a service account is not stored.
pub(crate) fn is_unseen(digest: &Digest<'_>) -> bool {
    (digest.resource, digest.subresource) == ("serviceaccounts", "token")
}

fn within(most: u64, limit: u64) -> u64 {
    if most == 0 { limit } else { most.min(limit) }
}

impl ListOptions<'_> {
    fn is_from_cache(&self, reads_recent: bool) -> bool {
        match self.resource_version_match {
            "NotOlderThan" => true,
            "" if self.is_continued => false,
            "" if self.limit > 0 && !matches!(self.resource_version, "" | "0") => false,
            "" if self.resource_version.is_empty() => reads_recent,
            "" => true,
            _ => false,
        }
    }

    /// Returns the number of objects on the page, of all of them.
    fn page(&self, objects: u64) -> u64 {
        match u64::try_from(self.limit) {
            Ok(limit) if limit > 0 => limit.min(objects),
            _ => objects,
        }
    }
}

fn by_count(objects: u64, options: &ListOptions<'_>, from_cache: bool, is_single: bool) -> u64 {
    let page = options.page(objects);
    let read = match () {
        () if is_single => 1,
        () if from_cache => objects,
        () if options.has_selector => objects.saturating_add(page),
        () => page.saturating_mul(2),
    };
    (read as f64 / OBJECTS_PER_SEAT).ceil() as u64
}

fn by_size(objects: u64, size: u64, options: &ListOptions<'_>, from_cache: bool, is_single: bool) -> u64 {
    let size = if size == 0 && objects != 0 { LARGEST_OBJECT } else { size };
    let page = options.page(objects);
    let read = match () {
        () if is_single => 1,
        () if !from_cache && options.has_selector => page.max(objects / 2),
        () => page,
    };
    let bytes = read.saturating_mul(size);
    let bytes = if from_cache { bytes.min(STREAMED_BYTES) } else { bytes };
    (bytes as f64 / BYTES_PER_SEAT).ceil() as u64
}

#[cfg(test)]
mod tests {
    use pintle_auth::User;

    use super::*;

    struct Pods(Stats, bool);

    impl ObjectStats for Pods {
        fn stats(&self, _: &str, _: &str) -> Stats {
            self.0
        }

        fn reads_recent_from_cache(&self) -> bool {
            self.1
        }
    }

    const RECENT: ListOptions<'static> = ListOptions {
        resource_version: "",
        resource_version_match: "",
        limit: 0,
        is_continued: false,
        has_selector: false,
        send_initial_events: None,
    };

    fn seats(
        verb: &str,
        name: &str,
        options: Option<ListOptions<'_>>,
        stats: &Pods,
        by_size: bool,
        most: u64,
    ) -> u64 {
        let user = User::default();
        let digest = Digest {
            user: &user,
            verb,
            is_resource: true,
            group: "",
            resource: "pods",
            subresource: "",
            namespace: "",
            name,
            path: "",
        };
        let estimator = Estimator { by_size, watch_list: true };
        estimator.list(&digest, options, stats, most).initial_seats
    }

    const MANY: Stats = Stats::Known { objects: 10_000, average_size: 4_400 };

    #[test]
    fn a_list_of_10_000_pods_takes_the_seats_of_the_reference() {
        let cached = Pods(MANY, true);
        let at = |options, most| seats("list", "", Some(options), &cached, true, most);
        assert_eq!(at(RECENT, 0), 10, "a megabyte at a time");
        assert_eq!(at(RECENT, 8), 8, "as many as the level global-default has for one");
        assert_eq!(at(ListOptions { limit: 50, ..RECENT }, 0), 3, "220 kB");
        let exact = ListOptions { resource_version: "5", resource_version_match: "Exact", ..RECENT };
        assert_eq!(at(exact, 0), 100, "44 MB from the store");
        assert_eq!(at(exact, 37), 37, "as many as the level workload-low has for one");
        let page = ListOptions { limit: 500, is_continued: true, ..RECENT };
        assert_eq!(at(page, 0), 22, "2.2 MB from the store");
        assert_eq!(at(ListOptions { has_selector: true, ..page }, 0), 100, "half of all");
        assert_eq!(seats("list", "", Some(RECENT), &Pods(MANY, false), true, 0), 100);
    }

    #[test]
    fn without_sizes_objects_are_counted() {
        let at = |options| seats("list", "", Some(options), &Pods(MANY, true), false, 0);
        assert_eq!(at(RECENT), 10);
        let few = Pods(Stats::Known { objects: 450, average_size: 0 }, false);
        let at = |options| seats("list", "", Some(options), &few, false, 0);
        assert_eq!(at(ListOptions { limit: 100, ..RECENT }), 2);
        assert_eq!(at(ListOptions { limit: 100, has_selector: true, ..RECENT }), 6);
    }

    #[test]
    fn unusual_lists() {
        let cached = Pods(MANY, true);
        assert_eq!(seats("list", "a", Some(RECENT), &cached, true, 0), 1, "of one name");
        assert_eq!(seats("list", "", None, &cached, true, 0), 100, "of options that cannot be read");
        assert_eq!(seats("list", "", Some(RECENT), &Pods(Stats::Unknown, true), true, 0), 1);
        assert_eq!(seats("list", "", Some(RECENT), &Pods(Stats::Stale, false), true, 0), 100);
        let unsized_pods = Pods(Stats::Known { objects: 1, average_size: 0 }, false);
        assert_eq!(seats("list", "", Some(RECENT), &unsized_pods, true, 0), 15);
    }

    #[test]
    fn watches_cost_by_their_initial_events() {
        let at = |options| seats("watch", "", Some(options), &Pods(MANY, true), true, 0);
        assert_eq!(at(RECENT), 10);
        assert_eq!(at(ListOptions { resource_version: "0", ..RECENT }), 10);
        assert_eq!(at(ListOptions { resource_version: "7", ..RECENT }), 1);
        let initial = ListOptions { resource_version: "7", send_initial_events: Some(true), ..RECENT };
        assert_eq!(at(initial), 10);
    }

    #[test]
    fn writes_cost_by_their_watchers() {
        let estimate = |watches, most| {
            let WorkEstimate { final_seats, additional_latency, .. } = Estimator::mutating(watches, most);
            (final_seats, additional_latency.as_micros())
        };
        assert_eq!(estimate(9, 0), (0, 0));
        assert_eq!(estimate(10, 0), (1, 5000));
        assert_eq!(estimate(95, 0), (10, 5000));
        assert_eq!(estimate(500, 0), (10, 25_000), "the same work on fewer seats");
        assert_eq!(estimate(500, 5), (5, 50_000));
    }
}
