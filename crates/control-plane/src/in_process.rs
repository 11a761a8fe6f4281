//! Requests of this process to its own server: through all filters, without a socket and without credentials.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, OnceLock, Weak};

use async_trait::async_trait;
use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, USER_AGENT};
use http::{Method, Uri};
use http_body_util::{BodyExt, Full};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use pintle_codec::json;
use pintle_controllers::{Api, ApiRequest, Location, Operation, PatchKind};
use pintle_meta::{Status, Value};
use pintle_registry::Result;
use pintle_server::filter::Handler;
use pintle_server::{Connection, Request};

/// Begins the user agent of controllers. Their field manager is what stands before the slash, which is the one of the controllers of
/// kube-controller-manager.
const AGENT: &str = "kube-controller-manager/v1.36.4 (pintle)";

/// The characters of names and selectors that stand for themselves in a path or query.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
const METADATA_LIST: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

/// The server as controllers reach it. It has no handler until the server is made, and none when it is gone.
pub(crate) struct InProcess {
    handler: OnceLock<Weak<dyn Handler>>,
    connection: Arc<Connection>,
}

impl InProcess {
    pub(crate) fn new() -> InProcess {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let connection = Arc::new(Connection::new(address, address, Vec::new()));
        InProcess { handler: OnceLock::new(), connection }
    }

    /// Lets requests begin.
    pub(crate) fn connect(&self, handler: &Arc<dyn Handler>) {
        // A control plane has one server.
        let _ = self.handler.set(Arc::downgrade(handler));
    }
}

#[async_trait]
impl Api for InProcess {
    async fn send(&self, request: ApiRequest) -> Result<Value> {
        let handler = self.handler.get().and_then(Weak::upgrade);
        let handler = handler.ok_or_else(|| Status::service_unavailable("the server is not running"))?;
        let (user, is_deletion) = (request.user.clone(), matches!(request.operation, Operation::Delete(_)));
        let (parts, body) = http_request(request)?.into_parts();
        let body = Full::new(body).map_err(|never: Infallible| match never {}).boxed();
        let request = Request::in_process(parts, body, self.connection.clone(), user);
        let (head, body) = handler.handle(request).await.into_parts();
        if is_deletion && head.status.is_success() {
            return Ok(Value::NULL);
        }
        let body = body.collect().await.map_err(Status::internal)?.to_bytes();
        let answer = json::decode_untyped(&body).map(|decoded| decoded.value);
        match answer {
            Ok(answer) if head.status.is_success() => Ok(answer),
            Ok(answer) if answer.kind() == "Status" => Err(Box::new(Status::from_value(&answer))),
            _ => {
                let text = String::from_utf8_lossy(&body[..body.len().min(1024)]).into_owned();
                Err(Box::new(Status::internal(format!("unexpected answer {}: {text}", head.status))))
            }
        }
    }
}

/// Returns the request as a client would send it.
fn http_request(request: ApiRequest) -> Result<http::Request<Bytes>> {
    let ApiRequest { user, location, operation, metadata_only } = request;
    let is_list = matches!(operation, Operation::List { .. });
    let accept = match metadata_only {
        true if is_list => METADATA_LIST,
        true => METADATA,
        false => "application/json",
    };
    let account = user.name.as_str();
    let (method, content_type, body) = match &operation {
        Operation::Get | Operation::List { .. } => (Method::GET, None, Bytes::new()),
        Operation::Create(body) => (Method::POST, Some("application/json"), body.clone()),
        Operation::Replace(body) => (Method::PUT, Some("application/json"), body.clone()),
        Operation::Patch(kind, body) => (Method::PATCH, Some(patch_type(*kind)), body.clone()),
        Operation::Delete(body) => (Method::DELETE, Some("application/json"), body.clone()),
    };
    let mut builder = http::Request::builder()
        .method(method)
        .uri(uri(&location, &operation)?)
        .header(ACCEPT, accept)
        .header(USER_AGENT, format!("{AGENT}/{account}"));
    if let Some(content_type) = content_type {
        builder = builder.header(CONTENT_TYPE, content_type);
    }
    builder.body(body).map_err(|error| Box::new(Status::internal(error)))
}

fn patch_type(kind: PatchKind) -> &'static str {
    match kind {
        PatchKind::Json => "application/json-patch+json",
        PatchKind::Merge => "application/merge-patch+json",
        PatchKind::Strategic => "application/strategic-merge-patch+json",
        PatchKind::Apply(_) => "application/apply-patch+yaml",
    }
}

/// Returns path and query.
fn uri(location: &Location, operation: &Operation) -> Result<Uri> {
    let Location { resource, namespace, name, subresource } = location;
    let encode = |text: &str| utf8_percent_encode(text, PLAIN).to_string();
    let mut path = match resource.group.as_str() {
        "" => format!("/api/{}", resource.version),
        group => format!("/apis/{group}/{}", resource.version),
    };
    if !namespace.is_empty() {
        path += &format!("/namespaces/{}", encode(namespace));
    }
    path += &format!("/{}", resource.resource);
    for segment in [name.as_str(), subresource].iter().filter(|segment| !segment.is_empty()) {
        path += &format!("/{}", encode(segment));
    }
    if let Operation::List { limit, page, label_selector } = operation {
        path += &format!("?limit={limit}");
        for (key, value) in [("continue", page), ("labelSelector", label_selector)] {
            if !value.is_empty() {
                path += &format!("&{key}={}", encode(value));
            }
        }
    }
    if let Operation::Patch(PatchKind::Apply(manager), _) = operation {
        path += &format!("?fieldManager={}&force=true", encode(manager));
    }
    path.parse().map_err(|error| Box::new(Status::internal(error)))
}

#[cfg(test)]
mod tests {
    use pintle_meta::gvk::GroupVersionResource;

    use super::*;

    fn text(location: &Location, operation: &Operation) -> String {
        uri(location, operation).expect("a URI").to_string()
    }

    #[test]
    fn locations_have_paths() {
        let pods = GroupVersionResource::new("", "v1", "pods");
        let pod = Location::object(pods.clone(), "a", "x:y/z");
        assert_eq!(text(&pod, &Operation::Get), "/api/v1/namespaces/a/pods/x%3Ay%2Fz");
        let page = Operation::List { limit: 5, page: "a=&b".into(), label_selector: "x in (y)".into() };
        assert_eq!(
            text(&Location::collection(pods, ""), &page),
            "/api/v1/pods?limit=5&continue=a%3D%26b&labelSelector=x%20in%20%28y%29"
        );
        let scale = GroupVersionResource::new("apps", "v1", "deployments");
        let scale = Location::object(scale, "a", "b").subresource("scale");
        assert_eq!(text(&scale, &Operation::Get), "/apis/apps/v1/namespaces/a/deployments/b/scale");
    }
}
