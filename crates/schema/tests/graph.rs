//! Parsing of the facts, and the generated tables.

#[path = "../build/facts.rs"]
mod facts;

use facts::{Shape as FactShape, TypeKind as Fact};
use pintle_schema::{ListType, Opaque, Shape, TypeKind, find, types};

const SMALL: &str = "\
# a comment

struct a/v1.Thing atomic union
  . - a/v1.Meta inline
  items 6 []a/v1.Item omitempty list=map keys=name,port patch=merge,retainKeys:name optional
  color 2 *a/v1.Color omitempty default=\"Red and blue\"
  data - map[string][]byte omitempty map=atomic
  kind 3 string omitempty map=granular discriminator required

struct a/v1.Meta
struct a/v1.Item
  at 1 a/v1.Time omitempty omitzero

alias a/v1.Color string enum=,Blue,Light red

opaque a/v1.Time
";

fn read(name: &str) -> Fact {
    facts::parse(SMALL).unwrap().into_iter().find(|found| found.name == name).unwrap().kind
}

#[test]
fn every_fact_of_a_field_is_parsed() {
    let Fact::Struct { fields, atomic: true, union: true } = read("a/v1.Thing") else { panic!() };
    assert_eq!((fields[0].name.as_str(), fields[0].number), ("", None));
    let items = &fields[1];
    assert_eq!(
        (items.number, items.omit_empty, items.omit_zero, items.optional),
        (Some(6), true, false, true)
    );
    assert_eq!(
        (items.list.as_deref(), items.keys.as_slice()),
        (Some("map"), &["name".into(), "port".into()][..])
    );
    let patch = items.patch.clone().unwrap();
    assert_eq!(patch, (vec!["merge".into(), "retainKeys".into()], Some("name".into())));
    assert!(matches!(items.shape, Some(FactShape::List(_))));
    assert_eq!(fields[2].default.as_deref(), Some("\"Red and blue\""));
    let bytes = FactShape::Map(Box::new(FactShape::Scalar("String")), Box::new(FactShape::Bytes));
    assert_eq!((fields[3].number, fields[3].atomic, &fields[3].shape), (None, true, &Some(bytes)));
    let kind = &fields[4];
    assert!(kind.granular && !kind.atomic && kind.discriminator && kind.required);
}

#[test]
fn enums_and_opaque_types_are_parsed() {
    let Fact::Alias { values, .. } = read("a/v1.Color") else { panic!() };
    assert_eq!(values, ["", "Blue", "Light red"]);
    assert_eq!(read("a/v1.Time"), Fact::Opaque);
}

#[test]
fn invalid_facts_are_rejected_with_their_line() {
    let error = |text: &'static str| facts::parse(text).err().unwrap();
    assert_eq!(error("struct a\n  x 1 b\n"), "line 2: there is no type \"b\"");
    assert_eq!(error("  x 1 string\n"), "line 1: a field stands outside a struct");
    assert_eq!(error("struct a\nstruct a\n"), "line 2: a is declared twice");
    assert_eq!(error("struct a\n  x 1 string loud\n"), "line 2: \"loud\" is not known of a field");
}

#[test]
fn all_built_in_types_are_found_by_name() {
    assert!(types().len() > 1400, "{}", types().len());
    for (index, found) in types().iter().enumerate() {
        assert_eq!((find(found.name), found.index), (Some(*found), index));
    }
    let pod = find("core/v1.Pod").unwrap().structure().unwrap();
    assert_eq!(
        pod.fields.iter().map(|field| field.name).collect::<Vec<_>>(),
        ["", "metadata", "spec", "status"]
    );
    assert_eq!(pod.layout.names, ["kind", "apiVersion", "metadata", "spec", "status"]);
    assert_eq!(Shape::Named(find("meta/v1.Time").unwrap()).opaque(), Some(Opaque::Time));
}

#[test]
fn fields_are_found_by_name_and_number_including_inline_ones() {
    let volume = find("core/v1.Volume").unwrap().structure().unwrap();
    assert_eq!(volume.flat[0].name, "name");
    for (index, field) in volume.flat.iter().enumerate() {
        assert_eq!(volume.position(field.name), Some(index));
    }
    let source = volume.numbered(2).unwrap();
    assert!(source.is_inline());
    let of = source.shape.structure().unwrap();
    for field in of.fields {
        let index = usize::from(source.flat_index) + usize::from(field.flat_index);
        assert_eq!(volume.flat[index].name, field.name);
        assert_eq!(of.numbered(field.number.unwrap()).unwrap().name, field.name);
    }
    assert!(volume.position("nope").is_none() && volume.numbered(99).is_none());
}

#[test]
fn names_and_numbers_are_unique_in_a_struct() {
    for found in types() {
        let TypeKind::Struct(of) = &found.kind else { continue };
        let numbers: Vec<_> =
            of.by_number.iter().map(|index| of.fields[usize::from(*index)].number).collect();
        assert!(numbers.is_sorted_by(|a, b| a < b), "{}", found.name);
        let names: Vec<_> = of.by_name.iter().map(|index| of.flat[usize::from(*index)].name).collect();
        assert!(names.is_sorted_by(|a, b| a < b), "{}: {names:?}", found.name);
    }
}

#[test]
fn the_keys_of_a_list_are_fields_of_its_items() {
    for found in types() {
        let TypeKind::Struct(of) = &found.kind else { continue };
        for field in of.fields.iter().filter(|field| field.list == Some(ListType::Map)) {
            let Shape::List(item) = field.shape.underlying() else { panic!("{}.{}", found.name, field.name) };
            let item = item.structure().unwrap();
            assert!(
                field.keys().iter().all(|key| item.field(key).is_some()),
                "{}.{}",
                found.name,
                field.name
            );
        }
    }
}

#[test]
fn shapes_have_go_names() {
    let name =
        |of: &str, field: &str| find(of).unwrap().structure().unwrap().field(field).unwrap().shape.go_name();
    assert_eq!(name("core/v1.PodSpec", "containers"), "[]v1.Container");
    assert_eq!(name("core/v1.PodSpec", "nodeSelector"), "map[string]string");
    assert_eq!(name("core/v1.PodSpec", "activeDeadlineSeconds"), "*int64");
    assert_eq!(name("core/v1.ResourceRequirements", "limits"), "v1.ResourceList");
    assert_eq!(name("core/v1.ConfigMap", "binaryData"), "map[string][]uint8");
}
