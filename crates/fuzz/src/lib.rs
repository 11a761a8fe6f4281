//! Fuzzing on the stable toolchain: every parser of untrusted input is a [`Target`] that is fed mutations of a corpus.
//!
//! Without coverage from the compiler, what a run did is told by its outcome: a target returns a number that stands for the
//! way its input went (the error without its particulars, or the form of what was read), and an input that goes a new
//! way joins the corpus. Everything follows from the seed, so that a failure, even one that ends the process, comes
//! again with the same seed.

mod engine;
mod mutate;
mod targets;

pub use engine::{Failure, Limits, Report, fuzz};
pub use targets::targets;

/// Something that takes bytes from strangers.
#[derive(Clone, Copy)]
pub struct Target {
    pub name: &'static str,
    /// What the corpus begins with.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Pieces of the language, which mutations insert.
    pub tokens: &'static [&'static str],
    /// Feeds it; panics when something does not hold. What it returns is the same for inputs that go the same way.
    pub run: fn(&[u8]) -> u64,
}
