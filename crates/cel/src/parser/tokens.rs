//! Token sets of the grammar: reserved words, and the tokens that rules start with and are followed by.

use crate::lexer::TokenKind::{self, *};
use crate::lexer::TokenKinds;

/// Reserved words of the language.
pub(crate) const RESERVED: &[&str] = &[
    "as",
    "break",
    "const",
    "continue",
    "else",
    "false",
    "for",
    "function",
    "if",
    "import",
    "in",
    "let",
    "loop",
    "package",
    "namespace",
    "null",
    "return",
    "true",
    "var",
    "void",
    "while",
];

/// Tokens that an operand may start with.
pub(super) const PRIMARY: TokenKinds = TokenKinds::of(&[
    OpenBracket,
    OpenBrace,
    OpenParen,
    Dot,
    Minus,
    True,
    False,
    Null,
    Float,
    Int,
    Uint,
    String,
    Bytes,
    Identifier,
]);
pub(super) const START: TokenKinds = PRIMARY.with(TokenKinds::of(&[Exclamation]));
pub(super) const OPTIONAL_START: TokenKinds = START.with(TokenKinds::of(&[Question]));
/// Tokens that may follow an operand within its expression.
pub(super) const OPERATORS: TokenKinds = TokenKinds::of(&[
    Star,
    Slash,
    Percent,
    Plus,
    Minus,
    Less,
    LessEquals,
    GreaterEquals,
    Greater,
    Equals,
    NotEquals,
    In,
    And,
    Or,
]);
pub(super) const NAME: TokenKinds = TokenKinds::of(&[Identifier, Escaped]);

/// Token sets of a rule: those that may follow it, and those at which an enclosing rule can resume.
#[derive(Clone, Copy)]
pub(super) struct After {
    pub(super) follow: TokenKinds,
    pub(super) recover: TokenKinds,
}

impl After {
    /// Sets of a rule that must be followed by one of these.
    pub(super) fn then(self, kinds: &[TokenKind]) -> After {
        let kinds = TokenKinds::of(kinds);
        After { follow: kinds, recover: self.recover.with(kinds) }
    }

    /// Sets of a rule that may be followed by one of these, or by the tokens after the whole.
    pub(super) fn or(self, kinds: TokenKinds) -> After {
        After { follow: self.follow.with(kinds), recover: self.recover.with(kinds) }
    }
}
