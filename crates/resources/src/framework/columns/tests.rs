//! Tests of the columns of all kinds.

use std::path::Path;

use pintle_codec::json;
use pintle_meta::value::Object;
use pintle_meta::{Node, Value};
use pintle_published::upstream;
use pintle_schema::normal::{Builder, zero_struct};
use pintle_schema::{Opaque, Resource, Resources, Scalar, Shape, Type, find};
use proptest::prelude::*;

use super::testing::context;
use super::*;

fn each_table(mut each: impl FnMut(&Resource, &'static Columns)) -> usize {
    let resources = Resources::builtin().unwrap();
    let all = resources.versions().iter().flat_map(|version| &version.resources);
    let shown = all.filter_map(|resource| Some((resource, of_resource(resource)?)));
    shown.map(|(resource, columns)| each(resource, columns)).count()
}

fn type_of_trees(resource: &Resource, columns: &Columns) -> &'static Type {
    columns.reads.map_or(resource.kind, |name| find(name).unwrap())
}

fn cells(columns: &Columns, object: &Value) -> Vec<Value> {
    let mut cells = Vec::new();
    columns.cells(object, &context(), &mut cells);
    cells
}

/// There is one kind that has more cells than columns, in the reference too.
fn count(of: &Type, columns: &Columns) -> usize {
    columns.definitions.len() + usize::from(of.kind_name() == "IPAddress")
}

#[test]
fn everything_that_is_stored_is_shown_from_the_version_it_is_stored_in() {
    let shown = each_table(|resource, columns| {
        if let (Some(reads), Some(storage)) = (columns.reads, resource.storage) {
            assert_eq!(reads, storage.kind.name);
        }
        assert!(!columns.definitions.is_empty());
    });
    assert!(shown > 100, "{shown}");
}

#[test]
fn which_kinds_have_no_columns_of_their_own() {
    let resources = Resources::builtin().unwrap();
    let all = resources.versions().iter().flat_map(|version| &version.resources);
    let default = all.filter(|resource| of_resource(resource).is_some_and(|of| std::ptr::eq(of, &DEFAULT)));
    let default: Vec<&str> = default.map(|resource| resource.name).collect();
    let expected =
        ["limitranges", "clusterroles", "roles", "csistoragecapacities", "customresourcedefinitions"];
    assert_eq!(default, expected);
}

#[test]
fn what_cannot_be_shown_as_a_table() {
    let resources = Resources::builtin().unwrap();
    for (group, name, is_shown) in [
        ("", "pods", true),
        ("", "pods/status", true),
        ("", "pods/log", false),
        ("", "pods/ephemeralcontainers", false),
        ("", "bindings", false),
        ("", "componentstatuses", true),
        ("apps", "deployments/scale", true),
        ("apiextensions.k8s.io", "customresourcedefinitions/status", false),
        ("authentication.k8s.io", "tokenreviews", false),
    ] {
        let found = resources.find(group, "v1", name).unwrap();
        assert_eq!(of_resource(found).is_some(), is_shown, "{name}");
    }
    let scale = resources.find("apps", "v1", "deployments/scale").unwrap();
    assert_eq!(of_resource(scale).unwrap().reads, Some("autoscaling/v1.Scale"));
}

#[test]
fn an_object_without_anything_has_all_cells() {
    each_table(|resource, columns| {
        let of = type_of_trees(resource, columns);
        let zero = zero_struct(of.structure().unwrap());
        assert_eq!(cells(columns, &zero).len(), count(of, columns), "{}", of.name);
        assert_eq!(cells(columns, &Value::NULL).len(), count(of, columns), "{}", of.name);
    });
}

#[test]
fn an_object_with_everything_has_all_cells_of_their_columns_types() {
    let folder = upstream("full objects");
    each_table(|resource, columns| {
        let of = type_of_trees(resource, columns);
        let published = folder.as_ref().and_then(|folder| published(of, folder));
        for object in [Some(full(Shape::Named(of), 0)), published].into_iter().flatten() {
            let cells = cells(columns, &object);
            assert_eq!(cells.len(), count(of, columns), "{}", of.name);
            for (column, cell) in columns.definitions.iter().zip(&cells) {
                let fits = match cell.node() {
                    Node::String(_) => true,
                    // Counts stand in columns of text, too.
                    Node::Int(_) => matches!(column.kind, "integer" | "string"),
                    Node::Bool(_) => matches!(column.kind, "boolean" | "string"),
                    _ => false,
                };
                assert!(fits, "{} {}: {cell:?}", of.name, column.name);
            }
        }
    });
}

/// The published object of a type of which every field is set. A few kinds have none.
fn published(of: &'static Type, folder: &Path) -> Option<Value> {
    let group = of.group();
    let group = if group.is_empty() { "core" } else { &group };
    let file = format!("wire/{group}.{}.{}.json", of.version(), of.kind_name());
    let text = std::fs::read(folder.join(file)).ok()?;
    Some(json::decode(of, &text).unwrap().value)
}

/// A value of a shape of which every field is set, as deep as cells may look.
fn full(shape: Shape, depth: usize) -> Value {
    if depth > 14 {
        return Value::NULL;
    }
    match shape.underlying() {
        Shape::Scalar(Scalar::Bool) => true.into(),
        Shape::Scalar(Scalar::Int32 | Scalar::Int64) => 5i64.into(),
        Shape::Scalar(Scalar::Float64) => 0.5.into(),
        Shape::Scalar(Scalar::String | Scalar::Any) => "text".into(),
        Shape::Bytes => Value::bytes(*b"bytes"),
        Shape::Pointer(of) => full(*of, depth + 1),
        Shape::List(of) => Value::list(vec![full(*of, depth + 1); 2]),
        Shape::Map(_, of) => {
            [("a", full(*of, depth + 1)), ("b", full(*of, depth + 1))].into_iter().collect::<Object>().into()
        }
        named @ Shape::Named(_) => match (named.structure(), named.opaque()) {
            (Some(of), _) => {
                let mut builder = Builder::default();
                let frame = builder.open(of);
                for (place, field) in of.flat.iter().enumerate() {
                    builder.set(frame, place, full(field.shape, depth + 1));
                }
                builder.close(frame)
            }
            (None, Some(Opaque::Time | Opaque::MicroTime)) => "2026-01-01T00:00:00Z".into(),
            (None, Some(Opaque::IntOrString)) => 3i64.into(),
            (None, Some(Opaque::Quantity)) => "5Gi".into(),
            _ => Value::raw(*b"{}"),
        },
    }
}

/// Takes away or spoils parts of a tree, as `choices` say.
fn spoil(value: &Value, choices: &mut impl Iterator<Item = u8>) -> Value {
    match choices.next().unwrap_or(255) {
        0 => return Value::NULL,
        1 => return "text".into(),
        2 => return (-1i64).into(),
        3 => return Value::list(vec![]),
        _ => {}
    }
    match value.node() {
        Node::List(items) => {
            let kept = items.iter().filter_map(|item| match choices.next() {
                Some(0..20) => None,
                _ => Some(spoil(item, choices)),
            });
            Value::list(kept.collect())
        }
        Node::Object(fields) => {
            let mut out = Object::new();
            for (key, field) in fields.iter() {
                if !matches!(choices.next(), Some(0..20)) {
                    out.insert(key, spoil(field, choices));
                }
            }
            out.into()
        }
        _ => value.clone(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]

    #[test]
    fn no_tree_is_too_broken_to_be_shown(choices in proptest::collection::vec(any::<u8>(), 500..5000)) {
        let mut choices = choices.iter().copied().cycle();
        each_table(|resource, columns| {
            let of = type_of_trees(resource, columns);
            let spoiled = spoil(&full(Shape::Named(of), 0), &mut choices);
            assert_eq!(cells(columns, &spoiled).len(), count(of, columns));
        });
    }
}
