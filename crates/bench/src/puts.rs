//! Durable puts by many writers at once, the same for every store.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use pintle_storage::{Backend, Txn};
use rand::{Rng, RngCore};

use crate::figures;

pub(crate) const WRITERS: u64 = 64;
const VALUE: usize = 1024;

/// Values that do not compress, as objects hardly do in pages of this size.
pub(crate) fn random_value() -> Bytes {
    let mut value = vec![0; VALUE];
    rand::rng().fill_bytes(&mut value);
    value.into()
}

/// The `number`th key of a cluster with a hundred namespaces.
pub(crate) fn key(number: u64) -> Bytes {
    format!("/registry/pods/namespace-{:03}/pod-{number:08}", number % 100).into()
}

/// The result of one round of puts.
#[derive(Clone, Copy)]
pub(crate) struct Puts {
    pub(crate) per_second: f64,
    p50: f64,
    p99: f64,
}

impl Puts {
    pub(crate) fn show(&self, name: &str) {
        figures::show(&format!("{name}_puts_per_second"), self.per_second, "1/s");
        figures::show(&format!("{name}_put_p50"), self.p50, "ms");
        figures::show(&format!("{name}_put_p99"), self.p99, "ms");
    }

    /// The round in the middle.
    pub(crate) fn median(mut rounds: Vec<Puts>) -> Puts {
        rounds.sort_by(|a, b| a.per_second.total_cmp(&b.per_second));
        rounds[rounds.len() / 2]
    }
}

/// Puts of new keys, or of random ones of the first `keys`.
pub(crate) async fn measure(
    store: Arc<dyn Backend>,
    time: Duration,
    keys: Option<u64>,
) -> anyhow::Result<Puts> {
    let start = Instant::now();
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..WRITERS {
        let store = store.clone();
        writers.spawn(async move {
            let mut latencies = Vec::new();
            while start.elapsed() < time {
                let key = match keys {
                    Some(keys) => key(rand::rng().random_range(0..keys)),
                    None => format!("/registry/new/{writer}/{}", latencies.len()).into(),
                };
                let sent = Instant::now();
                store.txn(Txn::put(key, random_value())).await?;
                latencies.push(sent.elapsed());
            }
            Ok::<_, pintle_storage::Error>(latencies)
        });
    }
    let mut latencies = Vec::new();
    while let Some(writer) = writers.join_next().await {
        latencies.extend(writer??);
    }
    let elapsed = start.elapsed();
    latencies.sort_unstable();
    anyhow::ensure!(!latencies.is_empty(), "no put was answered within {time:?}");
    let per_second = latencies.len() as f64 / elapsed.as_secs_f64();
    let quantile = |percent: usize| latencies[(latencies.len() - 1) * percent / 100].as_secs_f64() * 1e3;
    Ok(Puts { per_second, p50: quantile(50), p99: quantile(99) })
}
