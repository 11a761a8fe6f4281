//! Events of `events.k8s.io` are those of the core group under other names.

use crate::framework::conversion::Pair;

pub(crate) const PAIRS: &[Pair] = &[event("events/v1.Event"), event("events/v1beta1.Event")];

const fn event(version: &'static str) -> Pair {
    Pair::new(version, "core/v1.Event").renamed(&[
        ("regarding", "involvedObject"),
        ("note", "message"),
        ("reportingController", "reportingComponent"),
        ("deprecatedSource", "source"),
        ("deprecatedFirstTimestamp", "firstTimestamp"),
        ("deprecatedLastTimestamp", "lastTimestamp"),
        ("deprecatedCount", "count"),
    ])
}
