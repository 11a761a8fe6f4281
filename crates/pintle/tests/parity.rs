//! The parity suite against the built server: every recorded case passes, but for those that are listed as failing.

use std::path::Path;

use pintle_parity::{Area, Known, Outcome, Server, changes, play};
use pintle_published::recorded;

/// Servers that cases are played on at once. Cases mostly wait: for events, and for what failing ones never see.
const SERVERS: usize = 12;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn recorded_cases_pass_unless_they_are_listed() {
    let folder = recorded::folder();
    let areas = recorded::areas(&folder).expect("the recorded areas");
    let mut areas: Vec<Area> =
        areas.iter().map(|area| Area::read(&folder, area).expect("a recorded area")).collect();
    for area in &mut areas {
        let missing = area.keep_recorded();
        assert!(missing.is_empty(), "no recorded answers of {missing:?}");
    }
    let known = Known::read(&folder).expect("the list of failing cases");
    let mut outcomes = replay(&areas, SERVERS).await;
    let changed = changes(&known, &outcomes);
    if !changed.is_empty() {
        // A case may have been too slow for its own patience beside the others. What is wrong is so alone, too.
        for area in &mut areas {
            let name = area.name.clone();
            area.cases
                .retain(|case| changed.iter().any(|change| change.name == format!("{name}/{}", case.id)));
        }
        for again in replay(&areas, 1).await {
            let first = outcomes.iter_mut().find(|first| first.name() == again.name());
            *first.expect("it was played") = again;
        }
    }
    let changed: Vec<String> = changes(&known, &outcomes).into_iter().map(|change| change.text).collect();
    assert!(changed.is_empty(), "\n{}", changed.join("\n"));
}

/// Plays cases on new servers, so many at once.
async fn replay(areas: &[Area], servers: usize) -> Vec<Outcome> {
    let (mut running, mut clients) = (Vec::new(), Vec::new());
    for _ in 0..servers {
        let server = Server::start(Path::new(env!("CARGO_BIN_EXE_pintle")), &recorded::folder()).await;
        let server = server.unwrap_or_else(|error| panic!("{error:#}"));
        clients.push(server.client().expect("a client"));
        running.push(server);
    }
    play(areas, &mut clients).await
}
