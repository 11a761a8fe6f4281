//! For tests: random expressions, and policies of them.

mod mutations;

use pintle_meta::{Object, Value};

pub(crate) use self::mutations::Author;

/// A generator of numbers that is the same in every run.
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }

    pub(crate) fn pick<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len())]
    }
}

/// The variables of a policy: names and expressions.
pub(crate) type Variables = Vec<(String, String)>;

/// Parts that expressions are made of.
pub(crate) struct Grammar {
    pub(crate) fields: &'static [&'static str],
    pub(crate) literals: &'static [&'static str],
}

impl Grammar {
    /// Returns an expression that may read the first `variables` variables.
    pub(crate) fn expression(&self, numbers: &mut Numbers, variables: usize, depth: usize) -> String {
        let inner = |numbers: &mut Numbers| self.expression(numbers, variables, depth - 1);
        match numbers.below(if depth == 0 { 3 } else { 10 }) {
            0 if variables > 0 => format!("variables.v{}", numbers.below(variables)),
            0 | 1 => numbers.pick(self.fields).to_owned(),
            2 => numbers.pick(self.literals).to_owned(),
            3 => {
                let operator = numbers.pick(&["+", "==", "!=", "<", "-", "*", "in"]);
                format!("(dyn({}) {operator} dyn({}))", inner(numbers), inner(numbers))
            }
            4 => format!("(dyn({}) && dyn({}))", inner(numbers), inner(numbers)),
            5 => format!("(dyn({}) || dyn({}))", inner(numbers), inner(numbers)),
            6 => {
                format!(
                    "(dyn({}) == true ? dyn({}) : dyn({}))",
                    inner(numbers),
                    inner(numbers),
                    inner(numbers)
                )
            }
            7 => format!("dyn({}).all(x, dyn({}) == x)", inner(numbers), inner(numbers)),
            8 => format!("dyn({}).map(x, [x, dyn({})])", inner(numbers), inner(numbers)),
            _ => format!("size(dyn({}))", inner(numbers)),
        }
    }

    /// Returns variables, each of which may read those before it.
    pub(crate) fn variables(&self, numbers: &mut Numbers, count: usize) -> Variables {
        (0..count).map(|place| (format!("v{place}"), self.expression(numbers, place, 3))).collect()
    }
}

/// Declares variables in another order in which each still follows those that it reads.
pub(crate) fn shuffled(variables: &[(String, String)], numbers: &mut Numbers) -> Variables {
    let mut left: Vec<&(String, String)> = variables.iter().collect();
    let mut ordered = Variables::new();
    while !left.is_empty() {
        let is_ready = |(_, text): &(String, String)| left.iter().all(|(name, _)| !reads(text, name));
        let ready: Vec<usize> = (0..left.len()).filter(|place| is_ready(left[*place])).collect();
        let place = ready[numbers.below(ready.len())];
        ordered.push(left.remove(place).clone());
    }
    ordered
}

fn reads(text: &str, name: &str) -> bool {
    let whole = format!("variables.{name}");
    text.match_indices(&whole)
        .any(|(at, _)| !text[at + whole.len()..].starts_with(|c: char| c.is_ascii_digit()))
}

/// Returns variables as the field `variables` of a policy.
pub(crate) fn declared(variables: &[(String, String)]) -> Value {
    let declare = |(name, text): &(String, String)| {
        Value::from(Object::from_iter([("name", name.as_str()), ("expression", text.as_str())]))
    };
    Value::list(variables.iter().map(declare).collect())
}
