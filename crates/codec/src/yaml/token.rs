//! Tokens between the scanner and the parser.

use std::borrow::Cow;

/// Position in the text, counted in characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) index: usize,
    pub(super) line: usize,
    pub(super) column: isize,
}

#[derive(Debug)]
pub(super) struct Token<'a> {
    pub(super) kind: TokenKind<'a>,
    pub(super) start: Mark,
    pub(super) end: Mark,
}

#[derive(Debug, PartialEq)]
pub(super) enum TokenKind<'a> {
    StreamStart,
    StreamEnd,
    /// `%YAML 1.1`
    Version(u8, u8),
    /// `%TAG ! prefix`
    TagDirective(String, String),
    DocumentStart,
    DocumentEnd,
    /// Increase of the indentation, at the first `-`.
    BlockSequenceStart,
    /// Increase of the indentation, at the first key.
    BlockMappingStart,
    /// Decrease of the indentation.
    BlockEnd,
    FlowSequenceStart,
    FlowSequenceEnd,
    FlowMappingStart,
    FlowMappingEnd,
    BlockEntry,
    FlowEntry,
    /// `?`, or inserted before a simple key.
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
