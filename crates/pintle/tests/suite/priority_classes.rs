//! PriorityClasses of users stay below those of the system, and do not take their names.

use http::Method;
use serde_json::{Value, json};

use crate::support::shared::ready;
use crate::support::{Answer, Launch, MASTER, Server};

const CLASSES: &str = "/apis/scheduling.k8s.io/v1/priorityclasses";

async fn write(server: &Server, method: Method, path: &str, body: &Value) -> Answer {
    let kind = if method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
    server.client().token(MASTER).request(method, path, &[("content-type", kind)], body.to_string()).await
}

async fn create(server: &Server, name: &str, value: i64) -> Answer {
    let class = json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value});
    write(server, Method::POST, CLASSES, &class).await
}

#[tokio::test]
async fn users_cannot_make_classes_of_the_system() {
    let server = Launch::new().tokens().start().await;
    ready(&server).await;
    create(&server, "mine", 1_000_000_001).await.is_status(
        422,
        "Invalid",
        "PriorityClass.scheduling.k8s.io \"mine\" is invalid: value: Forbidden: maximum allowed value of a user defined \
         priority is 1000000000",
    );
    create(&server, "system-mine", 1).await.is_status(
        422,
        "Invalid",
        "PriorityClass.scheduling.k8s.io \"system-mine\" is invalid: metadata.name: Forbidden: priority class names with \
         'system-' prefix are reserved for system use only. error: system-mine is not a known system priority class",
    );
    let made = create(&server, "mine", 1_000_000_000).await;
    assert_eq!(made.code, 201, "{made:?}");
    let raised =
        write(&server, Method::PATCH, &format!("{CLASSES}/mine"), &json!({"value": 2_000_000_000})).await;
    raised.is_status(
        422,
        "Invalid",
        "PriorityClass.scheduling.k8s.io \"mine\" is invalid: value: Forbidden: may not be changed in an update.",
    );
    let known = server.client().token(MASTER).get(&format!("{CLASSES}/system-node-critical")).await;
    assert_eq!(known.json()["value"], json!(2_000_001_000), "{known:?}");
}
