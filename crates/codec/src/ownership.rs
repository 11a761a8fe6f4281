//! Reads the part of a stored object's metadata that garbage collection is about, without a tree: uid, owners, finalizers, and
//! whether the object is being deleted.
//!
//! A scan ends with the metadata, which servers write before the rest of the object, so its cost does not grow with the object.

use std::borrow::Cow;

use pintle_meta::Value;

use crate::protobuf::envelope;
use crate::protobuf::text;
use crate::protobuf::wire::{LENGTH, Reader, VARINT};
use crate::{Error, cbor, json};

/// Metadata of a stored object. Text is borrowed from the input unless it has escapes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ownership<'a> {
    pub uid: Cow<'a, str>,
    /// Whether there is a deletion timestamp.
    pub is_being_deleted: bool,
    /// In order.
    pub owners: Vec<Owner<'a>>,
    /// In order.
    pub finalizers: Vec<Cow<'a, str>>,
}

/// An owner reference.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Owner<'a> {
    pub api_version: Cow<'a, str>,
    pub kind: Cow<'a, str>,
    pub name: Cow<'a, str>,
    pub uid: Cow<'a, str>,
    pub controller: Option<bool>,
    pub block_owner_deletion: Option<bool>,
}

/// Field of the metadata in every stored kind.
const METADATA: u32 = 1;
/// Fields of ObjectMeta.
const UID: u32 = 5;
const DELETION_TIMESTAMP: u32 = 9;
const OWNER_REFERENCES: u32 = 13;
const FINALIZERS: u32 = 14;

impl<'a> Ownership<'a> {
    /// Scans a stored value: protobuf in its envelope, JSON, or self-described CBOR.
    pub fn scan(stored: &'a [u8]) -> Result<Ownership<'a>, Error> {
        if envelope::is_enveloped(stored) {
            return message(envelope::open(stored)?.raw);
        }
        if cbor::is_self_described(stored) {
            return cbor::decode_untyped(stored).map(|decoded| Ownership::of(&decoded.value));
        }
        json::ownership(stored)
    }

    /// Reads an object.
    fn of(object: &Value) -> Ownership<'a> {
        let owned = |text: &str| Cow::Owned(text.to_owned());
        let owner = |owner: &Value| Owner {
            api_version: owned(owner.api_version()),
            kind: owned(owner.kind()),
            name: owned(owner.text_at(&["name"])),
            uid: owned(owner.text_at(&["uid"])),
            controller: owner.get("controller").and_then(Value::as_bool),
            block_owner_deletion: owner.get("blockOwnerDeletion").and_then(Value::as_bool),
        };
        Ownership {
            uid: owned(object.uid()),
            is_being_deleted: object.deletion_timestamp().is_some(),
            owners: object.owner_references().iter().map(owner).collect(),
            finalizers: object.finalizers().map(owned).collect(),
        }
    }

    pub fn has_finalizer(&self, name: &str) -> bool {
        self.finalizers.iter().any(|finalizer| finalizer == name)
    }
}

impl<'a> Owner<'a> {
    /// Returns the destination of a text field, if it is one.
    pub(crate) fn text(&mut self, field: &str) -> Option<&mut Cow<'a, str>> {
        Some(match field {
            "apiVersion" => &mut self.api_version,
            "kind" => &mut self.kind,
            "name" => &mut self.name,
            "uid" => &mut self.uid,
            _ => return None,
        })
    }

    /// Returns the destination of a bool field, if it is one.
    pub(crate) fn bool(&mut self, field: &str) -> Option<&mut Option<bool>> {
        Some(match field {
            "controller" => &mut self.controller,
            "blockOwnerDeletion" => &mut self.block_owner_deletion,
            _ => return None,
        })
    }

    /// Whether the deletion of the owner in the foreground waits for this dependent.
    pub fn is_blocking(&self) -> bool {
        self.block_owner_deletion == Some(true)
    }
}

fn message(message: &[u8]) -> Result<Ownership<'_>, Error> {
    let mut found = Ownership::default();
    let mut rest = Reader::new(message);
    while !rest.is_empty() {
        let tag = rest.tag("object")?;
        if (tag.number, tag.wire) == (METADATA, LENGTH) {
            metadata(rest.bytes()?, &mut found)?;
        } else {
            rest.skip(tag.wire)?;
        }
    }
    Ok(found)
}

fn metadata<'a>(message: &'a [u8], found: &mut Ownership<'a>) -> Result<(), Error> {
    let mut rest = Reader::new(message);
    while !rest.is_empty() {
        let tag = rest.tag("ObjectMeta")?;
        if tag.wire != LENGTH {
            rest.skip(tag.wire)?;
            continue;
        }
        let content = rest.bytes()?;
        match tag.number {
            UID => found.uid = text(content),
            // A zero time is empty.
            DELETION_TIMESTAMP => found.is_being_deleted = !content.is_empty(),
            OWNER_REFERENCES => found.owners.push(owner(content)?),
            FINALIZERS => found.finalizers.push(text(content)),
            _ => {}
        }
    }
    Ok(())
}

fn owner(message: &[u8]) -> Result<Owner<'_>, Error> {
    let mut owner = Owner::default();
    let mut rest = Reader::new(message);
    while !rest.is_empty() {
        let tag = rest.tag("OwnerReference")?;
        match (tag.number, tag.wire) {
            (1, LENGTH) => owner.kind = text(rest.bytes()?),
            (3, LENGTH) => owner.name = text(rest.bytes()?),
            (4, LENGTH) => owner.uid = text(rest.bytes()?),
            (5, LENGTH) => owner.api_version = text(rest.bytes()?),
            (6, VARINT) => owner.controller = Some(rest.varint()? != 0),
            (7, VARINT) => owner.block_owner_deletion = Some(rest.varint()? != 0),
            _ => rest.skip(tag.wire)?,
        }
    }
    Ok(owner)
}

#[cfg(test)]
mod tests {
    use pintle_schema::find;
    use proptest::prelude::*;

    use super::*;
    use crate::protobuf::{decode, encode};

    const DOCUMENT: &str = r#"{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"n","uid":"u-1",
        "deletionTimestamp":"2026-11-15T19:48:19Z","labels":{"app":"web"},
        "ownerReferences":[{"apiVersion":"v1","kind":"A","name":"a","uid":"o-1","controller":true,"blockOwnerDeletion":false},
        {"apiVersion":"x/v2","kind":"B","name":"b \"b\"","uid":"o-2","blockOwnerDeletion":true}],
        "finalizers":["orphan","example.com/f"],"managedFields":[]},"data":{"a":"b"}}"#;

    fn stored() -> Vec<u8> {
        let of = find("core/v1.ConfigMap").unwrap();
        let (mut raw, mut stored) = (Vec::new(), Vec::new());
        encode(of, &json::decode(of, DOCUMENT.as_bytes()).unwrap().value, &mut raw).unwrap();
        envelope::write("v1", "ConfigMap", &raw, &mut stored);
        stored
    }

    fn wanted() -> Ownership<'static> {
        let owner = |api_version: &'static str, kind: &'static str, name: &'static str, uid: &'static str| {
            let [api_version, kind, name, uid] = [api_version, kind, name, uid].map(Cow::Borrowed);
            Owner { api_version, kind, name, uid, controller: None, block_owner_deletion: Some(true) }
        };
        let mut first = owner("v1", "A", "a", "o-1");
        (first.controller, first.block_owner_deletion) = (Some(true), Some(false));
        Ownership {
            uid: "u-1".into(),
            is_being_deleted: true,
            owners: vec![first, owner("x/v2", "B", "b \"b\"", "o-2")],
            finalizers: vec!["orphan".into(), "example.com/f".into()],
        }
    }

    #[test]
    fn all_encodings_scan_alike() {
        let mut cbor = Vec::new();
        cbor::encode(&json::decode_untyped(DOCUMENT.as_bytes()).unwrap().value, &mut cbor);
        for stored in [stored(), cbor, DOCUMENT.as_bytes().to_vec()] {
            assert_eq!(Ownership::scan(&stored).unwrap(), wanted(), "{}", stored.escape_ascii());
        }
        assert!(wanted().has_finalizer("orphan") && !wanted().has_finalizer("foregroundDeletion"));
    }

    #[test]
    fn nothing_after_the_metadata_is_read() {
        let found = Ownership::scan(br#"{"kind":"A","metadata":{"uid":"u"},"spec":{"#).unwrap();
        assert_eq!(found, Ownership { uid: "u".into(), ..Ownership::default() });
    }

    #[test]
    fn unexpected_types_are_skipped_and_invalid_input_is_rejected() {
        let odd = br#"{"spec":[],"metadata":{"uid":1,"ownerReferences":{},"finalizers":[2,"f"],"deletionTimestamp":null}}"#;
        let found = Ownership::scan(odd).unwrap();
        assert_eq!(found, Ownership { finalizers: vec!["f".into()], ..Ownership::default() });
        let odd =
            br#"{"metadata":{"ownerReferences":[1,{"uid":"o","controller":"x","blockOwnerDeletion":true}]}}"#;
        assert_eq!(Ownership::scan(odd).unwrap().owners.len(), 2);
        assert_eq!(Ownership::scan(b"{}").unwrap(), Ownership::default());
        for broken in [&b""[..], b"[]x", b"{", br#"{"metadata":{"uid":"a"#, b"k8s\0", b"k8s\0\x12\x05"] {
            assert!(Ownership::scan(broken).is_err(), "{}", broken.escape_ascii());
        }
    }

    #[test]
    fn field_numbers_match_the_type_graph() {
        let number = |of: &str, name: &str| {
            find(of).unwrap().structure().unwrap().field(name).unwrap().number.unwrap()
        };
        let meta = ["uid", "deletionTimestamp", "ownerReferences", "finalizers"];
        assert_eq!(meta.map(|name| number("meta/v1.ObjectMeta", name)), [5, 9, 13, 14]);
        let owner = ["kind", "name", "uid", "apiVersion", "controller", "blockOwnerDeletion"];
        assert_eq!(owner.map(|name| number("meta/v1.OwnerReference", name)), [1, 3, 4, 5, 6, 7]);
    }

    proptest! {
        #[test]
        fn scans_of_mutated_messages_agree_with_the_tree(
            changes in proptest::collection::vec((any::<usize>(), any::<u8>()), 0..4),
        ) {
            let stored = stored();
            let mut mutated = envelope::open(&stored).unwrap().raw.to_vec();
            for (index, byte) in changes {
                let index = index % mutated.len();
                mutated[index] = byte;
            }
            if let Ok(tree) = decode(find("core/v1.ConfigMap").unwrap(), &mutated) {
                let (found, tree) = (message(&mutated).unwrap(), Ownership::of(&tree));
                // A deletion timestamp of zero is none in the tree.
                prop_assert_eq!((found.uid, found.owners, found.finalizers), (tree.uid, tree.owners, tree.finalizers));
            }
        }
    }
}
