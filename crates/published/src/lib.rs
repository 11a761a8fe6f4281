//! Where tests find the reference's published data, if it is at hand: `PINTLE_UPSTREAM`, or a folder beside the repository.
//! The repository does not contain it; tests that compare with it have vectors of their own besides.

use std::path::PathBuf;

/// The folder of published documents, wire vectors and a store's dump; `None` where there is none.
pub fn upstream() -> Option<PathBuf> {
    let beside = || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/upstream"));
    let folder = std::env::var_os("PINTLE_UPSTREAM").map_or_else(beside, PathBuf::from);
    folder.is_dir().then_some(folder)
}

/// The folder of recorded exchanges, which lies next to it.
pub fn parity() -> Option<PathBuf> {
    let folder = upstream()?.parent()?.join("parity");
    folder.is_dir().then_some(folder)
}
