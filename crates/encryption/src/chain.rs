//! Several transformers, told apart by the prefixes of values.
//!
//! The first one writes. All whose prefix fits are tried in order on reads, since several may share a prefix while keys are rotated:
//!
//! ```text
//! k8s:enc:aescbc:v1:  new:  ...      providers by the first prefix, keys of a provider by the second
//! k8s:enc:aescbc:v1:  old:  ...
//! (no prefix)         ...            identity
//! ```
//!
//! A value of any other than the first is stale.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use pintle_runtime::Stopwatch;

use crate::failure::Failure;
use crate::metrics::Direction;
use crate::transformer::{Context, NotOpened, Opened, Transformer};

/// The label in metrics of a provider without a prefix, in reads.
const IDENTITY: &str = "identity";
/// The label in metrics of values that no prefix fits.
const UNKNOWN: &str = "unknown";

/// A transformer and the prefix of its values.
#[derive(Clone)]
pub(crate) struct Prefixed {
    pub(crate) prefix: Arc<str>,
    pub(crate) transformer: Arc<dyn Transformer>,
}

impl Prefixed {
    pub(crate) fn new(prefix: &str, transformer: impl Transformer) -> Prefixed {
        Prefixed { prefix: prefix.into(), transformer: Arc::new(transformer) }
    }
}

/// Transformers in order; never empty.
pub(crate) struct Chain {
    first: Prefixed,
    others: Vec<Prefixed>,
    /// The message for values that no prefix fits.
    no_match: &'static str,
}

impl Chain {
    /// `None` without transformers.
    pub(crate) fn new(no_match: &'static str, transformers: Vec<Prefixed>) -> Option<Chain> {
        let mut transformers = transformers.into_iter();
        let first = transformers.next()?;
        Some(Chain { first, others: transformers.collect(), no_match })
    }

    /// Returns those whose prefix fits, with whether they are not the first, and what follows the prefix.
    fn fitting<'a>(&'a self, stored: &'a Bytes) -> impl Iterator<Item = (&'a Prefixed, bool, Bytes)> + Send {
        let all = std::iter::once((&self.first, false)).chain(self.others.iter().map(|other| (other, true)));
        all.filter_map(move |(prefixed, is_other)| {
            let prefix = prefixed.prefix.as_bytes();
            stored.starts_with(prefix).then(|| (prefixed, is_other, stored.slice(prefix.len()..)))
        })
    }
}

/// The attempts to decrypt one value.
struct Attempts<'a> {
    context: Context<'a>,
    watch: Stopwatch,
    failures: Vec<Failure>,
    /// Counted once the outcome is known: an attempt that needs a key is made again from the start.
    failed: Vec<&'a str>,
}

impl<'a> Attempts<'a> {
    fn new(context: Context<'a>) -> Attempts<'a> {
        Attempts { context, watch: Stopwatch::start(), failures: Vec::new(), failed: Vec::new() }
    }

    /// Takes the outcome of one; returns the value if that is it.
    fn take(
        &mut self,
        prefixed: &'a Prefixed,
        is_other: bool,
        outcome: Result<Opened, Failure>,
    ) -> Option<Opened> {
        match outcome {
            Ok(opened) => {
                self.count();
                let prefix = if prefixed.prefix.is_empty() { IDENTITY } else { &prefixed.prefix };
                self.context.metrics.transformed(
                    self.context.resource,
                    Direction::FromStorage,
                    prefix,
                    self.watch,
                    None,
                );
                Some(Opened { is_stale: opened.is_stale || is_other, ..opened })
            }
            // Identity says that a value is encrypted: then a later one is meant.
            Err(_) if prefixed.prefix.is_empty() => None,
            Err(failure) => {
                self.failed.push(&prefixed.prefix);
                self.failures.push(failure);
                None
            }
        }
    }

    fn count(&self) {
        for (prefix, failure) in self.failed.iter().zip(&self.failures) {
            let failed = Some(failure);
            self.context.metrics.transformed(
                self.context.resource,
                Direction::FromStorage,
                prefix,
                self.watch,
                failed,
            );
        }
    }

    /// The failure of a value that none could decrypt.
    fn end(self, no_match: &'static str) -> Failure {
        self.count();
        if let Some(failure) = Failure::joined(self.failures) {
            tracing::error!(error = %failure, "failed to decrypt data");
            return failure;
        }
        let failure = Failure::new(no_match);
        let (context, failed) = (self.context, Some(&failure));
        context.metrics.transformed(context.resource, Direction::FromStorage, UNKNOWN, self.watch, failed);
        failure
    }
}

#[async_trait]
impl Transformer for Chain {
    fn open(&self, stored: &Bytes, context: Context<'_>) -> Result<Opened, NotOpened> {
        let mut attempts = Attempts::new(context);
        for (prefixed, is_other, rest) in self.fitting(stored) {
            let outcome = match prefixed.transformer.open(&rest, context) {
                Ok(opened) => Ok(opened),
                Err(NotOpened::Failed(failure)) => Err(failure),
                Err(NotOpened::NeedsKey) => return Err(NotOpened::NeedsKey),
            };
            if let Some(opened) = attempts.take(prefixed, is_other, outcome) {
                return Ok(opened);
            }
        }
        Err(attempts.end(self.no_match).into())
    }

    async fn open_waiting(&self, stored: &Bytes, context: Context<'_>) -> Result<Opened, Failure> {
        let mut attempts = Attempts::new(context);
        for (prefixed, is_other, rest) in self.fitting(stored) {
            let outcome = prefixed.transformer.open_waiting(&rest, context).await;
            if let Some(opened) = attempts.take(prefixed, is_other, outcome) {
                return Ok(opened);
            }
        }
        Err(attempts.end(self.no_match))
    }

    async fn seal(&self, plain: &[u8], context: Context<'_>, out: &mut Vec<u8>) -> Result<(), Failure> {
        let (watch, prefix) = (Stopwatch::start(), &self.first.prefix);
        out.extend_from_slice(prefix.as_bytes());
        let sealed = self.first.transformer.seal(plain, context, out).await;
        let failure = sealed.as_ref().err();
        context.metrics.transformed(context.resource, Direction::ToStorage, prefix, watch, failure);
        if let Some(failure) = failure {
            tracing::error!(error = %failure, "failed to encrypt data");
        }
        sealed
    }
}
