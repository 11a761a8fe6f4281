//! Regular expressions as in Go's `regexp` (RE2), matched in linear time.
//!
//! The `regex` crate does the matching. Its syntax differs in details: in Go `\d` and similar classes are ASCII, `\Q`
//! quotes, and braces that are no repetition are literal. So patterns are parsed as Go parses them, with Go's
//! messages, and translated.

mod names;
mod translate;

use std::fmt;

/// Memory limit of a compiled pattern. Go's limit is 128 MB, about as many states for most patterns.
const MOST_BYTES: usize = 10 << 20;

/// Programs up to this size keep a match's memory for the next one.
const SMALL_BYTES: usize = 1 << 20;

/// Maximal length of a pattern in bytes.
const LONGEST: usize = 1 << 16;

/// Height of a pattern's tree from which on it is compiled on a separate stack.
const DEEP: usize = 100;
const DEEP_STACK: usize = 32 << 20;

/// A compiled pattern.
///
/// Every concurrent match needs memory in proportion to the program. Small programs keep it in a pool with the
/// pattern; large ones free it after each match.
#[derive(Clone, Debug)]
pub struct Regex {
    engine: Engine,
    is_small: bool,
}

#[derive(Clone, Debug)]
enum Engine {
    Text(regex::Regex),
    /// For `\B`, which is about ASCII in Go. Empty matches inside of a character are discarded.
    Bytes(regex::bytes::Regex),
}

/// Parse error in Go's words.
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
        let too_large = || Error(format!("expression too large: `{pattern}`"));
        if pattern.len() > LONGEST {
            return Err(too_large());
        }
        let translated = translate::translate(pattern).map_err(Error)?;
        let text = &translated.text;
        let build = |limit: usize| {
            if translated.between {
                let mut builder = regex::bytes::RegexBuilder::new(text);
                builder.size_limit(limit).nest_limit(NEST_LIMIT).build().map(Engine::Bytes)
            } else {
                let mut builder = regex::RegexBuilder::new(text);
                builder.size_limit(limit).nest_limit(NEST_LIMIT).build().map(Engine::Text)
            }
        };
        let build = || match build(SMALL_BYTES) {
            Ok(engine) => Ok(Regex { engine, is_small: true }),
            Err(_) => build(MOST_BYTES).map(|engine| Regex { engine, is_small: false }),
        };
        let built = if translated.height > DEEP { on_a_deep_stack(build) } else { Some(build()) };
        match built {
            Some(Ok(regex)) => Ok(regex),
            Some(Err(regex::Error::CompiledTooBig(_))) | None => Err(too_large()),
            Some(Err(_)) => Err(Error(format!("regexp/syntax: internal error: `{pattern}`"))),
        }
    }

    /// Returns whether some part of the text matches.
    pub fn is_match(&self, text: &str) -> bool {
        self.with_memory(|engine| match engine {
            Engine::Text(regex) => regex.is_match(text),
            Engine::Bytes(regex) => find_at(regex, text, 0).is_some(),
        })
    }

    /// Returns the leftmost match.
    pub fn find<'t>(&self, text: &'t str) -> Option<&'t str> {
        self.with_memory(|engine| match engine {
            Engine::Text(regex) => regex.find(text).map(|found| found.as_str()),
            Engine::Bytes(regex) => find_at(regex, text, 0).map(|(start, end)| &text[start..end]),
        })
    }

    /// Returns at most `most` non-overlapping matches. As in Go, an empty match adjacent to the previous one is
    /// skipped.
    pub fn find_all<'t>(&self, text: &'t str, most: usize) -> Vec<&'t str> {
        self.with_memory(|engine| {
            let mut end = None;
            let places: Box<dyn Iterator<Item = (usize, usize)>> = match engine {
                Engine::Text(regex) => {
                    Box::new(regex.find_iter(text).map(|found| (found.start(), found.end())))
                }
                Engine::Bytes(regex) => {
                    let mut next = Some(0);
                    Box::new(std::iter::from_fn(move || {
                        let (start, end) = find_at(regex, text, next?)?;
                        next = if end > start { Some(end) } else { after(text, end) };
                        Some((start, end))
                    }))
                }
            };
            let found = places.filter_map(|(start, stop)| {
                let adjacent = start == stop && end == Some(start);
                end = Some(stop);
                (!adjacent).then(|| &text[start..stop])
            });
            found.take(most).collect()
        })
    }

    /// Runs a match. A clone of a pattern shares its program and has memory of its own.
    fn with_memory<T>(&self, run: impl FnOnce(&Engine) -> T) -> T {
        if self.is_small { run(&self.engine) } else { run(&self.engine.clone()) }
    }
}

/// Nesting limit of the `regex` crate's parser: groups and their contents.
const NEST_LIMIT: u32 = 4000;

/// Returns the first match at or after an offset that splits no character.
fn find_at(regex: &regex::bytes::Regex, text: &str, from: usize) -> Option<(usize, usize)> {
    let mut from = from;
    loop {
        let found = regex.find_at(text.as_bytes(), from)?;
        // Only an empty match can lie inside of a character.
        if text.is_char_boundary(found.start()) {
            return Some((found.start(), found.end()));
        }
        from = after(text, found.start())?;
    }
}

/// Returns the offset of the character after the one at or around an offset.
fn after(text: &str, place: usize) -> Option<usize> {
    (place + 1..=text.len()).find(|place| text.is_char_boundary(*place))
}

/// Runs a function on a thread with a large stack; `None` if it cannot be started.
fn on_a_deep_stack<T: Send>(run: impl FnOnce() -> T + Send) -> Option<T> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(DEEP_STACK).spawn_scoped(scope, run).ok()?;
        thread.join().ok()
    })
}

/// Checks that a text is a valid pattern.
pub fn check(pattern: &str) -> Result<(), Error> {
    Regex::new(pattern).map(drop)
}

#[cfg(test)]
mod tests;
