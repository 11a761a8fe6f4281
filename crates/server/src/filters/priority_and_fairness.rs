//! Priority and fairness: seats of the request's priority level, a place in one of its queues, or 429.
//!
//! `pintle_flow_control` decides. This filter tells it what the request is, waits with it, and holds its seats: until the answer is
//! sent, or a watch has sent its initial events. Long-running requests other than watches take none. Probes are never refused
//! whatever flow schemas say, since kubelets send them without credentials and restart what does not answer; requests of
//! system:masters are matched by the flow schema `exempt`, whose spec nobody can change.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use http::header::RETRY_AFTER;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri};
use pintle_audit::Layer;
use pintle_auth::{PRIVILEGED_GROUP, User};
use pintle_flow_control::{
    Classification, Describe, Digest, FlowControl, ListOptions, RequestDetails, WatchRegistration,
};
use pintle_meta::selector::field;
use pintle_runtime::Stopwatch;
use tokio::time::Instant;

use super::limits::is_probe;
use crate::filter::{Filter, Next};
use crate::metrics::{MeasuredFilter, Metrics, RequestTarget};
use crate::overload::{BodyMemory, PausedRequests, Slot, too_many_requests};
use crate::query;
use crate::request_info::RequestInfo;
use crate::{Request, Response};

const FLOW_SCHEMA_UID: HeaderName = HeaderName::from_static("x-kubernetes-pf-flowschema-uid");
const PRIORITY_LEVEL_UID: HeaderName = HeaderName::from_static("x-kubernetes-pf-prioritylevel-uid");

/// The longest time that a request waits in a queue, and the part of its own time that it may.
const LONGEST_WAIT: Duration = Duration::from_secs(60);
const PART_OF_TIME: u32 = 4;

/// Flow control and the objects that it is configured by.
#[derive(Clone)]
pub struct FlowControlConfig {
    pub control: Arc<FlowControl>,
    /// Puts changed objects into effect. Called for each request.
    pub refresh: Arc<dyn Fn() + Send + Sync>,
    /// Seats of the server.
    pub seats: usize,
}

pub struct PriorityAndFairness {
    config: FlowControlConfig,
    paused: Arc<PausedRequests>,
    bodies: Arc<BodyMemory>,
    /// How long requests without a deadline may wait.
    wait_limit: Duration,
    metrics: Metrics,
}

/// A request for dumps, which parse it again.
struct Description {
    method: Method,
    uri: Uri,
    user: Arc<User>,
}

impl PriorityAndFairness {
    pub(crate) fn new(
        config: FlowControlConfig,
        request_timeout: Duration,
        metrics: Metrics,
    ) -> PriorityAndFairness {
        PriorityAndFairness {
            paused: Arc::new(PausedRequests::of_seats(config.seats)),
            config,
            bodies: Arc::default(),
            wait_limit: request_timeout / PART_OF_TIME,
            metrics,
        }
    }

    /// Returns how much longer a request may wait: a part of the time from its arrival to its deadline.
    fn wait_limit(&self, request: &Request) -> Duration {
        let received = request.received;
        let limit = match request.deadline {
            Some(deadline) => deadline.saturating_duration_since(received) / PART_OF_TIME,
            None => self.wait_limit,
        };
        (received + limit.min(LONGEST_WAIT)).saturating_duration_since(Instant::now())
    }

    /// Answers a request that is refused.
    fn refuse(&self, request: &Request, classification: &Classification) -> Response {
        let target = RequestTarget::new(request);
        self.metrics.dropped(&target);
        self.metrics.terminated(&target, StatusCode::TOO_MANY_REQUESTS.as_u16());
        let mut response = too_many_requests();
        response.headers_mut().insert(RETRY_AFTER, self.config.control.dropped(classification).into());
        set_headers(response.headers_mut(), classification);
        response
    }

    /// Counts a watch.
    fn register(&self, digest: &Digest<'_>, info: &RequestInfo) -> WatchRegistration {
        let selector = info.field_selector.as_deref().filter(|_| digest.resource == "pods");
        let selector = selector.and_then(|selector| field::Selector::parse(selector).ok());
        let node = selector.as_ref().and_then(|selector| selector.requires_exact_match("spec.nodeName"));
        self.config.control.register_watch(digest, node)
    }
}

#[async_trait]
impl Filter for PriorityAndFairness {
    async fn handle(&self, mut request: Box<Request>, next: Next<'_>) -> Response {
        let start = Stopwatch::start();
        let user = request.user.clone().unwrap_or_default();
        let is_probe = is_probe(&request.info.path);
        let is_privileged = is_probe || user.is_in(PRIVILEGED_GROUP);
        request.reserved = Some(self.bodies.account(user.clone(), is_privileged));
        let is_watch = request.info.verb == "watch";
        if request.info.is_long_running() && !is_watch {
            return next.run(request).await;
        }
        (self.config.refresh)();
        let digest = digest(&user, &request.info);
        let description = Box::new(Description {
            method: request.parts.method.clone(),
            uri: request.parts.uri.clone(),
            user: user.clone(),
        });
        let query = request.parts.uri.query().unwrap_or_default();
        let given = ListQuery::read(query, is_watch || digest.verb == "list");
        let options = || given.as_ref().map(ListQuery::options);
        let Some(admission) = self.config.control.admit(&digest, options, description) else {
            return too_many_requests();
        };
        let classification = admission.classification;
        let ticket = match admission.ticket {
            Ok(ticket) if ticket.is_waiting() => {
                let waiting = Stopwatch::start();
                let is_let_in = !is_probe && ticket.wait(self.wait_limit(&request)).await;
                if let Some(audit) = &request.audit {
                    audit.took(Layer::QueueWait, waiting.elapsed());
                }
                is_let_in.then_some(ticket)
            }
            admitted => admitted.ok(),
        };
        let is_exempt = classification.is_exempt() || is_probe;
        let slot = match ticket {
            Some(ticket) => Some(Slot::of_seats(ticket, &self.paused, user.clone(), is_exempt)),
            None if is_probe => None,
            None => return self.refuse(&request, &classification),
        };
        let registration = is_watch.then(|| Arc::new(self.register(&digest, &request.info)));
        request.slot.clone_from(&slot);
        request.watch.clone_from(&registration);
        // A watch gives its seats back by itself, as soon as it has sent its initial events.
        let slot = slot.filter(|_| !is_watch);
        self.metrics.filtered(MeasuredFilter::Limits, start.elapsed());
        let mut response = next.run(request).await;
        set_headers(response.headers_mut(), &classification);
        if response.body().is_stream() {
            // It takes work until the last of it is sent.
            return response.map(|body| body.holding((slot, registration)));
        }
        response
    }
}

fn set_headers(headers: &mut HeaderMap, classification: &Classification) {
    let uids =
        [(FLOW_SCHEMA_UID, classification.schema_uid()), (PRIORITY_LEVEL_UID, classification.level_uid())];
    for (name, uid) in uids {
        if let Ok(uid) = HeaderValue::from_str(uid) {
            headers.insert(name, uid);
        }
    }
}

fn digest<'a>(user: &'a User, info: &'a RequestInfo) -> Digest<'a> {
    Digest {
        user,
        verb: &info.verb,
        is_resource: info.is_resource,
        group: &info.group,
        resource: &info.resource,
        subresource: &info.subresource,
        namespace: &info.namespace,
        name: &info.name,
        path: &info.path,
    }
}

impl Describe for Description {
    fn details(&self) -> RequestDetails {
        let info = RequestInfo::parse(&self.method, &self.uri).unwrap_or_default();
        RequestDetails {
            user: self.user.name.clone(),
            verb: info.verb,
            path: info.path,
            namespace: info.namespace,
            name: info.name,
            group: info.group,
            version: info.version,
            resource: info.resource,
            subresource: info.subresource,
        }
    }
}

/// The parameters of a LIST or watch that decide what it costs.
#[derive(Default)]
struct ListQuery {
    resource_version: String,
    resource_version_match: String,
    limit: i64,
    is_continued: bool,
    has_selector: bool,
    send_initial_events: Option<bool>,
}

impl ListQuery {
    /// Reads a query, if the request is one to read it of. None: a parameter is not what it should be.
    fn read(query: &str, is_read: bool) -> Option<ListQuery> {
        let mut read = ListQuery::default();
        if query.is_empty() || !is_read {
            return Some(read);
        }
        let is_number = |value: &str| value.is_empty() || value.parse::<i64>().is_ok();
        // The first value of each holds.
        let mut pairs: Vec<_> = query::pairs(query).collect();
        pairs.reverse();
        for (name, value) in pairs {
            match &*name {
                "resourceVersion" => read.resource_version = value.into_owned(),
                "resourceVersionMatch" => read.resource_version_match = value.into_owned(),
                "limit" | "timeoutSeconds" if !is_number(&value) => return None,
                "limit" => read.limit = value.parse().unwrap_or_default(),
                "continue" => read.is_continued = !value.is_empty(),
                "fieldSelector" | "labelSelector" => read.has_selector |= !value.is_empty(),
                "sendInitialEvents" => {
                    let is_no = matches!(value.to_ascii_lowercase().as_str(), "false" | "0");
                    read.send_initial_events = Some(!is_no);
                }
                _ => {}
            }
        }
        Some(read)
    }

    fn options(&self) -> ListOptions<'_> {
        ListOptions {
            resource_version: &self.resource_version,
            resource_version_match: &self.resource_version_match,
            limit: self.limit,
            is_continued: self.is_continued,
            has_selector: self.has_selector,
            send_initial_events: self.send_initial_events,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_of_lists_are_read() {
        let query = "resourceVersion=5&limit=7&limit=9&continue=&labelSelector=a%3Db&sendInitialEvents=true";
        let read = ListQuery::read(query, true).unwrap();
        assert_eq!((read.resource_version.as_str(), read.limit), ("5", 7));
        assert_eq!(
            (read.is_continued, read.has_selector, read.send_initial_events),
            (false, true, Some(true))
        );
        assert!(ListQuery::read("limit=many", true).is_none());
        assert!(ListQuery::read("limit=many", false).is_some(), "of another request");
    }

    #[test]
    fn dumps_show_what_was_asked_for() {
        let description = Description {
            method: Method::GET,
            uri: Uri::from_static("/apis/apps/v1/namespaces/a/deployments/b/scale?x=y"),
            user: Arc::new(User { name: "me".into(), ..User::default() }),
        };
        let details = description.details();
        assert_eq!((details.user.as_str(), details.verb.as_str()), ("me", "get"));
        assert_eq!((details.group.as_str(), details.version.as_str()), ("apps", "v1"));
        assert_eq!((details.namespace.as_str(), details.name.as_str()), ("a", "b"));
        assert_eq!((details.resource.as_str(), details.subresource.as_str()), ("deployments", "scale"));
    }
}
