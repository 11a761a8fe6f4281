//! Requests that wait, reconfiguration, borrowing.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use pintle_flow_control::{Dump, Ticket};

use crate::bootstrap;
use crate::support::*;

fn poll(future: &mut (impl Future<Output = bool> + Unpin)) -> Poll<bool> {
    pin!(future).poll(&mut Context::from_waker(Waker::noop()))
}

/// A level of so many seats for all users.
fn one_level(seats: u32, level: pintle_flow_control::LevelSpec) -> Fixture {
    let fixture = fixture(seats as usize);
    let name = level.name.clone();
    // The catch-all has no share, so that all seats are the level's.
    let levels = vec![rejecting("catch-all", 0), level];
    let all = everything(&group("system:authenticated"));
    fixture.control.reconfigure(levels, vec![schema("all", &name, 100, BY_USER, &all)]);
    fixture
}

fn waiting_limit() -> Duration {
    Duration::from_secs(15)
}

fn figure_of(fixture: &Fixture, name: &str) -> f64 {
    fixture.figure(&format!("{name}{{flow_schema=\"all\",priority_level=\"level\"}}"))
}

#[test]
fn a_level_without_queues_refuses_what_it_has_no_seat_for() {
    let fixture = one_level(1, rejecting("level", 1));
    let someone = user("someone", &[]);
    let first = fixture.executes(&pods(&someone, "get"));
    let refused = fixture.admit(&pods(&someone, "get"));
    assert!(refused.ticket.is_err());
    let rejected =
        "rejected_requests_total{flow_schema=\"all\",priority_level=\"level\",reason=\"concurrency-limit\"}";
    assert_eq!(fixture.figure(rejected), 1.0);
    let seconds: Vec<u64> = (0..5).map(|_| fixture.control.dropped(&refused.classification)).collect();
    assert_eq!(seconds, [1; 5]);
    fixture.clock.advance(Duration::from_secs(1));
    assert_eq!(fixture.control.dropped(&refused.classification), 2, "many were refused a second ago");
    drop(first);
    drop(fixture.executes(&pods(&someone, "get")));
}

#[test]
fn a_request_that_waits_goes_on_when_a_seat_is_free() {
    let fixture = one_level(1, queues("level", 1, 0, 4, 1));
    let someone = user("someone", &[]);
    let first = fixture.executes(&pods(&someone, "get"));
    let second = fixture.waits(&pods(&someone, "get"));
    let mut waits = Box::pin(second.wait(waiting_limit()));
    assert_eq!(poll(&mut waits), Poll::Pending);
    fixture.clock.advance(Duration::from_secs(3));
    assert_eq!(poll(&mut waits), Poll::Pending);
    drop(first);
    assert_eq!(poll(&mut waits), Poll::Ready(true));
    drop(waits);
    let waited =
        "request_wait_duration_seconds_sum{execute=\"true\",flow_schema=\"all\",priority_level=\"level\"}";
    assert_eq!(fixture.figure(waited), 3.0);
    assert_eq!(figure_of(&fixture, "dispatched_requests_total"), 2.0);
}

#[test]
fn requests_that_time_out_or_whose_client_goes_leave_no_trace() {
    let fixture = one_level(1, queues("level", 1, 0, 4, 1));
    let someone = user("someone", &[]);
    let first = fixture.executes(&pods(&someone, "get"));
    let late = fixture.waits(&pods(&someone, "get"));
    let mut waits = Box::pin(late.wait(waiting_limit()));
    assert_eq!(poll(&mut waits), Poll::Pending);
    fixture.clock.advance(Duration::from_secs(15));
    assert_eq!(poll(&mut waits), Poll::Ready(false));
    drop(waits);
    drop(late);
    drop(fixture.waits(&pods(&someone, "get")));
    let rejected =
        "rejected_requests_total{flow_schema=\"all\",priority_level=\"level\",reason=\"time-out\"}";
    assert_eq!(fixture.figure(rejected), 2.0);
    for gauge in ["current_inqueue_requests", "current_inqueue_seats"] {
        assert_eq!(figure_of(&fixture, gauge), 0.0, "{gauge}");
    }
    assert_eq!(figure_of(&fixture, "current_executing_seats"), 1.0);
    drop(first);
    assert_eq!(figure_of(&fixture, "current_executing_seats"), 0.0);
    let dump = fixture.control.dump(Dump::Requests { with_details: true });
    assert_eq!(dump.lines().count(), 1, "{dump}");
    let row = fixture.control.dump(Dump::PriorityLevels);
    let row = row.lines().find(|line| line.starts_with("level,")).unwrap().replace([' '], "");
    assert_eq!(row, "level,0,true,false,0,0,1,2,0,2");
}

#[test]
fn a_suspended_request_leaves_its_seat_to_others_and_gets_it_back() {
    let fixture = one_level(1, queues("level", 1, 0, 4, 1));
    let someone = user("someone", &[]);
    let first = fixture.executes(&pods(&someone, "create"));
    first.suspend();
    let second = fixture.executes(&pods(&someone, "get"));
    let third = fixture.waits(&pods(&someone, "get"));
    let mut resumes = Box::pin(first.resume(Duration::from_secs(3)));
    assert_eq!(poll(&mut resumes), Poll::Pending);
    drop(second);
    assert_eq!(poll(&mut resumes), Poll::Ready(true), "before the one that waits");
    drop(resumes);
    first.suspend();
    assert_eq!(poll(&mut Box::pin(third.wait(waiting_limit()))), Poll::Ready(true));
    let mut resumes = Box::pin(first.resume(Duration::from_secs(3)));
    assert_eq!(poll(&mut resumes), Poll::Pending);
    fixture.clock.advance(Duration::from_secs(3));
    assert_eq!(poll(&mut resumes), Poll::Ready(false));
    drop(resumes);
    drop((first, third));
    drop(fixture.executes(&pods(&someone, "get")));
}

#[test]
fn levels_that_go_are_drained() {
    let fixture = one_level(2, queues("level", 1, 0, 4, 1));
    let someone = user("someone", &[]);
    let executing = fixture.fill(&pods(&someone, "get"));
    let waiting = fixture.waits(&pods(&someone, "get"));
    fixture.control.reconfigure(vec![rejecting("catch-all", 1)], Vec::new());
    assert_eq!(fixture.admit(&pods(&someone, "get")).classification.level_name(), "catch-all");
    let levels = || fixture.control.dump(Dump::PriorityLevels);
    let quiescing = |text: &str| text.lines().any(|line| line.starts_with("level,") && line.contains("true"));
    assert!(quiescing(&levels()), "{}", levels());
    drop(executing);
    assert_eq!(
        poll(&mut Box::pin(waiting.wait(waiting_limit()))),
        Poll::Ready(true),
        "it goes on to its end"
    );
    drop(waiting);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let run = fixture.control.run();
        tokio::select! {
            () = run => {}
            () = async { while levels().contains("level,") { tokio::task::yield_now().await; } } => {}
        }
    });
}

#[test]
fn a_level_that_comes_back_while_it_drains_keeps_its_requests() {
    let fixture = one_level(2, queues("level", 1, 0, 4, 1));
    let someone = user("someone", &[]);
    let executing = fixture.executes(&pods(&someone, "get"));
    fixture.control.reconfigure(vec![rejecting("catch-all", 1)], Vec::new());
    let all = everything(&group("system:authenticated"));
    let levels = vec![rejecting("catch-all", 0), rejecting("level", 1)];
    fixture.control.reconfigure(levels, vec![schema("all", "level", 100, "", &all)]);
    let second = fixture.executes(&pods(&someone, "get"));
    assert!(fixture.admit(&pods(&someone, "get")).ticket.is_err(), "both seats are taken");
    drop((executing, second));
}

#[test]
fn configurations_change_under_load() {
    let fixture = bootstrap::configured(40);
    let users: Vec<_> = (0..8).map(|number| user(&format!("user-{number}"), &[])).collect();
    let mut tickets: Vec<Ticket> = Vec::new();
    for round in 0..200_usize {
        tickets.extend(users.iter().filter_map(|user| fixture.admit(&pods(user, "get")).ticket.ok()));
        if tickets.len() > 60 {
            tickets.drain(..30);
        }
        let mut levels = bootstrap::levels();
        levels.retain(|level| level.name != "global-default" || round % 3 != 0);
        if round % 2 == 0 {
            levels.push(queues("own", 50, 0, 8, 2));
        }
        let mut schemas = bootstrap::schemas();
        let own = everything(&user_subject("user-3"));
        schemas.push(schema("own", "own", 200, BY_USER, &own));
        fixture.control.reconfigure(levels, schemas);
        fixture.clock.advance(Duration::from_millis(5));
    }
    tickets.clear();
    fixture.control.reconfigure(bootstrap::levels(), bootstrap::schemas());
    let dump = fixture.control.dump(Dump::PriorityLevels);
    for line in dump.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        assert_eq!((cells[2], cells[4], cells[5]), ("true", "0", "0"), "{dump}");
    }
    assert_eq!(fixture.control.dump(Dump::Requests { with_details: false }).lines().count(), 1);
}

#[test]
fn a_loaded_level_borrows_seats_within_the_adjustment_period() {
    let fixture = bootstrap::configured(600);
    let own = bootstrap::account("default", "x");
    let current = |level: &str| fixture.figure(&format!("current_limit_seats{{priority_level=\"{level}\"}}"));
    let before = (current("workload-low"), current("workload-high"));
    let mut executing = fixture.fill(&pods(&own, "get"));
    assert_eq!(executing.len() as f64, before.0);
    let many: Vec<_> = (0..600).map(|number| bootstrap::account("default", &format!("x{number}"))).collect();
    let waiting: Vec<_> =
        many.iter().filter_map(|user| fixture.admit(&pods(user, "get")).ticket.ok()).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        tokio::select! {
            () = fixture.control.run() => {}
            () = async {
                tokio::task::yield_now().await;
                fixture.clock.advance(Duration::from_secs(10));
                for _ in 0..10 {
                    tokio::task::yield_now().await;
                }
            } => {}
        }
    });
    let after = (current("workload-low"), current("workload-high"));
    assert!(after.0 > before.0 + 50.0, "{before:?} {after:?}");
    assert!(after.1 < before.1, "{before:?} {after:?}");
    assert!(after.1 >= 49.0, "it lends no more than it is to");
    let mut gone_on = 0;
    for ticket in &waiting {
        if poll(&mut Box::pin(ticket.wait(waiting_limit()))) == Poll::Ready(true) {
            gone_on += 1;
        }
    }
    assert_eq!((executing.len() + gone_on) as f64, after.0);
    executing.clear();
}

#[test]
fn a_write_with_many_watchers_keeps_seats_after_its_answer() {
    let fixture = bootstrap::configured(600);
    let (own, other) = (bootstrap::account("default", "x"), bootstrap::account("default", "y"));
    let watches: Vec<_> =
        (0..500).map(|_| fixture.control.register_watch(&pods(&other, "watch"), None)).collect();
    let write = fixture.executes(&pods(&own, "create"));
    let labels = "{flow_schema=\"service-accounts\",priority_level=\"workload-low\"}";
    let seats = || fixture.figure(&format!("current_executing_seats{labels}"));
    assert_eq!(seats(), 10.0, "a tenth of a seat for each of them, at most ten");
    assert_eq!(fixture.figure(&format!("watch_count_samples_sum{labels}")), 500.0);
    drop(write);
    let in_use = || {
        let dump = fixture.control.dump(Dump::Queues);
        let rows = dump.lines().filter(|line| line.starts_with("workload-low,"));
        rows.map(|row| row.split(',').nth(4).unwrap().trim().parse::<usize>().unwrap()).sum::<usize>()
    };
    assert_eq!(in_use(), 10, "for 25 ms: 50 seats for 5 ms");
    fixture.clock.advance(Duration::from_millis(26));
    fixture.text();
    assert_eq!(in_use(), 0);
    drop(watches);
    let write = fixture.executes(&pods(&own, "create"));
    assert_eq!(seats(), 1.0);
    drop(write);
}

#[test]
fn dumps_have_a_row_for_each_queue_and_request() {
    let fixture = one_level(1, queues("level", 1, 0, 2, 1));
    let someone = user("someone", &[]);
    let _executing = fixture.executes(&pods(&someone, "list"));
    fixture.clock.advance(Duration::from_millis(1500));
    let _waiting = fixture.waits(&pods(&someone, "get"));
    let queues = fixture.control.dump(Dump::Queues);
    let mut lines = queues.lines();
    assert_eq!(
        lines.next().unwrap(),
        "PriorityLevelName, Index,  PendingRequests, ExecutingRequests, SeatsInUse, NextDispatchR, InitialSeatsSum, MaxSeatsSum, TotalWorkSum"
    );
    let busy = lines.map(|line| line.replace(' ', "")).find(|line| line.contains(",1,1,1,")).unwrap();
    assert!(busy.starts_with("level,") && busy.ends_with(",1,1,0.00300000ss"), "{queues}");
    let dump = fixture.control.dump(Dump::Requests { with_details: true });
    let rows: Vec<Vec<&str>> = dump.lines().map(|line| line.split(',').map(str::trim).collect()).collect();
    assert_eq!(rows.len(), 3, "{dump}");
    assert_eq!(rows[0].len(), 18);
    let (waiting, executing) = (&rows[1], &rows[2]);
    assert_eq!(waiting[..2], ["level", "all"]);
    assert_eq!(
        waiting[3..10],
        ["0", "someone", "2023-11-14T22:13:21.5Z", "1", "0", "0s", "0001-01-01T00:00:00Z"]
    );
    assert_eq!(
        executing[3..10],
        ["-1", "someone", "2023-11-14T22:13:20Z", "1", "0", "0s", "2023-11-14T22:13:20Z"]
    );
    assert_eq!(
        waiting[10..],
        ["someone", "get", "/api/v1/namespaces/default/pods", "default", "", "v1", "pods", ""]
    );
}
