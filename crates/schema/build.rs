//! Generates Rust tables from the facts of the built-in types.

#[path = "build/facts.rs"]
mod facts;
#[path = "build/tables.rs"]
mod tables;

use std::path::PathBuf;
use std::{env, fs};

fn main() -> Result<(), String> {
    let facts = "data/types.facts";
    println!("cargo::rerun-if-changed={facts}");
    println!("cargo::rerun-if-changed=build");
    let text = fs::read_to_string(facts).map_err(|error| format!("cannot read {facts}: {error}"))?;
    let types = facts::parse(&text).map_err(|reason| format!("{facts}: {reason}"))?;
    let folder = env::var_os("OUT_DIR").ok_or("cargo gives no OUT_DIR")?;
    let file = PathBuf::from(folder).join("types.rs");
    fs::write(&file, tables::write(&types)?)
        .map_err(|error| format!("cannot write {}: {error}", file.display()))
}
