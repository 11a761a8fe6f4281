//! The strategies of the group's resources.

use std::sync::Arc;

use pintle_registry::Strategy;

use super::cron_job::{CRON_JOB_STATUS, CRON_JOBS};
use super::job::{JOB_STATUS, JOBS};
use crate::framework::strategy::{Entry, Rules, Settings, find};

const TABLE: &[Entry] = &[
    Entry { name: "cronjobs", kind: "batch/v1.CronJob", rules: CRON_JOBS },
    Entry { name: "cronjobs/status", kind: "batch/v1.CronJob", rules: CRON_JOB_STATUS },
    Entry { name: "jobs", kind: "batch/v1.Job", rules: JOBS },
    Entry { name: "jobs/status", kind: "batch/v1.Job", rules: JOB_STATUS },
];

pub(super) const WORKLOADS: Rules =
    Rules { unconditional_update: true, ..Rules::NAMESPACED.with_status().counting_spec() };

/// Returns the strategy of a resource or subresource.
pub(crate) fn strategy(name: &str, settings: &Settings) -> Option<Arc<dyn Strategy>> {
    find(TABLE, name, settings)
}
