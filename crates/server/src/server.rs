//! A whole server without its sockets: the handlers of all requests, the hooks around them, and the order of a shutdown.
//! [`Acceptor`](crate::Acceptor) listens for it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use pintle_runtime::Spawner;
use tokio::sync::oneshot;

use crate::Documents;
use crate::chain::{self, ChainConfig};
use crate::filter::Handler;
use crate::handlers::{
    DUMPS, FlagsPage, FlowControlDump, HealthRegistry, Index, MetricsEndpoint, StatusPage, Version,
    VersionEndpoint,
};
use crate::lifecycle::{Draining, Hook, HookDone, Hooks, Lifecycle, Signal};
use crate::metrics::Metrics;
use crate::router::Router;

/// Time for clients to receive answers that have begun when the server shuts down.
const TAKE_ANSWERS: Duration = Duration::from_secs(5);

pub struct ServerConfig {
    pub chain: ChainConfig,
    pub version: Version,
    pub metrics: Metrics,
    pub health: HealthRegistry,
    pub hooks: Hooks,
    /// Discovery and OpenAPI.
    pub documents: Arc<Documents>,
    /// Answers what is below a served group version: `/api/v1/...`, `/apis/apps/v1/...`.
    pub resources: Arc<dyn Handler>,
    /// The flags and their values that `/flagz` shows, if there is such a page.
    pub flags: Option<BTreeMap<String, String>>,
    /// Whether there is `/statusz`.
    pub status_page: bool,
    /// Further endpoints by path.
    pub endpoints: Vec<(String, Box<dyn Handler>)>,
    pub shutdown_delay: Duration,
    /// Grace period of watches; with zero they end at once.
    pub watch_termination: Duration,
    /// The moments of the server's life.
    pub lifecycle: Lifecycle,
}

/// Serves requests and knows when to stop. [`Server::start`] runs its hooks.
pub struct Server {
    handler: Arc<dyn Handler>,
    unsecured: Arc<dyn Handler>,
    lifecycle: Lifecycle,
    requests: Draining,
    answers: Draining,
    hooks: Hooks,
    shutdown_delay: Duration,
    watch_termination: Duration,
    request_timeout: Duration,
    send_retry_after: bool,
}

/// A server whose post-start hooks run or have run.
pub struct Running {
    handler: Arc<dyn Handler>,
    unsecured: Arc<dyn Handler>,
    lifecycle: Lifecycle,
    requests: Draining,
    answers: Draining,
    post_start: Vec<HookDone>,
    pre_shutdown: Vec<(String, Hook)>,
    /// `None` once it has reported a failure, or that there will be none.
    failure: Option<oneshot::Receiver<Error>>,
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

        hooks.health_checks().into_iter().for_each(|check| health.add_boot(check));
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
            router.uncounted("/flagz", FlagsPage::new(flags, chain.encodings, &metrics, &chain.random));
        }
        if status_page {
            let page = StatusPage::new(&version, &router.paths(), chain.encodings, &metrics, &chain.random);
            router.uncounted("/statusz", page);
        }
        let index = router.paths();
        for (path, dump) in DUMPS {
            if let Some(flow_control) = &chain.flow_control {
                router.uncounted(path, FlowControlDump { control: flow_control.control.clone(), dump });
            }
        }
        router.uncounted("/version/", VersionEndpoint::new(&version));
        router.uncounted("/", Index::new(index.clone(), documents.clone()));
        router.uncounted("/index.html", Index::new(index, documents));

        let router = Arc::new(router);
        let unsecured = chain::build_unsecured(&chain, router.clone(), &requests, &answers, &metrics);
        let handler = chain::build(chain, router, &lifecycle, &requests, &answers, &metrics);
        Server {
            handler: Arc::new(handler),
            unsecured: Arc::new(unsecured),
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

    /// Returns the handler of all requests that come over TLS, or from this process.
    pub fn handler(&self) -> &Arc<dyn Handler> {
        &self.handler
    }

    /// Starts the post-start hooks as tasks of `spawner`.
    pub fn start(self, spawner: &Spawner) -> Running {
        let Hooks { post_start, pre_shutdown, .. } = self.hooks;
        let (failed, failure) = oneshot::channel();
        let failed = Arc::new(std::sync::Mutex::new(Some(failed)));
        let mut all_done = Vec::with_capacity(post_start.len());
        for (name, hook, done) in post_start {
            all_done.push(done.clone());
            // A hook that panics has failed too.
            let watched = Failing { name, reason: Some("it panicked".into()), failed: failed.clone() };
            spawner.spawn(async move {
                let result = hook().await;
                if result.is_ok() {
                    done.set();
                }
                watched.finished(result.err());
            });
        }
        Running {
            handler: self.handler,
            unsecured: self.unsecured,
            lifecycle: self.lifecycle,
            requests: self.requests,
            answers: self.answers,
            post_start: all_done,
            pre_shutdown,
            failure: Some(failure),
            shutdown_delay: self.shutdown_delay,
            watch_termination: self.watch_termination,
            request_timeout: self.request_timeout,
            send_retry_after: self.send_retry_after,
        }
    }
}

/// Reports a post-start hook that did not succeed.
struct Failing {
    name: String,
    reason: Option<String>,
    failed: Arc<std::sync::Mutex<Option<oneshot::Sender<Error>>>>,
}

impl Failing {
    /// Replaces the reason, with none if the hook succeeded.
    fn finished(mut self, reason: Option<String>) {
        self.reason = reason;
    }
}

impl Drop for Failing {
    fn drop(&mut self) {
        let Some(reason) = self.reason.take() else { return };
        let failed = self.failed.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
        if let Some(failed) = failed {
            // The server may be gone by now.
            let _ = failed.send(Error::Hook { name: std::mem::take(&mut self.name), reason });
        }
    }
}

impl Running {
    /// Returns the handler of all requests that come over TLS, or from this process.
    pub fn handler(&self) -> &Arc<dyn Handler> {
        &self.handler
    }

    /// Returns the handler of requests of a port without TLS, which authenticates and authorizes nothing.
    pub fn unsecured_handler(&self) -> &Arc<dyn Handler> {
        &self.unsecured
    }

    pub fn lifecycle(&self) -> &Lifecycle {
        &self.lifecycle
    }

    /// Returns the moment at which listeners close and connections end after the requests that are under way.
    pub fn closes_connections(&self) -> Signal {
        let Lifecycle { not_accepting, drained, .. } = &self.lifecycle;
        if self.send_retry_after { drained.clone() } else { not_accepting.clone() }
    }

    /// Returns a function that says whether all post-start hooks have finished.
    pub fn is_started(&self) -> impl Fn() -> bool + use<> {
        let hooks = self.post_start.clone();
        move || hooks.iter().all(HookDone::is_done)
    }

    /// Waits until a post-start hook fails. The server cannot go on then.
    pub async fn failed(&mut self) -> Error {
        if let Some(failure) = &mut self.failure {
            let reported = failure.await;
            self.failure = None;
            if let Ok(error) = reported {
                return error;
            }
        }
        // All hooks have finished, so none will fail.
        std::future::pending().await
    }

    /// Shuts down in order, which ends with the last answer. Without `delay`, `--shutdown-delay-duration` is skipped.
    pub async fn shut_down(self, delay: bool) -> Result<(), Error> {
        let Running { lifecycle, requests, answers, .. } = self;
        lifecycle.shutdown_initiated.set();
        let shutdown_delay = if delay { self.shutdown_delay } else { Duration::ZERO };
        let delayed = async {
            tokio::time::sleep(shutdown_delay).await;
            lifecycle.after_shutdown_delay.set();
        };
        let pre_shutdown = async {
            let mut result = Ok(());
            for (name, hook) in self.pre_shutdown {
                if let Err(reason) = hook().await {
                    tracing::error!(name, reason, "PreShutdownHook failed");
                    result = Err(Error::Hook { name, reason });
                }
            }
            lifecycle.pre_shutdown_hooks_stopped.set();
            result
        };
        let ((), pre_shutdown) = tokio::join!(delayed, pre_shutdown);

        lifecycle.not_accepting.set();
        if tokio::time::timeout(self.request_timeout, requests.drain()).await.is_err() {
            tracing::warn!(requests = requests.active(), "gave up waiting for requests to end");
        }
        let _ = tokio::time::timeout(TAKE_ANSWERS.max(self.watch_termination), answers.drain()).await;
        lifecycle.drained.set();
        pre_shutdown
    }
}
