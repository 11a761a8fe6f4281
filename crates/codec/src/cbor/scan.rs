//! Scans a CBOR item for metadata and selected fields, see [`crate::scan`].

use std::borrow::Cow;

use pintle_meta::time::Time;

use super::item::{self, Major};
use super::untyped::Reader;
use crate::Error;
use crate::scan::{Found, Node, Scalar};

pub(crate) fn scan<'a>(paths: &Node<Box<str>>, count: usize, data: &'a [u8]) -> Result<Found<'a>, Error> {
    item::check_whole(data)?;
    let mut found = Found::expecting(count);
    each_field(&mut Reader::new(data), |reader, key| {
        let node = paths.child(&key);
        if key != "metadata" {
            return value(reader, node, &mut found);
        }
        // A path may lead into metadata too: then it is scanned twice.
        let start = reader.items;
        metadata(reader, &mut found)?;
        match node {
            Some(_) => {
                reader.items = start;
                value(reader, node, &mut found)
            }
            None => Ok(()),
        }
    })?;
    found.finish();
    Ok(found)
}

/// Visits the entries of the next item, a map; anything else is skipped.
fn each_field<'a>(
    reader: &mut Reader<'a>,
    mut visit: impl FnMut(&mut Reader<'a>, Cow<'a, str>) -> Result<(), Error>,
) -> Result<(), Error> {
    each(reader, Major::Map, |reader| {
        let key = match plain_text(reader)? {
            Some(key) => Cow::Borrowed(key),
            None => Cow::Owned(reader.key().map_err(Error::from)?),
        };
        visit(reader, key)
    })
}

/// Visits the items of the next array or the pairs of the next map; anything else is skipped.
fn each<'a>(
    reader: &mut Reader<'a>,
    wanted: Major,
    mut visit: impl FnMut(&mut Reader<'a>) -> Result<(), Error>,
) -> Result<(), Error> {
    let tags = reader.later.len();
    if reader.strip_tags()? == wanted {
        let head = reader.items.head()?;
        let mut left = head.argument;
        while reader.more(head, &mut left)? {
            visit(reader)?;
        }
    } else {
        reader.items.skip()?;
    }
    reader.later.truncate(tags);
    Ok(())
}

/// Returns the next string if it is of definite length and untagged.
fn plain_text<'a>(reader: &mut Reader<'a>) -> Result<Option<&'a str>, Error> {
    let mut ahead = reader.items;
    if !matches!(ahead.major(), Major::Bytes | Major::Text) || !reader.later.is_empty() {
        return Ok(None);
    }
    let head = ahead.head()?;
    if head.is_indefinite() {
        return Ok(None);
    }
    let text = std::str::from_utf8(ahead.take(head)?).ok();
    if text.is_some() {
        reader.items = ahead;
    }
    Ok(text)
}

fn scalar<'a>(reader: &mut Reader<'a>) -> Result<Option<Scalar<'a>>, Error> {
    if let Some(text) = plain_text(reader)? {
        return Ok(Some(Scalar::String(Cow::Borrowed(text))));
    }
    let value = reader.any().map_err(Error::from)?;
    let text = || value.as_str().map(|text| Scalar::String(Cow::Owned(text.to_owned())));
    Ok(text().or_else(|| value.as_bool().map(Scalar::Bool)).or_else(|| value.as_i64().map(Scalar::Int)))
}

/// Returns the next string; anything else is skipped.
fn string<'a>(reader: &mut Reader<'a>) -> Result<Cow<'a, str>, Error> {
    Ok(match scalar(reader)? {
        Some(Scalar::String(text)) => text,
        _ => Cow::Borrowed(""),
    })
}

fn value<'a>(
    reader: &mut Reader<'a>,
    node: Option<&Node<Box<str>>>,
    found: &mut Found<'a>,
) -> Result<(), Error> {
    let Some(node) = node else { return reader.items.skip() };
    match node.leaf {
        Some(index) => found.fields[index] = scalar(reader)?,
        None => each_field(reader, |reader, key| value(reader, node.child(&key), found))?,
    }
    Ok(())
}

fn metadata<'a>(reader: &mut Reader<'a>, found: &mut Found<'a>) -> Result<(), Error> {
    each_field(reader, |reader, key| {
        if let Some(text) = found.text(&key) {
            *text = string(reader)?;
            return Ok(());
        }
        match &*key {
            "deletionTimestamp" => found.deletion_timestamp = Time::parse(&string(reader)?).ok(),
            "labels" => each_field(reader, |reader, key| {
                found.labels.push((key, string(reader)?));
                Ok(())
            })?,
            "ownerReferences" => each(reader, Major::Array, |reader| {
                let mut uid = Cow::Borrowed("");
                each_field(reader, |reader, key| match &*key {
                    "uid" => string(reader).map(|found| uid = found),
                    _ => reader.items.skip(),
                })?;
                found.owners.push(uid);
                Ok(())
            })?,
            _ => reader.items.skip()?,
        }
        Ok(())
    })
}
