//! Discovery against the reference's published documents, which show all versions. Reads `PINTLE_UPSTREAM` or the folder
//! beside the repository; where there is none, these say so and pass, and `documents.rs` stands alone.

use std::fs;
use std::path::PathBuf;

use pintle_codec::json;
use pintle_discovery::aggregated::{self, Version};
use pintle_discovery::{Document, GroupVersion, builtin, groups, legacy};
use pintle_schema::Resources;
use serde_json::Value as Json;

fn upstream() -> Option<PathBuf> {
    pintle_published::upstream("discovery documents").map(|folder| folder.join("discovery"))
}

fn all() -> Vec<GroupVersion> {
    builtin(&Resources::builtin().unwrap(), |_| true)
}

fn json(document: &Document) -> Json {
    let mut text = Vec::new();
    json::encode(&document.value, &mut text);
    serde_json::from_slice(&text).unwrap()
}

#[test]
fn documents_of_one_path_are_the_references() {
    let Some(folder) = upstream() else { return };
    let served = all();
    let groups = groups(&served);
    let mut count = 0;
    for file in fs::read_dir(&folder).unwrap() {
        let path = file.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let parts: Vec<&str> = name.split("__").collect();
        let version = |group: &str, version: &str| {
            served.iter().find(|served| served.group == group && served.version == version)
        };
        let document = match parts[..] {
            ["aggregated_v2"] => continue,
            ["api"] => legacy::api_versions("10.10.10.10:8050"),
            ["apis"] => {
                let named = groups.iter().filter(|(name, _)| !name.is_empty());
                legacy::api_group_list(named.map(|(name, versions)| (name.as_str(), versions.clone())))
            }
            ["api", name] => legacy::api_resource_list(version("", name).unwrap()),
            ["apis", group] => {
                let (name, versions) = groups.iter().find(|(name, _)| name == group).unwrap();
                legacy::api_group(name, versions)
            }
            ["apis", group, name] => legacy::api_resource_list(version(group, name).unwrap()),
            _ => panic!("{name}"),
        };
        let expected: Json = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        assert_eq!(json(&document), expected, "{name}");
        count += 1;
    }
    assert!(count >= 60, "only {count} documents");
}

#[test]
fn the_aggregated_document_is_the_references() {
    let Some(folder) = upstream() else { return };
    let expected: Json =
        serde_json::from_slice(&fs::read(folder.join("aggregated_v2.json")).unwrap()).unwrap();
    let mut document = json(&aggregated::apis(&all(), Version::V2));
    assert_eq!(document, expected);
    // The older version says the same.
    let beta = json(&aggregated::apis(&all(), Version::V2beta1));
    document["apiVersion"] = "apidiscovery.k8s.io/v2beta1".into();
    assert_eq!(beta, document);
}
