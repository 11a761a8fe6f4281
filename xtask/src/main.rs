//! Chores of this repository: `cargo xtask lint` holds it to the rules that rustc and clippy do not know.

mod lint;

use std::process::ExitCode;

fn main() -> ExitCode {
    let result = match std::env::args().nth(1).as_deref() {
        Some("lint") => lint::run(),
        _ => Err(anyhow::anyhow!(
            "cargo xtask lint: checks crate layers, file lengths and documented dependencies"
        )),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            report(&format!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}

#[expect(clippy::print_stderr, reason = "a command line tool")]
fn report(text: &str) {
    eprintln!("{text}");
}
