//! Availability: the condition `Available` of APIServices. A local one is always available; a remote one where its service exists, has a
//! ready endpoint, and its server answers.

mod local;
mod probe;
mod remote;

use pintle_meta::{Reason, Value};
use pintle_registry::{Client, Result};

use crate::condition::{self, Availability};
use crate::metrics::Metrics;

pub(crate) use local::LocalAvailability;
pub(crate) use remote::{RemoteAvailability, Stores};

/// Writes the state of an APIService, if it has another.
async fn write(statuses: &Client, metrics: &Metrics, service: &Value, state: &Availability) -> Result<()> {
    let now = statuses.store().now().truncated().to_string();
    if state.set(service, &now).is_none() {
        return Ok(());
    }
    let (uid, mut was_available) = (service.uid(), false);
    let mut change = |current: &Value| {
        // Another one of the name has another state, which its own event brings.
        if current.uid() != uid {
            return Ok(None);
        }
        was_available = condition::is_available(current);
        Ok(state.set(current, &now))
    };
    match statuses.update("", service.name(), &mut change).await {
        Err(status) if status.reason == Reason::NotFound => return Ok(()),
        written => drop(written?),
    }
    if was_available && !state.is_available() {
        metrics.became_unavailable(service.name(), state.reason);
    }
    Ok(())
}
