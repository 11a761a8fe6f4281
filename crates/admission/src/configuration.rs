//! The configuration of plugins, from the file of `--admission-control-config-file`.

mod file;

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use pintle_outbound::configuration::ConfigurationKind;
use serde::de::DeserializeOwned;

pub use file::{ConfigurationSource, configuration_sources};

/// The configurations of plugins: for each name, the bytes of its embedded configuration or of its file. Not decoded: each
/// plugin knows its own kind.
#[derive(Clone, Debug, Default)]
pub struct Configurations(Arc<HashMap<String, Bytes>>);

impl Configurations {
    pub fn new(by_plugin: impl IntoIterator<Item = (String, Bytes)>) -> Configurations {
        Configurations(Arc::new(by_plugin.into_iter().collect()))
    }

    /// Returns the configuration of a plugin as JSON or YAML; `None` if the file has none for it.
    pub fn of(&self, plugin: &str) -> Option<&Bytes> {
        self.0.get(plugin)
    }

    /// Decodes the configuration of a plugin; `None` if the file has none for it. Errors are the reference's.
    pub(crate) fn decode<T: DeserializeOwned>(
        &self,
        plugin: &str,
        kind: &ConfigurationKind,
    ) -> Result<Option<T>, String> {
        let decoded = self.of(plugin).map(|text| kind.decode(text)).transpose();
        decoded.map_err(|error| error.to_string())
    }
}
