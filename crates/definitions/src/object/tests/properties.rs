//! Properties of every schema and every object.

use pintle_meta::Value;
use pintle_meta::value::{Key, Object};

use super::{schema, text};
use crate::object::{
    Coercion, Validator, coerce, default, drop_nulls, embedded, lists, prune, prune_defaults,
};

/// Numbers that look random and are the same each time.
struct Random(u64);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % most
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len() as u64) as usize]
    }

    fn value(&mut self, depth: u64) -> Value {
        match self.below(if depth == 0 { 6 } else { 10 }) {
            0 => Value::NULL,
            1 => (self.below(2) == 0).into(),
            2 => (self.below(5) as i64 - 1).into(),
            3 => (self.below(8) as f64 / 2.0).into(),
            4 | 5 => self.one(&["", "a", "ab", "2024-01-01"]).into(),
            6 | 7 => Value::list((0..self.below(4)).map(|_| self.value(depth - 1)).collect()),
            _ => {
                let names = ["a", "b", "c", "kind", "metadata", "name"];
                let fields = (0..self.below(5)).map(|_| (Key::from(self.one(&names)), self.value(depth - 1)));
                Value::object(Object::from_unsorted(fields.collect()))
            }
        }
    }

    fn schema(&mut self, depth: u64) -> String {
        let mut parts = Vec::new();
        if self.below(3) > 0 {
            let kind = self.one(&["object", "object", "array", "string", "integer", "number", "boolean"]);
            parts.push(format!(r#""type":"{kind}""#));
        }
        for word in [
            r#""nullable":true"#,
            r#""x-kubernetes-preserve-unknown-fields":true"#,
            r#""x-kubernetes-embedded-resource":true"#,
            r#""x-kubernetes-int-or-string":true"#,
            r#""x-kubernetes-list-type":"set""#,
            r#""minimum":1"#,
            r#""maximum":2.5,"exclusiveMaximum":true"#,
            r#""multipleOf":2"#,
            r#""minLength":1"#,
            r#""maxLength":1"#,
            r#""pattern":"^a""#,
            r#""format":"date""#,
            r#""format":"int32""#,
            r#""enum":["a",1,null]"#,
            r#""minItems":1"#,
            r#""maxItems":1"#,
            r#""uniqueItems":true"#,
            r#""minProperties":1"#,
            r#""maxProperties":1"#,
            r#""required":["a"]"#,
        ] {
            if self.below(9) == 0 && !parts.iter().any(|part| part[..6] == word[..6]) {
                parts.push(word.to_owned());
            }
        }
        if self.below(4) == 0 {
            parts.push(format!(r#""default":{}"#, text(&self.value(2))));
        }
        if depth > 0 {
            if self.below(2) == 0 {
                let name = self.one(&["a", "b", "metadata"]);
                parts.push(format!(
                    r#""properties":{{"{name}":{},"c":{}}}"#,
                    self.schema(depth - 1),
                    self.schema(depth - 1)
                ));
            } else if self.below(2) == 0 {
                parts.push(format!(r#""additionalProperties":{}"#, self.schema(depth - 1)));
            }
            if self.below(2) == 0 {
                parts.push(format!(r#""items":{}"#, self.schema(depth - 1)));
            }
            for word in ["allOf", "anyOf", "oneOf"] {
                if self.below(5) == 0 {
                    parts.push(format!(
                        r#""{word}":[{},{}]"#,
                        self.schema(depth - 1),
                        self.schema(depth - 1)
                    ));
                }
            }
            if self.below(6) == 0 {
                parts.push(format!(r#""not":{}"#, self.schema(depth - 1)));
            }
        }
        format!("{{{}}}", parts.join(","))
    }
}

#[test]
fn pruning_and_defaulting_are_idempotent() {
    let mut random = Random(7);
    let (mut valid, mut changed) = (0, 0);
    for _ in 0..800 {
        let given = random.schema(3);
        let mut of = schema(&given);
        _ = prune_defaults(&mut of);
        let validator = Validator::new(&of);
        for _ in 0..3 {
            let object = random.value(4);
            let mut new = object.clone();
            let removed = prune(&of, &mut new, false);
            assert_eq!(removed.is_empty(), new.is_same(&object), "{given} {}", text(&object));
            drop_nulls(&of, &mut new);
            let pruned = new.clone();
            assert!(prune(&of, &mut new, false).is_empty());
            drop_nulls(&of, &mut new);
            assert!(new.is_same(&pruned), "{given} {}", text(&object));
            default(&of, &mut new);
            let defaulted = new.clone();
            default(&of, &mut new);
            assert!(new.is_same(&defaulted), "{given} {}", text(&object));
            changed += u32::from(!new.is_same(&object));
            if coerce(&of, &mut new, Coercion::STORED).is_ok() {
                let coerced = new.clone();
                coerce(&of, &mut new, Coercion::STORED).unwrap();
                assert!(new.is_same(&coerced), "{given} {}", text(&object));
            }
            // Finding out that something is wrong and finding out what agree; a debug build asserts it.
            let errors = validator.validate(&object);
            valid += u32::from(errors.is_empty());
            assert!(
                validator.validate_update(&object, &new).errors.len() <= errors.len(),
                "{given} {}",
                text(&object)
            );
            lists::validate(&of, &object);
            embedded::validate(&of, &object, true);
        }
    }
    assert!(valid > 100 && changed > 100, "too much of the same: {valid} {changed}");
}
