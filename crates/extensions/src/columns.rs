//! How custom resources are shown in tables.

use std::borrow::Cow;

use pintle_codec::table::{Column, Completed, Empty};
use pintle_definitions::columns;
use pintle_meta::Value;
use pintle_meta::time::Time;
use pintle_registry::{Result, Table};

/// The columns of a version.
pub(crate) struct Columns(pub(crate) columns::Columns);

impl Table for Columns {
    fn columns(&self) -> Cow<'_, [Column<'_>]> {
        self.0.definitions().into()
    }

    fn empty(&self) -> Empty {
        Empty::List
    }

    fn cells(&self, object: &Value, now: Time, cells: &mut Vec<Value>) -> Result<Option<Completed>> {
        self.0.cells(object, now, cells);
        Ok(None)
    }
}
