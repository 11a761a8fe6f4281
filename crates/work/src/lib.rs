//! Long synchronous work: where it runs and how it ends.
//!
//! A thread of the runtime serves many clients, so a request may occupy it for about a millisecond and no longer. Code that
//! is about to do more says so, and its request is moved to a pool of threads that serve no other request:
//!
//! - [`aside`] moves the request if the size of its input says that the work will be long;
//! - [`run`] runs a pure function, moves the request if the function turns out to be long, and restarts it there;
//! - [`wait`] runs a function that waits for another program with the thread, which is no work;
//! - [`check`] is called in long loops. On the pool it ends work whose deadline has passed or whose client has gone.
//!
//! The executor of a request polls it with [`polled_inline`] on a thread of the runtime and with [`polled_aside`] on the
//! pool; `pintle_server::aside` is the one there is. Code that runs elsewhere (loops of controllers, tests) is neither
//! moved nor ended.
//!
//! Work ends by unwinding with a payload of this crate, which no panic hook sees. That needs no error type in loops many
//! calls deep, and nothing can go on with half a result. Only functions given to [`run`] are ended, so code that keeps
//! state of its own (a mirror that takes in changes, for example) never stops in the middle.

mod context;
mod token;

pub use context::{Moved, aside, check, polled_aside, polled_inline, run, wait};
pub use token::{Interrupted, Token};

/// Bytes of JSON whose decoding, defaulting, validation and encoding take less than a millisecond.
///
/// A Pod of 3 KB takes 18 to 29 us (docs/performance.md), which is 100 to 170 KB in a millisecond; documents
/// of many small values take up to three times as long for each byte. Moving a request takes tens of microseconds.
pub const SMALL: usize = 32 << 10;
