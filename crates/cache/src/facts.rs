//! The fields and labels that selectors match, in one allocation: a hundred thousand objects have millions of short texts.
//!
//! ```text
//! [where labels begin] [field]* ([label key] [label value])*      a text is its length and then itself
//! ```
//!
//! Lengths are digits of six bits, lowest first, each in a character below 128; all but the last have the bit above set. So
//! the whole is a text too, and its parts are slices.

use std::collections::BTreeMap;

use bytes::Bytes;
use smol_str::SmolStr;

use crate::entry::Read;

/// The parts of [`Read`] that are texts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Texts(Box<str>);

impl Texts {
    pub(crate) fn new(read: &Read) -> Texts {
        let mut fields = String::new();
        read.fields.iter().for_each(|field| push(&mut fields, field));
        let mut all = String::new();
        push_length(&mut all, fields.len());
        all.push_str(&fields);
        let mut push_label = |(key, value): &(SmolStr, SmolStr)| {
            push(&mut all, key);
            push(&mut all, value);
        };
        if read.labels.is_sorted_by(|(one, _), (other, _)| one < other) {
            read.labels.iter().for_each(push_label);
        } else {
            // Of labels with the same key the last one counts, as where the object is decoded.
            let distinct: BTreeMap<&SmolStr, usize> =
                read.labels.iter().enumerate().map(|(place, (key, _))| (key, place)).collect();
            distinct.values().for_each(|place| push_label(&read.labels[*place]));
        }
        Texts(all.into())
    }

    fn fields(&self) -> Parts<'_> {
        let (length, rest) = length(&self.0);
        Parts(rest.get(..length).unwrap_or_default())
    }

    fn labels(&self) -> Parts<'_> {
        let (length, rest) = length(&self.0);
        Parts(rest.get(length..).unwrap_or_default())
    }

    pub(crate) fn field(&self, place: usize) -> Option<&str> {
        self.fields().nth(place)
    }
}

fn push(into: &mut String, text: &str) {
    push_length(into, text.len());
    into.push_str(text);
}

fn push_length(into: &mut String, mut length: usize) {
    while length >= 64 {
        into.push(char::from(64 | (length % 64) as u8));
        length /= 64;
    }
    into.push(char::from(length as u8));
}

/// A length, and what is behind it.
fn length(text: &str) -> (usize, &str) {
    let (mut length, mut shift) = (0, 0);
    for (place, byte) in text.bytes().enumerate() {
        length |= usize::from(byte % 64) << shift;
        shift += 6;
        if byte < 64 {
            return (length, &text[place + 1..]);
        }
    }
    (0, "")
}

#[derive(Clone)]
struct Parts<'a>(&'a str);

impl<'a> Iterator for Parts<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        if self.0.is_empty() {
            return None;
        }
        let (length, rest) = length(self.0);
        let (part, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some(part)
    }
}

/// An object's value, fields and labels, as read from the store.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    pub(crate) value: &'a Bytes,
    pub(crate) texts: &'a Texts,
}

impl<'a> Facts<'a> {
    /// The value in normal form.
    pub fn value(self) -> &'a Bytes {
        self.value
    }

    /// The value of a selectable field, by its place in the kind's own order.
    pub fn field(self, place: usize) -> Option<&'a str> {
        self.texts.field(place)
    }

    /// Keys and values, sorted by key, which is there once.
    pub fn labels(self) -> impl Iterator<Item = (&'a str, &'a str)> + Clone + use<'a> {
        Labels(self.texts.labels())
    }

    pub fn label(self, key: &str) -> Option<&'a str> {
        self.labels().find(|(known, _)| *known == key).map(|(_, value)| value)
    }
}

#[derive(Clone)]
struct Labels<'a>(Parts<'a>);

impl<'a> Iterator for Labels<'a> {
    type Item = (&'a str, &'a str);

    fn next(&mut self) -> Option<(&'a str, &'a str)> {
        self.0.next().zip(self.0.next())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn facts_are_read_as_they_were_written(
            fields in prop::collection::vec("\\PC{0,200}", 0..8),
            labels in prop::collection::vec(("[a-z./]{1,80}", "\\PC{0,70}"), 0..8),
        ) {
            let pair = |(key, value): &(String, String)| (key.as_str().into(), value.as_str().into());
            let read = Read {
                value: Bytes::new(),
                fields: fields.iter().map(|field| field.as_str().into()).collect(),
                labels: labels.iter().map(pair).collect(),
            };
            let texts = Texts::new(&read);
            let facts = Facts { value: &read.value, texts: &texts };
            for (place, field) in fields.iter().enumerate() {
                prop_assert_eq!(facts.field(place), Some(field.as_str()));
            }
            prop_assert_eq!(facts.field(fields.len()), None);
            let found: Vec<_> = facts.labels().collect();
            let expected: BTreeMap<_, _> =
                labels.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
            prop_assert_eq!(found, expected.into_iter().collect::<Vec<_>>());
            if let Some((key, value)) = labels.last() {
                prop_assert_eq!(facts.label(key), Some(value.as_str()));
            }
            prop_assert_eq!(facts.label("nobody has this"), None);
        }
    }

    #[test]
    fn a_long_text_has_a_longer_length() {
        for length in [0, 1, 63, 64, 65, 4095, 4096, 300_000] {
            let read = Read { fields: Box::new(["x".repeat(length).into(), "y".into()]), ..Read::default() };
            let texts = Texts::new(&read);
            assert_eq!(texts.field(0).map(str::len), Some(length));
            assert_eq!(texts.field(1), Some("y"));
        }
    }
}
