//! Shortens events that are too large, and splits batches.

use std::sync::Arc;

use async_trait::async_trait;

use super::Backend;
use crate::event::{Event, Level};
use crate::metrics::Metrics;

const PLUGIN: &str = "truncate";

/// Limits of what a backend takes, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TruncateConfig {
    pub max_event_size: usize,
    pub max_batch_size: usize,
}

pub(super) struct Truncating {
    delegate: Arc<dyn Backend>,
    config: TruncateConfig,
    metrics: Metrics,
}

impl Truncating {
    pub(super) fn new(delegate: Arc<dyn Backend>, config: TruncateConfig, metrics: Metrics) -> Truncating {
        Truncating { delegate, config, metrics }
    }

    /// Returns the event as it fits, without its objects if need be; `None` if it does not fit at all.
    fn fitting(&self, event: &Arc<Event>) -> Option<Arc<Event>> {
        let most = self.config.max_event_size;
        if event.size() <= most {
            return Some(event.clone());
        }
        if event.request.level < Level::Request {
            return None;
        }
        Some(Arc::new(event.truncated())).filter(|event| event.size() <= most)
    }
}

#[async_trait]
impl Backend for Truncating {
    async fn process(&self, events: &[Arc<Event>]) -> bool {
        let (mut success, mut size) = (true, 0);
        let (mut batch, mut lost) = (Vec::with_capacity(events.len()), Vec::new());
        for event in events {
            let Some(event) = self.fitting(event) else {
                lost.push(event.clone());
                continue;
            };
            if !batch.is_empty() && size + event.size() > self.config.max_batch_size {
                success &= self.delegate.process(&batch).await;
                batch.clear();
                size = 0;
            }
            size += event.size();
            batch.push(event);
        }
        if !batch.is_empty() {
            success &= self.delegate.process(&batch).await;
        }
        if !lost.is_empty() {
            self.metrics.lost(PLUGIN, &"event is too large even after truncating", &lost);
        }
        success
    }

    fn accept(&self, event: &Arc<Event>) -> bool {
        match self.fitting(event) {
            Some(event) => self.delegate.accept(&event),
            None => {
                self.metrics.lost(
                    PLUGIN,
                    &"event is too large even after truncating",
                    std::slice::from_ref(event),
                );
                true
            }
        }
    }

    async fn shut_down(&self) {
        self.delegate.shut_down().await;
    }
}
