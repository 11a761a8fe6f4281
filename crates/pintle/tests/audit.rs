//! The events of this server beside those that the reference logged, under the same policy and for the same requests: the recorded
//! cases, replayed in the order in which they were recorded.
//!
//! Events are the same in every field and in the order of fields, apart from times, identities, addresses, revisions and generated
//! names, and from what [`Reason`] lists.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

use pintle_parity::{Area, Json, Server, first_difference, normalise, play};
use pintle_published::{read_gzipped, recorded, upstream};
use regex_lite::Regex;

/// In the order in which they were recorded.
const AREAS: [&str; 6] =
    ["auth-open", "protocol-open", "patch-open", "subresources-open", "kinds-open", "admission-open"];

/// Why events differ that should.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Reason {
    /// A case asks again until the server is ready, and this one is ready earlier.
    AskedAgain,
    /// A namespace has its default account already when the replay creates it; the recorded server had no controller for it.
    AccountExists,
    /// The reference cannot encode an event whose patch is no JSON, and loses it.
    LostByReference,
    /// The port of the server.
    Port,
    /// A patch that names a revision.
    Revision,
    /// A generated name whose beginning was cut.
    GeneratedName,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn recorded_requests_leave_the_reference_s_events() {
    let Some(folder) = upstream("audit events") else { return };
    let wanted = read_gzipped(&folder.join("audit/events.jsonl.gz")).expect("the recorded events");
    let directory = tempfile::tempdir().expect("a directory");
    let log = directory.path().join("audit.log");
    let flags = [
        format!("--audit-policy-file={}", folder.join("audit/policy.yaml").display()),
        format!("--audit-log-path={}", log.display()),
        "--audit-log-maxsize=0".into(),
    ];
    let (binary, data) = (Path::new(env!("CARGO_BIN_EXE_pintle")), recorded::folder());
    let server = Server::start_with(binary, &data, &flags).await.unwrap_or_else(|error| panic!("{error:#}"));
    let areas = AREAS.map(|area| Area::read(&data, area).expect("a recorded area"));
    play(&areas, &mut [server.client().expect("a client")]).await;
    drop(server);
    let got = std::fs::read_to_string(&log).expect("the log");
    let outcome = compare(&events(&wanted), &events(&got));
    assert!(outcome.same > 3500, "only {} events are the same", outcome.same);
    let count = |reason| outcome.known.get(&reason).copied().unwrap_or(0);
    // Differences with a reason are bounded too: a reason must not grow into an excuse.
    assert!(
        count(Reason::Port) + count(Reason::Revision) + count(Reason::GeneratedName) <= 8,
        "{:?}",
        outcome.known
    );
    assert!(count(Reason::LostByReference) <= 12 && count(Reason::AskedAgain) <= 400, "{:?}", outcome.known);
    let share = outcome.unknown.len() as f64 / events(&wanted).len() as f64;
    assert!(share < 0.01, "{} of them:\n{}", outcome.unknown.len(), outcome.unknown.join("\n"));
    assert!(outcome.unknown.is_empty(), "\n{}", outcome.unknown.join("\n"));
}

#[derive(Default)]
struct Outcome {
    same: usize,
    known: BTreeMap<Reason, usize>,
    unknown: Vec<String>,
}

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a pattern of this file")
}

static STAMP: LazyLock<Regex> = LazyLock::new(|| pattern("\\bp[0-9a-f]{5,6}-"));
static REVISION: LazyLock<Regex> = LazyLock::new(|| pattern("resourceVersion=[0-9]+"));
static CONTINUE: LazyLock<Regex> = LazyLock::new(|| pattern("continue=[A-Za-z0-9%_-]+"));

/// The events of cases, without what differs from run to run.
fn events(log: &str) -> Vec<Json> {
    let event = |line: &str| {
        let line = STAMP.replace_all(line, "p0-");
        let line = REVISION.replace_all(&line, "resourceVersion=<rv>");
        let line = CONTINUE.replace_all(&line, "continue=<continue>");
        let mut event = normalise(serde_json::from_str(&line).expect("an event"), "no namespace");
        if let Json::Object(fields) = &mut event {
            fields.retain(|(name, _)| name != "auditID");
            if let Some((_, Json::Object(annotations))) =
                fields.iter_mut().find(|(name, _)| name == "annotations")
            {
                // How long something took.
                annotations.retain(|(name, _)| !name.starts_with("apiserver.latency.k8s.io/"));
            }
        }
        event
    };
    // Requests by which the recorder waited for the server.
    let is_recorder =
        |event: &Json| event.at("userAgent").text().is_some_and(|agent| agent.starts_with("curl/"));
    log.lines().map(event).filter(|event| !is_recorder(event)).collect()
}

/// The same request at the same stage.
fn key(event: &Json) -> String {
    ["requestURI", "verb", "stage", "user.username"].map(|path| event.at(path).to_string()).join(" ")
}

/// Compares the events of each request, in their order.
fn compare(wanted: &[Json], got: &[Json]) -> Outcome {
    let mut outcome = Outcome::default();
    let mut groups: BTreeMap<String, (Vec<&Json>, Vec<&Json>)> = BTreeMap::new();
    wanted.iter().for_each(|event| groups.entry(key(event)).or_default().0.push(event));
    got.iter().for_each(|event| groups.entry(key(event)).or_default().1.push(event));
    for (key, (wanted, got)) in groups {
        let asked = wanted.len();
        let (wanted, got) = without_same(wanted, got, &mut outcome.same);
        let had_some = wanted.len() < asked;
        for (wanted, got) in wanted.iter().zip(&got) {
            let difference = first_difference(wanted, got).unwrap_or_else(|| "the order of fields".into());
            match reason(wanted, got, &difference) {
                Some(reason) => *outcome.known.entry(reason).or_default() += 1,
                None => outcome.unknown.push(format!("{key}: {difference}")),
            }
        }
        let rest = wanted.len().abs_diff(got.len());
        let is_patch = key.contains("\"patch\" \"ResponseComplete\"");
        match wanted.len() > got.len() {
            _ if rest == 0 => {}
            true if had_some || !got.is_empty() => {
                *outcome.known.entry(Reason::AskedAgain).or_default() += rest;
            }
            false if is_patch => *outcome.known.entry(Reason::LostByReference).or_default() += rest,
            is_missing => outcome.unknown.push(format!("{key}: {rest} missing: {is_missing}")),
        }
    }
    outcome
}

/// Takes away the events that both have, in the same order.
fn without_same<'a>(
    wanted: Vec<&'a Json>,
    mut got: Vec<&'a Json>,
    same: &mut usize,
) -> (Vec<&'a Json>, Vec<&'a Json>) {
    let mut start = 0;
    let mut left = Vec::new();
    for event in wanted {
        let text = event.to_string();
        match got[start..].iter().position(|other| other.to_string() == text) {
            Some(place) => {
                start += place;
                got.remove(start);
                *same += 1;
            }
            None => left.push(event),
        }
    }
    (left, got)
}

fn reason(wanted: &Json, got: &Json, difference: &str) -> Option<Reason> {
    let code = |event: &Json| event.at("responseStatus.code").number();
    let uri = got.at("requestURI").text().unwrap_or_default();
    if uri.ends_with("/serviceaccounts") && code(wanted) == Some(201.0) && code(got) == Some(409.0) {
        return Some(Reason::AccountExists);
    }
    if difference.starts_with(".responseObject.spec.ports[0].targetPort: ") {
        return Some(Reason::Port);
    }
    let is_revision = got.at("requestObject.0.path").text() == Some("/metadata/resourceVersion");
    if difference.starts_with(".requestObject[0].value: ") && is_revision {
        return Some(Reason::Revision);
    }
    let is_generated = got.at("responseObject.metadata.generateName").text().is_some();
    (difference.starts_with(".responseObject.metadata.name: ") && is_generated)
        .then_some(Reason::GeneratedName)
}
