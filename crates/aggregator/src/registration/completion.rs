//! The health check of registration.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use pintle_registry::Client;
use pintle_server::handlers::Check;

use crate::condition;

/// Fails until the APIServices of all built-in group versions have been seen available once.
pub struct Registered {
    services: Client,
    missing: Mutex<BTreeSet<String>>,
}

impl Registered {
    /// The name of the check.
    pub const NAME: &'static str = "autoregister-completion";

    pub(crate) fn new(services: Client, names: Vec<String>) -> Registered {
        Registered { services, missing: Mutex::new(names.into_iter().collect()) }
    }
}

#[async_trait]
impl Check for Registered {
    async fn check(&self) -> Result<(), String> {
        let mut missing = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
        missing.retain(|name| {
            !self.services.cached("", name).is_some_and(|service| condition::is_available(&service))
        });
        if missing.is_empty() {
            return Ok(());
        }
        let names: Vec<&str> = missing.iter().map(String::as_str).collect();
        Err(format!("missing APIService: [{}]", names.join(" ")))
    }
}
