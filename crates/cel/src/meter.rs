//! Meter of an evaluation: its cost by cel-go's model, its work beyond that, and the ways in which it fails.

use crate::program::Budget;
use crate::value::{Error, Val};

/// Number of loop rounds between calls of `Budget::interrupted`.
const ROUNDS_BETWEEN_CHECKS: u64 = 100;

/// Bytes of values that an evaluation may copy or compare beyond what its cost covers. The cost of some operations,
/// such as concatenating lists, does not grow with their work; ordinary expressions stay far below.
const MOST_WORK: u64 = 100_000_000;

/// Work of one item, in bytes.
const ITEM: usize = size_of::<Val<'_>>();

/// Reason why a part of an expression has no value.
#[derive(Clone, Debug)]
pub(crate) enum Failure {
    /// Error of the expression, which `&&`, `||` and loops may absorb.
    Error(Error),
    CostLimit,
    Interrupted,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Error(error)
    }
}

impl Failure {
    pub(crate) fn error<T>(message: impl AsRef<str>) -> Result<T, Failure> {
        Err(Failure::Error(Error::new(message)))
    }
}

pub(crate) type Outcome<'v> = Result<Val<'v>, Failure>;

/// Cost and work of an evaluation so far.
pub(crate) struct Meter<'b> {
    budget: Budget<'b>,
    cost: u64,
    work: u64,
    rounds: u64,
}

impl<'b> Meter<'b> {
    pub(crate) fn new(budget: Budget<'b>) -> Meter<'b> {
        Meter { budget, cost: 0, work: 0, rounds: 0 }
    }

    pub(crate) fn cost(&self) -> u64 {
        self.cost
    }

    pub(crate) fn charge(&mut self, cost: u64) -> Result<(), Failure> {
        pintle_work::check();
        self.cost = self.cost.saturating_add(cost);
        if self.cost > self.budget.cost { Err(Failure::CostLimit) } else { Ok(()) }
    }

    /// Checks that a cost could still be charged, before memory is allocated for it.
    pub(crate) fn affords(&self, cost: u64) -> Result<(), Failure> {
        if self.cost.saturating_add(cost) > self.budget.cost { Err(Failure::CostLimit) } else { Ok(()) }
    }

    /// Counts work that has no cost, or not yet.
    pub(crate) fn work(&mut self, bytes: usize) -> Result<(), Failure> {
        self.work = self.work.saturating_add(bytes as u64);
        if self.work > MOST_WORK { Err(Failure::CostLimit) } else { Ok(()) }
    }

    /// Counts the work of copying list items or map entries.
    pub(crate) fn items(&mut self, items: usize) -> Result<(), Failure> {
        self.work(items.saturating_mul(ITEM))
    }

    /// Counts the bytes of a value read from a tree; borrowed values are free.
    pub(crate) fn decoded(&mut self, value: &Val<'_>) -> Result<(), Failure> {
        match value {
            Val::Bytes(bytes) => self.work(bytes.len().saturating_mul(4)),
            _ => Ok(()),
        }
    }

    /// Counts a round of a loop and ends the evaluation if it is interrupted.
    pub(crate) fn round(&mut self) -> Result<(), Failure> {
        self.rounds += 1;
        match self.budget.interrupted {
            Some(interrupted) if self.rounds.is_multiple_of(ROUNDS_BETWEEN_CHECKS) && interrupted() => {
                Err(Failure::Interrupted)
            }
            _ => Ok(()),
        }
    }
}
