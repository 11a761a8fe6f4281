//! A struct while a conversion makes it.

use pintle_meta::Value;
use pintle_meta::value::{Key, Object};
use pintle_schema::Struct;
use pintle_schema::normal::{normal_field, zero};

/// The fields found so far; what is missing when all is done becomes Go's zero value or stays out.
pub(crate) struct Fields {
    of: &'static Struct,
    found: Vec<Option<Value>>,
}

impl Fields {
    pub(crate) fn new(of: &'static Struct) -> Fields {
        Fields { of, found: vec![None; of.flat.len()] }
    }

    fn place(&self, name: &str) -> Option<usize> {
        let place = self.of.position(name);
        debug_assert!(place.is_some(), "no field {name:?} in {:?}", self.of.layout);
        place
    }

    pub(super) fn put(&mut self, place: usize, value: Value) {
        self.found[place] = Some(value);
    }

    pub(crate) fn set(&mut self, name: &str, value: impl Into<Value>) {
        if let Some(place) = self.place(name) {
            self.found[place] = Some(value.into());
        }
    }

    /// Sets the field to what was found elsewhere, or to nothing.
    pub(crate) fn copy(&mut self, name: &str, value: Option<&Value>) {
        if let Some(place) = self.place(name) {
            self.found[place] = value.cloned();
        }
    }

    pub(crate) fn clear(&mut self, name: &str) {
        self.copy(name, None);
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Value> {
        self.found[self.place(name)?].as_ref()
    }

    pub(crate) fn get_mut(&mut self, name: &str) -> Option<&mut Value> {
        let place = self.place(name)?;
        self.found[place].as_mut()
    }

    /// A field to change, made if it was not there.
    pub(crate) fn get_or_zero(&mut self, name: &str) -> Option<&mut Value> {
        let place = self.place(name)?;
        Some(self.found[place].get_or_insert_with(|| zero(self.of.flat[place].shape)))
    }

    /// The struct in normal form.
    pub(crate) fn close(self) -> Value {
        let mut entries = Vec::with_capacity(self.found.len());
        for (field, found) in self.of.flat.iter().zip(self.found) {
            if let Some(value) = normal_field(field, found) {
                entries.push((Key::new_static(field.name), value));
            }
        }
        Value::object(Object::of_ordered(&self.of.layout, entries))
    }
}

/// A struct of the graph made of some fields; those without a value stay unset.
pub(crate) fn build<const N: usize>(of: &str, fields: [(&str, Option<Value>); N]) -> Value {
    let Some(of) = pintle_schema::find(of).and_then(|found| found.structure()) else {
        debug_assert!(false, "there is no {of}");
        return Value::NULL;
    };
    let mut built = Fields::new(of);
    for (name, value) in fields {
        built.copy(name, value.as_ref());
    }
    built.close()
}
