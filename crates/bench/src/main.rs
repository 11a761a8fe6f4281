//! `make bench`: what the budgets promise, measured on this machine.
//!
//! ```text
//! pintle-bench [--only PART,...] [--dir DIR] [--seconds 5] [--keys 100000] [--server FILE]
//!              [--encryption secretbox|aesgcm|aescbc] [--audit LEVEL]
//! pintle-bench --kubeconfig FILE [--pid PID,...] [--name NAME] [--kubeconfig FILE ...] [--rounds 5] [--pods 10000]
//!              [--config-maps 3000] [--streams 32] [--connections 4] [--watchers 500] [--many-watchers 2000] [--events 100]
//!              [--forwards 1000]
//! ```
//!
//! Parts: `codec`, `chain`, `documents`, `store` and `cache` (one figure per line: name, value, unit); `start`, `idle`, `create`, `memory`, `get`, `list`,
//! `patch`, `watch`, `policies`, `connections`, `crd` (one table of whole servers); `load`, which takes minutes and is only measured when named.
//!
//! With `--audit`, a second server is measured beside the first, which records all requests at that level, in batch mode.
//!
//! The directory decides which disk is measured; the default is the current one, because temporary directories are
//! often in memory. `PINTLE_ETCD` names the etcd to compare with.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "its output is its purpose")]

mod admission;
mod arguments;
mod authorization;
mod cache;
mod chain;
mod codec;
mod documents;
mod embedded;
mod etcd;
mod fields;
mod figures;
mod flow_control;
mod policies;
mod puts;
mod schema;
mod server;

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;

use arguments::Arguments;
use puts::Puts;

/// Of which the one in the middle counts.
const ROUNDS: usize = 5;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("pintle-bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> anyhow::Result<()> {
    let arguments = Arguments::parse(std::env::args().skip(1))?;
    if let Some(directory) = &arguments.reopen {
        return embedded::reopen(directory);
    }
    let runtime = tokio::runtime::Runtime::new()?;
    if arguments.floor {
        return runtime.block_on(server::floor::serve());
    }
    if let Some(path) = &arguments.greedy {
        return runtime.block_on(server::greedy::serve(&arguments.running, path));
    }
    let directory = tempfile::tempdir_in(&arguments.directory)
        .with_context(|| format!("cannot write to {}", arguments.directory.display()))?;
    let (directory, time) = (directory.path(), arguments.time);
    if arguments.measures("codec") {
        schema::measure()?;
        codec::measure()?;
        fields::measure()?;
    }
    if arguments.measures("chain") {
        chain::measure(&runtime)?;
        authorization::measure()?;
        flow_control::measure()?;
    }
    if arguments.measures("admission") {
        policies::measure(&runtime)?;
        runtime.block_on(admission::measure())?;
    }
    if arguments.measures("documents") {
        runtime.block_on(documents::measure())?;
    }
    if arguments.measures("store") {
        runtime.block_on(async {
            compare(directory, time).await?;
            embedded::filled(&directory.join("filled"), arguments.keys, time).await?;
            embedded::fan_out(time).await
        })?;
        embedded::reopen_in_fresh_processes(&directory.join("filled"))?;
    }
    if arguments.measures("cache") {
        runtime.block_on(cache::measure(directory))?;
    }
    if arguments.measures_servers() {
        runtime.block_on(server::measure(&arguments, directory))?;
    }
    Ok(())
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
