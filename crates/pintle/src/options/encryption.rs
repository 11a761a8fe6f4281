//! Options of encryption at rest.

use std::path::PathBuf;

use pintle_features::Feature;
use pintle_flags::Parsed;

use super::path;

pub(crate) struct EncryptionOptions {
    /// `--encryption-provider-config`.
    pub(crate) config: Option<PathBuf>,
    /// `--encryption-provider-config-automatic-reload`.
    pub(crate) reloads: bool,
    /// Whether KMS v1 may be used.
    pub(crate) kms_v1: bool,
}

impl EncryptionOptions {
    pub(super) fn from_flags(flags: &Parsed) -> EncryptionOptions {
        EncryptionOptions {
            config: path(flags, "encryption-provider-config"),
            reloads: flags.bool("encryption-provider-config-automatic-reload"),
            kms_v1: flags.features().enabled(Feature::KMSv1),
        }
    }
}
