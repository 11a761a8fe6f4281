//! The metrics of the store.

use pintle_metrics::{Error, Gauges, Registry};

/// The metrics of this crate. Clones are the same metrics.
#[derive(Clone)]
pub struct Metrics {
    size: Gauges,
}

impl Metrics {
    pub fn new(registry: &Registry) -> Result<Metrics, Error> {
        let size = registry.gauges(
            "apiserver_storage_size_bytes",
            "Bytes that the store takes on its disk.",
            &["storage_cluster_id"],
        )?;
        Ok(Metrics { size })
    }

    /// Sets the size of the store on its disk.
    pub fn storage_size(&self, bytes: u64) {
        self.size.with(&["etcd-0"]).set(i64::try_from(bytes).unwrap_or(i64::MAX));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_is_that_of_the_first_cluster() {
        let registry = Registry::default();
        let metrics = Metrics::new(&registry).unwrap();
        metrics.storage_size(4096);
        let text = String::from_utf8(registry.render().unwrap()).unwrap();
        assert!(
            text.contains("apiserver_storage_size_bytes{storage_cluster_id=\"etcd-0\"} 4096\n"),
            "{text}"
        );
    }
}
