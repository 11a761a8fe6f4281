//! Subresources that show something else than the object they are of, or do something to it.

mod binding;
mod eviction;
mod scale;
mod token;

pub use self::binding::Binding;
pub use self::eviction::Eviction;
pub use self::scale::{Scale, Scaled};
pub use self::token::{TokenRequest, TokenRequestSettings};
