//! Random objects of built-in types, and mutations of them.

use pintle_schema::{Field, ListType, Opaque, Scalar, Shape, Struct, find};

use super::{Grammar, Numbers, Variables};

/// Values and keys are few, so that those of mutations meet those of objects.
const WORDS: [&str; 6] = ["a", "b", "c", "app", "80", ""];
const AMOUNTS: [&str; 3] = ["1", "500m", "1Gi"];
/// Length of an object's JSON after which fields are left out.
const LONGEST: usize = 4000;
const DEEPEST: usize = 9;

const GRAMMAR: Grammar = Grammar {
    fields: &[
        "object.metadata.name",
        "object.metadata.?labels.a.orValue('')",
        "object.spec",
        "object.?spec.replicas",
        "object.nope",
        "oldObject",
        "params.most",
        "request.operation",
    ],
    literals: &["1", "-1", "2.5", "'a'", "true", "['a', 'b']", "{'a': 'b'}", "null", "b'x'", "quantity('1')"],
};

/// Writes objects and mutations of one built-in type. Mutations may read the first `variables` variables.
pub(crate) struct Author {
    pub(crate) of: &'static str,
    pub(crate) numbers: Numbers,
    pub(crate) variables: usize,
}

impl Author {
    /// Returns as many variables as mutations may read.
    pub(crate) fn some_variables(&mut self) -> Variables {
        GRAMMAR.variables(&mut self.numbers, self.variables)
    }

    fn structure(&self) -> &'static Struct {
        find(self.of).and_then(|of| of.structure()).expect("a struct")
    }

    /// Returns an object as JSON.
    pub(crate) fn object(&mut self) -> String {
        let of = find(self.of).expect("a type");
        let mut out = format!("{{\"kind\":\"{}\",\"apiVersion\":\"{}\"", of.kind_name(), of.api_version());
        self.fields(self.structure(), 0, &mut out);
        out.push('}');
        out
    }

    fn fields(&mut self, of: &'static Struct, depth: usize, out: &mut String) {
        for field in of.flat {
            // The upper fields are often there, so that objects have something deep in them.
            let chance = if depth < 4 { 3 } else { 5 };
            let is_left_out = out.len() > LONGEST || depth > DEEPEST || self.numbers.below(chance) > 0;
            let is_of_server = ["kind", "apiVersion", "status", "managedFields"].contains(&field.name);
            let is_needed = depth < 4 && ["metadata", "spec", "template", "containers"].contains(&field.name);
            if is_of_server || (is_left_out && !is_needed) {
                continue;
            }
            out.push_str(if out.ends_with('{') { "" } else { "," });
            out.push_str(&format!("\"{}\":", field.name));
            self.json(field.shape, depth + 1, out);
        }
    }

    fn json(&mut self, shape: Shape, depth: usize, out: &mut String) {
        match shape.underlying() {
            Shape::Pointer(of) => self.json(*of, depth, out),
            Shape::List(of) => {
                out.push('[');
                for place in 0..self.numbers.below(3) {
                    out.push_str(if place > 0 { "," } else { "" });
                    self.json(*of, depth + 1, out);
                }
                out.push(']');
            }
            Shape::Map(_, of) => {
                out.push('{');
                let count = self.numbers.below(3);
                for (place, key) in WORDS[..count].iter().enumerate() {
                    out.push_str(if place > 0 { "," } else { "" });
                    out.push_str(&format!("\"{key}\":"));
                    self.json(*of, depth + 1, out);
                }
                out.push('}');
            }
            shape => match shape.structure() {
                Some(of) => {
                    out.push('{');
                    self.fields(of, depth, out);
                    out.push('}');
                }
                None => out.push_str(&self.leaf(shape).replace('\'', "\"")),
            },
        }
    }

    /// Returns a value that has no parts, as an expression. With other quotes it is JSON.
    fn leaf(&mut self, shape: Shape) -> String {
        let quoted = |text: &str| format!("'{text}'");
        match shape {
            Shape::Scalar(Scalar::Bool) => self.numbers.pick(&["true", "false"]).to_owned(),
            Shape::Scalar(Scalar::Int32 | Scalar::Int64) => self.numbers.pick(&["0", "1", "80"]).to_owned(),
            Shape::Scalar(Scalar::Float64) => "1.5".to_owned(),
            Shape::Bytes => quoted("AAEC"),
            Shape::Scalar(Scalar::String | Scalar::Any) => quoted(self.numbers.pick(&WORDS)),
            _ => match shape.opaque() {
                Some(Opaque::Quantity) => quoted(self.numbers.pick(&AMOUNTS)),
                Some(Opaque::IntOrString) => self.numbers.pick(&["80", "'a'"]).to_owned(),
                Some(Opaque::Time) => quoted("2026-01-02T03:04:05Z"),
                Some(Opaque::MicroTime) => quoted("2026-01-02T03:04:05.000000Z"),
                Some(Opaque::Duration) => quoted("1s"),
                _ => "null".to_owned(),
            },
        }
    }

    /// Returns the expression of an apply configuration. Items of associative lists have their keys.
    pub(crate) fn configuration(&mut self) -> String {
        match self.numbers.below(8) {
            0 => {
                let condition = GRAMMAR.expression(&mut self.numbers, self.variables, 2);
                let (left, right) = (self.whole(), self.whole());
                format!("dyn({condition}) == true ? {left} : {right}")
            }
            _ => self.whole(),
        }
    }

    fn whole(&mut self) -> String {
        self.built(self.structure(), &[], "Object", 0)
    }

    /// Returns an expression that makes an object of a type, which is called by its path, with these keys and some more fields.
    fn built(&mut self, of: &'static Struct, keys: &[(&str, String)], path: &str, depth: usize) -> String {
        let mut fields: Vec<String> = keys.iter().map(|(key, value)| format!("{key}: {value}")).collect();
        let mut named: Vec<&str> = keys.iter().map(|(key, _)| *key).collect();
        for _ in 0..1 + self.numbers.below(2) {
            let field = self.some_field(of);
            let is_refused = is_atomic(field) && self.numbers.below(20) > 0;
            if depth > DEEPEST || is_refused || named.contains(&field.name) {
                continue;
            }
            let name = field.name;
            named.push(name);
            let value = self.field(field, &format!("{path}.{name}"), depth + 1);
            fields.push(match self.numbers.below(12) {
                0 => format!("?{name}: optional.of(dyn({value}))"),
                1 => format!("?{name}: optional.none()"),
                _ => format!("{name}: {value}"),
            });
        }
        let path = if self.numbers.below(60) == 0 { "Object.other" } else { path };
        format!("{path}{{{}}}", fields.join(", "))
    }

    /// Returns a field; those that lead into depth are more interesting than the rest.
    fn some_field(&mut self, of: &'static Struct) -> &'static Field {
        let deep =
            ["metadata", "spec", "template", "containers", "initContainers", "volumes", "ports", "labels"];
        let deep: Vec<&Field> = deep.into_iter().filter_map(|name| of.field(name)).collect();
        match self.numbers.below(3) {
            0 | 1 if !deep.is_empty() => deep[self.numbers.below(deep.len())],
            _ => of.flat[self.numbers.below(of.flat.len())],
        }
    }

    fn field(&mut self, field: &'static Field, name: &str, depth: usize) -> String {
        let Some((Shape::List(items), true)) = Some((unpointed(field.shape), !field.keys().is_empty()))
        else {
            return self.value(field.shape, name, depth);
        };
        let Some(of) = items.structure() else { return self.value(field.shape, name, depth) };
        let count = self.numbers.below(3);
        let item = |place: usize| {
            let key = |key: &&'static str| (*key, self.key(of.field(key).expect("a key").shape, place));
            let keys: Vec<_> = field.keys().iter().map(key).collect();
            format!("dyn({})", self.built(of, &keys, name, depth + 1))
        };
        let items: Vec<String> = (0..count).map(item).collect();
        format!("[{}]", items.join(", "))
    }

    /// Returns the key of an item, another one for each place of a list.
    fn key(&mut self, shape: Shape, place: usize) -> String {
        match unpointed(shape) {
            Shape::Scalar(Scalar::Int32 | Scalar::Int64) => ["80", "81"][place].to_owned(),
            _ => format!("'{}'", ["a", "b"][place]),
        }
    }

    fn value(&mut self, shape: Shape, name: &str, depth: usize) -> String {
        if self.numbers.below(20) == 0 {
            return format!("dyn({})", GRAMMAR.expression(&mut self.numbers, self.variables, 2));
        }
        match unpointed(shape) {
            Shape::List(of) => {
                let count = self.numbers.below(3);
                let item = |_| format!("dyn({})", self.value(*of, name, depth + 1));
                let items: Vec<String> = (0..count).map(item).collect();
                format!("[{}]", items.join(", "))
            }
            Shape::Map(_, of) => {
                let count = self.numbers.below(3);
                let entry = |key: &&str| format!("'{key}': dyn({})", self.value(*of, name, depth + 1));
                let entries: Vec<String> = WORDS[..count].iter().map(entry).collect();
                format!("{{{}}}", entries.join(", "))
            }
            shape => match shape.structure() {
                Some(of) => self.built(of, &[], name, depth),
                None => self.leaf(shape),
            },
        }
    }

    /// Returns the expression of a JSON patch.
    pub(crate) fn patch(&mut self) -> String {
        let list = |author: &mut Author| {
            let operations: Vec<String> =
                (0..1 + author.numbers.below(3)).map(|_| author.operation()).collect();
            format!("[{}]", operations.join(", "))
        };
        let expression = |author: &mut Author| GRAMMAR.expression(&mut author.numbers, author.variables, 2);
        match self.numbers.below(20) {
            0 | 1 => format!("dyn({}) == true ? {} : {}", expression(self), list(self), list(self)),
            2 | 3 => format!("{} + {}", list(self), list(self)),
            4 => format!("[{}, {}]", list(self), self.operation()),
            5 | 6 => {
                let over = self.numbers.pick(&["['a', 'b']", "[1, '/', 'b']", "{'a': 1}", "params", "[]"]);
                let value = expression(self);
                let path = "'/metadata/labels/' + string(dyn(x))";
                format!("dyn({over}).map(x, JSONPatch{{op: 'add', path: {path}, value: {value}}})")
            }
            _ => list(self),
        }
    }

    fn operation(&mut self) -> String {
        let op = match self.numbers.below(40) {
            0 => "turn",
            _ => self
                .numbers
                .pick(&["add", "add", "add", "add", "add", "replace", "remove", "move", "copy", "test"]),
        };
        let (path, shape, name) = self.path();
        let value = self.value(shape, &name, 1);
        let mut fields = vec![format!("op: '{op}'"), format!("path: '{path}'")];
        if ["move", "copy"].contains(&op) || self.numbers.below(10) == 0 {
            fields.push(format!("from: '{}'", self.path().0));
        }
        if ["add", "replace", "test"].contains(&op) || self.numbers.below(10) == 0 {
            fields.push(format!("value: {value}"));
        }
        format!("JSONPatch{{{}}}", fields.join(", "))
    }

    /// Returns a path into an object with the shape and the name of the type there.
    fn path(&mut self) -> (String, Shape, String) {
        let (mut path, mut name) = (String::new(), "Object".to_owned());
        let mut shape = Shape::Named(find(self.of).expect("a type"));
        loop {
            shape = match shape.underlying() {
                Shape::Pointer(of) => *of,
                Shape::List(of) if self.numbers.below(2) > 0 => {
                    path.push_str(self.numbers.pick(&["/0", "/0", "/-", "/-", "/1", "/a"]));
                    *of
                }
                Shape::Map(_, of) if self.numbers.below(2) > 0 => {
                    path.push_str(self.numbers.pick(&["/a", "/b", "/x~1y", "/~"]));
                    *of
                }
                found => match found.structure() {
                    Some(of) if path.len() < 10 || self.numbers.below(2) > 0 => {
                        let field = self.some_field(of);
                        path.push_str(&format!("/{}", field.name));
                        name.push_str(&format!(".{}", field.name));
                        field.shape
                    }
                    _ => return (path, found, name),
                },
            };
        }
    }
}

fn unpointed(shape: Shape) -> Shape {
    match shape.underlying() {
        Shape::Pointer(of) => unpointed(*of),
        shape => shape,
    }
}

/// Returns whether a configuration may not have the field.
fn is_atomic(field: &Field) -> bool {
    match unpointed(field.shape) {
        Shape::List(_) => !matches!(field.list, Some(ListType::Set | ListType::Map)),
        shape => field.atomic || (!field.granular && shape.structure().is_some_and(|of| of.atomic)),
    }
}
