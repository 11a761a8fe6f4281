//! What the way through the internal type changes about an object of a hub's version.

use pintle_meta::Value;
use pintle_meta::value::Key;
use pintle_schema::normal::zero;
use pintle_schema::{Opaque, Shape, Struct, Type};

use super::Error;
use super::tables::{Tables, schema_of, tables};

/// The changed object, or nothing. Only what lies on the way to a [`super::Fix`] is looked at.
pub(super) fn fix(of: &'static Type, value: &Value) -> Result<Option<Value>, Error> {
    structure(tables(), of, value)
}

fn structure(tables: &Tables, of: &'static Type, value: &Value) -> Result<Option<Value>, Error> {
    let Some(known) = of.structure() else { return Ok(None) };
    let mut changed: Option<Value> = None;
    for field in tables.fields_to_fix(of) {
        if let Some(found) = value.get(field.name)
            && let Some(new) = shape(tables, field.shape, found)?
        {
            insert(&mut changed, value, field.name, new);
        }
    }
    let Some(fix) = tables.fix(of) else { return Ok(changed) };
    for name in fix.filled {
        let found = value.get(name);
        if found.is_none_or(Value::is_null) {
            insert(&mut changed, value, name, pointee_zero(known, name));
        }
    }
    let further = (fix.change)(changed.as_ref().unwrap_or(value))?;
    Ok(further.or(changed))
}

fn shape(tables: &Tables, of: Shape, value: &Value) -> Result<Option<Value>, Error> {
    match of.underlying() {
        Shape::Pointer(of) => shape(tables, *of, value),
        Shape::Named(named) => match Shape::Named(named).opaque() {
            None => structure(tables, named, value),
            Some(Opaque::JSONSchemaPropsOrArray) => match value.as_list() {
                None => structure(tables, schema_of(named), value),
                Some(items) => list(items, |item| structure(tables, schema_of(named), item)),
            },
            Some(Opaque::JSONSchemaPropsOrBool | Opaque::JSONSchemaPropsOrStringArray)
                if value.as_object().is_some() =>
            {
                structure(tables, schema_of(named), value)
            }
            Some(_) => Ok(None),
        },
        Shape::List(of) => list(value.as_list().unwrap_or_default(), |item| shape(tables, *of, item)),
        Shape::Map(_, of) => {
            let mut changed: Option<Value> = None;
            for (key, item) in value.as_object().map(|map| map.entries()).unwrap_or_default() {
                if let Some(new) = shape(tables, *of, item)?
                    && let Some(map) = changed.get_or_insert_with(|| value.clone()).as_object_mut()
                {
                    map.insert(key.clone(), new);
                }
            }
            Ok(changed)
        }
        Shape::Scalar(_) | Shape::Bytes => Ok(None),
    }
}

fn list(
    items: &[Value],
    mut change: impl FnMut(&Value) -> Result<Option<Value>, Error>,
) -> Result<Option<Value>, Error> {
    let mut changed: Option<Vec<Value>> = None;
    for (place, item) in items.iter().enumerate() {
        if let Some(new) = change(item)? {
            changed.get_or_insert_with(|| items.to_vec())[place] = new;
        }
    }
    Ok(changed.map(Value::list))
}

fn insert(changed: &mut Option<Value>, value: &Value, name: &'static str, new: Value) {
    if let Some(object) = changed.get_or_insert_with(|| value.clone()).as_object_mut() {
        object.insert(Key::new_static(name), new);
    }
}

/// Zero of what a field points to.
fn pointee_zero(of: &'static Struct, name: &str) -> Value {
    match of.field(name).map(|field| field.shape.underlying()) {
        Some(Shape::Pointer(pointee)) => zero(*pointee),
        Some(shape) => zero(shape),
        None => Value::NULL,
    }
}
