//! Label and field selectors: which objects a list, a watch or a controller wants.

pub mod field;
pub mod label;
mod label_parser;
mod label_selector;
mod matcher;

#[cfg(test)]
mod properties;

pub use label_selector::{LabelSelector, LabelSelectorRequirement, ValidationOptions};
pub use matcher::Matcher;
