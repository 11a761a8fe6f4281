//! The judge: recorded watches against what was really committed.
//!
//! Writers record every acknowledged transaction as a [`Commit`], watchers everything they are given as a
//! [`Recording`]. One function per named guarantee of the contract then says whether the recording keeps it. They
//! overlap as little as possible, so that the name of a failure points at the fault:
//!
//! ```text
//! commits              5: a b      6: a        7: b
//! ordered              [6: a] [5: a b]                     5 after 6
//! unique               [5: a b] [6: a] [6: a]              6 a twice
//! atomic               [5: a] [5: b]                       5 in two batches
//! reliable             [5: a b] [7: b]                     6 a is missing
//! resumable from 6     [7: b]                              a watch from 5 saw 6 a
//! bookmarkable         [5: a b] (progress 6) [6: a]        6 after progress 6
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use bytes::Bytes;

use crate::{Event, Revision, WatchItem};

#[cfg(test)]
#[path = "history_tests.rs"]
mod tests;

/// One acknowledged transaction: the value of each key it wrote, `None` for one it deleted, in the order of its
/// operations. Deletions of what was not there are no changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    pub revision: Revision,
    pub changes: Vec<(Bytes, Option<Bytes>)>,
}

/// The items that one watch delivered. A watch that was dropped and resumed where it stood is one recording.
#[derive(Clone, Debug)]
pub struct Recording {
    /// For messages.
    pub name: String,
    pub prefix: Bytes,
    pub from: Revision,
    /// The watcher waited until it had seen this revision, so that everything up to it must be there.
    pub until: Revision,
    pub items: Vec<WatchItem>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guarantee {
    Ordered,
    Unique,
    Atomic,
    Reliable,
    Resumable,
    Bookmarkable,
}

/// A broken promise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    pub guarantee: Guarantee,
    pub detail: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not {:?}: {}", self.guarantee, self.detail)
    }
}

impl Recording {
    fn batches(&self) -> impl Iterator<Item = (Revision, &[Event])> {
        self.items.iter().filter_map(|item| match item {
            WatchItem::Changes { revision, events } => Some((*revision, events.as_slice())),
            WatchItem::Progress(_) => None,
        })
    }

    fn violation(&self, guarantee: Guarantee, detail: impl fmt::Display) -> Violation {
        Violation { guarantee, detail: format!("watch {:?} from {}: {detail}", self.name, self.from) }
    }
}

/// Returns the events that a watch of `prefix` has to deliver for a commit.
fn visible(commit: &Commit, prefix: &[u8]) -> Vec<(Bytes, Option<Bytes>)> {
    commit.changes.iter().filter(|(key, _)| key.starts_with(prefix)).cloned().collect()
}

fn delivered(event: &Event) -> (Bytes, Option<Bytes>) {
    match event {
        Event::Put { kv, .. } => (kv.key.clone(), Some(kv.value.clone())),
        Event::Delete { key, .. } => (key.clone(), None),
        // No recording has one: then the value is what differs.
        Event::Unreadable(value) => (value.key.clone(), Some(value.reason.clone().into())),
    }
}

/// Batches arrive in increasing order of revision, and every event carries its batch's revision.
pub fn ordered(watch: &Recording) -> Result<(), Violation> {
    let mut last = Revision::ZERO;
    for (revision, events) in watch.batches() {
        if revision < last {
            return Err(watch.violation(Guarantee::Ordered, format_args!("revision {revision} after {last}")));
        }
        if let Some(stray) = events.iter().find(|event| event.revision() != revision) {
            let detail = format!("an event of revision {} in the batch of {revision}", stray.revision());
            return Err(watch.violation(Guarantee::Ordered, detail));
        }
        last = revision;
    }
    Ok(())
}

/// No change is delivered twice.
pub fn unique(watch: &Recording) -> Result<(), Violation> {
    let mut seen = BTreeSet::new();
    for (revision, events) in watch.batches() {
        for event in events {
            if !seen.insert((revision, event.key().clone())) {
                let detail = format!("{:?} at revision {revision} came twice", event.key());
                return Err(watch.violation(Guarantee::Unique, detail));
            }
        }
    }
    Ok(())
}

/// A batch holds all changes of its transaction under the prefix, in their order, and nothing that was not committed.
pub fn atomic(history: &[Commit], watch: &Recording) -> Result<(), Violation> {
    let commits: BTreeMap<_, _> = history.iter().map(|commit| (commit.revision, commit)).collect();
    for (revision, events) in watch.batches() {
        let Some(commit) = commits.get(&revision) else {
            let detail = format!("revision {revision} was never committed");
            return Err(watch.violation(Guarantee::Atomic, detail));
        };
        let expected = visible(commit, &watch.prefix);
        let found: Vec<_> = events.iter().map(delivered).collect();
        if found != expected {
            let detail = format!("revision {revision} changed {expected:?}, the batch has {found:?}");
            return Err(watch.violation(Guarantee::Atomic, detail));
        }
    }
    Ok(())
}

/// No change from the first revision to the last awaited one is left out.
pub fn reliable(history: &[Commit], watch: &Recording) -> Result<(), Violation> {
    let seen: BTreeSet<_> = watch
        .batches()
        .flat_map(|(revision, events)| events.iter().map(move |event| (revision, event.key().clone())))
        .collect();
    let due = history.iter().filter(|commit| commit.revision >= watch.from && commit.revision <= watch.until);
    for commit in due {
        for (key, _) in visible(commit, &watch.prefix) {
            if !seen.contains(&(commit.revision, key.clone())) {
                let detail = format!("{key:?} at revision {} is missing", commit.revision);
                return Err(watch.violation(Guarantee::Reliable, detail));
            }
        }
    }
    Ok(())
}

/// A watch that started later, or was resumed, saw the same as `reference`, which was there from before and watched
/// the same prefix or a wider one.
pub fn resumable(reference: &Recording, watch: &Recording) -> Result<(), Violation> {
    let until = reference.until.min(watch.until);
    let project = |recording: &Recording| -> Vec<(Revision, Event)> {
        let in_time =
            recording.batches().filter(|(revision, _)| *revision >= watch.from && *revision <= until);
        in_time
            .flat_map(|(revision, events)| events.iter().map(move |event| (revision, event.clone())))
            .filter(|(_, event)| event.key().starts_with(&watch.prefix))
            .collect()
    };
    let (expected, found) = (project(reference), project(watch));
    if let Some(position) = (0..expected.len().max(found.len())).find(|i| expected.get(*i) != found.get(*i)) {
        let detail = format!(
            "its event {position} is {:?}, {:?} saw {:?} there",
            found.get(position),
            reference.name,
            expected.get(position)
        );
        return Err(watch.violation(Guarantee::Resumable, detail));
    }
    if let Some((early, _)) = watch.batches().find(|(revision, _)| *revision < watch.from) {
        return Err(
            watch.violation(Guarantee::Resumable, format_args!("revision {early} lies before its start"))
        );
    }
    Ok(())
}

/// After progress at a revision, nothing at or before it is delivered any more, and progress never goes back.
pub fn bookmarkable(watch: &Recording) -> Result<(), Violation> {
    let mut progress = Revision::ZERO;
    for item in &watch.items {
        match item {
            WatchItem::Changes { revision, .. } if *revision <= progress => {
                let detail = format!("revision {revision} after progress {progress}");
                return Err(watch.violation(Guarantee::Bookmarkable, detail));
            }
            WatchItem::Changes { .. } => {}
            WatchItem::Progress(revision) if *revision < progress => {
                let detail = format!("progress {revision} after progress {progress}");
                return Err(watch.violation(Guarantee::Bookmarkable, detail));
            }
            WatchItem::Progress(revision) => progress = *revision,
        }
    }
    Ok(())
}

/// All six. `reference` is a watch from the start of `history`.
pub fn check(history: &[Commit], reference: &Recording, watches: &[Recording]) -> Result<(), Violation> {
    for watch in std::iter::once(reference).chain(watches) {
        ordered(watch)?;
        unique(watch)?;
        atomic(history, watch)?;
        reliable(history, watch)?;
        resumable(reference, watch)?;
        bookmarkable(watch)?;
    }
    Ok(())
}
