//! Checks of values and combinations, as the reference's options do them: one file per group of flags, every problem
//! reported at once. Only the command line is checked; files are checked where they are read.
//!
//! Two deliberate differences: a server without any flag works, so neither `--etcd-servers` nor the service account
//! flags are required; and `--etcd-servers` excludes the flags of the embedded store.

mod admission;
mod audit;
mod authentication;
mod authorization;
mod controllers;
mod etcd;
mod generic;
mod logs;
mod metrics;
mod network;
mod service_accounts;
mod serving;
mod versions;

use crate::gates::GateFlags;
use crate::{Error, Parsed};

pub(crate) use versions::{emulated as emulated_release, is_default as is_default_version};

/// Collects sentences.
type Problems = Vec<String>;

/// One group of checks.
type Check = fn(&Parsed, &mut Problems);

const CHECKS: [Check; 13] = [
    versions::check,
    logs::check,
    network::check,
    service_accounts::check,
    generic::check,
    etcd::check,
    serving::check,
    authentication::check,
    authorization::check,
    audit::check,
    admission::check,
    controllers::check,
    metrics::check,
];

/// Sets the feature gates and checks everything.
pub(crate) fn validate(flags: &mut Parsed) -> Result<(), Error> {
    let mut problems = Problems::new();
    match GateFlags::from_flag(flags.multimap("feature-gates")) {
        Ok(gates) => flags.set_feature_gates(gates),
        Err(reasons) => problems.extend(reasons),
    }
    for check in CHECKS {
        check(flags, &mut problems);
    }
    if problems.is_empty() { Ok(()) } else { Err(Error::Invalid(problems)) }
}

#[cfg(test)]
mod tests;
