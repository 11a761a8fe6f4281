//! Elements of list items and fields of objects, shared by all walks.

use std::borrow::Cow;

use pintle_meta::value::Key;
use pintle_meta::{Node, Object, Value};

use super::Invalid;
use super::atom::{List, Relation};
use crate::fieldset::{Element, is_in_json, read};

/// Returns the value with raw JSON decoded.
pub(super) fn opened(value: &Value) -> Cow<'_, Value> {
    match value.node() {
        Node::Raw(raw) => Cow::Owned(read(raw)),
        _ => Cow::Borrowed(value),
    }
}

/// Returns the fields that JSON contains.
pub(super) fn json_fields(object: &Object) -> impl Iterator<Item = (&Key, &Value)> {
    object.entries().iter().filter(|(_, value)| is_in_json(value)).map(|(key, value)| (key, value))
}

/// Returns the element of an item.
pub(super) fn element_of(list: &List<'_>, item: &Value) -> Result<Element, Invalid> {
    let keys = match list.relation {
        Relation::Keys(keys) => keys,
        Relation::Atomic => return Err(Invalid::new("invalid indexing of non-associative list")),
        Relation::Set => {
            return match item.node() {
                Node::Object(_) => Err("associative list without keys has an element that's a map type"),
                Node::List(_) => Err("not supported: associative list with lists as elements"),
                Node::Null => Err("associative list without keys has an element that's an explicit null"),
                _ => Ok(Element::value(item.clone())),
            }
            .map_err(Invalid::new);
        }
    };
    let object = match item.node() {
        Node::Object(object) => object,
        Node::Null => return Err(Invalid::new("associative list with keys may not have a null element")),
        _ => return Err(Invalid::new("associative list with keys may not have non-map elements")),
    };
    let mut fields = Vec::with_capacity(keys.len());
    for key in keys.iter() {
        let found = object.get(&key).filter(|value| is_in_json(value)).cloned();
        if let Some(value) = found.or_else(|| list.items.default_of(&key)) {
            fields.push((key, value));
        }
    }
    if fields.is_empty() && !keys.is_empty() {
        let keys = keys.describe();
        return Err(Invalid::new(format!(
            "associative list with keys has an element that omits all key fields {keys} (and doesn't have default \
             values for any key fields)"
        )));
    }
    Ok(Element::key(fields))
}

/// Returns the items of a list with their elements, sorted; items of equal elements are adjacent, in the list's
/// order.
pub(super) fn sorted<'a>(list: &List<'_>, items: &'a [Value]) -> Result<Vec<(Element, &'a Value)>, Invalid> {
    sorted_as(list, items, |_, item| item)
}

/// Like [`sorted`], with a projection of each item.
pub(super) fn sorted_as<'a, T>(
    list: &List<'_>,
    items: &'a [Value],
    as_what: impl Fn(usize, &'a Value) -> T,
) -> Result<Vec<(Element, T)>, Invalid> {
    let mut found = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        let element = element_of(list, item).map_err(|mut invalid| {
            invalid.message.insert_str(0, &format!("element {index}: "));
            invalid
        })?;
        found.push((element, as_what(index, item)));
    }
    if !found.is_sorted_by(|(a, _), (b, _)| a <= b) {
        found.sort_by(|(a, _), (b, _)| a.cmp(b));
    }
    Ok(found)
}
