//! The facts as text: one type after the other, one field to a line, all that a field is on that line.
//!
//! ```text
//! struct core/v1.Container
//!   name 1 string
//!   ports 6 []core/v1.ContainerPort omitempty list=map keys=containerPort,protocol patch=merge:containerPort
//!
//! alias core/v1.Protocol string enum=SCTP,TCP,UDP
//! opaque resource.Quantity
//! ```
//!
//! A number is the field's in protobuf, `-` where it is not sent there. `*` is a pointer. An inline field has no name.

use std::fmt::Write;

use super::collect::{Declared, Types};
use super::golang::{Field, Shape};

pub(super) fn render(types: &Types) -> String {
    let mut text =
        String::from("# Written by `cargo xtask schema`. Facts of the API types, one field to a line.\n");
    for (path, declared) in types {
        // Writing to a string does not fail.
        let _ = describe(&mut text, path, declared);
    }
    text
}

fn describe(text: &mut String, path: &str, declared: &Declared) -> std::fmt::Result {
    let name = short(path);
    let atomic = if declared.atomic { " atomic" } else { "" };
    match &declared.shape {
        _ if declared.own_json => writeln!(text, "\nopaque {name}"),
        Shape::Other => Ok(()),
        Shape::Struct(fields) => {
            let fields: Vec<&Field> = fields.iter().filter(|field| is_data(field)).collect();
            let union = if declared.union { " union" } else { "" };
            writeln!(text, "\nstruct {name}{atomic}{union}")?;
            fields.into_iter().try_for_each(|field| describe_field(text, field))
        }
        shape => {
            write!(text, "\nalias {name} {}{atomic}", expression(shape))?;
            if !declared.values.is_empty() {
                let values: Vec<&str> = declared.values.iter().map(String::as_str).collect();
                write!(text, " enum={}", values.join(","))?;
            }
            writeln!(text)
        }
    }
}

/// Whether a field is part of the JSON at all.
fn is_data(field: &Field) -> bool {
    field.tags.get("json").is_some_and(|tag| tag != "-")
}

fn describe_field(text: &mut String, field: &Field) -> std::fmt::Result {
    let mut json = field.tags.get("json").map_or("", String::as_str).split(',');
    let name = json.next().unwrap_or_default();
    let options: Vec<&str> = json.collect();
    let name = if name.is_empty() { "." } else { name };
    write!(text, "  {name} {} {}", number(field), expression(&field.shape))?;
    for option in ["inline", "omitempty", "omitzero"] {
        if options.contains(&option) {
            write!(text, " {option}")?;
        }
    }
    for (marker, fact) in [("listType", "list"), ("mapType", "map"), ("structType", "struct")] {
        if let Some(value) = field.markers.value(marker) {
            write!(text, " {fact}={value}")?;
        }
    }
    let keys: Vec<&str> = field.markers.values("listMapKey").collect();
    if !keys.is_empty() {
        write!(text, " keys={}", keys.join(","))?;
    }
    if let Some(strategy) = field.tags.get("patchStrategy") {
        let key = field.tags.get("patchMergeKey").map_or(String::new(), |key| format!(":{key}"));
        write!(text, " patch={strategy}{key}")?;
    }
    if field.markers.has("unionDiscriminator") {
        write!(text, " discriminator")?;
    }
    // Said only where the tags would have it otherwise.
    let may_be_absent = options.contains(&"omitempty") || options.contains(&"omitzero");
    if field.markers.has("optional") {
        write!(text, " optional")?;
    } else if field.markers.has("required") && may_be_absent {
        write!(text, " required")?;
    }
    // Last, because its value may have spaces.
    if let Some(default) = field.markers.value("default") {
        write!(text, " default={default}")?;
    }
    writeln!(text)
}

/// The field's number in protobuf.
fn number(field: &Field) -> &str {
    let number = field.tags.get("protobuf").and_then(|tag| tag.split(',').nth(1));
    number.filter(|number| !number.is_empty()).unwrap_or("-")
}

pub(super) fn expression(shape: &Shape) -> String {
    match shape {
        Shape::Named(name) => short(name),
        Shape::Pointer(of) => format!("*{}", expression(of)),
        Shape::Slice(of) => format!("[]{}", expression(of)),
        Shape::Map(key, value) => format!("map[{}]{}", expression(key), expression(value)),
        Shape::Struct(_) | Shape::Other => "unknown".into(),
    }
}

/// The path without the folders that all have in common: `core/v1.Pod`, `meta/v1.ObjectMeta`, `resource.Quantity`.
pub(super) fn short(path: &str) -> String {
    let folders = [
        "k8s.io/apiextensions-apiserver/pkg/apis/",
        "k8s.io/kube-aggregator/pkg/apis/",
        "k8s.io/apimachinery/pkg/apis/",
        "k8s.io/apimachinery/pkg/api/",
        "k8s.io/apimachinery/pkg/util/",
        "k8s.io/apimachinery/pkg/",
        "k8s.io/api/",
        super::collect::INTERNAL,
    ];
    folders.iter().find_map(|folder| path.strip_prefix(folder)).unwrap_or(path).to_owned()
}
