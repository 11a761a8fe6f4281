//! Versions of priority levels: the shares have changed their name, and their way of being zero.

use pintle_meta::Value;

use crate::framework::conversion::{Error, Fields, Fix, Pair, set_annotation, without_annotations};

pub(crate) const PAIRS: &[Pair] = &[
    limited("flowcontrol/v1beta1.LimitedPriorityLevelConfiguration"),
    limited("flowcontrol/v1beta2.LimitedPriorityLevelConfiguration"),
    Pair::new("flowcontrol/v1beta3.PriorityLevelConfiguration", "flowcontrol/v1.PriorityLevelConfiguration")
        .inward(beta3_inward)
        .outward(beta3_outward),
];

pub(crate) const FIXES: &[Fix] =
    &[Fix::new("flowcontrol/v1.LimitedPriorityLevelConfiguration").filled(&["nominalConcurrencyShares"])];

/// `v1beta3` cannot tell no shares from none given but by this.
const PRESERVE_ZERO: &str = "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares";

const fn limited(version: &'static str) -> Pair {
    Pair::new(version, "flowcontrol/v1.LimitedPriorityLevelConfiguration")
        .renamed(&[("assuredConcurrencyShares", "nominalConcurrencyShares")])
}

fn beta3_inward(_: &Value, out: &mut Fields) -> Result<(), Error> {
    if let Some(metadata) = out.get("metadata").and_then(|found| without_annotations(found, &[PRESERVE_ZERO]))
    {
        out.set("metadata", metadata);
    }
    Ok(())
}

fn beta3_outward(value: &Value, out: &mut Fields) -> Result<(), Error> {
    let Some(limited) = value.at(&["spec", "limited"]) else { return Ok(()) };
    let shares = limited.get("nominalConcurrencyShares").and_then(Value::as_i64).unwrap_or_default();
    if shares == 0
        && value.annotation(PRESERVE_ZERO).is_none()
        && let Some(metadata) = out.get_mut("metadata")
    {
        set_annotation(metadata, PRESERVE_ZERO, Value::literal(""));
    }
    Ok(())
}
