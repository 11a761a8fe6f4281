//! Structured logging in the two formats of Kubernetes components: klog's text and JSON lines.
//!
//! Code logs through `tracing`; [`init`] installs the subscriber that writes the lines. How much is written follows
//! klog's `-v`:
//!
//! | tracing level | klog | own crates from | libraries from | text | JSON |
//! |---|---|---|---|---|---|
//! | `ERROR` | error | always | always | `E` | no `v`, error under `err` |
//! | `WARN` | warning | always | `-v 4` | `W` | `"v":0` |
//! | `INFO` | info | always | `-v 4` | `I` | `"v":0` |
//! | `DEBUG` | V(2) | `-v 2` | `-v 8` | `I` | `"v":2` |
//! | `TRACE` | V(4) | `-v 4` | `-v 10` | `I` | `"v":4` |
//!
//! `--vmodule=pattern=N` replaces N for source files whose name without extension matches. A `mod.rs`, `lib.rs` or
//! `main.rs` also goes by the name of its module: `filters/mod.rs` by `filters`, `crates/cache/src/lib.rs` by `cache`.
//!
//! Every value of a message or field is quoted as Go does it, so that a request cannot forge log
//! lines. Times are UTC. A closed or full output never fails a caller: what cannot be written is lost.

mod filter;
mod json;
mod layer;
mod output;
mod quote;
mod text;

use std::time::Duration;

use tracing_subscriber::layer::SubscriberExt;

pub use filter::VModule;
pub use layer::KlogLayer;
pub use output::Guard;

/// How log lines look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// klog: `I1115 21:04:05.123456   12345 file.rs:42] "message" key="value"`.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}

/// The configuration of the log.
#[derive(Clone, Debug)]
pub struct Config {
    /// How lines look.
    pub format: Format,
    /// klog's verbosity.
    pub verbosity: u32,
    /// Another verbosity for single files; the first match counts.
    pub vmodule: Vec<VModule>,
    /// Errors to standard error and the rest to standard output, instead of all to standard error.
    pub split_stream: bool,
    /// Bytes of lines for standard output to hold back; only with `split_stream`. 0 writes each at once.
    pub info_buffer_size: usize,
    /// How long a held-back line waits at most.
    pub flush_frequency: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            format: Format::Text,
            verbosity: 0,
            vmodule: Vec::new(),
            split_stream: false,
            info_buffer_size: 0,
            flush_frequency: Duration::from_secs(5),
        }
    }
}

/// Why logging could not be set up.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// `init` ran before, or something else installed a subscriber.
    #[error("logging is already set up")]
    AlreadyInstalled,
    /// The thread that writes out held-back lines did not start.
    #[error("cannot start the thread that flushes the log: {0}")]
    Flusher(std::io::Error),
}

/// Installs the process-wide subscriber. Keep the guard until the end of `main`: dropping it writes out what is held
/// back, and it changes the verbosity of a running server.
pub fn init(config: Config) -> Result<Guard, Error> {
    let (layer, guard) = layer(&config)?;
    let subscriber = tracing_subscriber::registry().with(layer);
    tracing::subscriber::set_global_default(subscriber).map_err(|_| Error::AlreadyInstalled)?;
    Ok(guard)
}

/// The layer that [`init`] installs, for a subscriber of one's own.
pub fn layer(config: &Config) -> Result<(KlogLayer, Guard), Error> {
    let filter = filter::Filter::new(config.verbosity, config.vmodule.clone());
    let output = output::Output::standard(config);
    let guard = Guard::new(filter.clone(), output.clone(), config.flush_frequency)?;
    Ok((KlogLayer::new(config.format, filter, output), guard))
}
