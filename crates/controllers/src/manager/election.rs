//! Election of the server that runs the controllers, where several servers share a store.
//!
//! ```text
//! waiting --(no holder, or its lease was not renewed while this server watched it)--> leading
//! leading --(the lease could not be renewed in time, or another server has it)-----> waiting
//! leading --(this server stops)--> the lease is given up, so that the next server need not wait for it to expire
//! ```
//!
//! A lease expires by the clock of the server that waits: it counts from when it saw the last renewal, so clocks need not agree.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use pintle_meta::time::MicroTime;
use pintle_meta::{Reason, Value};
use pintle_registry::{Client, Result};
use pintle_runtime::{Clock, Random, Spawner, Tasks};

/// The lease. Its name is not that of kube-controller-manager's, which may run beside.
const NAMESPACE: &str = "kube-system";
const NAME: &str = "pintle-controllers";

/// The durations of kube-controller-manager's election.
const LEASE_SECONDS: i64 = 15;
const LEASE: Duration = Duration::from_secs(15);
const RENEW_DEADLINE: Duration = Duration::from_secs(10);
const RETRY: Duration = Duration::from_secs(2);
/// How long tasks of controllers may take to end, and how long giving up the lease may take.
const LEAVING: Duration = Duration::from_secs(2);

/// What an election needs.
pub struct ElectionConfig {
    pub leases: Client,
    /// The name of this server in the lease; different after a restart.
    pub identity: String,
    pub clock: Clock,
    pub random: Random,
}

/// Takes part in the election.
pub struct Election {
    config: ElectionConfig,
    observed: Mutex<Option<Observed>>,
}

/// The lease of another server as it was seen last, and when it was first seen so.
struct Observed {
    resource_version: String,
    at: Instant,
}

impl Election {
    pub fn new(config: ElectionConfig) -> Election {
        Election { config, observed: Mutex::default() }
    }

    /// Runs `lead` whenever this server is elected, with a spawner of tasks that end when it is not the leader any more. Returns when
    /// the owner of `spawner` is asked to stop.
    pub async fn run(self, spawner: &Spawner, lead: impl Fn(Spawner)) {
        loop {
            tokio::select! {
                () = self.acquire() => {}
                () = spawner.stopping().wait() => return,
            }
            tracing::info!(identity = self.config.identity, "became leader");
            let tasks = Tasks::new();
            lead(tasks.spawner());
            tokio::select! {
                () = self.keep() => {
                    tracing::warn!(identity = self.config.identity, "leader election lost");
                    // At once: another server may begin.
                    drop(tasks);
                }
                () = spawner.stopping().wait() => {
                    tasks.stop(LEAVING).await;
                    if let Some(Err(status)) = self.config.clock.timeout(LEAVING, self.release()).await {
                        tracing::error!("Failed to release the lease {NAME}: {}", status.message);
                    }
                    return;
                }
            }
        }
    }

    /// Waits until this server holds the lease.
    async fn acquire(&self) {
        loop {
            match self.try_acquire().await {
                Ok(true) => return,
                Ok(false) => {}
                Err(status) => tracing::error!("error retrieving resource lock {NAME}: {}", status.message),
            }
            self.config.clock.sleep(self.config.random.jitter(RETRY, 0.2)).await;
        }
    }

    /// Renews the lease until that has failed for too long.
    async fn keep(&self) {
        let ElectionConfig { clock, .. } = &self.config;
        let mut renewed = clock.instant();
        loop {
            clock.sleep(RETRY).await;
            let left = RENEW_DEADLINE.saturating_sub(clock.instant().saturating_duration_since(renewed));
            match clock.timeout(left, self.try_acquire()).await {
                Some(Ok(true)) => renewed = clock.instant(),
                Some(Ok(false)) | None => return,
                Some(Err(status)) => {
                    tracing::error!("Failed to update lease {NAME}: {}", status.message);
                    if clock.instant().saturating_duration_since(renewed) >= RENEW_DEADLINE {
                        return;
                    }
                }
            }
        }
    }

    /// Takes or renews the lease, unless another server holds it. Returns whether this server has it.
    async fn try_acquire(&self) -> Result<bool> {
        let ElectionConfig { leases, identity, .. } = &self.config;
        let Some(lease) = leases.find(NAMESPACE, NAME).await? else {
            let json = format!(
                r#"{{"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":{{"name":"{NAME}","namespace":"{NAMESPACE}"}},"spec":{{}}}}"#
            );
            let lease = self.held(leases.read(json.as_bytes())?);
            return has_won(leases.create(NAMESPACE, lease).await);
        };
        let holder = lease.text_at(&["spec", "holderIdentity"]);
        if !holder.is_empty() && holder != identity && !self.has_expired(&lease) {
            return Ok(false);
        }
        let mut change = |current: &Value| Ok(Some(self.held(current.clone())));
        has_won(leases.update_known(NAMESPACE, &lease, &mut change).await)
    }

    /// Returns whether the lease of another server was seen unchanged for its duration.
    fn has_expired(&self, lease: &Value) -> bool {
        let now = self.config.clock.instant();
        let mut observed = self.observed.lock().unwrap_or_else(PoisonError::into_inner);
        match &*observed {
            Some(known) if known.resource_version == lease.resource_version() => {
                now.saturating_duration_since(known.at) > duration(lease)
            }
            _ => {
                let resource_version = lease.resource_version().to_owned();
                *observed = Some(Observed { resource_version, at: now });
                false
            }
        }
    }

    fn held(&self, mut lease: Value) -> Value {
        let ElectionConfig { identity, clock, .. } = &self.config;
        let now = MicroTime::from(clock.now()).to_string();
        let Some(spec) = lease.get_mut("spec").and_then(Value::as_object_mut) else { return lease };
        if spec.get("holderIdentity").and_then(Value::as_str) != Some(identity) {
            let transitions = spec.get("leaseTransitions").and_then(Value::as_i64);
            spec.insert("leaseTransitions", transitions.map_or(0, |count| count.saturating_add(1)));
            spec.insert("holderIdentity", identity.as_str());
            spec.insert("acquireTime", now.as_str());
        }
        spec.insert("leaseDurationSeconds", LEASE_SECONDS);
        spec.insert("renewTime", now);
        lease
    }

    /// Gives up the lease.
    async fn release(&self) -> Result<()> {
        let ElectionConfig { leases, identity, clock, .. } = &self.config;
        let Some(lease) = leases.find(NAMESPACE, NAME).await? else { return Ok(()) };
        if lease.text_at(&["spec", "holderIdentity"]) != identity {
            return Ok(());
        }
        let now = MicroTime::from(clock.now()).to_string();
        let mut change = |current: &Value| {
            let mut lease = current.clone();
            if let Some(spec) = lease.get_mut("spec").and_then(Value::as_object_mut) {
                spec.insert("holderIdentity", "");
                spec.insert("leaseDurationSeconds", 1);
                spec.insert("renewTime", now.as_str());
                spec.insert("acquireTime", now.as_str());
            }
            Ok(Some(lease))
        };
        has_won(leases.update_known(NAMESPACE, &lease, &mut change).await).map(drop)
    }
}

fn duration(lease: &Value) -> Duration {
    let seconds = lease.at(&["spec", "leaseDurationSeconds"]).and_then(Value::as_i64);
    seconds.and_then(|seconds| u64::try_from(seconds).ok()).map_or(LEASE, Duration::from_secs)
}

/// Returns whether a write of the lease was the first one.
fn has_won(written: Result<Value>) -> Result<bool> {
    match written {
        Ok(_) => Ok(true),
        Err(status)
            if matches!(status.reason, Reason::Conflict | Reason::AlreadyExists | Reason::NotFound) =>
        {
            Ok(false)
        }
        Err(status) => Err(status),
    }
}
