//! Sets of names in rules: mostly a handful, sometimes thousands.

use std::collections::HashSet;

/// Up to this many are compared one after the other.
const FEW: usize = 8;

/// A set of names.
#[derive(Debug)]
pub(super) enum Names {
    Few(Vec<Box<str>>),
    Many(HashSet<Box<str>>),
}

impl Default for Names {
    fn default() -> Names {
        Names::Few(Vec::new())
    }
}

impl<S: Into<Box<str>>> FromIterator<S> for Names {
    fn from_iter<I: IntoIterator<Item = S>>(names: I) -> Names {
        let names: Vec<Box<str>> = names.into_iter().map(Into::into).collect();
        if names.len() <= FEW { Names::Few(names) } else { Names::Many(names.into_iter().collect()) }
    }
}

impl Names {
    pub(super) fn is_empty(&self) -> bool {
        matches!(self, Names::Few(names) if names.is_empty())
    }

    pub(super) fn contains(&self, name: &str) -> bool {
        match self {
            Names::Few(names) => names.iter().any(|known| **known == *name),
            Names::Many(names) => names.contains(name),
        }
    }

    /// Returns whether the set has `first`, or `first/second` where there is a second part.
    pub(super) fn contains_pair(&self, first: &str, second: &str) -> bool {
        if second.is_empty() {
            return self.contains(first);
        }
        match self {
            Names::Few(names) => names.iter().any(|known| {
                known.split_once('/').is_some_and(|(known, rest)| known == first && rest == second)
            }),
            Names::Many(names) => names.contains(format!("{first}/{second}").as_str()),
        }
    }
}
