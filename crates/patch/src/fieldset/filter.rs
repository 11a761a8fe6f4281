//! Fields that a write to a resource or subresource may own.

use super::{Element, Entry, Set};

/// Filter of field sets.
#[derive(Clone, Debug)]
pub enum Filter {
    /// Removes these fields and everything below them: fields that a strategy resets, so no request can have set
    /// them.
    Exclude(Set),
    /// Keeps matching fields only: for subresources that write only a few fields.
    Include(Matcher),
}

impl Filter {
    pub fn apply(&self, set: Set) -> Set {
        match self {
            Filter::Exclude(fields) => set.recursive_difference(fields),
            Filter::Include(matcher) => matcher.keep(set),
        }
    }
}

/// Tree of path patterns.
#[derive(Clone, Debug, Default)]
pub struct Matcher {
    /// Whether everything below matches.
    all: bool,
    /// Patterns of the next element, `None` for any, with those of the rest.
    members: Vec<(Option<Element>, Matcher)>,
}

impl Matcher {
    /// Matches the prefixes, the end and the descendants of a path; `None` is any element.
    pub fn prefix(path: impl IntoIterator<Item = Option<Element>, IntoIter: DoubleEndedIterator>) -> Matcher {
        let all = Matcher { all: true, members: Vec::new() };
        path.into_iter()
            .rev()
            .fold(all, |child, element| Matcher { all: false, members: vec![(element, child)] })
    }

    /// Matches what either matches. If both have a wildcard at the same position, the first one applies, as in the
    /// reference.
    pub fn or(mut self, other: Matcher) -> Matcher {
        if self.all || other.all {
            return Matcher { all: true, members: Vec::new() };
        }
        for (element, child) in other.members {
            let same = |(known, _): &&mut (Option<Element>, Matcher)| known.is_some() && *known == element;
            match self.members.iter_mut().find(same) {
                Some((_, known)) => *known = std::mem::take(known).or(child),
                None => self.members.push((element, child)),
            }
        }
        // Wildcards are tried first.
        self.members.sort_by(|(a, _), (b, _)| a.cmp(b));
        self
    }

    fn keep(&self, set: Set) -> Set {
        if self.all {
            return set;
        }
        set.filter_map(|entry: Entry| {
            let matching = |(known, _): &&(Option<Element>, Matcher)| {
                known.as_ref().is_none_or(|known| *known == entry.element)
            };
            let (_, child) = self.members.iter().find(matching)?;
            Some(Entry { children: child.keep(entry.children), ..entry })
        })
    }
}
