//! Refuses writes of resources until the version in which this server stores them is published.

use std::sync::Arc;

use async_trait::async_trait;
use pintle_auth::{API_SERVER, PRIVILEGED_GROUP};
use pintle_meta::Status;
use pintle_meta::gvk::GroupResource;

use crate::filter::{Filter, Next};
use crate::request_info::RequestInfo;
use crate::{Request, Response, respond};

/// Returns, for a group and a resource, whether writes have to wait, and then the last error of publishing the version.
pub type UnpublishedVersions = Arc<dyn Fn(&str, &str) -> Option<Option<String>> + Send + Sync>;

pub struct StorageVersions {
    pub unpublished: UnpublishedVersions,
}

#[async_trait]
impl Filter for StorageVersions {
    async fn handle(&self, request: Box<Request>, next: Next<'_>) -> Response {
        let info = &request.info;
        if is_exempt(info) || is_of_the_server(&request) {
            return next.run(request).await;
        }
        let Some(last) = (self.unpublished)(&info.group, &info.resource) else {
            return next.run(request).await;
        };
        let resource = GroupResource { group: info.group.clone(), resource: info.resource.clone() };
        let last = last.as_deref().unwrap_or("<nil>");
        respond::status(&Status::service_unavailable(format!(
            "wait for storage version registration to complete for resource: {resource}, last seen error: {last}"
        )))
    }
}

/// Returns whether a request need not wait: it does not write, or it writes an object that publishing needs: the
/// storage versions themselves, and the leases that make them valid.
fn is_exempt(info: &RequestInfo) -> bool {
    !info.is_resource
        || matches!(info.verb.as_str(), "get" | "list" | "watch")
        || matches!((&*info.group, &*info.resource), ("internal.apiserver.k8s.io", "storageversions"))
        || matches!(
            (&*info.group, &*info.resource, &*info.namespace),
            ("coordination.k8s.io", "leases", "kube-system")
        )
}

/// Returns whether the server creates the namespace of its own lease.
fn is_of_the_server(request: &Request) -> bool {
    let info = &request.info;
    matches!((&*info.group, &*info.resource, &*info.verb), ("", "namespaces", "create"))
        && request.user.as_ref().is_some_and(|user| user.name == API_SERVER && user.is_in(PRIVILEGED_GROUP))
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;
    use std::sync::atomic::{AtomicBool, Ordering};

    use http::{Method, StatusCode};
    use http_body_util::{BodyExt, Empty};
    use pintle_auth::User;

    use super::*;
    use crate::filter::{Chain, Handler};
    use crate::{Body, Connection};

    struct Served;

    #[async_trait]
    impl Handler for Served {
        async fn handle(&self, _: Box<Request>) -> Response {
            respond::text(StatusCode::OK, Body::empty())
        }
    }

    async fn ask(chain: &Chain, method: &str, path: &str, user: User) -> (StatusCode, String) {
        let (parts, ()) = http::Request::builder().method(method).uri(path).body(()).unwrap().into_parts();
        let nowhere = SocketAddr::from(([127, 0, 0, 1], 1));
        let body = Empty::new().map_err(|never| match never {}).boxed();
        let mut request = Request::new(parts, body, Arc::new(Connection::new(nowhere, nowhere, Vec::new())));
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        request.info = RequestInfo::parse(&method, &request.parts.uri).unwrap();
        request.user = Some(Arc::new(user));
        let (head, body) = chain.handle(request).await.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        (head.status, String::from_utf8_lossy(&body).into_owned())
    }

    /// Waits for everything but custom resources.
    fn chain(unpublished: UnpublishedVersions) -> Chain {
        Chain::new(vec![Box::new(StorageVersions { unpublished })], Arc::new(Served))
    }

    #[tokio::test]
    async fn writes_wait_until_the_version_is_known() {
        let known = Arc::new(AtomicBool::new(false));
        let seen = known.clone();
        let chain = chain(Arc::new(move |group, _| {
            let last = (group == "apps").then(|| "not now".to_owned());
            (!seen.load(Ordering::Acquire)).then_some(last)
        }));
        let pods = "/api/v1/namespaces/default/pods";
        let (code, body) = ask(&chain, "POST", pods, User::anonymous()).await;
        assert_eq!(code, StatusCode::SERVICE_UNAVAILABLE);
        let message =
            "wait for storage version registration to complete for resource: pods, last seen error: <nil>";
        assert!(
            body.contains(&format!(r#""message":"{message}","reason":"ServiceUnavailable","code":503"#)),
            "{body}"
        );
        let (code, body) =
            ask(&chain, "PATCH", "/apis/apps/v1/namespaces/a/deployments/b/status", User::anonymous()).await;
        assert_eq!(code, StatusCode::SERVICE_UNAVAILABLE);
        assert!(body.contains("for resource: deployments.apps, last seen error: not now"), "{body}");
        for method in ["PUT", "DELETE"] {
            assert_eq!(ask(&chain, method, &format!("{pods}/a"), User::anonymous()).await.0, 503);
        }
        known.store(true, Ordering::Release);
        assert_eq!(ask(&chain, "POST", pods, User::anonymous()).await.0, 200);
    }

    #[tokio::test]
    async fn reads_and_what_must_come_first_do_not_wait() {
        let chain = chain(Arc::new(|_, _| Some(None)));
        for (method, path) in [
            ("GET", "/api/v1/namespaces/default/pods"),
            ("GET", "/api/v1/namespaces/default/pods/a"),
            ("GET", "/api/v1/pods?watch=1"),
            ("POST", "/metrics"),
            ("POST", "/apis/internal.apiserver.k8s.io/v1alpha1/storageversions"),
            ("PUT", "/apis/internal.apiserver.k8s.io/v1alpha1/storageversions/a/status"),
            ("PUT", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/a"),
        ] {
            assert_eq!(ask(&chain, method, path, User::anonymous()).await.0, 200, "{method} {path}");
        }
        let leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
        assert_eq!(ask(&chain, "POST", leases, User::anonymous()).await.0, 503);
        let namespaces = "/api/v1/namespaces";
        assert_eq!(ask(&chain, "POST", namespaces, User::api_server()).await.0, 200);
        assert_eq!(ask(&chain, "PUT", "/api/v1/namespaces/a", User::api_server()).await.0, 503);
        let named = User { name: API_SERVER.into(), ..User::default() };
        assert_eq!(ask(&chain, "POST", namespaces, named).await.0, 503);
    }
}
