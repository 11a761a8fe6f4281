//! Descriptions of Kubernetes' types and fields, for OpenAPI and `kubectl explain`.
//!
//! The texts are not ours: the build script takes them out of the `k8s-openapi` crate and writes them into one sorted table
//! of bytes, so that they cost nothing until one is read. A crate of its own, so that only the binary waits for
//! `k8s-openapi` to be compiled.

use pintle_openapi::{Documentation, definition_name};
use pintle_schema::Type;

/// Keys and texts, each once.
static TEXTS: &str = include_str!(concat!(env!("OUT_DIR"), "/texts"));

/// Where in [`TEXTS`] the key and the text of each entry begin and how long they are: four numbers of four bytes, sorted by
/// key. No pointers, which would have to be relocated at every start.
static INDEX: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/index"));

const ENTRY: usize = 16;

/// The texts of the Kubernetes release that this server speaks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Texts;

impl Documentation for Texts {
    fn of(&self, of: &Type) -> Option<&str> {
        find(&definition_name(of))
    }

    fn field(&self, of: &Type, field: &str) -> Option<&str> {
        // A slash is part of no name, so that a type and a field are distinct.
        find(&format!("{}/{field}", definition_name(of)))
    }
}

fn find(key: &str) -> Option<&'static str> {
    let (mut low, mut high) = (0, INDEX.len() / ENTRY);
    while low < high {
        let middle = low.midpoint(high);
        let (found, text) = entry(middle)?;
        match found.cmp(key) {
            std::cmp::Ordering::Equal => return Some(text),
            std::cmp::Ordering::Less => low = middle + 1,
            std::cmp::Ordering::Greater => high = middle,
        }
    }
    None
}

fn entry(place: usize) -> Option<(&'static str, &'static str)> {
    let entry = INDEX.get(place * ENTRY..(place + 1) * ENTRY)?;
    let number = |at: usize| {
        let bytes = entry.get(at..at + 4)?.try_into().ok()?;
        usize::try_from(u32::from_le_bytes(bytes)).ok()
    };
    let text = |at: usize| {
        let start = number(at)?;
        TEXTS.get(start..start + number(at + 4)?)
    };
    Some((text(0)?, text(8)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_and_fields_have_texts_and_others_have_none() {
        let of = |name| pintle_schema::find(name).unwrap();
        let deployment = of("apps/v1.Deployment");
        assert!(Texts.of(deployment).unwrap().starts_with("Deployment "));
        assert!(Texts.field(of("core/v1.Container"), "image").unwrap().contains("image"));
        assert!(Texts.field(deployment, "nope").is_none());
        assert!(find("").is_none() && find("zzz").is_none());
    }

    #[test]
    fn metadata_of_custom_resources_is_documented() {
        let of = |name| pintle_schema::find(name).unwrap();
        let (any, list) = (of("meta/v1.PartialObjectMetadata"), of("meta/v1.PartialObjectMetadataList"));
        let pod = of("core/v1.Pod");
        for field in ["apiVersion", "kind"] {
            assert_eq!(Texts.field(any, field), Texts.field(pod, field));
            assert_eq!(Texts.field(list, field), Texts.field(pod, field));
        }
        assert!(Texts.field(any, "metadata").unwrap().starts_with("Standard object's metadata."));
        assert!(Texts.field(list, "metadata").unwrap().starts_with("Standard list metadata."));
    }

    #[test]
    fn lists_are_explained_though_nobody_else_does() {
        let list = pintle_schema::find("apps/v1.DeploymentList").unwrap();
        for field in ["kind", "apiVersion", "metadata", "items"] {
            assert!(Texts.field(list, field).is_some(), "{field}");
        }
        assert!(Texts.of(list).is_some());
    }

    #[test]
    fn the_table_is_sorted() {
        let keys: Vec<&str> = (0..INDEX.len() / ENTRY).map(|place| entry(place).unwrap().0).collect();
        assert!(keys.is_sorted() && keys.len() > 3500, "{}", keys.len());
    }
}
