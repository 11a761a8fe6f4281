//! Shuffle sharding: each flow is dealt a hand of queues, so that two flows rarely share all of theirs.

/// The largest hand that 60 bits of a hash can shuffle.
const LARGEST_HAND: usize = 15;
const LARGEST_DECK: usize = 1 << 26;
/// Bits of a hash of which the last card is dealt nearly evenly.
const HASH_BITS: f64 = 60.0;

/// Deals hands of one size from decks of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dealer {
    deck: usize,
    hand: usize,
}

/// The queues of a flow.
pub(crate) struct Hand {
    cards: [usize; LARGEST_HAND],
    size: usize,
}

impl Hand {
    pub(crate) fn cards(&self) -> &[usize] {
        &self.cards[..self.size]
    }
}

impl Dealer {
    /// Returns a dealer; none for sizes that cannot be dealt from 60 bits of a hash.
    pub(crate) fn new(deck: usize, hand: usize) -> Option<Dealer> {
        let is_possible = hand > 0 && hand <= deck.min(LARGEST_HAND) && deck <= LARGEST_DECK;
        (is_possible && ((deck as f64).log2() * hand as f64).ceil() <= HASH_BITS)
            .then_some(Dealer { deck, hand })
    }

    /// Deals the hand of a hash: different cards from 0 up to the size of the deck.
    ///
    /// Each card takes one remainder from the hash, as an index among the cards that are left. Going back over the cards
    /// dealt before turns it into an index among all: with 3 and then 3 left over from a deck of 8, the second card is 4.
    pub(crate) fn deal(self, hash: u64) -> Hand {
        let mut rest = hash;
        let mut remainders = [0; LARGEST_HAND];
        let mut cards = [0; LARGEST_HAND];
        for (index, remainder) in remainders.iter_mut().enumerate().take(self.hand) {
            let left = (self.deck - index) as u64;
            *remainder = (rest % left) as usize;
            rest /= left;
        }
        for index in 0..self.hand {
            let before = remainders[..index].iter().rev();
            cards[index] = before.fold(remainders[index], |card, other| card + usize::from(card >= *other));
        }
        Hand { cards, size: self.hand }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hands_have_different_cards_of_the_deck() {
        let dealer = Dealer::new(128, 6).unwrap();
        let mut counts = [0_u32; 128];
        let mut hash = 1_u64;
        for _ in 0..20_000 {
            hash = hash.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let hand = dealer.deal(hash ^ (hash >> 31));
            let mut cards = hand.cards().to_vec();
            cards.iter().for_each(|card| counts[*card] += 1);
            cards.sort_unstable();
            cards.dedup();
            assert_eq!(cards.len(), 6);
        }
        // 937 each on average.
        assert!(counts.iter().all(|count| (750..1150).contains(count)), "{counts:?}");
    }

    #[test]
    fn hands_are_those_of_the_reference() {
        assert_eq!(Dealer::new(8, 2).unwrap().deal(3 + 8 * 3).cards(), [3, 4]);
        assert_eq!(Dealer::new(3, 3).unwrap().deal(0).cards(), [0, 1, 2]);
        assert_eq!(Dealer::new(1, 1).unwrap().deal(u64::MAX).cards(), [0]);
    }

    #[test]
    fn sizes_that_a_hash_cannot_shuffle_have_no_dealer() {
        for (deck, hand) in [(0, 0), (5, 0), (5, 6), (512, 8), (1 << 27, 1), (16, 16)] {
            assert_eq!(Dealer::new(deck, hand), None, "{deck} {hand}");
        }
        assert!(Dealer::new(512, 6).is_some());
    }
}
