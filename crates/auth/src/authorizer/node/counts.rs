//! How many ways lead to each node. Most objects are used on one node, a few on all of them.

use std::num::NonZeroU32;

/// A multiset of places.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Counts {
    #[default]
    None,
    One(u32, NonZeroU32),
    /// Sorted by place, more than one. Boxed, since vertices are many and this is rare.
    #[expect(clippy::box_collection, reason = "two words instead of four in every vertex")]
    Many(Box<Vec<(u32, NonZeroU32)>>),
}

impl Counts {
    pub(super) fn contains(&self, place: u32) -> bool {
        match self {
            Counts::None => false,
            Counts::One(one, _) => *one == place,
            Counts::Many(many) => many.binary_search_by_key(&place, |(place, _)| *place).is_ok(),
        }
    }

    /// Counts one more; whether it is the first.
    pub(super) fn add(&mut self, place: u32) -> bool {
        match self {
            Counts::None => {
                *self = Counts::One(place, NonZeroU32::MIN);
                true
            }
            Counts::One(one, count) if *one == place => {
                *count = count.saturating_add(1);
                false
            }
            Counts::One(one, count) => {
                let mut many = vec![(*one, *count), (place, NonZeroU32::MIN)];
                many.sort_unstable();
                *self = Counts::Many(Box::new(many));
                true
            }
            Counts::Many(many) => match many.binary_search_by_key(&place, |(place, _)| *place) {
                Ok(at) => {
                    many[at].1 = many[at].1.saturating_add(1);
                    false
                }
                Err(at) => {
                    many.insert(at, (place, NonZeroU32::MIN));
                    true
                }
            },
        }
    }

    /// Counts one less; whether it was the last. What was not counted stays so.
    pub(super) fn remove(&mut self, place: u32) -> bool {
        match self {
            Counts::One(one, count) if *one == place => match less(*count) {
                Some(fewer) => {
                    *count = fewer;
                    false
                }
                None => {
                    *self = Counts::None;
                    true
                }
            },
            Counts::None | Counts::One(..) => false,
            Counts::Many(many) => {
                let Ok(at) = many.binary_search_by_key(&place, |(place, _)| *place) else { return false };
                if let Some(fewer) = less(many[at].1) {
                    many[at].1 = fewer;
                    return false;
                }
                many.remove(at);
                if let [(place, count)] = many[..] {
                    *self = Counts::One(place, count);
                }
                true
            }
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let (one, many) = match self {
            Counts::None => (None, &[][..]),
            Counts::One(place, count) => (Some((*place, *count)), &[][..]),
            Counts::Many(many) => (None, &many[..]),
        };
        one.into_iter().chain(many.iter().copied()).map(|(place, count)| (place, count.get()))
    }

    pub(super) fn places(&self) -> Vec<u32> {
        self.iter().map(|(place, _)| place).collect()
    }
}

fn less(count: NonZeroU32) -> Option<NonZeroU32> {
    NonZeroU32::new(count.get() - 1)
}
