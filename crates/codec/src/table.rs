//! `Table`: objects as rows of cells, as `kubectl get` requests them.
//!
//! Columns and cells of a kind are defined elsewhere; this is the wire format of a table. It exists in JSON, YAML and
//! CBOR, not in protobuf.
//!
//! JSON, the most common, is written row by row with a [`Writer`], so that a long list needs neither a second tree
//! nor all of its text at once. The other encodings use the [`tree`] of a table.

use pintle_meta::value::{Key, Layout, Object};
use pintle_meta::{Value, quote};

use crate::json;
use crate::partial::{self, ListMeta, Version};

/// API documentation of the two fields that nearly every table has as columns. Clients see it in the table.
pub const NAME: &str = "Name must be unique within a namespace. Is required when creating resources, although some resources may allow a client to request the generation of an appropriate name automatically. Name is primarily intended for creation idempotence and configuration definition. Cannot be updated. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names";
pub const CREATION_TIMESTAMP: &str = "CreationTimestamp is a timestamp representing the server time when this object was created. It is not guaranteed to be set in happens-before order across separate operations. Clients may not set this value. It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";

/// Column definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column<'a> {
    pub name: &'a str,
    /// OpenAPI type: `string`, `integer`, `boolean`, `number`, `date`.
    pub kind: &'a str,
    /// `name` for the column that names the object.
    pub format: &'a str,
    pub description: &'a str,
    /// 0 for columns that are always displayed; greater ones only with `-o wide`.
    pub priority: i32,
}

/// Table without its rows.
#[derive(Clone, Copy, Debug)]
pub struct Head<'a> {
    pub version: Version,
    pub meta: ListMeta<'a>,
    /// `None` for all but the first table of a watch.
    pub columns: Option<&'a [Column<'a>]>,
    /// Representation of an empty list of rows. The reference has both, which clients can see.
    pub empty: Empty,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Empty {
    List,
    Null,
}

/// Part of the object that a row contains: `?includeObject=`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Include {
    None,
    #[default]
    Metadata,
    Object,
}

impl Include {
    /// Parses the query parameter; the error is the message of a 400.
    pub fn parse(text: &str) -> Result<Include, String> {
        match text {
            "None" => Ok(Include::None),
            "" | "Metadata" => Ok(Include::Metadata),
            "Object" => Ok(Include::Object),
            other => Err(format!(
                "Unable to convert to Table as requested: includeObject: Invalid value: {}: must be 'Metadata', 'Object', \
                 'None', or empty",
                quote(other)
            )),
        }
    }
}

/// Condition of a completed object, which clients may display as less important.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completed {
    pub reason: &'static str,
    pub message: &'static str,
}

#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    pub cells: &'a [Value],
    pub completed: Option<Completed>,
    /// In the requested version.
    pub object: &'a Value,
    pub include: Include,
}

impl Row<'_> {
    /// Returns the part that is included: the bookmark that ends a watch's initial events keeps its metadata, whose
    /// annotation identifies it.
    fn include(&self) -> Include {
        match self.include {
            Include::None if self.object.annotation("k8s.io/initial-events-end") == Some("true") => {
                Include::Metadata
            }
            include => include,
        }
    }
}

static TABLE: Layout = Layout { names: &["kind", "apiVersion", "metadata", "columnDefinitions", "rows"] };
static COLUMN: Layout = Layout { names: &["name", "type", "format", "description", "priority"] };
static ROW: Layout = Layout { names: &["cells", "conditions", "object"] };
static CONDITION: Layout = Layout { names: &["type", "status", "reason", "message"] };

/// Writer of a table as JSON, one row at a time. The output may be sent and cleared between the calls.
#[derive(Debug)]
pub struct Writer {
    version: Version,
    empty: Empty,
    rows: usize,
}

impl Writer {
    pub fn begin(head: &Head<'_>, out: &mut Vec<u8>) -> Writer {
        out.extend_from_slice(br#"{"kind":"Table","apiVersion":""#);
        out.extend_from_slice(head.version.api_version().as_bytes());
        out.extend_from_slice(br#"","metadata":"#);
        json::encode(&head.meta.tree(), out);
        out.extend_from_slice(br#","columnDefinitions":"#);
        json::encode(&columns_tree(head.columns), out);
        out.extend_from_slice(br#","rows":"#);
        Writer { version: head.version, empty: head.empty, rows: 0 }
    }

    pub fn row(&mut self, row: &Row<'_>, out: &mut Vec<u8>) {
        out.extend_from_slice(if self.rows == 0 { b"[" } else { b"," });
        self.rows += 1;
        out.extend_from_slice(br#"{"cells":["#);
        for (index, cell) in row.cells.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            json::encode(cell, out);
        }
        out.push(b']');
        if let Some(completed) = row.completed {
            out.extend_from_slice(br#","conditions":"#);
            json::encode(&conditions_tree(completed), out);
        }
        out.extend_from_slice(br#","object":"#);
        match row.include() {
            Include::None => out.extend_from_slice(b"null"),
            Include::Object => json::encode(row.object, out),
            Include::Metadata => {
                out.extend_from_slice(br#"{"kind":"PartialObjectMetadata","apiVersion":""#);
                out.extend_from_slice(self.version.api_version().as_bytes());
                out.extend_from_slice(br#"","metadata":"#);
                json::encode(&partial::metadata(row.object), out);
                out.push(b'}');
            }
        }
        out.push(b'}');
    }

    pub fn end(self, out: &mut Vec<u8>) {
        let rows = self.rows;
        self.end_after(rows, out);
    }

    /// Writes the end of a table of so many rows, for callers that need it before the rows are written.
    pub fn end_after(self, rows: usize, out: &mut Vec<u8>) {
        out.extend_from_slice(match (rows, self.empty) {
            (0, Empty::Null) => b"null}",
            (0, Empty::List) => b"[]}",
            _ => b"]}",
        });
    }
}

/// Returns the whole table as a tree; `rows` are those of [`row_tree`].
pub fn tree(head: &Head<'_>, rows: Vec<Value>) -> Value {
    let rows = match head.empty {
        Empty::Null if rows.is_empty() => Value::NULL,
        _ => Value::list(rows),
    };
    let entries = vec![
        (Key::new_static("kind"), Value::literal("Table")),
        (Key::new_static("apiVersion"), Value::literal(head.version.api_version())),
        (Key::new_static("metadata"), head.meta.tree()),
        (Key::new_static("columnDefinitions"), columns_tree(head.columns)),
        (Key::new_static("rows"), rows),
    ];
    Value::object(Object::of_ordered(&TABLE, entries))
}

pub fn row_tree(version: Version, row: &Row<'_>) -> Value {
    let mut entries = vec![(Key::new_static("cells"), Value::list(row.cells.to_vec()))];
    if let Some(completed) = row.completed {
        entries.push((Key::new_static("conditions"), conditions_tree(completed)));
    }
    let object = match row.include() {
        Include::None => Value::NULL,
        Include::Object => row.object.clone(),
        Include::Metadata => partial::object(version, row.object),
    };
    entries.push((Key::new_static("object"), object));
    Value::object(Object::of_ordered(&ROW, entries))
}

fn columns_tree(columns: Option<&[Column<'_>]>) -> Value {
    let Some(columns) = columns else { return Value::NULL };
    let column = |column: &Column<'_>| {
        let entries = vec![
            (Key::new_static("name"), column.name.into()),
            (Key::new_static("type"), column.kind.into()),
            (Key::new_static("format"), column.format.into()),
            (Key::new_static("description"), column.description.into()),
            (Key::new_static("priority"), column.priority.into()),
        ];
        Value::object(Object::of_ordered(&COLUMN, entries))
    };
    Value::list(columns.iter().map(column).collect())
}

fn conditions_tree(completed: Completed) -> Value {
    let entries = vec![
        (Key::new_static("type"), Value::literal("Completed")),
        (Key::new_static("status"), Value::literal("True")),
        (Key::new_static("reason"), Value::literal(completed.reason)),
        (Key::new_static("message"), Value::literal(completed.message)),
    ];
    Value::list(vec![Value::object(Object::of_ordered(&CONDITION, entries))])
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: &[Column<'static>] = &[
        Column {
            name: "Name",
            kind: "string",
            format: "name",
            description: "what it is \"called\"",
            priority: 0,
        },
        Column { name: "Data", kind: "integer", format: "", description: "", priority: 1 },
    ];

    fn head(columns: Option<&'static [Column<'static>]>, empty: Empty) -> Head<'static> {
        let meta = ListMeta { resource_version: "7", continue_token: "abc", remaining_item_count: Some(3) };
        Head { version: Version::V1, meta, columns, empty }
    }

    /// Formats the table as JSON, through the writer and the tree, which must agree.
    fn text(head: &Head<'_>, rows: &[Row<'_>]) -> String {
        let mut written = Vec::new();
        let mut writer = Writer::begin(head, &mut written);
        for row in rows {
            writer.row(row, &mut written);
        }
        writer.end(&mut written);
        let mut encoded = Vec::new();
        json::encode(&tree(head, rows.iter().map(|row| row_tree(head.version, row)).collect()), &mut encoded);
        let (written, encoded) = (String::from_utf8(written).unwrap(), String::from_utf8(encoded).unwrap());
        assert_eq!(written, encoded);
        written
    }

    fn pod() -> Value {
        let of = pintle_schema::find("core/v1.Pod").unwrap();
        let text = br#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p","labels":{"a":"b"}},"spec":{"containers":[]}}"#;
        json::decode(of, text).unwrap().value
    }

    #[test]
    fn a_table_has_column_definitions() {
        let expected = r#"{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"7","continue":"abc","remainingItemCount":3},"columnDefinitions":[{"name":"Name","type":"string","format":"name","description":"what it is \"called\"","priority":0},{"name":"Data","type":"integer","format":"","description":"","priority":1}],"rows":[]}"#;
        assert_eq!(text(&head(Some(COLUMNS), Empty::List), &[]), expected);
    }

    #[test]
    fn later_tables_of_a_watch_have_no_column_definitions() {
        let head = Head {
            version: Version::V1beta1,
            meta: ListMeta { resource_version: "7", ..ListMeta::default() },
            columns: None,
            empty: Empty::Null,
        };
        let expected = r#"{"kind":"Table","apiVersion":"meta.k8s.io/v1beta1","metadata":{"resourceVersion":"7"},"columnDefinitions":null,"rows":null}"#;
        assert_eq!(text(&head, &[]), expected);
    }

    #[test]
    fn rows_include_the_requested_part_of_their_object() {
        let pod = pod();
        let cells = [Value::from("p"), 5i64.into(), true.into(), Value::NULL];
        let rows = |include| {
            let row = Row { cells: &cells, completed: None, object: &pod, include };
            let text = text(&head(None, Empty::Null), &[row, row]);
            let rows = text.split_once(r#""rows":"#).unwrap().1.strip_suffix('}').unwrap().to_string();
            let one = rows.strip_prefix('[').unwrap()[..(rows.len() - 3) / 2].to_string();
            assert_eq!(rows, format!("[{one},{one}]"));
            one
        };
        assert_eq!(rows(Include::None), r#"{"cells":["p",5,true,null],"object":null}"#);
        assert_eq!(
            rows(Include::Metadata),
            r#"{"cells":["p",5,true,null],"object":{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"p","labels":{"a":"b"}}}}"#
        );
        assert_eq!(
            rows(Include::Object),
            r#"{"cells":["p",5,true,null],"object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p","labels":{"a":"b"}},"spec":{"containers":[]},"status":{}}}"#
        );
    }

    #[test]
    fn completed_objects_have_a_condition() {
        let pod = pod();
        let completed = Some(Completed { reason: "Failed", message: "The pod failed." });
        let row = Row { cells: &[], completed, object: &pod, include: Include::None };
        let text = text(&head(None, Empty::List), &[row]);
        let rows = r#""rows":[{"cells":[],"conditions":[{"type":"Completed","status":"True","reason":"Failed","message":"The pod failed."}],"object":null}]}"#;
        assert!(text.ends_with(rows), "{text}");
    }

    #[test]
    fn the_initial_events_end_bookmark_keeps_its_annotation() {
        let of = pintle_schema::find("core/v1.Pod").unwrap();
        let object = |end: &str| {
            let text = format!(r#"{{"metadata":{{"annotations":{{"k8s.io/initial-events-end":"{end}"}}}}}}"#);
            json::decode(of, text.as_bytes()).unwrap().value
        };
        for (end, kept) in [("true", true), ("false", false)] {
            let object = object(end);
            let row = Row { cells: &[], completed: None, object: &object, include: Include::None };
            assert_eq!(text(&head(None, Empty::List), &[row]).contains("PartialObjectMetadata"), kept);
        }
    }

    #[test]
    fn include_object_has_three_values() {
        assert_eq!(Include::parse(""), Ok(Include::Metadata));
        assert_eq!(Include::parse("Object"), Ok(Include::Object));
        let message = "Unable to convert to Table as requested: includeObject: Invalid value: \"Bogus\": must be 'Metadata', 'Object', 'None', or empty";
        assert_eq!(Include::parse("Bogus"), Err(message.into()));
    }
}
