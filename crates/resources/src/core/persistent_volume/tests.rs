//! Cases of volumes.
