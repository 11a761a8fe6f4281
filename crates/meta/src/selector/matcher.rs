//! Label selector compiled for matching many objects.
//!
//! A selector may have thousands of terms and an object tens of thousands of labels. Terms on one key become one
//! condition, and an object's labels are looked up among the conditions, so an object costs its labels times the
//! logarithm of the terms, not their product. A few terms, the common case, are compared one by one.

use super::label::{Operator, Requirement, Selector};

/// Number of terms that are compared one by one.
const FEW: usize = 8;

/// Matcher of objects' labels against a selector.
#[derive(Clone, Debug)]
pub struct Matcher(Plan);

#[derive(Clone, Debug)]
enum Plan {
    Nothing,
    Few(Vec<Requirement>),
    Many {
        /// Sorted by key; one condition per key.
        conditions: Vec<(String, Condition)>,
        /// Number of conditions that require the label's presence.
        required: usize,
    },
}

/// All requirements on one label.
#[derive(Clone, Debug, Default)]
struct Condition {
    required: bool,
    forbidden: bool,
    /// The only allowed values, sorted.
    allowed: Option<Vec<String>>,
    /// Excluded values, sorted.
    denied: Vec<String>,
    more_than: Option<i64>,
    less_than: Option<i64>,
}

impl Matcher {
    pub fn new(selector: &Selector) -> Matcher {
        let Some(requirements) = selector.requirements() else { return Matcher(Plan::Nothing) };
        if requirements.len() <= FEW {
            return Matcher(Plan::Few(requirements.to_vec()));
        }
        let mut conditions: Vec<(String, Condition)> = Vec::new();
        for requirement in requirements {
            let is_known = conditions.last().is_some_and(|(key, _)| key == requirement.key());
            if !is_known {
                conditions.push((requirement.key().to_owned(), Condition::default()));
            }
            if let Some((_, condition)) = conditions.last_mut() {
                condition.add(requirement);
            }
        }
        for (_, condition) in &mut conditions {
            condition.denied.sort_unstable();
            condition.denied.dedup();
        }
        if conditions.iter().any(|(_, condition)| condition.required && condition.forbidden) {
            return Matcher(Plan::Nothing);
        }
        let required = conditions.iter().filter(|(_, condition)| condition.required).count();
        Matcher(Plan::Many { conditions, required })
    }

    /// Returns whether it selects everything.
    pub fn is_everything(&self) -> bool {
        matches!(&self.0, Plan::Few(requirements) if requirements.is_empty())
    }

    /// Returns whether an object with these labels is selected. Keys are unique.
    pub fn matches<'l>(&self, labels: impl Iterator<Item = (&'l str, &'l str)> + Clone) -> bool {
        match &self.0 {
            Plan::Nothing => false,
            Plan::Few(requirements) => requirements.iter().all(|requirement| {
                let found = labels.clone().find(|(key, _)| *key == requirement.key());
                requirement.matches(found.map(|(_, value)| value))
            }),
            Plan::Many { conditions, required } => {
                let mut met = 0;
                for (key, value) in labels {
                    let found = conditions.binary_search_by(|(known, _)| known.as_str().cmp(key));
                    let Ok(index) = found else { continue };
                    let (_, condition) = &conditions[index];
                    if !condition.takes(value) {
                        return false;
                    }
                    met += usize::from(condition.required);
                }
                met == *required
            }
        }
    }
}

impl Condition {
    fn add(&mut self, requirement: &Requirement) {
        let number = || requirement.values().first().and_then(|value| value.parse::<i64>().ok());
        match requirement.operator() {
            Operator::In | Operator::Equals | Operator::DoubleEquals => {
                let values = requirement.values();
                self.allowed = Some(match self.allowed.take() {
                    None => values.to_vec(),
                    Some(known) => common(&known, values),
                });
            }
            Operator::NotIn | Operator::NotEquals => {
                return self.denied.extend_from_slice(requirement.values());
            }
            Operator::DoesNotExist => {
                self.forbidden = true;
                return;
            }
            Operator::Exists => {}
            Operator::GreaterThan => self.more_than = self.more_than.max(number()),
            Operator::LessThan => {
                let limit = number().unwrap_or(i64::MAX);
                self.less_than = Some(self.less_than.map_or(limit, |known| known.min(limit)));
            }
        }
        self.required = true;
    }

    fn takes(&self, value: &str) -> bool {
        let has = |values: &[String]| values.binary_search_by(|known| known.as_str().cmp(value)).is_ok();
        let is_number = || {
            let number = value.parse::<i64>().ok();
            let more = self.more_than.is_none_or(|limit| number.is_some_and(|number| number > limit));
            more && self.less_than.is_none_or(|limit| number.is_some_and(|number| number < limit))
        };
        !self.forbidden
            && self.allowed.as_deref().is_none_or(has)
            && !has(&self.denied)
            && (self.more_than.is_none() && self.less_than.is_none() || is_number())
    }
}

/// Returns the intersection of two sorted lists, in time of the shorter one.
fn common(one: &[String], other: &[String]) -> Vec<String> {
    let (short, long) = if one.len() < other.len() { (one, other) } else { (other, one) };
    short.iter().filter(|value| long.binary_search(value).is_ok()).cloned().collect()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use proptest::prelude::*;

    use super::*;

    fn matches(selector: &str, labels: &[(String, String)]) -> bool {
        let matcher = Matcher::new(&Selector::parse(selector).unwrap());
        matcher.matches(labels.iter().map(|(key, value)| (key.as_str(), value.as_str())))
    }

    fn term() -> impl Strategy<Value = String> {
        let value = prop_oneof![Just(""), Just("1"), Just("5"), Just("9"), Just("x")];
        let key = "[a-d]";
        prop_oneof![
            key,
            key.prop_map(|key| format!("!{key}")),
            (key, value.clone()).prop_map(|(key, value)| format!("{key}={value}")),
            (key, value.clone()).prop_map(|(key, value)| format!("{key}!={value}")),
            (key, prop::collection::vec(value.clone(), 1..4))
                .prop_map(|(key, values)| format!("{key} in ({})", values.join(","))),
            (key, prop::collection::vec(value, 1..4))
                .prop_map(|(key, values)| format!("{key} notin ({})", values.join(","))),
            (key, 0..9).prop_map(|(key, value)| format!("{key}>{value}")),
            (key, 0..9).prop_map(|(key, value)| format!("{key}<{value}")),
        ]
    }

    proptest! {
        #[test]
        fn many_terms_match_like_each_of_them(
            terms in prop::collection::vec(term(), 0..4),
            labels in prop::collection::btree_map("[a-d]", prop_oneof![Just(""), Just("1"), Just("5"), Just("x")], 0..4),
        ) {
            let labels: Vec<_> = labels.into_iter().map(|(key, value)| (key, value.to_owned())).collect();
            // Terms that change nothing exceed the limit.
            let padding: Vec<String> = (0..=FEW).map(|number| format!("z{number}!=1")).collect();
            let (few, many) = (terms.join(","), [terms, padding].concat().join(","));
            let selector = Selector::parse(&few).unwrap();
            let label = |key: &str| labels.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str());
            prop_assert_eq!(matches(&few, &labels), selector.matches(label), "{}", few);
            prop_assert_eq!(matches(&many, &labels), selector.matches(label), "{}", many);
        }
    }

    #[test]
    fn everything_and_nothing_match_differently() {
        let (everything, nothing) = (Selector::everything(), Selector::nothing());
        assert!(Matcher::new(&everything).is_everything() && !Matcher::new(&nothing).is_everything());
        assert!(Matcher::new(&everything).matches([("a", "b")].into_iter()));
        assert!(!Matcher::new(&nothing).matches([("a", "b")].into_iter()));
    }

    /// The product of terms and labels, or of terms and objects, would take hours.
    #[test]
    fn thousands_of_terms_match_thousands_of_labels_fast() {
        const COUNT: usize = 100_000;
        let list = |term: &dyn Fn(usize) -> String| (0..COUNT).map(term).collect::<Vec<_>>().join(",");
        let labels: Vec<_> = (0..COUNT).map(|number| (format!("k{number}"), "v".to_owned())).collect();
        let started = Instant::now();
        assert!(matches(&list(&|number| format!("k{number}=v")), &labels));
        assert!(matches(&list(&|number| format!("x{number}!=v")), &labels));
        assert!(!matches(&list(&|number| format!("k{number}!=x,!k1")), &labels));
        assert!(matches(&format!("k1 notin ({})", list(&|number| format!("x{number}"))), &labels));
        let different = Selector::parse(&list(&|number| format!("k1!=x{number}"))).unwrap();
        let different = Matcher::new(&different);
        for _ in 0..COUNT {
            assert!(different.matches([("k1", "v")].into_iter()));
        }
        assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
    }
}
