//! `make fuzz`: fuzzes the parsers until a limit is reached.
//!
//! ```text
//! pintle-fuzz [--seconds 60] [--size 65536] [--seed N] [--save DIR] [TARGET ...]
//! pintle-fuzz --input FILE TARGET
//! ```
//!
//! The seconds are for each target. Failing and slowest inputs are saved to DIR (`build/fuzz`) and can be fed again with `--input`. A run
//! that ends the process (a stack overflow) is repeated with the seed that was printed.
#![allow(clippy::print_stdout, reason = "its output is its purpose")]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, bail};
use pintle_fuzz::{Limits, Target, fuzz, targets};

fn main() -> anyhow::Result<()> {
    let mut names = Vec::new();
    let (mut seconds, mut size, mut seed) = (60, 1 << 16, now());
    let (mut save, mut input) = (PathBuf::from("build/fuzz"), None);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        if !argument.starts_with("--") {
            names.push(argument);
            continue;
        }
        let value = arguments.next().with_context(|| format!("{argument} takes a value"))?;
        let number = || value.parse::<u64>().with_context(|| format!("{argument} takes a number"));
        match argument.as_str() {
            "--seconds" => seconds = number()?,
            "--size" => size = number()? as usize,
            "--seed" => seed = number()?,
            "--save" => save = value.into(),
            "--input" => input = Some(PathBuf::from(value)),
            other => bail!("there is no {other}; see the first lines of crates/fuzz/src/main.rs"),
        }
    }
    let chosen = choose(&names)?;
    if let Some(input) = input {
        let bytes = fs::read(&input).with_context(|| format!("cannot read {}", input.display()))?;
        for target in chosen {
            let start = Instant::now();
            let way = (target.run)(&bytes);
            println!("{} {way:016x} in {:?}", target.name, start.elapsed());
        }
        return Ok(());
    }
    let limits = Limits { runs: u64::MAX, time: Duration::from_secs(seconds), size };
    for target in chosen {
        println!("{} with --seed {seed}", target.name);
        match fuzz(target, seed, limits) {
            Ok(report) => {
                let file = keep(&save, &format!("{}-slowest", target.name), &report.slowest_input)?;
                let (runs, ways, slowest) = (report.runs, report.ways, report.slowest);
                println!("  {runs} runs, {ways} ways, slowest {slowest:?} ({})", file.display());
            }
            Err(failure) => {
                let file = keep(&save, &format!("{}-{}", target.name, failure.run), &failure.input)?;
                bail!("{} failed on {}: {}", target.name, file.display(), failure.message);
            }
        }
    }
    Ok(())
}

fn keep(folder: &Path, name: &str, input: &[u8]) -> anyhow::Result<PathBuf> {
    fs::create_dir_all(folder)?;
    let file = folder.join(name);
    fs::write(&file, input)?;
    Ok(file)
}

fn choose(names: &[String]) -> anyhow::Result<Vec<Target>> {
    let all = targets();
    if let Some(unknown) = names.iter().find(|name| !all.iter().any(|target| target.name == **name)) {
        let known: Vec<&str> = all.iter().map(|target| target.name).collect();
        bail!("there is no target {unknown}; there are {}", known.join(", "));
    }
    Ok(all
        .into_iter()
        .filter(|target| names.is_empty() || names.iter().any(|name| name == target.name))
        .collect())
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |since| since.as_secs())
}
