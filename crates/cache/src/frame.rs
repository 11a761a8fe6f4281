//! The encoded form of a change, made once for all its watchers.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

use crate::history::Change;
use crate::pool::{Holder, Pool};

/// The key of one of a change's frames: a form and a type of event, numbered by the encoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Frame(pub u32);

/// Maximum number of frames kept per change; further forms are encoded each time, so that clients cannot make a change hold more.
const MOST: usize = 8;

#[derive(Debug, Default)]
pub(crate) struct Frames(Mutex<Vec<(Frame, Bytes)>>);

impl Change {
    /// Returns a frame of this change: shared bytes while the pool holds them, else made now. Concurrent callers wait for
    /// it, so `make` must be quick and must not ask for a frame of the same change. An error is not kept.
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
