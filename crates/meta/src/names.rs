//! Generated names and UIDs. The randomness comes from the caller.

/// Without vowels, so that no words are generated.
const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
const SUFFIX_LENGTH: usize = 5;

/// Length to which a `generateName` is truncated: with the suffix it is a DNS label.
pub const MAX_BASE_LENGTH: usize = 63 - SUFFIX_LENGTH;

/// Generates a name for an object with a `generateName`. It may be taken.
pub fn generate(base: &str, random: impl FnMut() -> u64) -> String {
    let base = &base[..base.floor_char_boundary(MAX_BASE_LENGTH)];
    format!("{base}{}", random_string(SUFFIX_LENGTH, random))
}

/// Returns random characters of the alphabet of generated names, uniformly distributed.
pub fn random_string(length: usize, mut random: impl FnMut() -> u64) -> String {
    let mut out = String::with_capacity(length);
    let (mut bits, mut left) = (0, 0);
    while out.len() < length {
        if left == 0 {
            (bits, left) = (random(), 12);
        }
        // An index past the end is skipped: wrapping it would favour the first letters.
        if let Some(&letter) = ALPHABET.get((bits & 0x1f) as usize) {
            out.push(char::from(letter));
        }
        bits >>= 5;
        left -= 1;
    }
    out
}

/// Formats random bits as a UUID of version 4.
pub fn uuid(bits: u128) -> String {
    let bits = (bits & !(0xf << 76) & !(0x3 << 62)) | (0x4 << 76) | (0x2 << 62);
    format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        bits >> 96,
        bits >> 80 & 0xffff,
        bits >> 64 & 0xffff,
        bits >> 48 & 0xffff,
        bits & 0xffff_ffff_ffff
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_has_version_and_variant() {
        assert_eq!(uuid(0), "00000000-0000-4000-8000-000000000000");
        assert_eq!(uuid(u128::MAX), "ffffffff-ffff-4fff-bfff-ffffffffffff");
    }

    #[test]
    fn a_generated_name_is_base_and_five_characters() {
        let bits = [0u64, 1, 2, 26, 25].iter().rev().fold(0, |bits, index| bits << 5 | index);
        assert_eq!(generate("web-", || bits), "web-bcd98");
        assert_eq!(generate("", || 0), "bbbbb");
    }

    #[test]
    fn numbers_past_the_alphabet_are_skipped() {
        let mut draws = [u64::MAX, 31 | 27 << 5 | 1 << 10].into_iter();
        assert_eq!(generate("a", || draws.next().unwrap_or(0)), "acbbbb");
    }

    #[test]
    fn a_long_base_is_cut_to_fit() {
        let name = generate(&"x".repeat(100), || 0);
        assert_eq!(name.len(), 63);
        assert!(name.ends_with("xbbbbb"));
        // Not inside a character; such a name is rejected later anyway.
        assert_eq!(generate(&"é".repeat(29), || 0).len(), 63);
        assert_eq!(generate(&format!("a{}", "é".repeat(29)), || 0).len(), 62);
    }
}
