//! What the type graph costs at every start.

use std::time::Instant;

use pintle_schema::Graph;

use crate::figures::{memory, show};

pub(crate) fn measure() -> anyhow::Result<()> {
    let before = memory("self", "RssAnon");
    let start = Instant::now();
    let graph = Graph::builtin()?;
    show("schema_graph_load", start.elapsed().as_secs_f64() * 1e3, "ms");
    show("schema_graph_resident", memory("self", "RssAnon") - before, "MB");
    show("schema_graph_types", graph.len() as f64, "");
    Ok(())
}
