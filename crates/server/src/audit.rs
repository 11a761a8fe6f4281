//! The facts of a request that its audit records: who sent it and from where, the object that was sent, and the answer.

use std::sync::Arc;

use bytes::Bytes;
use http::HeaderName;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use http_body_util::BodyExt;
use pintle_admission::{AuditLevel, Notes};
use pintle_audit::policy::Attributes;
use pintle_audit::{AuditContext, Auditor, Level, RequestFacts, Stage, json_of};
use pintle_codec::negotiate::{self, Encoding};
use pintle_codec::{cbor, json, kind};
use pintle_meta::{Status, Value};
use pintle_registry::Served;

use crate::request::text_of;
use crate::{Body, Request, Response};

static FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
static REAL_IP: HeaderName = HeaderName::from_static("x-real-ip");
/// The cost of an answer that is put together whole for its event.
const WHOLE: usize = 1 << 20;

/// The `Status` of an answer that is no failure.
#[derive(Clone)]
pub(crate) struct SuccessStatus(pub(crate) Arc<Status>);

/// Begins the audit of a request; `None` if the policy leaves it out.
pub(crate) fn begin(auditor: &Arc<Auditor>, request: &Request) -> Option<Arc<AuditContext>> {
    let info = &request.info;
    let attributes = Attributes {
        user: request.user.as_deref(),
        verb: &info.verb,
        is_resource: info.is_resource,
        path: &info.path,
        group: &info.group,
        resource: &info.resource,
        subresource: &info.subresource,
        namespace: &info.namespace,
        name: &info.name,
    };
    let header = |name: &'static HeaderName| request.header(name).unwrap_or_default();
    auditor.begin(&attributes, || RequestFacts {
        audit_id: &request.audit_id,
        uri: request.parts.uri.path_and_query().map_or("", |target| target.as_str()),
        user: request.user.as_ref(),
        user_agent: request.user_agent(),
        forwarded_for: header(&FORWARDED_FOR),
        real_ip: header(&REAL_IP),
        peer: request.connection.remote.ip(),
        received: auditor.time_before(request.received.elapsed()),
        version: &info.version,
    })
}

/// Records the refusal of a request that does not get as far as the audit's own filter.
pub(crate) fn refused(
    auditor: Option<&Arc<Auditor>>,
    request: &Request,
    response: &Response,
    annotations: &[(String, String)],
) -> impl Future<Output = ()> + Send + use<> {
    let audit = auditor.and_then(|auditor| begin(auditor, request));
    if let Some(audit) = &audit {
        annotations.iter().for_each(|(key, value)| audit.annotate(key, value));
        Outcome::of(response, accept(request).as_ref(), negotiate::ENCODINGS).tell(audit);
    }
    async move {
        if let Some(audit) = audit {
            audit.process(Stage::ResponseStarted).await;
        }
    }
}

pub(crate) fn accept(request: &Request) -> Option<HeaderValue> {
    request.parts.headers.get(ACCEPT).cloned()
}

/// The outcome of a request, as its event shows it.
pub(crate) struct Outcome {
    code: u16,
    status: Option<Arc<Status>>,
    is_object: bool,
}

impl Outcome {
    /// Reads the outcome of an answer. `accept` is the request's header: a status that cannot be sent as the client wants it is
    /// not shown in the reference's events either.
    pub(crate) fn of(response: &Response, accept: Option<&HeaderValue>, encodings: &[Encoding]) -> Outcome {
        let failure = response.extensions().get::<Status>();
        let acceptable = || {
            let accept = accept.map(text_of).unwrap_or_default();
            negotiate::output(&accept, encodings, negotiate::Accepted::is_plain).is_some()
        };
        let status = match failure {
            Some(status) => acceptable().then(|| Arc::new(status.clone())),
            None => response.extensions().get::<SuccessStatus>().map(|SuccessStatus(status)| status.clone()),
        };
        Outcome { code: response.status().as_u16(), status, is_object: failure.is_some() }
    }

    pub(crate) fn tell(self, audit: &AuditContext) {
        if let Some(status) = self.status.as_ref().filter(|_| self.is_object && audit.wants_response()) {
            audit.response_object(Bytes::from(status.to_json()).slice(..).trimmed());
        }
        audit.responded(self.code, self.status);
    }
}

trait Trimmed {
    /// Returns JSON without the line's end.
    fn trimmed(self) -> Bytes;
}

impl Trimmed for Bytes {
    fn trimmed(self) -> Bytes {
        let length = self.trim_ascii_end().len();
        self.slice(..length)
    }
}

/// Has the events of a request show the annotations of its admission.
pub(crate) fn annotate_from(audit: &AuditContext, notes: &Notes) {
    let notes = notes.clone();
    audit.annotate_from(Box::new(move |level| {
        notes.annotations(if level >= Level::Request { AuditLevel::Request } else { AuditLevel::Metadata })
    }));
}

/// Records the object of a create or update, in the request's version.
pub(crate) fn record_object(audit: &AuditContext, served: &dyn Served, object: &Value) {
    let text = |field| object.text_at(&["metadata", field]);
    audit.refers_to(text("namespace"), text("name"), text("uid"), text("resourceVersion"));
    if !audit.wants_request() {
        return;
    }
    match served.to_served(object.clone()) {
        Ok(object) => audit.request_object(encoded(&object)),
        Err(status) => tracing::error!(error = %status.message, "Encoding failed of request object"),
    }
}

/// Records the options of a deletion.
pub(crate) fn record_options(audit: &AuditContext, options: &Value) {
    if !audit.wants_request() {
        return;
    }
    let mut options = options.clone();
    if let Some(fields) = options.as_object_mut() {
        fields.insert("apiVersion", "meta.k8s.io/__internal");
    }
    audit.request_object(encoded(&options));
}

/// Records a patch.
pub(crate) fn record_patch(audit: &AuditContext, patch: &[u8], is_cbor: bool) {
    if !audit.wants_request() {
        return;
    }
    audit.request_patch(match is_cbor.then(|| cbor::decode_untyped(patch)) {
        Some(Ok(decoded)) => encoded(&decoded.value),
        _ => json_of(patch),
    });
}

fn encoded(object: &Value) -> Bytes {
    let mut out = Vec::new();
    json::encode(object, &mut out);
    out.into()
}

/// Records the object of an answer, which is then sent whole.
pub(crate) async fn record_answer(audit: &AuditContext, response: Response) -> Response {
    if response.body().is_stream() {
        pintle_work::aside(WHOLE).await;
    }
    let (head, body) = response.into_parts();
    let body = match body.collect().await {
        Ok(collected) => collected.to_bytes(),
        Err(error) => {
            let broken = futures_util::stream::once(std::future::ready(Err(error)));
            return Response::from_parts(head, Body::stream(broken));
        }
    };
    pintle_work::aside(body.len()).await;
    let content_type = head.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = content_type.unwrap_or_default().split(';').next().unwrap_or_default();
    let encoding = negotiate::input(essence, negotiate::ENCODINGS_WITH_CBOR);
    let shown = pintle_work::run(|| answer_json(encoding, &body)).await;
    match shown {
        Some(shown) => audit.response_object(shown),
        None => tracing::error!(content_type, "Encoding failed of response object"),
    }
    Response::from_parts(head, Body::from(body))
}

/// Returns an answer as compact JSON.
fn answer_json(encoding: Option<Encoding>, body: &Bytes) -> Option<Bytes> {
    match encoding? {
        // Indented for people.
        Encoding::Json if body.starts_with(b"{\n") => Some(json_of(body)),
        Encoding::Json => Some(body.clone().trimmed()),
        Encoding::Yaml => Some(json_of(body)),
        encoding => {
            let typed = kind::decode(encoding, body, None).map(|typed| typed.decoded);
            let decoded =
                typed.or_else(|_| kind::decode_untyped(encoding, body).map(|untyped| untyped.decoded));
            decoded.ok().map(|decoded| encoded(&decoded.value))
        }
    }
}
