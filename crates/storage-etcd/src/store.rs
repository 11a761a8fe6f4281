//! The contract on etcd.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use pintle_storage::{
    Backend, Error, KeyValue, LeaseId, Op, Range, RangeRequest, Result, Revision, Stats, Txn, TxnResult,
    WatchRequest, WatchStream,
};
use prost::Message;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::classify::Failure;
use crate::client::{Client, Effect};
use crate::compactor::COMPACT_REV_KEY;
use crate::config::{self, Config};
use crate::leases::Leases;
use crate::pool::Pool;
use crate::proto::{CompactionRequest, StatusRequest};
use crate::{kv, watch as watches};

/// etcd's default for `--max-request-bytes`; its refusal does not tell the real one.
const DEFAULT_REQUEST_LIMIT: usize = 1_572_864;
/// The pause between rounds that look for members which never answered.
const LOOK_AGAIN: Duration = Duration::from_secs(15);

/// A store on an etcd cluster. Clones share everything.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    client: Client,
    closed: watch::Sender<bool>,
    asks: watch::Sender<Revision>,
    leases: Leases,
    health_key: Bytes,
    /// The highest compacted revision that this store has heard of.
    compacted: AtomicU64,
}

impl Store {
    /// Connects to the cluster. Fails when the configuration is not usable or no member answers within the dial timeout;
    /// from then on connections are made anew as needed.
    pub async fn connect(config: Config) -> Result<Store, config::Error> {
        let after = config.dial_timeout;
        let (window, health_key) = (config.lease_window, config.health_key().into());
        let pool = Arc::new(Pool::new(config)?);
        let connected = pool.connection(None, Instant::now() + after).await;
        connected.map_err(|last| config::Error::Unreachable { after, last })?;
        let (closed, is_closed) = watch::channel(false);
        let client = Client { pool, closed: is_closed };
        for member in 0..client.pool.len() {
            tokio::spawn(meet(client.clone(), member));
        }
        let inner = Inner {
            client,
            closed,
            asks: watch::Sender::default(),
            leases: Leases::new(window),
            health_key,
            compacted: AtomicU64::new(0),
        };
        Ok(Store { inner: Arc::new(inner) })
    }

    /// Whether requested watch progress is supported by every member met so far.
    pub fn supports_progress(&self) -> bool {
        self.inner.client.pool.progress_trusted()
    }

    pub(crate) fn client(&self) -> &Client {
        &self.inner.client
    }

    pub(crate) fn heard_of_compaction(&self, revision: Revision) {
        self.inner.compacted.fetch_max(revision.0, Ordering::Relaxed);
    }

    async fn key(&self, key: Bytes, at: Option<Revision>) -> Result<(Option<KeyValue>, Revision), Failure> {
        let (found, revision) = kv::get(&self.inner.client, key, at).await?;
        Ok((found.map(kv::key_value), revision))
    }

    async fn newest(&self) -> Result<Revision, Failure> {
        Ok(self.key(self.inner.health_key.clone(), None).await?.1)
    }

    /// A failure in the terms of a request about a revision. etcd does not say what the revision should have been, so
    /// that is asked.
    async fn error(&self, failure: Failure, requested: Option<Revision>) -> Error {
        let requested = requested.unwrap_or(Revision::ZERO);
        match failure {
            Failure::Compacted => {
                let compacted = self.compacted_revision().await.unwrap_or(Revision::ZERO);
                Error::Compacted { requested, compacted: compacted.max(requested.next()) }
            }
            Failure::FutureRevision => match self.newest().await {
                // Reached in the meantime, so it was the next one at least.
                Ok(current) if current >= requested => {
                    Error::FutureRevision { requested, current: Revision(requested.0.saturating_sub(1)) }
                }
                Ok(current) => Error::FutureRevision { requested, current },
                Err(failure) => plain(failure),
            },
            failure => plain(failure),
        }
    }
}

/// A failure that needs no context.
pub(crate) fn plain(failure: Failure) -> Error {
    match failure {
        Failure::Unavailable(message) | Failure::AnswerTooLarge(message) => Error::Unavailable(message),
        Failure::Unknown(message) => Error::Unknown(message),
        Failure::NoSpace(message) => Error::NoSpace(message),
        Failure::InvalidArgument(message) => Error::InvalidArgument(message),
        Failure::Corrupt(message) => Error::Corrupt(message),
        Failure::Closed => Error::Closed,
        Failure::TooLarge => Error::TooLarge { size: 0, limit: DEFAULT_REQUEST_LIMIT },
        Failure::LeaseNotFound => Error::LeaseNotFound(0),
        Failure::Compacted | Failure::FutureRevision => {
            Error::Unavailable(format!("unexpected answer: {failure:?}"))
        }
    }
}

/// Connects to a member once, so that its version is known and it is ready when another fails.
async fn meet(mut client: Client, member: usize) {
    let pool = client.pool.clone();
    let met = async {
        while pool.dial(member).await.is_err() {
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    };
    tokio::select! {
        () = met => {}
        () = client.wait_closed() => {}
    }
}

#[async_trait]
impl Backend for Store {
    async fn get(&self, key: &[u8], at: Option<Revision>) -> Result<(Option<KeyValue>, Revision)> {
        match self.key(Bytes::copy_from_slice(key), at).await {
            Ok(found) => Ok(found),
            Err(failure) => Err(self.error(failure, at).await),
        }
    }

    async fn range(&self, request: RangeRequest) -> Result<Range> {
        match kv::range(&self.inner.client, &request).await {
            Ok(range) => Ok(range),
            Err(failure) => Err(self.error(failure, request.at).await),
        }
    }

    async fn count(&self, prefix: &[u8]) -> Result<u64> {
        kv::count(&self.inner.client, &Bytes::copy_from_slice(prefix)).await.map_err(plain)
    }

    async fn txn(&self, txn: Txn) -> Result<TxnResult> {
        let request = kv::txn_request(&txn)?;
        let size = request.encoded_len();
        // Without changes it can be tried again like any read.
        let effect = if txn.then.is_empty() { Effect::Repeatable } else { Effect::Once };
        match self.inner.client.call(request, effect).await.and_then(kv::txn_result) {
            Ok(result) => Ok(result),
            Err(Failure::TooLarge) => Err(Error::TooLarge { size, limit: DEFAULT_REQUEST_LIMIT }),
            Err(Failure::LeaseNotFound) => {
                // The caller asks for a lease again and gets a new one.
                let leases = txn.then.iter().filter_map(|op| match op {
                    Op::Put { lease, .. } => *lease,
                    Op::Delete { .. } => None,
                });
                let leases: Vec<LeaseId> = leases.collect();
                for lease in &leases {
                    self.inner.leases.forget(*lease).await;
                }
                Err(Error::LeaseNotFound(leases.first().map_or(0, |lease| lease.0)))
            }
            Err(failure) => Err(plain(failure)),
        }
    }

    async fn watch(&self, request: WatchRequest) -> Result<WatchStream> {
        watches::watch(self.inner.client.clone(), self.inner.asks.subscribe(), request).await
    }

    async fn request_progress(&self) -> Result<()> {
        if self.inner.client.is_closed() {
            return Err(Error::Closed);
        }
        if !self.supports_progress() {
            return Err(Error::Unsupported(
                "watch progress of this version of etcd cannot be trusted".to_owned(),
            ));
        }
        // A member may lag behind: its progress counts only when it has reached what the cluster has now.
        let revision = self.newest().await.map_err(plain)?;
        self.inner.asks.send_replace(revision);
        Ok(())
    }

    async fn current_revision(&self) -> Result<Revision> {
        self.newest().await.map_err(plain)
    }

    async fn compact(&self, revision: Revision) -> Result<()> {
        let request = CompactionRequest { revision: kv::to_etcd(revision) };
        match self.inner.client.call(request, Effect::Repeatable).await {
            Ok(_) => {
                self.heard_of_compaction(revision);
                Ok(())
            }
            Err(Failure::Compacted) => Ok(()),
            Err(failure) => Err(self.error(failure, Some(revision)).await),
        }
    }

    async fn compacted_revision(&self) -> Result<Revision> {
        // The revision that the API servers on this etcd compacted last.
        let (found, _) = self.key(COMPACT_REV_KEY, None).await.map_err(plain)?;
        let shared = found.and_then(|kv| std::str::from_utf8(&kv.value).ok()?.parse().ok()).unwrap_or(0);
        Ok(Revision(self.inner.compacted.fetch_max(shared, Ordering::Relaxed).max(shared)))
    }

    async fn lease(&self, ttl: Duration) -> Result<LeaseId> {
        self.inner.leases.lease(&self.inner.client, ttl).await.map_err(plain)
    }

    async fn health(&self) -> Result<()> {
        self.newest().await.map(drop).map_err(plain)
    }

    async fn stats(&self) -> Result<Stats> {
        let status = self.inner.client.call(StatusRequest {}, Effect::Repeatable).await.map_err(plain)?;
        let bytes = |size: i64| u64::try_from(size).unwrap_or(0);
        Ok(Stats { size: bytes(status.db_size), size_in_use: bytes(status.db_size_in_use) })
    }

    async fn close(&self) -> Result<()> {
        self.inner.closed.send_replace(true);
        Ok(())
    }
}
