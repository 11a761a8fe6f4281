//! Defaulting of absent fields, and handling of nulls.

use pintle_meta::value::{Key, Object};
use pintle_meta::{Node, Value};
use pintle_schema::structural::{Additional, Structural};

use super::change::{self, FieldChange, Properties};
use super::{coerce_embedded, prune};

/// Sets the defaults of a schema where fields are absent, or null where they may not be.
pub fn default(schema: &Structural, value: &mut Value) {
    if let Some(new) = defaulted(schema, value) {
        *value = new;
    }
}

fn defaulted(schema: &Structural, value: &Value) -> Option<Value> {
    if !schema.marks.defaults {
        return None;
    }
    match value.node() {
        Node::Object(object) => {
            let mut properties = Properties::new(&schema.properties);
            let changed = change::fields(object, |key, value| match properties.find(key) {
                Some(property) => item(property, value).into(),
                None => schema.additional_schema().and_then(|schema| item(schema, value)).into(),
            });
            let mut place = 0;
            let mut is_there = |name: &str| {
                // As with properties, the next field is most often the one.
                let next = object.entries().get(place).is_some_and(|(known, _)| known == name);
                place += usize::from(next);
                next || object.contains(name)
            };
            let mut missing = schema.properties.iter().filter_map(|(name, property)| {
                let there = is_there(name);
                let default = property.default.as_ref().filter(|_| !there)?;
                Some((name.clone(), defaulted(property, default).unwrap_or_else(|| default.clone())))
            });
            let first = missing.next();
            if changed.is_none() && first.is_none() {
                return None;
            }
            let mut entries = changed.unwrap_or_else(|| object.entries().to_vec());
            entries.extend(first.into_iter().chain(missing));
            Some(Value::object(Object::from_unsorted(entries)))
        }
        Node::List(items) => {
            let of = schema.items.as_deref()?;
            change::list(items, |_, value| item(of, value))
        }
        _ => None,
    }
}

/// A value that is there, perhaps as a null that is none.
fn item(schema: &Structural, value: &Value) -> Option<Value> {
    match &schema.default {
        Some(default) if value.is_null() && !schema.nullable => {
            Some(defaulted(schema, default).unwrap_or_else(|| default.clone()))
        }
        _ => defaulted(schema, value),
    }
}

/// Removes fields that are null, may not be, and have no default to take their place.
pub fn drop_nulls(schema: &Structural, value: &mut Value) {
    // Most have none, which is quickly seen.
    if has_nulls(value)
        && let Some(new) = without_nulls(schema, value)
    {
        *value = new;
    }
}

fn has_nulls(value: &Value) -> bool {
    match value.node() {
        Node::Null => true,
        Node::List(items) => items.iter().any(has_nulls),
        Node::Object(object) => object.iter().any(|(_, value)| has_nulls(value)),
        _ => false,
    }
}

fn without_nulls(schema: &Structural, value: &Value) -> Option<Value> {
    match value.node() {
        Node::Object(object) => change::object(object, |key, value| {
            match schema.property(key).or_else(|| schema.additional_schema()) {
                Some(of) if value.is_null() && !of.nullable && of.default.is_none() => FieldChange::Remove,
                Some(of) => without_nulls(of, value).into(),
                None => FieldChange::Keep,
            }
        }),
        Node::List(items) => {
            let of = schema.items.as_deref()?;
            change::list(items, |_, item| without_nulls(of, item))
        }
        _ => None,
    }
}

/// Removes from the defaults of a schema what the schema itself does not know, so that setting them need not be followed by
/// pruning.
pub fn prune_defaults(schema: &mut Structural) -> Result<(), String> {
    if !schema.marks.defaults {
        return Ok(());
    }
    let mut changes = Vec::new();
    find(schema, schema, &mut Vec::new(), &mut changes)?;
    for (path, default) in changes {
        let node = path.iter().try_fold(&mut *schema, |node, step| match step {
            PathSegment::Items => node.items.as_deref_mut(),
            PathSegment::Additional => match &mut node.additional {
                Some(Additional::Schema(of)) => Some(&mut **of),
                _ => None,
            },
            PathSegment::Property(place, _) => node.properties.get_mut(*place).map(|(_, node)| node),
        });
        if let Some(node) = node {
            node.default = default;
        }
    }
    Ok(())
}

#[derive(Clone)]
enum PathSegment {
    Items,
    Additional,
    Property(usize, Key),
}

type Changes = Vec<(Vec<PathSegment>, Option<Value>)>;

/// Defaults that are not what they become within a whole object.
fn find(
    root: &Structural,
    node: &Structural,
    path: &mut Vec<PathSegment>,
    changes: &mut Changes,
) -> Result<(), String> {
    if !node.marks.defaults {
        return Ok(());
    }
    if let Some(default) = &node.default {
        let mut object = surround(path, default.clone());
        if !matches!(object.node(), Node::Object(_)) {
            let wrong = "object root default value must be of object type";
            return Err(format!("failed to prune default value: {wrong}"));
        }
        coerce_embedded(root, &mut object, true, true)
            .map_err(|error| format!("failed to prune default value: {error}"))?;
        prune(root, &mut object, true);
        let pruned = inside(path, &object).filter(|pruned| !pruned.is_null());
        if pruned != Some(default) {
            changes.push((path.clone(), pruned.cloned()));
        }
    }
    let additional = node.additional_schema().map(|below| (PathSegment::Additional, below));
    let items = node.items.as_deref().map(|below| (PathSegment::Items, below));
    let properties = node.properties.iter().enumerate();
    let properties =
        properties.map(|(place, (name, below))| (PathSegment::Property(place, name.clone()), below));
    for (step, below) in additional.into_iter().chain(items).chain(properties) {
        path.push(step);
        find(root, below, path, changes)?;
        path.pop();
    }
    Ok(())
}

/// An object that has a value at the end of a path and nothing else.
fn surround(path: &[PathSegment], value: Value) -> Value {
    path.iter().rev().fold(value, |value, step| match step {
        PathSegment::Items => Value::list(vec![value]),
        PathSegment::Additional => Value::object(Object::from_iter([(Key::new_static("*"), value)])),
        PathSegment::Property(_, name) => Value::object(Object::from_iter([(name.clone(), value)])),
    })
}

/// Returns the value at the end of the path.
fn inside<'v>(path: &[PathSegment], object: &'v Value) -> Option<&'v Value> {
    path.iter().try_fold(object, |value, step| match step {
        PathSegment::Items => value.as_list()?.first(),
        PathSegment::Additional => value.get("*"),
        PathSegment::Property(_, name) => value.get(name),
    })
}
