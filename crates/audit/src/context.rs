//! The audit of one request: what is known of it so far.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use pintle_auth::User;
use pintle_meta::Status;

use crate::auditor::Auditor;
use crate::event::{
    Event, Level, ObjectReference, RequestPart, ResponseStatus, Stage, without_managed_fields,
};
use crate::latency::{Latencies, Layer};
use crate::policy::{Decision, Stages};

/// Annotations that others collect while a request is handled, asked for when an event is made.
pub type AnnotationSource = Box<dyn Fn(Level) -> BTreeMap<String, String> + Send + Sync>;

/// A request that is recorded, carried by it through the server. Requests that the policy leaves out have none.
pub struct AuditContext {
    request: Arc<RequestPart>,
    omitted: Stages,
    omits_managed_fields: bool,
    auditor: Arc<Auditor>,
    received: SystemTime,
    latencies: Latencies,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    impersonated_user: Option<Arc<User>>,
    impersonation_constraint: &'static str,
    object: Option<Arc<ObjectReference>>,
    response_status: Option<ResponseStatus>,
    request_object: Option<Bytes>,
    response_object: Option<Bytes>,
    annotations: BTreeMap<String, String>,
    sources: Vec<AnnotationSource>,
}

impl fmt::Debug for AuditContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuditContext").field("request", &self.request).finish_non_exhaustive()
    }
}

impl AuditContext {
    pub(crate) fn new(
        auditor: Arc<Auditor>,
        decision: Decision,
        received: SystemTime,
        request: RequestPart,
        object: Option<ObjectReference>,
    ) -> AuditContext {
        AuditContext {
            request: Arc::new(request),
            omitted: decision.omitted,
            omits_managed_fields: decision.omits_managed_fields,
            auditor,
            received,
            latencies: Latencies::default(),
            state: Mutex::new(State { object: object.map(Arc::new), ..State::default() }),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn level(&self) -> Level {
        self.request.level
    }

    /// Returns whether the object of the request is recorded.
    pub fn wants_request(&self) -> bool {
        self.level() >= Level::Request
    }

    /// Returns whether the answer is recorded.
    pub fn wants_response(&self) -> bool {
        self.level() >= Level::RequestResponse
    }

    /// Returns whether objects are recorded without their managed fields.
    pub fn omits_managed_fields(&self) -> bool {
        self.omits_managed_fields
    }

    /// Adds an annotation. Of several values for a key, the first one stays.
    pub fn annotate(&self, key: &str, value: &str) {
        insert(&mut self.state().annotations, &self.request, key, value);
    }

    /// Adds annotations that are collected elsewhere. They come after those that were added here.
    pub fn annotate_from(&self, source: AnnotationSource) {
        self.state().sources.push(source);
    }

    /// Notes the time that the request spent in a part of the server.
    pub fn took(&self, layer: Layer, time: Duration) {
        self.latencies.add(layer, time);
    }

    /// Notes the user as which the request is handled. `constraint` is the verb that allowed it, empty for the older one.
    pub fn impersonates(&self, user: Arc<User>, constraint: &'static str) {
        let mut state = self.state();
        state.impersonated_user = Some(user);
        state.impersonation_constraint = constraint;
    }

    /// Completes the reference to the object by what the sent object says of itself, as far as the path says less.
    pub fn refers_to(&self, namespace: &str, name: &str, uid: &str, resource_version: &str) {
        let mut state = self.state();
        let object = Arc::make_mut(state.object.get_or_insert_default());
        let fields = [
            (&mut object.namespace, namespace),
            (&mut object.name, name),
            (&mut object.uid, uid),
            (&mut object.resource_version, resource_version),
        ];
        for (field, value) in fields {
            if field.is_empty() {
                field.push_str(value);
            }
        }
    }

    /// Records the object that was sent, as compact JSON.
    pub fn request_object(&self, json: Bytes) {
        let json = if self.omits_managed_fields { without_managed_fields(&json) } else { json };
        self.state().request_object = Some(json);
    }

    /// Records a patch as it was sent, as compact JSON.
    pub fn request_patch(&self, json: Bytes) {
        self.state().request_object = Some(json);
    }

    /// Records the answer, as compact JSON.
    pub fn response_object(&self, json: Bytes) {
        let json = if self.omits_managed_fields { without_managed_fields(&json) } else { json };
        self.state().response_object = Some(json);
    }

    /// Notes the outcome. An answer that is no `Status` has only its code.
    pub fn responded(&self, code: u16, status: Option<Arc<Status>>) {
        self.state().response_status = Some(ResponseStatus { code, status });
    }

    pub fn has_responded(&self) -> bool {
        self.state().response_status.is_some()
    }

    /// Records a stage. Returns false if it must be recorded and could not be.
    pub async fn process(&self, stage: Stage) -> bool {
        match self.event(stage) {
            Some(event) => self.auditor.process(event).await,
            None => true,
        }
    }

    /// Records a stage where nothing can wait for it.
    pub fn process_detached(&self, stage: Stage) {
        if let Some(event) = self.event(stage) {
            self.auditor.process_detached(event);
        }
    }

    /// Makes the event of a stage, unless the policy omits it.
    fn event(&self, stage: Stage) -> Option<Event> {
        if self.omitted.contains(stage) {
            return None;
        }
        let now = self.auditor.now();
        let mut state = self.state();
        let mut annotations = state.annotations.clone();
        for source in &state.sources {
            for (key, value) in source(self.level()) {
                insert(&mut annotations, &self.request, &key, &value);
            }
        }
        if stage == Stage::ResponseComplete {
            let total = now.duration_since(self.received).unwrap_or_default();
            for (key, value) in self.latencies.annotations(total) {
                insert(&mut annotations, &self.request, &key, &value);
            }
        }
        let (request_object, response_object) = match stage {
            // The last event may have them.
            Stage::ResponseComplete | Stage::Panic => {
                (state.request_object.take(), state.response_object.take())
            }
            _ => (state.request_object.clone(), state.response_object.clone()),
        };
        Some(Event {
            request: self.request.clone(),
            stage,
            stage_time: if stage == Stage::RequestReceived { self.request.received } else { now.into() },
            impersonated_user: state.impersonated_user.clone(),
            impersonation_constraint: state.impersonation_constraint,
            object: state.object.clone(),
            response_status: state.response_status.clone(),
            request_object,
            response_object,
            annotations,
            json: OnceLock::new(),
        })
    }
}

fn insert(annotations: &mut BTreeMap<String, String>, request: &RequestPart, key: &str, value: &str) {
    match annotations.get(key) {
        None => {
            annotations.insert(key.to_owned(), value.to_owned());
        }
        Some(known) if known == value => {}
        Some(known) => tracing::warn!(
            "Failed to set annotations[{}] to {} for audit:{}, it has already been set to {}",
            pintle_meta::quote(key),
            pintle_meta::quote(value),
            pintle_meta::quote(&request.audit_id),
            pintle_meta::quote(known)
        ),
    }
}
