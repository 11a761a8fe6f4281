//! Changes that strategies make to objects, which stay in normal form. Nothing is copied that does not change.

use pintle_meta::Value;
use pintle_meta::value::Key;
use pintle_schema::{Field, Type, normal};

/// Fields from an object down to one of its parts.
pub(crate) type Path = &'static [&'static str];

/// Sets a field to what it is if nobody says anything.
pub(crate) fn reset(of: &'static Type, object: &mut Value, path: Path) {
    debug_assert!(field(of, path).is_some(), "{} has no {path:?}", of.name);
    let Some(field) = field(of, path) else { return };
    match normal::normal_field(field, None) {
        Some(zero) => set(object, path, zero),
        None => remove(object, path),
    }
}

/// Puts what the old object has at a path into the new one, also if that is nothing.
pub(crate) fn keep(new: &mut Value, old: &Value, path: Path) {
    match old.at(path) {
        Some(value) => set(new, path, value.clone()),
        None => remove(new, path),
    }
}

/// Sets a field of a struct that is there.
pub(crate) fn set(object: &mut Value, path: Path, value: impl Into<Value>) {
    let value = value.into();
    if object.at(path).is_some_and(|known| known.is_same(&value)) {
        return;
    }
    if let Some((last, parents)) = path.split_last()
        && let Some(parent) = object.at_mut(parents).and_then(Value::as_object_mut)
    {
        parent.insert(Key::new_static(last), value);
    }
}

/// Takes away what a pointer, list or map holds.
pub(crate) fn remove(object: &mut Value, path: Path) {
    if object.at(path).is_some()
        && let Some((last, parents)) = path.split_last()
        && let Some(parent) = object.at_mut(parents).and_then(Value::as_object_mut)
    {
        parent.remove(last);
    }
}

/// The items of a list that are to be changed; the list is copied only if there are any.
pub(crate) fn items_mut<'a, F: Fn(&Value) -> bool>(
    object: &'a mut Value,
    path: &[&str],
    wanted: F,
) -> impl Iterator<Item = &'a mut Value> + use<'a, F> {
    let any = object.items_at(path).iter().any(&wanted);
    let items = if any { object.at_mut(path).and_then(Value::as_list_mut) } else { None };
    items.into_iter().flatten().filter(move |item| wanted(item))
}

/// Whether both have the same at a path.
pub(crate) fn is_same(new: &Value, old: &Value, path: Path) -> bool {
    match (new.at(path), old.at(path)) {
        (Some(new), Some(old)) => new.is_same(old) || new == old,
        (None, None) => true,
        _ => false,
    }
}

fn field(of: &'static Type, path: Path) -> Option<&'static Field> {
    let (last, parents) = path.split_last()?;
    let parent = parents.iter().try_fold(of.structure()?, |of, name| of.field(name)?.shape.structure())?;
    parent.field(last)
}
