//! HTTP methods of custom resources: the request's verb decides, since no router checks the method before.

use http::Method;
use serde_json::{Value, json};

use super::{Session, definition, version};
use crate::support::{Answer, Launch, Server};

const BOATS: &str = "/apis/methods.test/v1/namespaces/default/boats";

async fn harbour() -> (Server, Session) {
    let server = Launch::new().start().await;
    let mut session = Session::to(&server).await;
    let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let mut v1 = version("v1", &any);
    v1["subresources"] = json!({"status": {}, "scale": {"specReplicasPath": ".spec.masts", "statusReplicasPath": ".status.masts"}});
    let mut old = version("v1beta1", &any);
    old["deprecated"] = true.into();
    session.install(&definition("methods.test", "Boat", "Namespaced", vec![v1, old])).await;
    session.post(BOATS, &boat("anna")).await.gives(201);
    (server, session)
}

fn boat(name: &str) -> Value {
    json!({"apiVersion": "methods.test/v1", "kind": "Boat", "metadata": {"name": name}, "spec": {"masts": 3}})
}

impl Session {
    async fn accepting(&mut self, path: &str, accept: &str) -> Answer {
        let answer = self.connection.send(Method::GET, path, &[("accept", accept)], String::new()).await;
        answer.unwrap_or_else(|error| panic!("{path}: {error}"))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_head_of_an_object_is_read() {
    let (_server, mut session) = harbour().await;
    for path in [format!("{BOATS}/anna"), BOATS.to_owned(), format!("{BOATS}/anna/status")] {
        let head = session.ask(Method::HEAD, &path, "application/json", "").await;
        assert_eq!((head.code, head.header("content-type")), (200, "application/json"), "{path}");
    }
    let absent = session.ask(Method::HEAD, &format!("{BOATS}/nobody"), "application/json", "").await;
    assert_eq!(absent.code, 404);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_without_a_name_are_refused() {
    let (_server, mut session) = harbour().await;
    let named = "name must be provided";
    session.put(BOATS, &boat("anna")).await.is_status(400, "BadRequest", named);
    session.merge(BOATS, &json!({})).await.is_status(400, "BadRequest", named);
    let unknown = session.ask(Method::PATCH, BOATS, "text/plain", "").await;
    assert_eq!(unknown.code, 415, "{unknown:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_in_the_path_of_a_creation_is_not_the_objects() {
    let (_server, mut session) = harbour().await;
    let created = session.post(&format!("{BOATS}/any"), &boat("bella")).await.gives(201);
    assert_eq!(created["metadata"]["name"], "bella");
    let nameless = json!({"apiVersion": "methods.test/v1", "kind": "Boat", "metadata": {}});
    let refused = session.post(&format!("{BOATS}/any"), &nameless).await;
    assert_eq!(refused.code, 422, "{refused:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn path_segments_after_a_subresource_are_ignored() {
    let (_server, mut session) = harbour().await;
    let status = session.get(&format!("{BOATS}/anna/status/extra")).await.gives(200);
    assert_eq!(status["kind"], "Boat");
    let scale = session.get(&format!("{BOATS}/anna/scale/extra")).await.gives(200);
    assert_eq!(scale["spec"]["replicas"], 3);
    let refused = session.post(&format!("{BOATS}/anna/status"), &boat("anna")).await;
    let message = "create is not supported on resources of kind \"boats.methods.test\"";
    refused.is_status(405, "MethodNotAllowed", message);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn users_of_an_old_version_are_warned_whatever_they_ask_for() {
    let (_server, mut session) = harbour().await;
    let old = "/apis/methods.test/v1beta1/namespaces/default/boats";
    let warning = "299 - \"methods.test/v1beta1 Boat is deprecated; use methods.test/v1 Boat\"";
    for (path, code) in [("/anna", 200), ("/anna/nothing", 404), ("/anna/scale", 404)] {
        let answer = session.get(&format!("{old}{path}")).await;
        assert_eq!((answer.code, answer.header("warning")), (code, warning), "{path}");
    }
    let unacceptable = session.accepting(&format!("{old}/anna"), "text/plain").await;
    assert_eq!((unacceptable.code, unacceptable.header("warning")), (406, warning));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_table_of_a_scale_shows_replicas() {
    let (_server, mut session) = harbour().await;
    let accept = "application/json;as=Table;v=v1;g=meta.k8s.io";
    let table = session.accepting(&format!("{BOATS}/anna/scale"), accept).await.gives(200);
    let columns = table["columnDefinitions"].as_array().expect("columns").iter();
    let columns: Vec<&Value> = columns.map(|column| &column["name"]).collect();
    assert_eq!(columns, ["Name", "Desired", "Available", "Age"]);
    let cells = table["rows"][0]["cells"].as_array().expect("cells");
    assert_eq!(cells[..3], [json!("anna"), json!(3), json!(0)]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn objects_are_not_read_out_of_protobuf() {
    let (_server, mut session) = harbour().await;
    let media_type = "application/vnd.kubernetes.protobuf";
    // An envelope with nothing in it, and one that says what it holds.
    for (body, kind, version) in
        [("k8s\0\x12\0", "Boat", "v1"), ("k8s\0\n\x0b\n\x04x/v7\x12\x03Oar", "Oar", "v7")]
    {
        let refused = session.ask(Method::POST, BOATS, media_type, body).await;
        let message = format!(
            "{kind} in version \"{version}\" cannot be handled as a Boat: Object 'Kind' is missing in 'object has no kind \
             field '"
        );
        refused.is_status(400, "BadRequest", &message);
    }
    let refused = session.ask(Method::POST, BOATS, media_type, "{}").await;
    let message = "the object provided is unrecognized (must be of type Boat): provided data does not appear to be a \
                   protobuf message, expected prefix [107 56 115 0] ({})";
    refused.is_status(400, "BadRequest", message);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_built_in_group_has_no_custom_resources() {
    let server = Launch::new().start().await;
    let mut session = Session::to(&server).await;
    let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let mut foos = definition("networking.k8s.io", "Foo", "Cluster", vec![version("v9", &any)]);
    foos["metadata"]["annotations"] = json!({"api-approved.kubernetes.io": "unapproved, for a test"});
    session.install(&foos).await;
    let absent = session.get("/apis/networking.k8s.io/v9/foos").await;
    assert_eq!(absent.code, 404, "{absent:?}");
    assert_eq!(absent.json()["message"], "the server could not find the requested resource");
}
