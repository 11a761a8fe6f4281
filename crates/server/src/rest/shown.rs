//! Objects as tables, or by their metadata alone.

use std::sync::Arc;

use http::StatusCode;
use pintle_cache::Entry;
use pintle_codec::negotiate::Encoding;
use pintle_codec::partial::{self, ListMeta, Version};
use pintle_codec::table::{self, Head, Include, Row, Writer};
use pintle_meta::time::Time;
use pintle_meta::{Reason, Status, Value};
use pintle_registry::Table;

use super::answer::{Negotiated, Shape};
use super::endpoint::{Endpoint, Serving};
use super::verbs::list::{Page, Parts};
use super::{Result, internal};
use crate::Response;

/// Rows that are made in about a millisecond.
const ROWS: usize = 32;

pub(crate) fn not_acceptable(message: String) -> Status {
    let mut status = Status::not_acceptable::<&str>(&[]);
    status.message = message;
    status.reason = Reason::NotAcceptable;
    status
}

/// A list in another shape than its own.
pub(crate) fn list(serving: &Serving, negotiated: Negotiated, page: Page) -> Result<Response> {
    match negotiated.shape {
        Shape::Own | Shape::Partial(_) => Err(refuse_list(serving)),
        Shape::PartialList(version) => {
            let mut items = Vec::with_capacity(page.entries.len());
            for entry in &page.entries {
                items.push(serving.store.object(entry)?);
            }
            let list = partial::list(version, &meta(&page), &items);
            let body = negotiated.view("PartialObjectMetadataList", version, &list)?;
            Ok(negotiated.respond(StatusCode::OK, body))
        }
        Shape::Table(version, include) => list_table(serving, negotiated, version, include, page),
    }
}

/// A list is not one object.
pub(crate) fn refuse_list(endpoint: &Endpoint) -> Box<Status> {
    let name = format!("{}List", endpoint.served.internal_name());
    Box::new(not_acceptable(partial::refuse_list(&name)))
}

fn meta(page: &Page) -> ListMeta<'_> {
    ListMeta {
        resource_version: &page.revision,
        continue_token: &page.token,
        remaining_item_count: page.remaining,
    }
}

fn table_of(endpoint: &Endpoint) -> Result<&dyn Table> {
    endpoint.served.table().ok_or_else(|| internal("the resource has no columns"))
}

/// An object, ready to be a row.
struct Prepared {
    cells: Vec<Value>,
    completed: Option<table::Completed>,
    /// In the version that was asked for, if it is shown whole.
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

/// The table of one object.
pub(crate) fn object_table(
    endpoint: &Endpoint,
    object: Value,
    version: Version,
    include: Include,
    now: Time,
) -> Result<Value> {
    event_table(endpoint, object, version, include, true, now)
}

/// The table of one object in a watch: only the first says what the columns are.
pub(crate) fn event_table(
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

/// The table of many objects.
pub(crate) fn objects_table(
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

fn list_table(
    serving: &Serving,
    negotiated: Negotiated,
    version: Version,
    include: Include,
    page: Page,
) -> Result<Response> {
    let table = table_of(serving)?;
    let (now, owner) = (negotiated.now, serving.clone());
    let columns = table.columns();
    let head = Head { version, meta: meta(&page), columns: Some(&*columns), empty: table.empty() };
    let prepare = move |entry: Arc<Entry>| {
        let object = owner.store.object(&entry)?;
        Prepared::new(&owner, object, include, now)
    };
    if negotiated.encoding != Encoding::Json || table.order().is_some() {
        let mut objects = Vec::with_capacity(page.entries.len());
        for entry in &page.entries {
            objects.push(serving.store.object(entry)?);
        }
        let table = objects_table(serving, objects, meta(&page), version, include, now)?;
        return Ok(negotiated.respond(StatusCode::OK, negotiated.tree(&table)?));
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
    parts.at_once(ROWS).respond(negotiated)
}
