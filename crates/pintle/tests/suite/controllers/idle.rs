//! A server without clients sleeps, whatever controllers it has.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::DirEntry;
use std::time::Duration;

use super::with_controllers;
use crate::support::Server;
use crate::support::shared::ready;

/// Windows of measurement; the quietest one counts, since whatever else the machine does only adds.
const WINDOWS: usize = 5;
const WINDOW: Duration = Duration::from_secs(3);

/// Times that each thread of a server went to sleep: each wakeup ends in one.
fn sleeps(server: &Server) -> HashMap<OsString, u64> {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", server.pid())).expect("its threads");
    let of_thread = |task: &DirEntry| {
        let status = std::fs::read_to_string(task.path().join("status")).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        line.and_then(|count| count.trim().parse::<u64>().ok()).unwrap_or_default()
    };
    tasks.filter_map(Result::ok).map(|task| (task.file_name(), of_thread(&task))).collect()
}

/// Returns how often the threads of a server have gone to sleep since. Those that have ended do not count.
fn sleeps_since(server: &Server, before: &HashMap<OsString, u64>) -> u64 {
    let since =
        |(thread, now): (OsString, u64)| now.saturating_sub(before.get(&thread).copied().unwrap_or_default());
    sleeps(server).into_iter().map(since).sum()
}

/// A controller that looks every second, or more often, adds three wakeups to each window.
#[tokio::test]
async fn default_controllers_do_not_wake_an_idle_server() {
    let (none, all) = (with_controllers("").start().await, with_controllers("*").start().await);
    tokio::join!(Box::pin(ready(&none)), Box::pin(ready(&all)));
    // Time for the work that a start leaves.
    tokio::time::sleep(Duration::from_secs(8)).await;
    let mut least = [u64::MAX; 2];
    for _ in 0..WINDOWS {
        let before = [sleeps(&none), sleeps(&all)];
        tokio::time::sleep(WINDOW).await;
        let [of_none, of_all] = before;
        let now = [sleeps_since(&none, &of_none), sleeps_since(&all, &of_all)];
        least = [least[0].min(now[0]), least[1].min(now[1])];
    }
    let [baseline, with_controllers] = least;
    assert!(
        with_controllers <= baseline + 2,
        "{with_controllers} wakeups in {WINDOW:?}, and {baseline} without controllers"
    );
}
