//! Where things are in a message, for those who go through bytes more than once.

use super::wire::{FIXED64, LENGTH, VARINT};

/// The message is not as Go writes it, or is broken; who reads it the slow way will know.
#[derive(Debug)]
pub(super) struct Odd;

/// Where a field's content is in the input; of a repeated field, from the first one's tag to the end of the last.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Slot {
    pub(super) start: u32,
    pub(super) end: u32,
}

impl Slot {
    pub(super) fn is_empty(self) -> bool {
        self.start == self.end
    }

    /// What comes after something in it.
    pub(super) fn after(self, first: Slot) -> Slot {
        Slot { start: first.end, end: self.end }
    }

    pub(super) fn of(self, input: &[u8]) -> &[u8] {
        &input[self.start as usize..self.end as usize]
    }

    /// The number that it holds.
    #[inline]
    pub(super) fn number(self, input: &[u8]) -> Result<u64, Odd> {
        varint(input, self.start, self.end).map(|(value, _)| value)
    }

    /// The content of the first field in it, which must have this tag.
    #[inline]
    pub(super) fn first(self, tag: u64, input: &[u8]) -> Result<Slot, Odd> {
        let (found, at) = varint(input, self.start, self.end)?;
        if found == tag { content(input, (tag & 7) as u8, at, self.end) } else { Err(Odd) }
    }

    /// The content of the only field in it, which must have this tag.
    #[inline]
    pub(super) fn only(self, tag: u64, input: &[u8]) -> Result<Slot, Odd> {
        let slot = self.first(tag, input)?;
        if slot.end == self.end { Ok(slot) } else { Err(Odd) }
    }
}

/// A varint and where it ends.
#[inline(always)]
pub(super) fn varint(input: &[u8], at: u32, end: u32) -> Result<(u64, u32), Odd> {
    let bytes = input.get(at as usize..end as usize).ok_or(Odd)?;
    match *bytes {
        [first, ..] if first < 0x80 => Ok((u64::from(first), at + 1)),
        [first, second, ..] if second < 0x80 => {
            Ok((u64::from(first & 0x7f) | u64::from(second) << 7, at + 2))
        }
        _ => long_varint(bytes, at),
    }
}

#[inline(never)]
fn long_varint(bytes: &[u8], at: u32) -> Result<(u64, u32), Odd> {
    let mut value = 0;
    for (place, byte) in bytes.iter().take(10).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * place);
        if *byte < 0x80 {
            return Ok((value, at + 1 + place as u32));
        }
    }
    Err(Odd)
}

/// Where the content of a field is whose tag ends at `at`.
#[inline(always)]
pub(super) fn content(input: &[u8], wire: u8, at: u32, end: u32) -> Result<Slot, Odd> {
    match wire {
        LENGTH => {
            let (length, start) = varint(input, at, end)?;
            if length > u64::from(end - start) {
                return Err(Odd);
            }
            Ok(Slot { start, end: start + length as u32 })
        }
        VARINT => varint(input, at, end).map(|(_, end)| Slot { start: at, end }),
        FIXED64 if end - at >= 8 => Ok(Slot { start: at, end: at + 8 }),
        _ => Err(Odd),
    }
}
