//! The operations of the budget table, one request after the other or many at once.
//!
//! Servers take turns within each round, so that neither has the better minute of a machine whose speed varies.

use anyhow::{Context, bail, ensure};
use bytes::Bytes;
use rand::Rng;

use super::client::{JSON, PROTOBUF, Request};
use super::objects::Objects;
use super::table::{Cell, Row};
use super::target::{Target, Took, is_missing};
use crate::arguments::Arguments;

const MERGE_PATCH: &str = "application/merge-patch+json";
const APPLY_PATCH: &str = "application/apply-patch+yaml";
/// How many requests of a short operation make a round.
const REQUESTS: usize = 2000;
/// How many LISTs of everything make a round.
const LISTS: usize = 4;
const PAGE: usize = 500;

/// The figures of one operation on all servers: each round's CPU and time, per request.
pub(crate) struct Figures {
    cpu: Vec<Cell>,
    time: Vec<Cell>,
}

impl Figures {
    /// Nothing of it is there, on none of the servers.
    pub(crate) fn new(targets: &[Target]) -> Figures {
        let missing = vec![Cell::NotThere; targets.len()];
        Figures { cpu: missing.clone(), time: missing }
    }

    pub(crate) fn add(&mut self, target: usize, took: &Took, requests: usize) {
        push(&mut self.time[target], Some(took.elapsed / requests as f64));
        push(&mut self.cpu[target], took.cpu.map(|cpu| cpu / requests as f64));
    }

    /// CPU per request, in units of which a second has so many.
    pub(crate) fn cpu(&self, per_second: f64) -> Vec<Cell> {
        self.cpu.iter().map(|cell| scaled(cell, |seconds| seconds * per_second)).collect()
    }

    fn milliseconds(&self) -> Vec<Cell> {
        self.time.iter().map(|cell| scaled(cell, |seconds| seconds * 1e3)).collect()
    }

    fn rate(&self) -> Vec<Cell> {
        self.time.iter().map(|cell| scaled(cell, |seconds| 1.0 / seconds)).collect()
    }
}

/// Another round's figure.
pub(crate) fn push(cell: &mut Cell, figure: Option<f64>) {
    match (cell, figure) {
        (Cell::Rounds(rounds), Some(figure)) => rounds.push(figure),
        (cell, Some(figure)) => *cell = Cell::one(figure),
        (cell, None) => *cell = Cell::Unknown,
    }
}

pub(crate) fn scaled(cell: &Cell, scale: impl Fn(f64) -> f64) -> Cell {
    match cell {
        Cell::Rounds(rounds) => Cell::Rounds(rounds.iter().map(|figure| scale(*figure)).collect()),
        other => other.clone(),
    }
}

/// The part of `all` that a round of so many does.
fn share(all: usize, round: usize, rounds: usize) -> std::ops::Range<usize> {
    all * round / rounds..all * (round + 1) / rounds
}

/// Fills the servers, and what that takes.
pub(crate) async fn create(targets: &[Target], arguments: &Arguments) -> anyhow::Result<Vec<Row>> {
    let (rounds, streams) = (arguments.rounds, arguments.streams);
    let mut config_maps = Figures::new(targets);
    let mut pods = Figures::new(targets);
    let mut statuses = Figures::new(targets);
    for round in 0..rounds {
        for (number, target) in targets.iter().enumerate() {
            let Some(objects) = &target.objects else { continue };
            let run = async |all: usize, request: fn(&Objects, usize) -> Request| {
                let (numbers, objects) = (share(all, round, rounds), objects.clone());
                let requests = numbers.len().max(1);
                let work = target.many(numbers, streams, move |number| request(&objects, number));
                Ok::<_, anyhow::Error>((target.measure(work).await?, requests))
            };
            let (took, requests) = run(arguments.config_maps, |objects, number| {
                Request::post(objects.path("configmaps"), objects.config_map(number))
            })
            .await?;
            config_maps.add(number, &took, requests);
            let (took, requests) = run(arguments.pods, |objects, number| {
                Request::post(objects.path("pods"), objects.pod(number))
            })
            .await?;
            pods.add(number, &took, requests);
            let (took, requests) = run(arguments.pods, |objects, number| {
                Request::put(format!("{}/status", objects.pod_path(number)), objects.pod_with_status(number))
            })
            .await?;
            statuses.add(number, &took, requests);
        }
    }
    Ok(vec![
        Row::new("create ConfigMap, CPU", "ms").reference("1.7").budget(0.17).of(config_maps.cpu(1e3)),
        Row::new(format!("create ConfigMap, {streams} at once"), "1/s")
            .reference("952")
            .more_is_better()
            .of(config_maps.rate()),
        Row::new("create Pod, CPU", "ms").reference("3.1").budget(0.25).of(pods.cpu(1e3)),
        Row::new(format!("create Pod, {streams} at once"), "1/s")
            .reference("569")
            .more_is_better()
            .of(pods.rate()),
        Row::new("replace Pod status, CPU", "ms").of(statuses.cpu(1e3)),
        Row::new(format!("replace Pod status, {streams} at once"), "1/s")
            .more_is_better()
            .of(statuses.rate()),
    ])
}

pub(crate) async fn get(targets: &[Target], arguments: &Arguments) -> anyhow::Result<Vec<Row>> {
    let pods = arguments.pods;
    let figures = short(targets, arguments, move |objects, _| {
        Request::get(objects.pod_path(rand::rng().random_range(0..pods)))
    })
    .await?;
    Ok(vec![
        Row::new("get Pod, CPU", "ms").reference("0.97").budget(0.06).of(figures.cpu(1e3)),
        Row::new(format!("get Pod, {} at once", arguments.streams), "1/s")
            .more_is_better()
            .of(figures.rate()),
    ])
}

pub(crate) async fn patch(targets: &[Target], arguments: &Arguments) -> anyhow::Result<Vec<Row>> {
    let count = arguments.config_maps;
    let path = move |objects: &Objects, number: usize| {
        format!("{}/{}", objects.path("configmaps"), Objects::config_map_name(number % count))
    };
    let merge = short(targets, arguments, move |objects, number| {
        let body = format!("{{\"data\":{{\"revision\":\"merged-{number}\"}}}}");
        Request::patch(path(objects, number), MERGE_PATCH, body)
    })
    .await?;
    let apply = short(targets, arguments, move |objects, number| {
        let body = format!(
            "{{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{{\"name\":\"{}\"}},\"data\":{{\"applied\":\"{number}\"}}}}",
            Objects::config_map_name(number % count)
        );
        Request::patch(
            format!("{}?fieldManager=applier&force=true", path(objects, number)),
            APPLY_PATCH,
            body,
        )
    })
    .await?;
    let at_once = |what: &str| format!("{what}, {} at once", arguments.streams);
    Ok(vec![
        Row::new("merge patch of a ConfigMap, CPU", "ms").reference("2.2").budget(0.2).of(merge.cpu(1e3)),
        Row::new(at_once("merge patch"), "1/s").more_is_better().of(merge.rate()),
        Row::new("server-side apply of a ConfigMap, CPU", "ms")
            .reference("2.1")
            .budget(0.2)
            .of(apply.cpu(1e3)),
        Row::new(at_once("server-side apply"), "1/s").more_is_better().of(apply.rate()),
    ])
}

/// Rounds of short requests, many at once. The first of all only shows whether the server has the operation.
pub(crate) async fn short(
    targets: &[Target],
    arguments: &Arguments,
    request: impl Fn(&Objects, usize) -> Request + Clone + Send + Sync + 'static,
) -> anyhow::Result<Figures> {
    let mut figures = Figures::new(targets);
    let mut there = Vec::new();
    for target in targets {
        let Some(objects) = &target.objects else {
            there.push(false);
            continue;
        };
        let answer = target.connection().ask(request(objects, usize::MAX / 2)).await?;
        there.push(!is_missing(answer.status));
    }
    for round in 0..arguments.rounds {
        for (number, target) in targets.iter().enumerate() {
            let (Some(objects), true) = (target.objects.clone(), there[number]) else { continue };
            let request = request.clone();
            let numbers = round * REQUESTS..(round + 1) * REQUESTS;
            let work = target.many(numbers, arguments.streams, move |number| request(&objects, number));
            figures.add(number, &target.measure(work).await?, REQUESTS);
        }
    }
    Ok(figures)
}

pub(crate) async fn list(targets: &[Target], arguments: &Arguments) -> anyhow::Result<Vec<Row>> {
    let all = super::table::count(arguments.pods);
    let mut rows = Vec::new();
    for (accept, name, reference, budget) in
        [(JSON, "JSON", "1,146", 55.0), (PROTOBUF, "protobuf", "748", 40.0)]
    {
        let mut figures = Figures::new(targets);
        let mut sizes = vec![Cell::NotThere; targets.len()];
        for (number, target) in targets.iter().enumerate() {
            let Some(objects) = &target.objects else { continue };
            let size = list_all(target, objects, accept, 1).await?;
            sizes[number] = Cell::one(size as f64 / 1e6);
        }
        for _ in 0..arguments.rounds {
            for (number, target) in targets.iter().enumerate() {
                let Some(objects) = &target.objects else { continue };
                let work = async { list_all(target, objects, accept, LISTS).await.map(drop) };
                figures.add(number, &target.measure(work).await?, LISTS);
            }
        }
        let what = format!("LIST {all} pods, {name}");
        let is_whole = arguments.pods == 10_000;
        let cpu = Row::new(format!("{what}, CPU"), "ms").of(figures.cpu(1e3));
        rows.push(if is_whole { cpu.reference(reference).budget(budget) } else { cpu });
        rows.push(Row::new(format!("{what}, time"), "ms").of(figures.milliseconds()));
        let size = Row::new(format!("{what}, length"), "MB").of(sizes);
        rows.push(if is_whole { size.reference(if accept == JSON { "44" } else { "31" }) } else { size });
    }
    rows.extend(pages(targets, arguments).await?);
    Ok(rows)
}

/// Asks for all pods some times, one after the other; the length of the last answer.
pub(crate) async fn list_all(
    target: &Target,
    objects: &Objects,
    accept: &'static str,
    times: usize,
) -> anyhow::Result<u64> {
    let mut length = 0;
    for _ in 0..times {
        length = target.connection().drain(Request::get(objects.path("pods")).accept(accept)).await?;
    }
    Ok(length)
}

/// From the first page to the last, again and again.
async fn pages(targets: &[Target], arguments: &Arguments) -> anyhow::Result<Vec<Row>> {
    let mut figures = Figures::new(targets);
    let pages = arguments.pods.div_ceil(PAGE);
    for round in 0..=arguments.rounds {
        for (number, target) in targets.iter().enumerate() {
            let Some(objects) = &target.objects else { continue };
            let took = target
                .measure(async {
                    let read = walk(target, objects).await?;
                    ensure!(
                        read == pages,
                        "the pods are {read} pages long and should be {pages}: something else creates or deletes pods in {}",
                        objects.namespace
                    );
                    Ok(())
                })
                .await?;
            // From the second call on.
            if round > 0 {
                figures.add(number, &took, pages);
            }
        }
    }
    let row = Row::new(format!("LIST a page of {PAGE} pods, JSON, CPU"), "ms");
    Ok(vec![
        row.reference("66").budget(3.0).of(figures.cpu(1e3)),
        Row::new(format!("LIST a page of {PAGE} pods, JSON, time"), "ms").of(figures.milliseconds()),
    ])
}

/// Reads all pods in pages, and counts these.
async fn walk(target: &Target, objects: &Objects) -> anyhow::Result<usize> {
    let (mut read, mut token) = (0, String::new());
    loop {
        let mut path = format!("{}?limit={PAGE}", objects.path("pods"));
        if !token.is_empty() {
            path = format!("{path}&continue={token}");
        }
        let page = target.connection().expect(Request::get(path)).await?;
        read += 1;
        match continuation(&page)? {
            Some(next) => token = next,
            None => return Ok(read),
        }
    }
}

/// The token that leads to the next page. It is looked for where a list's metadata is, before its items: reading the page
/// would cost more than making it.
fn continuation(page: &Bytes) -> anyhow::Result<Option<String>> {
    let items = b"\"items\":";
    let end = page.windows(items.len()).position(|window| window == items);
    let end = end.context("a page of pods has no items")?;
    let head = std::str::from_utf8(&page[..end]).context("a page of pods is not text")?;
    let Some((_, token)) = head.split_once("\"continue\":\"") else { return Ok(None) };
    let Some((token, _)) = token.split_once('"') else { bail!("a page of pods has half a token") };
    Ok((!token.is_empty()).then(|| token.replace('=', "%3D").replace('+', "%2B")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_page_is_found_in_the_metadata_only() {
        let of = |text: &str| continuation(&Bytes::copy_from_slice(text.as_bytes())).unwrap();
        let page = "{\"metadata\":{\"resourceVersion\":\"7\",\"continue\":\"eyJ2+Q==\"},\"items\":[]}";
        assert_eq!(of(page).as_deref(), Some("eyJ2%2BQ%3D%3D"));
        assert_eq!(of("{\"metadata\":{\"resourceVersion\":\"7\"},\"items\":[{\"continue\":\"x\"}]}"), None);
        assert!(continuation(&Bytes::from_static(b"{}")).is_err());
    }

    #[test]
    fn the_shares_of_the_rounds_are_the_whole() {
        let shares: Vec<_> = (0..3).map(|round| share(10, round, 3)).collect();
        assert_eq!(shares, [0..3, 3..6, 6..10]);
    }
}
