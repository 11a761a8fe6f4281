//! Which fields a write to a resource or subresource may own at all.

use super::{Element, Entry, Set};

/// Takes fields out of sets.
#[derive(Clone, Debug)]
pub enum Filter {
    /// These fields and all below them go: what a strategy resets, and so nobody can have set.
    Exclude(Set),
    /// Only what matches stays: for subresources that write nothing but a few fields.
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

/// Patterns of paths, as a tree.
#[derive(Clone, Debug, Default)]
pub struct Matcher {
    /// Everything from here on matches.
    all: bool,
    /// What may come next, `None` for anything, and what must follow.
    members: Vec<(Option<Element>, Matcher)>,
}

impl Matcher {
    /// Matches what lies on, at the end of, or below a path; `None` stands for any element.
    pub fn prefix(path: impl IntoIterator<Item = Option<Element>, IntoIter: DoubleEndedIterator>) -> Matcher {
        let all = Matcher { all: true, members: Vec::new() };
        path.into_iter()
            .rev()
            .fold(all, |child, element| Matcher { all: false, members: vec![(element, child)] })
    }

    /// What either matches, as long as no two anythings meet: there the first one counts, as in the reference.
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
        // Anything is tried first.
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
