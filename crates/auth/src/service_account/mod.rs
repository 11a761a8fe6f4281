//! Service accounts: who holds one of their tokens, and the keys that those are signed with.

mod keys;

pub use self::keys::{KeyError, read_public_keys};
pub use crate::jwt::PublicKey;
