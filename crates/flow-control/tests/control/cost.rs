//! What a request that does not wait costs.

use std::time::{Duration, Instant};

use pintle_flow_control::ListOptions;
use pintle_runtime::{Clock, ManualClock};

use crate::bootstrap;
use crate::support::*;

/// The limit, and what an unoptimised build may take.
const LIMIT: Duration = Duration::from_micros(2);
const UNOPTIMISED: u32 = 15;

/// Requests in a round. The fastest of many rounds counts, since others use the machine too.
const REQUESTS: u32 = 1000;
const ROUNDS: usize = 60;

#[test]
fn a_request_that_does_not_wait_costs_less_than_two_microseconds() {
    let manual = ManualClock::starting_at(std::time::SystemTime::UNIX_EPOCH);
    let fixture = with_clock(600, manual, Clock::system());
    fixture.control.reconfigure(bootstrap::levels(), bootstrap::schemas());
    let own = bootstrap::account("default", "x");
    for verb in ["get", "create"] {
        let digest = pods(&own, verb);
        let round = || {
            let start = Instant::now();
            for _ in 0..REQUESTS {
                let details = Box::new(Details(Default::default()));
                drop(fixture.control.admit(&digest, || Some(ListOptions::default()), details));
            }
            start.elapsed() / REQUESTS
        };
        let fastest = (0..ROUNDS).map(|_| round()).min().unwrap();
        println!("{verb}: {fastest:?}");
        let limit = if cfg!(debug_assertions) { LIMIT * UNOPTIMISED } else { LIMIT };
        assert!(fastest < limit, "{verb}: {fastest:?}");
    }
}
