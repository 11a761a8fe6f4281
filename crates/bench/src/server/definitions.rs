//! Many CustomResourceDefinitions: how soon they are served, what clients read about them, what one more costs.

use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use serde_json::Value;

use super::client::{Connection, JSON, Request};
use super::operations::push;
use super::table::{Cell, Row};
use super::target::{REST, Target, is_missing};

/// How many there are in the end, and how many clients make them.
const MANY: usize = 1000;
const CLIENTS: usize = 8;

/// How many are made one after the other, at the beginning and at the end.
const SINGLE: usize = 20;

/// How often each document is read.
const READS: usize = 5;

/// How long to wait for what should take a moment.
const PATIENCE: Duration = Duration::from_secs(120);

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const V2_PROTOBUF: &str = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// Five groups to every ten definitions, so that documents have several of them and there are many documents.
pub(crate) fn group(number: usize) -> String {
    format!("g{}.bench.example.com", number / 2)
}

fn name(number: usize) -> String {
    format!("things{number}.{}", group(number))
}

/// With a schema of about 5 KB.
pub(crate) fn definition(number: usize) -> String {
    let property = |place: usize| {
        format!(
            r#""field{place}":{{"type":"string","description":"The {place}th of the fields that somebody has asked for in a review.","maxLength":64}}"#
        )
    };
    let properties: Vec<String> = (0..38).map(property).collect();
    let spec = format!(
        r#"{{"type":"object","properties":{{{},"replicas":{{"type":"integer","minimum":0}}}}}}"#,
        properties.join(",")
    );
    let schema = format!(
        r#"{{"type":"object","properties":{{"spec":{spec},"status":{{"type":"object","properties":{{"ready":{{"type":"boolean"}}}}}}}}}}"#
    );
    let (name, group) = (name(number), group(number));
    format!(
        r#"{{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{{"name":"{name}"}},"spec":{{"group":"{group}","names":{{"plural":"things{number}","kind":"Thing{number}"}},"scope":"Cluster","versions":[{{"name":"v1","served":true,"storage":true,"subresources":{{"status":{{}}}},"schema":{{"openAPIV3Schema":{schema}}}}}]}}}}"#
    )
}

/// The figures of one server.
struct Figures {
    /// Seconds from a definition to its first object, of the first ones and of those that come after many.
    first: Vec<f64>,
    last: Vec<f64>,
    established: f64,
    /// MB.
    growth: Option<f64>,
    discovery: Vec<f64>,
    v3: Vec<f64>,
    v2: Vec<f64>,
    v2_protobuf: Vec<f64>,
}

pub(crate) async fn measure(targets: &[Target]) -> anyhow::Result<Vec<Row>> {
    let mut all = Vec::new();
    for target in targets {
        let answer = target.connection().ask(Request::get(DEFINITIONS)).await?;
        all.push(if is_missing(answer.status) { None } else { Some(of(target).await?) });
    }
    let cells = |figures: fn(&Figures) -> Vec<f64>, scale: f64| -> Vec<Cell> {
        let cell = |of: &Option<Figures>| {
            let Some(of) = of else { return Cell::NotThere };
            let mut cell = Cell::Unknown;
            figures(of).into_iter().for_each(|figure| push(&mut cell, Some(figure * scale)));
            cell
        };
        all.iter().map(cell).collect()
    };
    Ok(vec![
        Row::new("CRD to its first object", "ms").budget(20.0).of(cells(|of| of.first.clone(), 1e3)),
        Row::new(format!("the same after {MANY} others"), "ms").of(cells(|of| of.last.clone(), 1e3)),
        Row::new(format!("{MANY} CRDs established, {CLIENTS} clients"), "s")
            .budget(10.0)
            .of(cells(|of| vec![of.established], 1.0)),
        Row::new("one more CRD", "MB")
            .reference("13")
            .budget(0.1)
            .of(cells(|of| of.growth.map(|growth| growth / MANY as f64).into_iter().collect(), 1.0)),
        Row::new("discovery of them", "ms").budget(20.0).of(cells(|of| of.discovery.clone(), 1e3)),
        Row::new("OpenAPI v3 of one group version", "ms").budget(20.0).of(cells(|of| of.v3.clone(), 1e3)),
        Row::new("OpenAPI v2 of everything", "ms").budget(300.0).of(cells(|of| of.v2.clone(), 1e3)),
        Row::new("the same in protobuf", "ms").budget(300.0).of(cells(|of| of.v2_protobuf.clone(), 1e3)),
    ])
}

async fn of(target: &Target) -> anyhow::Result<Figures> {
    let connection = target.connection();
    let mut first = Vec::new();
    for number in 0..SINGLE {
        first.push(to_first_object(connection, number).await?);
    }
    tokio::time::sleep(REST).await;
    let resident = target.processes.are_known().then(|| target.processes.resident());
    let start = Instant::now();
    target
        .many(SINGLE..SINGLE + MANY, CLIENTS, |number| Request::post(DEFINITIONS, definition(number)))
        .await?;
    wait_for_all(connection, SINGLE + MANY).await?;
    let established = start.elapsed().as_secs_f64();
    tokio::time::sleep(REST).await;
    let growth = resident.map(|before| target.processes.resident() - before);
    let v3 = |number: usize| format!("/openapi/v3/apis/{}/v1", group(number));
    // Each after another change, so that none is what was made before.
    let mut next = SINGLE + MANY;
    let mut read = async |request: &dyn Fn(usize) -> Request| {
        let mut took = Vec::new();
        for round in 0..READS {
            to_first_object(connection, next).await?;
            next += 1;
            let start = Instant::now();
            connection.expect(request(round)).await?;
            took.push(start.elapsed().as_secs_f64());
        }
        Ok::<_, anyhow::Error>(took)
    };
    let discovery = read(&|_| Request::get("/apis").accept(AGGREGATED)).await?;
    let v3 = read(&|round| Request::get(v3(100 * round + 100))).await?;
    let v2 = read(&|_| Request::get("/openapi/v2").accept(JSON)).await?;
    let v2_protobuf = read(&|_| Request::get("/openapi/v2").accept(V2_PROTOBUF)).await?;
    let mut last = Vec::new();
    for _ in 0..SINGLE {
        last.push(to_first_object(connection, next).await?);
        next += 1;
    }
    if target.own.is_none() {
        for number in 0..next {
            connection.drain(Request::delete(format!("{DEFINITIONS}/{}", name(number)))).await?;
        }
    }
    Ok(Figures { first, last, established, growth, discovery, v3, v2, v2_protobuf })
}

/// Makes a definition and, as soon as it is established, an object of it.
async fn to_first_object(connection: &Connection, number: usize) -> anyhow::Result<f64> {
    let start = Instant::now();
    connection.expect(Request::post(DEFINITIONS, definition(number))).await?;
    loop {
        let path = format!("{DEFINITIONS}/{}", name(number));
        let text = connection.expect(Request::get(path)).await?;
        let found: Value = serde_json::from_slice(&text).context("a definition is not JSON")?;
        if is_established(&found) {
            break;
        }
        ensure!(start.elapsed() < PATIENCE, "{} is not established after {PATIENCE:?}", name(number));
        tokio::time::sleep(Duration::from_micros(500)).await;
    }
    let (group, object) = (group(number), "a");
    let body = format!(
        r#"{{"apiVersion":"{group}/v1","kind":"Thing{number}","metadata":{{"name":"{object}"}},"spec":{{"field1":"x"}}}}"#
    );
    connection.expect(Request::post(format!("/apis/{group}/v1/things{number}"), body)).await?;
    Ok(start.elapsed().as_secs_f64())
}

fn is_established(definition: &Value) -> bool {
    let conditions = definition["status"]["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
    conditions.iter().any(|found| found["type"] == "Established" && found["status"] == "True")
}

async fn wait_for_all(connection: &Connection, count: usize) -> anyhow::Result<()> {
    let start = Instant::now();
    loop {
        let text = connection.expect(Request::get(DEFINITIONS)).await?;
        let list: Value = serde_json::from_slice(&text).context("a list is not JSON")?;
        let items = list["items"].as_array().map(Vec::as_slice).unwrap_or_default();
        if items.iter().filter(|found| is_established(found)).count() >= count {
            return Ok(());
        }
        ensure!(start.elapsed() < PATIENCE, "not all definitions are established after {PATIENCE:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
