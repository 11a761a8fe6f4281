//! The facts against the reference's published documents: Go fields, protobuf messages, OpenAPI, discovery, storage
//! paths. Without these documents (`PINTLE_UPSTREAM` or a folder beside the checkout), the tests print that and pass.

#[path = "upstream/discovery.rs"]
mod discovery;
#[path = "upstream/go_fields.rs"]
mod go_fields;
#[path = "upstream/openapi.rs"]
mod openapi;
#[path = "upstream/protobuf.rs"]
mod protobuf;

use std::fs;

use pintle_schema::{Type, find};
use serde_json::Value as Json;

/// Returns a published document, if the folder is present.
fn text(name: &str) -> Option<String> {
    let folder = pintle_published::upstream("discovery, OpenAPI, Go fields and protobuf numbers")?;
    Some(fs::read_to_string(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}")))
}

fn document(name: &str) -> Option<Json> {
    text(name).map(|text| serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}")))
}

fn documents(folder_name: &str) -> Vec<(String, Json)> {
    let Some(folder) = pintle_published::upstream("discovery, OpenAPI, Go fields and protobuf numbers")
    else {
        return Vec::new();
    };
    let entries = fs::read_dir(folder.join(folder_name)).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter_map(|name| Some((name.clone(), document(&format!("{folder_name}/{name}"))?))).collect()
}

/// Returns the type of a path in any of the notations: Go's import path, a protobuf package, a name in OpenAPI. They
/// differ only in their separators, except in the last label but one.
fn type_of(path: &str) -> Option<&'static Type> {
    let (package, name) = path.rsplit_once('.')?;
    let labels: Vec<&str> = package.split(['/', '.']).collect();
    let [.., folder, last] = labels[..] else { return None };
    let version = last.strip_prefix('v').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    find(&if version { format!("{folder}/{last}.{name}") } else { format!("{last}.{name}") })
}

/// Fails with all differences, not only the first.
fn none(differences: &[String]) {
    assert!(differences.is_empty(), "{} differences\n{}", differences.len(), differences.join("\n"));
}
