//! Which events are written, by `-v` and `--vmodule`. The answer depends on where an event is in the source and on
//! nothing else, so tracing keeps it per call site and a silent event costs one load.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use tracing::{Level, Metadata, level_filters::LevelFilter};

/// A verbosity for source files whose name matches a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VModule {
    /// File name without extension; `*`, `?` and `[...]` are wildcards. With a slash, the end of the path.
    pub pattern: String,
    /// Verbosity there.
    pub level: u32,
}

#[derive(Clone, Debug)]
pub(crate) struct Filter {
    /// Shared with the guard, which may change it while the server runs.
    verbosity: Arc<AtomicU32>,
    vmodule: Arc<[VModule]>,
}

impl Filter {
    pub(crate) fn new(verbosity: u32, vmodule: Vec<VModule>) -> Filter {
        Filter { verbosity: Arc::new(AtomicU32::new(verbosity)), vmodule: vmodule.into() }
    }

    pub(crate) fn verbosity(&self) -> u32 {
        self.verbosity.load(Ordering::Relaxed)
    }

    pub(crate) fn set_verbosity(&self, verbosity: u32) {
        self.verbosity.store(verbosity, Ordering::Relaxed);
        tracing::callsite::rebuild_interest_cache();
    }

    pub(crate) fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        let own = metadata.target().starts_with("pintle") || metadata.target().starts_with("kube_apiserver");
        required(*metadata.level(), own) <= self.verbosity_at(metadata.file())
    }

    /// The most talkative level that any file may have.
    pub(crate) fn max_level(&self) -> LevelFilter {
        let most = self.vmodule.iter().map(|module| module.level).fold(self.verbosity(), u32::max);
        match most {
            0..2 => LevelFilter::INFO,
            2..4 => LevelFilter::DEBUG,
            _ => LevelFilter::TRACE,
        }
    }

    fn verbosity_at(&self, file: Option<&str>) -> u32 {
        let matching = file.and_then(|file| self.vmodule.iter().find(|module| names(&module.pattern, file)));
        matching.map_or_else(|| self.verbosity(), |module| module.level)
    }
}

/// The verbosity from which on an event is written. The table in the crate's documentation.
fn required(level: Level, own: bool) -> u32 {
    match (level, own) {
        (Level::ERROR, _) | (Level::WARN | Level::INFO, true) => 0,
        (Level::DEBUG, true) => 2,
        // Libraries warn of what strangers send, as often as they send it.
        (Level::TRACE, true) | (Level::WARN | Level::INFO, false) => 4,
        (Level::DEBUG, false) => 8,
        (Level::TRACE, false) => 10,
    }
}

/// Whether a vmodule pattern means a source file.
fn names(pattern: &str, file: &str) -> bool {
    let path = file.strip_suffix(".rs").unwrap_or(file);
    if pattern.contains('/') {
        // Compare as many trailing parts as the pattern has.
        let parts = pattern.matches('/').count() + 1;
        let start = path.rmatch_indices('/').nth(parts - 1).map_or(0, |(at, _)| at + 1);
        return glob(pattern.as_bytes(), &path.as_bytes()[start..]);
    }
    let mut parts = path.rsplit('/').filter(|part| *part != "src");
    let name = parts.next().unwrap_or(path);
    let module = if matches!(name, "mod" | "lib" | "main") { parts.next() } else { None };
    glob(pattern.as_bytes(), name.as_bytes())
        || module.is_some_and(|m| glob(pattern.as_bytes(), m.as_bytes()))
}

/// Go's `filepath.Match`: `*` and `?` do not cross a slash, `[a-z]` and `[^a-z]` are classes, `\` quotes.
fn glob(pattern: &[u8], text: &[u8]) -> bool {
    match (pattern, text) {
        ([], _) => text.is_empty(),
        ([b'*', rest @ ..], _) => {
            let end = text.iter().position(|b| *b == b'/').unwrap_or(text.len());
            (0..=end).any(|skip| glob(rest, &text[skip..]))
        }
        (_, []) => false,
        ([b'?', rest @ ..], [b, text @ ..]) => *b != b'/' && glob(rest, text),
        ([b'[', rest @ ..], [b, text @ ..]) => match class(rest, *b) {
            Some((matches, rest)) => matches && glob(rest, text),
            None => false,
        },
        ([b'\\', want, rest @ ..], [b, text @ ..]) | ([want, rest @ ..], [b, text @ ..]) => {
            want == b && glob(rest, text)
        }
    }
}

/// Whether a byte is in the class whose opening bracket was just read, and what follows it; `None` if it never closes.
fn class(pattern: &[u8], byte: u8) -> Option<(bool, &[u8])> {
    let (negated, mut rest) = match pattern {
        [b'^', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let mut inside = false;
    loop {
        match rest {
            [b']', rest @ ..] => return Some((inside != negated, rest)),
            [low, b'-', high, tail @ ..] if *high != b']' => {
                inside |= (*low..=*high).contains(&byte);
                rest = tail;
            }
            [one, tail @ ..] => {
                inside |= *one == byte;
                rest = tail;
            }
            [] => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_file_names_as_klog_does() {
        let cases = [
            ("listener", "crates/server/src/listener.rs", true),
            ("list*", "crates/server/src/listener.rs", true),
            ("l?stener", "crates/server/src/listener.rs", true),
            ("[k-m]istener", "crates/server/src/listener.rs", true),
            ("[^k-m]istener", "crates/server/src/listener.rs", false),
            ("listener.rs", "crates/server/src/listener.rs", false),
            ("server", "crates/server/src/listener.rs", false),
            ("filters", "crates/server/src/filters/mod.rs", true),
            ("mod", "crates/server/src/filters/mod.rs", true),
            ("server", "crates/server/src/lib.rs", true),
            ("src/listener", "crates/server/src/listener.rs", true),
            ("*/listener", "crates/server/src/listener.rs", true),
            ("cache/listener", "crates/server/src/listener.rs", false),
            ("list[", "list[", false),
        ];
        for (pattern, file, want) in cases {
            assert_eq!(names(pattern, file), want, "{pattern} {file}");
        }
    }

    #[test]
    fn vmodule_overrides_the_verbosity_of_its_files_only() {
        let filter = Filter::new(1, vec![VModule { pattern: "watch*".into(), level: 5 }]);
        assert_eq!(filter.verbosity_at(Some("src/watcher.rs")), 5);
        assert_eq!(filter.verbosity_at(Some("src/cache.rs")), 1);
        assert_eq!(filter.verbosity_at(None), 1);
        assert_eq!(filter.max_level(), LevelFilter::TRACE);
        assert_eq!(Filter::new(2, Vec::new()).max_level(), LevelFilter::DEBUG);
        assert_eq!(Filter::new(0, Vec::new()).max_level(), LevelFilter::INFO);
    }

    #[test]
    fn libraries_need_more_verbosity_than_own_code() {
        assert_eq!(required(Level::ERROR, false), 0);
        assert!(required(Level::WARN, true) < required(Level::WARN, false));
        assert!(required(Level::INFO, true) < required(Level::INFO, false));
        assert!(required(Level::DEBUG, true) < required(Level::DEBUG, false));
        assert!(required(Level::TRACE, true) < required(Level::TRACE, false));
    }
}
