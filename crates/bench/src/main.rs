//! `make bench`: what the budgets promise, measured on this machine. One figure per line: name, value, unit.
//!
//! ```text
//! pintle-bench [--seconds 5] [--keys 100000] [--dir DIR] [--server target/release/pintle] [--only codec|cache]
//! ```
//!
//! The directory decides which disk is measured; the default is the current one, because temporary directories are
//! often in memory. `PINTLE_ETCD` names the etcd to compare with.
#![allow(clippy::print_stdout, reason = "its output is its purpose")]

mod cache;
mod codec;
mod embedded;
mod etcd;
mod fields;
mod figures;
mod puts;
mod schema;
mod start;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;

use puts::Puts;

/// Of which the one in the middle counts.
const ROUNDS: usize = 5;

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let flags: HashMap<&str, &str> = arguments
        .chunks(2)
        .filter_map(|pair| Some((pair.first()?.as_str(), pair.get(1)?.as_str())))
        .collect();
    // The part that needs a fresh process calls this program again.
    if let Some(directory) = flags.get("--reopen") {
        return embedded::reopen(Path::new(directory));
    }
    let number = |name: &str, default: u64| match flags.get(name) {
        Some(value) => value.parse().with_context(|| format!("{name} takes a number")),
        None => Ok(default),
    };
    let (time, keys) = (Duration::from_secs(number("--seconds", 5)?), number("--keys", 100_000)?);
    let parent = flags.get("--dir").map_or_else(|| PathBuf::from("."), PathBuf::from);
    let directory = tempfile::tempdir_in(&parent)?;
    let server = flags.get("--server").map_or_else(|| PathBuf::from("target/release/pintle"), PathBuf::from);

    if flags.get("--only") == Some(&"cache") {
        return tokio::runtime::Runtime::new()?.block_on(cache::measure(directory.path()));
    }
    schema::measure()?;
    codec::measure()?;
    fields::measure()?;
    if flags.get("--only") == Some(&"codec") {
        return Ok(());
    }
    start::measure(&server, directory.path())?;
    let runtime = tokio::runtime::Runtime::new()?;
    runtime.block_on(async {
        compare(directory.path(), time).await?;
        embedded::filled(&directory.path().join("filled"), keys, time).await?;
        embedded::fan_out(time).await?;
        cache::measure(directory.path()).await
    })?;
    embedded::reopen_in_fresh_processes(&directory.path().join("filled"))
}

/// The same puts on both stores. They take turns on the same disk, so that neither has the better hour.
async fn compare(directory: &Path, time: Duration) -> anyhow::Result<()> {
    let (mut ours, mut theirs, mut resident) = (Vec::new(), Vec::new(), 0.0);
    for round in 0..ROUNDS {
        ours.push(embedded::puts(&directory.join(format!("embedded-{round}")), time).await?);
        let (puts, memory) = etcd::puts(&directory.join(format!("etcd-{round}")), time).await?;
        theirs.push(puts);
        resident = memory;
    }
    let (ours, theirs) = (Puts::median(ours), Puts::median(theirs));
    ours.show("embedded");
    theirs.show("etcd");
    figures::show("etcd_resident", resident, "MB");
    figures::show("embedded_over_etcd", ours.per_second / theirs.per_second, "x");
    Ok(())
}
