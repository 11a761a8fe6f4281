//! Data that tests compare with: exchanges recorded from the reference, which are part of the repository ([`recorded`]), and the
//! reference's published documents, wire vectors and a store's dump, which are not.
//!
//! Published data is looked for in `PINTLE_UPSTREAM`, or in a folder beside the repository. A suite that does not find it says so
//! in one line; it has vectors of its own besides.

mod missing;
pub mod recorded;

use std::fs::File;
use std::io::{self, Read};
use std::panic::Location;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;

/// The folder of published data. `None` where there is none: then a line says that the calling file did not compare `what`.
#[track_caller]
pub fn upstream(what: &str) -> Option<PathBuf> {
    let beside = || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/upstream"));
    let folder = std::env::var_os("PINTLE_UPSTREAM").map_or_else(beside, PathBuf::from);
    if folder.is_dir() {
        return Some(folder);
    }
    missing::report(Location::caller().file(), what);
    None
}

/// Returns the text of a gzipped file.
pub fn read_gzipped(file: &Path) -> io::Result<String> {
    let mut text = String::new();
    GzDecoder::new(File::open(file)?).read_to_string(&mut text)?;
    Ok(text)
}
