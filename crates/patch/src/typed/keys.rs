//! Key fields of list items.

use pintle_meta::quote_all;
use pintle_meta::value::Key;

/// Names of fields, as stored in schemas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keys<'t> {
    Builtin(&'static [&'static str]),
    Custom(&'t [Key]),
}

impl<'t> Keys<'t> {
    pub fn len(self) -> usize {
        match self {
            Keys::Builtin(names) => names.len(),
            Keys::Custom(names) => names.len(),
        }
    }

    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    pub fn iter(self) -> impl Iterator<Item = Key> + 't {
        let (builtin, custom): (&'static [&'static str], &'t [Key]) = match self {
            Keys::Builtin(names) => (names, &[]),
            Keys::Custom(names) => (&[], names),
        };
        builtin.iter().map(|name| Key::new_static(name)).chain(custom.iter().cloned())
    }

    /// Formats the names as messages do.
    pub(super) fn describe(self) -> String {
        match self {
            Keys::Builtin(names) => quote_all(names),
            Keys::Custom(names) => quote_all(&names.iter().map(Key::as_str).collect::<Vec<_>>()),
        }
    }
}
