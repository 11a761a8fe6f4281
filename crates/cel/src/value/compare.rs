//! Equality of any two values, and order of comparable ones. Numbers compare across their types.

use std::cmp::Ordering;

use pintle_meta::{Node, Value};
use smol_str::SmolStr;

use super::map::Compared;
use super::{Error, List, Map, Val, built};
use crate::meter::{Failure, Meter};
use crate::types::ListKind;

/// Error of comparing values that have no order.
pub(crate) fn no_such_overload() -> Error {
    Error::new("no such overload")
}

/// Returns whether two values are equal; numbers across their types.
pub(crate) fn equal(left: &Val<'_>, right: &Val<'_>, meter: &mut Meter<'_>) -> Result<bool, Failure> {
    use Val::{Bool, Bytes, Double, Duration, Int, Null, Optional, Other, String, Timestamp, Type, Uint};
    meter.items(1)?;
    Ok(match (left, right) {
        (Null, Null) => true,
        (Bool(a), Bool(b)) => a == b,
        (Int(_) | Uint(_) | Double(_), Int(_) | Uint(_) | Double(_)) => {
            numbers(left, right) == Some(Ordering::Equal)
        }
        (String(a), String(b)) => a == b,
        (Bytes(a), Bytes(b)) => **a == **b,
        (Timestamp(a), Timestamp(b)) => a.instant() == b.instant(),
        (Duration(a), Duration(b)) => a == b,
        (Type(a), Type(b)) => a.runtime_name() == b.runtime_name(),
        (Optional(None), Optional(None)) => true,
        (Optional(Some(a)), Optional(Some(b))) => return equal(a, b, meter),
        (Val::List(a), Val::List(b)) => return lists(a, b, meter),
        (Val::Map(a), Val::Map(b)) => return maps(a, b, meter),
        (Other(a), Other(b)) => a.equal(b),
        _ => false,
    })
}

fn lists(left: &List<'_>, right: &List<'_>, meter: &mut Meter<'_>) -> Result<bool, Failure> {
    if left.len() != right.len() {
        return Ok(false);
    }
    for index in 0..left.len() {
        let item = left.get(index)?;
        let same = match left.kind() {
            ListKind::Atomic => equal(&item, &right.get(index)?, meter)?,
            // In any order. Items of a set or map are distinct, so multiplicities need no comparison.
            ListKind::Set => contains(right, &item, meter)?,
            ListKind::Map(keys) => match find_by_keys(right, &item, keys, meter)? {
                Some((_, other)) => equal(&item, &other, meter)?,
                None => false,
            },
        };
        if !same {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns whether a list contains an equal item.
pub(crate) fn contains(list: &List<'_>, wanted: &Val<'_>, meter: &mut Meter<'_>) -> Result<bool, Failure> {
    for item in list.iter() {
        if equal(&item?, wanted, meter)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the item of a list with the same keys, and its index.
pub(crate) fn find_by_keys<'v>(
    list: &List<'v>,
    like: &Val<'_>,
    keys: &[SmolStr],
    meter: &mut Meter<'_>,
) -> Result<Option<(usize, Val<'v>)>, Failure> {
    let Val::Map(like) = like else { return Ok(None) };
    'items: for (index, item) in list.iter().enumerate() {
        let item = item?;
        let Val::Map(fields) = &item else { continue };
        for key in keys {
            let same = match (fields.property(key)?, like.property(key)?) {
                (Some(a), Some(b)) => equal(&a, &b, meter)?,
                (a, b) => a.is_none() && b.is_none(),
            };
            if !same {
                continue 'items;
            }
        }
        return Ok(Some((index, item)));
    }
    Ok(None)
}

fn maps(left: &Map<'_>, right: &Map<'_>, meter: &mut Meter<'_>) -> Result<bool, Failure> {
    match (left, right) {
        (Map::Fields { of, fields }, Map::Fields { of: other, fields: others }) => {
            return built::same((&**of, fields), (&**other, others), meter);
        }
        // A built object is no map.
        (Map::Fields { .. }, _) | (_, Map::Fields { .. }) => return Ok(false),
        _ => {}
    }
    if left.len() != right.len() {
        return Ok(false);
    }
    if let Map::Object { object, .. } = left {
        for (property, value) in object.iter().filter(|(_, value)| value.node() != Node::Hollow) {
            let same = match left.compared(right, property, value)? {
                Compared::Same => true,
                Compared::Different => false,
                Compared::Values(a, b) => equal(&a, &b, meter)?,
                Compared::Trees(a, b) => trees(a, b, meter)?,
            };
            if !same {
                return Ok(false);
            }
        }
        return Ok(true);
    }
    for key in left.keys() {
        let same = match (left.find(&key)?, right.find(&key)?) {
            (Some(a), Some(b)) => equal(&a, &b, meter)?,
            _ => false,
        };
        if !same {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Compares two trees without a declared type.
fn trees(left: &Value, right: &Value, meter: &mut Meter<'_>) -> Result<bool, Failure> {
    meter.items(1)?;
    Ok(match (left.node(), right.node()) {
        (Node::List(a), Node::List(b)) => {
            if a.len() != b.len() {
                return Ok(false);
            }
            for (a, b) in a.iter().zip(b) {
                if !trees(a, b, meter)? {
                    return Ok(false);
                }
            }
            true
        }
        (Node::Object(a), Node::Object(b)) => {
            if a.len() != b.len() {
                return Ok(false);
            }
            for (key, a) in a.iter() {
                match b.get(key) {
                    Some(b) if trees(a, b, meter)? => {}
                    _ => return Ok(false),
                }
            }
            true
        }
        (a, b) => a == b,
    })
}

/// Orders two values.
pub(crate) fn compare(left: &Val<'_>, right: &Val<'_>) -> Result<Ordering, Error> {
    use Val::{Bool, Bytes, Double, Duration, Int, String, Timestamp, Uint};
    Ok(match (left, right) {
        (Bool(a), Bool(b)) => a.cmp(b),
        (Int(_) | Uint(_) | Double(_), Int(_) | Uint(_) | Double(_)) => {
            return numbers(left, right).ok_or_else(|| Error::new("NaN values cannot be ordered"));
        }
        (String(a), String(b)) => a.cmp(b),
        (Bytes(a), Bytes(b)) => a.cmp(b),
        (Timestamp(a), Timestamp(b)) => a.instant().cmp(&b.instant()),
        (Duration(a), Duration(b)) => a.cmp(b),
        _ => return Err(no_such_overload()),
    })
}

/// Orders two numbers; `None` if one is NaN.
fn numbers(left: &Val<'_>, right: &Val<'_>) -> Option<Ordering> {
    use Val::{Double, Int, Uint};
    match (left, right) {
        (Int(a), Int(b)) => Some(a.cmp(b)),
        (Uint(a), Uint(b)) => Some(a.cmp(b)),
        (Int(a), Uint(b)) => Some(i128::from(*a).cmp(&i128::from(*b))),
        (Uint(a), Int(b)) => Some(i128::from(*a).cmp(&i128::from(*b))),
        (Double(a), Double(b)) => a.partial_cmp(b),
        (Double(a), Int(b)) => double_and(*a, i64::MIN as f64, i64::MAX as f64, *b as f64),
        (Double(a), Uint(b)) => double_and(*a, 0.0, u64::MAX as f64, *b as f64),
        (_, Double(_)) => numbers(right, left).map(Ordering::reverse),
        _ => None,
    }
}

fn double_and(value: f64, least: f64, most: f64, other: f64) -> Option<Ordering> {
    if value < least {
        Some(Ordering::Less)
    } else if value > most {
        Some(Ordering::Greater)
    } else {
        value.partial_cmp(&other)
    }
}
