//! The parity suite: replays exchanges that were recorded from kube-apiserver 1.36 against this server or any other, and counts
//! the cases whose answers are the recorded ones.
//!
//! `data/cases` has the requests and `data/golden` the reference's normalised answers, one gzipped document per area. `make parity`
//! runs all of them; `crates/pintle/tests/parity.rs` does in `make test`, and compares with `data/known-failures.txt`.

mod client;
mod compare;
mod json;
mod known;
mod normalise;
mod pack;
mod replay;
mod run;
mod server;

pub use client::{Answer, Call, Client, Tokens};
pub use compare::first_difference;
pub use json::Json;
pub use known::{Change, Known, changes};
pub use normalise::normalise;
pub use pack::{pack, unpack, write};
pub use replay::{Case, stamp};
pub use run::{Area, Outcome, play};
pub use server::{Server, tokens};
