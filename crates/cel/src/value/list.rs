//! Lists: of a tree, or built by the expression.

use std::sync::Arc;

use pintle_meta::Value;

use super::{Error, Val, from_tree};
use crate::types::{ListKind, ListType, Type};

#[derive(Clone, Debug)]
pub enum List<'v> {
    /// A list of a tree; items are converted when they are read, by their JSON type if none is declared.
    Tree {
        items: &'v [Value],
        of: Option<Arc<ListType>>,
    },
    Items(Arc<Vec<Val<'v>>>),
    /// Sum of lists. In a mutation, the reference converts its items more deeply than those of a list that was written.
    Joined(Arc<Vec<Val<'v>>>),
    /// Sum of lists that a schema declares as set or map, compared as those are.
    Merged {
        items: Arc<Vec<Val<'v>>>,
        of: Arc<ListType>,
    },
}

impl<'v> List<'v> {
    pub fn len(&self) -> usize {
        match self {
            List::Tree { items, .. } => items.len(),
            List::Items(items) | List::Joined(items) | List::Merged { items, .. } => items.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns an item; an index out of bounds is an error.
    pub fn get(&self, index: usize) -> Result<Val<'v>, Error> {
        let none = || Error::new(format!("index out of bounds: {index}"));
        match self {
            List::Tree { items, of } => {
                from_tree(items.get(index).ok_or_else(none)?, of.as_ref().map_or(&Type::Dyn, |of| &of.item))
            }
            List::Items(items) | List::Joined(items) | List::Merged { items, .. } => {
                items.get(index).cloned().ok_or_else(none)
            }
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Result<Val<'v>, Error>> + '_ {
        (0..self.len()).map(|index| self.get(index))
    }

    /// Returns the declared type.
    pub(crate) fn declared(&self) -> Option<&Arc<ListType>> {
        match self {
            List::Tree { of, .. } => of.as_ref(),
            List::Items(_) | List::Joined(_) => None,
            List::Merged { of, .. } => Some(of),
        }
    }

    pub(crate) fn kind(&self) -> &ListKind {
        self.declared().map_or(&ListKind::Atomic, |of| &of.kind)
    }
}
