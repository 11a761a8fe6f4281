//! The columns of `ResourceQuota`.

use pintle_meta::{Object, Value};

use crate::framework::columns::{AGE, Columns, NAME, cell, text};

pub(super) static RESOURCE_QUOTA: Columns = Columns::new(
    "core/v1.ResourceQuota",
    &[
        NAME,
        text("Request", "Request represents a minimum amount of cpu/memory that a container may consume."),
        text(
            "Limit",
            "Limits control the maximum amount of cpu/memory that a container may use independent of contention on the node.",
        ),
        AGE,
    ],
    |object, context, cells| {
        let (requests, limits) = used(object);
        cells.extend([cell::name(object), requests.into(), limits.into(), context.age(object)]);
    },
);

/// What is used of what there is, limits apart from the rest.
fn used(object: &Value) -> (String, String) {
    let (mut requests, mut limits) = (Vec::new(), Vec::new());
    let hard = object.at(&["status", "hard"]).and_then(Value::as_object);
    for resource in hard.into_iter().flat_map(Object::keys) {
        let used = cell::quantity(object, &["status", "used", resource]);
        let hard = cell::quantity(object, &["status", "hard", resource]);
        let column = if resource.starts_with("limits.") { &mut limits } else { &mut requests };
        column.push(format!("{resource}: {used}/{hard}"));
    }
    (requests.join(", "), limits.join(", "))
}
