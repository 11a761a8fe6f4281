//! Kubernetes' own vocabulary, free of any I/O: kinds and resources, the `Status` object that every error becomes, field
//! paths and errors, selectors, quantities, times, the tree that objects are, the formats of names and labels, and how Go reads and prints durations
//! and quoted text, which users see in messages and flags.

mod duration;
pub mod field_path;
pub mod gvk;
pub mod int_or_string;
pub mod names;
pub mod quantity;
mod quote;
pub mod selector;
pub mod shards;
mod status;
pub mod time;
pub mod validation;
pub mod value;
pub mod warnings;

pub use duration::{format_duration, parse_duration};
pub use quote::{is_printable, push_quoted, quote, quote_all, quote_char};
pub use status::{Cause, CauseType, Details, Reason, ServerResponse, Status};
pub use value::{Node, Object, Value};
pub use warnings::Warnings;
