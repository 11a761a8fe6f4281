//! Warnings for a client, bounded to what a response can contain.
//!
//! `Warning` headers of one response have room for [`MOST`] characters. If the texts exceed that in total, each is
//! truncated to [`MOST_OF_EACH`], and no more are added once the truncated ones fill the room. An object can cause
//! millions of warnings (every pair of equal ports is one), so producers stop at [`Warnings::is_full`].

use std::collections::HashSet;

/// Maximal number of characters of all warnings of one response.
pub const MOST: usize = 4096;
/// Number of characters to which each warning is truncated if there are too many.
pub const MOST_OF_EACH: usize = 256;

/// Distinct texts in the order in which they were added.
///
/// Dropped texts would not be sent whatever the other warnings of the response are: those can only leave less room.
#[derive(Debug, Default)]
pub struct Warnings {
    texts: Vec<String>,
    seen: HashSet<String>,
    /// Characters of the texts that fit whole, and of those that fit when truncated.
    whole: usize,
    cut: usize,
}

impl Warnings {
    pub fn new() -> Warnings {
        Warnings::default()
    }

    /// Returns whether further texts would not be sent.
    pub fn is_full(&self) -> bool {
        self.whole > MOST && self.cut >= MOST
    }

    pub fn push(&mut self, text: impl Into<String>) {
        let text = text.into();
        if self.is_full() || text.is_empty() || self.seen.contains(&text) {
            return;
        }
        let shown = cut(&text);
        // A control character that is truncated away excludes only the whole text.
        if !is_sendable(shown) {
            return;
        }
        self.cut += shown.chars().count();
        if is_sendable(&text[shown.len()..]) {
            self.whole += text.chars().count();
        }
        self.seen.insert(text.clone());
        self.texts.push(text);
    }

    pub fn into_texts(self) -> Vec<String> {
        self.texts
    }
}

/// Takes texts only until the warnings are full, so that an iterator produces no more than are sent.
impl Extend<String> for Warnings {
    fn extend<I: IntoIterator<Item = String>>(&mut self, texts: I) {
        if self.is_full() {
            return;
        }
        for text in texts {
            self.push(text);
            if self.is_full() {
                return;
            }
        }
    }
}

/// Returns the part of a text that is sent if there are too many.
pub fn cut(text: &str) -> &str {
    text.char_indices().nth(MOST_OF_EACH).map_or(text, |(end, _)| &text[..end])
}

/// Returns whether a header can contain the text. Control characters would end or break it.
pub fn is_sendable(text: &str) -> bool {
    !text.chars().any(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(texts: impl IntoIterator<Item = String>) -> Vec<String> {
        let mut warnings = Warnings::new();
        warnings.extend(texts);
        warnings.into_texts()
    }

    #[test]
    fn no_more_texts_are_produced_than_are_sent() {
        let mut made = 0;
        let kept = of(std::iter::repeat_with(|| {
            made += 1;
            format!("{made:064}")
        }));
        assert_eq!((kept.len(), made), (65, 65), "the one that fits no more makes all be cut");
    }

    #[test]
    fn long_texts_count_as_truncated() {
        let long = |number: usize| format!("{number:0400}");
        assert_eq!(of((0..10).map(long)).len(), 10, "all fit whole");
        assert_eq!(of((0..1000).map(long)).len(), 16, "of 256 characters each");
    }

    #[test]
    fn duplicates_and_texts_no_header_can_contain_take_no_room() {
        let mut texts = vec!["a\nb".to_owned(); 10_000];
        texts.extend(vec!["x".repeat(100); 10_000]);
        texts.push("y".into());
        assert_eq!(of(texts), ["x".repeat(100), "y".into()]);
    }

    #[test]
    fn a_truncated_control_character_does_not_drop_a_text() {
        let odd = format!("{}\n", "x".repeat(MOST_OF_EACH));
        assert_eq!(of([odd.clone()]), [odd]);
    }
}
