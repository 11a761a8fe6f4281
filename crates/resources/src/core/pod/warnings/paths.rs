//! Files of a volume, indexed by their paths so that those in the way of another are found without comparing all.

use std::collections::hash_map::{DefaultHasher, RandomState};
use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, Hasher};
use std::ops::Bound;
use std::rc::Rc;

use pintle_meta::quote;

/// A file of a volume and its source, which many files share.
#[derive(PartialEq)]
pub(super) struct File {
    path: String,
    source: Rc<str>,
}

impl File {
    pub(super) fn new(path: &str, source: &Rc<str>) -> File {
        File { path: path.trim_end_matches('/').to_owned(), source: source.clone() }
    }

    pub(super) fn has_path(&self) -> bool {
        !self.path.is_empty()
    }

    fn text(&self) -> String {
        let path = quote(&self.path);
        if self.source.is_empty() { path } else { format!("{path} ({})", self.source) }
    }
}

/// The files that were added so far, equal ones once: messages do not tell them apart.
///
/// ```text
/// a/b     is in the way of  a/b     the same path            by_hash
///                           a       a file above it          by_hash, for every prefix that ends before a slash
///                           a/b/c   a file below it          by_path, where those that begin with "a/b/" stand together
/// ```
#[derive(Default)]
pub(super) struct Files {
    all: Vec<File>,
    /// For each file the number of files that were there when it was last added. It need not be compared with them again.
    compared: Vec<usize>,
    hashing: RandomState,
    /// By the hash of the whole path. Prefixes are hashed on the way, so that looking all of them up reads a path once.
    by_hash: HashMap<u64, Vec<usize>>,
    /// By the path with a slash behind it.
    by_path: BTreeMap<String, Vec<usize>>,
}

impl Files {
    /// Adds a file and returns, in order, the earlier ones that it is in the way of, unless an equal file was.
    pub(super) fn add(&mut self, file: File) -> Met<'_> {
        let mut met = Vec::new();
        if !file.has_path() {
            return Met { files: &self.all, of: 0, met: met.into_iter() };
        }
        let hash = self.find_above(&file.path, &mut met);
        let mut key = file.path.clone();
        key.push('/');
        let below = self.by_path.range::<str, _>((Bound::Excluded(key.as_str()), Bound::Unbounded));
        met.extend(below.take_while(|(path, _)| path.starts_with(&key)).flat_map(|(_, files)| files));
        met.sort_unstable();
        let next = self.all.len();
        let index = match met.iter().copied().find(|index| self.all[*index] == file) {
            Some(known) => {
                // It was not compared with itself when it was the first of its kind.
                let compared = std::mem::replace(&mut self.compared[known], next);
                let is_second = compared == known;
                met.retain(|other| if *other == known { is_second } else { *other >= compared });
                known
            }
            None => {
                self.all.push(file);
                self.compared.push(next);
                self.by_hash.entry(hash).or_default().push(next);
                self.by_path.entry(key).or_default().push(next);
                next
            }
        };
        Met { files: &self.all, of: index, met: met.into_iter() }
    }

    /// Finds files at a path and above it, and returns the path's hash.
    fn find_above(&self, path: &str, found: &mut Vec<usize>) -> u64 {
        let mut hasher: DefaultHasher = self.hashing.build_hasher();
        let mut start = 0;
        let ends = path.match_indices('/').map(|(end, _)| end).chain([path.len()]);
        for end in ends {
            hasher.write(&path.as_bytes()[start..end]);
            start = end;
            let known = self.by_hash.get(&hasher.finish()).into_iter().flatten().copied();
            found.extend(known.filter(|index| self.all[*index].path == path[..end]));
        }
        hasher.finish()
    }
}

/// The files that an added one conflicts with, as messages name them.
pub(super) struct Met<'f> {
    files: &'f [File],
    of: usize,
    met: std::vec::IntoIter<usize>,
}

impl Iterator for Met<'_> {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        let other = self.met.next()?;
        Some(format!("{} with {}", self.files[self.of].text(), self.files[other].text()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_meet_those_at_above_and_below_their_path_in_order() {
        let mut files = Files::default();
        let none: Rc<str> = "".into();
        let mut met = |path: &str| files.add(File::new(path, &none)).collect::<Vec<_>>();
        assert!(met("a/b/c").is_empty());
        assert!(met("a/bc").is_empty());
        assert!(met("").is_empty());
        assert!(met("a/b-").is_empty());
        assert_eq!(met("a/b"), [r#""a/b" with "a/b/c""#]);
        assert_eq!(met("a/b/c/d//"), [r#""a/b/c/d" with "a/b/c""#, r#""a/b/c/d" with "a/b""#]);
        assert_eq!(met("a/bc/"), [r#""a/bc" with "a/bc""#]);
        assert_eq!(met("a").len(), 5);
        for apart in ["", "/", "/a", "//a"] {
            assert!(met(apart).is_empty(), "{apart}");
        }
    }

    #[test]
    fn an_equal_file_is_compared_only_with_those_added_since() {
        let mut files = Files::default();
        let (none, some): (Rc<str>, Rc<str>) = ("".into(), "S".into());
        assert_eq!(files.add(File::new("a", &none)).count(), 0);
        assert_eq!(files.add(File::new("a", &none)).collect::<Vec<_>>(), [r#""a" with "a""#]);
        assert_eq!(files.add(File::new("a", &none)).count(), 0);
        assert_eq!(files.add(File::new("a/b", &none)).collect::<Vec<_>>(), [r#""a/b" with "a""#]);
        assert_eq!(files.add(File::new("a", &some)).count(), 2);
        let since = [r#""a" with "a/b""#, r#""a" with "a" (S)"#];
        assert_eq!(files.add(File::new("a", &none)).collect::<Vec<_>>(), since);
        assert_eq!(files.add(File::new("a", &none)).count(), 0);
    }
}
