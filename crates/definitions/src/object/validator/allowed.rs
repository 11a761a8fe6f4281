//! The values of an enumeration. There may be tens of thousands, for each of as many items, so many are looked up.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::OnceLock;

use pintle_meta::{Node as Shape, Value};

use super::number;

/// Number of values that are compared one by one.
const FEW: usize = 16;

/// Values that are allowed; all if there are none.
#[derive(Debug, Default)]
pub(super) struct Allowed {
    values: Box<[Value]>,
    index: OnceLock<HashMap<u64, Vec<u32>>>,
}

impl Allowed {
    pub(super) fn new(values: Box<[Value]>) -> Allowed {
        Allowed { values, index: OnceLock::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    pub(super) fn iter(&self) -> std::slice::Iter<'_, Value> {
        self.values.iter()
    }

    /// Whether a value is one of them.
    pub(super) fn has(&self, value: &Value) -> bool {
        if self.values.len() <= FEW {
            return self.values.iter().any(|allowed| is_value(allowed, value));
        }
        let index = self.index.get_or_init(|| {
            let mut index: HashMap<u64, Vec<u32>> = HashMap::with_capacity(self.values.len());
            for (place, value) in self.values.iter().enumerate() {
                // Equal ones once: a list of one value over and over is not searched.
                let same = index.entry(hash_of(value)).or_default();
                if !same.iter().any(|known| self.values[*known as usize] == *value) {
                    same.push(u32::try_from(place).unwrap_or(u32::MAX));
                }
            }
            index
        });
        let found = |hash: u64| {
            let places = index.get(&hash).into_iter().flatten();
            places
                .filter_map(|place| self.values.get(*place as usize))
                .any(|allowed| is_value(allowed, value))
        };
        match value.node() {
            // An integer may be a number of either kind, or the one character of a text.
            Shape::Int(int) => {
                found(hash_of(value)) || found(hash_of(&Value::string(character(int).to_string())))
            }
            Shape::Float(float) => found(hash_of(value)) || found(hash_of(&Value::from(number::cut(float)))),
            _ => found(hash_of(value)),
        }
    }
}

/// Whether a value is the allowed one, as Go converts one to the type of the other.
fn is_value(allowed: &Value, value: &Value) -> bool {
    match (allowed.node(), value.node()) {
        (Shape::Null, _) => false,
        (Shape::Float(allowed), Shape::Int(int)) => allowed == int as f64,
        (Shape::Int(allowed), Shape::Float(float)) => allowed == number::cut(float),
        (Shape::String(allowed), Shape::Int(int)) => allowed == character(int).encode_utf8(&mut [0; 4]),
        _ => allowed == value,
    }
}

/// The character of a number, as Go makes a string of one.
fn character(int: i64) -> char {
    u32::try_from(int).ok().and_then(char::from_u32).unwrap_or(char::REPLACEMENT_CHARACTER)
}

fn hash_of(value: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    hash(value, &mut hasher);
    hasher.finish()
}

/// Values that are equal have the same hash, and numbers of both kinds that are.
fn hash(value: &Value, into: &mut DefaultHasher) {
    match value.node() {
        Shape::Null => 0u8.hash(into),
        Shape::Bool(value) => value.hash(into),
        Shape::Int(int) => (int as f64 + 0.0).to_bits().hash(into),
        Shape::Float(float) => (float + 0.0).to_bits().hash(into),
        Shape::String(text) => text.hash(into),
        Shape::List(items) => {
            items.len().hash(into);
            items.iter().for_each(|item| hash(item, into));
        }
        Shape::Object(object) => {
            // The order of fields does not count.
            let fields = object.iter().map(|(name, value)| {
                let mut own = DefaultHasher::new();
                name.hash(&mut own);
                hash(value, &mut own);
                own.finish()
            });
            fields.fold(0u64, u64::wrapping_add).hash(into);
        }
        _ => 1u8.hash(into),
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use pintle_codec::json;

    use super::*;

    fn value(text: &str) -> Value {
        json::decode_any(text.as_bytes()).unwrap().value
    }

    #[test]
    fn many_values_are_allowed_as_few_are() {
        let some = [
            "1",
            "2.0",
            "2.5",
            "-0.0",
            "9007199254740993",
            "\"a\"",
            "\"b\"",
            "\"\"",
            "true",
            "null",
            "[1,2]",
            "[1.0,2]",
            r#"{"a":1,"b":[]}"#,
            r#"{"b":[],"a":1}"#,
            "{}",
            "98",
            "97",
            "3.7",
            "1.0",
            "0",
            "-1",
            "\"\u{fffd}\"",
            "9007199254740992.0",
            "false",
            "[]",
            "5",
        ];
        let other: Vec<Value> = (0..FEW).map(|number| value(&format!("\"other{number}\""))).collect();
        for allowed in some {
            let few = Allowed::new(Box::new([value(allowed)]));
            let many = Allowed::new(std::iter::once(value(allowed)).chain(other.clone()).collect());
            for given in some {
                assert_eq!(few.has(&value(given)), many.has(&value(given)), "{allowed} {given}");
            }
        }
    }

    /// Comparing all of them would take an hour.
    #[test]
    fn thousands_of_values_are_allowed_for_thousands_of_items() {
        const COUNT: usize = 100_000;
        let started = Instant::now();
        for make in [
            |number: usize| format!("\"v{number}\""),
            |number: usize| format!("{number}"),
            |number: usize| format!("{number}.5"),
            |number: usize| format!("[{number}]"),
        ] {
            let allowed = Allowed::new((0..COUNT).map(|number| value(&make(number))).collect());
            assert!((0..COUNT).all(|number| allowed.has(&value(&make(number)))));
            assert!(!(COUNT..2 * COUNT).any(|number| allowed.has(&value(&make(number)))));
        }
        let same = Allowed::new(vec![value("\"a\""); COUNT].into());
        assert!((0..COUNT).all(|_| same.has(&value("\"a\""))));
        assert!(started.elapsed() < Duration::from_secs(100), "{:?}", started.elapsed());
    }
}
