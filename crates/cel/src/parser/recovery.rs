//! Error recovery: an extraneous token is dropped, a missing one is assumed, else parsing resumes at a token at which
//! some enclosing rule can continue.

use super::{After, Deep, Parsed, Parser, Stop, unspecified};
use crate::lexer::TokenKind::{self, End};
use crate::lexer::TokenKinds;

/// Number of errors after which parsing stops.
const MOST_ATTEMPTS: usize = 30;

/// Maximal number of tokens skipped after one error.
const MOST_SKIPPED: usize = 256;

impl Parser<'_> {
    /// Consumes a token of this kind; `next` are the kinds that may follow it.
    pub(super) fn expect(&mut self, kind: TokenKind, next: TokenKinds) -> Parsed<()> {
        if self.kind() == kind {
            self.recovering = false;
            self.advance();
            return Ok(());
        }
        self.attempt()?;
        let expecting = TokenKinds::of(&[kind]);
        if self.kind_at(1) == kind {
            self.extraneous(expecting)?;
            self.recovering = false;
            self.advance();
            self.advance();
            return Ok(());
        }
        if next.contains(self.kind()) {
            let message = format!("missing {} at {}", expecting.describe(), self.describe_token());
            return self.syntax_error(0, message);
        }
        Err(self.mismatched(expecting))
    }

    /// Before an alternative: checks that an expected token comes, dropping one extraneous token if that helps.
    pub(super) fn sync(&mut self, expecting: TokenKinds) -> Parsed<()> {
        if self.recovering || expecting.contains(self.kind()) {
            return Ok(());
        }
        if expecting.contains(self.kind_at(1)) {
            self.extraneous(expecting)?;
            self.recovering = false;
            self.advance();
            return Ok(());
        }
        Err(self.mismatched(expecting))
    }

    /// Ends a rule: after an error in it, parsing resumes behind it.
    pub(super) fn rule(&mut self, after: After, result: Parsed<Deep>) -> Parsed<Deep> {
        match result {
            Err(Stop::Rule) => {
                self.recover(after.recover)?;
                Ok(Deep { expr: unspecified(), depth: 0 })
            }
            other => other,
        }
    }

    /// Like [`Parser::rule`], for a rule that extends its caller's expression.
    pub(super) fn sub_rule(&mut self, recover: TokenKinds, result: Parsed<()>) -> Parsed<()> {
        match result {
            Err(Stop::Rule) => self.recover(recover),
            other => other,
        }
    }

    pub(super) fn recover(&mut self, recover: TokenKinds) -> Parsed<()> {
        self.attempt()?;
        if self.last_recovery == Some(self.at) && self.kind() != End {
            self.advance();
        }
        self.skip_until(recover)?;
        self.last_recovery = Some(self.at);
        Ok(())
    }

    pub(super) fn skip_until(&mut self, stop: TokenKinds) -> Parsed<()> {
        for _ in 0..=MOST_SKIPPED {
            if self.kind() == End || stop.contains(self.kind()) {
                return Ok(());
            }
            self.advance();
        }
        self.issues.report(None, format!("error recovery token lookahead limit exceeded: {MOST_SKIPPED}"));
        Err(Stop::All)
    }

    fn attempt(&mut self) -> Parsed<()> {
        self.attempts += 1;
        if self.attempts > MOST_ATTEMPTS {
            self.recovering = false;
            self.syntax_error(0, format!("error recovery attempt limit exceeded: {MOST_ATTEMPTS}"))?;
            return Err(Stop::All);
        }
        Ok(())
    }

    pub(super) fn extraneous(&mut self, expecting: TokenKinds) -> Parsed<()> {
        let message =
            format!("extraneous input {} expecting {}", self.describe_token(), expecting.describe());
        self.syntax_error(0, message)
    }

    fn mismatched(&mut self, expecting: TokenKinds) -> Stop {
        let message =
            format!("mismatched input {} expecting {}", self.describe_token(), expecting.describe());
        self.syntax_error(0, message).err().unwrap_or(Stop::Rule)
    }

    /// Reports that no alternative starting here continues with the token so many ahead.
    pub(super) fn no_viable_alternative(&mut self, ahead: usize) -> Stop {
        let (first, last) = (self.token().start, self.token_at(ahead));
        let end = if last.kind == End { self.token_at(ahead.saturating_sub(1)).end } else { last.end };
        let input: String = self.text[first as usize..(end.max(first)) as usize].iter().collect();
        let message = match input.strip_prefix('.') {
            Some(word @ ("true" | "false" | "null")) => {
                format!("mismatched input '{word}' expecting IDENTIFIER")
            }
            _ if self.token().kind == End => "no viable alternative at input '<EOF>'".to_owned(),
            _ => format!("no viable alternative at input {}", escaped(&input)),
        };
        self.syntax_error(ahead, message).err().unwrap_or(Stop::Rule)
    }

    fn syntax_error(&mut self, ahead: usize, message: String) -> Parsed<()> {
        if self.recovering {
            return Ok(());
        }
        self.recovering = true;
        let offset = self.token_at(ahead).start;
        self.issues.report(Some(offset), format!("Syntax error: {message}"));
        Ok(())
    }

    /// Formats the current token for a message.
    fn describe_token(&self) -> String {
        if self.kind() == End { "'<EOF>'".to_owned() } else { escaped(&self.word()) }
    }
}

fn escaped(text: &str) -> String {
    format!("'{}'", text.replace('\t', "\\t").replace('\n', "\\n").replace('\r', "\\r"))
}
