//! Fuzzing on the stable toolchain: every parser of untrusted input is a [`Target`] that is fed mutations of a corpus.
//!
//! Without coverage from the compiler, the outcome of a run stands for its code path: a target returns a number for the
//! error without its particulars, or for the shape of the parsed value, and an input with a new
//! outcome joins the corpus. Everything follows from the seed, so that a failure, even one that ends the process,
//! repeats with the same seed.

mod engine;
mod mutate;
mod targets;

pub use engine::{Failure, Limits, Report, fuzz};
pub use targets::targets;

/// A parser of untrusted bytes.
#[derive(Clone, Copy)]
pub struct Target {
    pub name: &'static str,
    /// The initial corpus.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Pieces of the language, which mutations insert.
    pub tokens: &'static [&'static str],
    /// Feeds it; panics when something does not hold. What it returns is the same for inputs that go the same way.
    pub run: fn(&[u8]) -> u64,
}
