//! The parser's small change: words, numbers of expressions, limits.

use super::{DEEPEST, Deep, MOST_PARTS, Parsed, Parser, Stop};
use crate::ast::{Expr, Id};
use crate::lexer::{Kind, Token};
use crate::source::Offset;

impl Parser<'_> {
    pub(super) fn token_at(&self, ahead: usize) -> Token {
        self.tokens[(self.at + ahead).min(self.tokens.len() - 1)]
    }

    pub(super) fn token(&self) -> Token {
        self.token_at(0)
    }

    pub(super) fn kind_at(&self, ahead: usize) -> Kind {
        self.token_at(ahead).kind
    }

    pub(super) fn kind(&self) -> Kind {
        self.kind_at(0)
    }

    pub(super) fn word(&self) -> String {
        let token = self.token();
        self.text[token.start as usize..token.end as usize].iter().collect()
    }

    pub(super) fn advance(&mut self) {
        self.at = (self.at + 1).min(self.tokens.len() - 1);
    }

    pub(super) fn id(&mut self, place: Offset) -> Id {
        self.places.push(place);
        (self.places.len() - 1) as Id
    }

    /// A number for the expression that the word at hand stands for.
    pub(super) fn id_here(&mut self) -> Id {
        self.id(Some(self.token().start))
    }

    pub(super) fn place(&self, id: Id) -> Offset {
        self.places[id as usize]
    }

    /// Makes sure that so many more parts are not too many.
    pub(super) fn room_for(&mut self, parts: usize) -> Parsed<()> {
        if self.places.len() + parts > MOST_PARTS {
            self.issues.report(None, format!("expression size exceeds limit: {MOST_PARTS}"));
            return Err(Stop::All);
        }
        Ok(())
    }

    /// An expression around others that are so deep.
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
