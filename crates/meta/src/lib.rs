//! Kubernetes' vocabulary, without I/O: kinds and resources, the `Status` of errors, field paths and errors,
//! selectors, quantities, times, the object tree, name and label formats, and Go's durations and quoting, which users
//! see in messages and flags.

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
