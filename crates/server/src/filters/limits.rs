//! Bounds on requests that are worked on at once, reading and writing ones apart, long-running ones not counted, and on the
//! memory of their bodies.
//!
//! Slots are divided among users (`overload::FairShares`), so that a user that takes all it can get leaves room for others; all
//! anonymous clients are one user. A slot is given back while its request waits for its client or for a revision. Members of
//! system:masters need none, since they repair an overloaded server, nor do probes, which kubelets send without
//! credentials.
//!
//! This is the filter of a server without priority and fairness ([`crate::filters::PriorityAndFairness`]).

use std::sync::Arc;

use async_trait::async_trait;
use http::StatusCode;
use pintle_auth::{PRIVILEGED_GROUP, User};
use pintle_runtime::Stopwatch;

use crate::filter::{Filter, Next};
use crate::metrics::{MeasuredFilter, Metrics, RequestTarget};
use crate::overload::{BodyMemory, Slot, Slots, too_many_requests};
use crate::{Request, Response};

/// Exempt with everything below them, for everybody.
const PROBES: [&str; 3] = ["/healthz", "/livez", "/readyz"];

pub struct Limits {
    /// Slots of requests that change nothing; `None` for no limit.
    read_only: Option<Arc<Slots>>,
    mutating: Option<Arc<Slots>>,
    bodies: Arc<BodyMemory>,
    metrics: Metrics,
}

impl Limits {
    /// Makes the limits; zero is no limit.
    pub fn new(read_only: usize, mutating: usize, metrics: Metrics) -> Limits {
        let slots =
            |most: usize, mutating| (most > 0).then(|| Arc::new(Slots::new(most, mutating, metrics.clone())));
        let (read_only, mutating) = (slots(read_only, false), slots(mutating, true));
        Limits { read_only, mutating, bodies: Arc::default(), metrics }
    }
}

pub(super) fn is_probe(path: &str) -> bool {
    PROBES
        .iter()
        .any(|probe| path.strip_prefix(probe).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
}

/// Takes a slot now or in a moment: a burst of one user is worked off rather than refused.
async fn take_slot(slots: &Arc<Slots>, user: &Arc<User>) -> Option<Slot> {
    match Slot::take(slots, user.clone()) {
        Some(slot) => Some(slot),
        None => Slot::wait(slots, user.clone()).await,
    }
}

#[async_trait]
impl Filter for Limits {
    async fn handle(&self, mut request: Box<Request>, next: Next<'_>) -> Response {
        let start = Stopwatch::start();
        let user = request.user.clone().unwrap_or_default();
        let info = &request.info;
        let is_exempt = user.is_in(PRIVILEGED_GROUP) || is_probe(&info.path);
        let changes = !matches!(info.verb.as_str(), "get" | "list" | "watch");
        let slots = if changes { &self.mutating } else { &self.read_only };
        let slot = match slots.as_ref().filter(|_| !info.is_long_running()) {
            None => None,
            Some(slots) if is_exempt => Some(Slot::exempt(slots, user.clone())),
            Some(slots) => match take_slot(slots, &user).await {
                Some(slot) => Some(slot),
                None => {
                    let target = RequestTarget::new(&request);
                    self.metrics.dropped(&target);
                    self.metrics.terminated(&target, StatusCode::TOO_MANY_REQUESTS.as_u16());
                    return too_many_requests();
                }
            },
        };
        request.reserved = Some(self.bodies.account(user, is_exempt));
        request.slot.clone_from(&slot);
        self.metrics.filtered(MeasuredFilter::Limits, start.elapsed());
        let response = next.run(request).await;
        match (response.body().is_stream(), slot) {
            // It takes work until the last of it is sent.
            (true, Some(slot)) => response.map(|body| body.holding(slot)),
            _ => response,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probes_and_what_is_below_them_are_exempt() {
        for path in ["/livez", "/livez/ping", "/readyz/", "/healthz/etcd"] {
            assert!(is_probe(path), "{path}");
        }
        for path in ["/livezz", "/metrics", "/api/v1/livez", "/", ""] {
            assert!(!is_probe(path), "{path}");
        }
    }
}
