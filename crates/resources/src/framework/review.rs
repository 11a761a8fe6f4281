//! Reviews: questions about access, asked by creating an object that is not stored and answered by its status.
//!
//! ```text
//! authorization.k8s.io    SubjectAccessReview, LocalSubjectAccessReview, SelfSubjectAccessReview   access of a user, of the caller
//!                         SelfSubjectRulesReview                                                  rules of the caller
//! authentication.k8s.io   TokenReview                                                             user of a token
//!                         SelfSubjectReview                                                       user of the request
//! ```
//!
//! Here is what they share; each has a file in its group.

use pintle_auth::User;
use pintle_codec::json as codec;
use pintle_meta::{Status, Value};
use pintle_registry::{Context, Result};
use pintle_schema::find;
use serde::Deserialize;
use serde_json::json;

/// Returns a value of a type of the type graph, given as JSON.
pub(crate) fn decoded(of: &str, json: &serde_json::Value) -> Result<Value> {
    let found = find(of).ok_or_else(|| Status::internal(format_args!("there is no type {of}")))?;
    let value = codec::decode(found, json.to_string().as_bytes()).map_err(Status::internal)?;
    Ok(value.value)
}

/// Reads a part of a review.
pub(crate) fn part<T: for<'de> Deserialize<'de>>(object: &Value, name: &str) -> Result<T> {
    let part = object.get(name).unwrap_or(&Value::NULL);
    Ok(part.view().map_err(Status::internal)?)
}

/// Returns the user of the request.
pub fn requesting_user(context: &Context) -> User {
    User {
        name: context.user.clone(),
        uid: context.user_uid.clone(),
        groups: context.groups.clone(),
        extra: context.extra.clone(),
    }
}

/// Returns the JSON of a user in a status.
pub(crate) fn user_info(user: &User) -> serde_json::Value {
    let mut info = json!({ "username": user.name, "uid": user.uid });
    if !user.groups.is_empty() {
        info["groups"] = json!(user.groups);
    }
    if !user.extra.is_empty() {
        info["extra"] = json!(user.extra);
    }
    info
}
