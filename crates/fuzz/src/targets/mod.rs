//! Fuzz targets: every parser of input from clients, and of what kubelets send.

mod apply;
mod cel;
mod codec;
mod connections;
mod definitions;
mod jwt;
mod patch;
mod text;

use std::fmt::Display;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::Target;

/// All of them.
pub fn targets() -> Vec<Target> {
    [
        text::TARGETS,
        cel::TARGETS,
        codec::TARGETS,
        connections::TARGETS,
        jwt::TARGETS,
        patch::TARGETS,
        apply::TARGETS,
        definitions::TARGETS,
    ]
    .concat()
}

/// A number for the way something went.
fn way(of: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

/// A text's punctuation, up to a point: what it is made of, without what it says.
fn skeleton(text: &str) -> String {
    text.chars().filter(|c| !c.is_alphanumeric()).take(8).collect()
}

/// The way of an error: its text without quoted parts and digits, which are the input's.
fn refused(error: impl Display) -> u64 {
    let text = error.to_string();
    let mut quoted = false;
    let kept = text.chars().filter(|c| {
        if matches!(c, '"' | '\'' | '`') {
            quoted = !quoted;
        }
        !quoted && !c.is_ascii_digit()
    });
    way(kept.take(48).collect::<String>())
}
