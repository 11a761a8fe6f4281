//! Outbound clients: webhooks, token issuers and servers behind the aggregator over HTTPS, local programs over gRPC.
//!
//! A [`Client`] talks to one origin and pools its connections. Everything the other side does is bounded: the time that a
//! request takes, the size of an answer before it is allocated, how often it is tried again. Errors read as the reference's
//! do, since clients see them in answers.

mod body;
mod client;
mod client_config;
pub mod configuration;
mod credentials;
mod dial;
pub mod egress;
mod error;
pub mod grpc;
pub mod headers;
pub mod hosts;
pub mod kubeconfig;
mod limits;
mod pool;
pub mod proxy;
mod round_trip;
pub mod services;
mod strict_decoding;
mod tls;
mod upgrade;
mod url;
pub mod webhook;

pub use body::{BoxError, RequestBody, ResponseBody};
pub use client::{Answer, Client, ClientOptions, Streamed};
pub use client_config::WebhookClientConfig;
pub use credentials::Authorization;
pub use error::{Error, Failure};
pub use kubeconfig::Kubeconfig;
pub use limits::{Pace, StreamLimits};
pub use tls::{AnyCertificate, KeyPair, Material, Roots, SetupError, TlsOptions};
pub use upgrade::{TunnelEnd, Tunneled, Upgraded};
pub use url::{InvalidUrl, Url};
pub use webhook::Webhook;

#[cfg(test)]
mod stream_tests;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(test)]
mod tests;
