//! The encoded form of a change, made once for all its watchers.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

use crate::history::Change;
use crate::pool::{Holder, Pool};

/// Which of a change's frames: a form and a type of event, numbered by whoever makes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Frame(pub u32);

/// More forms than this at once are encoded each time: nobody can make a change hold more.
const MOST: usize = 8;

#[derive(Debug, Default)]
pub(crate) struct Frames(Mutex<Vec<(Frame, Bytes)>>);

impl Change {
    /// A frame of this change: the same bytes for everyone who asks while the pool holds them, else made now. Whoever asks
    /// meanwhile waits for it, so `make` must be quick and must not ask for a frame of the same change. An error is not
    /// kept.
    pub fn frame<E>(
        self: &Arc<Change>,
        pool: &Pool,
        frame: Frame,
        make: impl FnOnce() -> Result<Bytes, E>,
    ) -> Result<Bytes, E> {
        let mut frames = self.frames.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, found)) = frames.iter().find(|(kept, _)| *kept == frame) {
            return Ok(found.clone());
        }
        let made = make()?;
        if frames.len() < MOST {
            frames.push((frame, made.clone()));
            // The pool locks frames while it is locked itself.
            drop(frames);
            pool.add_frame(self, frame, made.len());
        }
        Ok(made)
    }
}

impl Holder<Frame> for Change {
    fn holds(&self, frame: Frame) -> bool {
        let frames = self.frames.0.lock().unwrap_or_else(PoisonError::into_inner);
        frames.iter().any(|(kept, _)| *kept == frame)
    }

    fn forget(&self, frame: Frame) {
        let mut frames = self.frames.0.lock().unwrap_or_else(PoisonError::into_inner);
        frames.retain(|(kept, _)| *kept != frame);
        frames.shrink_to_fit();
    }
}
