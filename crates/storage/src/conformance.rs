//! The suite that every backend runs.
//!
//! A backend's tests name a factory and get one test per case, so that a failure has a name:
//!
//! ```text
//! async fn fresh() -> pintle_storage::conformance::Fixture {
//!     Arc::new(Memory::new()).into()
//! }
//! pintle_storage::conformance_suite!(fresh);
//! ```
//!
//! Every case calls the factory once and owns the store that it gets: it is empty and has no other writer, because
//! "the revision rises by exactly one" cannot be seen on a store with other writers. Whatever must live as long as the
//! case (a data directory, a child process) goes into [`Fixture::guard`].
//!
//! Watches under load record what they see; [`history`] then judges the recording by one function per named guarantee.

use std::any::Any;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use crate::Backend;

mod compaction;
pub mod history;
mod leases;
mod life;
mod load;
mod model;
mod progress;
mod reads;
mod support;
mod txns;
mod watches;

/// The cases, for [`crate::conformance_suite`].
pub mod cases {
    pub use super::compaction::*;
    pub use super::leases::*;
    pub use super::life::*;
    pub use super::load::*;
    pub use super::model::*;
    pub use super::progress::*;
    pub use super::reads::*;
    pub use super::txns::*;
    pub use super::watches::*;
}

/// A store for one case.
pub struct Fixture {
    pub backend: Arc<dyn Backend>,
    pub capabilities: Capabilities,
    /// Dropped after the case.
    pub guard: Option<Box<dyn Any + Send>>,
}

/// Optional parts of the contract that a backend has.
#[derive(Clone, Copy, Debug)]
pub struct Capabilities {
    /// Whether `request_progress` is supported. When it is not, it must say `Unsupported`.
    pub progress: bool,
    /// A deletion at exactly the compacted revision is still delivered to watches that begin there. Older releases of etcd
    /// forget it (their issue 19179).
    pub last_deletions: bool,
}

impl Default for Capabilities {
    fn default() -> Self {
        Capabilities { progress: true, last_deletions: true }
    }
}

impl Fixture {
    pub fn new(backend: Arc<dyn Backend>) -> Self {
        Fixture { backend, capabilities: Capabilities::default(), guard: None }
    }

    /// Keeps something alive for as long as the case runs.
    #[must_use]
    pub fn guarded_by(mut self, guard: impl Any + Send) -> Self {
        self.guard = Some(Box::new(guard));
        self
    }

    #[must_use]
    pub fn with_capabilities(mut self, capabilities: Capabilities) -> Self {
        self.capabilities = capabilities;
        self
    }
}

impl<B: Backend> From<Arc<B>> for Fixture {
    fn from(backend: Arc<B>) -> Self {
        Fixture::new(backend)
    }
}

/// Runs one case on a fresh store. It fails when it hangs.
pub async fn run<F, C>(fixture: impl Future<Output = Fixture>, case: F)
where
    F: FnOnce(Arc<dyn Backend>, Capabilities) -> C,
    C: Future<Output = ()>,
{
    let Fixture { backend, capabilities, guard } = fixture.await;
    let finished = tokio::time::timeout(Duration::from_secs(60), Box::pin(case(backend, capabilities))).await;
    drop(guard);
    finished.expect("the case should end within a minute");
}

/// One `#[tokio::test]` per case of the suite. The argument is the path of a function
/// `async fn() -> pintle_storage::conformance::Fixture` (anything that `Fixture` is `From` will do). The calling crate
/// depends on tokio with `macros` and `rt-multi-thread`.
#[macro_export]
macro_rules! conformance_suite {
    ($factory:path) => {
        $crate::conformance_suite! { @each $factory;
            // reads
            a_missing_key_is_none_at_a_real_revision,
            a_key_reads_as_it_was_written,
            a_range_returns_only_its_prefix_in_order,
            a_prefix_of_the_highest_byte_ends_with_the_keys,
            the_empty_prefix_is_every_key,
            pages_at_one_revision_belong_together,
            a_limit_tells_how_many_keys_remain,
            count_counts_the_prefix,
            old_revisions_stay_readable_until_compaction,
            a_future_revision_is_an_error,
            a_read_sees_every_write_acknowledged_before_it,
            large_values_come_back_whole,
            // transactions
            each_changing_transaction_takes_exactly_the_next_revision,
            create_refuses_an_existing_key_and_reads_it,
            update_with_a_stale_revision_changes_nothing,
            delete_with_a_stale_revision_changes_nothing,
            all_keys_of_a_transaction_change_at_one_revision,
            one_failed_comparison_fails_the_transaction,
            a_key_twice_in_a_transaction_is_refused,
            a_failed_comparison_reads_every_named_key_in_order,
            deleting_what_is_not_there_changes_nothing,
            a_recreated_key_has_a_new_create_revision,
            of_many_updates_from_one_revision_one_wins,
            comparing_alone_changes_nothing,
            // leases
            keys_of_an_ended_lease_go_at_one_revision_with_events,
            overwriting_a_key_detaches_it_from_its_lease,
            a_lease_is_shared_by_callers_with_the_same_ttl,
            a_put_with_an_unknown_lease_is_refused,
            // watches
            a_watch_sees_changes_from_its_first_revision_on,
            a_watch_sees_only_its_prefix,
            a_watch_delivers_a_transaction_as_one_batch_in_order,
            a_watch_carries_previous_values_when_asked,
            a_watch_may_start_at_a_revision_that_lies_ahead,
            a_watch_from_zero_sees_everything,
            a_large_transaction_stays_one_batch,
            a_watcher_that_lags_behind_misses_nothing,
            a_dropped_watch_disturbs_nobody,
            // progress
            requested_progress_reaches_the_newest_revision_where_nothing_changed,
            requested_progress_follows_the_events_before_it,
            // compaction
            reads_before_the_compacted_revision_fail,
            compacting_again_is_not_an_error,
            compacting_ahead_of_the_store_is_refused,
            compaction_keeps_what_is_there,
            a_watch_from_before_the_compacted_revision_ends,
            a_watch_from_after_the_compacted_revision_goes_on,
            compaction_under_load_holds_nobody_up,
            // life cycle
            a_store_reports_its_health_and_size,
            closing_ends_watches_and_refuses_requests,
            // load
            watches_under_load_keep_all_guarantees,
            // model
            random_operations_agree_with_a_model,
        }
    };
    (@each $factory:path; $($case:ident,)*) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                let fixture = async { $crate::conformance::Fixture::from($factory().await) };
                $crate::conformance::run(fixture, $crate::conformance::cases::$case).await;
            }
        )*
    };
}
