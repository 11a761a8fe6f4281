//! A store in memory whose watches can be made to lose changes.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use pintle_storage::{
    Backend, Error, KeyValue, LeaseId, Range, RangeRequest, Result, Revision, Stats, Txn, TxnResult,
    WatchRequest, WatchStream,
};
use pintle_storage_embedded::{Options, Store};
use tokio::sync::watch;

/// Whether watches deliver changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    Open,
    Silent,
    /// Watches end with changes lost; new ones are open.
    Lost,
}

pub(super) struct FlakyStore {
    inner: Store,
    pub(super) flow: watch::Sender<Flow>,
}

impl FlakyStore {
    pub(super) fn new() -> FlakyStore {
        FlakyStore { inner: Store::open(Options::memory()).unwrap(), flow: watch::Sender::new(Flow::Open) }
    }
}

#[async_trait]
impl Backend for FlakyStore {
    async fn watch(&self, request: WatchRequest) -> Result<WatchStream> {
        let changes = self.inner.watch(request).await?;
        let (flow, end) = (self.flow.subscribe(), self.flow.clone());
        Ok(Box::pin(stream::unfold((changes, flow, end), |(mut changes, mut flow, end)| async move {
            loop {
                let now = *flow.borrow_and_update();
                match now {
                    Flow::Lost => {
                        end.send_replace(Flow::Open);
                        let compacted = Revision(1);
                        return Some((
                            Err(Error::Compacted { requested: compacted, compacted }),
                            (changes, flow, end),
                        ));
                    }
                    Flow::Silent => flow.changed().await.ok()?,
                    Flow::Open => tokio::select! {
                        biased;
                        _ = flow.changed() => {}
                        item = changes.next() => return Some((item?, (changes, flow, end))),
                    },
                }
            }
        })))
    }

    async fn get(&self, key: &[u8], at: Option<Revision>) -> Result<(Option<KeyValue>, Revision)> {
        self.inner.get(key, at).await
    }

    async fn range(&self, request: RangeRequest) -> Result<Range> {
        self.inner.range(request).await
    }

    async fn count(&self, prefix: &[u8]) -> Result<u64> {
        self.inner.count(prefix).await
    }

    async fn txn(&self, txn: Txn) -> Result<TxnResult> {
        self.inner.txn(txn).await
    }

    async fn rehearse(&self, value: Bytes) -> Result<Bytes> {
        self.inner.rehearse(value).await
    }

    async fn request_progress(&self) -> Result<()> {
        self.inner.request_progress().await
    }

    async fn current_revision(&self) -> Result<Revision> {
        self.inner.current_revision().await
    }

    async fn compact(&self, revision: Revision) -> Result<()> {
        self.inner.compact(revision).await
    }

    async fn compacted_revision(&self) -> Result<Revision> {
        self.inner.compacted_revision().await
    }

    async fn lease(&self, ttl: Duration) -> Result<LeaseId> {
        self.inner.lease(ttl).await
    }

    async fn health(&self) -> Result<()> {
        self.inner.health().await
    }

    async fn stats(&self) -> Result<Stats> {
        self.inner.stats().await
    }

    async fn close(&self) -> Result<()> {
        self.inner.close().await
    }
}
