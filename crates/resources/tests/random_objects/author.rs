//! The author of random objects: walks the type graph of a kind and writes what may stand there as JSON.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use pintle_schema::{Field, Opaque, Scalar, Shape, Type, TypeKind};
use proptest::prelude::Rng;
use proptest::test_runner::{RngAlgorithm, TestRng};
use serde_json::{Map, Value as Json, json};

use crate::coverage::Coverage;
use crate::{shapes, words};

/// Schemas and selectors contain themselves.
const MAX_DEPTH: usize = 16;

/// Limit of the values of one object; beyond it only required fields are written.
const MAX_VALUES: usize = 400;

/// How often the author insists on a field that no accepted object has had.
const INSISTENCE: u32 = 16;

/// Fields of metadata that only the server sets, or that the root has already.
const OF_THE_SERVER: &[&str] = &[
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generateName",
    "generation",
    "managedFields",
    "name",
    "namespace",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// Whether no request writes a field.
pub(crate) fn is_of_the_server(of: &Type, field: &str) -> bool {
    of.name == "meta/v1.ObjectMeta" && OF_THE_SERVER.contains(&field)
}

/// A place in the graph: a shape, and the field that has it.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub(crate) shape: Shape,
    /// Name of the struct's type; empty for an inline one.
    pub(crate) parent: &'static str,
    pub(crate) field: &'static str,
}

pub(crate) struct Author<'a> {
    random: RefCell<TestRng>,
    /// How often an optional field is there, of 16.
    often: u32,
    written: RefCell<usize>,
    /// Whether only required fields are written.
    sparse: Cell<bool>,
    /// Fields that occurred in accepted objects already.
    coverage: &'a Coverage,
    /// How often each field that did not was written.
    tried: &'a RefCell<HashMap<(usize, &'static str), u32>>,
}

impl<'a> Author<'a> {
    pub(crate) fn new(
        seed: [u8; 32],
        coverage: &'a Coverage,
        tried: &'a RefCell<HashMap<(usize, &'static str), u32>>,
    ) -> Author<'a> {
        let mut random = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
        let often = 1 + random.next_u32() % 8;
        let random = RefCell::new(random);
        Author { random, often, written: RefCell::new(0), sparse: Cell::new(false), coverage, tried }
    }

    pub(crate) fn below(&self, limit: usize) -> usize {
        self.random.borrow_mut().next_u32() as usize % limit.max(1)
    }

    pub(crate) fn one_of<T: Copy>(&self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    /// Allows as many values again, for a repair; only required ones where `sparse`.
    pub(crate) fn refresh(&self, sparse: bool) {
        *self.written.borrow_mut() = 0;
        self.sparse.set(sparse);
    }

    /// Writes an object of a kind, of which only the name is certain to be valid.
    pub(crate) fn object(&self, kind: &'static Type, namespaced: bool) -> Json {
        let mut object = self.structure(kind, 0);
        let root = object.as_object_mut().expect("a struct");
        root.remove("status");
        root.insert("kind".into(), kind.kind_name().into());
        root.insert("apiVersion".into(), kind.api_version().into());
        let metadata = root.entry("metadata").or_insert_with(|| json!({}));
        if !metadata.is_object() {
            *metadata = json!({});
        }
        metadata["name"] = "a".into();
        if namespaced {
            metadata["namespace"] = "default".into();
        }
        object
    }

    /// Writes the status of an object of a kind.
    pub(crate) fn status(&self, kind: &'static Type) -> Json {
        self.refresh(false);
        let status = kind.structure().and_then(|of| of.field("status"));
        status.map_or(Json::Null, |field| {
            self.value(Place { shape: field.shape, parent: kind.name, field: field.name }, 1)
        })
    }

    fn structure(&self, of: &'static Type, depth: usize) -> Json {
        let Some(structure) = of.structure() else { return Json::Null };
        if let Some(whole) = shapes::whole(self, of.name) {
            return whole;
        }
        let mut fields = Map::new();
        let chosen = self.members(of);
        for field in structure.flat {
            if is_of_the_server(of, field.name) || ["kind", "apiVersion"].contains(&field.name) && depth == 0
            {
                continue;
            }
            let is_there = match &chosen {
                Some((members, chosen)) if members.contains(&field.name) => field.name == *chosen,
                _ => self.is_there(of, field, depth),
            };
            if is_there {
                let place = Place { shape: field.shape, parent: of.name, field: field.name };
                let value = self.value(place, depth + 1);
                if !value.is_null() {
                    fields.insert(field.name.into(), value);
                }
            }
        }
        // The discriminator, where it has the name of the member.
        if let Some((_, chosen)) = chosen
            && let Some(Shape::Named(Type { kind: TypeKind::Alias { values, .. }, .. })) =
                structure.field("type").map(|field| field.shape)
            && let Some(value) = values.iter().find(|value| value.eq_ignore_ascii_case(chosen))
        {
            fields.insert("type".into(), (*value).into());
        }
        shapes::fit(of.name, &mut fields);
        Json::Object(fields)
    }

    fn is_there(&self, of: &Type, field: &Field, depth: usize) -> bool {
        if field.required {
            return true;
        }
        if depth > MAX_DEPTH || self.sparse.get() || *self.written.borrow() > MAX_VALUES {
            return false;
        }
        self.is_wanted(of, field.name) && self.below(16) < 6 || self.below(16) < self.often as usize
    }

    /// Whether no accepted object has had a field, and it was not written too often in vain. Counts that it is written.
    pub(crate) fn is_wanted(&self, of: &Type, field: &'static str) -> bool {
        if self.coverage.has(of, field) {
            return false;
        }
        let mut tried = self.tried.borrow_mut();
        let tried = tried.entry((of.index, field)).or_default();
        *tried += 1;
        *tried <= INSISTENCE
    }

    /// As [`Author::is_wanted`], without counting.
    pub(crate) fn may_insist(&self, of: &Type, field: &'static str) -> bool {
        let tried = self.tried.borrow().get(&(of.index, field)).copied().unwrap_or_default();
        !self.coverage.has(of, field) && tried < INSISTENCE
    }

    /// Returns the fields of a struct of which at most one is set, and the one that will be.
    fn members(&self, of: &'static Type) -> Option<(Vec<&'static str>, &'static str)> {
        let found = union_members(of)?;
        let wanted: Vec<_> = found.iter().copied().filter(|member| self.may_insist(of, member)).collect();
        let chosen = self.one_of(if wanted.is_empty() { &found } else { &wanted });
        self.is_wanted(of, chosen);
        Some((found, chosen))
    }

    /// Writes a value of a place.
    pub(crate) fn value(&self, place: Place, depth: usize) -> Json {
        *self.written.borrow_mut() += 1;
        if let Shape::Named(Type { kind: TypeKind::Alias { values, .. }, .. }) = place.shape
            && !values.is_empty()
        {
            return self.one_of(values).into();
        }
        match place.shape.underlying() {
            Shape::Pointer(of) => self.value(Place { shape: *of, ..place }, depth),
            Shape::Bytes => self.one_of(words::bytes(place.field)).into(),
            Shape::Scalar(Scalar::String) => self.text(place),
            Shape::Scalar(Scalar::Any) => json!({"a": 1}),
            Shape::Scalar(Scalar::Bool) => (self.below(2) == 0).into(),
            Shape::Scalar(Scalar::Float64) => json!(0.5),
            Shape::Scalar(Scalar::Int32 | Scalar::Int64) => self.one_of(words::INTEGERS).into(),
            Shape::List(of) => {
                let most = if *self.written.borrow() > MAX_VALUES { 1 } else { 3 };
                let count = 1 + self.below(most);
                let item = Place { shape: *of, ..place };
                let mut items: Vec<Json> = (0..count).map(|_| self.value(item, depth + 1)).collect();
                items.dedup();
                name_apart(&mut items);
                Json::Array(items)
            }
            Shape::Map(key, of) => {
                let keys = words::keys(*key, place.field);
                let first = self.below(keys.len());
                let mut entries = Map::new();
                for offset in 0..=self.below(keys.len().min(3)) {
                    let key = keys[(first + offset) % keys.len()];
                    let value = match words::value_of(key) {
                        Some(value) => value.into(),
                        None => self.value(Place { shape: *of, ..place }, depth + 1),
                    };
                    entries.insert(key.into(), value);
                }
                if words::has_labels(place.field) {
                    entries.insert("app".into(), "web".into());
                }
                Json::Object(entries)
            }
            Shape::Named(of) => match place.shape.opaque() {
                Some(opaque) => self.opaque(opaque, place.field),
                None => self.structure(of, depth),
            },
        }
    }

    fn text(&self, place: Place) -> Json {
        self.one_of(words::texts(place.parent, place.field)).into()
    }

    fn opaque(&self, opaque: Opaque, field: &str) -> Json {
        match opaque {
            Opaque::Quantity => self.one_of(words::quantities(field)).into(),
            Opaque::Time => self.one_of(&["2026-01-01T00:00:00Z", "2026-05-01T12:00:00Z"]).into(),
            Opaque::MicroTime => "2026-01-01T00:00:00.000001Z".into(),
            Opaque::Duration => self.one_of(&["1s", "1h0m0s"]).into(),
            Opaque::IntOrString => self.one_of(&["1", "80", "\"25%\"", "\"web\""]).parse().expect("JSON"),
            Opaque::RawExtension => json!({"apiVersion": "example.com/v1", "kind": "Thing", "a": [1]}),
            Opaque::JSON => self.one_of(&["1", "\"a\"", "{\"a\":true}"]).parse().expect("JSON"),
            Opaque::JSONSchemaPropsOrBool => (self.below(2) == 0).into(),
            Opaque::JSONSchemaPropsOrArray => json!({"type": "string"}),
            Opaque::JSONSchemaPropsOrStringArray | Opaque::FieldsV1 | Opaque::GroupVersion => Json::Null,
        }
    }
}

/// Returns the fields of a struct of which at most one is set: those of a union, and those of a struct that mostly consists of
/// pointers to others.
pub(crate) fn union_members(of: &'static Type) -> Option<Vec<&'static str>> {
    if of.name == "storage/v1.VolumeAttachmentSource" {
        return Some(vec!["persistentVolumeName", "inlineVolumeSpec"]);
    }
    let of = of.structure()?;
    let is_member = |field: &Field| matches!(field.shape, Shape::Pointer(to) if to.structure().is_some());
    let inline =
        of.fields.iter().filter(|field| field.is_inline()).filter_map(|field| field.shape.structure());
    inline.chain([of]).find_map(|of| {
        let members: Vec<_> =
            of.flat.iter().filter(|field| is_member(field)).map(|field| field.name).collect();
        let is_union = members.len() >= 2 && (of.union || members.len() * 5 >= of.flat.len() * 3);
        is_union.then_some(members)
    })
}

/// Gives the items of a list different names, by which most lists are keyed.
fn name_apart(items: &mut [Json]) {
    let names = ["a", "b", "c"];
    let all_plain =
        items.iter().all(|item| item.get("name").is_some_and(|name| names.iter().any(|known| name == known)));
    if all_plain {
        for (item, name) in items.iter_mut().zip(names) {
            item["name"] = name.into();
        }
    }
}
