//! Records requests, as the policy wants them: when they arrive, when a long-running one begins to be answered, and when they are
//! done, or panic.
//!
//! An answer that is there whole is recorded before it is sent, others when the last of them is sent or the client has gone.

use std::any::Any;
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::FutureExt;
use pintle_audit::{AuditContext, Auditor, Layer, Stage};
use pintle_codec::negotiate::Encoding;
use pintle_meta::Status;
use tokio::time::Instant;

use crate::audit::{self, Outcome};
use crate::body::panic_message;
use crate::filter::{Filter, Next};
use crate::request::Connection;
use crate::{Request, Response, respond};

pub struct Audit {
    pub auditor: Arc<Auditor>,
    /// The encodings that clients may ask for.
    pub encodings: &'static [Encoding],
}

#[async_trait]
impl Filter for Audit {
    async fn handle(&self, mut request: Box<Request>, next: Next<'_>) -> Response {
        let Some(context) = audit::begin(&self.auditor, &request) else { return next.run(request).await };
        if let Some(notes) = request.identity_notes.take() {
            notes.annotations.iter().for_each(|(key, value)| context.annotate(key, value));
        }
        context.took(Layer::Authentication, request.authentication_took);
        if !context.process(Stage::RequestReceived).await {
            self.auditor.metrics().rejected();
            return respond::internal_error(&request.parts.uri, &"failed to store audit event");
        }
        let (connection, accept) = (request.connection.clone(), audit::accept(&request));
        let is_long_running = request.info.is_long_running();
        let unfinished =
            Unfinished { context: Some(context.clone()), deadline: request.deadline, is_long_running };
        request.audit = Some(context.clone());
        let handled = AssertUnwindSafe(next.run(request)).catch_unwind().await;
        unfinished.done();
        let response = match handled {
            Ok(response) => response,
            Err(panic) => {
                panicked(&context, &*panic);
                context.process(Stage::Panic).await;
                resume_unwind(panic);
            }
        };
        Outcome::of(&response, accept.as_ref(), self.encodings).tell(&context);
        if is_long_running {
            context.process(Stage::ResponseStarted).await;
        }
        complete(context, &connection, response).await
    }
}

/// Records the end of a request, now or when it comes.
async fn complete(context: Arc<AuditContext>, connection: &Connection, response: Response) -> Response {
    if let Some(upgraded) = connection.take_upgraded() {
        let end = Complete(context);
        connection.continue_with(Box::pin(async move {
            upgraded.await;
            drop(end);
        }));
        return response;
    }
    if response.body().is_stream() {
        let end = Complete(context);
        return response.map(|body| body.at_end(move |_| drop(end)));
    }
    context.process(Stage::ResponseComplete).await;
    response
}

/// Records the end of a request when it is dropped.
struct Complete(Arc<AuditContext>);

impl Drop for Complete {
    fn drop(&mut self) {
        self.0.process_detached(Stage::ResponseComplete);
    }
}

fn panicked(context: &AuditContext, panic: &(dyn Any + Send)) {
    let mut status = Status::internal("");
    status.message = format!("APIServer panic'd: {}", panic_message(panic));
    status.details = None;
    context.responded(500, Some(Arc::new(status)));
}

/// A request that is handled. If it is dropped before it is done, its deadline has passed or its client has gone.
struct Unfinished {
    context: Option<Arc<AuditContext>>,
    deadline: Option<Instant>,
    is_long_running: bool,
}

impl Unfinished {
    fn done(mut self) {
        self.context = None;
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        let Some(context) = self.context.take() else { return };
        if self.is_long_running {
            // As the reference records an answer that never began.
            let mut status = Status::success(Default::default());
            (status.message, status.details) = ("Connection closed early".into(), None);
            context.responded(200, Some(Arc::new(status)));
            context.process_detached(Stage::ResponseStarted);
        } else {
            let is_late = self.deadline.is_some_and(|deadline| deadline <= Instant::now());
            let why = if is_late { "deadline exceeded" } else { "canceled" };
            let why = format!("request did not complete within requested timeout - context {why}");
            context.responded(504, Some(Arc::new(Status::timeout(&why))));
        }
        context.process_detached(Stage::ResponseComplete);
    }
}
