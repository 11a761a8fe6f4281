//! Entries of `managedFields`, and their decoded form.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use pintle_codec::json;
use pintle_meta::time::Time;
use pintle_meta::value::{Key, Layout, Object};
use pintle_meta::{Node, Value, quote};
use pintle_schema::find;

use crate::fieldset::{self, Set};

/// Reason why `managedFields` cannot be decoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("operation must be `Apply` or `Update`")]
    Operation,
    #[error("apiVersion must not be empty")]
    Version,
    #[error("missing fieldsType in managed fields entry {0}")]
    NoFieldsType(usize),
    #[error("invalid fieldsType {} in managed fields entry {entry}", quote(found))]
    FieldsType { found: String, entry: usize },
    #[error("error decoding set: {0}")]
    Fields(#[from] fieldset::Error),
    #[error("managed fields entry {0} is not an object")]
    Entry(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    Apply,
    Update,
}

impl Operation {
    fn name(self) -> &'static str {
        match self {
            Operation::Apply => "Apply",
            Operation::Update => "Update",
        }
    }
}

/// Identity of an entry.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Id {
    pub manager: Key,
    pub operation: Operation,
    /// Empty for Apply, which is one entry for all versions.
    pub api_version: Key,
    pub subresource: Key,
}

impl Id {
    pub fn new(manager: &str, operation: Operation, api_version: &str, subresource: &str) -> Id {
        let api_version = if operation == Operation::Apply { "" } else { api_version };
        Id {
            manager: manager.into(),
            operation,
            api_version: api_version.into(),
            subresource: subresource.into(),
        }
    }

    /// Returns the reference's identifier, which orders entries of equal times.
    pub(super) fn text(&self) -> Vec<u8> {
        let fields = [
            ("manager", self.manager.as_str()),
            ("operation", self.operation.name()),
            ("apiVersion", &self.api_version),
            ("subresource", &self.subresource),
        ];
        let mut out = vec![b'{'];
        for (name, value) in fields.into_iter().filter(|(_, value)| !value.is_empty()) {
            if out.len() > 1 {
                out.push(b',');
            }
            json::write::string(name, &mut out);
            out.push(b':');
            json::write::string(value, &mut out);
        }
        out.push(b'}');
        out
    }
}

/// Fields of a manager.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manager {
    /// The version of the fields.
    pub api_version: Key,
    pub fields: Set,
    /// RFC 3339.
    pub time: Option<Key>,
}

impl Manager {
    pub(super) fn seconds(&self) -> i64 {
        self.time.as_deref().and_then(|time| Time::parse(time).ok()).map_or(0, |time| time.unix_seconds())
    }
}

/// All managers of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Managed {
    pub managers: BTreeMap<Id, Manager>,
}

impl Managed {
    /// Decodes the managers of an object; the error is also the message for the author of a webhook.
    pub fn of(object: &Value) -> Result<Managed, Error> {
        Managed::read(object.items_at(&["metadata", "managedFields"]))
    }

    pub fn read(entries: &[Value]) -> Result<Managed, Error> {
        let mut managers = BTreeMap::new();
        for (index, entry) in entries.iter().enumerate() {
            if entry.as_object().is_none() {
                return Err(Error::Entry(index));
            }
            let text = |name: &str| entry.text_at(&[name]);
            let operation = match text("operation") {
                "Apply" => Operation::Apply,
                "Update" => Operation::Update,
                _ => return Err(Error::Operation),
            };
            let api_version = text("apiVersion");
            if api_version.is_empty() {
                return Err(Error::Version);
            }
            match text("fieldsType") {
                "FieldsV1" => {}
                "" => return Err(Error::NoFieldsType(index)),
                other => return Err(Error::FieldsType { found: other.into(), entry: index }),
            }
            let fields = match entry.get("fieldsV1") {
                None => Set::new(),
                Some(fields) if fields.is_null() => Set::new(),
                Some(fields) => Set::from_value(fields)?,
            };
            let time = entry.get("time").and_then(Value::as_str).map(Key::new);
            let id = Id::new(text("manager"), operation, api_version, text("subresource"));
            managers.insert(id, Manager { api_version: api_version.into(), fields, time });
        }
        Ok(Managed { managers })
    }

    pub fn is_empty(&self) -> bool {
        self.managers.is_empty()
    }

    /// Encodes the entries: of the built-in type, or untyped with sorted keys and without raw JSON.
    pub fn write(&self, typed: bool) -> Vec<Value> {
        let mut all: Vec<(&Id, &Manager, i64)> =
            self.managers.iter().map(|(id, manager)| (id, manager, manager.seconds())).collect();
        all.sort_by(|a, b| order(*a, *b));
        let entry = |(id, manager, _): (&Id, &Manager, i64)| {
            if typed { typed_entry(id, manager) } else { untyped_entry(id, manager) }
        };
        all.into_iter().map(entry).collect()
    }

    /// Sets the entries of an object, replacing its previous ones.
    pub fn set(&self, object: &mut Value) {
        let Some(metadata) = object.metadata_mut() else { return };
        if self.is_empty() {
            metadata.remove("managedFields");
            return;
        }
        let entries = self.write(metadata.layout().is_some());
        metadata.insert("managedFields", entries);
    }
}

fn order((a, first, a_time): (&Id, &Manager, i64), (b, second, b_time): (&Id, &Manager, i64)) -> Ordering {
    (a.operation, a_time, &a.manager, &first.api_version, &a.subresource).cmp(&(
        b.operation,
        b_time,
        &b.manager,
        &second.api_version,
        &b.subresource,
    ))
}

static LAYOUT: LazyLock<Option<&'static Layout>> =
    LazyLock::new(|| Some(&find("meta/v1.ManagedFieldsEntry")?.structure()?.layout));

fn typed_entry(id: &Id, manager: &Manager) -> Value {
    let mut entries = Vec::with_capacity(7);
    let mut add = |name: &'static str, value: Value| entries.push((Key::new_static(name), value));
    if !id.manager.is_empty() {
        add("manager", id.manager.clone().into());
    }
    add("operation", Value::literal(id.operation.name()));
    add("apiVersion", manager.api_version.clone().into());
    if let Some(time) = &manager.time {
        add("time", time.clone().into());
    }
    add("fieldsType", Value::literal("FieldsV1"));
    add("fieldsV1", Value::raw(manager.fields.to_json()));
    if !id.subresource.is_empty() {
        add("subresource", id.subresource.clone().into());
    }
    match *LAYOUT {
        Some(layout) => Value::object(Object::of_ordered(layout, entries)),
        None => Value::object(Object::from_unsorted(entries)),
    }
}

fn untyped_entry(id: &Id, manager: &Manager) -> Value {
    let typed = typed_entry(id, manager);
    let entries = typed.as_object().map(Object::entries).unwrap_or_default();
    let plain = |value: &Value| match value.node() {
        Node::Raw(raw) => fieldset::read(raw),
        _ => value.clone(),
    };
    Value::object(entries.iter().map(|(name, value)| (name.clone(), plain(value))).collect())
}
