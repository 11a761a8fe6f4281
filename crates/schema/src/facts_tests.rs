use super::*;

const SMALL: &str = "\
# a comment

struct a/v1.Thing atomic
  . - a/v1.Meta inline
  items 6 []a/v1.Item omitempty list=map keys=name,port patch=merge,retainKeys:name optional
  color 2 *a/v1.Color omitempty default=\"Red and blue\"
  data - map[string][]byte omitempty map=atomic

struct a/v1.Meta
struct a/v1.Item
  at 1 a/v1.Time omitempty omitzero

alias a/v1.Color string enum=Blue,Red

opaque a/v1.Time
";

fn fields(graph: &Graph, name: &str) -> &'static [&'static str] {
    let shape = Shape::Named(graph.find(name).unwrap());
    let Some(found) = graph.structure(&shape) else { panic!("{name} is no struct") };
    found.fields.iter().map(|field| field.name).collect::<Vec<_>>().leak()
}

#[test]
fn every_fact_of_a_field_is_read() {
    let graph = Graph::parse(SMALL).unwrap();
    let Some(Type::Struct(thing)) = graph.get(graph.find("a/v1.Thing").unwrap()) else { panic!() };
    assert!(thing.atomic);
    assert!(thing.fields[0].is_inline());
    let items = &thing.fields[1];
    assert_eq!((items.number, items.omit_empty, items.optional), (Some(6), true, true));
    assert_eq!((items.list, items.keys.as_slice()), (Some(ListType::Map), &["name", "port"][..]));
    let patch = items.patch.as_ref().unwrap();
    assert_eq!((patch.strategies.as_slice(), patch.merge_key), (&["merge", "retainKeys"][..], Some("name")));
    let item = graph.find("a/v1.Item").unwrap();
    assert_eq!(items.shape, Shape::List(Box::new(Shape::Named(item))));
    assert_eq!(thing.fields[2].default, Some("\"Red and blue\""));
    let data = &thing.fields[3];
    assert_eq!((data.number, data.atomic), (None, true));
    assert_eq!(data.shape, Shape::Map(Box::new(Shape::Scalar(Scalar::String)), Box::new(Shape::Bytes)));
}

#[test]
fn enums_and_opaque_types_are_read() {
    let graph = Graph::parse(SMALL).unwrap();
    let color = graph.get(graph.find("a/v1.Color").unwrap()).unwrap();
    assert!(matches!(color, Type::Alias { values, .. } if values == &["Blue", "Red"]));
    assert_eq!(graph.get(graph.find("a/v1.Time").unwrap()), Some(&Type::Opaque));
}

#[test]
fn facts_that_make_no_sense_are_refused_with_their_line() {
    let error = |text: &'static str| Graph::parse(text).unwrap_err().to_string();
    assert_eq!(error("struct a\n  x 1 b\n"), "line 2 of the facts: there is no type \"b\"");
    assert_eq!(error("  x 1 string\n"), "line 1 of the facts: a field stands outside a struct");
    assert_eq!(error("struct a\nstruct a\n"), "line 2 of the facts: a is declared twice");
    assert_eq!(
        error("struct a\n  x 1 string loud\n"),
        "line 2 of the facts: \"loud\" is not known of a field"
    );
}

#[test]
fn the_built_in_types_are_all_there() {
    let graph = Graph::builtin().unwrap();
    assert!(graph.len() > 1400, "{}", graph.len());
    assert_eq!(fields(&graph, "core/v1.Pod"), ["", "metadata", "spec", "status"]);
    assert_eq!(fields(&graph, "meta/v1.TypeMeta"), ["kind", "apiVersion"]);
    for opaque in [
        "meta/v1.Time",
        "meta/v1.MicroTime",
        "resource.Quantity",
        "intstr.IntOrString",
        "runtime.RawExtension",
    ] {
        assert_eq!(graph.get(graph.find(opaque).unwrap()), Some(&Type::Opaque), "{opaque}");
    }
}

#[test]
fn a_protobuf_number_is_used_once_in_a_struct() {
    let graph = Graph::builtin().unwrap();
    for (name, found) in graph.iter() {
        let Type::Struct(found) = found else { continue };
        let mut numbers: Vec<u32> = found.fields.iter().filter_map(|field| field.number).collect();
        numbers.sort_unstable();
        assert!(numbers.windows(2).all(|pair| pair[0] != pair[1]), "{name}");
    }
}

#[test]
fn the_keys_of_a_list_are_fields_of_its_items() {
    let graph = Graph::builtin().unwrap();
    for (name, found) in graph.iter() {
        let Type::Struct(found) = found else { continue };
        for field in found.fields.iter().filter(|field| !field.keys.is_empty()) {
            let list = graph.underlying(&field.shape);
            let Shape::List(item) = list else { panic!("{name}.{} is no list", field.name) };
            let Some(item) = graph.structure(item) else { panic!("{name}.{} has no structs", field.name) };
            for key in &field.keys {
                assert!(graph.field(item, key).is_some(), "{name}.{}: {key}", field.name);
            }
        }
    }
}
