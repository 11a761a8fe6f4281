//! The loop: take an input, change it, feed it, keep it if it went a new way.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;
use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::Target;
use crate::mutate::mutate;

/// As much stack as a request's task has.
const STACK: usize = 2 << 20;

/// The corpus stays small enough to be worth mutating.
const MAX_CORPUS: usize = 4096;

/// When to stop: whichever comes first.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub runs: u64,
    pub time: Duration,
    /// Longest input.
    pub size: usize,
}

#[derive(Debug)]
pub struct Report {
    pub runs: u64,
    /// Ways that inputs went.
    pub ways: usize,
    pub slowest: Duration,
    pub slowest_input: Vec<u8>,
}

/// An input that a target could not take.
#[derive(Debug)]
pub struct Failure {
    pub input: Vec<u8>,
    pub run: u64,
    pub message: String,
}

/// Feeds a target until a limit is reached or it fails.
pub fn fuzz(target: Target, seed: u64, limits: Limits) -> Result<Report, Failure> {
    let body = move || feed(target, seed, limits);
    let thread = thread::Builder::new().name(target.name.into()).stack_size(STACK).spawn(body);
    let joined = thread.map(thread::JoinHandle::join);
    match joined {
        Ok(Ok(result)) => result,
        Ok(Err(_)) | Err(_) => {
            Err(Failure { input: Vec::new(), run: 0, message: "the fuzzing thread did not run".into() })
        }
    }
}

fn feed(target: Target, seed: u64, limits: Limits) -> Result<Report, Failure> {
    let mut random = StdRng::seed_from_u64(seed);
    let mut corpus = (target.seeds)();
    corpus.push(Vec::new());
    let seeds = corpus.clone();
    let mut ways = HashSet::new();
    let mut report = Report { runs: 0, ways: 0, slowest: Duration::ZERO, slowest_input: Vec::new() };
    let start = Instant::now();
    while report.runs < limits.runs && start.elapsed() < limits.time {
        let input = match seeds.get(report.runs as usize) {
            Some(seed) => seed.clone(),
            None => {
                let base = random.random_range(0..corpus.len());
                mutate(&mut random, &corpus, base, target.tokens, limits.size)
            }
        };
        let began = Instant::now();
        let way = catch_unwind(AssertUnwindSafe(|| (target.run)(&input)));
        let took = began.elapsed();
        report.runs += 1;
        match way {
            Err(panic) => {
                let message = panic.downcast_ref::<String>().cloned();
                let message = message.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
                return Err(Failure { input, run: report.runs, message: message.unwrap_or_default() });
            }
            Ok(way) => {
                if took > report.slowest {
                    report.slowest = took;
                    report.slowest_input.clone_from(&input);
                }
                if ways.insert(way) && corpus.len() < MAX_CORPUS {
                    corpus.push(input);
                }
            }
        }
    }
    report.ways = ways.len();
    Ok(report)
}
