//! Lists: of a tree, or made by the expression.

use std::sync::Arc;

use pintle_meta::Value;

use super::{Error, Val, from_tree};
use crate::types::{ListKind, ListType, Type};

/// A list.
#[derive(Clone, Debug)]
pub enum List<'v> {
    /// Of a tree; items are converted when they are looked at. Without a type they are what they look like.
    Tree {
        items: &'v [Value],
        of: Option<Arc<ListType>>,
    },
    Items(Arc<Vec<Val<'v>>>),
    /// Made of lists that a schema calls a set or a map, and compared like them.
    Merged {
        items: Arc<Vec<Val<'v>>>,
        of: Arc<ListType>,
    },
}

impl<'v> List<'v> {
    pub fn len(&self) -> usize {
        match self {
            List::Tree { items, .. } => items.len(),
            List::Items(items) | List::Merged { items, .. } => items.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// An item; there must be one.
    pub fn get(&self, index: usize) -> Result<Val<'v>, Error> {
        let none = || Error::new(format!("index out of bounds: {index}"));
        match self {
            List::Tree { items, of } => {
                from_tree(items.get(index).ok_or_else(none)?, of.as_ref().map_or(&Type::Dyn, |of| &of.item))
            }
            List::Items(items) | List::Merged { items, .. } => items.get(index).cloned().ok_or_else(none),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Result<Val<'v>, Error>> + '_ {
        (0..self.len()).map(|index| self.get(index))
    }

    /// The type that was declared for it.
    pub(crate) fn declared(&self) -> Option<&Arc<ListType>> {
        match self {
            List::Tree { of, .. } => of.as_ref(),
            List::Items(_) => None,
            List::Merged { of, .. } => Some(of),
        }
    }

    pub(crate) fn kind(&self) -> &ListKind {
        self.declared().map_or(&ListKind::Atomic, |of| &of.kind)
    }
}
