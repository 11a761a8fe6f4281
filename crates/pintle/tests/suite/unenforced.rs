//! Objects that the server keeps and does not act on yet: their writers are told, and the log says it once.

use http::Method;
use serde_json::{Value, json};

use crate::support::shared::ready;
use crate::support::{Answer, Launch, Server};

const JSON: [(&str, &str); 1] = [("content-type", "application/json")];

async fn send(server: &Server, method: Method, path: &str, body: &Value) -> Answer {
    server.admin().request(method, path, &JSON, body.to_string()).await
}

/// The texts of `Warning` headers.
fn warnings(answer: &Answer) -> Vec<String> {
    let values = answer.headers.get_all("warning").iter();
    values.map(|value| value.to_str().expect("text").to_owned()).collect()
}

fn objects() -> Vec<(String, Value, &'static str)> {
    let named = |name: &str| json!({"name": name});
    let registered = |resource: &str| format!("{REGISTRATION}/{resource}");
    vec![(
        registered("validatingadmissionpolicies"),
        json!({"metadata": named("p"), "spec": {
            "matchConstraints": constraints, "validations": [{"expression": "true"}],
        }}),
        "this server does not enforce ValidatingAdmissionPolicies yet",
    )]
}

#[tokio::test]
async fn writers_of_objects_that_are_not_acted_on_are_told() {
    let server = Launch::new().start().await;
    ready(&server).await;
    for (path, body, text) in objects() {
        let expect = [format!("299 - \"{text}\"")];
        let created = send(&server, Method::POST, &path, &body).await;
        created.code_is(201);
        assert_eq!(warnings(&created), expect, "{path}");
        let mut changed = created.json();
        changed["metadata"]["annotations"] = json!({"a": "b"});
        let name = changed["metadata"]["name"].as_str().expect("a name").to_owned();
        let path = format!("{path}/{name}");
        let updated = send(&server, Method::PUT, &path, &changed).await;
        updated.code_is(200);
        assert_eq!(warnings(&updated), expect, "{path}");
        let read = server.admin().get(&path).await;
        assert_eq!(warnings(&read), Vec::<String>::new(), "{path}");
    }
    let plain =
        send(&server, Method::POST, "/api/v1/namespaces", &json!({"metadata": {"name": "plain"}})).await;
    assert_eq!((plain.code, warnings(&plain)), (201, Vec::new()));
    let log = server.stderr();
    let lines: Vec<&str> = log.lines().filter(|line| line.contains("This server does not yet: ")).collect();
    assert_eq!(lines.len(), 1, "{log}");
    for what in ["enforce ValidatingAdmissionPolicies"] {
        assert!(lines[0].contains(what), "{log}");
    }
}

/// The reference would not act on them either.
#[tokio::test]
async fn nothing_is_said_about_plugins_that_are_off() {
    let launch = Launch::new().arg("--disable-admission-plugins=PodSecurity,ValidatingAdmissionWebhook");
    let server = launch.start().await;
    ready(&server).await;
    for (path, body, _) in objects().into_iter().take(2) {
        let created = send(&server, Method::POST, &path, &body).await;
        assert_eq!((created.code, warnings(&created)), (201, Vec::new()), "{path}");
    }
    assert!(!server.stderr().contains("enforce Pod Security Standards"));
}
