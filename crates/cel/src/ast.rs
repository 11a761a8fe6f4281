//! Syntax tree of an expression, with macros expanded.

use std::sync::Arc;

use crate::source::Offset;

/// Number of an expression, the key to its offset, its type and the function it calls.
pub(crate) type Id = u32;

#[derive(Clone, Debug)]
pub(crate) struct Expr {
    pub(crate) id: Id,
    pub(crate) kind: ExprKind,
}

#[derive(Clone, Debug)]
pub(crate) enum ExprKind {
    /// A part that could not be parsed.
    Unspecified,
    Literal(Literal),
    Ident(String),
    Select {
        operand: Box<Expr>,
        field: String,
        test: bool,
    },
    Call {
        target: Option<Box<Expr>>,
        function: String,
        args: Vec<Expr>,
    },
    List {
        items: Vec<Item>,
    },
    Map {
        entries: Vec<Entry>,
    },
    Struct {
        name: String,
        fields: Vec<Field>,
    },
    Comprehension(Box<Comprehension>),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Literal {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    String(Arc<str>),
    Bytes(Arc<[u8]>),
}

/// List item. An optional item (`[?a]`) is left out if it is `optional.none()`.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub(crate) value: Expr,
    pub(crate) optional: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) key: Expr,
    pub(crate) value: Expr,
    pub(crate) optional: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub(crate) id: Id,
    pub(crate) name: String,
    pub(crate) value: Expr,
    pub(crate) optional: bool,
}

/// Loop over a range with one accumulator: the expansion of macros such as `all` and `map`.
#[derive(Clone, Debug)]
pub(crate) struct Comprehension {
    pub(crate) range: Expr,
    pub(crate) variable: String,
    /// The variable of the value or item, if the first variable is that of the key or index.
    pub(crate) second: Option<String>,
    pub(crate) accumulator: String,
    pub(crate) start: Expr,
    pub(crate) condition: Expr,
    pub(crate) step: Expr,
    pub(crate) result: Expr,
}

/// Whole expression with the offsets of its parts.
#[derive(Debug)]
pub(crate) struct Ast {
    pub(crate) root: Expr,
    pub(crate) offsets: Vec<Offset>,
}

impl Expr {
    /// Returns the dotted name `a.b.c` if the expression consists of identifiers only.
    pub(crate) fn qualified_name(&self) -> Option<String> {
        match &self.kind {
            ExprKind::Ident(name) => Some(name.clone()),
            ExprKind::Select { operand, field, test: false } => {
                Some(format!("{}.{field}", operand.qualified_name()?))
            }
            _ => None,
        }
    }
}
