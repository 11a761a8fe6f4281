//! The auditor of a server: its policy and its backends.

use std::borrow::Cow;
use std::fmt;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use pintle_auth::User;
use pintle_meta::validation::parse_ip_sloppy;
use pintle_runtime::{Clock, Tasks};
use tokio::sync::Notify;

use crate::backend::Backend;
use crate::context::AuditContext;
use crate::event::{Event, ObjectReference, RequestPart};
use crate::metrics::Metrics;
use crate::policy::{Attributes, Policy};

/// Bytes of a user agent that are recorded.
const LONGEST_USER_AGENT: usize = 1024;

/// Records requests. It outlives the control plane whose requests it records, so that the last event is written.
pub struct Auditor {
    policy: Policy,
    backend: Arc<dyn Backend>,
    metrics: Metrics,
    clock: Clock,
    /// The tasks of backends, and of events that nothing waits for.
    tasks: Tasks,
    detached: Arc<Detached>,
}

/// The parts of an [`Auditor`].
pub struct AuditorConfig {
    pub policy: Policy,
    pub backend: Arc<dyn Backend>,
    pub metrics: Metrics,
    pub clock: Clock,
    pub tasks: Tasks,
}

/// Counts events under way that nothing waits for.
#[derive(Default)]
struct Detached {
    count: AtomicUsize,
    none: Notify,
}

struct Running(Arc<Detached>);

impl Drop for Running {
    fn drop(&mut self) {
        if self.0.count.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.none.notify_waiters();
        }
    }
}

/// A request as it arrives, apart from what the policy asks for.
#[derive(Clone, Debug)]
pub struct RequestFacts<'a> {
    pub audit_id: &'a str,
    /// Path and query, as they were sent.
    pub uri: &'a str,
    pub user: Option<&'a Arc<User>>,
    pub user_agent: Cow<'a, str>,
    /// The first `X-Forwarded-For` and `X-Real-Ip`; empty if there is none.
    pub forwarded_for: &'a str,
    pub real_ip: &'a str,
    pub peer: IpAddr,
    pub received: SystemTime,
    pub version: &'a str,
}

impl fmt::Debug for Auditor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Auditor").field("policy", &self.policy).finish_non_exhaustive()
    }
}

impl Auditor {
    pub fn new(config: AuditorConfig) -> Arc<Auditor> {
        let AuditorConfig { policy, backend, metrics, clock, tasks } = config;
        Arc::new(Auditor { policy, backend, metrics, clock, tasks, detached: Arc::default() })
    }

    /// Decides about a request. `None` if the policy leaves it out; then nothing of it is looked at. `facts` is called otherwise.
    pub fn begin<'a>(
        self: &Arc<Auditor>,
        attributes: &Attributes<'_>,
        facts: impl FnOnce() -> RequestFacts<'a>,
    ) -> Option<Arc<AuditContext>> {
        let decision = self.policy.evaluate(attributes);
        self.metrics.decided(decision.level);
        if decision.level == crate::Level::None {
            return None;
        }
        let facts = facts();
        let object = attributes.is_resource.then(|| ObjectReference {
            resource: attributes.resource.into(),
            namespace: attributes.namespace.into(),
            name: attributes.name.into(),
            group: attributes.group.into(),
            version: facts.version.into(),
            subresource: attributes.subresource.into(),
            ..ObjectReference::default()
        });
        let request = RequestPart {
            level: decision.level,
            audit_id: facts.audit_id.into(),
            uri: facts.uri.into(),
            verb: attributes.verb.into(),
            user: facts.user.cloned(),
            source_ips: source_ips(&facts),
            user_agent: shortened(&facts.user_agent),
            received: facts.received.into(),
            json: OnceLock::new(),
        };
        Some(Arc::new(AuditContext::new(self.clone(), decision, facts.received, request, object)))
    }

    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    pub(crate) fn now(&self) -> SystemTime {
        self.clock.now()
    }

    /// Returns the time of day at which something began that has lasted for `age`.
    pub fn time_before(&self, age: std::time::Duration) -> SystemTime {
        self.clock.now().checked_sub(age).unwrap_or(SystemTime::UNIX_EPOCH)
    }

    pub(crate) async fn process(&self, event: Event) -> bool {
        self.metrics.event();
        self.backend.process(&[Arc::new(event)]).await
    }

    pub(crate) fn process_detached(&self, event: Event) {
        self.metrics.event();
        let event = Arc::new(event);
        if self.backend.accept(&event) {
            return;
        }
        self.detached.count.fetch_add(1, Ordering::AcqRel);
        let (running, backend) = (Running(self.detached.clone()), self.backend.clone());
        self.tasks.spawner().spawn(async move {
            backend.process(&[event]).await;
            drop(running);
        });
    }

    /// Writes the events that are under way, and ends. To be called after the last request.
    pub async fn shut_down(&self) {
        loop {
            let none = self.detached.none.notified();
            if self.detached.count.load(Ordering::Acquire) == 0 {
                break;
            }
            none.await;
        }
        self.backend.shut_down().await;
    }
}

/// Returns the addresses that a request came through, as far as they are known: those that proxies name, and the peer's.
fn source_ips(facts: &RequestFacts<'_>) -> Vec<String> {
    let forwarded = facts.forwarded_for.split(',').map(str::trim).filter_map(parse_ip_sloppy);
    let mut all: Vec<IpAddr> = forwarded.map(|ip| ip.to_canonical()).collect();
    if let Some(real) = parse_ip_sloppy(facts.real_ip).map(|ip| ip.to_canonical())
        && !all.contains(&real)
    {
        all.push(real);
    }
    let peer = facts.peer.to_canonical();
    if all.last() != Some(&peer) {
        all.push(peer);
    }
    all.iter().map(IpAddr::to_string).collect()
}

fn shortened(user_agent: &str) -> String {
    match user_agent.as_bytes().get(..LONGEST_USER_AGENT) {
        Some(start) if user_agent.len() > LONGEST_USER_AGENT => {
            format!("{}...TRUNCATED", String::from_utf8_lossy(start))
        }
        _ => user_agent.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn source_addresses_come_from_proxies_and_the_connection() {
        let check = |forwarded_for, real_ip, peer: &str, expect: &[&str]| {
            let facts = RequestFacts {
                audit_id: "",
                uri: "",
                user: None,
                user_agent: "".into(),
                forwarded_for,
                real_ip,
                peer: peer.parse().unwrap(),
                received: SystemTime::UNIX_EPOCH,
                version: "",
            };
            assert_eq!(source_ips(&facts), expect);
        };
        check("", "", "127.0.0.1", &["127.0.0.1"]);
        check("1.2.3.4, x, 5.6.7.8", "", "127.0.0.1", &["1.2.3.4", "5.6.7.8", "127.0.0.1"]);
        check("1.2.3.4", "1.2.3.4", "9.9.9.9", &["1.2.3.4", "9.9.9.9"]);
        check("1.2.3.4", "fd00::1", "::ffff:9.9.9.9", &["1.2.3.4", "fd00::1", "9.9.9.9"]);
        check("9.9.9.9", "", "9.9.9.9", &["9.9.9.9"]);
        check("nope", "also nope", "::1", &["::1"]);
    }

    #[test]
    fn huge_user_agents_are_cut() {
        assert_eq!(shortened(&"x".repeat(1024)), "x".repeat(1024));
        assert_eq!(shortened(&"x".repeat(1 << 20)), format!("{}...TRUNCATED", "x".repeat(1024)));
        let cut = shortened(&format!("{}ü", "x".repeat(1023)));
        assert_eq!(cut, format!("{}\u{fffd}...TRUNCATED", "x".repeat(1023)));
    }
}
