//! Chores of this repository.
//!
//! - `cargo xtask lint` holds it to the rules that rustc and clippy do not know.
//! - `cargo xtask layout --map MAP --start PROFILE ... --requests PROFILE ...` lists functions that belong together in memory.
//! - `cargo xtask reached` names rules of validation that no test has seen fail.
//! - `cargo xtask schema --kubernetes CHECKOUT` writes the facts about built-in types down.

mod layout;
mod lint;
mod reached;
mod schema;

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."));
    let result = match arguments.first().map(String::as_str) {
        Some("layout") => layout::run(root, &arguments[1..]),
        Some("lint") => lint::run(root),
        Some("reached") => reached::run(root, &arguments[1..]),
        Some("schema") => schema::run(root, &arguments[1..]),
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
