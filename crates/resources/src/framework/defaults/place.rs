//! A struct of the tree in the hands of a defaulting function.

use std::cell::Cell;

use pintle_features::Features;
use pintle_meta::time::Time;
use pintle_meta::value::{Key, Object};
use pintle_meta::{Node, Value};
use pintle_schema::normal::{self, Builder};
use pintle_schema::{Field, Shape, Struct};

use super::Settings;

/// A struct that a function fills in. It comes in two modes, so that whether something would change is known without
/// changing it: looking, where the first change is only noted (from then on what the function reads need not make sense
/// any more, since the answer is known), and changing, where it is made.
pub(crate) struct Place<'a> {
    of: &'static Struct,
    at: At<'a>,
    settings: &'a Settings,
}

enum At<'a> {
    Look(&'a Value, &'a Cell<bool>),
    Change(&'a mut Value),
}

impl<'a> Place<'a> {
    fn look(
        of: &'static Struct,
        value: &'a Value,
        changes: &'a Cell<bool>,
        settings: &'a Settings,
    ) -> Place<'a> {
        Place { of, at: At::Look(value, changes), settings }
    }

    pub(super) fn change(of: &'static Struct, value: &'a mut Value, settings: &'a Settings) -> Place<'a> {
        Place { of, at: At::Change(value), settings }
    }

    pub(crate) fn features(&self) -> Features {
        self.settings.features
    }

    /// The time to note down, to the second.
    pub(crate) fn now(&self) -> Value {
        Time::from(self.settings.clock.now()).truncated().to_string().into()
    }

    fn value(&self) -> &Value {
        match &self.at {
            At::Look(value, _) => value,
            At::Change(value) => value,
        }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Value> {
        self.value().get(name)
    }

    /// A field's value to keep while another field is set; cloning shares.
    pub(crate) fn copy(&self, name: &str) -> Option<Value> {
        self.get(name).filter(|value| !value.is_null()).cloned()
    }

    /// A string field; empty where it is not set.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    /// A number; 0 where it is not set.
    pub(crate) fn number(&self, name: &str) -> i64 {
        self.get(name).and_then(Value::as_i64).unwrap_or_default()
    }

    pub(crate) fn flag(&self, name: &str) -> bool {
        self.get(name).and_then(Value::as_bool).unwrap_or_default()
    }

    /// The items of a list; none where it is not set.
    pub(crate) fn items(&self, name: &str) -> &[Value] {
        self.get(name).and_then(Value::as_list).unwrap_or_default()
    }

    /// The entries of a map; none where it is not set.
    pub(crate) fn map(&self, name: &str) -> Option<&Object> {
        self.get(name).and_then(Value::as_object)
    }

    /// Whether nothing is set but one field.
    pub(crate) fn is_only(&self, name: &str) -> bool {
        self.value().as_object().is_some_and(|object| object.keys().all(|key| key == name))
    }

    /// Whether a field is what Go has where nothing was said: a nil pointer, list or map, otherwise the zero value.
    pub(crate) fn unset(&self, name: &str) -> bool {
        let value = self.get(name);
        // Which field it is matters only for zero values.
        is_unset_whatever(value).unwrap_or_else(|| {
            let field = self.of.field(name);
            debug_assert!(field.is_some(), "no field {name}");
            field.is_some_and(|field| is_unset(field, value))
        })
    }

    /// Sets a field, or takes it away where the value is one that JSON leaves out.
    pub(crate) fn set(&mut self, name: &str, value: impl Into<Value>) {
        let Some(field) = self.of.field(name) else {
            debug_assert!(false, "no field {name}");
            return;
        };
        let value = normal::normal_field(field, Some(value.into()));
        if value.as_ref() == self.get(name) {
            return;
        }
        match &mut self.at {
            At::Look(_, changes) => changes.set(true),
            At::Change(place) => {
                let Some(object) = place.as_object_mut() else { return };
                match value {
                    Some(value) => object.insert(Key::new_static(field.name), value),
                    None => object.remove(name),
                };
            }
        }
    }

    /// Sets a field that is not set.
    pub(crate) fn default(&mut self, name: &str, value: impl Into<Value>) {
        if self.unset(name) {
            self.set(name, value);
        }
    }

    /// Takes away what a pointer, list or map holds.
    pub(crate) fn clear(&mut self, name: &str) {
        self.set(name, Value::NULL);
    }

    /// Works on a struct below, if it is there. Like everything that works below, it is taken for writing only if the
    /// work changes it, which is found out first.
    pub(crate) fn within(&mut self, name: &str, work: impl Fn(&mut Place<'_>)) {
        if self.map(name).is_none() {
            return;
        }
        let Some(of) = self.structure_of(name) else { return };
        let settings = self.settings;
        match &mut self.at {
            At::Look(value, changes) => {
                if let Some(value) = value.get(name) {
                    work(&mut Place::look(of, value, changes, settings));
                }
            }
            At::Change(value) => {
                if value.get(name).is_some_and(|value| would_change(of, value, settings, &work))
                    && let Some(value) = value.get_mut(name)
                {
                    work(&mut Place::change(of, value, settings));
                }
            }
        }
    }

    /// Works on a struct below, made first if it is not there.
    pub(crate) fn make(&mut self, name: &str, work: impl Fn(&mut Place<'_>)) {
        let Some(of) = self.structure_of(name) else { return };
        if self.unset(name) {
            self.set(name, normal::zero_struct(of));
        }
        self.within(name, work);
    }

    /// Works on each struct of a list.
    pub(crate) fn each(&mut self, name: &str, work: impl Fn(&mut Place<'_>)) {
        let count = self.items(name).len();
        if count == 0 {
            return;
        }
        let Some(of) = self.structure_of(name) else { return };
        let settings = self.settings;
        match &mut self.at {
            At::Look(value, changes) => {
                for item in value.get(name).and_then(Value::as_list).unwrap_or_default() {
                    work(&mut Place::look(of, item, changes, settings));
                }
            }
            At::Change(value) => {
                for place in 0..count {
                    let item = value.get(name).and_then(Value::as_list).and_then(|items| items.get(place));
                    if item.is_some_and(|item| would_change(of, item, settings, &work))
                        && let Some(items) = value.get_mut(name).and_then(Value::as_list_mut)
                    {
                        work(&mut Place::change(of, &mut items[place], settings));
                    }
                }
            }
        }
    }

    /// Works on each struct of a map.
    pub(crate) fn each_entry(&mut self, name: &str, work: impl Fn(&mut Place<'_>)) {
        let shape = self.of.field(name).map(|field| field.shape.underlying());
        let of = if let Some(Shape::Map(_, of)) = shape { of.structure() } else { None };
        debug_assert!(of.is_some(), "no map of structs at {name}");
        let (Some(of), settings) = (of, self.settings) else { return };
        match &mut self.at {
            At::Look(value, changes) => {
                for (_, value) in
                    value.get(name).and_then(Value::as_object).into_iter().flat_map(Object::iter)
                {
                    work(&mut Place::look(of, value, changes, settings));
                }
            }
            At::Change(value) => {
                let map = value.get(name).and_then(Value::as_object);
                let changing = |value: &Value| would_change(of, value, settings, &work);
                if !map.into_iter().flat_map(Object::iter).any(|(_, value)| changing(value)) {
                    return;
                }
                let map = value.get_mut(name).and_then(Value::as_object_mut);
                for (_, value) in map.into_iter().flat_map(Object::iter_mut) {
                    if changing(value) {
                        work(&mut Place::change(of, value, settings));
                    }
                }
            }
        }
    }

    /// Adds the entries of one map to another where that has none of the same key, if they are wanted.
    pub(crate) fn complete(&mut self, name: &str, from: &Value, wanted: impl Fn(&str) -> bool) {
        let (Some(from), known) = (from.as_object(), self.map(name)) else { return };
        let missing = |key: &str| wanted(key) && !known.is_some_and(|known| known.contains(key));
        if !from.keys().any(missing) {
            return;
        }
        let mut merged = known.cloned().unwrap_or_default();
        for (key, value) in from.entries().iter().filter(|(key, _)| missing(key)) {
            merged.insert(key.clone(), value.clone());
        }
        self.set(name, merged);
    }

    /// A struct for a list or pointer field, in normal form.
    pub(crate) fn build<const N: usize>(&self, name: &str, fields: [(&str, Value); N]) -> Value {
        self.structure_of(name).map(|of| build(of, fields)).unwrap_or_default()
    }

    /// The struct that a field holds, points to or lists.
    fn structure_of(&self, name: &str) -> Option<&'static Struct> {
        let found = self.of.field(name).and_then(|field| element(field.shape).structure());
        debug_assert!(found.is_some(), "no struct at {name}");
        found
    }
}

/// Whether work on a struct would change it.
pub(super) fn would_change(
    of: &'static Struct,
    value: &Value,
    settings: &Settings,
    work: impl Fn(&mut Place<'_>),
) -> bool {
    let changes = Cell::new(false);
    if value.as_object().is_some() {
        work(&mut Place::look(of, value, &changes, settings));
    }
    changes.get()
}

/// A struct in normal form.
fn build<const N: usize>(of: &'static Struct, fields: [(&str, Value); N]) -> Value {
    let mut builder = Builder::default();
    let frame = builder.open(of);
    for (name, value) in fields {
        debug_assert!(of.position(name).is_some(), "no field {name}");
        if let Some(place) = of.position(name) {
            builder.set(frame, place, value);
        }
    }
    builder.close(frame)
}

/// What a pointer or a list is of.
pub(super) fn element(shape: Shape) -> Shape {
    match shape.underlying() {
        Shape::Pointer(of) | Shape::List(of) => element(*of),
        other => other,
    }
}

/// Whether a field holds what Go has where nothing was said.
pub(super) fn is_unset(field: &Field, value: Option<&Value>) -> bool {
    is_unset_whatever(value).unwrap_or_else(|| !matches!(field.shape.underlying(), Shape::Pointer(_)))
}

/// The same as far as it can be told without the field: a zero value can be pointed to, and is set then.
fn is_unset_whatever(value: Option<&Value>) -> Option<bool> {
    let Some(value) = value else { return Some(true) };
    let zero = match value.node() {
        Node::Null => return Some(true),
        Node::Bool(value) => !value,
        Node::Int(value) => value == 0,
        Node::Float(value) => value == 0.0,
        Node::String(value) => value.is_empty(),
        _ => false,
    };
    if zero { None } else { Some(false) }
}
