//! Parses tokens into the nodes of a document.
//!
//! An LL(1) parser with an explicit stack of states, so nesting uses heap memory instead of the stack.

use std::borrow::Cow;
use std::collections::HashMap;

use super::reader::Input;
use super::scanner::{Scanner, at_line};
use super::token::{Mark, TokenKind};
use crate::Error;

/// Node, identified by its index in [`Document::nodes`].
#[derive(Debug)]
pub(super) struct Node<'a> {
    /// Starts at 0.
    pub(super) line: usize,
    pub(super) content: Content<'a>,
}

#[derive(Debug)]
pub(super) enum Content<'a> {
    Alias {
        name: &'a str,
        target: usize,
    },
    Scalar {
        tag: String,
        value: Cow<'a, str>,
        /// Whether it is plain and untagged, so that its text determines its type.
        implicit: bool,
    },
    Sequence(Vec<usize>),
    /// Alternating keys and values.
    Mapping(Vec<usize>),
}

#[derive(Debug)]
pub(super) struct Document<'a> {
    pub(super) nodes: Vec<Node<'a>>,
}

/// Parses the first document of a stream, whose root is the first node; `None` if there is none. The rest is ignored.
pub(super) fn parse<'a>(input: &'a Input<'a>) -> Result<Option<Document<'a>>, Error> {
    let mut parser = Parser::new(input);
    if !parser.start_document()? {
        return Ok(None);
    }
    let mut nodes: Vec<Node<'a>> = Vec::new();
    let mut anchors: HashMap<&'a str, usize> = HashMap::new();
    let mut open: Vec<usize> = Vec::new();
    loop {
        let event = parser.next()?;
        let position = nodes.len();
        let (anchor, content) = match event.content {
            EventContent::End => {
                open.pop();
                if open.is_empty() {
                    break;
                }
                continue;
            }
            EventContent::Alias(name) => match anchors.get(name) {
                Some(target) => (None, Content::Alias { name, target: *target }),
                None => return Err(Error::new(format!("yaml: unknown anchor '{name}' referenced"))),
            },
            EventContent::Scalar { anchor, tag, value, implicit } => {
                (anchor, Content::Scalar { tag, value, implicit })
            }
            EventContent::Sequence { anchor } => (anchor, Content::Sequence(Vec::new())),
            EventContent::Mapping { anchor } => (anchor, Content::Mapping(Vec::new())),
        };
        if let Some(anchor) = anchor {
            anchors.insert(anchor, position);
        }
        if let Some(parent) = open.last() {
            match &mut nodes[*parent].content {
                Content::Sequence(children) | Content::Mapping(children) => children.push(position),
                Content::Alias { .. } | Content::Scalar { .. } => {}
            }
        }
        let leaf = matches!(content, Content::Alias { .. } | Content::Scalar { .. });
        nodes.push(Node { line: event.line, content });
        if !leaf {
            open.push(position);
        } else if open.is_empty() {
            break;
        }
    }
    // The token after the document is scanned to check that it ends.
    parser.scanner.peek()?;
    Ok(Some(Document { nodes }))
}

struct Event<'a> {
    line: usize,
    content: EventContent<'a>,
}

enum EventContent<'a> {
    Alias(&'a str),
    Scalar { anchor: Option<&'a str>, tag: String, value: Cow<'a, str>, implicit: bool },
    Sequence { anchor: Option<&'a str> },
    Mapping { anchor: Option<&'a str> },
    End,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    DocumentContent,
    BlockNode,
    DocumentEnd,
    BlockSequenceFirst,
    BlockSequenceEntry,
    IndentlessSequenceEntry,
    BlockMappingFirst,
    BlockMappingKey,
    BlockMappingValue,
    FlowSequenceFirst,
    FlowSequenceEntry,
    FlowPairKey,
    FlowPairValue,
    FlowPairEnd,
    FlowMappingFirst,
    FlowMappingKey,
    FlowMappingValue,
    FlowMappingEmptyValue,
}

struct Parser<'a> {
    scanner: Scanner<'a>,
    state: State,
    states: Vec<State>,
    /// Start marks of the open collections.
    marks: Vec<Mark>,
    tags: Vec<(String, String)>,
}

type Parsed<'a> = Result<Event<'a>, Error>;

impl<'a> Parser<'a> {
    fn new(input: &'a Input<'a>) -> Parser<'a> {
        Parser {
            scanner: Scanner::new(input),
            state: State::BlockNode,
            states: Vec::new(),
            marks: Vec::new(),
            tags: Vec::new(),
        }
    }

    /// Starts the document, if there is one.
    fn start_document(&mut self) -> Result<bool, Error> {
        self.scanner.take()?;
        self.states.push(State::DocumentEnd);
        match self.scanner.peek()?.kind {
            TokenKind::StreamEnd => return Ok(false),
            TokenKind::Version(..) | TokenKind::TagDirective(..) | TokenKind::DocumentStart => {}
            _ => {
                self.tags = default_tags();
                return Ok(true);
            }
        }
        self.directives()?;
        let token = self.scanner.peek()?;
        if token.kind != TokenKind::DocumentStart {
            return error(token.start, token.start, "did not find expected <document start>");
        }
        self.scanner.take()?;
        self.state = State::DocumentContent;
        Ok(true)
    }

    fn directives(&mut self) -> Result<(), Error> {
        let mut version = false;
        loop {
            let token = self.scanner.peek()?;
            let start = token.start;
            match &token.kind {
                TokenKind::Version(..) if version => {
                    return error(start, start, "found duplicate %YAML directive");
                }
                TokenKind::Version(1, 1) => version = true,
                TokenKind::Version(..) => return error(start, start, "found incompatible YAML document"),
                TokenKind::TagDirective(handle, prefix) => {
                    if self.tags.iter().any(|(known, _)| known == handle) {
                        return error(start, start, "found duplicate %TAG directive");
                    }
                    self.tags.push((handle.clone(), prefix.clone()));
                }
                _ => break,
            }
            self.scanner.take()?;
        }
        // The document's own come first and take precedence.
        self.tags.extend(default_tags());
        Ok(())
    }

    fn next(&mut self) -> Parsed<'a> {
        pintle_work::check();
        match self.state {
            State::DocumentContent => self.document_content(),
            State::BlockNode => self.node(true, false),
            State::BlockSequenceFirst => {
                self.open_collection()?;
                self.block_sequence_entry()
            }
            State::BlockSequenceEntry => self.block_sequence_entry(),
            State::IndentlessSequenceEntry => self.indentless_sequence_entry(),
            State::BlockMappingFirst => {
                self.open_collection()?;
                self.block_mapping_key()
            }
            State::BlockMappingKey => self.block_mapping_key(),
            State::BlockMappingValue => self.block_mapping_value(),
            State::FlowSequenceFirst => {
                self.open_collection()?;
                self.flow_sequence_entry(true)
            }
            State::FlowSequenceEntry => self.flow_sequence_entry(false),
            State::FlowPairKey => self.flow_pair_key(),
            State::FlowPairValue => self.flow_pair_value(),
            State::FlowPairEnd => {
                let line = self.scanner.peek()?.start.line;
                self.state = State::FlowSequenceEntry;
                Ok(Event { line, content: EventContent::End })
            }
            State::FlowMappingFirst => {
                self.open_collection()?;
                self.flow_mapping_key(true)
            }
            State::FlowMappingKey => self.flow_mapping_key(false),
            State::FlowMappingValue => self.flow_mapping_value(),
            State::FlowMappingEmptyValue => {
                let start = self.scanner.peek()?.start;
                self.state = State::FlowMappingKey;
                Ok(empty(start))
            }
            State::DocumentEnd => Err(Error::new("yaml: unknown problem parsing YAML content")),
        }
    }

    fn pop_state(&mut self) {
        self.state = self.states.pop().unwrap_or(State::DocumentEnd);
    }

    fn open_collection(&mut self) -> Result<(), Error> {
        let token = self.scanner.take()?;
        self.marks.push(token.start);
        Ok(())
    }

    fn close_collection(&mut self) -> Parsed<'a> {
        self.pop_state();
        self.marks.pop();
        let token = self.scanner.take()?;
        Ok(Event { line: token.start.line, content: EventContent::End })
    }

    fn collection_error(&mut self, problem: &str) -> Parsed<'a> {
        let context = self.marks.pop().unwrap_or_default();
        error(context, self.scanner.peek()?.start, problem)
    }

    /// Parses a node and continues with `state`.
    fn node_then(&mut self, state: State, block: bool, indentless: bool) -> Parsed<'a> {
        self.states.push(state);
        self.node(block, indentless)
    }

    /// Emits an empty scalar and continues with `state`.
    fn empty_then(&mut self, state: State, mark: Mark) -> Parsed<'a> {
        self.state = state;
        Ok(empty(mark))
    }

    fn document_content(&mut self) -> Parsed<'a> {
        let token = self.scanner.peek()?;
        match token.kind {
            TokenKind::Version(..)
            | TokenKind::TagDirective(..)
            | TokenKind::DocumentStart
            | TokenKind::DocumentEnd
            | TokenKind::StreamEnd => {
                let start = token.start;
                self.pop_state();
                Ok(empty(start))
            }
            _ => self.node(true, false),
        }
    }

    fn node(&mut self, block: bool, indentless: bool) -> Parsed<'a> {
        let token = self.scanner.peek()?;
        let start = token.start;
        if let TokenKind::Alias(name) = token.kind {
            self.scanner.take()?;
            self.pop_state();
            return Ok(Event { line: start.line, content: EventContent::Alias(name) });
        }
        let (mut anchor, mut tag) = (None, String::new());
        let mut tagged = false;
        // An anchor and a tag, in either order.
        for _ in 0..2 {
            match self.scanner.peek()?.kind {
                TokenKind::Anchor(name) if anchor.is_none() => {
                    anchor = Some(name);
                    self.scanner.take()?;
                }
                TokenKind::Tag(..) if !tagged => {
                    let token = self.scanner.take()?;
                    if let TokenKind::Tag(handle, suffix) = token.kind {
                        // Resolved immediately, though a following scanner error takes precedence.
                        self.scanner.peek()?;
                        tag = self.resolve_tag(&handle, suffix, start, token.start)?;
                    }
                    tagged = true;
                }
                _ => break,
            }
        }
        let line = start.line;
        let token = self.scanner.peek()?;
        let (next, token_start) = (&token.kind, token.start);
        let (state, content) = match next {
            TokenKind::BlockEntry if indentless => {
                (State::IndentlessSequenceEntry, EventContent::Sequence { anchor })
            }
            TokenKind::Scalar { .. } => {
                self.pop_state();
                let TokenKind::Scalar { value, plain } = self.scanner.take()?.kind else {
                    return error(start, token_start, "did not find expected node content");
                };
                let implicit = (tag.is_empty() && plain) || tag == "!";
                return Ok(Event { line, content: EventContent::Scalar { anchor, tag, value, implicit } });
            }
            TokenKind::FlowSequenceStart => (State::FlowSequenceFirst, EventContent::Sequence { anchor }),
            TokenKind::FlowMappingStart => (State::FlowMappingFirst, EventContent::Mapping { anchor }),
            TokenKind::BlockSequenceStart if block => {
                (State::BlockSequenceFirst, EventContent::Sequence { anchor })
            }
            TokenKind::BlockMappingStart if block => {
                (State::BlockMappingFirst, EventContent::Mapping { anchor })
            }
            _ if anchor.is_some() || !tag.is_empty() => {
                self.pop_state();
                let implicit = tag.is_empty();
                let content = EventContent::Scalar { anchor, tag, value: Cow::Borrowed(""), implicit };
                return Ok(Event { line, content });
            }
            _ => return error(start, token_start, "did not find expected node content"),
        };
        self.state = state;
        Ok(Event { line, content })
    }

    fn resolve_tag(&self, handle: &str, suffix: String, start: Mark, mark: Mark) -> Result<String, Error> {
        if handle.is_empty() {
            return Ok(suffix);
        }
        match self.tags.iter().find(|(known, _)| known == handle) {
            Some((_, prefix)) if !(prefix.is_empty() && suffix.is_empty()) => Ok(format!("{prefix}{suffix}")),
            _ => error(start, mark, "found undefined tag handle"),
        }
    }

    fn block_sequence_entry(&mut self) -> Parsed<'a> {
        match self.scanner.peek()?.kind {
            TokenKind::BlockEntry => {
                let mark = self.scanner.take()?.end;
                match self.scanner.peek()?.kind {
                    TokenKind::BlockEntry | TokenKind::BlockEnd => {
                        self.empty_then(State::BlockSequenceEntry, mark)
                    }
                    _ => self.node_then(State::BlockSequenceEntry, true, false),
                }
            }
            TokenKind::BlockEnd => self.close_collection(),
            _ => self.collection_error("did not find expected '-' indicator"),
        }
    }

    fn indentless_sequence_entry(&mut self) -> Parsed<'a> {
        let token = self.scanner.peek()?;
        if token.kind != TokenKind::BlockEntry {
            let line = token.start.line;
            self.pop_state();
            return Ok(Event { line, content: EventContent::End });
        }
        let mark = self.scanner.take()?.end;
        match self.scanner.peek()?.kind {
            TokenKind::BlockEntry | TokenKind::Key | TokenKind::Value | TokenKind::BlockEnd => {
                self.empty_then(State::IndentlessSequenceEntry, mark)
            }
            _ => self.node_then(State::IndentlessSequenceEntry, true, false),
        }
    }

    fn block_mapping_key(&mut self) -> Parsed<'a> {
        match self.scanner.peek()?.kind {
            TokenKind::Key => {
                let mark = self.scanner.take()?.end;
                match self.scanner.peek()?.kind {
                    TokenKind::Key | TokenKind::Value | TokenKind::BlockEnd => {
                        self.empty_then(State::BlockMappingValue, mark)
                    }
                    _ => self.node_then(State::BlockMappingValue, true, true),
                }
            }
            TokenKind::BlockEnd => self.close_collection(),
            _ => self.collection_error("did not find expected key"),
        }
    }

    fn block_mapping_value(&mut self) -> Parsed<'a> {
        let token = self.scanner.peek()?;
        if token.kind != TokenKind::Value {
            let mark = token.start;
            return self.empty_then(State::BlockMappingKey, mark);
        }
        let mark = self.scanner.take()?.end;
        match self.scanner.peek()?.kind {
            TokenKind::Key | TokenKind::Value | TokenKind::BlockEnd => {
                self.empty_then(State::BlockMappingKey, mark)
            }
            _ => self.node_then(State::BlockMappingKey, true, true),
        }
    }

    fn flow_sequence_entry(&mut self, first: bool) -> Parsed<'a> {
        if !first && !self.comma(&TokenKind::FlowSequenceEnd)? {
            return self.collection_error("did not find expected ',' or ']'");
        }
        let token = self.scanner.peek()?;
        match token.kind {
            TokenKind::FlowSequenceEnd => self.close_collection(),
            // `[a: b]` is a list of one pair.
            TokenKind::Key => {
                let line = self.scanner.take()?.start.line;
                self.state = State::FlowPairKey;
                Ok(Event { line, content: EventContent::Mapping { anchor: None } })
            }
            _ => self.node_then(State::FlowSequenceEntry, false, false),
        }
    }

    /// Consumes the comma between entries; false if neither a comma nor the end follows.
    fn comma(&mut self, end: &TokenKind<'_>) -> Result<bool, Error> {
        let kind = &self.scanner.peek()?.kind;
        if kind == end {
            return Ok(true);
        }
        let found = *kind == TokenKind::FlowEntry;
        if found {
            self.scanner.take()?;
        }
        Ok(found)
    }

    fn flow_pair_key(&mut self) -> Parsed<'a> {
        match self.scanner.peek()?.kind {
            TokenKind::Value | TokenKind::FlowEntry | TokenKind::FlowSequenceEnd => {
                let mark = self.scanner.take()?.end;
                self.empty_then(State::FlowPairValue, mark)
            }
            _ => self.node_then(State::FlowPairValue, false, false),
        }
    }

    fn flow_pair_value(&mut self) -> Parsed<'a> {
        let token = self.scanner.peek()?;
        let mark = token.start;
        if token.kind == TokenKind::Value {
            self.scanner.take()?;
            if !matches!(self.scanner.peek()?.kind, TokenKind::FlowEntry | TokenKind::FlowSequenceEnd) {
                return self.node_then(State::FlowPairEnd, false, false);
            }
        }
        self.empty_then(State::FlowPairEnd, mark)
    }

    fn flow_mapping_key(&mut self, first: bool) -> Parsed<'a> {
        if !first && !self.comma(&TokenKind::FlowMappingEnd)? {
            return self.collection_error("did not find expected ',' or '}'");
        }
        match self.scanner.peek()?.kind {
            TokenKind::FlowMappingEnd => self.close_collection(),
            TokenKind::Key => {
                self.scanner.take()?;
                let token = self.scanner.peek()?;
                match token.kind {
                    TokenKind::Value | TokenKind::FlowEntry | TokenKind::FlowMappingEnd => {
                        let mark = token.start;
                        self.empty_then(State::FlowMappingValue, mark)
                    }
                    _ => self.node_then(State::FlowMappingValue, false, false),
                }
            }
            _ => self.node_then(State::FlowMappingEmptyValue, false, false),
        }
    }

    fn flow_mapping_value(&mut self) -> Parsed<'a> {
        if self.scanner.peek()?.kind == TokenKind::Value {
            self.scanner.take()?;
            if !matches!(self.scanner.peek()?.kind, TokenKind::FlowEntry | TokenKind::FlowMappingEnd) {
                return self.node_then(State::FlowMappingKey, false, false);
            }
        }
        let mark = self.scanner.peek()?.start;
        self.empty_then(State::FlowMappingKey, mark)
    }
}

fn default_tags() -> Vec<(String, String)> {
    vec![("!".into(), "!".into()), ("!!".into(), "tag:yaml.org,2002:".into())]
}

fn empty<'a>(mark: Mark) -> Event<'a> {
    let content =
        EventContent::Scalar { anchor: None, tag: String::new(), value: Cow::Borrowed(""), implicit: true };
    Event { line: mark.line, content }
}

/// Returns an error at `mark`, in a construct that started at `context`. The reference does not count the line that
/// it is on.
fn error<T>(context: Mark, mark: Mark, problem: &str) -> Result<T, Error> {
    Err(at_line(if mark.line != 0 { mark.line } else { context.line }, problem))
}
