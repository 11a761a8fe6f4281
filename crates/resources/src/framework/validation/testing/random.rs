//! Random objects: a valid one with some of its parts removed, repeated or exchanged.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::Value as Json;

const OBJECTS: usize = 24;
const MOST_CHANGES: u64 = 4;

/// Returns the object itself, and others that differ from it in a few places; the same ones in every run.
pub(super) fn objects(object: &Json, seed: &str) -> Vec<Json> {
    let mut hasher = DefaultHasher::new();
    (seed, object.to_string()).hash(&mut hasher);
    let mut random = Random(hasher.finish() | 1);
    let mut objects = vec![object.clone()];
    for _ in 0..OBJECTS {
        let mut changed = object.clone();
        for _ in 0..=random.below(MOST_CHANGES) {
            change(&mut changed, &mut random);
        }
        objects.push(changed);
    }
    objects
}

/// Xorshift: good enough to choose places.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit.max(1)
    }

    fn index(&mut self, length: usize) -> usize {
        usize::try_from(self.below(length as u64)).unwrap_or_default()
    }
}

/// Changes something below a value: at a random depth, one part is removed, repeated or set to something else.
fn change(value: &mut Json, random: &mut Random) {
    match value {
        Json::Object(fields) if !fields.is_empty() => {
            let key = fields.keys().nth(random.index(fields.len())).cloned().unwrap_or_default();
            // Kind and metadata stay: without a name nothing is valid.
            if ["metadata", "kind", "apiVersion"].contains(&key.as_str()) {
                return;
            }
            let is_leaf = !matches!(&fields[&key], Json::Object(_) | Json::Array(_));
            if is_leaf && random.below(2) == 0 || random.below(8) == 0 {
                fields.remove(&key);
            } else if let Some(below) = fields.get_mut(&key) {
                change(below, random);
            }
        }
        Json::Array(items) if !items.is_empty() => {
            let index = random.index(items.len());
            match random.below(6) {
                0 => drop(items.remove(index)),
                1 => items.push(items[index].clone()),
                2 => items.swap(0, index),
                _ => change(&mut items[index], random),
            }
        }
        Json::Number(_) => *value = [0, 1, 2, 7, 100, -1][random.index(6)].into(),
        Json::Bool(flag) => *flag = !*flag,
        Json::String(text) => {
            *text = match random.below(4) {
                0 => String::new(),
                1 => format!("{text}1"),
                2 => "a".into(),
                _ => text.to_lowercase(),
            };
        }
        _ => {}
    }
}
