//! Listeners of a server: they accept connections until it closes.

use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::connection::{Connections, Limits};
use crate::filter::Handler;
use crate::lifecycle::{Draining, Signal};
use crate::listener;
use crate::metrics::Metrics;
use crate::server::Running;
use crate::tls::Tls;

/// Time for clients to notice that a connection is over.
const LINGER: Duration = Duration::from_secs(2);

/// Accepts connections on any number of listeners. Dropping it closes the listeners.
pub struct Acceptor {
    accepting: JoinSet<()>,
    open: Draining,
    limits: Limits,
    metrics: Metrics,
    close: Signal,
    closed: Signal,
}

impl Acceptor {
    /// Makes one whose listeners and idle connections close when the server says so.
    pub fn new(limits: Limits, metrics: Metrics, server: &Running) -> Acceptor {
        Acceptor {
            accepting: JoinSet::new(),
            open: Draining::default(),
            limits,
            metrics,
            close: server.closes_connections(),
            closed: server.lifecycle().stopped_listening.clone(),
        }
    }

    /// Serves the connections of a listener; those of one without `tls` speak plain HTTP/1.1.
    pub fn listen(&mut self, listener: TcpListener, tls: Option<Arc<Tls>>, handler: Arc<dyn Handler>) {
        let how = if tls.is_some() { "securely" } else { "insecurely" };
        if let Ok(address) = listener.local_addr() {
            tracing::info!("Serving {how} on {address}");
        }
        let connections = Arc::new(Connections {
            tls,
            handler,
            metrics: self.metrics.clone(),
            limits: self.limits,
            stop: self.close.clone(),
        });
        let (open, close) = (self.open.clone(), self.close.clone());
        self.accepting.spawn(async move {
            tokio::select! {
                biased;
                () = close.wait() => {}
                () = accept_all(listener, connections, open) => {}
            }
        });
    }

    /// Waits until the listeners have closed, and a moment for clients to end their connections.
    pub async fn closed(mut self) {
        while self.accepting.join_next().await.is_some() {}
        self.closed.set();
        let _ = tokio::time::timeout(LINGER, self.open.drain()).await;
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
