use super::*;

const SOURCE: &str = r#"
// Package v1 is small.
package v1

import (
	metav1 "example.org/meta/v1"
	"example.org/intstr"
)

const unrelated = 3

// +enum
type Color string

const (
	// Red is red.
	Red  Color = "Red"
	Blue Color = "Blue"
	Loud       = "not typed"
	Green      = Color("Green")
	Blue2      = Color(intstr.Blue)
	Length     = len("no constant of a type that is declared")
)

// Thing is a kind.
// +k8s:whatever=1
type Thing struct {
	metav1.TypeMeta `json:",inline"`
	// A list.
	// +listType=map
	// +listMapKey=name
	// +listMapKey=port
	Items []Item `json:"items,omitempty" patchStrategy:"merge" patchMergeKey:"name" protobuf:"bytes,2,rep,name=items"` // trailing

	Limits map[string]*intstr.IntOrString `json:"limits,omitempty"`
	A, B   *int32
	Nested struct {
		Deep bool `json:"deep"`
	} `json:"nested"`
	*Embedded
	handle unique.Handle[map[string]int]
}

type (
	Item struct{ Name string `json:"name"` }
	List []Item
	Same = List
)

type Doer interface {
	Do(struct{}) error
}

func (t *Thing) String() string {
	return fmt.Sprintf("%v }", t)
}
"#;

fn parsed() -> File {
    parse(SOURCE).unwrap()
}

fn fields(file: &File, name: &str) -> Vec<Field> {
    let found = file.types.iter().find(|declared| declared.name == name).unwrap();
    match &found.shape {
        Shape::Struct(fields) => fields.clone(),
        other => panic!("{name} is {other:?}"),
    }
}

#[test]
fn a_field_of_anything_keeps_its_tag() {
    let file = parse("package p\n\ntype Row struct {\n\tCells []interface{} `json:\"cells\"`\n\tOwn interface {\n\t\tDo()\n\t}\n}\n").unwrap();
    let fields = fields(&file, "Row");
    assert_eq!(fields[0].shape, Shape::Slice(Box::new(Shape::Named("any".into()))));
    assert_eq!(fields[0].tags["json"], "cells");
    assert_eq!(fields[1].shape, Shape::Other);
}

#[test]
fn all_types_are_found() {
    let names: Vec<_> = parsed().types.iter().map(|declared| declared.name.clone()).collect();
    assert_eq!(names, ["Color", "Thing", "Item", "List", "Same", "Doer"]);
}

#[test]
fn another_name_for_a_type_is_told_from_a_new_type() {
    let aliases: Vec<_> =
        parsed().types.into_iter().filter(|found| found.alias).map(|found| found.name).collect();
    assert_eq!(aliases, ["Same"]);
}

#[test]
fn imports_are_known_by_the_name_they_are_used_under() {
    let file = parsed();
    assert_eq!(file.imports["metav1"], "example.org/meta/v1");
    assert_eq!(file.imports["intstr"], "example.org/intstr");
}

#[test]
fn typed_constants_are_the_values_of_an_enum() {
    let file = parsed();
    let mut constants = file.constants.iter().filter(|found| found.of_type == "Color");
    for (name, value) in [("Red", "Red"), ("Blue", "Blue"), ("Green", "Green")] {
        let constant = constants.next().unwrap();
        assert_eq!((constant.name.as_str(), &constant.value), (name, &Literal::Text(value.into())));
    }
    assert_eq!(constants.next().unwrap().value, Literal::Same("intstr.Blue".into()));
    assert!(constants.next().is_none());
    assert!(file.types[0].markers.has("enum"));
}

#[test]
fn fields_have_their_tags_markers_and_shapes() {
    let fields = fields(&parsed(), "Thing");
    let names: Vec<_> = fields.iter().map(|field| field.name.as_deref().unwrap_or("-")).collect();
    assert_eq!(names, ["-", "Items", "Limits", "A", "B", "Nested", "-", "handle"]);
    let items = &fields[1];
    assert_eq!(items.markers.value("listType"), Some("map"));
    assert_eq!(items.markers.values("listMapKey").collect::<Vec<_>>(), ["name", "port"]);
    assert_eq!(items.tags["patchMergeKey"], "name");
    assert_eq!(items.tags["protobuf"], "bytes,2,rep,name=items");
    assert_eq!(items.shape, Shape::Slice(Box::new(Shape::Named("Item".into()))));
    let pointer = Shape::Pointer(Box::new(Shape::Named("intstr.IntOrString".into())));
    assert_eq!(fields[2].shape, Shape::Map(Box::new(Shape::Named("string".into())), Box::new(pointer)));
    assert!(fields[2].markers.0.is_empty(), "the markers of one field are not the next one's");
    assert!(matches!(&fields[5].shape, Shape::Struct(nested) if nested.len() == 1));
    assert_eq!(fields[7].shape, Shape::Other);
    assert_eq!(fields[6].shape, Shape::Pointer(Box::new(Shape::Named("Embedded".into()))));
}
