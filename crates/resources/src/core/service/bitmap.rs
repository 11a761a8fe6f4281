//! Which items of a range are taken: a bit each, stored as one large number, the highest byte first.

/// Bits that are set. Those past the end are not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Bitmap {
    /// The lowest bits first.
    bytes: Vec<u8>,
}

impl Bitmap {
    /// Of a stored number. Leading zeros say nothing.
    pub(super) fn read(stored: &[u8]) -> Bitmap {
        Bitmap { bytes: stored.iter().rev().copied().collect() }
    }

    /// Without leading zeros.
    pub(super) fn write(&self) -> Vec<u8> {
        let used = self.bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        self.bytes[..used].iter().rev().copied().collect()
    }

    pub(super) fn has(&self, bit: usize) -> bool {
        self.bytes.get(bit / 8).is_some_and(|byte| byte & (1 << (bit % 8)) != 0)
    }

    /// Whether it was not set before.
    pub(super) fn insert(&mut self, bit: usize) -> bool {
        let is_new = !self.has(bit);
        if self.bytes.len() <= bit / 8 {
            self.bytes.resize(bit / 8 + 1, 0);
        }
        self.bytes[bit / 8] |= 1 << (bit % 8);
        is_new
    }

    /// Whether it was set before.
    pub(super) fn remove(&mut self, bit: usize) -> bool {
        let was = self.has(bit);
        if was {
            self.bytes[bit / 8] &= !(1 << (bit % 8));
        }
        was
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = usize> {
        (0..self.bytes.len() * 8).filter(|bit| self.has(*bit))
    }

    /// A bit of `size` that is not set: any of those from `reserved` on, else one before. The first ones are left to those
    /// who choose for themselves.
    pub(super) fn free(&self, size: usize, reserved: usize, random: impl Fn() -> u64) -> Option<usize> {
        let scan = |first: usize, count: usize| {
            let start = if count == 0 { 0 } else { (random() % count as u64) as usize };
            (0..count).map(|step| first + (start + step) % count).find(|bit| !self.has(*bit))
        };
        let reserved = reserved.min(size);
        scan(reserved, size - reserved).or_else(|| scan(0, reserved))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_stored_as_one_number() {
        let mut map = Bitmap::default();
        assert!(map.write().is_empty());
        assert!(map.insert(0) && map.insert(9) && !map.insert(9));
        assert_eq!(map.write(), [2, 1]);
        assert_eq!(Bitmap::read(&[0, 2, 1]).write(), [2, 1]);
        assert_eq!(map.iter().collect::<Vec<_>>(), [0, 9]);
        assert!(map.remove(9) && !map.remove(9) && !map.remove(1000));
        assert_eq!(map.write(), [1]);
    }

    #[test]
    fn the_first_ones_are_found_last() {
        let mut map = Bitmap::default();
        for _ in 0..6 {
            let bit = map.free(10, 4, || 7).unwrap();
            assert!(bit >= 4);
            map.insert(bit);
        }
        for _ in 0..4 {
            let bit = map.free(10, 4, || 3).unwrap();
            assert!(bit < 4 && map.insert(bit));
        }
        assert_eq!(map.free(10, 4, || 1), None);
        assert_eq!(Bitmap::default().free(0, 0, || 1), None);
    }
}
