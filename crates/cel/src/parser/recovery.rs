//! What happens where words do not fit: one too many is dropped, one that is missing is assumed, and else reading goes on at a word
//! with which some enclosing rule could.

use super::{After, Deep, Parsed, Parser, Stop, unspecified};
use crate::lexer::Kind::{self, End};
use crate::lexer::Kinds;

/// After so many problems the rest is not read.
const MOST_ATTEMPTS: usize = 30;

/// How many words are passed over after one problem.
const MOST_SKIPPED: usize = 256;

impl Parser<'_> {
    /// Passes a word that must be here. `next` is what could come behind it.
    pub(super) fn expect(&mut self, kind: Kind, next: Kinds) -> Parsed<()> {
        if self.kind() == kind {
            self.recovering = false;
            self.advance();
            return Ok(());
        }
        self.attempt()?;
        let expecting = Kinds::of(&[kind]);
        if self.kind_at(1) == kind {
            self.extraneous(expecting)?;
            self.recovering = false;
            self.advance();
            self.advance();
            return Ok(());
        }
        if next.contains(self.kind()) {
            let message = format!("missing {} at {}", expecting.describe(), self.shown());
            return self.syntax_error(0, message);
        }
        Err(self.mismatched(expecting))
    }

    /// Before a choice: makes sure that one of these comes, if by dropping a word.
    pub(super) fn sync(&mut self, expecting: Kinds) -> Parsed<()> {
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

    /// The end of a rule: after a problem in it, reading goes on behind it.
    pub(super) fn rule(&mut self, after: After, result: Parsed<Deep>) -> Parsed<Deep> {
        match result {
            Err(Stop::Rule) => {
                self.recover(after.recover)?;
                Ok(Deep { expr: unspecified(), depth: 0 })
            }
            other => other,
        }
    }

    /// The same for a rule that adds to what its caller has.
    pub(super) fn sub_rule(&mut self, recover: Kinds, result: Parsed<()>) -> Parsed<()> {
        match result {
            Err(Stop::Rule) => self.recover(recover),
            other => other,
        }
    }

    pub(super) fn recover(&mut self, recover: Kinds) -> Parsed<()> {
        self.attempt()?;
        if self.last_recovery == Some(self.at) && self.kind() != End {
            self.advance();
        }
        self.skip_until(recover)?;
        self.last_recovery = Some(self.at);
        Ok(())
    }

    pub(super) fn skip_until(&mut self, stop: Kinds) -> Parsed<()> {
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

    pub(super) fn extraneous(&mut self, expecting: Kinds) -> Parsed<()> {
        let message = format!("extraneous input {} expecting {}", self.shown(), expecting.describe());
        self.syntax_error(0, message)
    }

    fn mismatched(&mut self, expecting: Kinds) -> Stop {
        let message = format!("mismatched input {} expecting {}", self.shown(), expecting.describe());
        self.syntax_error(0, message).err().unwrap_or(Stop::Rule)
    }

    /// Nothing that could start here goes on with the word so many ahead.
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
        let place = self.token_at(ahead).start;
        self.issues.report(Some(place), format!("Syntax error: {message}"));
        Ok(())
    }

    /// The word that stands here, as messages show it.
    fn shown(&self) -> String {
        if self.kind() == End { "'<EOF>'".to_owned() } else { escaped(&self.word()) }
    }
}

fn escaped(text: &str) -> String {
    format!("'{}'", text.replace('\t', "\\t").replace('\n', "\\n").replace('\r', "\\r"))
}
