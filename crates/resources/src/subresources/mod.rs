//! Subresources that show something else than the object they are of, or do something to it.

mod scale;

pub use self::scale::Scale;
