//! The columns of every built-in kind: what `kubectl get` and `-o wide` show, and how each cell is made of an object.
//!
//! Cells read the tree of the version that a kind is stored in, defaulted and in normal form, whichever version the request
//! is about; [`Columns::reads`] says which that is. The kinds' own columns are in the folders of their groups.

pub(crate) mod cell;
pub(crate) mod descriptions;
#[cfg(test)]
mod recorded;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;

use std::cmp::Ordering;

use pintle_codec::table::{Column, Completed, Empty};
use pintle_meta::Value;
use pintle_meta::time::Time;
use pintle_schema::{Resource, Type};

use self::descriptions as doc;

/// How a kind is shown in a table.
#[derive(Debug)]
pub struct Columns {
    /// The type of the trees that cells are made of; `None` if they need only metadata, which is the same everywhere.
    pub reads: Option<&'static str>,
    pub definitions: &'static [Column<'static>],
    cells: fn(&Value, &Context, &mut Vec<Value>),
    completed: fn(&Value) -> Option<Completed>,
    order: Option<fn(&Value, &Value) -> Ordering>,
    /// The rows of a table without objects.
    pub empty: Empty,
    /// Whether every event of a watch says the columns again.
    pub always_defined: bool,
}

/// Inputs of cells besides the object.
#[derive(Clone, Copy, Debug)]
pub struct Context {
    pub now: Time,
}

impl Columns {
    pub(crate) const fn new(
        reads: &'static str,
        definitions: &'static [Column<'static>],
        cells: fn(&Value, &Context, &mut Vec<Value>),
    ) -> Columns {
        Columns {
            reads: Some(reads),
            definitions,
            cells,
            completed: |_| None,
            order: None,
            empty: Empty::List,
            always_defined: false,
        }
    }

    /// Adds the cells of an object to those of a row.
    pub fn cells(&self, object: &Value, context: &Context, cells: &mut Vec<Value>) {
        (self.cells)(object, context, cells);
    }

    /// Whether the object has come to its end.
    pub fn completed(&self, object: &Value) -> Option<Completed> {
        (self.completed)(object)
    }

    /// The order of a list's rows, where it is not that of the list.
    pub fn order(&self) -> Option<fn(&Value, &Value) -> Ordering> {
        self.order
    }

    pub(crate) const fn completing(self, completed: fn(&Value) -> Option<Completed>) -> Columns {
        Columns { completed, ..self }
    }

    pub(crate) const fn ordered(self, order: fn(&Value, &Value) -> Ordering) -> Columns {
        Columns { order: Some(order), ..self }
    }

    pub(crate) const fn always_defined(self) -> Columns {
        Columns { always_defined: true, ..self }
    }
}

/// Kinds without columns of their own show their name and when they were made.
pub static DEFAULT: Columns = Columns {
    reads: None,
    definitions: &[
        NAME,
        Column {
            name: "Created At",
            kind: "date",
            format: "",
            description: doc::CREATION_TIMESTAMP,
            priority: 0,
        },
    ],
    cells: |object, _, cells| {
        let created = cell::time(object.at(&["metadata", "creationTimestamp"]));
        cells.extend([cell::name(object), created.to_string().into()]);
    },
    completed: |_| None,
    order: None,
    empty: Empty::Null,
    always_defined: false,
};

/// The columns of a kind, in whichever version.
pub fn of(of: &'static Type) -> &'static Columns {
    let kind = of.kind_name();
    let own = match of.name.split('/').next().unwrap_or_default() {
        "admissionregistration" => crate::admissionregistration::columns::of(kind),
        "apiregistration" => crate::apiregistration::columns::of(kind),
        "apiserverinternal" => crate::apiserverinternal::columns::of(kind),
        "apps" => crate::apps::columns::of(kind),
        "autoscaling" => crate::autoscaling::columns::of(kind),
        "batch" => crate::batch::columns::of(kind),
        "certificates" => crate::certificates::columns::of(kind),
        "coordination" => crate::coordination::columns::of(kind),
        // Both groups show events as the core group does.
        "core" | "events" => crate::core::columns::of(kind),
        "discovery" => crate::discovery::columns::of(kind),
        "flowcontrol" => crate::flowcontrol::columns::of(kind),
        "networking" => crate::networking::columns::of(kind),
        "node" => crate::node::columns::of(kind),
        "policy" => crate::policy::columns::of(kind),
        "rbac" => crate::rbac::columns::of(kind),
        "resource" => crate::resource::columns::of(kind),
        "scheduling" => crate::scheduling::columns::of(kind),
        "storage" => crate::storage::columns::of(kind),
        "storagemigration" => crate::storagemigration::columns::of(kind),
        _ => None,
    };
    own.unwrap_or(&DEFAULT)
}

/// The columns of a resource; `None` if it cannot be shown as a table, so that asking for one is not acceptable.
pub fn of_resource(resource: &Resource) -> Option<&'static Columns> {
    let shown = match resource.subresource {
        None => resource.verbs.contains(&"list"),
        Some("scale") => true,
        Some("status") => !STATUS_WITHOUT_TABLE.contains(&resource.name),
        Some(_) => false,
    };
    shown.then(|| of(resource.kind))
}

/// Resources that can be shown as a table while their status cannot.
const STATUS_WITHOUT_TABLE: &[&str] = &[
    "apiservices",
    "customresourcedefinitions",
    "devicetaintrules",
    "podgroups",
    "resourceclaims",
    "resourcepoolstatusrequests",
];

pub(crate) const fn text(name: &'static str, description: &'static str) -> Column<'static> {
    Column { name, kind: "string", format: "", description, priority: 0 }
}

pub(crate) const fn integer(name: &'static str, description: &'static str) -> Column<'static> {
    Column { kind: "integer", ..text(name, description) }
}

pub(crate) const fn boolean(name: &'static str, description: &'static str) -> Column<'static> {
    Column { kind: "boolean", ..text(name, description) }
}

/// Names something, usually the object.
pub(crate) const fn named(column: Column<'static>) -> Column<'static> {
    Column { format: "name", ..column }
}

/// Printed only where there is room.
pub(crate) const fn wide(column: Column<'static>) -> Column<'static> {
    Column { priority: 1, ..column }
}

pub(crate) const NAME: Column<'static> = named(text("Name", doc::NAME));
pub(crate) const AGE: Column<'static> = text("Age", doc::CREATION_TIMESTAMP);
pub(crate) const CONTAINERS: Column<'static> = wide(text("Containers", doc::CONTAINERS));
pub(crate) const IMAGES: Column<'static> = wide(text("Images", doc::IMAGES));
