//! `kms`: values encrypted under data keys, which a plugin on this machine encrypts under a key that never leaves it.
//!
//! Version 2 derives the key of every value from a seed that it keeps for as long as the plugin's key stays. Version 1, which is
//! off unless its feature gate is on, asks the plugin for every write.

mod data_keys;
mod endpoint;
pub(crate) mod v1;
mod v1_messages;
pub(crate) mod v2;

pub(crate) use endpoint::{Endpoint, socket_of};

use aws_lc_rs::rand;
use pintle_runtime::Stopwatch;
use zeroize::Zeroizing;

use crate::failure::Failure;
use crate::metrics::Metrics;

/// Bytes of a data key, and of a seed of data keys.
const DATA_KEY: usize = 32;

/// Generates a data key or a seed.
fn generate_key(metrics: &Metrics) -> Result<Zeroizing<Vec<u8>>, Failure> {
    let watch = Stopwatch::start();
    let mut key = Zeroizing::new(vec![0; DATA_KEY]);
    let filled = rand::fill(&mut key);
    metrics.key_generated(watch, filled.is_ok());
    filled.map_err(|_| Failure::new("unable to read sufficient random bytes"))?;
    Ok(key)
}
