//! The Common Expression Language as Kubernetes 1.36 uses it, over the tree that objects are.
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
//! An [`Environment`] knows which variables there are and of which type, and compiles expressions: text, to a tree
//! (`parser`), to types and functions (`checker`), to steps (`plan`). A [`Program`] is shared and evaluated any number of
//! times (`evaluate`) with an [`Activation`] of values and a [`Budget`]. Nothing of a tree is copied: a value is what the
//! declared type makes of the node that an expression looks at.
//!
//! Whatever an expression is, its text, depth and parts are bounded, and so is what its evaluation costs, copies and
//! compares. Messages are cel-go's, since users see them.

mod ast;
mod checker;
mod cost;
mod environment;
mod escaping;
mod estimate;
mod evaluate;
mod functions;
mod lexer;
mod literal;
mod parser;
mod plan;
mod program;
mod selects;
mod shards;
mod source;
mod types;
mod value;

pub use environment::{Declarations, Environment, Expression, TypeNames};
pub use escaping::{escape, unescape};
pub use estimate::{Range, Sizes};
pub use functions::{Authorizer, Check, Checked, Decision, ResourceCheck, Url, authorizer, resource_check};
pub use program::{Activation, Budget, EvalError, Evaluation, LazyFields, Program};
pub use selects::selects;
pub use shards::parse_shards;
pub use source::{CompileError, Issue};
pub use types::{Field, ListKind, ListType, ObjectType, Record, Type};
pub use value::{Blob, Error, List, Map, Opaque, Other, Text, Timestamp, Val};

/// Texts that have a form, for those who need to know outside of expressions too.
pub mod formats {
    pub use crate::functions::{is_base64, is_date, is_date_time, is_request_uri, is_uuid};
}

#[cfg(test)]
mod tests;
