//! Asking others: webhooks, token issuers and servers behind the aggregator over HTTPS, programs beside us over gRPC.
//!
//! A [`Client`] talks to one origin and keeps its connections. Whatever the other side does is bounded: the time that a
//! request takes, the size of an answer before it is allocated, how often it is tried again. Errors read as the reference's
//! do, since clients see them in answers.

mod client;
pub mod configuration;
mod dial;
pub mod egress;
mod error;
pub mod grpc;
mod hook;
pub mod kubeconfig;
mod pool;
pub mod services;
mod strict;
mod tls;
mod url;
pub mod webhook;

pub use client::{Answer, Authorization, Client, ClientOptions};
pub use error::{Error, Failure};
pub use hook::Hook;
pub use kubeconfig::Kubeconfig;
pub use tls::{AnyCertificate, KeyPair, Material, Roots, SetupError, TlsOptions};
pub use url::{BadUrl, Url};
pub use webhook::Webhook;

#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(test)]
mod tests;
