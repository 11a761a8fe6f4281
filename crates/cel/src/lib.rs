//! The Common Expression Language as Kubernetes 1.36 uses it, evaluated over [`Value`](pintle_meta::Value) trees.
//!
//! ```
//! use pintle_cel::{Activation, Budget, Declarations, Environment, Type};
//! use pintle_meta::{Object, Value};
//!
//! let environment = Environment::new(Declarations::new().variable("claims", Type::map(Type::String, Type::Dyn)));
//! let program = environment.compile("claims.?email_verified.orValue(true) && claims.sub != ''").unwrap();
//! assert_eq!(*program.result_type(), Type::Bool);
//!
//! let claims = Value::from(Object::from_iter([("sub", "jane")]));
//! let done = program.evaluate(&Activation::new().bind("claims", &claims), Budget::PER_CALL);
//! assert_eq!(done.value.unwrap().as_bool(), Some(true));
//! ```
//!
//! An [`Environment`] declares variables with their types and compiles expressions: text to a syntax tree (`parser`),
//! to types and functions (`checker`), to a plan (`plan`). A [`Program`] is shared and evaluated any number of times
//! (`evaluate`) with an [`Activation`] of values and a [`Budget`]. Trees are not copied: nodes are converted to
//! values of their declared types when an expression reads them.
//!
//! Text, depth and size of expressions are bounded, and so are the cost and the work of an evaluation. Messages are
//! cel-go's, since users see them.

mod admission;
mod ast;
mod checker;
mod composition;
mod cost;
mod device;
mod environment;
mod escaping;
mod estimate;
mod evaluate;
mod functions;
mod lexer;
mod literal;
mod meter;
mod parser;
mod plan;
mod program;
mod selects;
mod shards;
mod source;
mod types;
mod value;

pub use admission::{AdmissionVariables, admission, typed_admission, variable_type};
pub use composition::PolicyVariables;
pub use device::{DeviceFeatures, DeviceSizes, device_selector};
pub use environment::{Declarations, Environment, Expression, TypeNames};
pub use escaping::{escape, unescape};
pub use estimate::{Range, Sizes};
pub use functions::{Authorizer, Check, Checked, Decision, ResourceCheck, Url, authorizer, resource_check};
pub use program::{Activation, Budget, EvalError, Evaluation, LazyFields, Program};
pub use selects::{Nesting, selects};
pub use shards::parse_shards;
pub use source::{CompileError, Issue};
pub use types::{Field, ListKind, ListType, ObjectType, Record, Type};
pub use value::{Blob, Error, Foreign, List, Map, Opaque, Other, Step, Text, Timestamp, Unconvertible, Val};

/// Text formats that other crates validate too.
pub mod formats {
    pub use crate::functions::{is_base64, is_date, is_date_time, is_request_uri, is_uuid};
}

#[cfg(test)]
mod tests;
