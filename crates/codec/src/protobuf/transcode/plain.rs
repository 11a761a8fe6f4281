//! Recognizes text that JSON contains unescaped, eight bytes at a time: most text is such, and needs one pass and one
//! copy.

const ONES: u64 = u64::MAX / 255;
const HIGH: u64 = ONES * 0x80;

/// Returns a bit for each zero byte, and possibly for later ones after the first.
const fn zeros(word: u64) -> u64 {
    word.wrapping_sub(ONES) & !word & HIGH
}

/// Returns 0 if all bytes are printable ASCII without escapes in JSON; else the lowest set bit marks the first other
/// byte.
#[inline]
const fn special(word: u64) -> u64 {
    let control = word.wrapping_sub(ONES * 0x20) & !word;
    // Two pairs differ in one bit.
    let quote_ampersand = zeros((word | (ONES * 0x04)) ^ (ONES * 0x26));
    let less_greater = zeros((word | (ONES * 0x02)) ^ (ONES * 0x3e));
    let backslash = zeros(word ^ (ONES * 0x5c));
    (control | word | quote_ampersand | less_greater | backslash) & HIGH
}

/// Loads a short text into a word, padded with spaces.
#[inline]
fn short(text: &[u8]) -> u64 {
    text.iter().rev().fold(ONES * 0x20, |word, byte| word << 8 | u64::from(*byte))
}

/// Returns whether a text is ASCII without escapes in a JSON string.
#[inline]
pub(super) fn is_plain(text: &[u8]) -> bool {
    match text.last_chunk::<8>() {
        None => special(short(text)) == 0,
        Some(last) => {
            let (words, _) = text.as_chunks::<8>();
            // The last word overlaps the one before.
            words.iter().fold(special(u64::from_le_bytes(*last)), |found, word| {
                found | special(u64::from_le_bytes(*word))
            }) == 0
        }
    }
}

/// Returns the number of bytes before the first special one.
#[inline]
fn plain_length(text: &[u8]) -> usize {
    let (words, rest) = text.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let found = special(u64::from_le_bytes(*word));
        if found != 0 {
            return index * 8 + found.trailing_zeros() as usize / 8;
        }
    }
    let found = special(short(rest));
    words.len() * 8 + if found == 0 { rest.len() } else { found.trailing_zeros() as usize / 8 }
}

/// Returns whether JSON consists of nested objects only, as `FieldsV1` does, with plain keys and no white space; it
/// is then written unchanged. `false` says nothing.
pub(super) fn is_plain_fields(json: &[u8]) -> bool {
    const DEEPEST: usize = 64;
    let Some(mut rest) = json.strip_prefix(b"{") else { return false };
    let mut depth = 1;
    // After an opening brace.
    loop {
        match rest {
            [b'"', key @ ..] => {
                let Some(after) = after_key(key) else { return false };
                depth += 1;
                if depth > DEEPEST {
                    return false;
                }
                rest = after;
            }
            [b'}', after @ ..] => {
                rest = after;
                depth -= 1;
                // After a closing brace.
                loop {
                    match (depth, rest) {
                        (0, rest) => return rest.is_empty(),
                        (_, [b'}', after @ ..]) => {
                            rest = after;
                            depth -= 1;
                        }
                        (_, [b',', b'"', key @ ..]) => {
                            let Some(after) = after_key(key) else { return false };
                            rest = after;
                            depth += 1;
                            break;
                        }
                        _ => return false,
                    }
                }
                if depth > DEEPEST {
                    return false;
                }
            }
            _ => return false,
        }
    }
}

/// Returns the rest after a key, its quote, a colon and a brace. The key may contain escaped quotes and backslashes.
#[inline]
fn after_key(key: &[u8]) -> Option<&[u8]> {
    let mut rest = key;
    loop {
        match &rest[plain_length(rest)..] {
            [b'"', b':', b'{', after @ ..] => return Some(after),
            [b'\\', b'"' | b'\\', after @ ..] => rest = after,
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_classified_at_every_offset() {
        for byte in 0..=255u8 {
            let plain = (0x20..0x80).contains(&byte) && !b"\"\\<>&".contains(&byte);
            for length in 1..40 {
                for index in 0..length {
                    let mut text = vec![b'a'; length];
                    text[index] = byte;
                    assert_eq!(is_plain(&text), plain, "{byte} at {index} of {length}");
                    assert_eq!(plain_length(&text), if plain { length } else { index });
                }
            }
        }
        assert!(is_plain(b""));
    }

    #[test]
    fn only_fields_v1_is_recognized() {
        for plain in ["{}", r#"{"f:a":{}}"#, r#"{"f:a":{".":{},"k:{\"name\":\"x\"}":{"f:b\\":{}}},"v:1":{}}"#]
        {
            assert!(is_plain_fields(plain.as_bytes()), "{plain}");
            for end in 0..plain.len() {
                assert!(!is_plain_fields(&plain.as_bytes()[..end]), "{}", &plain[..end]);
            }
        }
        for other in [
            "{} ",
            " {}",
            "{}}",
            "{}{}",
            "{,}",
            r#"{"a":{},}"#,
            r#"{"a":1}"#,
            r#"{"a" :{}}"#,
            r#"{"a":{}"b":{}}"#,
            r#"{"<":{}}"#,
            r#"{"\n":{}}"#,
            "{\"\u{e9}\":{}}",
            "[]",
            "null",
            r#"{"a":{}},{"b":{}}"#,
            r#"{"a":{},"b"}"#,
        ] {
            assert!(!is_plain_fields(other.as_bytes()), "{other}");
        }
        let deep = format!("{}{}", "{\"a\":".repeat(2000) + "{}", "}".repeat(2000));
        assert!(!is_plain_fields(deep.as_bytes()));
    }
}
