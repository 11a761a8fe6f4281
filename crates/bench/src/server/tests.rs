//! The driver against a server that is just enough of one: HTTP/2 over TLS, objects in memory.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::{Arc, Mutex};

use base64::Engine;
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http::{Method, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls_pki_types::PrivatePkcs8KeyDer;
use serde_json::{Value, json};
use tokio::sync::broadcast;

use super::*;

const TOKEN: &str = "a-token";

struct Api {
    state: Mutex<(u64, BTreeMap<String, Value>)>,
    changes: broadcast::Sender<Bytes>,
    /// Without them, everything is 404.
    has_resources: bool,
}

type Body = UnsyncBoxBody<Bytes, Infallible>;

fn answer(status: StatusCode, body: impl Into<Bytes>) -> Response<Body> {
    let mut response = Response::new(Full::new(body.into()).boxed_unsync());
    *response.status_mut() = status;
    response
}

impl Api {
    async fn handle(self: Arc<Self>, request: http::Request<Incoming>) -> Response<Body> {
        let authorized =
            request.headers().get("authorization").is_some_and(|value| value == &format!("Bearer {TOKEN}"));
        if !authorized {
            return answer(StatusCode::UNAUTHORIZED, r#"{"message":"who is this?"}"#);
        }
        if !self.has_resources {
            return answer(StatusCode::NOT_FOUND, "not found");
        }
        let (head, body) = request.into_parts();
        let body = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
        let path = head.uri.path().trim_end_matches("/status").to_owned();
        let query = head.uri.query().unwrap_or_default();
        let is_apply =
            head.headers.get("content-type").is_some_and(|of| of == "application/apply-patch+yaml");
        match head.method {
            Method::POST | Method::PUT | Method::PATCH if is_apply => {
                answer(StatusCode::UNSUPPORTED_MEDIA_TYPE, "")
            }
            Method::POST if query.contains("dryRun=All") => judge(&body),
            Method::POST | Method::PUT | Method::PATCH => self.write(&head.method, path, &body),
            Method::DELETE => {
                self.state.lock().unwrap().1.retain(|key, _| !key.starts_with(&path));
                answer(StatusCode::OK, "{}")
            }
            _ if query.contains("watch=true") => self.watch(),
            _ => self.read(&path, query),
        }
    }

    fn write(&self, method: &Method, path: String, body: &[u8]) -> Response<Body> {
        let Ok(mut object) = serde_json::from_slice::<Value>(body) else {
            return answer(StatusCode::BAD_REQUEST, "that is not JSON");
        };
        let mut state = self.state.lock().unwrap();
        state.0 += 1;
        let path = match (method, object["metadata"]["name"].as_str()) {
            (&Method::POST, Some(name)) => format!("{path}/{name}"),
            _ => path,
        };
        if path.contains("/customresourcedefinitions/") {
            object["status"] = json!({"conditions": [{"type": "Established", "status": "True"}]});
        }
        object["metadata"]["uid"] = json!(format!("uid-{}", state.0));
        object["metadata"]["resourceVersion"] = json!(state.0.to_string());
        let text = object.to_string();
        if state.1.insert(path.clone(), object).is_some() && path.contains("/configmaps/") {
            let _ = self
                .changes
                .send(format!("{{\"type\":\"MODIFIED\",\"object\":{text}}}\n").into_bytes().into());
        }
        answer(StatusCode::OK, text)
    }

    fn read(&self, path: &str, query: &str) -> Response<Body> {
        let state = self.state.lock().unwrap();
        if let Some(object) = state.1.get(path) {
            return answer(StatusCode::OK, object.to_string());
        }
        let number = |name: &str| {
            let value = query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
            value.and_then(|value| value.parse::<usize>().ok())
        };
        let (from, limit) = (number("continue").unwrap_or(0), number("limit").unwrap_or(usize::MAX));
        let mut items =
            state.1.range(format!("{path}/")..format!("{path}0")).map(|(_, item)| item).skip(from);
        let page: Vec<&Value> = items.by_ref().take(limit).collect();
        let token = items.next().map(|_| format!(",\"continue\":\"{}\"", from + limit)).unwrap_or_default();
        answer(
            StatusCode::OK,
            format!("{{\"metadata\":{{\"resourceVersion\":\"1\"{token}}},\"items\":{}}}", json!(page)),
        )
    }

    fn watch(&self) -> Response<Body> {
        let changes = stream::unfold(self.changes.subscribe(), async |mut changes| {
            let change = changes.recv().await.ok()?;
            Some((Ok(Frame::data(change)), changes))
        });
        Response::new(BodyExt::boxed_unsync(StreamBody::new(changes.boxed())))
    }
}

/// Refuses what the policies of this program refuse, and stores nothing.
fn judge(body: &[u8]) -> Response<Body> {
    let text = String::from_utf8_lossy(body);
    let is_refused = ["\"s999\"", "elsewhere.example.com/"].iter().any(|refused| text.contains(refused));
    answer(if is_refused { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK }, "{}")
}

/// Starts it; its kubeconfig is in the folder.
async fn serve(folder: &Path, has_resources: bool) -> Arc<Api> {
    let identity = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = PrivatePkcs8KeyDer::from(identity.signing_key.serialize_der());
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut tls = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![identity.cert.der().clone()], key.into())
        .unwrap();
    tls.alpn_protocols = vec![b"h2".to_vec()];
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(tls));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let authority = base64::engine::general_purpose::STANDARD.encode(identity.cert.pem());
    let kubeconfig = format!(
        "current-context: c\ncontexts: [{{name: c, context: {{cluster: c, user: u}}}}]\n\
         clusters: [{{name: c, cluster: {{server: 'https://127.0.0.1:{port}', tls-server-name: localhost, \
         certificate-authority-data: {authority}}}}}]\nusers: [{{name: u, user: {{token: {TOKEN}}}}}]\n"
    );
    std::fs::write(folder.join("kubeconfig"), kubeconfig).unwrap();
    let api =
        Arc::new(Api { state: Mutex::default(), changes: broadcast::channel(1 << 12).0, has_resources });
    let served = api.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            stream.set_nodelay(true).unwrap();
            let (acceptor, api) = (acceptor.clone(), served.clone());
            tokio::spawn(async move {
                let Ok(stream) = acceptor.accept(stream).await else { return };
                let service = hyper::service::service_fn(move |request| {
                    let api = api.clone();
                    async move { Ok::<_, Infallible>(api.handle(request).await) }
                });
                let connection = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
                    .serve_connection(TokioIo::new(stream), service);
                let _ = connection.await;
            });
        }
    });
    api
}

fn arguments(folder: &Path, more: &str) -> Arguments {
    let kubeconfig = folder.join("kubeconfig");
    let line = format!("--kubeconfig {} --pid {} {more}", kubeconfig.display(), std::process::id());
    Arguments::parse(line.split_whitespace().map(str::to_owned)).unwrap()
}

/// The rows by their labels.
async fn rows(arguments: &Arguments) -> anyhow::Result<(Vec<Target>, BTreeMap<String, Cell>)> {
    let (mut targets, mut rows) = (Vec::new(), Vec::new());
    run(arguments, Path::new("."), &mut targets, &mut rows, None).await?;
    Ok((targets, rows.into_iter().map(|row| (row.label, row.cells[0].clone())).collect()))
}

const SMALL: &str = "--rounds 2 --pods 1020 --config-maps 10 --streams 4 --connections 2 --watchers 7 \
                     --many-watchers 20 --events 3";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_operation_is_measured_in_every_round() {
    let folder = tempfile::tempdir().unwrap();
    let api = serve(folder.path(), true).await;
    let (targets, rows) = rows(&arguments(folder.path(), SMALL)).await.unwrap();
    for (label, rounds) in [
        ("idle memory", 1),
        ("create ConfigMap, CPU", 2),
        ("create Pod, 4 at once", 2),
        ("replace Pod status, CPU", 2),
        ("memory, 1,020 pods + 10 ConfigMaps, as created", 1),
        ("memory, 1,020 pods + 10 ConfigMaps, after LISTs", 1),
        ("get Pod, CPU", 2),
        ("merge patch of a ConfigMap, CPU", 2),
        ("LIST 1,020 pods, protobuf, CPU", 2),
        ("LIST 1,020 pods, JSON, length", 1),
        ("LIST a page of 500 pods, JSON, CPU", 2),
        ("deliver one event, 7 watchers, 100 to a connection, CPU", 2),
        ("deliver one event, 7 watchers, one to a connection, CPU", 2),
        ("CRD to its first object", 20),
        ("dry-run create Pod, CPU", 2),
        ("with 1,000 policies that do not match", 2),
        ("and one that matches: a parameter, three validations", 2),
        ("OpenAPI v2 of everything", 5),
    ] {
        let Some(Cell::Rounds(figures)) = rows.get(label) else { panic!("no {label} in {rows:?}") };
        assert_eq!(figures.len(), rounds, "{label}");
        // The cost of an event is a difference of two figures, so it may be zero; the rest may not.
        let is_difference = label.starts_with("deliver one event");
        assert!(figures.iter().all(|figure| *figure > 0.0 || is_difference), "{label}: {figures:?}");
    }
    assert_eq!(rows["server-side apply of a ConfigMap, CPU"], Cell::NotThere);
    assert_eq!(rows["memory, 1,020 pods + 10 ConfigMaps, begun anew, no LIST yet"], Cell::Unknown);

    assert!(api.state.lock().unwrap().1.len() > 1030);
    targets[0].tidy().await.unwrap();
    // Custom resources go with their definitions, which this server knows nothing of.
    let left = |key: &&String| !key.contains(".bench.example.com/v1/things");
    assert_eq!(api.state.lock().unwrap().1.keys().find(left), None, "what was created is deleted");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn loads_are_measured_with_and_without_stalled_watchers() {
    let folder = tempfile::tempdir().unwrap();
    serve(folder.path(), true).await;
    let mut arguments = arguments(folder.path(), &format!("{SMALL} --rounds 1 --pods 40 --only load"));
    // The test is not the program that could be the greedy clients.
    arguments.itself = folder.path().join("greedy");
    std::fs::write(&arguments.itself, "#!/bin/sh\nn=0\nwhile read line; do n=$((n+50)); echo $n; done\n")
        .unwrap();
    std::fs::set_permissions(&arguments.itself, std::fs::Permissions::from_mode(0o700)).unwrap();
    let (_, rows) = rows(&arguments).await.unwrap();
    for label in [
        "32 clients LIST 40 pods at once: peak over before any LIST",
        "20 watchers, 0 stalled: delay of an event, p99",
        "20 watchers, 10 stalled: delay of an event, p50",
        "20 watchers, 10 stalled: memory after",
        "400 greedy clients of a user, 4 polite ones of another: GET beside them, p99",
        "400 greedy clients of a user, 4 polite ones of another: LISTs of the greedy",
    ] {
        let Some(Cell::Rounds(figures)) = rows.get(label) else { panic!("no {label} in {rows:?}") };
        assert!(figures[0] > 0.0, "{label}: {figures:?}");
    }
}

#[tokio::test]
async fn a_server_without_resources_does_not_have_the_operations_yet() {
    let folder = tempfile::tempdir().unwrap();
    serve(folder.path(), false).await;
    let (_, rows) = rows(&arguments(folder.path(), SMALL)).await.unwrap();
    for label in ["create Pod, CPU", "get Pod, CPU", "LIST 1,020 pods, JSON, CPU", "merge patch, 4 at once"] {
        assert_eq!(rows[label], Cell::NotThere, "{label}");
    }
    assert!(matches!(rows["idle memory"], Cell::Rounds(_)));
}

#[tokio::test]
async fn a_refusal_is_told_in_one_sentence() {
    let folder = tempfile::tempdir().unwrap();
    serve(folder.path(), true).await;
    let path = folder.path().join("kubeconfig");
    let text = std::fs::read_to_string(&path).unwrap().replace(TOKEN, "wrong");
    std::fs::write(&path, text).unwrap();
    let error = rows(&arguments(folder.path(), SMALL)).await.err().expect("a refusal");
    assert_eq!(format!("{error:#}"), "POST /api/v1/namespaces was answered 401 Unauthorized: who is this?");
}

#[tokio::test]
async fn a_server_of_another_authority_is_not_trusted() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    serve(folder.path(), true).await;
    serve(other.path(), true).await;
    let read = |folder: &Path| std::fs::read_to_string(folder.join("kubeconfig")).unwrap();
    let line = |text: &str| text.lines().find(|line| line.starts_with("clusters")).unwrap().to_owned();
    let (own, foreign) = (read(folder.path()), read(other.path()));
    let authority = |text: &str| line(text).split("authority-data: ").nth(1).unwrap().to_owned();
    let mixed = own.replace(&authority(&own), &authority(&foreign));
    std::fs::write(folder.path().join("kubeconfig"), mixed).unwrap();
    let error = rows(&arguments(folder.path(), SMALL)).await.err().expect("a refusal");
    assert!(format!("{error:#}").starts_with("cannot reach the server at 127.0.0.1:"), "{error:#}");
}
