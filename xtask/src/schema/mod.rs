//! `cargo xtask schema --kubernetes CHECKOUT`: facts about every built-in type, from a Kubernetes source tree.
//!
//! The declarations of the API types carry everything: order, shape, JSON and protobuf names, list semantics, patch
//! strategy, defaults, enums. What is written is one sorted text file of facts, without documentation, so that the next
//! release is one command and a diff.

mod collect;
mod golang;
mod internal;
mod render;
mod resources;

use std::path::Path;

use anyhow::{Context, Result, bail};

/// Where the facts go, from the root of the repository.
const OUTPUT: &str = "crates/schema/data";

pub(crate) fn run(root: &Path, arguments: &[String]) -> Result<()> {
    let [flag, checkout] = arguments else { bail!("cargo xtask schema --kubernetes CHECKOUT") };
    if flag != "--kubernetes" {
        bail!("unknown flag {flag}; cargo xtask schema --kubernetes CHECKOUT");
    }
    let checkout = Path::new(checkout);
    let types = collect::collect(checkout)?;
    let resources = resources::render(checkout)?;
    let internal =
        internal::render(&collect::collect_internal(checkout)?, &types, &resources::kinds(&resources))?;
    for (name, facts) in [
        ("types.facts", render::render(&types)),
        ("internal.facts", internal),
        ("resources.facts", resources),
    ] {
        let output = root.join(OUTPUT).join(name);
        std::fs::write(&output, facts).with_context(|| format!("cannot write {}", output.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
