//! Scans a message. Of repeated scalars the last one wins, and repeated messages merge, as in decoding.

use pintle_meta::time::Time;

use super::{Found, Leaf, Node, Paths, Scalar};
use crate::Error;
use crate::protobuf::text;
use crate::protobuf::wire::{LENGTH, Reader, VARINT};

// Fields of ObjectMeta.
const NAME: u32 = 1;
const GENERATE_NAME: u32 = 2;
const NAMESPACE: u32 = 3;
const UID: u32 = 5;
const RESOURCE_VERSION: u32 = 6;
const DELETION_TIMESTAMP: u32 = 9;
const LABELS: u32 = 11;
const OWNER_REFERENCES: u32 = 13;
/// Field numbers of OwnerReference.
const OWNER_UID: u32 = 4;
/// Field numbers of Timestamp.
const SECONDS: u32 = 1;

pub(super) fn scan<'a>(paths: &Paths, message: &'a [u8]) -> Result<Found<'a>, Error> {
    let mut found = Found::expecting(paths.count);
    let mut rest = Reader::new(message);
    while !rest.is_empty() {
        let tag = rest.tag("object")?;
        if tag.wire == LENGTH && paths.metadata == Some(tag.number) {
            let content = rest.bytes()?;
            metadata(content, &mut found)?;
            // A path may lead into metadata too.
            if let Some(node) = paths.numbers.child(&tag.number) {
                fields(paths, node, content, &mut found)?;
            }
        } else {
            field(paths, &paths.numbers, (tag.number, tag.wire), &mut rest, &mut found)?;
        }
    }
    found.finish();
    Ok(found)
}

fn fields<'a>(
    paths: &Paths,
    node: &Node<u32>,
    message: &'a [u8],
    found: &mut Found<'a>,
) -> Result<(), Error> {
    let mut rest = Reader::new(message);
    while !rest.is_empty() {
        let tag = rest.tag("object")?;
        field(paths, node, (tag.number, tag.wire), &mut rest, found)?;
    }
    Ok(())
}

fn field<'a>(
    paths: &Paths,
    node: &Node<u32>,
    (number, wire): (u32, u8),
    rest: &mut Reader<'a>,
    found: &mut Found<'a>,
) -> Result<(), Error> {
    let Some(child) = node.child(&number) else { return rest.skip(wire) };
    let Some(index) = child.leaf else {
        // The recursion is as deep as the compiled paths.
        return if wire == LENGTH { fields(paths, child, rest.bytes()?, found) } else { rest.skip(wire) };
    };
    let value = match (paths.leaves[index], wire) {
        (Leaf::String, LENGTH) => Scalar::String(text(rest.bytes()?)),
        (Leaf::Bool, VARINT) => Scalar::Bool(rest.varint()? != 0),
        (Leaf::Int32, VARINT) => Scalar::Int(i64::from(rest.varint()? as i32)),
        (Leaf::Int64, VARINT) => Scalar::Int(rest.varint()? as i64),
        _ => return rest.skip(wire),
    };
    found.fields[index] = Some(value);
    Ok(())
}

fn metadata<'a>(message: &'a [u8], found: &mut Found<'a>) -> Result<(), Error> {
    let mut rest = Reader::new(message);
    while !rest.is_empty() {
        let tag = rest.tag("ObjectMeta")?;
        if tag.wire != LENGTH {
            rest.skip(tag.wire)?;
            continue;
        }
        let content = rest.bytes()?;
        match tag.number {
            NAME => found.name = text(content),
            GENERATE_NAME => found.generate_name = text(content),
            NAMESPACE => found.namespace = text(content),
            UID => found.uid = text(content),
            RESOURCE_VERSION => found.resource_version = text(content),
            DELETION_TIMESTAMP => found.deletion_timestamp = time(content)?,
            LABELS => {
                let (mut key, mut value) = (Default::default(), Default::default());
                let mut entry = Reader::new(content);
                while !entry.is_empty() {
                    let tag = entry.entry_tag()?;
                    match tag.number {
                        1 => key = text(entry.bytes()?),
                        2 => value = text(entry.bytes()?),
                        _ => entry.skip(tag.wire)?,
                    }
                }
                found.labels.push((key, value));
            }
            OWNER_REFERENCES => {
                let mut uid = Default::default();
                let mut owner = Reader::new(content);
                while !owner.is_empty() {
                    let tag = owner.tag("OwnerReference")?;
                    match (tag.number, tag.wire) {
                        (OWNER_UID, LENGTH) => uid = text(owner.bytes()?),
                        _ => owner.skip(tag.wire)?,
                    }
                }
                found.owners.push(uid);
            }
            _ => {}
        }
    }
    Ok(())
}

fn time(message: &[u8]) -> Result<Option<Time>, Error> {
    let mut rest = Reader::new(message);
    let mut seconds = 0;
    while !rest.is_empty() {
        let tag = rest.tag("Timestamp")?;
        match (tag.number, tag.wire) {
            (SECONDS, VARINT) => seconds = rest.varint()? as i64,
            _ => rest.skip(tag.wire)?,
        }
    }
    let time = Time::from_unix(seconds, 0);
    Ok((!message.is_empty() && !time.is_zero()).then_some(time))
}

impl Node<u32> {
    fn child(&self, number: &u32) -> Option<&Node<u32>> {
        self.children.iter().find(|(known, _)| known == number).map(|(_, node)| node)
    }
}
