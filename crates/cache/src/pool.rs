//! Bounds what all encoded bodies and frames take together: when it is too much, the ones encoded first go first.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::entry::{BodyFormat, Entry};
use crate::frame::Frame;
use crate::history::Change;

/// The share of the limit that frames may take, as a divisor: watchers read them at about the same time, so that they are
/// soon of no use.
const FRAMES: usize = 8;

/// Bodies of entries and frames of changes, by age. One for all resources of a control plane.
#[derive(Debug)]
pub struct Pool {
    bodies: Mutex<Queue<Entry, BodyFormat>>,
    frames: Mutex<Queue<Change, Frame>>,
}

/// The owner of encoded bytes that the pool may evict.
pub(crate) trait Holder<K> {
    fn holds(&self, key: K) -> bool;
    fn forget(&self, key: K);
}

#[derive(Debug)]
struct Queue<T, K> {
    limit: usize,
    bytes: usize,
    items: VecDeque<(Weak<T>, K, usize)>,
    /// How many were added since it was last looked through for what is gone.
    added: usize,
}

impl Pool {
    /// Returns a pool with a budget in bytes.
    pub fn new(limit: usize) -> Pool {
        let frames = limit / FRAMES;
        Pool { bodies: Mutex::new(Queue::new(limit - frames)), frames: Mutex::new(Queue::new(frames)) }
    }

    /// Number of bytes, including some of dropped values until they are found.
    pub fn bytes(&self) -> usize {
        let bodies = self.bodies.lock().unwrap_or_else(PoisonError::into_inner).bytes;
        bodies + self.frames.lock().unwrap_or_else(PoisonError::into_inner).bytes
    }

    pub(crate) fn add_body(&self, entry: &Arc<Entry>, format: BodyFormat, size: usize) {
        self.bodies.lock().unwrap_or_else(PoisonError::into_inner).add(entry, format, size);
    }

    pub(crate) fn add_frame(&self, change: &Arc<Change>, frame: Frame, size: usize) {
        self.frames.lock().unwrap_or_else(PoisonError::into_inner).add(change, frame, size);
    }
}

impl<T: Holder<K>, K: Copy> Queue<T, K> {
    fn new(limit: usize) -> Queue<T, K> {
        Queue { limit, bytes: 0, items: VecDeque::new(), added: 0 }
    }

    fn add(&mut self, holder: &Arc<T>, key: K, size: usize) {
        self.bytes += size;
        self.added += 1;
        self.items.push_back((Arc::downgrade(holder), key, size));
        if self.bytes > self.limit {
            self.sweep();
        }
        while self.bytes > self.limit {
            let Some((holder, key, size)) = self.items.pop_front() else { break };
            self.bytes -= size;
            if let Some(holder) = holder.upgrade() {
                holder.forget(key);
            }
        }
    }

    /// Takes out what is gone, which must not push out what is there. Looks at everything, so not more often than that it
    /// costs a few steps for each one added.
    fn sweep(&mut self) {
        if self.added * 4 < self.items.len() {
            return;
        }
        self.added = 0;
        let bytes = &mut self.bytes;
        self.items.retain(|(holder, key, size)| {
            let held = holder.upgrade().is_some_and(|holder| holder.holds(*key));
            *bytes -= if held { 0 } else { *size };
            held
        });
    }
}
