//! Requests of the administrator about objects, as JSON.

use http::Method;
use serde_json::Value;

use super::client::Answer;
use super::server::Server;

pub(crate) async fn send(server: &Server, method: Method, path: &str, body: &Value) -> Answer {
    server.admin().request(method, path, &[("content-type", "application/json")], body.to_string()).await
}

pub(crate) async fn post(server: &Server, path: &str, body: &Value) -> Value {
    send(server, Method::POST, path, body).await.gives(201)
}

pub(crate) async fn merge(server: &Server, path: &str, patch: &Value) -> Value {
    let kind = [("content-type", "application/merge-patch+json")];
    server.admin().request(Method::PATCH, path, &kind, patch.to_string()).await.gives(200)
}
