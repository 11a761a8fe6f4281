//! Decoding of custom resources after the model of built-in types: metadata is decoded as its type, unknown fields are pruned,
//! and nulls are dropped where a field is not nullable.

use pintle_codec::json;
use pintle_meta::field_path::{self, Error, Path};
use pintle_meta::{Node, Value};
use pintle_schema::structural::Structural;

use super::change::{self, FieldChange};
use super::drop_nulls;
use super::metadata::{self, Metadata};
use super::prune::{MAX_TEXT, prune};

/// How an object is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Coercion {
    /// Metadata that does not fit its type is left out instead of being an error.
    pub drop_invalid: bool,
    /// Objects from before there were generations get their first one.
    pub repair_generation: bool,
    /// The definition keeps whatever there is (`spec.preserveUnknownFields`).
    pub preserve_unknown: bool,
}

impl Coercion {
    /// For an object that a client sent.
    pub const REQUEST: Coercion =
        Coercion { drop_invalid: false, repair_generation: false, preserve_unknown: false };
    /// For a stored object, perhaps from a time with fewer checks.
    pub const STORED: Coercion =
        Coercion { drop_invalid: true, repair_generation: true, preserve_unknown: false };
}

/// Prunes a decoded object by its schema, and returns the unknown fields for strict field validation: those of
/// its metadata, then the pruned ones, then those of embedded metadata.
pub fn coerce(schema: &Structural, object: &mut Value, how: Coercion) -> Result<Vec<String>, String> {
    let mut unknown = coerce_metadata(object, how.drop_invalid)?;
    if !how.preserve_unknown {
        unknown.extend(prune(schema, object, true));
        drop_nulls(schema, object);
    }
    unknown
        .extend(coerce_embedded(schema, object, false, how.drop_invalid).map_err(|error| error.to_string())?);
    if how.repair_generation
        && object.generation() == 0
        && let Some(metadata) = object.metadata_mut()
    {
        metadata.insert("generation", 1i64);
    }
    Ok(unknown)
}

/// Reads the object's own metadata as its type, whatever the object is. Tells unknown fields.
pub fn coerce_metadata(object: &mut Value, drop_invalid: bool) -> Result<Vec<String>, String> {
    let Some(given) = object.get("metadata") else { return Ok(Vec::new()) };
    let Metadata { changed, unknown } = metadata::read(given, drop_invalid)?;
    if let Some(changed) = changed
        && let Some(object) = object.as_object_mut()
    {
        object.insert("metadata", changed);
    }
    Ok(unknown.into_iter().map(|path| format!("metadata.{path}")).collect())
}

/// Reads the metadata of embedded objects as its type, and that of the root if it is to count as one. Tells unknown fields,
/// sorted.
pub fn coerce_embedded(
    schema: &Structural,
    value: &mut Value,
    root: bool,
    drop_invalid: bool,
) -> Result<Vec<String>, Error> {
    let mut coercer = Coercer { drop_invalid, unknown: Vec::new(), room: MAX_TEXT, error: None };
    let changed = coercer.coerced(schema, value, root, &Path::NOWHERE);
    if let Some(error) = coercer.error {
        return Err(error);
    }
    if let Some(changed) = changed {
        *value = changed;
    }
    coercer.unknown.sort_unstable();
    Ok(coercer.unknown)
}

struct Coercer {
    drop_invalid: bool,
    unknown: Vec<String>,
    room: usize,
    /// The first, after which nothing is looked at.
    error: Option<Error>,
}

impl Coercer {
    fn coerced(&mut self, schema: &Structural, value: &Value, root: bool, at: &Path<'_>) -> Option<Value> {
        if self.error.is_some() || !(root || schema.marks.embedded) {
            return None;
        }
        match value.node() {
            Node::Object(object) => {
                let embedded = root || schema.embedded;
                change::object(object, |key, value| self.field(schema, embedded, key, value, at))
            }
            Node::List(items) => {
                let of = schema.items.as_deref()?;
                change::list(items, |place, item| self.coerced(of, item, false, &at.index(place)))
            }
            _ => None,
        }
    }

    fn field(
        &mut self,
        schema: &Structural,
        embedded: bool,
        key: &str,
        value: &Value,
        at: &Path<'_>,
    ) -> FieldChange {
        if self.error.is_some() {
            return FieldChange::Keep;
        }
        match key {
            "apiVersion" | "kind" if embedded && value.as_str().is_none() => {
                if self.drop_invalid {
                    return FieldChange::Remove;
                }
                self.error = Some(Error::invalid(&at.child(key), error_value(value), "must be a string"));
                FieldChange::Keep
            }
            "metadata" if embedded => match metadata::read(value, self.drop_invalid) {
                Ok(Metadata { changed, unknown }) => {
                    if !unknown.is_empty() && self.room > 0 {
                        self.note_unknown(&at.child(key).to_string(), &unknown);
                    }
                    changed.into()
                }
                Err(_) if self.drop_invalid => FieldChange::Keep,
                Err(wrong) => {
                    self.error = Some(Error::invalid(&at.child(key), error_value(value), wrong));
                    FieldChange::Keep
                }
            },
            _ => match (schema.property(key), schema.additional_schema()) {
                (Some(of), _) => self.coerced(of, value, false, &at.child(key)).into(),
                (None, Some(of)) => self.coerced(of, value, false, &at.key(key)).into(),
                (None, None) => FieldChange::Keep,
            },
        }
    }

    #[cold]
    fn note_unknown(&mut self, at: &str, unknown: &[String]) {
        for path in unknown {
            let path = format!("{at}.{path}");
            match self.room.checked_sub(path.len()) {
                Some(room) => self.room = room,
                None => {
                    self.room = 0;
                    return;
                }
            }
            self.unknown.push(path);
        }
    }
}

/// A value as it shows in an error.
pub(crate) fn error_value(value: &Value) -> field_path::Value {
    match value.node() {
        Node::String(text) => text.into(),
        Node::Bool(value) => value.into(),
        Node::Int(value) => value.into(),
        Node::Float(value) => value.into(),
        Node::Null => field_path::Value::null(),
        _ => {
            let mut text = Vec::new();
            json::encode(value, &mut text);
            field_path::Value::Printed(String::from_utf8_lossy(&text).into_owned())
        }
    }
}
