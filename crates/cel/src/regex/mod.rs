//! Regular expressions as Go's `regexp` knows them (RE2), matched in time that grows with the text and no faster.
//!
//! The matching is done by the `regex` crate, whose language differs in particulars: `\d` and its kin are about ASCII here, `\Q`
//! quotes, braces that repeat nothing are themselves. So patterns are read as Go reads them, with Go's messages, and written
//! in the other language.

mod translate;

use std::fmt;

/// What one pattern may take in memory.
const MOST_BYTES: usize = 4 << 20;

/// How long a pattern may be.
const LONGEST: usize = 1 << 16;

/// A compiled pattern.
#[derive(Clone, Debug)]
pub struct Regex(regex::Regex);

/// Why a text is no pattern, as Go says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(String);

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error parsing regexp: {}", self.0)
    }
}

impl std::error::Error for Error {}

impl Regex {
    pub fn new(pattern: &str) -> Result<Regex, Error> {
        if pattern.len() > LONGEST {
            return Err(Error("expression too large".to_owned()));
        }
        let translated = translate::translate(pattern).map_err(Error)?;
        match regex::RegexBuilder::new(&translated).size_limit(MOST_BYTES).nest_limit(1000).build() {
            Ok(regex) => Ok(Regex(regex)),
            Err(regex::Error::CompiledTooBig(_)) => Err(Error("expression too large".to_owned())),
            Err(_) => Err(Error(format!("invalid character class range: `{pattern}`"))),
        }
    }

    /// Whether it matches some part of the text.
    pub fn is_match(&self, text: &str) -> bool {
        self.0.is_match(text)
    }

    /// The first match, leftmost.
    pub fn find<'t>(&self, text: &'t str) -> Option<&'t str> {
        self.0.find(text).map(|found| found.as_str())
    }

    /// All matches that do not overlap. As in Go, one that is empty is none directly behind another.
    pub fn find_all<'t>(&self, text: &'t str) -> impl Iterator<Item = &'t str> {
        let mut end = None;
        self.0.find_iter(text).filter_map(move |found| {
            let adjacent = found.is_empty() && end == Some(found.start());
            end = Some(found.end());
            (!adjacent).then_some(found.as_str())
        })
    }
}

/// Whether a text is a pattern.
pub(crate) fn check(pattern: &str) -> Result<(), Error> {
    Regex::new(pattern).map(drop)
}

#[cfg(test)]
mod tests;
