//! The generic server: TLS, filters, routing, health, metrics and the order of starting and stopping. It knows nothing
//! of concrete resources.

mod acceptor;
mod activity;
mod audit;
pub mod body;
pub mod chain;
mod connection;
pub mod delegation;
mod documents;
pub mod filter;
pub mod filters;
pub mod forward;
mod gather;
pub mod handlers;
pub mod lifecycle;
mod listener;
mod metrics;
mod overload;
mod query;
mod reload;
mod request;
mod request_info;
pub mod respond;
pub mod rest;
mod router;
mod server;
mod streams;
pub mod systemd;
pub mod tls;
mod unread;

pub use acceptor::Acceptor;
pub use body::Body;
pub use connection::Limits;
pub use documents::{Documents, DocumentsConfig};
pub use listener::{ListenOptions, listen, raise_open_file_limit};
pub use metrics::Metrics;
pub use reload::WatchedFiles;
pub use request::{Connection, Request, RequestBody, Response};
pub use request_info::RequestInfo;
pub use server::{Error, Running, Server, ServerConfig};
