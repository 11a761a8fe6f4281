//! Cost of webhooks for a request that none matches: creates of a ConfigMap that is not stored, in a control plane without sockets,
//! before and after many webhooks for other resources were registered.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use http::Method;
use http_body_util::{BodyExt, Full};
use pintle_control_plane::{Config, ControlPlane};
use pintle_runtime::Stopwatch;
use pintle_server::filter::Handler;
use pintle_server::{Connection, Request};
use pintle_storage_embedded::{Options, Store};
use serde_json::{Value, json};

use crate::figures::show;

const REGISTRATION: &str = "/apis/admissionregistration.k8s.io/v1";
const CREATES: u32 = 4_000;
const ROUNDS: usize = 7;

pub(crate) async fn measure() -> anyhow::Result<()> {
    let plane = Plane::start().await?;
    let before = plane.create().await?;
    show("create of a ConfigMap in process, dry run", before, "us");

    for place in 0..100 {
        let hook = |hook: usize| {
            let resource = format!("things{place}x{hook}");
            json!({
                "name": format!("h{hook}.example.com"), "admissionReviewVersions": ["v1"], "sideEffects": "None",
                "clientConfig": {"url": "https://127.0.0.1:1/"},
                "rules": [{"apiGroups": ["example.com"], "apiVersions": ["*"], "operations": ["*"], "resources": [resource]}],
            })
        };
        let hooks: Vec<Value> = (0..10).map(hook).collect();
        let object = json!({"metadata": {"name": format!("c{place}")}, "webhooks": hooks});
        plane.post(&format!("{REGISTRATION}/validatingwebhookconfigurations"), &object).await?;
    }
    let hooks = plane.create().await?;
    show("the same with 100 webhook configurations of 1,000 rules, more by", hooks - before, "us");

    plane.plane.stop().await?;
    Ok(())
}

struct Plane {
    plane: ControlPlane,
    handler: Arc<dyn Handler>,
    connection: Arc<Connection>,
}

impl Plane {
    async fn start() -> anyhow::Result<Plane> {
        let backend = Arc::new(Store::open(Options::memory())?);
        let plane = ControlPlane::start(backend, Config::new()?).await?;
        let address = SocketAddr::from(([127, 0, 0, 1], 6443));
        let connection = Arc::new(Connection::new(address, address, Vec::new()));
        let handler = plane.handler();
        let plane = Plane { plane, handler, connection };
        // The namespace `default` is made by a hook.
        while plane.send(Method::GET, "/readyz", None).await? != 200 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Ok(plane)
    }

    async fn send(&self, method: Method, path: &str, body: Option<&Value>) -> anyhow::Result<u16> {
        let (parts, ()) = http::Request::builder()
            .method(method)
            .uri(format!("https://127.0.0.1:6443{path}"))
            .header("content-type", "application/json")
            .body(())
            .map(http::Request::into_parts)?;
        let body = body.map(Value::to_string).unwrap_or_default();
        let body = Full::new(body.into()).map_err(|never: Infallible| match never {}).boxed();
        let answer = self.handler.handle(Request::new(parts, body, self.connection.clone())).await;
        let code = answer.status().as_u16();
        let _ = answer.into_body().collect().await.map_err(|error| anyhow::anyhow!("{error}"))?;
        Ok(code)
    }

    async fn post(&self, path: &str, object: &Value) -> anyhow::Result<()> {
        let code = self.send(Method::POST, path, Some(object)).await?;
        anyhow::ensure!(code == 201, "{path} answered {code}");
        Ok(())
    }

    /// Returns the microseconds of one create, in the best of several rounds.
    async fn create(&self) -> anyhow::Result<f64> {
        let object = json!({"metadata": {"name": "a"}, "data": {"k": "v"}});
        let path = "/api/v1/namespaces/default/configmaps?dryRun=All";
        let mut best = f64::INFINITY;
        for _ in 0..ROUNDS {
            let watch = Stopwatch::start();
            for _ in 0..CREATES {
                self.post(path, &object).await.context("a dry run")?;
            }
            best = best.min(watch.elapsed().as_secs_f64() * 1e6 / f64::from(CREATES));
        }
        Ok(best)
    }
}
