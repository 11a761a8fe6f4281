//! `EventRateLimit`: limits the rate of events of the core group, of the whole server or for each namespace, user or source and
//! object.

mod bucket;
mod configuration;

use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use pintle_meta::Status;
use pintle_meta::field_path::aggregate;
use pintle_runtime::Clock;

use self::bucket::{Bucket, Rate};
use self::configuration::{Configuration, KIND, Limit};
use crate::Result;
use crate::attributes::{Attributes, Operation, Target};
use crate::chain::Cluster;
use crate::lru::Lru;
use crate::plugin::Plugin;

const NAME: &str = "EventRateLimit";
/// Number of buckets that are kept, unless the configuration says.
const BUCKETS: usize = 4096;

pub(crate) struct EventRateLimit {
    limits: Vec<Enforced>,
    clock: Clock,
}

/// A limit with its buckets by key. One that is dropped will be full when it is needed again.
struct Enforced {
    of: String,
    rate: Rate,
    buckets: Mutex<Lru<Bucket>>,
}

impl EventRateLimit {
    pub(crate) fn new(cluster: &Cluster) -> Result<EventRateLimit, String> {
        let read: Configuration = cluster.configurations.decode(NAME, &KIND)?.unwrap_or_default();
        let limits = read.limits()?.into_iter().map(Enforced::new).collect();
        Ok(EventRateLimit { limits, clock: cluster.clock.clone() })
    }
}

impl Enforced {
    fn new(limit: Limit) -> Enforced {
        let Limit { of, qps, burst, cache_size } = limit;
        let size = usize::try_from(cache_size).unwrap_or_default();
        Enforced {
            of,
            rate: Rate { per_second: f64::from(qps), burst: f64::from(burst) },
            buckets: Mutex::new(Lru::new(if size == 0 { BUCKETS } else { size })),
        }
    }

    /// Returns the key of the bucket that an event is taken from.
    fn key(&self, attributes: &Attributes<'_>) -> String {
        match self.of.as_str() {
            "Namespace" => attributes.namespace().to_owned(),
            "User" => attributes.request.user.name.clone(),
            "SourceAndObject" => {
                let Some(event) = attributes.object() else { return String::new() };
                let of_object = ["kind", "namespace", "name", "uid", "apiVersion"];
                let source = ["component", "host"].map(|field| event.text_at(&["source", field]));
                let object = of_object.map(|field| event.text_at(&["involvedObject", field]));
                source.concat() + &object.concat()
            }
            // The server has one bucket.
            _ => String::new(),
        }
    }

    /// Takes a token; the error says that there was none.
    fn accept(&self, attributes: &Attributes<'_>, clock: &Clock) -> Result<(), String> {
        let (key, now) = (self.key(attributes), clock.instant());
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let bucket = buckets.get_or_insert_with(&key, || Bucket::new(self.rate, now));
        match bucket.is_some_and(|bucket| bucket.take(self.rate, now)) {
            true => Ok(()),
            false => Err(format!("limit reached on type {} for key {key}", self.of)),
        }
    }
}

#[async_trait]
impl Plugin for EventRateLimit {
    fn name(&self) -> &'static str {
        NAME
    }

    fn validates(&self, operation: Operation, target: &Target) -> bool {
        matches!(operation, Operation::Create | Operation::Update)
            && target.kind.group.is_empty()
            && target.kind.kind == "Event"
    }

    async fn validate(&self, attributes: &Attributes<'_>) -> Result<()> {
        if attributes.request.dry_run {
            return Ok(());
        }
        // Each limit loses a token, also if another one is reached.
        let reached: Vec<String> =
            self.limits.iter().filter_map(|limit| limit.accept(attributes, &self.clock).err()).collect();
        match reached.is_empty() {
            true => Ok(()),
            false => Err(Box::new(Status::overloaded(aggregate(&reached)))),
        }
    }
}

#[cfg(test)]
mod tests;
