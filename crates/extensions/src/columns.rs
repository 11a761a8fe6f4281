//! How custom resources are shown in tables.

use std::cmp::Ordering;

use pintle_codec::table::{Column, Completed, Empty};
use pintle_meta::Value;
use pintle_meta::time::Time;
use pintle_registry::{Result, Table};

/// The columns of a version.
pub(crate) struct Columns {
    columns: Vec<Column<'static>>,
}

impl Columns {
    pub(crate) fn compile(_: &[Value]) -> Columns {
        Columns { columns: Vec::new() }
    }
}

impl Table for Columns {
    fn columns(&self) -> &[Column<'_>] {
        &self.columns
    }

    fn empty(&self) -> Empty {
        Empty::List
    }

    fn cells(&self, _: &Value, _: Time, _: &mut Vec<Value>) -> Result<Option<Completed>> {
        Ok(None)
    }

    fn order(&self) -> Option<fn(&Value, &Value) -> Ordering> {
        None
    }
}
