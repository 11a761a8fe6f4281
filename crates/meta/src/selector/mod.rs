//! Label and field selectors of lists, watches and controllers.

pub mod field;
pub mod label;
mod label_parser;
mod label_selector;
mod matcher;

#[cfg(test)]
mod properties;

pub use label_selector::{LabelSelector, LabelSelectorRequirement, ValidationOptions};
pub use matcher::Matcher;
