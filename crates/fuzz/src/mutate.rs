//! How inputs are changed: bytes, stretches, pieces of the language, and nesting.

use rand::Rng;
use rand::rngs::StdRng;

/// Bytes at which parsers turn.
const TURNS: &[u8] = b"\0\x01\x7f\x80\xbf\xc0\xed\xff\"\\{}[]:,'#&*!|>-%@ \t\r\n019eE+._/";

/// A changed copy of an input of the corpus, no longer than `size`.
pub(crate) fn mutate(
    random: &mut StdRng,
    corpus: &[Vec<u8>],
    base: usize,
    tokens: &[&str],
    size: usize,
) -> Vec<u8> {
    let mut bytes = corpus[base].clone();
    for _ in 0..1 << random.random_range(0..4u32) {
        change(random, corpus, &mut bytes, tokens);
        bytes.truncate(size);
    }
    bytes
}

fn change(random: &mut StdRng, corpus: &[Vec<u8>], bytes: &mut Vec<u8>, tokens: &[&str]) {
    let at = random.random_range(0..=bytes.len());
    let stretch = stretch(random, bytes.len());
    match random.random_range(0..11u32) {
        0 if at < bytes.len() => bytes[at] ^= 1 << random.random_range(0..8u32),
        1 if at < bytes.len() => bytes[at] = random.random(),
        2 if at < bytes.len() => bytes[at] = TURNS[random.random_range(0..TURNS.len())],
        3 => bytes.insert(at, TURNS[random.random_range(0..TURNS.len())]),
        4 => drop(bytes.drain(stretch)),
        5 => {
            let copy = bytes[stretch].to_vec();
            insert(bytes, at, &copy);
        }
        6 => {
            let other = &corpus[random.random_range(0..corpus.len())];
            let stretch = self::stretch(random, other.len());
            insert(bytes, at, &other[stretch]);
        }
        7 | 8 if !tokens.is_empty() => {
            insert(bytes, at, tokens[random.random_range(0..tokens.len())].as_bytes());
        }
        9 => {
            // The same thing many times over: nesting, long numbers, long strings.
            let copy = bytes[stretch].to_vec();
            let times = 1usize << random.random_range(0..12u32);
            insert(bytes, at, &copy[..copy.len().min(16)].repeat(times));
        }
        _ => bytes.truncate(at),
    }
}

fn insert(bytes: &mut Vec<u8>, at: usize, piece: &[u8]) {
    bytes.splice(at..at, piece.iter().copied());
}

/// A stretch of something that long, mostly a short one.
fn stretch(random: &mut StdRng, length: usize) -> std::ops::Range<usize> {
    let start = random.random_range(0..=length);
    let most = if random.random_range(0..4u32) == 0 { length } else { 16 };
    let end = start + random.random_range(0..=most.min(length - start));
    start..end
}
