//! From one struct to another that stands for the same: fields of the same name go over, then the pair's own rules.

use pintle_meta::Value;
use pintle_schema::normal::zero;
use pintle_schema::{Shape, Type, find};

use super::tables::{Direction, tables};
use super::{Error, Fields};

/// A struct as another struct.
pub(super) fn structure(from: &'static Type, to: &'static Type, value: &Value) -> Result<Value, Error> {
    let (Some(source), Some(target)) = (from.structure(), to.structure()) else { return Ok(value.clone()) };
    let pair = tables().pair(from, to);
    let mut fields = Fields::new(target);
    for (place, field) in target.flat.iter().enumerate() {
        let name = pair.map_or(field.name, |(pair, direction)| pair.name_in_source(direction, field.name));
        let Some(known) = source.field(name) else { continue };
        match value.get(name) {
            Some(found) => fields.put(place, shape(known.shape, field.shape, found)?),
            // What cannot be absent there is a pointer to zero here.
            None if is_value(known.shape) && is_pointer(field.shape) => fields.put(place, zero(known.shape)),
            None => {}
        }
    }
    if let Some((pair, direction)) = pair {
        let hook = match direction {
            Direction::Inward => pair.inward,
            Direction::Outward => pair.outward,
        };
        hook(value, &mut fields)?;
    }
    Ok(fields.close())
}

/// A struct as another, both by name.
pub(crate) fn by_name(from: &str, to: &str, value: &Value) -> Result<Value, Error> {
    let (Some(from), Some(to)) = (find(from), find(to)) else {
        debug_assert!(false, "there is no {from} or {to}");
        return Ok(value.clone());
    };
    nested(from, to, value)
}

/// A struct as another, unless they are the same.
pub(crate) fn nested(from: &'static Type, to: &'static Type, value: &Value) -> Result<Value, Error> {
    if tables().is_same(from, to) || value.is_null() { Ok(value.clone()) } else { structure(from, to, value) }
}

fn shape(from: Shape, to: Shape, value: &Value) -> Result<Value, Error> {
    if value.is_null() {
        return Ok(Value::NULL);
    }
    match (without_pointer(from), without_pointer(to)) {
        (Shape::Named(from), Shape::Named(to)) if from.structure().is_some() && to.structure().is_some() => {
            nested(from, to, value)
        }
        (Shape::List(from), Shape::List(to)) if !is_same_shape(*from, *to) => {
            let items = value.as_list().unwrap_or_default();
            Ok(items.iter().map(|item| shape(*from, *to, item)).collect::<Result<Vec<_>, _>>()?.into())
        }
        (Shape::Map(_, from), Shape::Map(_, to)) if !is_same_shape(*from, *to) => {
            let mut map = value.clone();
            for (_, item) in map.as_object_mut().into_iter().flat_map(|map| map.iter_mut()) {
                *item = shape(*from, *to, item)?;
            }
            Ok(map)
        }
        _ => Ok(value.clone()),
    }
}

fn is_same_shape(from: Shape, to: Shape) -> bool {
    match (without_pointer(from), without_pointer(to)) {
        (Shape::Named(from), Shape::Named(to)) if from.structure().is_some() && to.structure().is_some() => {
            tables().is_same(from, to)
        }
        (Shape::List(from), Shape::List(to)) | (Shape::Map(_, from), Shape::Map(_, to)) => {
            is_same_shape(*from, *to)
        }
        _ => true,
    }
}

fn without_pointer(shape: Shape) -> Shape {
    match shape.underlying() {
        Shape::Pointer(of) => of.underlying(),
        other => other,
    }
}

fn is_pointer(shape: Shape) -> bool {
    matches!(shape.underlying(), Shape::Pointer(_))
}

/// Whether Go has a value here even if nobody set one, and not nil.
fn is_value(shape: Shape) -> bool {
    matches!(shape.underlying(), Shape::Scalar(_) | Shape::Named(_))
}
