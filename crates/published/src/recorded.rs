//! Exchanges that were recorded from the reference: requests (cases) and its normalised answers (golden), one document per area.
//! The repository contains them, gzipped, in `crates/parity/data`; `crates/parity` replays them, and tests of lower crates read
//! single answers.

use std::io;
use std::path::{Path, PathBuf};

const ENDING: &str = ".json.gz";

/// The two halves of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Cases,
    Golden,
}

impl Part {
    pub const ALL: [Part; 2] = [Part::Cases, Part::Golden];

    /// The name of its folder.
    pub fn folder(self) -> &'static str {
        match self {
            Part::Cases => "cases",
            Part::Golden => "golden",
        }
    }
}

/// The folder of the repository's recordings.
pub fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../parity/data"))
}

/// The file of an area below a folder of recordings.
pub fn file(folder: &Path, part: Part, area: &str) -> PathBuf {
    folder.join(part.folder()).join(format!("{area}{ENDING}"))
}

/// The names of the areas below a folder of recordings, sorted.
pub fn areas(folder: &Path) -> io::Result<Vec<String>> {
    let mut areas = Vec::new();
    for entry in folder.join(Part::Cases.folder()).read_dir()? {
        let name = entry?.file_name();
        areas.extend(name.to_str().and_then(|name| name.strip_suffix(ENDING)).map(str::to_owned));
    }
    areas.sort();
    Ok(areas)
}

/// The JSON document of an area.
pub fn read(folder: &Path, part: Part, area: &str) -> io::Result<String> {
    crate::read_gzipped(&file(folder, part, area))
}

/// Cases and answers of all areas of the repository.
///
/// # Panics
///
/// If a document cannot be read: they are part of the repository.
pub fn exchanges() -> Vec<(String, String)> {
    let folder = folder();
    let document = |part: Part, area: &str| {
        read(&folder, part, area).unwrap_or_else(|error| panic!("{part:?} of {area}: {error}"))
    };
    let areas = areas(&folder).expect("the recorded areas");
    areas.iter().map(|area| (document(Part::Cases, area), document(Part::Golden, area))).collect()
}
