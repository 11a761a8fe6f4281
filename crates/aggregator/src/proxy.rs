//! The first delegate: requests for group versions that another server answers for are passed on to it, in the name of their user.
//!
//! The paths of a remote group version are its server's, the document of its resources among them. While its APIService is not
//! available, they are answered with 503.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use async_trait::async_trait;
use http::header::{HeaderName, HeaderValue};
use http::{Response as HttpResponse, StatusCode};
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode, percent_encode, utf8_percent_encode};
use pintle_outbound::proxy::{self, Host, Proxied, ProxiedBody, Redirects, Rewriting};
use pintle_outbound::{StreamLimits, Url};
use pintle_runtime::Signal;
use pintle_server::delegation::Delegate;
use pintle_server::{Request, Response, forward, respond};

use crate::api_services::{ApiServices, RemoteService};
use crate::identity;

const AUDIT_ID: HeaderName = HeaderName::from_static("audit-id");

/// Time limit of the resources of a group version, which clients ask of every server.
const DISCOVERY: Duration = Duration::from_secs(5);

/// Time without a byte after which the body of a short request ends.
const SHORT_IDLE: Duration = Duration::from_secs(60);

/// Time until the header of an answer: the deadline of short requests ends sooner.
const HEADER: Duration = Duration::from_secs(3600);

/// The characters of a path that stand for themselves.
const PATH: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~')
    .remove(b'$')
    .remove(b'&')
    .remove(b'+')
    .remove(b',')
    .remove(b'/')
    .remove(b':')
    .remove(b';')
    .remove(b'=')
    .remove(b'@');

/// The characters of a query that stand for themselves; a space is a plus.
const QUERY: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~').remove(b' ');

/// Passes requests on.
pub struct Proxy {
    services: Arc<ApiServices>,
    refuses_redirects: bool,
    uid_headers: bool,
    /// Set when long-running requests end.
    stop: Signal,
}

impl Proxy {
    pub(crate) fn new(
        services: Arc<ApiServices>,
        refuses_redirects: bool,
        uid_headers: bool,
        stop: Signal,
    ) -> Proxy {
        Proxy { services, refuses_redirects, uid_headers, stop }
    }

    /// Passes a request on to the server of an APIService.
    ///
    /// Errors: the answer of this server instead.
    async fn pass_on(&self, remote: &RemoteService, mut request: Box<Request>) -> Result<Response, Refusal> {
        if !remote.is_available {
            return Err(Refusal::unavailable("service unavailable"));
        }
        let client = remote.server.client().map_err(Refusal::internal)?;
        let user = request.user.as_ref().ok_or_else(|| Refusal::internal("missing user"))?;
        // The connection's own refusal, as the reference's would be.
        let unreachable =
            |reason: String| Refusal::unavailable(format!("error trying to reach service: {reason}"));
        let mut identity = identity::headers(user, self.uid_headers).map_err(unreachable)?;
        if let Ok(audit_id) = HeaderValue::from_str(&request.audit_id) {
            identity.insert(AUDIT_ID, audit_id);
        }
        let path = utf8_percent_encode(&request.info.path, PATH).to_string();
        let url = remote.server.url(&path).await.map_err(|reason| {
            let service = &remote.server.service;
            tracing::error!("error resolving {}/{}: {reason}", service.namespace, service.name);
            Refusal::unavailable("service unavailable")
        })?;
        let url = url.with_query(&normal_query(request.parts.uri.query().unwrap_or_default()));
        let is_long_running = request.info.is_long_running();
        let limits = limits(&request, &url);
        let (passed, client_of_request) = forward::take(&mut request);
        let proxy = proxy::Proxy {
            limits,
            host: Host::Target,
            redirects: if self.refuses_redirects { Redirects::Refused } else { Redirects::Passed },
            rewriting: Some(Rewriting::default()),
            hidden: &identity::names_a_user,
            identity,
            ..proxy::Proxy::new(client, url)
        };
        let proxied = proxy.forward(passed).await.map_err(|error| Refusal::unavailable(error.to_string()))?;
        // The request holds its slot until here; what follows costs as much as the client reads.
        drop(request);
        let proxied = match proxied {
            Proxied::Response(response) if is_long_running => Proxied::Response(self.until_stop(response)),
            proxied => proxied,
        };
        Ok(client_of_request.answer(proxied, self.stop.clone()))
    }

    /// Ends the body of a long-running request when this server stops.
    fn until_stop(&self, response: HttpResponse<ProxiedBody>) -> HttpResponse<ProxiedBody> {
        let stop = self.stop.clone();
        let stopped = Box::pin(async move { stop.wait().await });
        response.map(|inner| UntilStop { inner, stopped: Some(stopped) }.boxed_unsync())
    }
}

/// The limits of a request to another server.
fn limits(request: &Request, url: &Url) -> StreamLimits {
    if request.info.is_long_running() {
        return StreamLimits { header: HEADER, ..StreamLimits::default() };
    }
    let is_discovery = !request.info.is_resource && url.path().trim_matches('/').split('/').count() == 3;
    let header = if is_discovery { DISCOVERY } else { HEADER };
    StreamLimits { header, idle: SHORT_IDLE, ..StreamLimits::default() }
}

/// Returns the parameters of a query in the order of their names, without those that are malformed: what this server has not read,
/// the other one does not see.
fn normal_query(query: &str) -> String {
    let mut pairs: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty() && !pair.contains(';')) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        if let (Some(name), Some(value)) = (unescape(name), unescape(value)) {
            pairs.push((name, value));
        }
    }
    pairs.sort_by(|(a, _), (b, _)| a.cmp(b));
    let escape = |bytes: &[u8]| percent_encode(bytes, QUERY).to_string().replace(' ', "+");
    let pairs: Vec<String> =
        pairs.iter().map(|(name, value)| format!("{}={}", escape(name), escape(value))).collect();
    pairs.join("&")
}

/// Returns the text of a part of a query; `None` if it has half an escape.
fn unescape(text: &str) -> Option<Vec<u8>> {
    let is_whole = text
        .split('%')
        .skip(1)
        .all(|rest| rest.len() >= 2 && rest.bytes().take(2).all(|byte| byte.is_ascii_hexdigit()));
    is_whole.then(|| percent_decode(text.replace('+', " ").as_bytes()).collect())
}

#[async_trait]
impl Delegate for Proxy {
    async fn offer(&self, request: Box<Request>) -> Result<Response, Box<Request>> {
        if !self.services.is_loaded() {
            // At the very start nothing is known of other servers yet, and 404 would be taken for their answer.
            let _ = self.services.ready().await;
        }
        let Some(remote) = self.services.of_path(&request.info.path) else { return Err(request) };
        Ok(self.pass_on(&remote, request).await.unwrap_or_else(Refusal::response))
    }

    fn owns_group(&self, _: &str) -> bool {
        false
    }
}

/// An answer of this server, which is only a sentence, as the reference's is.
struct Refusal {
    code: StatusCode,
    message: String,
}

impl Refusal {
    fn unavailable(message: impl Into<String>) -> Refusal {
        Refusal { code: StatusCode::SERVICE_UNAVAILABLE, message: message.into() }
    }

    fn internal(message: &str) -> Refusal {
        Refusal { code: StatusCode::INTERNAL_SERVER_ERROR, message: message.to_owned() }
    }

    fn response(self) -> Response {
        respond::text_error(self.code, &self.message)
    }
}

/// A body that ends early when this server stops.
struct UntilStop<B> {
    inner: B,
    stopped: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl<B: Body + Unpin> Body for UntilStop<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let Some(stopped) = &mut self.stopped else { return Poll::Ready(None) };
        if stopped.as_mut().poll(context).is_ready() {
            self.stopped = None;
            return Poll::Ready(None);
        }
        Pin::new(&mut self.inner).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.stopped.is_none() || self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        // It may be shorter.
        SizeHint::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_other_server_sees_the_query_that_was_read_here() {
        for (query, expect) in [
            ("", ""),
            ("watch=1&limit=5", "limit=5&watch=1"),
            ("b=2&a=1&b=1", "a=1&b=2&b=1"),
            ("a=1;watch=1&c=%zz&d=%4", ""),
            ("labelSelector=a+in+(x,y)&pretty", "labelSelector=a+in+%28x%2Cy%29&pretty="),
            ("a=%26b%3Dc%00", "a=%26b%3Dc%00"),
            ("a=%ff", "a=%FF"),
        ] {
            assert_eq!(normal_query(query), expect, "{query}");
        }
    }

    #[test]
    fn paths_are_escaped_as_the_reference_escapes_them() {
        let escaped = |path: &str| utf8_percent_encode(path, PATH).to_string();
        assert_eq!(escaped("/apis/g/v1/boats/a b?c#d%e"), "/apis/g/v1/boats/a%20b%3Fc%23d%25e");
        assert_eq!(escaped("/apis/g/v1/x:y@z;=,$&+~"), "/apis/g/v1/x:y@z;=,$&+~");
        assert_eq!(escaped("/é\r\n"), "/%C3%A9%0D%0A");
    }
}
