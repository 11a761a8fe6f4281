//! Trees read through declared types.

use pintle_meta::value::Layout;
use pintle_meta::{Node, Object, Value};
use smol_str::SmolStr;

use super::{compiled, object, written};
use crate::{
    Activation, Budget, Declarations, Environment, Error, Field, LazyFields, List, ListKind, ObjectType,
    Record, Type, TypeNames, Val,
};

/// Object type with a few fields, like one of a schema.
#[derive(Debug)]
struct Spec;

impl ObjectType for Spec {
    fn name(&self) -> &str {
        "Spec"
    }

    fn field(&self, name: &str) -> Option<Field> {
        let (property, of) = match name {
            "replicas" => ("replicas", Type::Int),
            "ratio" => ("ratio", Type::Double),
            "at" => ("at", Type::Timestamp),
            "every" => ("every", Type::Duration),
            "data" => ("data", Type::Bytes),
            "__namespace__" => ("namespace", Type::String),
            "labels" => ("labels", Type::map(Type::String, Type::String)),
            "set" => ("set", Type::list_of_kind(Type::String, ListKind::Set)),
            "ports" => ("ports", Type::list_of_kind(Type::object(Port), ListKind::Map(vec!["name".into()]))),
            _ => return None,
        };
        Some(Field { property: SmolStr::new_static(property), of })
    }
}

#[derive(Debug)]
struct Port;

impl ObjectType for Port {
    fn name(&self) -> &str {
        "Spec.ports"
    }

    fn field(&self, name: &str) -> Option<Field> {
        let of = match name {
            "name" => Type::String,
            "port" => Type::Int,
            _ => return None,
        };
        Some(Field { property: name.into(), of })
    }
}

#[derive(Debug)]
struct Names;

impl TypeNames for Names {
    fn find(&self, name: &str) -> Option<Type> {
        match name {
            "Spec" => Some(Type::object(Spec)),
            _ => None,
        }
    }
}

fn declarations() -> Declarations {
    Declarations::new().variable("self", Type::object(Spec)).variable("old", Type::object(Spec)).types(Names)
}

fn texts(texts: &[&str]) -> Value {
    Value::from(texts.iter().map(|text| Value::from(*text)).collect::<Vec<_>>())
}

fn port(name: &str, number: i64) -> Value {
    object([("name", Value::from(name)), ("port", Value::from(number))])
}

#[track_caller]
fn check(cases: &[(&str, &str)]) {
    let this = object([
        ("replicas", Value::from(3)),
        ("ratio", Value::from(1)),
        ("at", Value::from("2023-01-01T00:00:00Z")),
        ("every", Value::from("1m0s")),
        ("data", Value::from("aGk=")),
        ("namespace", Value::from("here")),
        ("labels", object([("a", Value::from("b"))])),
        ("set", texts(&["a", "b"])),
        ("ports", Value::from(vec![port("http", 80), port("https", 443)])),
        ("unknown", Value::from(1)),
    ]);
    let old = object([
        ("set", texts(&["b", "a"])),
        ("ports", Value::from(vec![port("https", 443), port("http", 80)])),
    ]);
    let environment = Environment::new(declarations());
    let activation = Activation::new().bind("self", &this).bind("old", &old);
    for (expression, expect) in cases {
        let actual = match environment.compile(expression) {
            Ok(program) => match program.evaluate(&activation, Budget::PER_CALL).value {
                Ok(value) => written(&value),
                Err(error) => format!("error: {error}"),
            },
            Err(error) => error.to_string(),
        };
        assert_eq!(actual, *expect, "{expression}");
    }
}

#[test]
fn fields_have_their_declared_types() {
    check(&[
        ("self.replicas + 1", "4"),
        ("self.ratio / 2.0", "0.5"),
        ("self.at + duration('1s')", "timestamp('2023-01-01T00:00:01Z')"),
        ("self.every.getSeconds()", "60"),
        ("self.data", "b'hi'"),
        ("self.__namespace__", "'here'"),
        ("self.labels.a", "'b'"),
        ("self.ports.map(p, p.port)", "[80, 443]"),
        ("has(self.replicas) && !has(old.replicas)", "true"),
        ("old.replicas", "error: no such key: replicas"),
        ("old.?replicas.orValue(7)", "7"),
        // At runtime a tree's object is a map.
        ("type(self) == Spec", "false"),
        ("dyn(type(self)) == map", "true"),
        ("dyn(self).exists(k, k == '__namespace__')", "true"),
        ("dyn(self).exists(k, k == 'unknown')", "false"),
        ("self == self", "true"),
    ]);
    assert_eq!(
        compiled("self.foo", declarations()),
        "ERROR: <input>:1:5: undefined field 'foo'\n | self.foo\n | ....^"
    );
    assert_eq!(compiled("self.ports", declarations()), "list(Spec.ports)");
    assert_eq!(
        compiled("self.unknown", declarations()).lines().count(),
        3,
        "what is not declared is not there"
    );
}

#[test]
fn sets_and_maps_compare_in_any_order() {
    check(&[
        ("self.set == old.set", "true"),
        ("self.ports == old.ports", "true"),
        ("self.set + ['b', 'c']", "['a', 'b', 'c']"),
        ("(self.ports + old.ports).size()", "2"),
        ("self.ports + old.ports == old.ports", "true"),
        ("self.set + old.set == ['b', 'a']", "true"),
        ("self.set == ['a']", "false"),
    ]);
}

#[test]
fn expressions_make_objects_of_named_types() {
    check(&[
        ("Spec{replicas: 1}.replicas", "1"),
        ("has(Spec{replicas: 1}.ratio)", "false"),
        ("Spec{?replicas: optional.none()}", "{}"),
        ("Spec{replicas: 1} == Spec{replicas: 1}", "true"),
    ]);
    assert_eq!(
        compiled("Spec{replicas: 'a'}", declarations()),
        "ERROR: <input>:1:14: expected type of field 'replicas' is 'int' but provided type is 'string'\n \
         | Spec{replicas: 'a'}\n | .............^"
    );
    assert_eq!(compiled("Spec{}", declarations()), "Spec");
}

/// Lazy `variables`, which count their evaluations.
struct Counted<'v> {
    asked: std::cell::Cell<usize>,
    value: &'v Value,
}

impl<'v> LazyFields<'v> for Counted<'v> {
    fn field(&'v self, name: &str, _: Option<usize>) -> Option<Result<Val<'v>, Error>> {
        self.asked.set(self.asked.get() + 1);
        match name {
            "list" => {
                let Node::List(items) = self.value.node() else { return None };
                Some(Ok(Val::List(List::Tree { items, of: None })))
            }
            "broken" => Some(Err(Error::new("it does not work"))),
            _ => None,
        }
    }
}

#[test]
fn lazy_fields_are_resolved_on_selection() {
    let variables =
        Record::new("variables").field("list", Type::list(Type::String)).field("broken", Type::Int);
    let environment = Environment::new(
        Declarations::new().variable("variables", Type::object(variables)).variable("d", Type::Dyn),
    );
    let value = texts(&["a", "b"]);
    let counted = Counted { asked: Default::default(), value: &value };
    let evaluate = |expression: &str| {
        let program = environment.compile(expression).unwrap();
        let activation = Activation::new().bind_lazy("variables", &counted).bind_lazy("d", &counted);
        let done = program.evaluate(&activation, Budget::PER_CALL);
        (done.value.map_or_else(|error| error.to_string(), |value| written(&value)), done.cost)
    };
    assert_eq!(evaluate("variables.list[1]"), ("'b'".to_owned(), 3));
    assert_eq!(counted.asked.get(), 1);
    assert_eq!(evaluate("true || variables.broken > 1"), ("true".to_owned(), 0));
    assert_eq!(counted.asked.get(), 1, "nobody looked");
    assert_eq!(evaluate("variables.broken + 1").0, "it does not work");
    assert_eq!(evaluate("variables.list.all(x, x != 'c')").0, "true");
    assert_eq!(evaluate("has(variables.list)"), ("true".to_owned(), 1));
    assert_eq!(evaluate("has(d.nope)").0, "false");
    assert_eq!(evaluate("d.nope").0, "no such key: nope");
    assert_eq!(evaluate("d.?nope.orValue(3)").0, "3");
    assert_eq!(evaluate("d.?list[0].orValue('')").0, "'a'");
    assert_eq!(evaluate("d").0, "no such overload");
    assert_eq!(
        environment.compile("variables.nope").unwrap_err().issues()[0].message,
        "undefined field 'nope'"
    );
}

#[test]
fn dynamic_values_are_read_as_json() {
    static LAYOUT: Layout = Layout { names: &["bytes", "hollow", "raw", "none", "float"] };
    let mut object = Object::of(&LAYOUT);
    for (name, value) in [
        ("bytes", Value::bytes(&b"hi"[..])),
        ("hollow", Value::hollow()),
        ("raw", Value::raw(&br#"{"a":[1,2.5,"x",null]}"#[..])),
        ("none", Value::NULL),
        ("float", Value::from(1.5)),
    ] {
        object.insert(name, value);
    }
    let value = Value::from(object);
    let environment = Environment::new(Declarations::new().variable("o", Type::Dyn));
    let activation = Activation::new().bind("o", &value);
    let evaluate = |expression: &str| {
        let program = environment.compile(expression).unwrap();
        let done = program.evaluate(&activation, Budget::PER_CALL).value;
        done.map_or_else(|error| error.to_string(), |value| written(&value))
    };
    assert_eq!(evaluate("o.bytes"), "'aGk='");
    assert_eq!(evaluate("has(o.hollow)"), "false");
    assert_eq!(evaluate("o.size()"), "4");
    assert_eq!(evaluate("o.raw.a"), "[1, 2.5, 'x', null]");
    assert_eq!(evaluate("o.none == null"), "true");
    assert_eq!(evaluate("o.float > 1"), "true");
}

#[test]
fn results_convert_to_trees() {
    let environment = Environment::new(Declarations::new());
    let program = environment
        .compile("[dyn({'a': dyn(1u), 'b': dyn(1.5)}), dyn(b'hi'), dyn(timestamp(0)), dyn(duration('1.5s')), dyn(null), dyn(optional.of('x'))]")
        .unwrap();
    let value = program.evaluate(&Activation::new(), Budget::PER_CALL).value.unwrap().to_value().unwrap();
    let Node::List(items) = value.node() else { panic!("{value:?} is no list") };
    assert_eq!(items[0], object([("a", Value::from(1)), ("b", Value::from(1.5))]));
    assert_eq!(
        items[1..],
        [
            Value::from("aGk="),
            Value::from("1970-01-01T00:00:00Z"),
            Value::from("1.5s"),
            Value::NULL,
            Value::from("x"),
        ]
    );
    let program = environment.compile("['a', 'b']").unwrap();
    let done = program.evaluate(&Activation::new(), Budget::PER_CALL).value.unwrap();
    assert_eq!(done.as_strings(), Some(vec!["a".to_owned(), "b".to_owned()]));
    let program = environment.compile("type(1)").unwrap();
    let done = program.evaluate(&Activation::new(), Budget::PER_CALL).value.unwrap();
    assert!(done.to_value().is_err());
    let doubled = format!("[[1]]{}", ".map(x, [x, x])".repeat(40));
    let program = environment.compile(&doubled).unwrap();
    let done = program.evaluate(&Activation::new(), Budget::PER_CALL).value.unwrap();
    assert_eq!(done.to_value().unwrap_err().to_string(), "result is too large");
}

/// Object type of a schema with properties that expressions cannot select.
#[derive(Debug)]
struct Partly;

impl ObjectType for Partly {
    fn name(&self) -> &str {
        "Partly"
    }

    fn field(&self, name: &str) -> Option<Field> {
        let of = match name {
            "a" => Type::Int,
            "list" => Type::list(Type::Int),
            "day" => Type::Timestamp,
            "time" => Type::Duration,
            _ => return None,
        };
        Some(Field { property: name.into(), of })
    }

    fn hides(&self, property: &str) -> bool {
        property == "hidden"
    }
}

fn partly(expression: &str, left: Value, right: Value) -> String {
    let of = || Type::object(Partly);
    let environment = Environment::new(Declarations::new().variable("a", of()).variable("b", of()));
    let program = environment.compile(expression).unwrap();
    let activation = Activation::new().bind("a", &left).bind("b", &right);
    let done = program.evaluate(&activation, Budget::PER_CALL).value;
    done.map_or_else(|error| error.to_string(), |value| written(&value))
}

#[test]
fn objects_are_compared_with_hidden_properties() {
    let of = |name: &str, value: i64| object([("a", Value::from(1)), (name, Value::from(value))]);
    for (left, right, expect) in [
        (of("hidden", 1), of("hidden", 1), "true"),
        (of("hidden", 1), of("hidden", 2), "false"),
        (of("hidden", 1), of("other", 1), "false"),
        (of("other", 1), of("other", 1), "true"),
        (of("other", 1), of("other", 2), "false"),
        // A property outside the schema counts only if both have it.
        (of("other", 1), of("another", 1), "true"),
        (of("a", 1), of("a", 2), "false"),
        (object([("a", Value::NULL)]), object([("list", Value::NULL)]), "true"),
    ] {
        assert_eq!(partly("a == b", left.clone(), right.clone()), expect, "{left:?} {right:?}");
    }
    let deep = |value: f64| object([("other", Value::from(vec![object([("x", Value::from(value))])]))]);
    assert_eq!(partly("a == b", deep(1.0), deep(1.0)), "true");
    assert_eq!(partly("a == b", deep(1.0), deep(1.5)), "false");
}

#[test]
fn a_null_field_is_absent() {
    let null = object([("a", Value::NULL)]);
    assert_eq!(partly("has(a.a)", null.clone(), Value::NULL), "false");
    assert_eq!(partly("a.a == 1", null.clone(), Value::NULL), "no such key: a");
    assert_eq!(partly("a.?a.orValue(7) == 7", null, Value::NULL), "true");
}

#[test]
fn values_not_of_their_declared_type_are_an_error() {
    let text = |name: &str| object([(name, Value::from("x"))]);
    let array = "invalid data, expected an array for the provided schema with type=array";
    assert_eq!(partly("has(a.list)", text("list"), Value::NULL), array);
    assert_eq!(partly("a.a > 1", text("a"), Value::NULL), "invalid data, expected int, got string");
    assert_eq!(
        partly("has(a.day)", text("day"), Value::NULL),
        r#"Invalid date-time formatted string x: parsing time "x" as "2006-01-02T15:04:05": cannot parse "x" as "2006""#
    );
    assert_eq!(
        partly("has(a.time)", text("time"), Value::NULL),
        "Invalid duration x: unable to parse x as duration"
    );
}

#[test]
fn dates_times_and_durations_are_parsed_by_their_formats() {
    let of = |name: &str, text: &str| object([(name, Value::from(text))]);
    for (text, expect) in [
        ("2020-02-03", "timestamp('2020-02-03T00:00:00Z')"),
        ("2020-02-03T01:02:03", "timestamp('2020-02-03T01:02:03Z')"),
        ("2020-02-03T01:02:03.5+01:00", "timestamp('2020-02-03T01:02:03.5+01:00')"),
        ("", "timestamp('1970-01-01T00:00:00Z')"),
    ] {
        assert_eq!(partly("a.day", of("day", text), Value::NULL), expect, "{text}");
    }
    for (text, expect) in [
        ("1h30m", "duration('1h30m0s')"),
        ("2 weeks", "duration('336h0m0s')"),
        ("1d 3 hours", "duration('27h0m0s')"),
        ("5 MINUTES and 3 seconds", "duration('5m3s')"),
        ("7µs", "duration('7µs')"),
    ] {
        assert_eq!(partly("a.time", of("time", text), Value::NULL), expect, "{text}");
    }
}

#[test]
fn repeated_decoding_ends_at_the_work_limit() {
    let environment = Environment::new(Declarations::new().variable("self", Type::object(Spec)));
    let program = environment
        .compile(
            "[1,2,3,4,5,6,7,8].all(a, [1,2,3,4,5,6,7,8].all(b, [1,2,3,4,5,6,7,8].all(c, self.data != b'')))",
        )
        .unwrap();
    let value = object([("data", Value::from("aaaa".repeat(250_000)))]);
    let done = program.evaluate(&Activation::new().bind("self", &value), Budget::PER_CALL);
    assert_eq!(done.value.unwrap_err().to_string(), "operation cancelled: actual cost limit exceeded");
}

#[test]
fn bytes_are_decoded_as_url_safe_base64() {
    let environment = Environment::new(Declarations::new().variable("self", Type::Bytes));
    let program = environment.compile("self").unwrap();
    let evaluate = |text: &str| {
        let value = Value::from(text);
        let done = program.evaluate(&Activation::new().bind("self", &value), Budget::PER_CALL).value;
        done.map_or_else(|error| error.to_string(), |value| written(&value))
    };
    for (text, expect) in [
        ("", "b''"),
        ("aGk=", "b'hi'"),
        ("aA==", "b'h'"),
        ("aG\nk=", "b'hi'"),
        ("aGlo", "b'hih'"),
        ("_-A=", r"b'\xff\xe0'"),
    ] {
        assert_eq!(evaluate(text), expect, "{text}");
    }
    for (text, at) in
        [("a+b/", 1), ("aGk", 0), ("aGloa", 4), ("a===", 1), ("aA=", 3), ("aA=x", 2), ("aGk=a", 4), ("ä", 0)]
    {
        let expect = format!("Invalid byte formatted string {text}: illegal base64 data at input byte {at}");
        assert_eq!(evaluate(text), expect);
    }
}
