//! Whole servers: the operations of docs/performance.md, against any Kubernetes API server.
//!
//! A server is named by its kubeconfig, and its CPU time and memory are its processes' (`--pid`: its own and its store's).
//! Where none is named, the built program is started on the embedded store. It should have no controllers beside it: those
//! of a cluster would remove pods of nodes that are not there.

mod client;
mod connections;
pub(crate) mod definitions;
mod fairness;
pub(crate) mod floor;
pub(crate) mod greedy;
mod kubeconfig;
mod load;
mod objects;
mod operations;
mod own;
mod policies;
mod process;
mod table;
mod target;
#[cfg(test)]
mod tests;
mod watch;

use std::path::Path;
use std::time::Duration;

use anyhow::Context;

use crate::arguments::Arguments;
use client::{JSON, PROTOBUF, Request};
use floor::Floor;
use own::Own;
use table::{Cell, Row};
use target::{REST, Target};

/// Starts of which each is a round.
const STARTS: usize = 15;

/// Measures what the arguments say and prints one table, also of what was measured before an error.
pub(crate) async fn measure(arguments: &Arguments, directory: &Path) -> anyhow::Result<()> {
    let (mut targets, mut rows) = (Vec::new(), Vec::new());
    let mut floor = Floor::start(arguments).await?;
    floor.measure(arguments).await?;
    let mut result = run(arguments, directory, &mut targets, &mut rows, Some(&mut floor)).await;
    for target in &targets {
        let tidied = target.tidy().await.context("what was created could not be deleted");
        result = result.and(tidied);
    }
    let names: Vec<String> = targets.iter().map(|target| target.name.clone()).collect();
    if !rows.is_empty() {
        rows.extend(floor.rows(names.len()));
        println!("{}", table::render(&names, &rows).trim_end());
        if let Some(slowness) = floor.slowness() {
            println!("The floor is at {slowness:.2} times what it was where the budgets were set.");
        }
    }
    result
}

async fn run(
    arguments: &Arguments,
    directory: &Path,
    targets: &mut Vec<Target>,
    rows: &mut Vec<Row>,
    floor: Option<&mut Floor>,
) -> anyhow::Result<()> {
    if arguments.running.is_empty() {
        let starts = if arguments.measures("start") { STARTS } else { 1 };
        let (own, start_rows) = own_server(arguments, directory, starts)?;
        targets.push(Target::own(own, arguments.program.clone(), arguments.connections).await?);
        if arguments.audit.is_some() || arguments.encryption.is_some() {
            targets.push(own_with_more(arguments, &directory.join("more")).await?);
        }
        if arguments.measures("start") {
            rows.extend(start_rows.into_iter().map(|row| row.beside_none(targets.len())));
        }
    }
    for running in &arguments.running {
        targets.push(Target::running(running, arguments.connections).await?);
    }
    if arguments.measures("idle") {
        rows.push(idle(targets).await);
    }
    if ["create", "memory", "get", "patch", "list", "watch", "policies", "connections", "load"]
        .iter()
        .any(|part| arguments.measures(part))
    {
        operate(arguments, targets, rows, floor).await?;
    }
    // Last, since they stay.
    if arguments.measures("crd") {
        say("defining custom resources");
        rows.extend(definitions::measure(targets).await?);
    }
    Ok(())
}

/// Operations on built-in resources.
async fn operate(
    arguments: &Arguments,
    targets: &mut Vec<Target>,
    rows: &mut Vec<Row>,
    mut floor: Option<&mut Floor>,
) -> anyhow::Result<()> {
    for target in &mut *targets {
        target.prepare().await?;
    }
    say("creating");
    if ["create", "memory", "get", "patch", "list", "load"].iter().any(|part| arguments.measures(part)) {
        let created = operations::create(targets, arguments).await?;
        if arguments.measures("create") {
            rows.extend(created);
        }
        look(&mut floor, arguments).await?;
    }
    if arguments.measures("memory") {
        say("looking at memory");
        rows.extend(memory(targets, arguments).await?);
    }
    if arguments.measures("get") {
        say("getting");
        rows.extend(operations::get(targets, arguments).await?);
        look(&mut floor, arguments).await?;
    }
    if arguments.measures("list") {
        say("listing");
        rows.extend(operations::list(targets, arguments).await?);
        look(&mut floor, arguments).await?;
    }
    if arguments.measures("patch") {
        say("patching");
        rows.extend(operations::patch(targets, arguments).await?);
        look(&mut floor, arguments).await?;
    }
    if arguments.measures("watch") {
        say("watching");
        rows.extend(watch::measure(targets, arguments).await?);
        look(&mut floor, arguments).await?;
    }
    if arguments.measures("policies") {
        say("creating under policies");
        rows.extend(policies::measure(targets, arguments).await?);
        look(&mut floor, arguments).await?;
    }
    if arguments.measures("connections") {
        say("connecting to a kubelet");
        rows.extend(connections::measure(targets, arguments).await?);
        look(&mut floor, arguments).await?;
    }
    if arguments.measures("load") {
        say("listing by many at once");
        rows.extend(load::lists(targets, arguments).await?);
        say("watching by many at once");
        rows.extend(load::watches(targets, arguments).await?);
        say("asking politely beside greedy clients");
        rows.extend(fairness::measure(targets, arguments).await?);
    }
    Ok(())
}

/// How fast the machine is at this moment.
async fn look(floor: &mut Option<&mut Floor>, arguments: &Arguments) -> anyhow::Result<()> {
    match floor {
        Some(floor) => floor.measure(arguments).await,
        None => Ok(()),
    }
}

/// Prints progress to standard error.
fn say(what: &str) {
    eprintln!("pintle-bench: {what} ...");
}

/// Cold starts on empty directories, then warm ones on the same. The last one stays.
fn own_server(arguments: &Arguments, directory: &Path, starts: usize) -> anyhow::Result<(Own, Vec<Row>)> {
    say("starting");
    let (mut cold, mut warm, mut last) = (Vec::new(), Vec::new(), None);
    let milliseconds = |own: &Own| own.took.as_secs_f64() * 1e3;
    for round in 0..starts {
        let data = directory.join(format!("server-{round}"));
        drop(last.take());
        let own = Own::start(&arguments.program, &data)?;
        cold.push(milliseconds(&own));
        own.stop()?;
        let own = Own::start(&arguments.program, &data)?;
        warm.push(milliseconds(&own));
        last = Some(own);
    }
    let rows = vec![
        Row::new("cold start to /readyz 200", "ms")
            .reference("2,900-3,200")
            .budget(60.0)
            .of(vec![Cell::Rounds(cold)]),
        Row::new("start on data of its own", "ms").of(vec![Cell::Rounds(warm)]),
    ];
    Ok((last.context("no server was started")?, rows))
}

/// A second server, which records or encrypts as the arguments say.
async fn own_with_more(arguments: &Arguments, data: &Path) -> anyhow::Result<Target> {
    let mut with = Vec::new();
    if let Some(level) = &arguments.audit {
        own::audit(data, level)?;
        with.push(format!("audit {level}"));
    }
    if let Some(provider) = &arguments.encryption {
        own::encrypt(data, provider)?;
        with.push(provider.clone());
    }
    let own = Own::start(&arguments.program, data)?;
    let target = Target::own(own, arguments.program.clone(), arguments.connections).await?;
    Ok(Target { name: format!("with {}", with.join(", ")), ..target })
}

async fn idle(targets: &[Target]) -> Row {
    let mut cells = Vec::new();
    for target in targets {
        cells.push(target.resident_after_rest().await);
    }
    Row::new("idle memory", "MB").reference("313").budget(20.0).of(cells)
}

/// With all objects: as creating left it, begun anew, and after LISTs.
async fn memory(targets: &mut [Target], arguments: &Arguments) -> anyhow::Result<Vec<Row>> {
    let what = format!(
        "memory, {} pods + {} ConfigMaps",
        table::count(arguments.pods),
        table::count(arguments.config_maps)
    );
    let (mut created, mut begun, mut listed) = (Vec::new(), Vec::new(), Vec::new());
    for target in &mut *targets {
        let Some(objects) = target.objects.clone() else {
            for cells in [&mut created, &mut begun, &mut listed] {
                cells.push(Cell::NotThere);
            }
            continue;
        };
        created.push(target.resident_after_rest().await);
        if target.restart().await? {
            warm_up(target, &objects).await?;
            begun.push(target.resident_after_rest().await);
        } else {
            begun.push(Cell::Unknown);
        }
        for accept in [JSON, PROTOBUF, JSON, PROTOBUF] {
            operations::list_all(target, &objects, accept, 1).await?;
        }
        tokio::time::sleep(REST).await;
        listed.push(target.resident_after_rest().await);
    }
    let is_whole = (arguments.pods, arguments.config_maps) == (10_000, 3_000);
    let row = |label: String, reference, budget, cells| {
        let row = Row::new(label, "MB").of(cells);
        if is_whole { row.reference(reference).budget(budget) } else { row }
    };
    Ok(vec![
        row(format!("{what}, as created"), "797", 90.0, created),
        row(format!("{what}, begun anew, no LIST yet"), "797", 90.0, begun),
        row(format!("{what}, after LISTs"), "1,140", 170.0, listed),
    ])
}

/// A server that was just begun may not have looked at its objects yet. A read and a watch of each resource make it.
async fn warm_up(target: &Target, objects: &objects::Objects) -> anyhow::Result<()> {
    let version = target.touch(objects).await?;
    target.connection().drain(Request::get(objects.pod_path(0))).await?;
    for resource in ["pods", "configmaps"] {
        let path = objects.path(resource);
        let watch = format!("{path}?watch=true&resourceVersion={version}");
        drop(target.connection().stream(Request::get(watch)).await?);
    }
    tokio::time::sleep(Duration::from_millis(200)).await;
    Ok(())
}
