//! Reading types of our own as strictly as the reference reads its: fields that the type does not have, and fields that are
//! there twice, are all told, by their path (`jwt[0].issuer.foo`), whatever else is wrong with them.
//!
//! serde itself says one thing at a time, in its own words and without a path. So a reader stands between it and the
//! document, knows the fields of each type from what serde asks for, and passes on only what the type has.

use std::cell::RefCell;
use std::collections::HashSet;
use std::fmt;

use pintle_meta::quote;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Error, IgnoredAny, IntoDeserializer, MapAccess,
    SeqAccess, Visitor,
};

/// Limit of the number of reported fields.
const MOST: usize = 100;

/// The fields that every document has at its top.
const TYPE_META: [&str; 2] = ["apiVersion", "kind"];

/// Decodes a document with a kind. Returns unknown and duplicate fields beside it.
pub(crate) fn read<T: DeserializeOwned>(json: &[u8]) -> Result<(T, Vec<String>), serde_json::Error> {
    let reported = Reported::default();
    let mut document = serde_json::Deserializer::from_slice(json);
    let position = Position { path: String::new(), reported: &reported };
    let read = T::deserialize(StrictDeserializer { inner: &mut document, position })?;
    document.end()?;
    Ok((read, reported.0.into_inner()))
}

/// Each only once, in the order of finding them.
#[derive(Default)]
struct Reported(RefCell<Vec<String>>);

#[derive(Clone)]
struct Position<'m> {
    path: String,
    reported: &'m Reported,
}

impl<'m> Position<'m> {
    fn of_field(&self, name: &str) -> Position<'m> {
        let path = match self.path.as_str() {
            "" => name.to_owned(),
            path => format!("{path}.{name}"),
        };
        Position { path, reported: self.reported }
    }

    fn of_item(&self, index: usize) -> Position<'m> {
        Position { path: format!("{}[{index}]", self.path), reported: self.reported }
    }

    fn report(&self, what: &str, field: &str) {
        let text = format!("{what} field {}", quote(&self.of_field(field).path));
        let mut all = self.reported.0.borrow_mut();
        if all.len() < MOST && !all.contains(&text) {
            all.push(text);
        }
    }
}

/// A part of the document.
struct StrictDeserializer<'m, D> {
    inner: D,
    position: Position<'m>,
}

macro_rules! plain {
    ($($method:ident)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
            self.inner.$method(visitor)
        })*
    };
}

macro_rules! with_parts {
    ($($method:ident($($name:ident: $of:ty),*))*) => {
        $(fn $method<V: Visitor<'de>>(self, $($name: $of,)* visitor: V) -> Result<V::Value, D::Error> {
            self.inner.$method($($name,)* Parts { visitor, fields: None, position: self.position })
        })*
    };
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for StrictDeserializer<'_, D> {
    type Error = D::Error;

    plain! {
        deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_u8
        deserialize_u16 deserialize_u32 deserialize_u64 deserialize_f32 deserialize_f64 deserialize_char
        deserialize_str deserialize_string deserialize_bytes deserialize_byte_buf deserialize_unit
        deserialize_identifier deserialize_ignored_any
    }

    with_parts! {
        deserialize_any()
        deserialize_option()
        deserialize_seq()
        deserialize_map()
        deserialize_tuple(length: usize)
        deserialize_unit_struct(name: &'static str)
        deserialize_newtype_struct(name: &'static str)
        deserialize_tuple_struct(name: &'static str, length: usize)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.inner.deserialize_struct(
            name,
            fields,
            Parts { visitor, fields: Some(fields), position: self.position },
        )
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.inner.deserialize_enum(name, variants, visitor)
    }
}

/// A visitor that sees the parts of a value through this decoder.
struct Parts<'m, V> {
    visitor: V,
    /// The fields of the type; `None` where any are allowed.
    fields: Option<&'static [&'static str]>,
    position: Position<'m>,
}

macro_rules! visits {
    ($($method:ident($of:ty))*) => {
        $(fn $method<E: Error>(self, value: $of) -> Result<V::Value, E> {
            self.visitor.$method(value)
        })*
    };
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Parts<'_, V> {
    type Value = V::Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.visitor.expecting(formatter)
    }

    visits! {
        visit_bool(bool)
        visit_i64(i64)
        visit_u64(u64)
        visit_f64(f64)
        visit_str(&str)
        visit_borrowed_str(&'de str)
        visit_string(String)
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.visitor.visit_none()
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.visitor.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<V::Value, D::Error> {
        self.visitor.visit_some(StrictDeserializer { inner, position: self.position })
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, inner: D) -> Result<V::Value, D::Error> {
        self.visitor.visit_newtype_struct(StrictDeserializer { inner, position: self.position })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, inner: A) -> Result<V::Value, A::Error> {
        self.visitor.visit_seq(Items { inner, next: 0, position: self.position })
    }

    fn visit_map<A: MapAccess<'de>>(self, inner: A) -> Result<V::Value, A::Error> {
        let (fields, position) = (self.fields, self.position);
        self.visitor.visit_map(Fields {
            inner,
            fields,
            position,
            seen: HashSet::new(),
            current: String::new(),
        })
    }
}

struct Items<'m, A> {
    inner: A,
    next: usize,
    position: Position<'m>,
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Items<'_, A> {
    type Error = A::Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, A::Error> {
        let position = self.position.of_item(self.next);
        self.next += 1;
        self.inner.next_element_seed(Part { seed, position })
    }
}

struct Fields<'m, A> {
    inner: A,
    fields: Option<&'static [&'static str]>,
    position: Position<'m>,
    seen: HashSet<String>,
    /// The field whose value comes next.
    current: String,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Fields<'_, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        while let Some(key) = self.inner.next_key::<String>()? {
            let is_type_meta = self.position.path.is_empty() && TYPE_META.contains(&key.as_str());
            let is_known = self.fields.is_none_or(|fields| fields.contains(&key.as_str()));
            let is_first = self.seen.insert(key.clone());
            match (is_known || is_type_meta, is_first) {
                (false, _) => self.position.report("unknown", &key),
                (true, false) => self.position.report("duplicate", &key),
                (true, true) if !is_known => {}
                (true, true) => {
                    self.current = key;
                    return seed.deserialize(self.current.as_str().into_deserializer()).map(Some);
                }
            }
            self.inner.next_value::<IgnoredAny>()?;
        }
        Ok(None)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, A::Error> {
        let position = self.position.of_field(&self.current);
        self.inner.next_value_seed(Part { seed, position })
    }
}

/// An item or the value of a field, still to be read.
struct Part<'m, S> {
    seed: S,
    position: Position<'m>,
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Part<'_, S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, inner: D) -> Result<S::Value, D::Error> {
        self.seed.deserialize(StrictDeserializer { inner, position: self.position })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;

    use super::*;
    use crate::configuration::null_is_default;

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(default, deny_unknown_fields, rename_all = "camelCase")]
    struct Outer {
        some_inner: Option<Inner>,
        #[serde(deserialize_with = "null_is_default")]
        many: Vec<Inner>,
        free: BTreeMap<String, Inner>,
    }

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    struct Inner {
        a: i64,
        b: String,
    }

    fn reported(json: &str) -> Vec<String> {
        read::<Outer>(json.as_bytes()).unwrap().1
    }

    #[test]
    fn known_fields_are_read() {
        let json =
            r#"{"kind":"K","apiVersion":"v","someInner":{"a":1},"many":[{"b":"x"},{}],"free":{"x":{"a":2}}}"#;
        let (read, reported) = read::<Outer>(json.as_bytes()).unwrap();
        assert_eq!(read.some_inner, Some(Inner { a: 1, b: String::new() }));
        assert_eq!((read.many.len(), read.many[0].b.as_str(), read.free["x"].a), (2, "x", 2));
        assert!(reported.is_empty(), "{reported:?}");
        assert!(super::read::<Outer>(br#"{"many":null,"someInner":null}"#).is_ok());
    }

    #[test]
    fn every_field_too_many_is_told_with_its_path() {
        assert_eq!(
            reported(
                r#"{"x":{"kind":[]},"kind":"K","kind":"L","someInner":{"c":1,"kind":"K"},
                    "many":[{},{"a":1,"a":2,"A":3}],"free":{"f":{"g":1},"f":{}}}"#
            ),
            [
                r#"unknown field "x""#,
                r#"duplicate field "kind""#,
                r#"unknown field "someInner.c""#,
                r#"unknown field "someInner.kind""#,
                r#"duplicate field "many[1].a""#,
                r#"unknown field "many[1].A""#,
                r#"unknown field "free.f.g""#,
                r#"duplicate field "free.f""#,
            ]
        );
    }

    #[test]
    fn a_wrong_type_is_an_error() {
        assert!(read::<Outer>(br#"{"many":[{"a":"text"}]}"#).is_err());
        assert!(read::<Outer>(br#"{"many":{}}"#).is_err());
        assert!(read::<Outer>(b"{} {}").is_err());
    }
}
