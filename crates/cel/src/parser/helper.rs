//! Basics of the parser: current token, expression ids, limits.

use super::{DEEPEST, Deep, MOST_PARTS, Parsed, Parser, Stop};
use crate::ast::{Expr, Id};
use crate::lexer::{Token, TokenKind};
use crate::source::Offset;

impl Parser<'_> {
    pub(super) fn token_at(&self, ahead: usize) -> Token {
        self.tokens[(self.at + ahead).min(self.tokens.len() - 1)]
    }

    pub(super) fn token(&self) -> Token {
        self.token_at(0)
    }

    pub(super) fn kind_at(&self, ahead: usize) -> TokenKind {
        self.token_at(ahead).kind
    }

    pub(super) fn kind(&self) -> TokenKind {
        self.kind_at(0)
    }

    pub(super) fn word(&self) -> String {
        let token = self.token();
        self.text[token.start as usize..token.end as usize].iter().collect()
    }

    pub(super) fn advance(&mut self) {
        self.at = (self.at + 1).min(self.tokens.len() - 1);
    }

    pub(super) fn id(&mut self, offset: Offset) -> Id {
        self.offsets.push(offset);
        (self.offsets.len() - 1) as Id
    }

    /// Allocates an id for the expression of the current token.
    pub(super) fn id_here(&mut self) -> Id {
        self.id(Some(self.token().start))
    }

    pub(super) fn offset_of(&self, id: Id) -> Offset {
        self.offsets[id as usize]
    }

    /// Fails if so many more parts exceed the limit.
    pub(super) fn room_for(&mut self, parts: usize) -> Parsed<()> {
        if self.offsets.len() + parts > MOST_PARTS {
            self.issues.report(None, format!("expression size exceeds limit: {MOST_PARTS}"));
            return Err(Stop::All);
        }
        Ok(())
    }

    /// Wraps an expression whose deepest operand has this depth; fails past the limit.
    pub(super) fn deeper(&mut self, depth: usize, expr: Expr) -> Parsed<Deep> {
        if depth >= DEEPEST {
            self.issues.report(None, "max recursion depth exceeded");
            return Err(Stop::All);
        }
        Ok(Deep { expr, depth: depth + 1 })
    }

    pub(super) fn too_deep<T>(&mut self) -> Parsed<T> {
        self.issues.report(None, format!("expression recursion limit exceeded: {DEEPEST}"));
        Err(Stop::All)
    }
}
