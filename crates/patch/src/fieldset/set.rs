//! Set of fields, and set operations.

use std::cmp::Ordering;
use std::fmt;

use super::Element;

/// Set of fields.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Set {
    entries: Vec<Entry>,
}

/// Node of a set: a member, the parent of members, or both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub element: Element,
    /// Whether the node itself is a member.
    pub member: bool,
    /// Members below it.
    pub children: Set,
}

impl Entry {
    fn is_empty(&self) -> bool {
        !self.member && self.children.is_empty()
    }
}

impl Set {
    pub const fn new() -> Set {
        Set { entries: Vec::new() }
    }

    /// Builds a set of entries in any order. Entries of one element are joined: it is a member if one of them says
    /// so, and the last one with children has its children.
    pub(crate) fn from_unsorted(mut entries: Vec<Entry>) -> Set {
        entries.retain(|entry| !entry.is_empty());
        if !entries.is_sorted_by(|a, b| a.element < b.element) {
            // The sort is stable, so the last of equals is the last one given.
            entries.sort_by(|a, b| a.element.cmp(&b.element));
            entries.dedup_by(|later, earlier| {
                let same = later.element == earlier.element;
                if same {
                    earlier.member |= later.member;
                    if !later.children.is_empty() {
                        earlier.children = std::mem::take(&mut later.children);
                    }
                }
                same
            });
        }
        Set { entries }
    }

    /// Returns the set of some paths of fields.
    pub fn of_fields(paths: &[&[&str]]) -> Set {
        let mut set = Set::new();
        for path in paths {
            let path: Vec<Element> = path.iter().map(|name| Element::field(*name)).collect();
            set.insert(&path);
        }
        set
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the number of members.
    pub fn len(&self) -> usize {
        self.entries.iter().map(|entry| usize::from(entry.member) + entry.children.len()).sum()
    }

    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    pub fn get(&self, element: &Element) -> Option<&Entry> {
        self.position(element).ok().map(|found| &self.entries[found])
    }

    /// Returns whether the field at a path is a member. The whole object never is.
    pub fn has(&self, path: &[Element]) -> bool {
        match path {
            [] => false,
            [last] => self.get(last).is_some_and(|entry| entry.member),
            [first, rest @ ..] => self.get(first).is_some_and(|entry| entry.children.has(rest)),
        }
    }

    /// Inserts the field at a path; its ancestors do not become members.
    pub fn insert(&mut self, path: &[Element]) {
        let Some((first, rest)) = path.split_first() else { return };
        let place = self.position(first).unwrap_or_else(|place| {
            let entry = Entry { element: first.clone(), member: false, children: Set::new() };
            self.entries.insert(place, entry);
            place
        });
        match rest {
            [] => self.entries[place].member = true,
            _ => self.entries[place].children.insert(rest),
        }
    }

    fn position(&self, element: &Element) -> Result<usize, usize> {
        self.entries.binary_search_by(|entry| entry.element.cmp(element))
    }

    /// Returns the union.
    pub fn union(self, other: Set) -> Set {
        if self.is_empty() {
            return other;
        }
        if other.is_empty() {
            return self;
        }
        let mut entries = Vec::with_capacity(self.entries.len().max(other.entries.len()));
        let (mut left, mut right) =
            (self.entries.into_iter().peekable(), other.entries.into_iter().peekable());
        loop {
            let order = match (left.peek(), right.peek()) {
                (Some(a), Some(b)) => a.element.cmp(&b.element),
                (Some(_), None) => Ordering::Less,
                (None, _) => Ordering::Greater,
            };
            let taken = match order {
                Ordering::Less => left.next(),
                Ordering::Greater => right.next(),
                Ordering::Equal => left.next().zip(right.next()).map(|(a, b)| Entry {
                    element: a.element,
                    member: a.member || b.member,
                    children: a.children.union(b.children),
                }),
            };
            match taken {
                Some(entry) => entries.push(entry),
                None => return Set { entries },
            }
        }
    }

    /// Returns the union of many sets, without merging the first ones repeatedly.
    pub(crate) fn union_of(mut sets: Vec<Set>) -> Set {
        while sets.len() > 1 {
            let mut rest = sets.into_iter();
            let mut pairs = Vec::with_capacity(rest.len().div_ceil(2));
            while let Some(first) = rest.next() {
                pairs.push(first.union(rest.next().unwrap_or_default()));
            }
            sets = pairs;
        }
        sets.pop().unwrap_or_default()
    }

    /// Returns the intersection.
    pub fn intersection(&self, other: &Set) -> Set {
        let mut others = Seek::new(self, other);
        let both = |entry: &Entry| {
            let found = others.find(&entry.element)?;
            let children = entry.children.intersection(&found.children);
            Some(Entry { element: entry.element.clone(), member: entry.member && found.member, children })
        };
        let entries = self.entries.iter().filter_map(both).filter(|entry| !entry.is_empty()).collect();
        Set { entries }
    }

    /// Returns the members that are not in the other set. Descendants of the other's members are kept.
    pub fn difference(self, other: &Set) -> Set {
        self.without(other, false)
    }

    /// Removes the other's members and all their descendants.
    pub fn recursive_difference(self, other: &Set) -> Set {
        self.without(other, true)
    }

    fn without(mut self, other: &Set, recursive: bool) -> Set {
        if other.is_empty() {
            return self;
        }
        let mut others = Seek::new(&self, other);
        self.entries.retain_mut(|entry| {
            let Some(found) = others.find(&entry.element) else { return true };
            entry.member &= !found.member;
            entry.children = if recursive && found.member {
                Set::new()
            } else {
                std::mem::take(&mut entry.children).without(&found.children, recursive)
            };
            !entry.is_empty()
        });
        self
    }

    /// Returns the members without descendants.
    pub fn leaves(mut self) -> Set {
        self.entries.retain_mut(|entry| {
            entry.member &= entry.children.is_empty();
            entry.children = std::mem::take(&mut entry.children).leaves();
            !entry.is_empty()
        });
        self
    }

    /// Returns whether all members are in the other set.
    pub fn is_subset(&self, other: &Set) -> bool {
        let mut others = Seek::new(self, other);
        self.entries.iter().all(|entry| {
            others.find(&entry.element).is_some_and(|found| {
                (found.member || !entry.member) && entry.children.is_subset(&found.children)
            })
        })
    }

    /// Visits the path of every member: at each level first the members, then the children of each.
    pub fn each(&self, mut see: impl FnMut(&[Element])) {
        self.each_below(&mut Vec::new(), &mut see);
    }

    fn each_below(&self, path: &mut Vec<Element>, see: &mut impl FnMut(&[Element])) {
        for entry in self.entries.iter().filter(|entry| entry.member) {
            path.push(entry.element.clone());
            see(path);
            path.pop();
        }
        for entry in self.entries.iter().filter(|entry| !entry.children.is_empty()) {
            path.push(entry.element.clone());
            entry.children.each_below(path, see);
            path.pop();
        }
    }

    /// Replaces or removes every node.
    pub(super) fn filter_map(self, change: impl FnMut(Entry) -> Option<Entry>) -> Set {
        let entries = self.entries.into_iter().filter_map(change).filter(|entry| !entry.is_empty()).collect();
        Set { entries }
    }
}

/// Lookup of one set's entries for the sorted elements of another.
enum Seek<'a> {
    /// Merge join.
    Both(std::iter::Peekable<std::slice::Iter<'a, Entry>>),
    /// Binary search, for few elements among many: thousands of managers may own one field each of an object with
    /// thousands.
    Few(&'a Set),
}

impl<'a> Seek<'a> {
    fn new(of: &Set, among: &'a Set) -> Seek<'a> {
        if of.entries.len().saturating_mul(16) < among.entries.len() {
            Seek::Few(among)
        } else {
            Seek::Both(among.entries.iter().peekable())
        }
    }

    fn find(&mut self, element: &Element) -> Option<&'a Entry> {
        let entries = match self {
            Seek::Few(set) => return set.get(element),
            Seek::Both(entries) => entries,
        };
        while let Some(entry) = entries.peek() {
            match entry.element.cmp(element) {
                Ordering::Less => entries.next(),
                Ordering::Equal => return entries.next(),
                Ordering::Greater => return None,
            };
        }
        None
    }
}

/// Formats one member per line.
impl fmt::Display for Set {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines = Vec::new();
        self.each(|path| lines.push(path.iter().map(Element::to_string).collect::<String>()));
        f.write_str(&lines.join("\n"))
    }
}

impl fmt::Debug for Set {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.to_json()))
    }
}
