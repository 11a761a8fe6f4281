//! JSON tokens, as Go's `encoding/json` writes them with HTML escaping.

use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::read::{Reader, Seen};

const HEX: &[u8; 16] = b"0123456789abcdef";

/// Bytes of a string that are written unescaped. `0xE2` may start U+2028 and is checked further.
const CLEAN: [bool; 256] = {
    let mut clean = [true; 256];
    let mut byte = 0;
    while byte < 0x20 {
        clean[byte] = false;
        byte += 1;
    }
    clean[b'"' as usize] = false;
    clean[b'\\' as usize] = false;
    clean[b'<' as usize] = false;
    clean[b'>' as usize] = false;
    clean[b'&' as usize] = false;
    clean[0xE2] = false;
    clean
};

/// Writes a string with its quotes.
pub fn string(text: &str, out: &mut Vec<u8>) {
    let bytes = text.as_bytes();
    out.reserve(bytes.len() + 2);
    out.push(b'"');
    let mut start = 0;
    let mut at = 0;
    while let Some(found) = next_unclean(&bytes[at..]) {
        at += found;
        let byte = bytes[at];
        if byte == 0xE2 {
            match separator(&bytes[at..]) {
                Some(escape) => {
                    out.extend_from_slice(&bytes[start..at]);
                    out.extend_from_slice(escape);
                    at += 3;
                    start = at;
                }
                None => at += 3,
            }
            continue;
        }
        out.extend_from_slice(&bytes[start..at]);
        escape(byte, out);
        at += 1;
        start = at;
    }
    out.extend_from_slice(&bytes[start..]);
    out.push(b'"');
}

/// Returns the offset of the first byte that may need escaping, testing eight bytes at a time.
#[inline]
fn next_unclean(bytes: &[u8]) -> Option<usize> {
    let table = |from: &[u8]| from.iter().position(|byte| !CLEAN[usize::from(*byte)]);
    let mut at = 0;
    while let Some(chunk) = bytes[at..].first_chunk() {
        if may_be_unclean(*chunk)
            && let Some(found) = table(chunk)
        {
            return Some(at + found);
        }
        at += 8;
    }
    match bytes.last_chunk() {
        // The last eight bytes overlap the previous ones, which is cheaper than testing the rest one by one.
        Some(chunk) if !may_be_unclean(*chunk) => None,
        _ => table(&bytes[at..]).map(|found| at + found),
    }
}

/// Returns whether one of eight bytes may need escaping.
#[inline]
fn may_be_unclean(chunk: [u8; 8]) -> bool {
    const ONES: u64 = u64::MAX / 255;
    let word = u64::from_le_bytes(chunk);
    // Bytes below a space, or equal to a compared byte, borrow into the highest bit. Quote and ampersand, and the two
    // angle brackets, differ by one bit each.
    let small = word.wrapping_sub(ONES * 0x20)
        | ((word | (ONES * 0x04)) ^ (ONES * 0x26)).wrapping_sub(ONES)
        | ((word | (ONES * 0x02)) ^ (ONES * 0x3E)).wrapping_sub(ONES)
        | (word ^ (ONES * 0x5C)).wrapping_sub(ONES);
    // Bytes with that bit set already are not ASCII and may be `0xE2`.
    (small | word) & (ONES << 7) != 0
}

fn escape(byte: u8, out: &mut Vec<u8>) {
    let short = match byte {
        b'"' | b'\\' => byte,
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        0x08 => b'b',
        0x0C => b'f',
        _ => return escape_hex(byte, out),
    };
    out.extend_from_slice(&[b'\\', short]);
}

fn escape_hex(byte: u8, out: &mut Vec<u8>) {
    out.extend_from_slice(&[
        b'\\',
        b'u',
        b'0',
        b'0',
        HEX[usize::from(byte >> 4)],
        HEX[usize::from(byte & 15)],
    ]);
}

/// Returns the escape of U+2028 or U+2029, which JavaScript treats as line breaks, if the bytes start with one.
fn separator(bytes: &[u8]) -> Option<&'static [u8]> {
    match bytes {
        [0xE2, 0x80, 0xA8, ..] => Some(b"\\u2028"),
        [0xE2, 0x80, 0xA9, ..] => Some(b"\\u2029"),
        _ => None,
    }
}

pub fn int(value: i64, out: &mut Vec<u8>) {
    // The longest is i64::MIN, of 20 bytes.
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    let mut left = value.unsigned_abs();
    loop {
        at -= 1;
        digits[at] = b'0' + (left % 10) as u8;
        left /= 10;
        if left == 0 {
            break;
        }
    }
    if value < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(&digits[at..]);
}

/// Writes the shortest digits of the number, with an exponent below 1e-6 and from 1e21 on. JSON has no infinities and
/// Go rejects them; decoders yield none, and null would keep the document valid.
pub fn float(value: f64, out: &mut Vec<u8>) {
    let size = value.abs();
    // Writing to a Vec cannot fail.
    let _ = if !value.is_finite() {
        out.write_all(b"null")
    } else if size != 0.0 && !(1e-6..1e21).contains(&size) {
        let text = format!("{value:e}");
        match text.split_once('e') {
            Some((digits, exponent)) if !exponent.starts_with('-') => write!(out, "{digits}e+{exponent}"),
            _ => out.write_all(text.as_bytes()),
        }
    } else {
        write!(out, "{value}")
    };
}

/// Writes bytes as a base64 string.
pub fn base64(bytes: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    let start = out.len();
    out.resize(start + bytes.len().div_ceil(3) * 4, 0);
    // The buffer has exactly the encoded length.
    let written = STANDARD.encode_slice(bytes, &mut out[start..]).unwrap_or_default();
    out.truncate(start + written);
    out.push(b'"');
}

/// Writes JSON of another origin: without white space between tokens and with the escapes of [`string`], otherwise
/// unchanged. Invalid JSON can only come from protobuf; Go fails to encode such an object, here it becomes null,
/// which keeps the rest readable.
pub fn raw(json: &[u8], out: &mut Vec<u8>) {
    match Reader::new(json).whole() {
        Err(_) => out.extend_from_slice(b"null"),
        Ok(Seen { space: false, html: false, .. }) => out.extend_from_slice(json),
        Ok(_) => compact(json, out),
    }
}

/// Rewrites valid JSON as [`raw`] says.
fn compact(json: &[u8], out: &mut Vec<u8>) {
    out.reserve(json.len());
    let mut in_string = false;
    let mut at = 0;
    while let Some(&byte) = json.get(at) {
        at += 1;
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' if !in_string => {}
            b'<' | b'>' | b'&' => escape_hex(byte, out),
            0xE2 => match separator(&json[at - 1..]) {
                Some(escape) => {
                    out.extend_from_slice(escape);
                    at += 2;
                }
                None => out.push(byte),
            },
            b'\\' => {
                out.push(byte);
                if let Some(&escaped) = json.get(at) {
                    out.push(escaped);
                    at += 1;
                }
            }
            _ => {
                in_string ^= byte == b'"';
                out.push(byte);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn strings_are_escaped_as_go_does_with_html_escaping() {
        let cases = [
            ("", r#""""#),
            ("plain text that is longer than a chunk", r#""plain text that is longer than a chunk""#),
            ("a<b>&'c'", r#""a\u003cb\u003e\u0026'c'""#),
            ("say \"hi\" \\ /", r#""say \"hi\" \\ /""#),
            ("\u{8}\u{c}\n\r\t", r#""\b\f\n\r\t""#),
            ("\0\u{1}\u{b}\u{1f}\u{7f}", "\"\\u0000\\u0001\\u000b\\u001f\u{7f}\""),
            ("a\u{2028}b\u{2029}", r#""a\u2028b\u2029""#),
            // Other characters that start with the same byte.
            ("€…\u{2027}世界😀\u{fffd}", "\"€…\u{2027}世界😀\u{fffd}\""),
        ];
        for (text, want) in cases {
            assert_eq!(written(|out| string(text, out)), want);
        }
    }

    #[test]
    fn every_character_round_trips_through_serde_json() {
        let all: String = (0..=0x3000u32).chain([0xFFFD, 0x1_F600]).filter_map(char::from_u32).collect();
        let text = written(|out| string(&all, out));
        assert_eq!(serde_json::from_str::<String>(&text).unwrap(), all);
    }

    #[test]
    fn bytes_that_need_escaping_are_found_at_any_offset() {
        for length in 1..20 {
            for index in 0..length {
                for byte in 0..=255 {
                    for filler in [b'a', b'!', b'#', b'%', b'=', b'?', b'[', 0xC3] {
                        let mut bytes = vec![filler; length];
                        bytes[index] = byte;
                        let want = if CLEAN[usize::from(byte)] { None } else { Some(index) };
                        assert_eq!(next_unclean(&bytes), want, "{bytes:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn floats_are_printed_as_go_does() {
        let cases = [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.0, "1"),
            (1.5, "1.5"),
            (-2.25, "-2.25"),
            (0.1, "0.1"),
            (1e-6, "0.000001"),
            (9.99e-7, "9.99e-7"),
            (1e-7, "1e-7"),
            (1e20, "100000000000000000000"),
            (1e21, "1e+21"),
            (1.5e22, "1.5e+22"),
            (-1e100, "-1e+100"),
            (f64::MAX, "1.7976931348623157e+308"),
            (5e-324, "5e-324"),
            (9_007_199_254_740_993.0, "9007199254740992"),
            (f64::NAN, "null"),
            (f64::INFINITY, "null"),
        ];
        for (value, want) in cases {
            assert_eq!(written(|out| float(value, out)), want);
        }
    }

    #[test]
    fn integers_are_printed_up_to_their_limits() {
        for value in [0, 7, -7, 10, 1234567890, i64::MAX, i64::MIN] {
            assert_eq!(written(|out| int(value, out)), value.to_string());
        }
    }

    #[test]
    fn bytes_are_padded_base64() {
        for (bytes, want) in
            [(&b""[..], "\"\""), (b"a", "\"YQ==\""), (b"ab?", "\"YWI/\""), (b"abcd", "\"YWJjZA==\"")]
        {
            assert_eq!(written(|out| base64(bytes, out)), want);
        }
    }

    #[test]
    fn raw_json_is_compacted_and_escaped_but_otherwise_unchanged() {
        let cases = [
            (r#"{"b":1,"a":[1.50,"\u00e9\/"]}"#, r#"{"b":1,"a":[1.50,"\u00e9\/"]}"#),
            (" { \"b\" : \"x  y\\\" \" ,\n\t\"a\":[ ] }\r\n", r#"{"b":"x  y\" ","a":[]}"#),
            ("\"<a>&\u{2028}…\"", r#""\u003ca\u003e\u0026\u2028…""#),
            ("", "null"),
            ("{", "null"),
            ("{} {}", "null"),
            ("nothing", "null"),
        ];
        for (json, want) in cases {
            assert_eq!(written(|out| raw(json.as_bytes(), out)), want);
        }
    }
}
