//! Reviews: questions about access, asked by creating an object that is not stored and answered by its status.
//!
//! ```text
//! authorization.k8s.io    SubjectAccessReview, LocalSubjectAccessReview, SelfSubjectAccessReview   access of a user, of the caller
//!                         SelfSubjectRulesReview                                                  rules of the caller
//! authentication.k8s.io   TokenReview                                                             user of a token
//!                         SelfSubjectReview                                                       user of the request
//! ```

mod access;
mod rules;
mod selectors;
mod subject;
mod token;

pub use access::AccessReview;
pub use rules::RulesReview;
pub use subject::SelfReview;
pub use token::TokenReview;

use pintle_auth::User;
use pintle_codec::json;
use pintle_meta::{Status, Value};
use pintle_registry::{Context, Result};
use pintle_schema::find;
use serde::Deserialize;
use serde_json::json;

/// An object or a part of one out of what it says.
fn typed(of: &str, says: &serde_json::Value) -> Result<Value> {
    let found = find(of).ok_or_else(|| Status::internal(format_args!("there is no type {of}")))?;
    let decoded = json::decode(found, says.to_string().as_bytes()).map_err(Status::internal)?;
    Ok(decoded.value)
}

/// Reads a part of a review.
fn view<T: for<'de> Deserialize<'de>>(object: &Value, part: &str) -> Result<T> {
    let part = object.get(part).unwrap_or(&Value::NULL);
    Ok(part.view().map_err(Status::internal)?)
}

/// Returns the user of the request.
fn asking(context: &Context) -> User {
    User {
        name: context.user.clone(),
        uid: context.user_uid.clone(),
        groups: context.groups.clone(),
        extra: context.extra.clone(),
    }
}

/// A user as an answer shows it.
fn shown(user: &User) -> serde_json::Value {
    let mut shown = json!({ "username": user.name, "uid": user.uid });
    if !user.groups.is_empty() {
        shown["groups"] = json!(user.groups);
    }
    if !user.extra.is_empty() {
        shown["extra"] = json!(user.extra);
    }
    shown
}

/// Whose access is asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    Anyone,
    /// Anyone's in the namespace of the request.
    AnyoneLocally,
    Own,
}
