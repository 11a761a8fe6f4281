//! Directives, anchors, aliases and tags.

use super::scanner::Scanner;
use super::token::{Mark, TokenKind};
use crate::Error;

impl<'a> Scanner<'a> {
    pub(super) fn scan_directive(&mut self) -> Result<TokenKind<'a>, Error> {
        let start = self.mark;
        self.skip();
        let name = self.scan_word()?;
        if name.is_empty() {
            return self.error(start, "could not find expected directive name");
        }
        if !self.is_blank_or_end(0) {
            return self.error(start, "found unexpected non-alphabetical character");
        }
        let kind = match name {
            "YAML" => self.scan_version(start)?,
            "TAG" => self.scan_tag_directive(start)?,
            _ => return self.error(start, "found unknown directive name"),
        };
        self.end_line(start)?;
        Ok(kind)
    }

    /// Skips the rest of a line, which may only contain a comment.
    pub(super) fn end_line(&mut self, start: Mark) -> Result<(), Error> {
        self.skip_blanks()?;
        self.skip_comment()?;
        if !self.is_break_or_end(0) {
            return self.error(start, "did not find expected comment or line break");
        }
        if self.is_break(0) {
            self.need(2)?;
            self.skip_line();
        }
        Ok(())
    }

    fn scan_word(&mut self) -> Result<&'a str, Error> {
        let from = self.pos;
        self.need(1)?;
        while self.is_word() {
            self.skip();
            self.need(1)?;
        }
        Ok(&self.text[from..self.pos])
    }

    fn scan_version(&mut self, start: Mark) -> Result<TokenKind<'a>, Error> {
        self.skip_blanks()?;
        let major = self.scan_version_number(start)?;
        if self.at(0) != b'.' {
            return self.error(start, "did not find expected digit or '.' character");
        }
        self.skip();
        let minor = self.scan_version_number(start)?;
        Ok(TokenKind::Version(major, minor))
    }

    fn scan_version_number(&mut self, start: Mark) -> Result<u8, Error> {
        self.need(1)?;
        let (mut value, mut length) = (0, 0);
        while self.at(0).is_ascii_digit() {
            length += 1;
            if length > 2 {
                return self.error(start, "found extremely long version number");
            }
            value = value * 10 + (self.at(0) - b'0');
            self.skip();
            self.need(1)?;
        }
        if length == 0 {
            return self.error(start, "did not find expected version number");
        }
        Ok(value)
    }

    fn scan_tag_directive(&mut self, start: Mark) -> Result<TokenKind<'a>, Error> {
        self.skip_blanks()?;
        let handle = self.scan_tag_handle(start, true)?;
        self.need(1)?;
        if !self.is_blank(0) {
            return self.error(start, "did not find expected whitespace");
        }
        self.skip_blanks()?;
        let prefix = self.scan_tag_uri(start, "")?;
        self.need(1)?;
        if !self.is_blank_or_end(0) {
            return self.error(start, "did not find expected whitespace or line break");
        }
        Ok(TokenKind::TagDirective(handle, prefix))
    }

    pub(super) fn scan_anchor(&mut self) -> Result<TokenKind<'a>, Error> {
        let (start, alias) = (self.mark, self.at(0) == b'*');
        self.skip();
        let name = self.scan_word()?;
        let ends = self.is_blank_or_end(0)
            || matches!(self.at(0), b'?' | b':' | b',' | b']' | b'}' | b'%' | b'@' | b'`');
        if name.is_empty() || !ends {
            return self.error(start, "did not find expected alphabetic or numeric character");
        }
        Ok(if alias { TokenKind::Alias(name) } else { TokenKind::Anchor(name) })
    }

    pub(super) fn scan_tag(&mut self) -> Result<TokenKind<'a>, Error> {
        let start = self.mark;
        self.need(2)?;
        let (mut handle, mut suffix);
        if self.at(1) == b'<' {
            self.skip_many(2);
            handle = String::new();
            suffix = self.scan_tag_uri(start, "")?;
            if self.at(0) != b'>' {
                return self.error(start, "did not find the expected '>'");
            }
            self.skip();
        } else {
            handle = self.scan_tag_handle(start, false)?;
            if handle.len() > 1 && handle.ends_with('!') {
                suffix = self.scan_tag_uri(start, "")?;
            } else {
                // Not a handle, but the start of `!suffix`.
                suffix = self.scan_tag_uri(start, &handle)?;
                handle = "!".into();
                if suffix.is_empty() {
                    (handle, suffix) = (suffix, handle);
                }
            }
        }
        self.need(1)?;
        if !self.is_blank_or_end(0) {
            return self.error(start, "did not find expected whitespace or line break");
        }
        Ok(TokenKind::Tag(handle, suffix))
    }

    fn scan_tag_handle(&mut self, start: Mark, directive: bool) -> Result<String, Error> {
        self.need(1)?;
        if self.at(0) != b'!' {
            return self.error(start, "did not find expected '!'");
        }
        self.skip();
        let mut handle = format!("!{}", self.scan_word()?);
        if self.at(0) == b'!' {
            self.read(&mut handle);
        } else if directive && handle != "!" {
            return self.error(start, "did not find expected '!'");
        }
        Ok(handle)
    }

    /// Scans the rest after a `head` that was taken for a handle and is kept except for its `!`.
    fn scan_tag_uri(&mut self, start: Mark, head: &str) -> Result<String, Error> {
        let mut uri = head.get(1..).unwrap_or_default().as_bytes().to_vec();
        let mut found = !head.is_empty();
        self.need(1)?;
        loop {
            match self.at(0) {
                b'%' => self.scan_escaped_character(start, &mut uri)?,
                byte if self.is_word() || b";/?:@&=+$,.!~*'()[]".contains(&byte) => {
                    uri.push(byte);
                    self.skip();
                }
                _ => break,
            }
            self.need(1)?;
            found = true;
        }
        if !found {
            return self.error(start, "did not find expected tag URI");
        }
        Ok(String::from_utf8_lossy(&uri).into_owned())
    }

    /// Scans an escaped character: `%C3%A4`.
    fn scan_escaped_character(&mut self, start: Mark, out: &mut Vec<u8>) -> Result<(), Error> {
        let mut missing = None;
        while missing != Some(0) {
            self.need(3)?;
            let digits = (hex(self.at(1)), hex(self.at(2)));
            let (b'%', (Some(high), Some(low))) = (self.at(0), digits) else {
                return self.error(start, "did not find URI escaped octet");
            };
            let octet = (high << 4 | low) as u8;
            missing = Some(match missing {
                None => match octet {
                    0..0x80 => 0,
                    0xc0..0xe0 => 1,
                    0xe0..0xf0 => 2,
                    0xf0..0xf8 => 3,
                    _ => return self.error(start, "found an incorrect leading UTF-8 octet"),
                },
                Some(_) if octet & 0xc0 != 0x80 => {
                    return self.error(start, "found an incorrect trailing UTF-8 octet");
                }
                Some(missing) => missing - 1,
            });
            out.push(octet);
            self.skip_many(3);
        }
        Ok(())
    }
}

pub(super) fn hex(digit: u8) -> Option<u32> {
    char::from(digit).to_digit(16)
}
