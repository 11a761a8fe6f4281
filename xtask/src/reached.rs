//! Which rules of validation no test has seen fail.
//!
//! A run of the unit tests of `resources` with `PINTLE_ERROR_ORIGINS=FILE` lists the lines whose errors it saw. Every other line
//! that can report an error is named here, so a rule without a test of its failure does not stay unnoticed.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

const SOURCE: &str = "crates/resources/src";

/// Calls that report an error, or that run a shared check which may.
const REPORTERS: &[&str] = &[
    ".invalid(",
    ".required(",
    ".forbidden(",
    ".duplicate(",
    ".not_found(",
    ".not_supported(",
    ".too_long(",
    ".too_many(",
    ".too_few(",
    ".internal(",
    ".immutable(",
    ".report(",
    ".text_format(",
    ".integer_format(",
    ".text_check(",
    ".non_negative(",
    ".positive(",
    ".non_negative_quantity(",
    ".positive_quantity(",
    ".one_of(",
    ".required_one_of(",
    ".conditions(",
    ".labels(",
    ".annotations(",
    ".label_selector(",
    ".legacy_ip(",
    ".legacy_cidr(",
    ".conditions(",
    "declarative::immutable(",
    "declarative::required(",
    "declarative::required_value(",
    "declarative::required_items(",
    "declarative::forbidden(",
    "declarative::forbidden_value(",
    "declarative::max_items(",
    "declarative::max_bytes(",
    "declarative::minimum(",
    "declarative::maximum(",
    "declarative::union(",
    "declarative::unique_by(",
    "Error::invalid(",
    "Error::required(",
    "Error::forbidden(",
    "Error::duplicate(",
    "Error::not_found(",
    "Error::not_supported(",
    "Error::too_long(",
    "Error::too_many(",
    "Error::too_few(",
    "Error::internal(",
    "Error::type_invalid(",
];

/// Ends a line whose error cannot be provoked; the reason follows.
const EXEMPT: &str = "// unreachable:";

/// `cargo xtask reached [--from FILE] [FOLDER]`: runs the tests, or takes the lines of an earlier run, and names lines that were
/// not reached, of all of `resources` or of one folder of it.
pub(super) fn run(root: &Path, arguments: &[String]) -> anyhow::Result<()> {
    let (origins, folder) = match arguments {
        [from, file, rest @ ..] if from == "--from" => (PathBuf::from(file), rest.first()),
        rest => (run_tests(root)?, rest.first()),
    };
    let text = fs::read_to_string(&origins).with_context(|| format!("reading {}", origins.display()))?;
    let reached: BTreeSet<&str> = text.lines().collect();
    let mut sites = Vec::new();
    collect(root, &root.join(folder.map_or(SOURCE, String::as_str)), &mut sites)?;
    let missing: Vec<&String> = sites.iter().filter(|site| !reached.contains(site.as_str())).collect();
    if missing.is_empty() {
        return Ok(());
    }
    for site in &missing {
        super::report(&format!("{site}: no test sees this error"));
    }
    bail!(
        "{} of {} lines that report an error are not reached by a test of `resources`",
        missing.len(),
        sites.len()
    )
}

fn run_tests(root: &Path) -> anyhow::Result<PathBuf> {
    let origins = std::env::temp_dir().join(format!("pintle-error-origins-{}", std::process::id()));
    let _ = fs::remove_file(&origins);
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let status = Command::new(cargo)
        .args(["test", "-q", "-p", "pintle-resources", "--lib"])
        .env("PINTLE_ERROR_ORIGINS", &origins)
        .current_dir(root)
        .status()
        .context("running the tests of resources")?;
    if !status.success() {
        bail!("tests of resources failed");
    }
    Ok(origins)
}

/// Adds `file:line` of each call that may report an error, tests and the framework aside.
fn collect(root: &Path, folder: &Path, sites: &mut Vec<String>) -> anyhow::Result<()> {
    let mut entries: Vec<_> = fs::read_dir(folder)?.collect::<Result<_, _>>()?;
    entries.sort_by_key(fs::DirEntry::path);
    for entry in entries {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if path.is_dir() {
            if !["tests", "framework"].contains(&name.as_str()) {
                collect(root, &path, sites)?;
            }
        } else if name.ends_with(".rs") && !name.contains("test") {
            let shown = path.strip_prefix(root).unwrap_or(&path).display().to_string();
            sites.extend(sites_of(&fs::read_to_string(&path)?).map(|line| format!("{shown}:{line}")));
        }
    }
    Ok(())
}

/// Returns the numbers of lines that may report an error, up to the tests of a file.
fn sites_of(text: &str) -> impl Iterator<Item = usize> {
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or(text);
    let reports = |line: &str| {
        let line = line.trim_start();
        !line.starts_with("//") && !line.contains(EXEMPT) && REPORTERS.iter().any(|call| line.contains(call))
    };
    code.lines().enumerate().filter(move |(_, line)| reports(line)).map(|(index, _)| index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_that_report_are_found_by_line() {
        let text = "fn a() {\n    name.required(\"\");\n    // name.invalid(x)\n    list\n        .items()\n        \
                    .too_many(3);\n    b.invalid(1); // unreachable: c\n}\n#[cfg(test)]\nmod tests {\n    x.required(\"\");\n";
        assert_eq!(sites_of(text).collect::<Vec<_>>(), [2, 6]);
    }
}
