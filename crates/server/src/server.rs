//! A whole server: built from its parts, run until told to stop.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;

use crate::Documents;
use crate::chain::{self, ChainConfig};
use crate::connection::{Connections, Limits};
use crate::filter::Handler;
use crate::handlers::{
    FlagsPage, HealthRegistry, Index, MetricsEndpoint, StatusPage, Version, VersionEndpoint,
};
use crate::lifecycle::{Draining, Hooks, Lifecycle};
use crate::listener;
use crate::metrics::Metrics;
use crate::router::Router;
use crate::systemd;
use crate::tls::Tls;

/// Clients get so long to take the answers that have begun...
const TAKE_ANSWERS: Duration = Duration::from_secs(5);
/// ...and to notice that the connection is over.
const LINGER: Duration = Duration::from_secs(2);

pub struct ServerConfig {
    pub tls: Arc<Tls>,
    pub limits: Limits,
    pub chain: ChainConfig,
    pub version: Version,
    pub metrics: Metrics,
    pub health: HealthRegistry,
    pub hooks: Hooks,
    /// Discovery and OpenAPI.
    pub documents: Arc<Documents>,
    /// Answers what is below a served group version: `/api/v1/...`, `/apis/apps/v1/...`.
    pub resources: Arc<dyn Handler>,
    /// What `/flagz` shows, if there is such a page: flags with their values.
    pub flags: Option<BTreeMap<String, String>>,
    /// Whether there is `/statusz`.
    pub status_page: bool,
    /// Further endpoints by path.
    pub endpoints: Vec<(String, Box<dyn Handler>)>,
    pub shutdown_delay: Duration,
    /// How long watches may take to end; zero where they end at once.
    pub watch_termination: Duration,
    /// The moments of the server's life.
    pub lifecycle: Lifecycle,
}

/// Ready to run.
pub struct Server {
    connections: Connections,
    unsecured: Connections,
    lifecycle: Lifecycle,
    requests: Draining,
    answers: Draining,
    hooks: Hooks,
    shutdown_delay: Duration,
    watch_termination: Duration,
    request_timeout: Duration,
    send_retry_after: bool,
}

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    #[error("the hook {name:?} failed: {reason}")]
    Hook { name: String, reason: String },
}

/// Lets a boxed handler stand where a handler is expected.
struct Boxed(Box<dyn Handler>);

#[async_trait::async_trait]
impl Handler for Boxed {
    async fn handle(&self, request: Box<crate::Request>) -> crate::Response {
        self.0.handle(request).await
    }
}

impl Server {
    pub fn new(config: ServerConfig) -> Server {
        let ServerConfig {
            tls,
            limits,
            chain,
            version,
            metrics,
            mut health,
            hooks,
            documents,
            resources,
            flags,
            status_page,
            endpoints,
            shutdown_delay,
            watch_termination,
            lifecycle,
        } = config;
        let requests = Draining::default();
        let answers = Draining::default();
        let (request_timeout, send_retry_after) = (chain.request_timeout, chain.send_retry_after);

        for (name, _, done) in &hooks.post_start {
            health.add_post_start_hook(name, done.clone());
        }
        health.add_shutdown(lifecycle.shutdown_initiated.clone());

        let mut router = Router::new(metrics.clone(), documents.clone(), resources);
        health.install(&mut router, &metrics, lifecycle.has_been_ready.clone());
        router.route("/metrics", MetricsEndpoint(metrics.registry().clone()));
        router.route("/metrics/slis", MetricsEndpoint(metrics.indicators().clone()));
        router.route("/version", VersionEndpoint::new(&version));
        for (path, handler) in endpoints {
            router.route(&path, Boxed(handler));
        }
        // They count their requests themselves, by what is asked for.
        if let Some(flags) = flags {
            router.uncounted("/flagz", FlagsPage::new(flags, chain.encodings, &metrics));
        }
        if status_page {
            let page = StatusPage::new(&version, &router.paths(), chain.encodings, &metrics);
            router.uncounted("/statusz", page);
        }
        let index = router.paths();
        router.uncounted("/version/", VersionEndpoint::new(&version));
        router.uncounted("/", Index::new(index.clone(), documents.clone()));
        router.uncounted("/index.html", Index::new(index, documents));

        let router = Arc::new(router);
        let stop = crate::lifecycle::Signal::new("StopConnections");
        let unsecured = Connections {
            tls: None,
            handler: Arc::new(chain::build_unsecured(&chain, router.clone(), &requests, &answers, &metrics)),
            metrics: metrics.clone(),
            limits,
            stop: stop.clone(),
        };
        let handler = chain::build(chain, router, &lifecycle, &requests, &answers, &metrics);
        let connections = Connections { tls: Some(tls), handler: Arc::new(handler), metrics, limits, stop };
        Server {
            connections,
            unsecured,
            lifecycle,
            requests,
            answers,
            hooks,
            shutdown_delay,
            watch_termination,
            request_timeout,
            send_retry_after,
        }
    }

    /// The moments of this server's life, for those who wait for one.
    pub fn lifecycle(&self) -> Lifecycle {
        self.lifecycle.clone()
    }

    /// Serves until `stop` is ready, then shuts down in order. `ready` is called once the server listens and all
    /// post-start hooks have been started. Whoever connects to `plain`, if there is one, speaks no TLS and may do everything.
    pub async fn run(
        self,
        listener: TcpListener,
        plain: Option<TcpListener>,
        stop: impl Future<Output = ()>,
        ready: impl FnOnce(SocketAddr),
    ) -> Result<(), Error> {
        let address = listener.local_addr().unwrap_or_else(|_| SocketAddr::from(([0, 0, 0, 0], 0)));
        let Server {
            connections,
            unsecured,
            lifecycle,
            requests,
            answers,
            hooks,
            shutdown_delay,
            watch_termination,
            request_timeout,
            send_retry_after,
        } = self;
        let stop_connections = connections.stop.clone();
        let open = Draining::default();
        let mut accepting = tokio::task::JoinSet::new();
        accepting.spawn(accept_all(listener, Arc::new(connections), open.clone()));
        tracing::info!("Serving securely on {address}");
        if let Some(plain) = plain {
            if let Ok(address) = plain.local_addr() {
                tracing::info!("Serving insecurely on {address}");
            }
            accepting.spawn(accept_all(plain, Arc::new(unsecured), open.clone()));
        }

        let mut starting = tokio::task::JoinSet::new();
        for (name, hook, done) in hooks.post_start {
            starting.spawn(async move {
                let result = hook().await;
                if result.is_ok() {
                    done.set();
                }
                result.map_err(|reason| Error::Hook { name, reason })
            });
        }
        if let Err(error) = systemd::notify("READY=1\n") {
            tracing::error!(%error, "Unable to send systemd daemon successful start message");
        }
        ready(address);

        let mut stop = std::pin::pin!(stop);
        let failed = loop {
            tokio::select! {
                () = &mut stop => break None,
                Some(finished) = starting.join_next() => match finished {
                    Ok(Ok(())) => {}
                    Ok(Err(error)) => break Some(error),
                    Err(error) => break Some(Error::Hook { name: "unknown".into(), reason: error.to_string() }),
                },
            }
        };
        // A start that failed has nobody to be polite to.
        let shutdown_delay = if failed.is_some() { Duration::ZERO } else { shutdown_delay };

        lifecycle.shutdown_initiated.set();
        let _ = systemd::notify("STOPPING=1\n");
        let delay = async {
            tokio::time::sleep(shutdown_delay).await;
            lifecycle.after_shutdown_delay.set();
        };
        let pre_shutdown = async {
            let mut result = Ok(());
            for (name, hook) in hooks.pre_shutdown {
                if let Err(reason) = hook().await {
                    tracing::error!(name, reason, "PreShutdownHook failed");
                    result = Err(Error::Hook { name, reason });
                }
            }
            lifecycle.pre_shutdown_hooks_stopped.set();
            result
        };
        let ((), pre_shutdown) = tokio::join!(delay, pre_shutdown);

        lifecycle.not_accepting.set();
        let mut stop_listening = || {
            accepting.abort_all();
            stop_connections.set();
            lifecycle.stopped_listening.set();
        };
        if !send_retry_after {
            stop_listening();
        }
        if tokio::time::timeout(request_timeout, requests.drain()).await.is_err() {
            tracing::warn!(requests = requests.active(), "gave up waiting for requests to end");
        }
        let _ = tokio::time::timeout(TAKE_ANSWERS.max(watch_termination), answers.drain()).await;
        lifecycle.drained.set();
        if send_retry_after {
            stop_listening();
        }
        let _ = tokio::time::timeout(LINGER, open.drain()).await;
        tracing::debug!("[graceful-termination] apiserver is exiting");
        match failed {
            Some(error) => Err(error),
            None => pre_shutdown,
        }
    }
}

async fn accept_all(listener: TcpListener, connections: Arc<Connections>, open: Draining) {
    loop {
        let (stream, remote) = listener::accept(&listener).await;
        let Some(guard) = open.enter() else { return };
        let connections = connections.clone();
        tokio::spawn(async move {
            connections.serve(stream, remote).await;
            drop(guard);
        });
    }
}

/// Lets the process open as many files as it may: every connection is one.
pub fn raise_open_file_limit() -> io::Result<()> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum })?;
    Ok(())
}
