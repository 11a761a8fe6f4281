//! ServiceAccounts.

pub(crate) mod token;
