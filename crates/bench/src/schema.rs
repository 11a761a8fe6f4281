//! Cost of the table of resources at every start. The type graph is part of the program and costs nothing.

use std::time::Instant;

use pintle_schema::Resources;

use crate::figures::{memory, show};

pub(crate) fn measure() -> anyhow::Result<()> {
    let before = memory("self", "RssAnon");
    let start = Instant::now();
    let resources = Resources::builtin()?;
    show("schema_load", start.elapsed().as_secs_f64() * 1e3, "ms");
    show("schema_resident", memory("self", "RssAnon") - before, "MB");
    show("schema_types", pintle_schema::types().len() as f64, "");
    show("schema_group_versions", resources.versions().len() as f64, "");
    Ok(())
}
