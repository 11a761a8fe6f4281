//! What the scanner makes of the text and the parser of tokens.

use std::borrow::Cow;

/// A place in the text, counted in characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) index: usize,
    pub(super) line: usize,
    pub(super) column: isize,
}

#[derive(Debug)]
pub(super) struct Token<'a> {
    pub(super) kind: Kind<'a>,
    pub(super) start: Mark,
    pub(super) end: Mark,
}

#[derive(Debug, PartialEq)]
pub(super) enum Kind<'a> {
    StreamStart,
    StreamEnd,
    /// `%YAML 1.1`
    Version(u8, u8),
    /// `%TAG ! prefix`
    TagDirective(String, String),
    DocumentStart,
    DocumentEnd,
    /// The indentation grows, at the first `-`.
    BlockSequenceStart,
    /// The indentation grows, at the first key.
    BlockMappingStart,
    /// The indentation shrinks.
    BlockEnd,
    FlowSequenceStart,
    FlowSequenceEnd,
    FlowMappingStart,
    FlowMappingEnd,
    BlockEntry,
    FlowEntry,
    /// `?`, or put in before a key that has none.
    Key,
    Value,
    Alias(&'a str),
    Anchor(&'a str),
    /// Handle and suffix.
    Tag(String, String),
    Scalar {
        value: Cow<'a, str>,
        plain: bool,
    },
}
