//! Decodes values without a type by the rules of `Unstructured`; and the entries of maps, typed or not.

use std::collections::HashSet;

use pintle_meta::Value;
use pintle_meta::value::{Key, Object};

use super::path::{Path, Segment, wrong_type};
use super::typed::{At, Decoder, Stop};

impl Decoder<'_> {
    /// Decodes any value.
    pub(super) fn any(&mut self, at: At<'_>) -> Result<Value, Stop> {
        match self.reader.begin()? {
            b'"' => Ok(self.reader.string()?.as_ref().into()),
            b'{' => self.any_object(at),
            b'[' => self.any_list(at),
            first @ (b't' | b'f' | b'n') => {
                self.reader.literal()?;
                Ok(if first == b'n' { Value::NULL } else { (first == b't').into() })
            }
            _ => {
                let literal = self.reader.number()?;
                Ok(number(literal).unwrap_or_else(|| {
                    self.save(wrong_type(&format!("number {literal}"), "float64", at));
                    Value::NULL
                }))
            }
        }
    }

    #[inline(never)]
    fn any_list(&mut self, at: At<'_>) -> Result<Value, Stop> {
        let mut items = Vec::new();
        let mut more = self.reader.enter_list()?;
        while more {
            let path = Path { before: at, segment: Segment::Item(items.len()) };
            items.push(self.any(Some(&path))?);
            more = self.reader.next_item()?;
        }
        Ok(Value::list(items))
    }

    #[inline(never)]
    fn any_object(&mut self, at: At<'_>) -> Result<Value, Stop> {
        let mut entries = Entries::default();
        let mut more = self.reader.enter_object()?;
        while more {
            let key = self.reader.key()?;
            if entries.contains(&key) {
                self.strict.duplicate(at, &key);
            }
            let path = Path { before: at, segment: Segment::Key(&key) };
            let value = self.any(Some(&path))?;
            entries.push(Key::new(&key), value);
            more = self.reader.next_field()?;
        }
        Ok(entries.into_object(None).into())
    }
}

/// Parses an integer if it is written as one and fits, else a float; `None` if it is out of range.
fn number(literal: &str) -> Option<Value> {
    match literal.parse::<i64>() {
        Ok(value) => Some(value.into()),
        Err(_) => literal.parse::<f64>().ok().filter(|value| value.is_finite()).map(Value::from),
    }
}

/// Number of entries up to which a linear search is faster than a hash set.
const FEW: usize = 32;

/// Entries of a map in document order, mostly sorted already.
#[derive(Default)]
pub(super) struct Entries {
    list: Vec<(Key, Value)>,
    unsorted: bool,
    /// Set of the keys, once there are many and they are not sorted.
    #[expect(
        clippy::box_collection,
        reason = "it is rarely there, and there is one on the stack for every level"
    )]
    keys: Option<Box<HashSet<Key>>>,
}

impl Entries {
    pub(super) fn contains(&self, key: &str) -> bool {
        match self.list.last() {
            None => false,
            Some((last, _)) if !self.unsorted => {
                last.as_str() == key
                    || last.as_str() > key
                        && self.list.binary_search_by(|(known, _)| known.as_str().cmp(key)).is_ok()
            }
            _ => match &self.keys {
                Some(keys) => keys.contains(key),
                None => self.list.iter().any(|(known, _)| known == key),
            },
        }
    }

    pub(super) fn push(&mut self, key: Key, value: Value) {
        self.unsorted |= self.list.last().is_some_and(|(last, _)| *last >= key);
        if let Some(keys) = &mut self.keys {
            keys.insert(key.clone());
        }
        self.list.push((key, value));
        if self.unsorted && self.keys.is_none() && self.list.len() > FEW {
            self.keys = Some(Box::new(self.list.iter().map(|(key, _)| key.clone()).collect()));
        }
    }

    /// Builds the object over a previous one. Of equal keys the last one wins.
    pub(super) fn into_object(self, before: Option<&Object>) -> Object {
        match before {
            None => Object::from_unsorted(self.list),
            Some(before) => {
                let before = before.entries().iter().cloned();
                Object::from_unsorted(before.chain(self.list).collect())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_keys_are_found_in_any_order_and_number() {
        let orders: [fn(usize) -> usize; 3] = [|n| n, |n| 999 - n, |n| n * 7 % 1000];
        for order in orders {
            let mut entries = Entries::default();
            for n in 0..1000 {
                let key = format!("key-{:03}", order(n));
                assert!(!entries.contains(&key));
                entries.push(key.as_str().into(), Value::from(n as i64));
                assert!(entries.contains(&key));
            }
            assert!(entries.contains("key-007"));
            entries.push("key-007".into(), "last".into());
            let object = entries.into_object(None);
            assert_eq!(object.len(), 1000);
            assert!(object.keys().is_sorted());
            assert_eq!(object.get("key-007").unwrap().as_str(), Some("last"));
        }
    }
}
