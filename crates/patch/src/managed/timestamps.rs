//! Restores timestamps of writes that change nothing else.

use pintle_meta::value::Key;
use pintle_meta::{Node, Object, Value};

const MANAGED: &str = "managedFields";

/// Restores the old times if nothing but times has changed, so that the write is a no-op.
pub fn keep_timestamps(old: &Value, new: &mut Value) {
    let path = ["metadata", MANAGED];
    let (before, after) = (old.items_at(&path), new.items_at(&path));
    if before.len() != after.len() || after.is_empty() {
        return;
    }
    let pairs = || before.iter().zip(after);
    if pairs().all(|(a, b)| a.get("time") == b.get("time")) || !pairs().all(|(a, b)| same_but(a, b, "time")) {
        return;
    }
    if !same_objects(old, new) {
        return;
    }
    let entries = old.at(&path).cloned();
    if let (Some(entries), Some(metadata)) = (entries, new.metadata_mut()) {
        metadata.insert(MANAGED, entries);
    }
}

/// Returns whether two objects are equal except for their managers.
fn same_objects(a: &Value, b: &Value) -> bool {
    let (Some(first), Some(second)) = (a.as_object(), b.as_object()) else { return false };
    first.len() == second.len()
        && first.entries().iter().zip(second.entries()).all(|((name, a), (other, b))| {
            name == other && if name == "metadata" { same_but(a, b, MANAGED) } else { same(a, b) }
        })
}

/// Returns whether two objects are equal except for a field.
fn same_but(a: &Value, b: &Value, field: &str) -> bool {
    let (Some(a), Some(b)) = (a.as_object(), b.as_object()) else { return false };
    let mut first = without(a, field);
    let mut second = without(b, field);
    loop {
        match (first.next(), second.next()) {
            (None, None) => return true,
            (Some((name, a)), Some((other, b))) if name == other && same(a, b) => {}
            _ => return false,
        }
    }
}

fn without<'a>(object: &'a Object, field: &str) -> impl Iterator<Item = &'a (Key, Value)> {
    object.entries().iter().filter(move |(name, _)| name != field)
}

/// Compares values, skipping parts shared in memory.
fn same(a: &Value, b: &Value) -> bool {
    match (a.node(), b.node()) {
        _ if a.is_same(b) => true,
        (Node::List(a), Node::List(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Node::Object(a), Node::Object(b)) => {
            let pairs = || a.entries().iter().zip(b.entries());
            a.len() == b.len() && pairs().all(|((name, a), (other, b))| name == other && same(a, b))
        }
        (Node::Raw(a), Node::Raw(b)) | (Node::Bytes(a), Node::Bytes(b)) => a == b,
        _ => false,
    }
}
