//! Scans the metadata of a JSON document for owners and finalizers, see [`crate::ownership`].

use super::read::Reader;
use super::scan::{each_field, string};
use crate::Error;
use crate::ownership::{Owner, Ownership};

pub(crate) fn ownership(text: &[u8]) -> Result<Ownership<'_>, Error> {
    let mut found = Ownership::default();
    let mut reader = Reader::new(text);
    if reader.begin()? != b'{' {
        reader.skip()?;
        reader.end()?;
        return Ok(found);
    }
    let mut more = reader.enter_object()?;
    while more {
        if reader.key()? == "metadata" {
            metadata(&mut reader, &mut found)?;
            break;
        }
        reader.skip()?;
        more = reader.next_field()?;
    }
    Ok(found)
}

fn metadata<'a>(reader: &mut Reader<'a>, found: &mut Ownership<'a>) -> Result<(), Error> {
    each_field(reader, |reader, key| {
        match key {
            "uid" => found.uid = string(reader)?,
            "deletionTimestamp" => found.is_being_deleted = !string(reader)?.is_empty(),
            "ownerReferences" => each_item(reader, |reader| {
                found.owners.push(owner(reader)?);
                Ok(())
            })?,
            "finalizers" => each_item(reader, |reader| {
                let finalizer = string(reader)?;
                if !finalizer.is_empty() {
                    found.finalizers.push(finalizer);
                }
                Ok(())
            })?,
            _ => reader.skip()?,
        }
        Ok(())
    })
}

fn owner<'a>(reader: &mut Reader<'a>) -> Result<Owner<'a>, Error> {
    let mut owner = Owner::default();
    each_field(reader, |reader, key| {
        if let Some(text) = owner.text(key) {
            *text = string(reader)?;
        } else if let Some(flag) = owner.bool(key) {
            let first = reader.begin()?;
            reader.skip()?;
            *flag = matches!(first, b't' | b'f').then_some(first == b't');
        } else {
            reader.skip()?;
        }
        Ok(())
    })?;
    Ok(owner)
}

/// Visits the items of the next value, a list; anything else is skipped.
fn each_item<'a>(
    reader: &mut Reader<'a>,
    mut visit: impl FnMut(&mut Reader<'a>) -> Result<(), Error>,
) -> Result<(), Error> {
    if reader.begin()? != b'[' {
        return reader.skip();
    }
    let mut more = reader.enter_list()?;
    while more {
        visit(reader)?;
        more = reader.next_item()?;
    }
    Ok(())
}
