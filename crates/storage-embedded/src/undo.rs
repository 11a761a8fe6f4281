//! Takes back what the engine wrote to a file while it opened it, when the file turns out to be damaged.
//!
//! The engine marks a file as open before it looks at the rest, and a repair writes as it goes. A damaged store may be the only
//! copy of its data: it must stay as it was, for another attempt or another tool.

use std::io;
use std::sync::{Mutex, PoisonError};

use redb::StorageBackend;

/// The parts of a file that the engine has changed, as they were before it opened the file.
#[derive(Debug, Default)]
pub(crate) struct Undo(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    recording: bool,
    len: u64,
    /// Offsets and the bytes that were there, oldest first.
    pieces: Vec<(u64, Vec<u8>)>,
}

impl Undo {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins to record. What is written to an empty file needs no taking back.
    pub(crate) fn begin(&self, len: u64) {
        *self.state() = State { recording: len > 0, len, pieces: Vec::new() };
    }

    /// Ends to record; what was recorded is kept.
    pub(crate) fn end(&self) {
        self.state().recording = false;
    }

    /// Forgets what was recorded: the file is good.
    pub(crate) fn forget(&self) {
        *self.state() = State::default();
    }

    /// Runs a function while nothing is recorded.
    pub(crate) fn locked(&self, run: impl FnOnce()) {
        let _state = self.state();
        run();
    }

    /// Makes a change of `len` bytes at `offset`, or a cut to `offset`, and records what was there before. The two are
    /// atomic: neither another change nor [`Undo::restore`] comes between.
    pub(crate) fn recorded(
        &self,
        backend: &dyn StorageBackend,
        offset: u64,
        len: u64,
        change: impl FnOnce() -> io::Result<()>,
    ) -> io::Result<()> {
        let mut state = self.state();
        if !state.recording {
            drop(state);
            return change();
        }
        let end = offset.saturating_add(len).min(state.len).min(backend.len()?);
        if offset < end {
            let mut bytes = vec![0; (end - offset) as usize];
            backend.read(offset, &mut bytes)?;
            state.pieces.push((offset, bytes));
        }
        change()
    }

    /// Makes the file what it was.
    pub(crate) fn restore(&self, backend: &dyn StorageBackend) -> io::Result<()> {
        let state = std::mem::take(&mut *self.state());
        if state.len == 0 {
            return Ok(());
        }
        if backend.len()? != state.len {
            backend.set_len(state.len)?;
        }
        for (offset, bytes) in state.pieces.iter().rev() {
            backend.write(*offset, bytes)?;
        }
        backend.sync_data()
    }
}

#[cfg(test)]
mod tests {
    use redb::backends::InMemoryBackend;

    use super::*;

    fn content(backend: &InMemoryBackend) -> Vec<u8> {
        let mut bytes = vec![0; backend.len().unwrap() as usize];
        backend.read(0, &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn a_file_is_made_what_it_was() {
        let backend = InMemoryBackend::new();
        backend.set_len(10).unwrap();
        backend.write(0, b"0123456789").unwrap();
        let undo = Undo::default();
        undo.begin(10);
        let write = |offset, bytes: &[u8]| {
            let change = || backend.write(offset, bytes);
            undo.recorded(&backend, offset, bytes.len() as u64, change).unwrap();
        };
        let cut = |len| {
            undo.recorded(&backend, len, u64::MAX, || backend.set_len(len)).unwrap();
        };
        write(2, b"ab");
        cut(20);
        write(8, b"cdef");
        write(2, b"xy");
        cut(4);
        undo.end();
        undo.restore(&backend).unwrap();
        assert_eq!(content(&backend), b"0123456789");
        // Only once, and not what came after the end.
        backend.write(0, b"!").unwrap();
        undo.restore(&backend).unwrap();
        assert_eq!(content(&backend), b"!123456789");
    }

    #[test]
    fn a_file_that_was_empty_is_left_alone() {
        let (backend, undo) = (InMemoryBackend::new(), Undo::default());
        undo.begin(0);
        backend.set_len(3).unwrap();
        undo.restore(&backend).unwrap();
        assert_eq!(content(&backend), [0; 3]);
    }
}
