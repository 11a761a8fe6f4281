//! Certificates, public keys and the PEM around them, read as Go reads them.

mod certificate;
pub mod pem;
mod public_key;

pub use certificate::Certificate;
pub use public_key::{Curve, PublicKey};

#[cfg(test)]
mod tests;
