//! Objects as tables.

use std::sync::Arc;

use http::StatusCode;
use pintle_cache::Entry;
use pintle_codec::negotiate::Encoding;
use pintle_codec::partial::{ListMeta, Version};
use pintle_codec::table::{self, Head, Include, Row, Writer};
use pintle_meta::Value;
use pintle_meta::time::Time;
use pintle_registry::Table;

use super::parts::Parts;
use super::{Representation, list};
use crate::Response;
use crate::rest::endpoint::{Endpoint, StoredEndpoint};
use crate::rest::verbs::list::Page;
use crate::rest::{Result, internal};

/// Rows that are made in about a millisecond.
const ROWS: usize = 32;

fn table_of(endpoint: &Endpoint) -> Result<&dyn Table> {
    endpoint.served.table().ok_or_else(|| internal("the resource has no columns"))
}

/// An object, ready to be a row.
struct Prepared {
    cells: Vec<Value>,
    completed: Option<table::Completed>,
    /// The object, in the served version if it is shown whole.
    object: Value,
}

impl Prepared {
    fn new(endpoint: &Endpoint, object: Value, include: Include, now: Time) -> Result<Prepared> {
        let mut cells = Vec::new();
        let completed = table_of(endpoint)?.cells(&object, now, &mut cells)?;
        let object = if include == Include::Object { endpoint.served.to_served(object)? } else { object };
        Ok(Prepared { cells, completed, object })
    }

    fn row(&self, include: Include) -> Row<'_> {
        Row { cells: &self.cells, completed: self.completed, object: &self.object, include }
    }
}

/// Makes the table of one object. In a watch only the first says what the columns are.
pub(super) fn of_object(
    endpoint: &Endpoint,
    object: Value,
    version: Version,
    include: Include,
    defined: bool,
    now: Time,
) -> Result<Value> {
    let table = table_of(endpoint)?;
    let revision = object.resource_version().to_owned();
    let columns = table.columns();
    let head = Head {
        version,
        meta: ListMeta { resource_version: &revision, ..ListMeta::default() },
        columns: (defined || table.always_defined()).then_some(&*columns),
        empty: table.empty(),
    };
    let prepared = Prepared::new(endpoint, object, include, now)?;
    Ok(table::tree(&head, vec![table::row_tree(version, &prepared.row(include))]))
}

/// Makes the table of many objects.
pub(super) fn of_objects(
    endpoint: &Endpoint,
    mut objects: Vec<Value>,
    meta: ListMeta<'_>,
    version: Version,
    include: Include,
    now: Time,
) -> Result<Value> {
    let table = table_of(endpoint)?;
    if let Some(order) = table.order() {
        objects.sort_by(order);
    }
    let mut rows = Vec::with_capacity(objects.len());
    for object in objects {
        let prepared = Prepared::new(endpoint, object, include, now)?;
        rows.push(table::row_tree(version, &prepared.row(include)));
    }
    let columns = table.columns();
    let head = Head { version, meta, columns: Some(&*columns), empty: table.empty() };
    Ok(table::tree(&head, rows))
}

/// Answers with the table of a page, whose rows are made while they are sent.
pub(super) fn of_page(
    serving: &StoredEndpoint,
    representation: Representation,
    version: Version,
    include: Include,
    page: Page,
) -> Result<Response> {
    let table = table_of(serving)?;
    let (now, owner) = (representation.now, serving.clone());
    let columns = table.columns();
    let head = Head { version, meta: list::meta(&page), columns: Some(&*columns), empty: table.empty() };
    let prepare = move |entry: Arc<Entry>| {
        let object = owner.store.object(&entry)?;
        Prepared::new(&owner, object, include, now)
    };
    if representation.encoding != Encoding::Json || table.order().is_some() {
        let mut objects = Vec::with_capacity(page.entries.len());
        for entry in &page.entries {
            objects.push(serving.store.object(entry)?);
        }
        let table = of_objects(serving, objects, list::meta(&page), version, include, now)?;
        return Ok(representation.respond(StatusCode::OK, representation.tree(&table)?));
    }
    let mut start = Vec::new();
    let mut writer = Writer::begin(&head, &mut start);
    let mut end = Vec::new();
    Writer::begin(&head, &mut Vec::new()).end_after(page.entries.len(), &mut end);
    end.push(b'\n');
    let rows =
        page.entries.clone().into_iter().map(move |entry| prepare(entry).map_err(|status| status.message));
    let parts = Parts::new(start, rows, &end, move |prepared: Prepared, out: &mut Vec<u8>| {
        writer.row(&prepared.row(include), out);
        Ok(())
    });
    parts.at_once(ROWS).respond(representation)
}
