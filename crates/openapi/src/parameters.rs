//! What can be said in the path and the query of a request.

use pintle_schema::{Shape, Type, find};

use crate::Options;
use crate::schema::scalar_type;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Parameter {
    pub(crate) name: &'static str,
    pub(crate) in_path: bool,
    pub(crate) of: &'static str,
    pub(crate) description: String,
}

impl Parameter {
    pub(crate) fn place(&self) -> &'static str {
        if self.in_path { "path" } else { "query" }
    }
}

/// Texts about the fields of options that stand in queries, for which [`crate::Documentation`] has none.
const TEXTS: &[(&str, &str)] = &[
    ("allowWatchBookmarks", "Asks a watch for BOOKMARK events, which say how far it has come."),
    ("continue", "Goes on with an earlier list: the token that came with its last page."),
    ("dryRun", "With 'All', the request goes through every stage but nothing is kept."),
    ("fieldManager", "The name of who makes the change, of at most 128 printable characters."),
    (
        "fieldValidation",
        "What to do about unknown and duplicate fields: 'Ignore' them, 'Warn' (the default), or be 'Strict' and refuse.",
    ),
    ("fieldSelector", "Restricts the objects by their fields. By default all are meant."),
    ("force", "Lets apply take over fields that others own. Only for apply."),
    ("labelSelector", "Restricts the objects by their labels. By default all are meant."),
    ("limit", "How many objects a list has at most; 'continue' in its metadata leads to the rest."),
    ("resourceVersion", "Which version of the data may be answered from."),
    ("resourceVersionMatch", "How 'resourceVersion' is to be understood by a list."),
    (
        "sendInitialEvents",
        "Lets a watch begin with the objects that there are, then a bookmark that says so.",
    ),
    ("shardSelector", "Restricts the objects to a range of the hashes of a field."),
    ("timeoutSeconds", "How long the list or watch may take."),
    ("watch", "Watches instead of listing."),
];

fn parameter(name: &'static str, in_path: bool, of: &'static str, description: String) -> Parameter {
    Parameter { name, in_path, of, description }
}

pub(crate) fn pretty() -> Parameter {
    parameter(
        "pretty",
        false,
        "string",
        "If 'true', the answer is indented. By default it is for browsers, curl and wget.".into(),
    )
}

pub(crate) fn namespace() -> Parameter {
    let text = "object name and auth scope, such as for teams and projects";
    parameter("namespace", true, "string", text.into())
}

pub(crate) fn object_name(kind: &str) -> Parameter {
    parameter("name", true, "string", format!("name of the {kind}"))
}

pub(crate) fn rest_of_path() -> Parameter {
    parameter("path", true, "string", "path to the resource".into())
}

pub(crate) fn log_path() -> Parameter {
    parameter("logpath", true, "string", "path to the log".into())
}

/// The fields of `ListOptions`; a `deletecollection` watches nothing.
pub(crate) fn list(options: &Options<'_>, watching: bool) -> Vec<Parameter> {
    let mut found = named("meta/v1.ListOptions", options);
    found.retain(|found| watching || !matches!(found.name, "watch" | "allowWatchBookmarks"));
    found
}

pub(crate) fn get(options: &Options<'_>) -> Vec<Parameter> {
    named("meta/v1.GetOptions", options)
}

pub(crate) fn create(options: &Options<'_>) -> Vec<Parameter> {
    named("meta/v1.CreateOptions", options)
}

pub(crate) fn update(options: &Options<'_>) -> Vec<Parameter> {
    named("meta/v1.UpdateOptions", options)
}

pub(crate) fn patch(options: &Options<'_>) -> Vec<Parameter> {
    named("meta/v1.PatchOptions", options)
}

pub(crate) fn delete(options: &Options<'_>) -> Vec<Parameter> {
    named("meta/v1.DeleteOptions", options)
}

fn named(name: &str, options: &Options<'_>) -> Vec<Parameter> {
    find(name).map(|of| of_type(of, options)).unwrap_or_default()
}

/// The fields of a struct that fit in a query: those of scalars and lists of them.
pub(crate) fn of_type(of: &'static Type, options: &Options<'_>) -> Vec<Parameter> {
    let fields = of.structure().map(|of| of.flat).unwrap_or_default();
    let fields = fields.iter().filter(|field| !matches!(field.name, "kind" | "apiVersion"));
    fields
        .filter_map(|field| {
            let general = || TEXTS.iter().find(|(name, _)| *name == field.name).map(|(_, text)| *text);
            let text = options.documentation.field(of, field.name).or_else(general).unwrap_or_default();
            Some(parameter(field.name, false, scalar(field.shape)?, text.to_owned()))
        })
        .collect()
}

fn scalar(shape: Shape) -> Option<&'static str> {
    match shape.underlying() {
        Shape::Pointer(of) | Shape::List(of) => scalar(*of),
        Shape::Scalar(of) => scalar_type(of).0,
        _ => None,
    }
}
