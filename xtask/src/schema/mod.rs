//! `cargo xtask schema --kubernetes CHECKOUT`: facts about every built-in type, from a Kubernetes source tree.
//!
//! The declarations of the API types carry everything: order, shape, JSON and protobuf names, list semantics, patch
//! strategy, defaults, enums. What is written is one sorted text file of facts, without documentation, so that the next
//! release is one command and a diff.

mod collect;
mod golang;
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
    for (name, facts) in
        [("types.facts", type_facts(checkout)?), ("resources.facts", resources::render(checkout)?)]
    {
        let output = root.join(OUTPUT).join(name);
        std::fs::write(&output, facts).with_context(|| format!("cannot write {}", output.display()))?;
    }
    Ok(())
}

/// The file of types. The same checkout gives the same bytes.
fn type_facts(checkout: &Path) -> Result<String> {
    Ok(render::render(&collect::collect(checkout)?))
}

#[cfg(test)]
mod tests;
