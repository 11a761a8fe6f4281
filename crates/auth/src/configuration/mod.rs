//! Files of the group `apiserver.config.k8s.io`: authentication and authorization.

use pintle_meta::field_path;
use pintle_outbound::configuration::{self, null_is_default};
use serde::de::DeserializeOwned;

pub mod authentication;
pub mod authorization;

pub use authentication::AuthenticationConfiguration;
pub use authorization::AuthorizationConfiguration;

const VERSIONS: [&str; 3] =
    ["apiserver.config.k8s.io/v1", "apiserver.config.k8s.io/v1beta1", "apiserver.config.k8s.io/v1alpha1"];

/// Why a file cannot be used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    #[error("{0}")]
    Read(String),
    #[error("{}", field_path::aggregate(.0))]
    Invalid(Vec<field_path::Error>),
}

/// Reads YAML or JSON that says its kind.
fn read<T: DeserializeOwned>(text: &[u8], kind: &'static str) -> Result<T, Error> {
    if text.is_empty() {
        return Err(Error::Read("empty config data".into()));
    }
    configuration::read(text, &VERSIONS, kind).map_err(Error::Read)
}
