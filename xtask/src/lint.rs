//! Rules about the repository as a whole.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};
use serde_json::Value;

/// Which crates of ours each one may use, tests aside. What is not listed may use none.
///
/// The order is the architecture: vocabulary at the bottom, then the seams, then their implementations, then what
/// serves them, and one binary that knows all.
const LAYERS: &[(&str, &[&str])] = &[
    ("pintle-meta", &[]),
    ("pintle-work", &[]),
    ("pintle-published", &[]),
    ("pintle-parity", &["pintle-outbound", "pintle-published"]),
    ("pintle-schema", &["pintle-meta"]),
    ("pintle-cel", &["pintle-meta", "pintle-work"]),
    ("pintle-codec", &["pintle-meta", "pintle-schema", "pintle-work"]),
    ("pintle-definitions", &["pintle-cel", "pintle-codec", "pintle-meta", "pintle-schema", "pintle-work"]),
    (
        "pintle-resources",
        &[
            "pintle-auth",
            "pintle-cache",
            "pintle-codec",
            "pintle-definitions",
            "pintle-meta",
            "pintle-patch",
            "pintle-registry",
            "pintle-schema",
        ],
    ),
    ("pintle-discovery", &["pintle-codec", "pintle-meta", "pintle-schema"]),
    ("pintle-openapi", &["pintle-codec", "pintle-discovery", "pintle-meta", "pintle-schema"]),
    ("pintle-patch", &["pintle-codec", "pintle-meta", "pintle-schema", "pintle-work"]),
    ("pintle-documentation", &["pintle-openapi", "pintle-schema"]),
    ("pintle-storage", &[]),
    ("pintle-cache", &["pintle-codec", "pintle-meta", "pintle-storage"]),
    (
        "pintle-registry",
        &[
            "pintle-cache",
            "pintle-codec",
            "pintle-meta",
            "pintle-patch",
            "pintle-schema",
            "pintle-storage",
            "pintle-work",
        ],
    ),
    ("pintle-storage-embedded", &["pintle-storage"]),
    ("pintle-storage-etcd", &["pintle-storage"]),
    ("pintle-flags", &["pintle-cel", "pintle-meta"]),
    ("pintle-logging", &["pintle-meta"]),
    ("pintle-outbound", &["pintle-codec", "pintle-meta"]),
    ("pintle-auth", &["pintle-cel", "pintle-codec", "pintle-meta", "pintle-outbound"]),
    (
        "pintle-controllers",
        &["pintle-auth", "pintle-cache", "pintle-codec", "pintle-meta", "pintle-registry", "pintle-storage"],
    ),
    ("pintle-admission", &["pintle-auth", "pintle-codec", "pintle-meta", "pintle-registry", "pintle-schema"]),
    (
        "pintle-server",
        &[
            "pintle-admission",
            "pintle-admission",
            "pintle-auth",
            "pintle-cache",
            "pintle-cel",
            "pintle-codec",
            "pintle-discovery",
            "pintle-meta",
            "pintle-openapi",
            "pintle-outbound",
            "pintle-patch",
            "pintle-registry",
            "pintle-schema",
            "pintle-storage",
            "pintle-work",
        ],
    ),
    (
        "pintle-extensions",
        &[
            "pintle-cache",
            "pintle-codec",
            "pintle-controllers",
            "pintle-definitions",
            "pintle-discovery",
            "pintle-meta",
            "pintle-openapi",
            "pintle-outbound",
            "pintle-patch",
            "pintle-registry",
            "pintle-resources",
            "pintle-schema",
            "pintle-server",
            "pintle-storage",
            "pintle-work",
        ],
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
    problems.extend(long_files(root)?);
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
    for (name, dependencies) in &all {
        if TOP.contains(&name.as_str()) {
            continue;
        }
        let Some((_, allowed)) = LAYERS.iter().find(|(layer, _)| layer == name) else {
            problems.push(format!("{name} has no place in xtask's table of layers; give it one"));
            continue;
        };
        for (dependency, dev) in dependencies {
            if all.contains_key(dependency) && !dev && !allowed.contains(&dependency.as_str()) {
                problems.push(format!("{name} must not know {dependency}"));
            }
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

fn long_files(root: &Path) -> anyhow::Result<Vec<String>> {
    let mut problems = Vec::new();
    let mut directories: Vec<PathBuf> = vec![root.join("crates"), root.join("xtask")];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory)? {
            let path = entry?.path();
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let lines = fs::read_to_string(&path)?.lines().count();
                if lines > MAX_LINES {
                    let path = path.strip_prefix(root).unwrap_or(&path).display();
                    problems
                        .push(format!("{path} has {lines} lines, more than {MAX_LINES}: is it one concept?"));
                }
            }
        }
    }
    Ok(problems)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn packages(name: &str, dependency: &str, kind: &str) -> Value {
        json!({"packages": [
            {"name": name, "dependencies": [{"name": dependency, "kind": kind}]},
            {"name": "pintle-server", "dependencies": []},
        ]})
    }

    #[test]
    fn a_lower_crate_must_not_know_a_higher_one() {
        assert_eq!(
            layers(&packages("pintle-meta", "pintle-server", "")),
            ["pintle-meta must not know pintle-server"]
        );
        assert!(layers(&packages("pintle-meta", "pintle-server", "dev")).is_empty(), "tests may");
        assert!(layers(&packages("pintle", "pintle-server", "")).is_empty(), "the binary may");
    }

    #[test]
    fn a_new_crate_needs_a_place() {
        assert_eq!(layers(&packages("pintle-new", "bytes", "")).len(), 1);
    }

    #[test]
    fn every_dependency_has_a_reason() {
        let metadata = packages("pintle-meta", "bytes", "");
        assert_eq!(undocumented(&metadata, "nothing").len(), 1);
        assert!(undocumented(&metadata, "| `bytes` | shared buffers |").is_empty());
    }
}
