//! A number of anything, divided among users.
//!
//! A user may take more only as long as it holds no more than is left for all others. So one user gets half, two get a
//! third each, three a fourth: however many there are and whatever they do, the next one finds room. Nothing is set aside
//! for users that are not there.

use std::collections::HashMap;

/// The shares of all users.
#[derive(Debug)]
pub(super) struct FairShares {
    most: usize,
    taken: usize,
    users: HashMap<Box<str>, usize>,
}

impl FairShares {
    pub(super) fn new(most: usize) -> FairShares {
        FairShares { most, taken: 0, users: HashMap::new() }
    }

    pub(super) fn taken(&self) -> usize {
        self.taken
    }

    /// Returns how much a user holds.
    pub(super) fn held_by(&self, user: &str) -> usize {
        self.users.get(user).copied().unwrap_or_default()
    }

    /// Returns whether [`FairShares::take`] would succeed.
    pub(super) fn has_room(&self, user: &str, count: usize) -> bool {
        let free = self.most.saturating_sub(self.taken);
        self.held_by(user).saturating_add(count) <= free
    }

    /// Takes some for a user, unless they are more than its share.
    pub(super) fn take(&mut self, user: &str, count: usize) -> bool {
        let fits = self.has_room(user, count);
        if fits {
            self.take_anyway(user, count);
        }
        fits
    }

    /// Takes some for a user that is never refused. Others find less.
    pub(super) fn take_anyway(&mut self, user: &str, count: usize) {
        self.taken += count;
        match self.users.get_mut(user) {
            Some(held) => *held += count,
            None => drop(self.users.insert(user.into(), count)),
        }
    }

    pub(super) fn give_back(&mut self, user: &str, count: usize) {
        self.taken = self.taken.saturating_sub(count);
        if let Some(held) = self.users.get_mut(user) {
            *held = held.saturating_sub(count);
            if *held == 0 {
                self.users.remove(user);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn most(shares: &mut FairShares, user: &str) -> usize {
        std::iter::repeat_with(|| shares.take(user, 1)).take_while(|taken| *taken).count()
    }

    #[test]
    fn one_user_gets_half_and_there_is_room_for_each_that_follows() {
        let mut shares = FairShares::new(200);
        let held: Vec<usize> = ["a", "b", "c", "d"].map(|user| most(&mut shares, user)).into();
        assert_eq!(held, [100, 50, 25, 13]);
        assert!(shares.take("e", 1));
        shares.give_back("a", 60);
        assert!(shares.take("e", 1) && shares.take("b", 1), "what one gives back, others may take");
    }

    #[test]
    fn users_that_come_together_get_equal_shares() {
        let mut shares = FairShares::new(200);
        while shares.take("a", 1) | shares.take("b", 1) {}
        assert_eq!(
            (shares.held_by("a"), shares.held_by("b")),
            (67, 67).min((shares.held_by("a"), shares.held_by("b")))
        );
        assert!(shares.held_by("a").abs_diff(shares.held_by("b")) <= 1 && shares.taken() <= 134);
    }

    #[test]
    fn the_smallest_number_serves_one() {
        let mut shares = FairShares::new(1);
        assert!(shares.take("a", 1) && !shares.take("b", 1));
        shares.give_back("a", 1);
        assert!(shares.take("b", 1));
        assert_eq!(shares.users.len(), 1, "users that hold nothing are forgotten");
    }

    #[test]
    fn amounts_are_taken_whole_or_not_at_all() {
        let mut shares = FairShares::new(100);
        assert!(!shares.take("a", 101) && shares.take("a", 50) && !shares.take("a", 1));
        shares.take_anyway("root", 60);
        assert!(!shares.take("b", 1), "even if an exempt user took more than there is");
        shares.give_back("root", 60);
        assert!(shares.take("b", 25));
    }
}
