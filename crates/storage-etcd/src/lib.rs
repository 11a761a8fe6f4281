//! The etcd store: Pintle's storage contract on etcd's v3 API.
//!
//! ```text
//! Store (store.rs)            the contract, one small function per method
//!   kv, lease, watch          requests and answers translated; a watch is a task that resumes by itself
//!   client                    one call: which member, how often, until when, and what a failure means
//!   pool                      the members: connections, backoff, failover, versions
//!   proto                     messages
//! compactor                   a task of its own, sharing the work with every other API server on the same etcd
//! ```
//!
//! Keys are etcd's keys, bytes for bytes: what the caller passes is what is stored, with its prefix. Values are not
//! looked into. So a kube-apiserver can run beside Pintle on the same etcd.

mod classify;
mod client;
pub mod compactor;
mod config;
mod kv;
mod leases;
mod pool;
mod progress;
mod proto;
mod store;
mod watch;

pub use config::{Config, Dialer, Error, Progress, Stream, Tls};
pub use store::Store;
