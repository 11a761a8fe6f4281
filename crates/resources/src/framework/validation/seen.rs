//! A set of keys met so far, for lists whose items must differ.

use std::collections::HashSet;
use std::hash::Hash;

/// Number of keys up to which a scan finds a repetition.
const FEW: usize = 8;

/// Keys of the items of a list. The first few need no memory of their own; long lists stay linear.
#[derive(Debug)]
pub(crate) struct Seen<K> {
    few: [Option<K>; FEW],
    rest: Option<HashSet<K>>,
}

impl<K: Copy + Eq + Hash> Seen<K> {
    pub(crate) fn new() -> Seen<K> {
        Seen { few: [None; FEW], rest: None }
    }

    /// Adds a key. Returns whether it is new.
    pub(crate) fn insert(&mut self, key: K) -> bool {
        for known in &mut self.few {
            match known {
                Some(known) if *known == key => return false,
                Some(_) => {}
                None => {
                    *known = Some(key);
                    return true;
                }
            }
        }
        self.rest.get_or_insert_with(HashSet::new).insert(key)
    }

    pub(crate) fn contains(&self, key: K) -> bool {
        self.few.iter().flatten().any(|known| *known == key)
            || self.rest.as_ref().is_some_and(|rest| rest.contains(&key))
    }
}

impl<K: Copy + Eq + Hash> FromIterator<K> for Seen<K> {
    fn from_iter<I: IntoIterator<Item = K>>(keys: I) -> Seen<K> {
        let mut seen = Seen::new();
        for key in keys {
            seen.insert(key);
        }
        seen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_new_once_in_short_and_long_lists() {
        let mut seen = Seen::new();
        for key in 0..3 * FEW {
            assert!(!seen.contains(key));
            assert!(seen.insert(key), "{key}");
            assert!(seen.contains(key));
        }
        for key in 0..3 * FEW {
            assert!(!seen.insert(key), "{key}");
        }
        assert!((0..20).collect::<Seen<usize>>().contains(19));
    }
}
