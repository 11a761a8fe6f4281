//! Tells what was not compared for want of published data, once for each suite (test file).
//!
//! Lines go to the file that `PINTLE_NOT_COMPARED` names, which `scripts/test.sh` prints after all tests. Else they go to standard
//! error, past the test harness, which would not show the output of a test that passes.

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

const FILE: &str = "PINTLE_NOT_COMPARED";

pub(crate) fn report(suite: &'static str, what: &str) {
    static TOLD: Mutex<BTreeSet<&str>> = Mutex::new(BTreeSet::new());
    if TOLD.lock().unwrap_or_else(PoisonError::into_inner).insert(suite) {
        // A test passes or fails by what it compares, not by whether this can be written.
        let _ = write(&line(suite, what));
    }
}

fn line(suite: &str, what: &str) -> String {
    format!("{suite}: not compared with {what}: no published data (PINTLE_UPSTREAM names its folder)\n")
}

fn write(line: &str) -> io::Result<()> {
    match std::env::var_os(FILE) {
        // One write for each line, so that lines of several processes stay whole.
        Some(file) => OpenOptions::new().create(true).append(true).open(file)?.write_all(line.as_bytes()),
        None => io::stderr().write_all(line.as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_names_suite_data_and_remedy() {
        assert_eq!(
            line("crates/a/tests/b.rs", "full objects"),
            "crates/a/tests/b.rs: not compared with full objects: no published data (PINTLE_UPSTREAM names its folder)\n"
        );
    }
}
