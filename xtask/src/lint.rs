//! Rules about the repository as a whole.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};
use serde_json::Value;

/// Crates that every other one may use: vocabulary and surroundings. They use none, unless [`LAYERS`] has them.
const LEAVES: &[&str] = &["features", "meta", "metrics", "regex", "runtime", "work"];

/// The crates of ours that each one uses beside [`LEAVES`], tests aside; no more and no fewer.
///
/// The order is the architecture: vocabulary at the bottom, then the seams, then their implementations, then what
/// serves them, and one binary that knows all.
const LAYERS: &[(&str, &str)] = &[
    ("metrics", "runtime"),
    ("work", "runtime"),
    ("cel", ""),
    ("logging", ""),
    ("published", ""),
    ("schema", ""),
    ("spdy", ""),
    ("storage", ""),
    ("cache", "storage"),
    ("codec", "schema"),
    ("flags", ""),
    ("storage-embedded", "storage"),
    ("storage-etcd", "storage"),
    ("definitions", "cel codec schema"),
    ("discovery", "codec schema"),
    ("outbound", "codec"),
    ("encryption", "outbound storage"),
    ("patch", "codec schema"),
    ("auth", "cel codec outbound"),
    ("audit", "auth codec outbound"),
    ("flow-control", "auth"),
    ("openapi", "codec discovery schema"),
    ("parity", "outbound published"),
    ("registry", "cache codec patch schema storage"),
    ("quota", "registry"),
    ("admission", "auth cache cel codec outbound patch quota registry schema"),
    ("controllers", "auth cache codec quota registry storage"),
    ("documentation", "openapi schema"),
    ("resources", "auth cache cel codec definitions patch registry schema"),
    (
        "server",
        "admission audit auth cache codec discovery flow-control openapi outbound patch registry schema storage",
    ),
    ("connections", "outbound registry resources server spdy"),
    ("kubelet-testing", "outbound spdy"),
    (
        "extensions",
        "admission cache codec controllers definitions discovery outbound patch registry resources schema server storage",
    ),
    ("aggregator", "auth cache codec controllers discovery outbound registry server"),
    (
        "control-plane",
        "admission aggregator audit auth cache cel codec connections controllers discovery documentation encryption \
         extensions flow-control outbound quota registry resources schema server storage",
    ),
];

/// May use everything: the binary, and what measures it.
const TOP: &[&str] = &["pintle", "pintle-bench", "pintle-fuzz", "xtask"];

/// A longer file is more than one concept.
const MAX_LINES: usize = 800;

pub(crate) fn run(root: &Path) -> anyhow::Result<()> {
    let metadata = metadata(root)?;
    let mut problems = layers(&metadata);
    problems.extend(undocumented(&metadata, &fs::read_to_string(root.join("ARCHITECTURE.md"))?));
    for file in sources(root)? {
        let text = fs::read_to_string(&file)?;
        let path = file.strip_prefix(root).unwrap_or(&file).display().to_string();
        problems.extend(too_long(&path, &text));
        problems.extend(errors_as_code(&path, &text));
    }
    if problems.is_empty() { Ok(()) } else { bail!("{}", problems.join("\n")) }
}

fn metadata(root: &Path) -> anyhow::Result<Value> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version=1", "--no-deps", "--offline"])
        .current_dir(root)
        .output()
        .context("cannot run cargo metadata")?;
    if !output.status.success() {
        bail!("cargo metadata failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// Each of our crates with the names of what it depends on; `dev` says whether for its tests only.
fn dependencies(metadata: &Value) -> BTreeMap<String, Vec<(String, bool)>> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let of_package = |package: &Value| {
        let dependencies = package["dependencies"].as_array().into_iter().flatten();
        dependencies.map(|dependency| (text(&dependency["name"]), dependency["kind"] == "dev")).collect()
    };
    let packages = metadata["packages"].as_array().into_iter().flatten();
    packages.map(|package| (text(&package["name"]), of_package(package))).collect()
}

/// Dependencies between our crates that the architecture does not have.
fn layers(metadata: &Value) -> Vec<String> {
    let mut problems = Vec::new();
    let all = dependencies(metadata);
    let short = |name: &str| name.strip_prefix("pintle-").unwrap_or(name).to_owned();
    for (name, dependencies) in all.iter().filter(|(name, _)| !TOP.contains(&name.as_str())) {
        let allowed = match LAYERS.iter().find(|(layer, _)| *layer == short(name)) {
            Some((_, allowed)) => *allowed,
            None if LEAVES.contains(&short(name).as_str()) => "",
            None => {
                problems.push(format!("{name} has no place in xtask's table of layers; give it one"));
                continue;
            }
        };
        let ours = dependencies.iter().filter(|(dependency, dev)| all.contains_key(dependency) && !dev);
        let used: BTreeSet<String> = ours.map(|(dependency, _)| short(dependency)).collect();
        let is_leaf = LEAVES.contains(&short(name).as_str());
        let is_free = |dependency: &str| !is_leaf && LEAVES.contains(&dependency);
        let allowed: BTreeSet<&str> = allowed.split_whitespace().collect();
        for dependency in used.iter().filter(|name| !is_free(name) && !allowed.contains(name.as_str())) {
            problems.push(format!("{name} must not know pintle-{dependency}"));
        }
        for dependency in allowed.iter().filter(|name| !used.contains(**name)) {
            problems
                .push(format!("{name} does not use {dependency}; remove it from xtask's table of layers"));
        }
    }
    problems
}

/// Dependencies that ARCHITECTURE.md does not say the reason for.
fn undocumented(metadata: &Value, architecture: &str) -> Vec<String> {
    let all = dependencies(metadata);
    let used: BTreeSet<&String> = all.values().flatten().map(|(name, _)| name).collect();
    used.into_iter()
        .filter(|name| !all.contains_key(*name) && !architecture.contains(&format!("`{name}`")))
        .map(|name| format!("ARCHITECTURE.md does not say what the dependency `{name}` is for"))
        .collect()
}

/// The Rust files of the repository.
fn sources(root: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut directories: Vec<PathBuf> = vec![root.join("crates"), root.join("xtask")];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory)? {
            let path = entry?.path();
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    Ok(found)
}

fn too_long(path: &str, text: &str) -> Option<String> {
    let lines = text.lines().count();
    (lines > MAX_LINES)
        .then(|| format!("{path} has {lines} lines, more than {MAX_LINES}: is it one concept?"))
}

/// Errors that a log shows as Rust code (`?error`) and not in their words (`%error`).
fn errors_as_code(path: &str, text: &str) -> Vec<String> {
    let shows = |line: &&str| {
        let events = ["trace!(", "debug!(", "info!(", "warn!(", "error!("];
        let is_event = events.iter().any(|event| line.contains(&format!("tracing::{event}")));
        is_event && ["error", "err"].iter().any(|name| line.contains(&format!("?{name},")))
    };
    let lines = text.lines().enumerate().filter(|(_, line)| shows(line));
    lines
        .map(|(index, _)| format!("{path}:{} logs an error as Rust code; %error has its words", index + 1))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn packages(name: &str, dependency: &str, kind: &str) -> Value {
        json!({"packages": [
            {"name": name, "dependencies": [{"name": dependency, "kind": kind}]},
            {"name": "pintle-logging", "dependencies": []},
        ]})
    }

    #[test]
    fn a_lower_crate_must_not_know_a_higher_one() {
        assert_eq!(
            layers(&packages("pintle-meta", "pintle-logging", "")),
            ["pintle-meta must not know pintle-logging"]
        );
        assert!(layers(&packages("pintle-meta", "pintle-logging", "dev")).is_empty(), "tests may");
        assert!(layers(&packages("pintle", "pintle-logging", "")).is_empty(), "the binary may");
    }

    #[test]
    fn the_table_names_what_is_used_and_no_more() {
        assert_eq!(
            layers(&packages("pintle-cache", "pintle-meta", "")),
            ["pintle-cache does not use storage; remove it from xtask's table of layers"]
        );
    }

    #[test]
    fn a_new_crate_needs_a_place() {
        assert_eq!(layers(&packages("pintle-new", "bytes", "")).len(), 1);
    }

    #[test]
    fn logs_have_the_words_of_errors() {
        let event = |how: &str| format!("fn a() {{\n    tracing::warn!(key, {how}error, \"failed\");\n}}");
        let problem = "a.rs:2 logs an error as Rust code; %error has its words";
        assert_eq!(errors_as_code("a.rs", &event("?")), [problem]);
        assert!(errors_as_code("a.rs", &event("%")).is_empty());
    }

    #[test]
    fn every_dependency_has_a_reason() {
        let metadata = packages("pintle-meta", "bytes", "");
        assert_eq!(undocumented(&metadata, "nothing").len(), 1);
        assert!(undocumented(&metadata, "| `bytes` | shared buffers |").is_empty());
    }
}
