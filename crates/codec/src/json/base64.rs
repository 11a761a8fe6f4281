//! Base64 decoding as Go's `StdEncoding` does it: line breaks are ignored, padding is required, and errors name the
//! offset.

use crate::Error;

/// Decodes base64.
pub(crate) fn decode(text: &[u8]) -> Result<Vec<u8>, Error> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let mut at = 0;
    loop {
        let Some(quantum) = quantum(text, &mut at).map_err(corrupt)? else { return Ok(out) };
        out.extend_from_slice(&quantum.bytes[..quantum.length]);
        if quantum.length < 3 {
            return Ok(out);
        }
    }
}

fn corrupt(at: usize) -> Error {
    Error::new(format!("illegal base64 data at input byte {at}"))
}

struct Quantum {
    bytes: [u8; 3],
    length: usize,
}

/// Decodes the next four characters, or fewer with padding; `None` at the end. The error is an offset.
fn quantum(text: &[u8], at: &mut usize) -> Result<Option<Quantum>, usize> {
    let mut sextets = [0u8; 4];
    let mut found = 0;
    while found < 4 {
        let Some(&byte) = text.get(*at) else {
            return if found == 0 { Ok(None) } else { Err(*at - found) };
        };
        *at += 1;
        match byte {
            b'\r' | b'\n' => {}
            b'=' => {
                padding(text, at, found)?;
                break;
            }
            _ => {
                sextets[found] = sextet(byte).ok_or(*at - 1)?;
                found += 1;
            }
        }
    }
    let [a, b, c, d] = sextets;
    let bytes = [a << 2 | b >> 4, b << 4 | c >> 2, c << 6 | d];
    Ok(Some(Quantum { bytes, length: found - 1 }))
}

/// Consumes the padding after its first character: a second one if needed, and then the end.
fn padding(text: &[u8], at: &mut usize, found: usize) -> Result<(), usize> {
    match found {
        0 | 1 => return Err(*at - 1),
        2 => {
            skip_line_ends(text, at);
            match text.get(*at) {
                None => return Err(text.len()),
                Some(b'=') => *at += 1,
                Some(_) => return Err(*at - 1),
            }
        }
        _ => {}
    }
    skip_line_ends(text, at);
    if *at < text.len() { Err(*at) } else { Ok(()) }
}

fn skip_line_ends(text: &[u8], at: &mut usize) {
    while let Some(b'\r' | b'\n') = text.get(*at) {
        *at += 1;
    }
}

fn sextet(byte: u8) -> Option<u8> {
    match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_decoded_and_rejected_as_in_go() {
        let cases: [(&str, Result<&[u8], usize>); 20] = [
            ("", Ok(b"")),
            ("YQ==", Ok(b"a")),
            ("YWI=", Ok(b"ab")),
            ("YWJj", Ok(b"abc")),
            ("YW\nJj\r\nZA=\n=\n", Ok(b"abcd")),
            ("\n", Ok(b"")),
            // Trailing bits need not be zero.
            ("YR==", Ok(b"a")),
            ("YQ", Err(0)),
            ("YWJjY", Err(4)),
            ("YWJjYQ", Err(4)),
            ("YQ=", Err(3)),
            ("YQ=a", Err(2)),
            ("YQ==a", Err(4)),
            ("YWI=YWI=", Err(4)),
            ("=", Err(0)),
            ("Y===", Err(1)),
            ("====", Err(0)),
            ("Y!==", Err(1)),
            ("YWJj ", Err(4)),
            ("YWJ-", Err(3)),
        ];
        for (text, want) in cases {
            assert_eq!(decode(text.as_bytes()), want.map(<[u8]>::to_vec).map_err(corrupt), "{text:?}");
        }
    }
}
