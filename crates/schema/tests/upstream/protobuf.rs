//! Numbers and types of every protobuf message.

use pintle_schema::{Field, Opaque, Scalar, Shape, TypeKind};
use serde_json::Value as Json;

use super::{document, none, type_of};

/// Packages of other servers.
const OTHERS: [&str; 3] =
    ["k8s.io.apiserver.", "k8s.io.metrics.", "k8s.io.apimachinery.pkg.apis.testapigroup."];

#[test]
fn messages_have_the_fields_and_numbers_of_the_types() {
    let Some(packages) = document("protobuf-fields.json") else { return };
    let (mut differences, mut checked) = (Vec::new(), 0);
    for (package, messages) in packages.as_object().unwrap() {
        if OTHERS.iter().any(|other| package.starts_with(other)) {
            continue;
        }
        for (message, declared) in messages.as_object().unwrap() {
            let Some(found) = type_of(&format!("{package}.{message}")) else { continue };
            let TypeKind::Struct(of) = &found.kind else { continue };
            let mut declared: Vec<String> =
                declared.as_array().unwrap().iter().map(|field| described(package, field)).collect();
            let mut fields: Vec<String> = of.fields.iter().filter_map(description).collect();
            declared.sort();
            fields.sort();
            checked += fields.len();
            if declared != fields {
                differences.push(format!(
                    "{}: want\n  {}\nhave\n  {}",
                    found.name,
                    declared.join("\n  "),
                    fields.join("\n  ")
                ));
            }
        }
    }
    none(&differences);
    assert!(checked > 4000, "{checked}");
}

fn described(package: &str, field: &Json) -> String {
    let repeated = if field["repeated"] == true { "repeated " } else { "" };
    let text = field["type"].as_str().unwrap();
    let full = |name: &str| match name {
        "string" | "bool" | "int32" | "int64" | "double" | "bytes" => name.to_owned(),
        _ => match name.strip_prefix('.') {
            Some(path) => type_of(path).map_or(path.into(), |found| found.name.to_owned()),
            None => type_of(&format!("{package}.{name}")).map_or(name.into(), |found| found.name.to_owned()),
        },
    };
    let shown = match text.strip_prefix("map<").and_then(|rest| rest.strip_suffix('>')?.split_once(", ")) {
        Some((key, value)) => format!("map<{}, {}>", full(key), full(value)),
        None => full(text),
    };
    format!("{} {repeated}{shown}", field["number"])
}

fn description(field: &Field) -> Option<String> {
    Some(format!("{} {}", field.number?, shape(field.shape)))
}

/// Formats a shape as in protobuf: a named list of strings is a message.
fn shape(of: Shape) -> String {
    match of {
        Shape::Pointer(of) => shape(*of),
        Shape::List(of) => format!("repeated {}", shape(*of)),
        Shape::Map(key, value) => format!("map<{}, {}>", shape(*key), shape(*value)),
        Shape::Bytes => "bytes".into(),
        Shape::Scalar(scalar) => match scalar {
            Scalar::String => "string",
            Scalar::Bool => "bool",
            Scalar::Int32 => "int32",
            Scalar::Int64 => "int64",
            Scalar::Float64 => "double",
            Scalar::Any => "any",
        }
        .into(),
        Shape::Named(named) => match &named.kind {
            TypeKind::Alias { of: Shape::List(item), .. } if shape(**item) == "string" => named.name.into(),
            TypeKind::Alias { of, .. } if of.structure().is_some() => named.name.into(),
            TypeKind::Alias { of, .. } => shape(*of),
            TypeKind::Opaque(Opaque::GroupVersion) => "string".into(),
            _ => named.name.into(),
        },
    }
}
