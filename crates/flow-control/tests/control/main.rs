//! Flow control as a server uses it, on a clock of its own.

mod bootstrap;
mod metrics;
mod requests;
mod support;
