//! The internal client, under the name that controllers know it by.

pub use pintle_registry::{Client as Objects, ObjectIdentity};
