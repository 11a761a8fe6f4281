//! Objects that an expression builds: the apply configurations `Object{...}` and the operations `JSONPatch{...}`.
//!
//! They are no maps. Their fields are read where the checker knows the type of the object; elsewhere an `Object` has no fields,
//! and a `JSONPatch` has its four. Fields that were read are plain values: an object in them is a map.

use std::collections::BTreeMap;
use std::sync::Arc;

use pintle_meta::quote;
use smol_str::SmolStr;

use super::{Error, Key, List, Map, Text, Val, equal};
use crate::meter::{Failure, Meter};
use crate::types::ObjectType;

/// The name of the type of operations.
pub(crate) const JSON_PATCH: &str = "JSONPatch";

/// Parts of a value that are compared with the names of their types.
const MOST_PARTS: usize = 1_000_000;

/// Mismatches of names that are reported.
const MOST_MISMATCHES: usize = 100;

/// The fields of a built object.
pub(crate) type Fields<'v> = BTreeMap<SmolStr, Val<'v>>;

/// How a field of a built object is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Read {
    /// Whether the checker knows the type of the object.
    pub(crate) declared: bool,
    /// Whether an absent field is no value, as opposed to a null.
    pub(crate) if_present: bool,
}

/// Checks the fields of a new object. The checker leaves those of unknown type to the evaluation.
pub(crate) fn check(of: &dyn ObjectType, fields: &Fields<'_>) -> Result<(), Error> {
    if of.name() != JSON_PATCH {
        return Ok(());
    }
    for name in ["op", "path", "from"] {
        match fields.get(name) {
            None | Some(Val::String(_)) => {}
            Some(other) => {
                let of = other.go_type();
                return Err(Error::new(format!("unexpected type {of} for JSONPatchType '{name}' field")));
            }
        }
    }
    Ok(())
}

/// Returns a field of a built object.
pub(crate) fn field<'v>(
    (of, fields): (&dyn ObjectType, &Fields<'v>),
    key: &Val<'_>,
    read: Read,
    meter: &mut Meter<'_>,
) -> Result<Option<Val<'v>>, Failure> {
    let name = key.as_str().unwrap_or_default();
    if of.name() == JSON_PATCH {
        let empty = |value: &Val<'_>| value.as_str() == Some("");
        return match name {
            "op" | "path" | "from" => {
                let given = fields.get(name).filter(|value| !empty(value)).cloned();
                Ok(given.or_else(|| (!read.if_present).then(|| Val::String(Text::Borrowed("")))))
            }
            "value" => Ok(fields.get(name).cloned().or_else(|| (!read.if_present).then_some(Val::Null))),
            _ => Failure::error(format!(
                "unsupported {}: {key}",
                if read.if_present { "field" } else { "indexer" }
            )),
        };
    }
    match fields.get(name) {
        _ if !read.declared => Ok(None),
        Some(value) => plain(value, meter).map(Some),
        None => Ok((!read.if_present).then_some(Val::Null)),
    }
}

/// Returns a value in which built objects are maps.
fn plain<'v>(value: &Val<'v>, meter: &mut Meter<'_>) -> Result<Val<'v>, Failure> {
    let of_entry = |key: Val<'v>, value: Val<'v>| Key::of(&key).map(|plain| (plain, (key, value)));
    Ok(match value {
        Val::Map(Map::Fields { fields, .. }) => {
            meter.items(fields.len())?;
            let mut entries = BTreeMap::new();
            for (name, value) in fields.iter() {
                entries.extend(of_entry(Val::string(name.to_string()), plain(value, meter)?));
            }
            Val::Map(Map::Entries(Arc::new(entries)))
        }
        Val::Map(Map::Entries(given)) => {
            meter.items(given.len())?;
            let mut entries = BTreeMap::new();
            for (key, value) in given.values() {
                entries.extend(of_entry(key.clone(), plain(value, meter)?));
            }
            Val::Map(Map::Entries(Arc::new(entries)))
        }
        Val::List(List::Items(items) | List::Joined(items)) => {
            meter.items(items.len())?;
            Val::list(items.iter().map(|item| plain(item, meter)).collect::<Result<_, _>>()?)
        }
        other => other.clone(),
    })
}

/// Returns whether two built objects are equal.
pub(super) fn same(
    (of, left): (&dyn ObjectType, &Fields<'_>),
    (other, right): (&dyn ObjectType, &Fields<'_>),
    meter: &mut Meter<'_>,
) -> Result<bool, Failure> {
    if of.name() != other.name() {
        return Ok(false);
    }
    if of.name() != JSON_PATCH {
        return same_fields(left, right, meter);
    }
    let text =
        |fields: &Fields<'_>, name| fields.get(name).and_then(Val::as_str).unwrap_or_default().to_owned();
    if ["op", "path", "from"].into_iter().any(|name| text(left, name) != text(right, name)) {
        return Ok(false);
    }
    match (left.get("value"), right.get("value")) {
        (Some(a), Some(b)) => equal(a, b, meter),
        (a, b) => Ok(a.is_none() && b.is_none()),
    }
}

fn same_fields(left: &Fields<'_>, right: &Fields<'_>, meter: &mut Meter<'_>) -> Result<bool, Failure> {
    if left.len() != right.len() {
        return Ok(false);
    }
    for ((name, a), (other, b)) in left.iter().zip(right.iter()) {
        if name != other || !identical(a, b, meter)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Compares as Go's `reflect.DeepEqual` does: numbers of different types differ, and so do lists, unless they are the same one.
fn identical(left: &Val<'_>, right: &Val<'_>, meter: &mut Meter<'_>) -> Result<bool, Failure> {
    match (left, right) {
        (Val::List(List::Items(a)), Val::List(List::Items(b))) => Ok(std::ptr::eq(a.as_ptr(), b.as_ptr())),
        (Val::List(_), Val::List(_)) => Ok(false),
        (Val::Map(Map::Fields { of, fields }), Val::Map(Map::Fields { of: other, fields: others })) => {
            meter.items(1)?;
            Ok(of.name() == other.name() && same_fields(fields, others, meter)?)
        }
        (Val::Map(Map::Entries(a)), Val::Map(Map::Entries(b))) => {
            if a.len() != b.len() {
                return Ok(false);
            }
            for ((key, (_, a)), (other, (_, b))) in a.iter().zip(b.iter()) {
                if key != other || !identical(a, b, meter)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (Val::Map(Map::Entries(_)), Val::Map(_)) | (Val::Map(_), Val::Map(Map::Entries(_))) => Ok(false),
        (a, b) if std::mem::discriminant(a) != std::mem::discriminant(b) => Ok(false),
        (a, b) => equal(a, b, meter),
    }
}

impl Val<'_> {
    /// Checks that each object in an object is of the type that is named after its fields: `Object.spec` in the field `spec` of
    /// an `Object`. The error lists the mismatches, one per line.
    pub fn check_type_names(&self) -> Result<(), String> {
        let Val::Map(Map::Fields { of, .. }) = self else { return Ok(()) };
        let mut names = TypeNames { expected: of.name().to_owned(), found: Vec::new(), left: MOST_PARTS };
        names.visit(self);
        if names.found.is_empty() { Ok(()) } else { Err(names.found.join("\n")) }
    }

    /// Returns the name of the type that the reference holds the value in.
    pub(super) fn go_type(&self) -> &'static str {
        match self {
            Val::Null => "structpb.NullValue",
            Val::Bool(_) => "bool",
            Val::Int(_) => "int64",
            Val::Uint(_) => "uint64",
            Val::Double(_) => "float64",
            Val::String(_) => "string",
            Val::Bytes(_) => "[]uint8",
            Val::Timestamp(_) => "time.Time",
            Val::Duration(_) => "time.Duration",
            Val::List(List::Tree { .. } | List::Joined(_)) => "[]interface {}",
            Val::List(_) => "[]ref.Val",
            Val::Map(Map::Entries(_)) => "map[ref.Val]ref.Val",
            Val::Map(_) => "map[string]interface {}",
            Val::Type(_) => "string",
            Val::Optional(Some(value)) => value.go_type(),
            Val::Optional(None) => "<nil>",
            Val::Other(_) => "*types.Unknown",
        }
    }
}

/// A walk that compares the names of types with the fields they are in.
struct TypeNames {
    expected: String,
    found: Vec<String>,
    left: usize,
}

impl TypeNames {
    fn visit(&mut self, value: &Val<'_>) {
        // An expression can share a part many times over.
        if self.left == 0 || self.found.len() >= MOST_MISMATCHES {
            return;
        }
        self.left -= 1;
        match value {
            Val::Map(Map::Fields { of, fields }) => {
                if of.name() != self.expected {
                    let (name, expected) = (quote(of.name()), quote(&self.expected));
                    self.found.push(format!(
                        "unexpected type name {name}, expected {expected}, which matches field name path from root \
                         Object type"
                    ));
                }
                let length = self.expected.len();
                for (name, value) in fields.iter() {
                    self.expected.push('.');
                    self.expected.push_str(name);
                    self.visit(value);
                    self.expected.truncate(length);
                }
            }
            Val::Map(Map::Entries(entries)) => entries.values().for_each(|(_, value)| self.visit(value)),
            // Not those of sums, as in the reference.
            Val::List(List::Items(items)) => items.iter().for_each(|item| self.visit(item)),
            _ => {}
        }
    }
}
