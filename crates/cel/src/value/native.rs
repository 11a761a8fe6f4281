//! Conversion of what mutations evaluate to: apply configurations, and the values of JSON patches.
//!
//! The reference converts a built object to Go values by its fields, its lists and its maps, but not what is deeper in those:
//!
//! ```text
//! Object{a: [1], b: {"c": 1}}            numbers, lists and maps of them
//! Object{a: [[1]], b: {"c": {"d": 1}}}   the inner list and map are foreign
//! Object{a: [[1] + [2]]}                 a list again
//! Object{a: null, b: b"x", c: 1u}        foreign: Go's types of these are none of JSON's
//! ```

use base64::Engine;
use pintle_meta::{Object, Value};
use smol_str::SmolStr;

use super::convert::{MOST_PARTS, seconds};
use super::{Error, List, Map, Val};

/// Integers of larger amount are strings in the JSON of patches.
const MOST_EXACT: i64 = (1 << 53) - 1;

/// A step of a path into a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    Field(SmolStr),
    Index(usize),
}

/// A value that a configuration cannot hold, as the reference describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Foreign {
    pub path: Vec<Step>,
    /// `%T` in Go.
    pub go_type: &'static str,
    /// `%#v` in Go.
    pub source: String,
    /// `%v` in Go.
    pub display: String,
}

/// Reason why a built object is no configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unconvertible {
    Foreign(Foreign),
    /// A map has a key that is no string.
    Key,
    TooLarge,
}

impl Val<'_> {
    /// Converts a built object to an apply configuration.
    pub fn to_configuration(&self) -> Result<Value, Unconvertible> {
        Native { left: MOST_PARTS, path: Vec::new(), is_patch: false }.plain(self)
    }

    /// Converts a value to the JSON that it has in a patch: numbers are of double precision.
    pub fn to_patch_value(&self) -> Result<Value, Error> {
        json(self, &mut { MOST_PARTS })
    }
}

struct Native {
    left: usize,
    path: Vec<Step>,
    /// Whether the object is a value of a patch, which may hold more.
    is_patch: bool,
}

impl Native {
    fn below(&mut self, step: Step, value: &Val<'_>) -> Result<Value, Unconvertible> {
        self.path.push(step);
        let value = self.plain(value)?;
        self.path.pop();
        Ok(value)
    }

    /// Converts the value of a field: lists and maps by their items.
    fn field(&mut self, value: &Val<'_>) -> Result<Value, Unconvertible> {
        match value {
            Val::List(List::Items(items)) => self.items(items),
            Val::Map(Map::Entries(entries)) => {
                let mut object = Object::new();
                for (key, value) in entries.values() {
                    let key = key.as_str().ok_or(Unconvertible::Key)?;
                    object.insert(key, self.below(Step::Field(key.into()), value)?);
                }
                Ok(object.into())
            }
            other => self.plain(other),
        }
    }

    fn items(&mut self, items: &[Val<'_>]) -> Result<Value, Unconvertible> {
        let items = items.iter().enumerate();
        let items = items.map(|(index, item)| self.below(Step::Index(index), item));
        Ok(Value::from(items.collect::<Result<Vec<_>, _>>()?))
    }

    fn plain(&mut self, value: &Val<'_>) -> Result<Value, Unconvertible> {
        self.left = self.left.checked_sub(1).ok_or(Unconvertible::TooLarge)?;
        Ok(match value {
            Val::Map(Map::Fields { fields, .. }) => {
                let mut object = Object::new();
                for (name, value) in fields.iter() {
                    self.path.push(Step::Field(name.clone()));
                    object.insert(name.as_str(), self.field(value)?);
                    self.path.pop();
                }
                object.into()
            }
            Val::Int(value) if self.is_patch => number(*value as f64),
            Val::Uint(value) if self.is_patch => number(*value as f64),
            Val::Bytes(bytes) if self.is_patch => {
                Value::from(base64::prelude::BASE64_STANDARD.encode(&**bytes))
            }
            Val::Bool(_) | Val::Int(_) | Val::Double(_) | Val::String(_) => self.counted(value)?,
            Val::List(List::Tree { .. }) | Val::Map(Map::Tree { .. } | Map::Object { .. }) => {
                self.counted(value)?
            }
            Val::List(List::Joined(items) | List::Merged { items, .. }) => self.items(items)?,
            Val::Optional(Some(value)) => self.plain(value)?,
            Val::Optional(None) => Value::NULL,
            other => return Err(Unconvertible::Foreign(Foreign::new(self.path.clone(), other))),
        })
    }

    fn counted(&mut self, value: &Val<'_>) -> Result<Value, Unconvertible> {
        value.counted(&mut self.left).map_err(|_| Unconvertible::TooLarge)
    }
}

impl Foreign {
    fn new(path: Vec<Step>, value: &Val<'_>) -> Foreign {
        let (source, display) = match value {
            Val::Null => ("0".to_owned(), "NULL_VALUE".to_owned()),
            Val::Uint(number) => (format!("{number:#x}"), number.to_string()),
            Val::Bytes(bytes) => {
                let bytes: Vec<String> = bytes.iter().take(256).map(|byte| format!("{byte:#x}")).collect();
                (format!("[]byte{{{}}}", bytes.join(", ")), value.to_string())
            }
            Val::Duration(nanos) => (nanos.to_string(), value.to_string()),
            other => (other.to_string(), other.to_string()),
        };
        Foreign { path, go_type: value.go_type(), source, display }
    }
}

fn number(value: f64) -> Value {
    if value.fract() == 0.0 && value.abs() < 9.0e18 { Value::from(value as i64) } else { Value::from(value) }
}

fn json(value: &Val<'_>, left: &mut usize) -> Result<Value, Error> {
    *left = left.checked_sub(1).ok_or_else(|| Error::new("result is too large"))?;
    let no_conversion =
        |of: &str, to: &str| Error::new(format!("unsupported type conversion from '{of}' to {to}"));
    Ok(match value {
        Val::Null => Value::NULL,
        Val::Bool(value) => Value::from(*value),
        Val::Int(value) if (-MOST_EXACT..=MOST_EXACT).contains(value) => Value::from(*value),
        Val::Int(value) => Value::from(value.to_string()),
        Val::Uint(value) if *value <= MOST_EXACT as u64 => Value::from(*value as i64),
        Val::Uint(value) => Value::from(value.to_string()),
        Val::Double(value) if value.is_finite() => number(*value),
        Val::Double(_) => {
            return Err(Error::new("google.protobuf.Value.number_value is not a finite number"));
        }
        Val::String(text) => Value::string(&**text),
        Val::Bytes(bytes) => Value::from(base64::prelude::BASE64_STANDARD.encode(&**bytes)),
        Val::Timestamp(at) => Value::from(at.to_string()),
        Val::Duration(nanos) => Value::from(seconds(*nanos)),
        Val::List(list) => {
            let items: Result<Vec<Value>, Error> = list.iter().map(|item| json(&item?, left)).collect();
            Value::from(items?)
        }
        Val::Map(Map::Fields { .. }) => {
            let mut native = Native { left: *left, path: Vec::new(), is_patch: true };
            let converted = native.plain(value).map_err(|problem| match problem {
                Unconvertible::Foreign(foreign) => {
                    Error::new(format!("proto: invalid type: {}", foreign.go_type))
                }
                Unconvertible::Key => Error::new("fail to convert field: a map key is not a string"),
                Unconvertible::TooLarge => Error::new("result is too large"),
            });
            *left = native.left;
            converted?
        }
        Val::Map(map) => {
            let mut object = Object::new();
            for key in map.keys() {
                let Val::String(name) = &key else {
                    return Err(no_conversion(key.type_of().runtime_name(), "string"));
                };
                let value = map.find(&key)?.unwrap_or(Val::Null);
                object.insert(&**name, json(&value, left)?);
            }
            object.into()
        }
        Val::Optional(Some(value)) => json(value, left)?,
        Val::Optional(None) => Value::NULL,
        Val::Type(_) | Val::Other(_) => {
            return Err(no_conversion(value.type_of().runtime_name(), "*structpb.Value"));
        }
    })
}
