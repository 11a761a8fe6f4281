//! Parameters in the path and the query of a request.

use pintle_schema::{Shape, Type, find};

use crate::Options;
use crate::schema::scalar_type;

mod texts;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Parameter {
    pub(crate) name: &'static str,
    pub(crate) in_path: bool,
    pub(crate) of: &'static str,
    pub(crate) description: String,
}

impl Parameter {
    pub(crate) fn location(&self) -> &'static str {
        if self.in_path { "path" } else { "query" }
    }
}

fn parameter(name: &'static str, in_path: bool, of: &'static str, description: String) -> Parameter {
    Parameter { name, in_path, of, description }
}

pub(crate) fn pretty() -> Parameter {
    parameter(
        "pretty",
        false,
        "string",
        "If 'true', then the output is pretty printed. Defaults to 'false' unless the user-agent indicates a browser or \
         command-line HTTP tool (curl and wget)."
            .into(),
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
            let general = || texts::find(of.kind_name(), field.name);
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
