//! The API group `batch`.

pub(crate) mod columns;
mod cron_job;
pub(crate) mod defaults;
mod job;
pub(crate) mod strategy;
