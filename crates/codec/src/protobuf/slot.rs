//! Positions of fields in a message, for code that scans the bytes more than once.

use super::wire::{FIXED64, LENGTH, VARINT};

/// The message is not canonical, or invalid; the caller falls back to decoding it.
#[derive(Debug)]
pub(super) struct NonCanonical;

/// Range of a field's content in the input; of a repeated field, from the first tag to the end of the last content.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Slot {
    pub(super) start: u32,
    pub(super) end: u32,
}

impl Slot {
    pub(super) fn is_empty(self) -> bool {
        self.start == self.end
    }

    /// Returns the rest after a slot in it.
    pub(super) fn after(self, first: Slot) -> Slot {
        Slot { start: first.end, end: self.end }
    }

    pub(super) fn of(self, input: &[u8]) -> &[u8] {
        &input[self.start as usize..self.end as usize]
    }

    /// Reads the varint that it holds.
    #[inline]
    pub(super) fn number(self, input: &[u8]) -> Result<u64, NonCanonical> {
        varint(input, self.start, self.end).map(|(value, _)| value)
    }

    /// Returns the content of the first field, which must have this tag.
    #[inline]
    pub(super) fn first(self, tag: u64, input: &[u8]) -> Result<Slot, NonCanonical> {
        let (found, at) = varint(input, self.start, self.end)?;
        if found == tag { content(input, (tag & 7) as u8, at, self.end) } else { Err(NonCanonical) }
    }

    /// Returns the content of the only field, which must have this tag.
    #[inline]
    pub(super) fn only(self, tag: u64, input: &[u8]) -> Result<Slot, NonCanonical> {
        let slot = self.first(tag, input)?;
        if slot.end == self.end { Ok(slot) } else { Err(NonCanonical) }
    }
}

/// Reads a varint; returns it and its end.
#[inline(always)]
pub(super) fn varint(input: &[u8], at: u32, end: u32) -> Result<(u64, u32), NonCanonical> {
    let bytes = input.get(at as usize..end as usize).ok_or(NonCanonical)?;
    match *bytes {
        [first, ..] if first < 0x80 => Ok((u64::from(first), at + 1)),
        [first, second, ..] if second < 0x80 => {
            Ok((u64::from(first & 0x7f) | u64::from(second) << 7, at + 2))
        }
        _ => long_varint(bytes, at),
    }
}

#[inline(never)]
fn long_varint(bytes: &[u8], at: u32) -> Result<(u64, u32), NonCanonical> {
    let mut value = 0;
    for (index, byte) in bytes.iter().take(10).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * index);
        if *byte < 0x80 {
            return Ok((value, at + 1 + index as u32));
        }
    }
    Err(NonCanonical)
}

/// Returns the content of a field whose tag ends at `at`.
#[inline(always)]
pub(super) fn content(input: &[u8], wire: u8, at: u32, end: u32) -> Result<Slot, NonCanonical> {
    match wire {
        LENGTH => {
            let (length, start) = varint(input, at, end)?;
            if length > u64::from(end - start) {
                return Err(NonCanonical);
            }
            Ok(Slot { start, end: start + length as u32 })
        }
        VARINT => varint(input, at, end).map(|(_, end)| Slot { start: at, end }),
        FIXED64 if end - at >= 8 => Ok(Slot { start: at, end: at + 8 }),
        _ => Err(NonCanonical),
    }
}
