//! Splits text into tokens.
//!
//! Two features of YAML make the scanner more than a loop. *Indentation* opens and closes block collections, so
//! tokens without characters are queued. And a *simple key* is recognized only at its `:`, so the position of every
//! possible one is recorded, and a `Key` token is inserted there afterwards:
//!
//! ```text
//! a: [b]      BlockMappingStart Key Scalar(a) Value FlowSequenceStart Scalar(b) FlowSequenceEnd BlockEnd
//! ^ possible simple key until the colon, which must come on the same line and within 1,024 characters
//! ```
//!
//! Accepted input and error positions follow the reference's library, also where it is more lenient than YAML 1.1.

use std::collections::{HashMap, VecDeque};

use super::reader::Input;
use super::token::{Mark, Token, TokenKind};
use crate::Error;

/// Maximal nesting of flow collections, and of block collections.
const MAX_LEVELS: usize = 10_000;

#[derive(Debug)]
pub(super) struct Scanner<'a> {
    pub(super) text: &'a str,
    bytes: &'a [u8],
    problem: Option<&'static str>,
    pub(super) pos: usize,
    pub(super) mark: Mark,
    queue: VecDeque<Token<'a>>,
    /// Number of tokens taken from the queue.
    taken: usize,
    /// Whether the head of the queue surely needs no `Key` before it.
    ready: bool,
    started: bool,
    ended: bool,
    /// One per flow level, and one for the block context.
    simple_keys: Vec<SimpleKey>,
    /// Levels of possible simple keys by the number of their first token.
    levels: HashMap<usize, usize>,
    pub(super) simple_key_allowed: bool,
    pub(super) flow_level: usize,
    pub(super) indent: isize,
    indents: Vec<isize>,
}

#[derive(Clone, Copy, Debug, Default)]
struct SimpleKey {
    possible: bool,
    /// Whether only a key can be here: at the indentation of a block mapping.
    required: bool,
    token: usize,
    mark: Mark,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(input: &'a Input<'a>) -> Scanner<'a> {
        Scanner {
            text: &input.text,
            bytes: input.text.as_bytes(),
            problem: input.problem,
            pos: 0,
            mark: Mark::default(),
            queue: VecDeque::new(),
            taken: 0,
            ready: false,
            started: false,
            ended: false,
            simple_keys: Vec::new(),
            levels: HashMap::new(),
            simple_key_allowed: false,
            flow_level: 0,
            indent: -1,
            indents: Vec::new(),
        }
    }

    /// Returns the next token.
    pub(super) fn peek(&mut self) -> Result<&Token<'a>, Error> {
        if !self.ready {
            self.fetch_more()?;
        }
        self.queue.front().ok_or_else(|| Error::new("yaml: unknown problem parsing YAML content"))
    }

    /// Removes the next token.
    pub(super) fn take(&mut self) -> Result<Token<'a>, Error> {
        self.peek()?;
        self.ready = false;
        self.taken += 1;
        self.queue.pop_front().ok_or_else(|| Error::new("yaml: unknown problem parsing YAML content"))
    }

    /// Returns an error at the current position, in a construct that started at `context`. The reference counts lines
    /// from 0, and names no line for 0.
    pub(super) fn error<T>(&self, context: Mark, problem: &str) -> Result<T, Error> {
        let line = if self.mark.line != 0 { self.mark.line + 1 } else { context.line };
        Err(at_line(line, problem))
    }

    // Characters.

    pub(super) fn at(&self, ahead: usize) -> u8 {
        // The end reads as NUL, which cannot occur in the text.
        self.bytes.get(self.pos + ahead).copied().unwrap_or(0)
    }

    /// Fails if the reference would read an invalid byte while it looks ahead this many characters.
    pub(super) fn need(&self, characters: usize) -> Result<(), Error> {
        match self.problem {
            Some(problem)
                if self.bytes.len().saturating_sub(self.pos) < 4 * characters
                    && self.text.get(self.pos..).unwrap_or_default().chars().count() < characters =>
            {
                Err(at_line(0, problem))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn is_end(&self) -> bool {
        self.pos >= self.bytes.len()
    }

    pub(super) fn is_break(&self, ahead: usize) -> bool {
        match self.at(ahead) {
            b'\r' | b'\n' => true,
            0xc2 => self.at(ahead + 1) == 0x85,
            0xe2 => self.at(ahead + 1) == 0x80 && matches!(self.at(ahead + 2), 0xa8 | 0xa9),
            _ => false,
        }
    }

    pub(super) fn is_break_or_end(&self, ahead: usize) -> bool {
        self.at(ahead) == 0 || self.is_break(ahead)
    }

    pub(super) fn is_blank(&self, ahead: usize) -> bool {
        matches!(self.at(ahead), b' ' | b'\t')
    }

    pub(super) fn is_blank_or_end(&self, ahead: usize) -> bool {
        self.is_blank(ahead) || self.is_break_or_end(ahead)
    }

    /// Returns whether the next character is a letter, a digit, `_` or `-`.
    pub(super) fn is_word(&self) -> bool {
        matches!(self.at(0), b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'_' | b'-')
    }

    /// Returns whether `---` or `...` comes next, at the start of a line.
    pub(super) fn is_document_indicator(&self) -> bool {
        self.mark.column == 0
            && matches!([self.at(0), self.at(1), self.at(2)], [b'-', b'-', b'-'] | [b'.', b'.', b'.'])
            && self.is_blank_or_end(3)
    }

    pub(super) fn skip(&mut self) {
        self.pos += match self.at(0) {
            0..0xc0 => 1,
            0xc0..0xe0 => 2,
            0xe0..0xf0 => 3,
            _ => 4,
        };
        self.mark.index += 1;
        self.mark.column += 1;
    }

    pub(super) fn skip_many(&mut self, count: usize) {
        (0..count).for_each(|_| self.skip());
    }

    /// Copies a character.
    pub(super) fn read(&mut self, out: &mut String) {
        let from = self.pos;
        self.skip();
        out.push_str(self.text.get(from..self.pos).unwrap_or_default());
    }

    pub(super) fn skip_line(&mut self) {
        if self.is_break(0) {
            let pair = self.at(0) == b'\r' && self.at(1) == b'\n';
            self.skip_many(if pair { 2 } else { 1 });
            self.mark.column = 0;
            self.mark.line += 1;
        }
    }

    /// Copies a line break as a line feed, except for Unicode's line and paragraph separators.
    pub(super) fn read_line(&mut self, out: &mut String) {
        match self.at(0) {
            0xe2 => self
                .text
                .get(self.pos..self.pos + 3)
                .into_iter()
                .for_each(|separator| out.push_str(separator)),
            _ => out.push('\n'),
        }
        self.skip_line();
    }

    pub(super) fn skip_blanks(&mut self) -> Result<(), Error> {
        self.need(1)?;
        while self.is_blank(0) {
            self.skip();
            self.need(1)?;
        }
        Ok(())
    }

    pub(super) fn skip_comment(&mut self) -> Result<(), Error> {
        if self.at(0) == b'#' {
            while !self.is_break_or_end(0) {
                self.skip();
                self.need(1)?;
            }
        }
        Ok(())
    }

    // The queue, simple keys and indentation.

    fn fetch_more(&mut self) -> Result<(), Error> {
        loop {
            if !self.queue.is_empty() {
                let level = self.levels.get(&self.taken).copied();
                match level {
                    Some(level) if level < self.simple_keys.len() && self.is_valid(level)? => {}
                    _ => break,
                }
                if self.ended {
                    break;
                }
            }
            self.fetch_next()?;
        }
        self.ready = true;
        Ok(())
    }

    /// Inserts a token into the queue, at the end or at an index.
    fn insert(&mut self, index: Option<usize>, kind: TokenKind<'a>, start: Mark, end: Mark) {
        let token = Token { kind, start, end };
        match index {
            Some(index) if index < self.queue.len() => self.queue.insert(index, token),
            _ => self.queue.push_back(token),
        }
    }

    fn append(&mut self, kind: TokenKind<'a>, start: Mark) {
        self.insert(None, kind, start, self.mark);
    }

    /// Returns whether the simple key of a level is still possible.
    fn is_valid(&mut self, level: usize) -> Result<bool, Error> {
        let key = self.simple_keys[level];
        if !key.possible {
            return Ok(false);
        }
        if key.mark.line < self.mark.line || key.mark.index + 1024 < self.mark.index {
            if key.required {
                return self.error(key.mark, "could not find expected ':'");
            }
            self.simple_keys[level].possible = false;
            return Ok(false);
        }
        Ok(true)
    }

    pub(super) fn save_simple_key(&mut self) -> Result<(), Error> {
        if self.simple_key_allowed {
            let required = self.flow_level == 0 && self.indent == self.mark.column;
            let token = self.taken + self.queue.len();
            self.remove_simple_key()?;
            let level = self.simple_keys.len() - 1;
            self.simple_keys[level] = SimpleKey { possible: true, required, token, mark: self.mark };
            self.levels.insert(token, level);
        }
        Ok(())
    }

    pub(super) fn remove_simple_key(&mut self) -> Result<(), Error> {
        let level = self.simple_keys.len() - 1;
        let key = self.simple_keys[level];
        if key.possible {
            if key.required {
                return self.error(key.mark, "could not find expected ':'");
            }
            self.simple_keys[level].possible = false;
            self.levels.remove(&key.token);
        }
        Ok(())
    }

    fn roll_indent(
        &mut self,
        column: isize,
        number: Option<usize>,
        kind: TokenKind<'a>,
        mark: Mark,
    ) -> Result<(), Error> {
        if self.flow_level > 0 || self.indent >= column {
            return Ok(());
        }
        self.indents.push(self.indent);
        self.indent = column;
        if self.indents.len() > MAX_LEVELS {
            let context = self.simple_keys.last().map(|key| key.mark).unwrap_or_default();
            return self.error(context, &format!("exceeded max depth of {MAX_LEVELS}"));
        }
        let index = number.and_then(|number| number.checked_sub(self.taken));
        self.insert(index, kind, mark, mark);
        Ok(())
    }

    fn unroll_indent(&mut self, column: isize) {
        while self.flow_level == 0 && self.indent > column {
            self.insert(None, TokenKind::BlockEnd, self.mark, self.mark);
            self.indent = self.indents.pop().unwrap_or(-1);
        }
    }

    // Tokens.

    fn fetch_next(&mut self) -> Result<(), Error> {
        pintle_work::check();
        self.need(1)?;
        if !self.started {
            self.started = true;
            self.simple_keys.push(SimpleKey::default());
            self.simple_key_allowed = true;
            self.append(TokenKind::StreamStart, self.mark);
            return Ok(());
        }
        self.skip_to_token()?;
        self.unroll_indent(self.mark.column);
        self.need(4)?;
        if self.is_end() {
            return self.fetch_stream_end();
        }
        let (here, flow) = (self.at(0), self.flow_level > 0);
        match here {
            b'%' if self.mark.column == 0 => {
                self.end_block()?;
                let start = self.mark;
                let kind = self.scan_directive()?;
                self.append(kind, start);
                Ok(())
            }
            b'-' | b'.' if self.is_document_indicator() => {
                self.end_block()?;
                let kind = if here == b'-' { TokenKind::DocumentStart } else { TokenKind::DocumentEnd };
                let start = self.mark;
                self.skip_many(3);
                self.append(kind, start);
                Ok(())
            }
            b'[' => self.fetch_flow_start(TokenKind::FlowSequenceStart),
            b'{' => self.fetch_flow_start(TokenKind::FlowMappingStart),
            b']' => self.fetch_flow_end(TokenKind::FlowSequenceEnd),
            b'}' => self.fetch_flow_end(TokenKind::FlowMappingEnd),
            b',' => self.fetch_indicator(TokenKind::FlowEntry, true),
            b'-' if self.is_blank_or_end(1) => self.fetch_block_entry(),
            b'?' if flow || self.is_blank_or_end(1) => self.fetch_key(),
            b':' if flow || self.is_blank_or_end(1) => self.fetch_value(),
            b'*' | b'&' => self.fetch_possible_key(Scanner::scan_anchor),
            b'!' => self.fetch_possible_key(Scanner::scan_tag),
            b'|' | b'>' if !flow => {
                self.remove_simple_key()?;
                self.simple_key_allowed = true;
                let start = self.mark;
                let (kind, end) = self.scan_block_scalar(here == b'|')?;
                self.insert(None, kind, start, end);
                Ok(())
            }
            b'\'' | b'"' => self.fetch_possible_key(Scanner::scan_quoted_scalar),
            b'-' if !self.is_blank(1) => self.fetch_plain_scalar(),
            b'?' | b':' if !flow => self.fetch_plain_scalar(),
            b'-' | b'?' | b':' | b'#' | b'|' | b'>' | b'%' | b'@' | b'`' | b' ' | b'\t' => {
                self.error(self.mark, "found character that cannot start any token")
            }
            _ => self.fetch_plain_scalar(),
        }
    }

    /// Skips white space, comments and line breaks.
    fn skip_to_token(&mut self) -> Result<(), Error> {
        loop {
            self.need(1)?;
            if self.pos == 0 && self.text.starts_with('\u{feff}') {
                self.skip();
            }
            self.need(1)?;
            // A tab does not indent.
            while self.at(0) == b' '
                || (self.at(0) == b'\t' && (self.flow_level > 0 || !self.simple_key_allowed))
            {
                self.skip();
                self.need(1)?;
            }
            self.skip_comment()?;
            if !self.is_break(0) {
                return Ok(());
            }
            self.need(2)?;
            self.skip_line();
            if self.flow_level == 0 {
                self.simple_key_allowed = true;
            }
        }
    }

    /// Ends all blocks, before a token at the start of a line outside of everything.
    fn end_block(&mut self) -> Result<(), Error> {
        self.unroll_indent(-1);
        self.remove_simple_key()?;
        self.simple_key_allowed = false;
        Ok(())
    }

    fn fetch_stream_end(&mut self) -> Result<(), Error> {
        if self.mark.column != 0 {
            self.mark.column = 0;
            self.mark.line += 1;
        }
        self.end_block()?;
        self.ended = true;
        self.append(TokenKind::StreamEnd, self.mark);
        Ok(())
    }

    fn fetch_flow_start(&mut self, kind: TokenKind<'a>) -> Result<(), Error> {
        self.save_simple_key()?;
        let token = self.taken + self.queue.len();
        self.simple_keys.push(SimpleKey { possible: false, required: false, token, mark: self.mark });
        self.flow_level += 1;
        if self.flow_level > MAX_LEVELS {
            return self.error(self.mark, &format!("exceeded max depth of {MAX_LEVELS}"));
        }
        self.simple_key_allowed = true;
        self.fetch_character(kind)
    }

    fn fetch_flow_end(&mut self, kind: TokenKind<'a>) -> Result<(), Error> {
        self.remove_simple_key()?;
        if self.flow_level > 0 {
            self.flow_level -= 1;
            if let Some(key) = self.simple_keys.pop() {
                self.levels.remove(&key.token);
            }
        }
        self.simple_key_allowed = false;
        self.fetch_character(kind)
    }

    fn fetch_character(&mut self, kind: TokenKind<'a>) -> Result<(), Error> {
        let start = self.mark;
        self.skip();
        self.append(kind, start);
        Ok(())
    }

    /// Scans an indicator that ends a possible simple key.
    fn fetch_indicator(&mut self, kind: TokenKind<'a>, simple_key_allowed: bool) -> Result<(), Error> {
        self.remove_simple_key()?;
        self.simple_key_allowed = simple_key_allowed;
        self.fetch_character(kind)
    }

    fn fetch_block_entry(&mut self) -> Result<(), Error> {
        if self.flow_level == 0 {
            if !self.simple_key_allowed {
                return self.error(self.mark, "block sequence entries are not allowed in this context");
            }
            self.roll_indent(self.mark.column, None, TokenKind::BlockSequenceStart, self.mark)?;
        }
        self.fetch_indicator(TokenKind::BlockEntry, true)
    }

    fn fetch_key(&mut self) -> Result<(), Error> {
        if self.flow_level == 0 {
            if !self.simple_key_allowed {
                return self.error(self.mark, "mapping keys are not allowed in this context");
            }
            self.roll_indent(self.mark.column, None, TokenKind::BlockMappingStart, self.mark)?;
        }
        self.fetch_indicator(TokenKind::Key, self.flow_level == 0)
    }

    fn fetch_value(&mut self) -> Result<(), Error> {
        let level = self.simple_keys.len() - 1;
        if self.is_valid(level)? {
            let key = self.simple_keys[level];
            self.insert(key.token.checked_sub(self.taken), TokenKind::Key, key.mark, key.mark);
            self.roll_indent(key.mark.column, Some(key.token), TokenKind::BlockMappingStart, key.mark)?;
            self.simple_keys[level].possible = false;
            self.levels.remove(&key.token);
            self.simple_key_allowed = false;
        } else {
            if self.flow_level == 0 {
                if !self.simple_key_allowed {
                    return self.error(self.mark, "mapping values are not allowed in this context");
                }
                self.roll_indent(self.mark.column, None, TokenKind::BlockMappingStart, self.mark)?;
            }
            self.simple_key_allowed = self.flow_level == 0;
        }
        self.fetch_character(TokenKind::Value)
    }

    /// Scans a token that a `:` can make a key.
    fn fetch_possible_key(
        &mut self,
        scan: impl FnOnce(&mut Scanner<'a>) -> Result<TokenKind<'a>, Error>,
    ) -> Result<(), Error> {
        self.save_simple_key()?;
        self.simple_key_allowed = false;
        let start = self.mark;
        let kind = scan(self)?;
        self.append(kind, start);
        Ok(())
    }

    fn fetch_plain_scalar(&mut self) -> Result<(), Error> {
        self.save_simple_key()?;
        self.simple_key_allowed = false;
        let start = self.mark;
        let (kind, end) = self.scan_plain_scalar()?;
        self.insert(None, kind, start, end);
        Ok(())
    }
}

/// Returns an error with its line; line 0 is not named.
pub(super) fn at_line(line: usize, problem: &str) -> Error {
    match line {
        0 => Error::new(format!("yaml: {problem}")),
        line => Error::new(format!("yaml: line {line}: {problem}")),
    }
}
