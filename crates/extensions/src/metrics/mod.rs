//! The metrics of custom resources: documents, validation, rules in CEL, and conversion webhooks.

mod conversion;
mod definitions;

use std::sync::Arc;

use pintle_metrics::{Error, Registry};

use conversion::ConversionMetrics;
pub(crate) use conversion::{Conversion, ConversionFailure};
use definitions::DefinitionMetrics;
pub(crate) use definitions::DocumentChange;

/// The metrics of this crate. Clones are the same metrics.
#[derive(Clone)]
pub struct Metrics(Arc<Inner>);

struct Inner {
    definitions: DefinitionMetrics,
    conversions: ConversionMetrics,
}

impl Metrics {
    pub fn new(registry: &Registry) -> Result<Metrics, Error> {
        Ok(Metrics(Arc::new(Inner {
            definitions: DefinitionMetrics::new(registry)?,
            conversions: ConversionMetrics::new(registry)?,
        })))
    }
}
