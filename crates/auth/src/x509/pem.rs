//! PEM as Go's `encoding/pem` decodes it: text around blocks is passed over, and so are blocks that are not well formed.

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

const BEGIN: &[u8] = b"-----BEGIN ";
const END: &[u8] = b"\n-----END ";
const DASHES: &[u8] = b"-----";

/// As Go's `StdEncoding`: padding is required, and unused bits may be set.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::RequireCanonical)
        .with_decode_allow_trailing_bits(true),
);

/// One block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// `CERTIFICATE`, `PRIVATE KEY` ...
    pub label: String,
    pub has_headers: bool,
    pub contents: Vec<u8>,
}

/// Returns the blocks of a text.
pub fn blocks(text: &[u8]) -> impl Iterator<Item = Block> + '_ {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (block, after) = decode(rest)?;
        rest = after;
        Some(block)
    })
}

/// Returns the next block of a text, and the text after it.
pub fn decode(text: &[u8]) -> Option<(Block, &[u8])> {
    let mut start = 0;
    loop {
        // The first end decides; of several beginnings before it the last counts.
        let end = start + find(&text[start..], END)?;
        let trailer = end + END.len();
        match Parts::find(text, start, end) {
            Found::Block(parts) => {
                if let Some(found) = parts.block(text, end, trailer) {
                    return Some(found);
                }
                // Headers that reach beyond the end leave nothing to go on with.
                if parts.body > trailer {
                    return None;
                }
            }
            Found::Nothing => {}
            Found::EndOfText => return None,
        }
        start = trailer;
    }
}

/// The place of a block: its label, and the start of its body.
struct Parts<'t> {
    label: &'t [u8],
    has_headers: bool,
    body: usize,
}

enum Found<'t> {
    Block(Parts<'t>),
    Nothing,
    EndOfText,
}

impl<'t> Parts<'t> {
    fn find(text: &'t [u8], start: usize, end: usize) -> Found<'t> {
        let Some(begin) = find_last(&text[start..end], BEGIN).map(|found| start + found) else {
            return Found::Nothing;
        };
        if begin > start && text[begin - 1] != b'\n' {
            return Found::Nothing;
        }
        let first = begin + BEGIN.len();
        let (line, consumed) = line(&text[first..]);
        let Some(label) = line.strip_suffix(DASHES) else { return Found::Nothing };
        let (mut body, mut has_headers) = (first + consumed, false);
        loop {
            let Some(rest) = text.get(body..).filter(|rest| !rest.is_empty()) else {
                return Found::EndOfText;
            };
            let (header, consumed) = self::line(rest);
            if !header.contains(&b':') {
                return Found::Block(Parts { label, has_headers, body });
            }
            has_headers = true;
            body += consumed;
        }
    }

    fn block<'r>(&self, text: &'r [u8], end: usize, trailer: usize) -> Option<(Block, &'r [u8])> {
        if self.has_headers && end < self.body {
            return None;
        }
        let rest = text[trailer..].strip_prefix(self.label)?.strip_prefix(DASHES)?;
        let (after, consumed) = line(rest);
        if !after.is_empty() {
            return None;
        }
        let body = text.get(self.body..end).unwrap_or_default();
        let digits: Vec<u8> = body.iter().copied().filter(|byte| !b" \t\r\n".contains(byte)).collect();
        let contents = BASE64.decode(digits).ok()?;
        let label = String::from_utf8_lossy(self.label).into_owned();
        Some((Block { label, has_headers: self.has_headers, contents }, &rest[consumed..]))
    }
}

/// Returns the first line without its end and trailing blanks, and the bytes it takes with its end.
fn line(text: &[u8]) -> (&[u8], usize) {
    let (line, consumed) = match text.iter().position(|byte| *byte == b'\n') {
        Some(end) => (text[..end].strip_suffix(b"\r").unwrap_or(&text[..end]), end + 1),
        None => (text, text.len()),
    };
    let end = line.iter().rposition(|byte| !b" \t".contains(byte)).map_or(0, |last| last + 1);
    (&line[..end], consumed)
}

fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len()).position(|window| window == wanted)
}

fn find_last(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len()).rposition(|window| window == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(String, bool, Vec<u8>)> {
        blocks(text.as_bytes()).map(|block| (block.label, block.has_headers, block.contents)).collect()
    }

    #[test]
    fn blocks_are_found_among_other_text() {
        let one = "-----BEGIN A-----\nYWJj\n-----END A-----\n";
        let expected = ("A".to_owned(), false, b"abc".to_vec());
        for text in [
            one.to_owned(),
            format!("text\n{one}"),
            format!("{one}text"),
            one.replace('\n', "\r\n"),
            one.replace("YWJj", "YW\nJj"),
            one.trim_end().to_owned(),
            // A beginning without an end of its own.
            format!("-----BEGIN A-----\n{one}"),
            // A block with another end.
            format!("-----BEGIN A-----\nYWJj\n-----END B-----\n{one}"),
            // Contents that are not base 64.
            format!("-----BEGIN A-----\nYWJ\n-----END A-----\n{one}"),
        ] {
            assert_eq!(found(&text), [expected.clone()], "{text}");
        }
        assert_eq!(found(&format!("{one}between\n{one}")), [expected.clone(), expected]);
        for text in ["", "text", "-----BEGIN A-----\nYWJj\n", "x-----BEGIN A-----\nYWJj\n-----END A-----\n"] {
            assert!(found(text).is_empty(), "{text}");
        }
    }

    #[test]
    fn headers_are_noticed() {
        let text = "-----BEGIN A-----\nKey: value\n\nYWJj\n-----END A-----\n";
        assert_eq!(found(text), [("A".to_owned(), true, b"abc".to_vec())]);
        assert!(found("-----BEGIN A-----\nKey: value\n-----END A-----").is_empty());
        assert_eq!(found("-----BEGIN A-----\n-----END A-----\n"), [("A".to_owned(), false, Vec::new())]);
    }
}
