//! Requests that come without a certificate: the API server says whose token they have, and what that user may.

use http::header::{AUTHORIZATION, HeaderMap};
use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::host::{Host, JSON};

/// Returns the code and the text of a refusal, unless the user of the request's token may ask this of the node.
pub(crate) async fn refusal(
    host: &Host,
    node: &str,
    method: &Method,
    path: &str,
    headers: &HeaderMap,
) -> Option<(StatusCode, String)> {
    let Some(user) = user(host, headers).await else {
        return Some((StatusCode::UNAUTHORIZED, "Unauthorized".to_owned()));
    };
    let verb = match *method {
        Method::POST => "create",
        Method::PUT => "update",
        Method::PATCH => "patch",
        Method::DELETE => "delete",
        _ => "get",
    };
    let subresource = match path.split('/').nth(1).unwrap_or_default() {
        "metrics" => "metrics",
        "stats" => "stats",
        "logs" => "log",
        _ => "proxy",
    };
    let name = user["username"].as_str().unwrap_or_default();
    let review = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": {
        "user": name, "uid": user["uid"], "groups": user["groups"], "extra": user["extra"],
        "resourceAttributes": {"version": "v1", "resource": "nodes", "subresource": subresource, "name": node, "verb": verb},
    }});
    let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    match host.send(Method::POST, path, JSON, &review).await {
        Ok((StatusCode::CREATED, review)) if review["status"]["allowed"] == true => None,
        Ok((StatusCode::CREATED, _)) => {
            let why = format!(
                "Forbidden (user={name}, verb={verb}, resource=nodes, subresource(s)=[{subresource}])\n"
            );
            Some((StatusCode::FORBIDDEN, why))
        }
        other => Some((StatusCode::INTERNAL_SERVER_ERROR, format!("authorization failed: {other:?}"))),
    }
}

/// Returns the user of the bearer token.
async fn user(host: &Host, headers: &HeaderMap) -> Option<Value> {
    let token = headers.get(AUTHORIZATION)?.to_str().ok()?.strip_prefix("Bearer ")?;
    let review =
        json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}});
    let path = "/apis/authentication.k8s.io/v1/tokenreviews";
    let (code, mut review) = host.send(Method::POST, path, JSON, &review).await.ok()?;
    let is_known = code == StatusCode::CREATED && review["status"]["authenticated"] == true;
    is_known.then(|| review["status"]["user"].take())
}
