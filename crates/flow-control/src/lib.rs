//! API priority and fairness: which requests execute now, which wait in a queue, and which are refused.
//!
//! ```text
//! Digest ----> Matcher          the flow schema of the lowest precedence that matches, and the request's flow
//!         ---> Estimator        seats by the work that the request is expected to cause
//!         ---> Level            one mutex: seats in use, queues, virtual time
//!                QueueSet         shuffle sharding deals each flow a hand of queues; the queue with the earliest virtual finish is next
//!         ---> Ticket           the request's seats, or its place in a queue; dropping it gives them back
//! ```
//!
//! [`FlowControl`] owns the levels. It is reconfigured as a whole ([`FlowControl::reconfigure`]) from the specs of all flow schemas and
//! priority levels; a level that is gone goes on with its requests until the last one has ended. [`FlowControl::run`] is its only
//! task: it moves seats between levels every ten seconds, and frees seats that a finished request still holds for the watchers
//! that it woke.
//!
//! Nothing here knows of HTTP or of the store. All time is the [`pintle_runtime::Clock`]'s.

mod borrowing;
mod configuration;
mod control;
mod dealer;
mod digest;
mod drops;
mod dump;
mod estimator;
mod integrator;
mod level;
mod matching;
mod metrics;
mod queues;
mod read_write;
mod spec;
mod table;
mod ticket;
mod watches;
mod work;

pub use control::{Admission, Config, FlowControl, Refusal};
pub use digest::{Describe, Digest, RequestDetails};
pub use dump::Dump;
pub use estimator::{ListOptions, ObjectStats, Stats};
pub use matching::Classification;
pub use read_write::Phase;
pub use spec::{LevelSpec, Response, SchemaSpec};
pub use ticket::Ticket;
pub use watches::WatchRegistration;
pub use work::WorkEstimate;
