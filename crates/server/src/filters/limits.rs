//! So many requests at once and no more: reading and writing ones apart, long-running ones not counted. Whoever comes when
//! there is no room is told to come back, unless they may do everything anyway: they are who repairs a server that has no
//! room.
//!
//! It stands where priority and fairness will.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use async_trait::async_trait;
use http::StatusCode;
use http::header::RETRY_AFTER;
use pintle_auth::PRIVILEGED_GROUP;

use crate::filter::{Filter, Next};
use crate::metrics::{Asked, Filtered, Metrics};
use crate::{Request, Response, respond};

pub struct Limits {
    /// For requests that change nothing; `None` for no limit.
    read_only: Option<Arc<Room>>,
    mutating: Option<Arc<Room>>,
    metrics: Metrics,
}

impl Limits {
    /// Zero is no limit.
    pub fn new(read_only: usize, mutating: usize, metrics: Metrics) -> Limits {
        let room = |most: usize, mutating| {
            let metrics = metrics.clone();
            (most > 0).then(|| Arc::new(Room { most, taken: AtomicUsize::new(0), mutating, metrics }))
        };
        Limits { read_only: room(read_only, false), mutating: room(mutating, true), metrics }
    }
}

struct Room {
    most: usize,
    taken: AtomicUsize,
    /// What it is for, for those who look at how full it is.
    mutating: bool,
    metrics: Metrics,
}

impl Room {
    fn enter(self: &Arc<Room>, now: Instant) -> Option<Place> {
        let enter = |taken: usize| (taken < self.most).then_some(taken + 1);
        let before = self.taken.fetch_update(Ordering::AcqRel, Ordering::Acquire, enter).ok()?;
        self.metrics.working_on(self.mutating, before + 1, now);
        Some(Place(self.clone()))
    }
}

/// Free again when it is dropped.
struct Place(Arc<Room>);

impl Drop for Place {
    fn drop(&mut self) {
        let before = self.0.taken.fetch_sub(1, Ordering::AcqRel);
        self.0.metrics.working_on(self.0.mutating, before - 1, Instant::now());
    }
}

#[async_trait]
impl Filter for Limits {
    async fn handle(&self, request: Box<Request>, next: Next<'_>) -> Response {
        let start = Instant::now();
        let info = &request.info;
        let changes = !matches!(info.verb.as_str(), "get" | "list" | "watch");
        let room = if changes { &self.mutating } else { &self.read_only };
        let Some(room) = room.as_ref().filter(|_| !info.is_long_running()) else {
            self.metrics.filtered(Filtered::Limits, start.elapsed());
            return next.run(request).await;
        };
        let place = room.enter(start);
        let may_do_everything = || request.user.as_ref().is_some_and(|user| user.is_in(PRIVILEGED_GROUP));
        if place.is_none() && !may_do_everything() {
            let asked = Asked::of(&request);
            self.metrics.dropped(&asked);
            self.metrics.terminated(&asked, StatusCode::TOO_MANY_REQUESTS.as_u16());
            let why = "Too many requests, please try again later.";
            let mut response = respond::text_error(StatusCode::TOO_MANY_REQUESTS, why);
            response.headers_mut().insert(RETRY_AFTER, 1.into());
            return response;
        }
        self.metrics.filtered(Filtered::Limits, start.elapsed());
        let response = next.run(request).await;
        match (response.body().is_stream(), place) {
            // It takes work until the last of it is sent.
            (true, Some(place)) => response.map(|body| body.holding(place)),
            _ => response,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_room_takes_so_many_and_no_more() {
        let metrics = Metrics::new(&crate::MetricsOptions::default()).unwrap();
        let room = Limits::new(2, 0, metrics).read_only.unwrap();
        let enter = || room.enter(Instant::now());
        let (first, second) = (enter(), enter());
        assert!(first.is_some() && second.is_some());
        assert!(enter().is_none());
        drop(first);
        assert!(enter().is_some(), "and is free again");
        assert_eq!(room.taken.load(Ordering::Acquire), 1);
    }
}
