//! Regular expressions as in Go's `regexp` (RE2), matched in linear time.
//!
//! The `regex-automata` crate does the matching. Its syntax differs in details: in Go `\d` and similar classes are ASCII,
//! `\Q` quotes, and braces that are no repetition are literal. So patterns are parsed as Go parses them, with Go's
//! messages, and translated. Two of its engines are used, whatever others are compiled in: the lazy DFA and the
//! simulation of the NFA.

mod memory;
mod names;
mod translate;

use std::fmt;
use std::sync::Arc;

use regex_automata::meta::{BuildError, Cache, Config, Regex as Engine};
use regex_automata::nfa::thompson::WhichCaptures;
use regex_automata::util::syntax;
use regex_automata::{Input, MatchKind};

use memory::Memory;

/// Memory limit of a compiled pattern: enough for any class a thousand times, the largest repeat count of Go.
///
/// Go's limits are 128 MB and 33 million bounds of ranges. A class is one instruction in Go and an automaton over the
/// bytes of UTF-8 here, so patterns that repeat several large classes hundreds of times exceed this limit first.
const MOST_BYTES: usize = 32 << 20;

/// Size limits of programs, each with the memory limit of a lazy DFA's states, per direction. The largest programs have
/// no lazy DFA and so no program for the reverse direction.
const SIZES: [(usize, usize); 3] = [(64 << 10, 512 << 10), (1 << 20, 16 << 20), (MOST_BYTES, 0)];

/// Maximal memory of a lazy DFA's state without its set of the program's states.
const STATE_BYTES: usize = 2100;

/// Maximal length of a pattern in bytes.
const LONGEST: usize = 1 << 16;

/// Height of a pattern's tree from which on it is compiled on a separate stack.
const DEEP: usize = 100;
const DEEP_STACK: usize = 32 << 20;

/// A compiled pattern.
///
/// Every concurrent match needs memory, which is kept for the next match within a limit over all patterns.
#[derive(Clone)]
pub struct Regex {
    engine: Engine,
    /// For `\B`, which is about ASCII in Go: bytes are matched, and empty matches inside of a character discarded.
    between: bool,
    memory: Arc<Memory>,
}

impl fmt::Debug for Regex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Regex").field("between", &self.between).finish_non_exhaustive()
    }
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
        let build = || {
            let mut sizes = SIZES.iter();
            loop {
                match build(&translated.text, translated.between, sizes.next()?) {
                    Err(error) if error.size_limit().is_some() => {}
                    built => return Some(built),
                }
            }
        };
        let built = if translated.height > DEEP { on_a_deep_stack(build).flatten() } else { build() };
        match built {
            Some(Ok(engine)) => {
                Ok(Regex { engine, between: translated.between, memory: Arc::new(Memory::default()) })
            }
            Some(Err(_)) => Err(Error(format!("regexp/syntax: internal error: `{pattern}`"))),
            None => Err(too_large()),
        }
    }

    /// Returns whether some part of the text matches.
    pub fn is_match(&self, text: &str) -> bool {
        self.with_memory(text, |cache| {
            if self.between {
                return self.find_at(cache, text, 0).is_some();
            }
            self.engine.search_half_with(cache, &Input::new(text).earliest(true)).is_some()
        })
    }

    /// Returns the leftmost match.
    pub fn find<'t>(&self, text: &'t str) -> Option<&'t str> {
        let (start, end) = self.with_memory(text, |cache| self.find_at(cache, text, 0))?;
        Some(&text[start..end])
    }

    /// Returns at most `most` non-overlapping matches. As in Go, an empty match adjacent to the previous one is
    /// skipped.
    pub fn find_all<'t>(&self, text: &'t str, most: usize) -> Vec<&'t str> {
        self.with_memory(text, |cache| {
            let (mut found, mut last, mut next) = (Vec::new(), None, Some(0));
            while found.len() < most
                && let Some((start, end)) = next.and_then(|from| self.find_at(cache, text, from))
            {
                let adjacent = start == end && last == Some(start);
                if !adjacent {
                    found.push(&text[start..end]);
                }
                last = Some(end);
                next = if end > start { Some(end) } else { after(text, end) };
            }
            found
        })
    }

    fn with_memory<T>(&self, text: &str, run: impl FnOnce(&mut Cache) -> T) -> T {
        let mut part = self.memory.take(|| self.engine.create_cache());
        let known = part.cache.memory_usage();
        let result = run(&mut part.cache);
        // Each byte adds at most one state. A DFA that reached its limit was cleared and does not count what it allocated.
        let most = STATE_BYTES.saturating_add(self.engine.memory_usage() / 4).saturating_mul(text.len() + 3);
        let room = self.engine.get_config().get_hybrid_cache_capacity();
        let may_have_been_full = known.saturating_add(most) > room;
        self.memory.give_back(part, if may_have_been_full { 2 * room } else { 0 });
        result
    }

    /// Returns the first match at or after an offset that splits no character.
    fn find_at(&self, cache: &mut Cache, text: &str, from: usize) -> Option<(usize, usize)> {
        let mut from = from;
        loop {
            let found = self.engine.search_with(cache, &Input::new(text).range(from..))?;
            // Only an empty match can lie inside of a character.
            if text.is_char_boundary(found.start()) {
                return Some((found.start(), found.end()));
            }
            from = after(text, found.start())?;
        }
    }
}

fn build(text: &str, between: bool, (most, dfa): &(usize, usize)) -> Result<Engine, Box<BuildError>> {
    let config = Config::new()
        .match_kind(MatchKind::LeftmostFirst)
        .which_captures(WhichCaptures::Implicit)
        .utf8_empty(!between)
        .nfa_size_limit(Some(*most))
        .hybrid(*dfa > 0)
        .hybrid_cache_capacity(*dfa)
        .dfa(false)
        .onepass(false)
        .backtrack(false)
        .auto_prefilter(false);
    let language = syntax::Config::new().utf8(!between).nest_limit(NEST_LIMIT);
    Engine::builder().configure(config).syntax(language).build(text).map_err(Box::new)
}

/// Nesting limit of the crate's parser: groups and their contents.
const NEST_LIMIT: u32 = 4000;

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
