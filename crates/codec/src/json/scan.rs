//! Scans a JSON document for metadata and selected fields, see [`crate::scan`].

use std::borrow::Cow;

use pintle_meta::time::Time;

use super::read::Reader;
use crate::Error;
use crate::scan::{Found, Node, Scalar};

pub(crate) fn scan<'a>(paths: &Node<Box<str>>, count: usize, text: &'a [u8]) -> Result<Found<'a>, Error> {
    let mut reader = Reader::new(text);
    let mut found = Found::expecting(count);
    each_field(&mut reader, |reader, key| {
        if key != "metadata" {
            return value(reader, paths.child(key), &mut found);
        }
        match paths.child(key) {
            // A path leads into metadata too: it is scanned twice.
            Some(node) => {
                let content = reader.raw()?;
                metadata(&mut Reader::new(content), &mut found)?;
                value(&mut Reader::new(content), Some(node), &mut found)
            }
            None => metadata(reader, &mut found),
        }
    })?;
    reader.end()?;
    found.finish();
    Ok(found)
}

/// Visits the fields of the next value, an object; anything else is skipped.
pub(super) fn each_field<'a>(
    reader: &mut Reader<'a>,
    mut visit: impl FnMut(&mut Reader<'a>, &str) -> Result<(), Error>,
) -> Result<(), Error> {
    if reader.begin()? != b'{' {
        return reader.skip();
    }
    let mut more = reader.enter_object()?;
    while more {
        let key = reader.key()?;
        visit(reader, &key)?;
        more = reader.next_field()?;
    }
    Ok(())
}

/// Returns the next string; anything else is skipped.
pub(super) fn string<'a>(reader: &mut Reader<'a>) -> Result<Cow<'a, str>, Error> {
    if reader.begin()? == b'"' {
        return reader.string();
    }
    reader.skip()?;
    Ok(Cow::Borrowed(""))
}

fn value<'a>(
    reader: &mut Reader<'a>,
    node: Option<&Node<Box<str>>>,
    found: &mut Found<'a>,
) -> Result<(), Error> {
    let Some(node) = node else { return reader.skip() };
    let Some(index) = node.leaf else {
        return each_field(reader, |reader, key| value(reader, node.child(key), found));
    };
    let scalar = match reader.begin()? {
        b'"' => Some(Scalar::String(reader.string()?)),
        first @ (b't' | b'f') => {
            reader.literal()?;
            Some(Scalar::Bool(first == b't'))
        }
        b'-' | b'0'..=b'9' => reader.number()?.parse().ok().map(Scalar::Int),
        _ => {
            reader.skip()?;
            None
        }
    };
    found.fields[index] = scalar;
    Ok(())
}

fn metadata<'a>(reader: &mut Reader<'a>, found: &mut Found<'a>) -> Result<(), Error> {
    each_field(reader, |reader, key| {
        if let Some(text) = found.text(key) {
            *text = string(reader)?;
            return Ok(());
        }
        match key {
            "deletionTimestamp" => found.deletion_timestamp = Time::parse(&string(reader)?).ok(),
            "labels" => labels(reader, found)?,
            "ownerReferences" => owners(reader, found)?,
            _ => reader.skip()?,
        }
        Ok(())
    })
}

fn labels<'a>(reader: &mut Reader<'a>, found: &mut Found<'a>) -> Result<(), Error> {
    if reader.begin()? != b'{' {
        return reader.skip();
    }
    let mut more = reader.enter_object()?;
    while more {
        let key = reader.key()?;
        found.labels.push((key, string(reader)?));
        more = reader.next_field()?;
    }
    Ok(())
}

fn owners<'a>(reader: &mut Reader<'a>, found: &mut Found<'a>) -> Result<(), Error> {
    if reader.begin()? != b'[' {
        return reader.skip();
    }
    let mut more = reader.enter_list()?;
    while more {
        let mut uid = Cow::Borrowed("");
        each_field(reader, |reader, key| {
            match key {
                "uid" => uid = string(reader)?,
                _ => reader.skip()?,
            }
            Ok(())
        })?;
        found.owners.push(uid);
        more = reader.next_item()?;
    }
    Ok(())
}
