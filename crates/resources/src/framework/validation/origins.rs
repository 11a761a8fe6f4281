//! Lines of rules whose errors tests have seen.
//!
//! With `PINTLE_ERROR_ORIGINS=FILE` a run of the tests appends each line to a file, once. `cargo xtask reached` compares them
//! with the lines of the source that can report an error.

use std::collections::HashSet;
use std::io::Write;
use std::panic::Location;
use std::sync::{LazyLock, Mutex};

use pintle_meta::field_path::Error;

/// The file of a run, and the lines it has.
struct Origins {
    file: std::fs::File,
    known: HashSet<(&'static str, u32)>,
}

static ORIGINS: LazyLock<Option<Mutex<Origins>>> = LazyLock::new(|| {
    let path = std::env::var_os("PINTLE_ERROR_ORIGINS")?;
    let file = std::fs::File::options().create(true).append(true).open(path).ok()?;
    Some(Mutex::new(Origins { file, known: HashSet::new() }))
});

/// Records the line where an error was made and the line that reported it.
pub(super) fn record(error: &Error, reporter: &'static Location<'static>) {
    let Some(origins) = &*ORIGINS else { return };
    let Ok(mut origins) = origins.lock() else { return };
    let Origins { file, known } = &mut *origins;
    for origin in error.origin.location().into_iter().chain([(reporter.file(), reporter.line())]) {
        if known.insert(origin) {
            writeln!(file, "{}:{}", origin.0, origin.1).expect("the file of origins can be written");
        }
    }
}
