//! Writes as clients send them, on both stores: field managers, objects that are too large, unknown fields, concurrent
//! writers, and hostile patches.

mod concurrency;
mod empties;
mod field_validation;
mod hostile;
mod managers;
mod requests;
mod too_large;
mod workloads;

use http::Method;
use serde_json::{Value, json};

use crate::support::client::Connection;
use crate::support::shared::Shared;
use crate::support::{Answer, Client};

const JSON: &str = "application/json";
const MERGE: &str = "application/merge-patch+json";
const JSON_PATCH: &str = "application/json-patch+json";

/// The config maps of a namespace that a test has for itself.
#[derive(Clone)]
struct Maps {
    client: Client,
    path: String,
}

impl Maps {
    async fn new(shared: &Shared, namespace: &str) -> Maps {
        let client = shared.server.admin();
        let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
        let headers = [("content-type", JSON)];
        let answer = client.request(Method::POST, "/api/v1/namespaces", &headers, object.to_string()).await;
        assert_eq!(answer.code, 201, "{answer:?}");
        Maps { client, path: format!("/api/v1/namespaces/{namespace}/configmaps") }
    }

    /// The path of one map, or of all for an empty name; both may have a query.
    fn of(&self, name: &str) -> String {
        if name.is_empty() || name.starts_with('?') {
            return format!("{}{name}", self.path);
        }
        format!("{}/{name}", self.path)
    }

    async fn send(
        &self,
        method: Method,
        name: &str,
        media_type: &str,
        body: impl Into<bytes::Bytes>,
    ) -> Answer {
        self.client.request(method, &self.of(name), &[("content-type", media_type)], body).await
    }

    async fn create(&self, object: &Value) -> Answer {
        self.send(Method::POST, "", JSON, object.to_string()).await
    }

    async fn put(&self, name: &str, object: &Value) -> Answer {
        self.send(Method::PUT, name, JSON, object.to_string()).await
    }

    async fn patch(&self, name: &str, media_type: &str, patch: &Value) -> Answer {
        self.send(Method::PATCH, name, media_type, patch.to_string()).await
    }

    async fn get(&self, name: &str) -> Value {
        let answer = self.client.get(&self.of(name)).await;
        assert_eq!(answer.code, 200, "{answer:?}");
        answer.json()
    }

    async fn connect(&self) -> Connection {
        self.client.connect().await.expect("a connection")
    }
}

fn map(name: &str, data: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})
}

/// The object of an answer that must be a success.
#[track_caller]
fn done(answer: &Answer) -> Value {
    assert!(
        matches!(answer.code, 200 | 201),
        "{} {}",
        answer.code,
        &answer.body[..answer.body.len().min(500)]
    );
    answer.json()
}
