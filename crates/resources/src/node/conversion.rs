//! Versions of runtime classes: `v1alpha1` had a spec.

use pintle_meta::Value;

use crate::framework::conversion::{Error, Fields, Pair, by_name};

const SPEC: &str = "node/v1alpha1.RuntimeClassSpec";
const CLASS: &str = "node/v1.RuntimeClass";

pub(crate) const PAIRS: &[Pair] = &[
    Pair::new("node/v1alpha1.RuntimeClass", CLASS).inward(inward).outward(outward),
    Pair::new(SPEC, CLASS).renamed(&[("runtimeHandler", "handler")]),
];

fn inward(value: &Value, out: &mut Fields) -> Result<(), Error> {
    if let Some(spec) = value.get("spec") {
        let class = by_name(SPEC, CLASS, spec)?;
        for field in ["handler", "overhead", "scheduling"] {
            out.copy(field, class.get(field));
        }
    }
    Ok(())
}

fn outward(value: &Value, out: &mut Fields) -> Result<(), Error> {
    out.set("spec", by_name(CLASS, SPEC, value)?);
    Ok(())
}
