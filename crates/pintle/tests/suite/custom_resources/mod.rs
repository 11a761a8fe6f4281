//! Resources that their users define: from a definition to the end of its objects, as clients see it.

use http::Method;
use serde_json::{Value, json};

use crate::support::client::{Connection, Following};
use crate::support::{Answer, Client, Server, eventually};

mod changes;
mod conversion;
mod conversion_egress;
mod conversion_services;
mod definitions;
mod etcd;
mod hostile;
mod life;
mod managers;
mod methods;
mod namespaces;
mod negotiation;
mod operators;
mod parts;
mod passage;
mod stored_as;

/// Where definitions are.
pub(crate) const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// A connection that stays open, and what is said on it.
pub(crate) struct Session {
    client: Client,
    connection: Connection,
}

impl Session {
    pub(crate) async fn to(server: &Server) -> Session {
        let client = server.admin();
        let connection = client.connect().await.expect("connect");
        Session { client, connection }
    }

    pub(crate) async fn ask(&mut self, method: Method, path: &str, media_type: &str, body: &str) -> Answer {
        let headers = [("content-type", media_type)];
        let answer = self.connection.send(method, path, &headers, body.to_owned()).await;
        answer.unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    pub(crate) async fn get(&mut self, path: &str) -> Answer {
        self.ask(Method::GET, path, "application/json", "").await
    }

    pub(crate) async fn post(&mut self, path: &str, object: &Value) -> Answer {
        self.ask(Method::POST, path, "application/json", &object.to_string()).await
    }

    pub(crate) async fn put(&mut self, path: &str, object: &Value) -> Answer {
        self.ask(Method::PUT, path, "application/json", &object.to_string()).await
    }

    /// A merge patch.
    pub(crate) async fn merge(&mut self, path: &str, patch: &Value) -> Answer {
        self.ask(Method::PATCH, path, "application/merge-patch+json", &patch.to_string()).await
    }

    /// A server-side apply.
    pub(crate) async fn apply(&mut self, path: &str, manager: &str, object: &Value) -> Answer {
        let path = format!("{path}?fieldManager={manager}");
        self.ask(Method::PATCH, &path, "application/apply-patch+yaml", &object.to_string()).await
    }

    pub(crate) async fn delete(&mut self, path: &str) -> Answer {
        self.ask(Method::DELETE, path, "application/json", "").await
    }

    /// Follows a list from what it is now.
    pub(crate) async fn watch(&mut self, path: &str, query: &str) -> Following {
        let list = self.get(path).await.gives(200);
        let version = list["metadata"]["resourceVersion"].as_str().expect("a version");
        let path = format!("{path}?watch=1&resourceVersion={version}{query}");
        self.client.follow(&path, &[]).await
    }

    /// Creates a definition, and returns it once it is established.
    pub(crate) async fn install(&mut self, definition: &Value) -> Value {
        self.post(DEFINITIONS, definition).await.gives(201);
        self.established(name(definition)).await
    }

    /// Asks until a definition is established.
    pub(crate) async fn established(&mut self, name: &str) -> Value {
        self.condition(name, "Established", "True").await
    }

    /// Asks until a definition has a condition.
    pub(crate) async fn condition(&mut self, name: &str, kind: &str, status: &str) -> Value {
        let path = format!("{DEFINITIONS}/{name}");
        let mut found = Value::Null;
        eventually(kind, async || {
            found = self.get(&path).await.gives(200);
            condition(&found, kind)["status"] == status
        })
        .await;
        found
    }

    /// Deletes a definition, and returns once it is gone.
    pub(crate) async fn uninstall(&mut self, name: &str) {
        let path = format!("{DEFINITIONS}/{name}");
        self.delete(&path).await.gives(200);
        eventually("the end of the definition", async || self.get(&path).await.code == 404).await;
    }
}

/// A condition of an object; null if it has none.
pub(crate) fn condition<'a>(object: &'a Value, kind: &str) -> &'a Value {
    let conditions = object["status"]["conditions"].as_array();
    let found = conditions.and_then(|all| all.iter().find(|condition| condition["type"] == kind));
    found.unwrap_or(&Value::Null)
}

pub(crate) fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().expect("a name")
}

/// A version that is served, and not what objects are stored in.
pub(crate) fn version(name: &str, schema: &Value) -> Value {
    json!({"name": name, "served": true, "storage": false, "schema": {"openAPIV3Schema": schema}})
}

/// A definition of `Things` and the like. Objects are stored in the first version.
pub(crate) fn definition(group: &str, kind: &str, scope: &str, mut versions: Vec<Value>) -> Value {
    versions[0]["storage"] = true.into();
    let singular = kind.to_lowercase();
    let plural = format!("{singular}s");
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {
            "group": group,
            "scope": scope,
            "names": {"plural": plural, "singular": singular, "kind": kind, "listKind": format!("{kind}List")},
            "versions": versions,
        },
    })
}

/// Returns the schema that most tests of this folder use.
pub(crate) fn plain_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {
                    "color": {"type": "string"},
                    "size": {"type": "integer"},
                    "replicas": {"type": "integer"},
                    "tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
                },
            },
            "status": {
                "type": "object",
                "properties": {
                    "phase": {"type": "string"},
                    "replicas": {"type": "integer"},
                    "selector": {"type": "string"},
                },
            },
        },
    })
}

/// An object of such a definition.
pub(crate) fn object(api_version: &str, kind: &str, name: &str, spec: Value) -> Value {
    json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, "spec": spec})
}

/// The type of an event, and the name of what it is about.
pub(crate) async fn event(watch: &mut Following) -> (String, String) {
    let event = watch.line().await.expect("the watch goes on");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    (text(&event["type"]), text(&event["object"]["metadata"]["name"]))
}
