//! Scalars in their five styles: plain, single and double quoted, literal and folded.

use std::borrow::Cow;

use super::directive::hex;
use super::scanner::Scanner;
use super::token::{Mark, TokenKind};
use crate::Error;

/// White space and line breaks between two words, which fold to one space unless there are empty lines.
#[derive(Default)]
struct Fold {
    spaces: String,
    /// The first line break, if any.
    first: String,
    broken: bool,
    rest: String,
}

impl Fold {
    fn is_empty(&self) -> bool {
        !self.broken && self.spaces.is_empty()
    }

    fn finish(&mut self, out: &mut String) {
        if !self.broken {
            out.push_str(&self.spaces);
        } else if !self.first.starts_with('\n') {
            out.push_str(&self.first);
            out.push_str(&self.rest);
        } else if self.rest.is_empty() {
            out.push(' ');
        } else {
            out.push_str(&self.rest);
        }
        self.spaces.clear();
        self.first.clear();
        self.rest.clear();
        self.broken = false;
    }

    /// Consumes the next blank or line break.
    fn take(&mut self, scanner: &mut Scanner<'_>) -> Result<(), Error> {
        if scanner.is_blank(0) {
            if self.broken { scanner.skip() } else { scanner.read(&mut self.spaces) }
        } else {
            scanner.need(2)?;
            if self.broken {
                scanner.read_line(&mut self.rest);
            } else {
                self.spaces.clear();
                self.broken = true;
                scanner.read_line(&mut self.first);
            }
        }
        scanner.need(1)
    }
}

impl<'a> Scanner<'a> {
    /// Scans a scalar; returns it with its end, which precedes trailing white space.
    pub(super) fn scan_plain_scalar(&mut self) -> Result<(TokenKind<'a>, Mark), Error> {
        let (start, indent, from) = (self.mark, self.indent + 1, self.pos);
        let (mut end, mut to) = (start, from);
        // Only multi-line scalars are copied.
        let mut copy: Option<String> = None;
        let mut fold = Fold::default();
        loop {
            self.need(4)?;
            if self.is_document_indicator() || self.at(0) == b'#' {
                break;
            }
            while !self.is_blank_or_end(0) {
                match self.at(0) {
                    b':' if self.is_blank_or_end(1) => break,
                    b',' | b'?' | b'[' | b']' | b'{' | b'}' if self.flow_level > 0 => break,
                    _ => {}
                }
                if fold.broken && copy.is_none() {
                    copy = Some(self.text[from..to].into());
                }
                match &mut copy {
                    Some(copy) => {
                        if !fold.is_empty() {
                            fold.finish(copy);
                        }
                        self.read(copy);
                    }
                    None => {
                        fold.spaces.clear();
                        self.skip();
                    }
                }
                (end, to) = (self.mark, self.pos);
                self.need(2)?;
            }
            if !(self.is_blank(0) || self.is_break(0)) {
                break;
            }
            self.need(1)?;
            while self.is_blank(0) || self.is_break(0) {
                if fold.broken && self.mark.column < indent && self.at(0) == b'\t' {
                    return self.error(start, "found a tab character that violates indentation");
                }
                fold.take(self)?;
            }
            if self.flow_level == 0 && self.mark.column < indent {
                break;
            }
        }
        if fold.broken {
            self.simple_key_allowed = true;
        }
        let value = copy.map_or_else(|| Cow::Borrowed(&self.text[from..to]), Cow::Owned);
        Ok((TokenKind::Scalar { value, plain: true }, end))
    }

    pub(super) fn scan_quoted_scalar(&mut self) -> Result<TokenKind<'a>, Error> {
        let (start, quote) = (self.mark, self.at(0));
        self.skip();
        let mut out = String::new();
        let mut fold = Fold::default();
        loop {
            self.need(4)?;
            if self.is_document_indicator() {
                return self.error(start, "found unexpected document indicator");
            }
            if self.is_end() {
                return self.error(start, "found unexpected end of stream");
            }
            while !self.is_blank_or_end(0) {
                match self.at(0) {
                    b'\'' if quote == b'\'' && self.at(1) == b'\'' => {
                        out.push('\'');
                        self.skip_many(2);
                    }
                    here if here == quote => break,
                    b'\\' if quote == b'"' && self.is_break(1) => {
                        self.need(3)?;
                        self.skip();
                        self.skip_line();
                        // The break and the next line's indentation are not part of the text.
                        fold.broken = true;
                        break;
                    }
                    b'\\' if quote == b'"' => self.scan_escape(start, &mut out)?,
                    _ => self.read(&mut out),
                }
                self.need(2)?;
            }
            self.need(1)?;
            if self.at(0) == quote {
                break;
            }
            while self.is_blank(0) || self.is_break(0) {
                fold.take(self)?;
            }
            fold.finish(&mut out);
        }
        self.skip();
        Ok(TokenKind::Scalar { value: Cow::Owned(out), plain: false })
    }

    /// Scans an escape sequence.
    fn scan_escape(&mut self, start: Mark, out: &mut String) -> Result<(), Error> {
        let found = match self.at(1) {
            b'0' => '\0',
            b'a' => '\x07',
            b'b' => '\x08',
            b't' | b'\t' => '\t',
            b'n' => '\n',
            b'v' => '\x0b',
            b'f' => '\x0c',
            b'r' => '\r',
            b'e' => '\x1b',
            same @ (b' ' | b'"' | b'\'' | b'\\') => char::from(same),
            b'N' => '\u{85}',
            b'_' => '\u{a0}',
            b'L' => '\u{2028}',
            b'P' => '\u{2029}',
            b'x' => return self.scan_code(start, 2, out),
            b'u' => return self.scan_code(start, 4, out),
            b'U' => return self.scan_code(start, 8, out),
            _ => return self.error(start, "found unknown escape character"),
        };
        out.push(found);
        self.skip_many(2);
        Ok(())
    }

    fn scan_code(&mut self, start: Mark, length: usize, out: &mut String) -> Result<(), Error> {
        self.skip_many(2);
        self.need(length)?;
        let mut value = 0u64;
        for ahead in 0..length {
            let Some(digit) = hex(self.at(ahead)) else {
                return self.error(start, "did not find expected hexdecimal number");
            };
            value = value << 4 | u64::from(digit);
        }
        let Some(found) = u32::try_from(value).ok().and_then(char::from_u32) else {
            return self.error(start, "found invalid Unicode character escape code");
        };
        out.push(found);
        self.skip_many(length);
        Ok(())
    }

    /// Scans a scalar; returns it with its end.
    pub(super) fn scan_block_scalar(&mut self, literal: bool) -> Result<(TokenKind<'a>, Mark), Error> {
        let start = self.mark;
        self.skip();
        self.need(1)?;
        let (mut keep, mut increment) = (None, 0);
        // The two indicators come in either order.
        for _ in 0..2 {
            match self.at(0) {
                chomp @ (b'+' | b'-') if keep.is_none() => keep = Some(chomp == b'+'),
                b'0' if increment == 0 => {
                    return self.error(start, "found an indentation indicator equal to 0");
                }
                digit @ b'1'..=b'9' if increment == 0 => increment = isize::from(digit - b'0'),
                _ => break,
            }
            self.skip();
            self.need(1)?;
        }
        self.end_line(start)?;

        let mut indent = if increment > 0 { self.indent.max(0) + increment } else { 0 };
        let (mut out, mut first, mut rest) = (String::new(), String::new(), String::new());
        let mut end = self.scan_block_breaks(start, &mut indent, &mut rest)?;
        self.need(1)?;
        let mut leading_blank = false;
        while self.mark.column == indent && !self.is_end() {
            let blank = self.is_blank(0);
            if !literal && first.starts_with('\n') && !leading_blank && !blank {
                if rest.is_empty() {
                    out.push(' ');
                }
            } else {
                out.push_str(&first);
            }
            first.clear();
            out.push_str(&rest);
            rest.clear();
            leading_blank = blank;
            let from = self.pos;
            while !self.is_break_or_end(0) {
                self.skip();
                self.need(1)?;
            }
            out.push_str(&self.text[from..self.pos]);
            self.need(2)?;
            if self.is_break(0) {
                self.read_line(&mut first);
            }
            end = self.scan_block_breaks(start, &mut indent, &mut rest)?;
        }
        if keep != Some(false) {
            out.push_str(&first);
        }
        if keep == Some(true) {
            out.push_str(&rest);
        }
        Ok((TokenKind::Scalar { value: Cow::Owned(out), plain: false }, end))
    }

    /// Skips empty lines and the next line's indentation, which is detected if it is 0.
    fn scan_block_breaks(
        &mut self,
        start: Mark,
        indent: &mut isize,
        out: &mut String,
    ) -> Result<Mark, Error> {
        let (mut end, mut widest) = (self.mark, 0);
        loop {
            self.need(1)?;
            while (*indent == 0 || self.mark.column < *indent) && self.at(0) == b' ' {
                self.skip();
                self.need(1)?;
            }
            widest = widest.max(self.mark.column);
            if (*indent == 0 || self.mark.column < *indent) && self.at(0) == b'\t' {
                return self.error(start, "found a tab character where an indentation space is expected");
            }
            if !self.is_break(0) {
                break;
            }
            self.need(2)?;
            self.read_line(out);
            end = self.mark;
        }
        if *indent == 0 {
            *indent = widest.max(self.indent + 1).max(1);
        }
        Ok(end)
    }
}
