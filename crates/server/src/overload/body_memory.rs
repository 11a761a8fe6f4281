//! Memory of request bodies, which are read without a slot and therefore have a limit of their own.

use std::sync::{Arc, Mutex, PoisonError};

use pintle_auth::User;
use pintle_meta::Status;

use super::fair_shares::FairShares;
use super::too_many_requests_status;

/// Bytes of all bodies that are read or worked on at once: 64 of the longest that are taken. One user may have half.
const MOST: usize = 192 << 20;

/// Bytes of each body that are not counted: a connection costs as much anyway.
const FREE: usize = 16 << 10;

/// The memory of all request bodies.
pub(crate) struct BodyMemory(Mutex<FairShares>);

impl Default for BodyMemory {
    fn default() -> BodyMemory {
        BodyMemory(Mutex::new(FairShares::new(MOST)))
    }
}

impl BodyMemory {
    fn shares(&self) -> std::sync::MutexGuard<'_, FairShares> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the account of one request. `is_exempt`: it is counted and never refused.
    pub(crate) fn account(self: &Arc<BodyMemory>, user: Arc<User>, is_exempt: bool) -> ReservedBytes {
        ReservedBytes { memory: self.clone(), user, is_exempt, counted: 0 }
    }
}

/// Memory that the body of a request has reserved, until it is dropped.
pub(crate) struct ReservedBytes {
    memory: Arc<BodyMemory>,
    user: Arc<User>,
    is_exempt: bool,
    counted: usize,
}

impl ReservedBytes {
    /// Reserves memory for a body that has reached this length. Errors: the user has no more.
    pub(crate) fn grow(&mut self, length: usize) -> Result<(), Box<Status>> {
        let more = length.saturating_sub(FREE).saturating_sub(self.counted);
        if more == 0 {
            return Ok(());
        }
        let mut shares = self.memory.shares();
        match self.is_exempt {
            true => shares.take_anyway(&self.user.name, more),
            false if shares.take(&self.user.name, more) => {}
            false => return Err(too_many_requests_status()),
        }
        drop(shares);
        self.counted += more;
        Ok(())
    }
}

impl Drop for ReservedBytes {
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
        let memory = Arc::new(BodyMemory::default());
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
