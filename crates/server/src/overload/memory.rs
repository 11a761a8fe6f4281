//! Bytes of bodies. They are read outside of slots, so that their number has to be bounded for itself.

use std::sync::{Arc, Mutex, PoisonError};

use pintle_auth::User;
use pintle_meta::Status;

use super::no_room;
use super::shares::Shares;

/// Bytes of all bodies that are read or worked on at once: 64 of the longest that are taken. One user may have half.
const MOST: usize = 192 << 20;

/// So much of each body is not counted: what a connection costs anyway.
const FREE: usize = 16 << 10;

pub(crate) struct Memory(Mutex<Shares>);

impl Default for Memory {
    fn default() -> Memory {
        Memory(Mutex::new(Shares::new(MOST)))
    }
}

impl Memory {
    fn shares(&self) -> std::sync::MutexGuard<'_, Shares> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The account of one request. `is_exempt`: it is counted and never refused.
    pub(crate) fn account(self: &Arc<Memory>, user: Arc<User>, is_exempt: bool) -> Reserved {
        Reserved { memory: self.clone(), user, is_exempt, counted: 0 }
    }
}

/// Bytes that a request has of the server's memory, until it is dropped.
pub(crate) struct Reserved {
    memory: Arc<Memory>,
    user: Arc<User>,
    is_exempt: bool,
    counted: usize,
}

impl Reserved {
    /// Reserves what a body needs that has come to this length. Errors: there is no room.
    pub(crate) fn grow(&mut self, length: usize) -> Result<(), Box<Status>> {
        let more = length.saturating_sub(FREE).saturating_sub(self.counted);
        if more == 0 {
            return Ok(());
        }
        let mut shares = self.memory.shares();
        match self.is_exempt {
            true => shares.take_anyway(&self.user.name, more),
            false if shares.take(&self.user.name, more) => {}
            false => return Err(no_room()),
        }
        drop(shares);
        self.counted += more;
        Ok(())
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        if self.counted > 0 {
            self.memory.shares().give_back(&self.user.name, self.counted);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_of_one_user_leave_room_for_others() {
        let memory = Arc::new(Memory::default());
        let user = |name: &str| Arc::new(User { name: name.into(), ..User::default() });
        let body = 3 << 20;
        let mut held = Vec::new();
        let refused = loop {
            let mut account = memory.account(user("a"), false);
            match account.grow(body) {
                Ok(()) => held.push(account),
                Err(status) => break status,
            }
        };
        assert_eq!((refused.code, held.len()), (429, MOST / 2 / (body - FREE)));
        assert!(memory.account(user("a"), false).grow(FREE).is_ok(), "small ones are always taken");
        assert!(memory.account(user("b"), false).grow(body).is_ok());
        assert!(memory.account(user("a"), true).grow(body).is_ok());
        held.clear();
        assert_eq!(memory.shares().taken(), 0);
    }
}
