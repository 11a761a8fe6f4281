//! The surroundings of one control plane: its clock, its source of randomness, its tasks and its signals.
//!
//! Each is a value that is handed down, so that several planes in one process have their own and tests can drive them. No
//! other crate asks the process for the time of day or starts a task that outlives its plane.

mod clock;
mod random;
mod signal;
mod tasks;

pub use self::clock::{Clock, ManualClock, Stopwatch};
pub use self::random::Random;
pub use self::signal::Signal;
pub use self::tasks::{Spawner, Tasks};
