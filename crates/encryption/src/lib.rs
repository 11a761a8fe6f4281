//! Encryption at rest: values are encrypted on their way into the store and decrypted on their way out.
//!
//! A file names resources and, for each, providers: `identity`, `aescbc`, `aesgcm`, `secretbox` and `kms`. The first one writes,
//! all of them read, so that keys can be rotated while clients go on. The bytes in the store are the reference's, so that servers of
//! both kinds read what the other wrote:
//!
//! ```text
//! k8s:enc:secretbox:v1:key1:<nonce, tag, cipher text>
//! ```
//!
//! [`EncryptedBackend`] is a [`pintle_storage::Backend`] around a store, so that caches and registries above know nothing of
//! encryption. A value that another key or provider wrote is [stale](pintle_storage::KeyValue::stale), and is written
//! again by the next update even if nothing in it changes.
//!
//! Keys are zeroed when they are dropped, and no message shows one.

mod active;
mod backend;
mod chain;
mod configuration;
mod encryption;
mod error;
mod failure;
mod health;
mod kms;
mod load;
mod metrics;
mod providers;
mod resources;
mod transformer;

pub use backend::EncryptedBackend;
pub use encryption::{Encryption, KmsCheck};
pub use error::Error;
pub use load::{Setup, Source};
pub use metrics::Metrics;
pub use resources::{GroupResource, StoredResources};
