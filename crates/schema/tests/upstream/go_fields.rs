//! Fields of every type, in Go's order.

use pintle_schema::{Field, Shape, TypeKind};
use serde_json::Value as Json;

use super::{document, none, type_of};

#[test]
fn fields_are_as_go_declares_them() {
    let Some(types) = document("go-fields.json") else { return };
    let (mut differences, mut checked) = (Vec::new(), 0);
    for (path, declared) in types.as_object().unwrap() {
        let Some(found) = type_of(path) else {
            differences.push(format!("{path} is missing"));
            continue;
        };
        let TypeKind::Struct(of) = &found.kind else { continue };
        let declared: Vec<String> = declared.as_array().into_iter().flatten().map(described).collect();
        let fields: Vec<String> = of.fields.iter().map(description).collect();
        checked += fields.len();
        if declared != fields {
            differences.push(format!(
                "{path}: want\n  {}\nhave\n  {}",
                declared.join("\n  "),
                fields.join("\n  ")
            ));
        }
    }
    none(&differences);
    assert!(checked > 4000, "{checked}");
}

fn described(field: &Json) -> String {
    let text = |key: &str| field[key].as_str().unwrap_or_default();
    let flags = ["omitempty", "omitzero"].into_iter().filter(|flag| field[*flag] == true);
    format!("{:?} {} {} {:?}", text("name"), text("kind"), text("go"), flags.collect::<Vec<_>>())
}

fn description(field: &Field) -> String {
    let kind = match field.shape.underlying() {
        Shape::Scalar(_) => "scalar",
        Shape::Bytes | Shape::List(_) => "slice",
        Shape::Named(_) => "struct",
        Shape::Pointer(_) => "pointer",
        Shape::Map(..) => "map",
    };
    let name = field.shape.go_name();
    let mut flags = Vec::new();
    flags.extend(field.omit_empty.then_some("omitempty"));
    flags.extend(field.omit_zero.then_some("omitzero"));
    format!("{:?} {kind} {} {flags:?}", field.name, name.strip_prefix('*').unwrap_or(&name))
}
