//! Cost of all filters of a request on one core: from its headers to a handler that does nothing.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use futures_util::FutureExt;
use http::{Method, StatusCode};
use http_body_util::{BodyExt, Empty};
use pintle_audit::backend::{self, BatchConfig, Delivery, Format, LogBackend, Mode, Output, Surroundings};
use pintle_audit::policy::Policy as AuditPolicy;
use pintle_audit::{Auditor, AuditorConfig};
use pintle_auth::authenticator::{BearerToken, ForThisServer, OrAnonymous, TokenFile, TokenUnion, Union};
use pintle_auth::authorizer::rbac::{Policy, Rbac, Source};
use pintle_auth::authorizer::{self, PrivilegedGroup};
use pintle_codec::json;
use pintle_metrics::Registry;
use pintle_runtime::{Clock, Tasks};
use pintle_server::chain::{self, ChainConfig};
use pintle_server::filter::Handler;
use pintle_server::filters::FlowControlConfig;
use pintle_server::lifecycle::{Draining, Lifecycle};
use pintle_server::{Connection, Metrics, Request, RequestBody, Response, respond};

use crate::codec::micros;
use crate::figures::show;

struct Nothing;

#[async_trait::async_trait]
impl Handler for Nothing {
    async fn handle(&self, _: Box<Request>) -> Response {
        respond::text(StatusCode::OK, "")
    }
}

/// Roles that do not change.
struct Fixed(Policy);

impl Source for Fixed {
    async fn ready(&self) -> bool {
        true
    }

    async fn catch_up(&self) {}

    async fn current(&self) -> bool {
        true
    }

    fn read<R>(&self, read: impl FnOnce(&Policy) -> R) -> R {
        read(&self.0)
    }
}

pub(crate) fn measure(runtime: &tokio::runtime::Runtime) -> anyhow::Result<()> {
    let _entered = runtime.enter();
    let (lifecycle, requests, answers) = (Lifecycle::default(), Draining::default(), Draining::default());
    let registry = Registry::default();
    let auth = pintle_auth::Metrics::new(&registry, &Clock::system())?;
    let metrics = Metrics::new(&registry, &auth)?;
    let handler = Arc::new(Nothing);
    let chain = chain::build(config()?, handler.clone(), &lifecycle, &requests, &answers, &metrics);
    let connection = Arc::new(Connection::new(address(), address(), Vec::new()));
    let request = |token: &str| {
        let (parts, ()) = http::Request::builder()
            .method(Method::GET)
            .uri("https://127.0.0.1:6443/api/v1/namespaces/team/pods/web-0")
            .header("authorization", format!("Bearer {token}"))
            .header("accept", "application/json")
            .header("user-agent", "kubectl/v1.36.0 (linux/amd64) kubernetes/0000000")
            .body(())
            .map(http::Request::into_parts)?;
        let body: RequestBody = Empty::new().map_err(|never| match never {}).boxed();
        Ok::<_, anyhow::Error>(Request::new(parts, body, connection.clone()))
    };
    for token in ["root-token", "alice-token"] {
        let answer = chain.handle(request(token)?).now_or_never().context("nothing waits here")?;
        anyhow::ensure!(answer.status() == StatusCode::OK, "{token}: {}", answer.status());
    }
    let bare = micros(&mut || {
        let _ = request("alice-token").map(|request| handler.handle(request).now_or_never());
    });
    for level in ["None", "Metadata"] {
        let audited = ChainConfig { auditor: Some(auditor(level)?), ..config()? };
        let chain = chain::build(audited, handler.clone(), &lifecycle, &requests, &answers, &metrics);
        let through = micros(&mut || {
            let _ = request("alice-token").map(|request| chain.handle(request).now_or_never());
        });
        show(&format!("all filters, a user with a role, audit level {level}, batch"), through - bare, "us");
    }
    for (who, token) in [("an administrator", "root-token"), ("a user with a role", "alice-token")] {
        let through = micros(&mut || {
            let _ = request(token).map(|request| chain.handle(request).now_or_never());
        });
        show(&format!("all filters, {who}"), through - bare, "us");
    }
    Ok(())
}

/// Records all requests at a level, in batch mode, and writes them nowhere.
fn auditor(level: &str) -> anyhow::Result<Arc<Auditor>> {
    let policy = format!("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n- level: {level}\n");
    let (tasks, clock) = (Tasks::new(), Clock::system());
    let metrics = pintle_audit::Metrics::new(&Registry::default())?;
    let surroundings =
        Surroundings { metrics: metrics.clone(), clock: clock.clone(), spawner: tasks.spawner() };
    let batch = BatchConfig {
        buffer_size: 1_000_000,
        max_size: 1,
        max_wait: Duration::ZERO,
        throttle: None,
        side_by_side: false,
    };
    let log = LogBackend::new(Output::Other(Box::new(std::io::sink())), Format::Json, metrics.clone());
    let delivery = Delivery { mode: Mode::Batch(batch), truncate: None };
    let backend = backend::delivering(Arc::new(log), &delivery, &surroundings);
    let policy = AuditPolicy::parse(policy.as_bytes())?;
    Ok(Auditor::new(AuditorConfig { policy, backend, metrics, clock, tasks }))
}

fn address() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 6443))
}

fn config() -> anyhow::Result<ChainConfig> {
    let file = tempfile::NamedTempFile::new()?;
    std::fs::write(file.path(), "root-token,root,u1,system:masters\nalice-token,alice,u2,dev\n")?;
    let audiences: Arc<[String]> = Arc::new(["https://kubernetes.default.svc".to_owned()]);
    let tokens = ForThisServer { tokens: TokenFile::load(file.path())?, audiences: audiences.clone() };
    let tokens = Arc::new(TokenUnion(vec![Arc::new(tokens)]));
    let authenticator = Union(vec![Arc::new(BearerToken { tokens, audiences })]);
    let authorizer =
        authorizer::Union(vec![Arc::new(PrivilegedGroup), Arc::new(Rbac::new(Fixed(policy()?)))]);
    let flow_control =
        FlowControlConfig { control: crate::flow_control::control()?, refresh: Arc::new(|| {}), seats: 600 };
    Ok(ChainConfig {
        flow_control: Some(flow_control),
        ..ChainConfig::new(Arc::new(OrAnonymous::new(authenticator)), Arc::new(authorizer))
    })
}

/// One role for alice, among others.
fn policy() -> anyhow::Result<Policy> {
    let mut policy = Policy::default();
    let object = |text: String| Ok::<_, anyhow::Error>(json::decode_untyped(text.as_bytes())?.value);
    let role = object(
        r#"{"rules":[{"apiGroups":[""],"resources":["pods"],"verbs":["get","list","watch"]}]}"#.into(),
    )?;
    policy.set_role("team", "reader", Some(&role));
    for (name, user) in [("a", "alice"), ("b", "bob")] {
        let binding = object(format!(
            r#"{{"roleRef":{{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"reader"}},
                "subjects":[{{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"{user}"}}]}}"#
        ))?;
        policy.set_binding("team", name, Some(&binding));
    }
    Ok(policy)
}
