//! Printer columns: what a definition says that tables of its objects show.

use pintle_codec::table::{self, Column};
use pintle_meta::Value;
use pintle_meta::time::{Time, human_duration};

use crate::json_path::{Found, JsonPath};

/// The columns of a version: the name of the object, and those that the definition adds.
#[derive(Clone, Debug)]
pub struct Columns {
    added: Box<[Added]>,
}

#[derive(Clone, Debug)]
struct Added {
    path: JsonPath,
    name: Box<str>,
    kind: Box<str>,
    format: Box<str>,
    description: Box<str>,
    priority: i32,
}

impl Columns {
    /// Compiles `additionalPrinterColumns`. A definition that adds none shows ages; one whose path cannot be read shows what
    /// stands before that.
    pub fn compile(definitions: &[Value]) -> Columns {
        if definitions.is_empty() {
            return Columns { added: Added::age().into_iter().collect() };
        }
        Columns { added: definitions.iter().map_while(Added::compile).collect() }
    }

    /// The columns of a custom resource's scale.
    pub fn of_scale() -> Columns {
        let replicas = [
            Added::plain("Desired", "integer", ".spec.replicas", "Number of desired replicas"),
            Added::plain("Available", "integer", ".status.replicas", "Number of actual replicas"),
            Added::age(),
        ];
        Columns { added: replicas.into_iter().flatten().collect() }
    }

    /// The column definitions of a Table.
    pub fn definitions(&self) -> Vec<Column<'_>> {
        let mut columns = Vec::with_capacity(self.added.len() + 1);
        columns.push(Column {
            name: "Name",
            kind: "string",
            format: "name",
            description: table::NAME,
            priority: 0,
        });
        columns.extend(self.added.iter().map(|added| Column {
            name: &added.name,
            kind: &added.kind,
            format: &added.format,
            description: &added.description,
            priority: added.priority,
        }));
        columns
    }

    /// Adds the cells of an object to those of a row.
    pub fn cells(&self, object: &Value, now: Time, cells: &mut Vec<Value>) {
        let name = object.at(&["metadata", "name"]).filter(|name| name.as_str().is_some());
        cells.push(name.cloned().unwrap_or_else(|| Value::literal("")));
        cells.extend(self.added.iter().map(|added| added.cell(object, now)));
    }
}

impl Added {
    fn plain(name: &str, kind: &str, path: &str, description: &str) -> Option<Added> {
        Some(Added {
            path: JsonPath::parse(path).ok()?,
            name: name.into(),
            kind: kind.into(),
            format: "".into(),
            description: description.into(),
            priority: 0,
        })
    }

    fn age() -> Option<Added> {
        Added::plain("Age", "date", ".metadata.creationTimestamp", table::CREATION_TIMESTAMP)
    }

    fn compile(definition: &Value) -> Option<Added> {
        let text = |name: &str| Box::<str>::from(definition.text_at(&[name]));
        // Older versions of definitions spell it differently.
        let path = match definition.text_at(&["jsonPath"]) {
            "" => definition.text_at(&["JSONPath"]),
            path => path,
        };
        let description = match definition.text_at(&["description"]) {
            "" => format!("Custom resource definition column (in JSONPath format): {path}").into(),
            description => description.into(),
        };
        let priority = definition.get("priority").and_then(Value::as_i64).unwrap_or_default();
        Some(Added {
            path: JsonPath::parse(path).ok()?,
            name: text("name"),
            kind: text("type"),
            format: text("format"),
            description,
            priority: i32::try_from(priority).unwrap_or_default(),
        })
    }

    /// Returns the cell of an object; null if the value is absent or of another type.
    fn cell(&self, object: &Value, now: Time) -> Value {
        let Some(found) = self.path.first(object) else { return Value::NULL };
        match (&*self.kind, found) {
            // A string cell shares the object's string.
            ("string", Found::Tree(value)) if value.as_str().is_some() => value.clone(),
            ("string", found) => found.print().into_owned().into(),
            ("integer", Found::Tree(value)) => match value.as_i64() {
                Some(value) => value.into(),
                None => value.as_f64().map_or(Value::NULL, |value| whole(value).into()),
            },
            ("integer", Found::Float(value)) => whole(value).into(),
            ("number", Found::Tree(value)) => value.as_f64().map_or(Value::NULL, Value::from),
            ("number", Found::Float(value)) => value.into(),
            ("boolean", Found::Tree(value)) => value.as_bool().map_or(Value::NULL, Value::from),
            ("boolean", Found::Bool(value)) => value.into(),
            ("date", found) => match found.text().map(Time::from_query) {
                None => Value::NULL,
                Some(Err(_)) => Value::literal("<invalid>"),
                Some(Ok(time)) if time.is_zero() => Value::literal("<unknown>"),
                Some(Ok(time)) => human_duration(now.nanos_since(&time)).into(),
            },
            _ => Value::NULL,
        }
    }
}

/// As Go makes whole numbers of others.
fn whole(number: f64) -> i64 {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if (-LIMIT..LIMIT).contains(&number) { number as i64 } else { i64::MIN }
}

#[cfg(test)]
mod tests {
    use pintle_codec::json;

    use super::*;

    fn untyped(text: &str) -> Value {
        json::decode_any(text.as_bytes()).unwrap().value
    }

    fn compiled(columns: &str) -> Columns {
        Columns::compile(untyped(columns).as_list().unwrap())
    }

    #[track_caller]
    fn cells(columns: &str, object: &str, expected: &str) {
        let mut cells = Vec::new();
        let now = Time::parse("2026-01-02T00:00:00Z").unwrap();
        compiled(columns).cells(&untyped(object), now, &mut cells);
        let mut text = Vec::new();
        json::encode(&Value::list(cells), &mut text);
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }

    fn one(kind: &str, path: &str) -> String {
        format!(r#"[{{"name":"A","type":"{kind}","jsonPath":"{path}"}}]"#)
    }

    #[test]
    fn without_columns_there_are_names_and_ages() {
        let columns = compiled("[]");
        let shown = columns.definitions();
        assert_eq!(shown[0], Column { name: "Name", kind: "string", format: "name", ..shown[0] });
        assert_eq!(shown[1], Column { name: "Age", kind: "date", format: "", priority: 0, ..shown[1] });
        assert!(shown[1].description.starts_with("CreationTimestamp is a timestamp"));
        let object = r#"{"metadata":{"name":"a","creationTimestamp":"2026-01-01T22:00:00Z"}}"#;
        cells("[]", object, r#"["a","120m"]"#);
        cells("[]", "{}", r#"["",null]"#);
    }

    #[test]
    fn columns_say_what_the_definition_says() {
        let columns = compiled(
            r#"[{"name":"A","type":"integer","format":"int32","description":"d","priority":1,"jsonPath":".a"},
                {"name":"B","type":"string","JSONPath":".b"}]"#,
        );
        let shown = columns.definitions();
        let a = Column { name: "A", kind: "integer", format: "int32", description: "d", priority: 1 };
        assert_eq!(shown[1], a);
        assert_eq!(shown[2].description, "Custom resource definition column (in JSONPath format): .b");
        // From a path that cannot be read on, there is nothing.
        let columns = compiled(
            r#"[{"name":"A","type":"string","jsonPath":".a"},{"name":"B","type":"string","jsonPath":".b[x]"},
                {"name":"C","type":"string","jsonPath":".c"}]"#,
        );
        assert_eq!(columns.definitions().iter().map(|column| column.name).collect::<Vec<_>>(), ["Name", "A"]);
    }

    #[test]
    fn strings_show_everything() {
        for (value, shown) in [
            (r#""text""#, r#""text""#),
            ("1", r#""1""#),
            ("1.5", r#""1.5""#),
            ("1000000.5", r#""1.0000005e+06""#),
            ("true", r#""true""#),
            ("null", r#""\u003cno value\u003e""#),
            ("[1,\"a\"]", r#""[1,\"a\"]""#),
            (r#"{"b":1,"a":{}}"#, r#""{\"a\":{},\"b\":1}""#),
        ] {
            let object = format!(r#"{{"metadata":{{"name":"x"}},"v":{value}}}"#);
            cells(&one("string", ".v"), &object, &format!(r#"["x",{shown}]"#));
        }
        cells(&one("string", ".w"), r#"{"metadata":{"name":"x"}}"#, r#"["x",null]"#);
    }

    #[test]
    fn other_types_show_only_what_is_of_them() {
        for (kind, value, shown) in [
            ("integer", "1", "1"),
            ("integer", "1.9", "1"),
            ("integer", "\"1\"", "null"),
            ("integer", "null", "null"),
            ("integer", "1e300", "-9223372036854775808"),
            ("number", "1", "1"),
            ("number", "1.5", "1.5"),
            ("number", "\"1\"", "null"),
            ("boolean", "true", "true"),
            ("boolean", "1", "null"),
            ("date", "\"2026-01-01T23:59:30Z\"", "\"30s\""),
            ("date", "\"2026-01-02T01:00:00Z\"", "\"\\u003cinvalid\\u003e\""),
            ("date", "\"yesterday\"", "\"\\u003cinvalid\\u003e\""),
            ("date", "\"\"", "\"\\u003cunknown\\u003e\""),
            ("date", "1", "null"),
            ("date", "null", "null"),
            ("nonsense", "1", "null"),
        ] {
            let object = format!(r#"{{"metadata":{{"name":"x"}},"v":{value}}}"#);
            cells(&one(kind, ".v"), &object, &format!(r#"["x",{shown}]"#));
        }
    }

    #[test]
    fn a_scale_shows_how_many_there_should_be_and_are() {
        let scale = Columns::of_scale();
        let names: Vec<&str> = scale.definitions().iter().map(|column| column.name).collect();
        assert_eq!(names, ["Name", "Desired", "Available", "Age"]);
        let object = r#"{"metadata":{"name":"x","creationTimestamp":"2026-01-01T23:59:30Z"},
            "spec":{"replicas":3},"status":{"replicas":0}}"#;
        let (mut cells, mut text) = (Vec::new(), Vec::new());
        scale.cells(&untyped(object), Time::parse("2026-01-02T00:00:00Z").unwrap(), &mut cells);
        json::encode(&Value::list(cells), &mut text);
        assert_eq!(String::from_utf8(text).unwrap(), r#"["x",3,0,"30s"]"#);
    }

    #[test]
    fn the_first_of_several_is_shown() {
        let object = r#"{"metadata":{"name":"x"},"status":{"conditions":[{"type":"A","status":"1"},
            {"type":"Ready","status":"True"}]}}"#;
        let path = r#".status.conditions[?(@.type==\"Ready\")].status"#;
        cells(&one("string", path), object, r#"["x","True"]"#);
        cells(&one("string", ".status.conditions[*].status"), object, r#"["x","1"]"#);
        cells(&one("string", ".status.conditions[7].status"), object, r#"["x",null]"#);
    }
}
