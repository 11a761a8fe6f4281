//! The tables of `/debug/api_priority_and_fairness/`.

use std::time::{Duration, SystemTime};

use pintle_meta::format_duration;
use pintle_meta::time::Time;

use crate::control::FlowControl;
use crate::level::Level;
use crate::queues::{Entry, NONE, Phase};
use crate::spec::Distinguisher;
use crate::table::Table;
use crate::{RequestDetails, WorkEstimate};

/// A table of requests, or of what they wait in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dump {
    PriorityLevels,
    Queues,
    Requests { with_details: bool },
}

const LEVELS: [&str; 10] = [
    "PriorityLevelName",
    "ActiveQueues",
    "IsIdle",
    "IsQuiescing",
    "WaitingRequests",
    "ExecutingRequests",
    "DispatchedRequests",
    "RejectedRequests",
    "TimedoutRequests",
    "CancelledRequests",
];

const QUEUES: [&str; 9] = [
    "PriorityLevelName",
    "Index",
    "PendingRequests",
    "ExecutingRequests",
    "SeatsInUse",
    "NextDispatchR",
    "InitialSeatsSum",
    "MaxSeatsSum",
    "TotalWorkSum",
];

const REQUESTS: [&str; 10] = [
    "PriorityLevelName",
    "FlowSchemaName",
    "QueueIndex",
    "RequestIndexInQueue",
    "FlowDistingsher",
    "ArriveTime",
    "InitialSeats",
    "FinalSeats",
    "AdditionalLatency",
    "StartTime",
];

const DETAILS: [&str; 8] =
    ["UserName", "Verb", "APIPath", "Namespace", "Name", "APIVersion", "Resource", "SubResource"];

/// The start of a request that has not started.
const NEVER: &str = "0001-01-01T00:00:00Z";

impl FlowControl {
    /// Returns a table as text.
    pub fn dump(&self, dump: Dump) -> String {
        match dump {
            Dump::PriorityLevels => self.dump_levels(),
            Dump::Queues => self.dump_queues(),
            Dump::Requests { with_details } => self.dump_requests(with_details),
        }
    }

    fn dump_levels(&self) -> String {
        let mut table = Table::new(&LEVELS);
        for level in self.levels() {
            let row = level.with(|state| {
                let set = &state.set;
                let active = set.queues.iter().filter(|queue| queue.waits()).count();
                let (waiting, executing, counts) = (set.waiting, set.executing, set.counts);
                let numbers = [waiting, executing, counts.dispatched, counts.rejected, 0, counts.cancelled]
                    .map(|n| n.to_string());
                let mut row = vec![level.name.to_string(), active.to_string(), set.is_idle().to_string()];
                row.push(level.is_quiescing().to_string());
                row.extend(numbers);
                row
            });
            table.row(row);
        }
        table.render()
    }

    fn dump_queues(&self) -> String {
        let mut table = Table::new(&QUEUES);
        for level in self.levels() {
            let rows: Vec<Vec<String>> = level.with(|state| {
                let rows = state.set.queues.iter().enumerate().map(|(index, queue)| {
                    vec![
                        level.name.to_string(),
                        index.to_string(),
                        (queue.waiting.len() + queue.resuming.len()).to_string(),
                        queue.executing.to_string(),
                        queue.seats_in_use.to_string(),
                        queue.next_dispatch.to_string(),
                        queue.initial_seats_waiting.to_string(),
                        queue.seats_waiting.to_string(),
                        queue.work_waiting.to_string(),
                    ]
                });
                rows.collect()
            });
            rows.into_iter().for_each(|row| table.row(row));
        }
        table.render()
    }

    fn dump_requests(&self, with_details: bool) -> String {
        let details: &[&str] = if with_details { &DETAILS } else { &[] };
        let mut table = Table::new(&[&REQUESTS, details].concat());
        for level in self.levels() {
            let rows = level.with(|state| {
                let mut rows: Vec<Vec<String>> = Vec::new();
                let set = &state.set;
                for (index, queue) in set.queues.iter().enumerate() {
                    let waiting = queue.resuming.iter(&set.entries).chain(queue.waiting.iter(&set.entries));
                    let waiting = waiting.enumerate().map(|(place, entry)| (place as i64, entry));
                    let executing = set.entries.iter().filter(|entry| entry.queue as usize == index);
                    let executing = executing.filter(|entry| entry.phase == Phase::Executing);
                    let all = waiting.chain(executing.map(|entry| (-1, entry)));
                    rows.extend(all.map(|(place, entry)| {
                        self.request_row(&level, index as i64, place, entry, with_details)
                    }));
                }
                let without = set.entries.iter().filter(|entry| entry.queue == NONE);
                let without = without.filter(|entry| entry.phase != Phase::Suspended);
                rows.extend(without.map(|entry| self.request_row(&level, -1, -1, entry, with_details)));
                rows
            });
            rows.into_iter().for_each(|row| table.row(row));
        }
        table.render()
    }

    fn request_row(
        &self,
        level: &Level,
        queue: i64,
        place: i64,
        entry: &Entry,
        with_details: bool,
    ) -> Vec<String> {
        let WorkEstimate { initial_seats, final_seats, additional_latency } = entry.estimate;
        let needs_details = with_details || entry.distinguisher.is_some();
        let details = if needs_details { entry.description.details() } else { RequestDetails::default() };
        let flow = match entry.distinguisher {
            None => String::new(),
            Some(Distinguisher::ByUser) => details.user.clone(),
            Some(Distinguisher::ByNamespace) => details.namespace.clone(),
        };
        let mut row = vec![
            level.name.to_string(),
            entry.schema.name.to_string(),
            queue.to_string(),
            place.to_string(),
            flow,
            self.time_of(entry.arrival),
            initial_seats.to_string(),
            final_seats.to_string(),
            format_duration(i64::try_from(additional_latency.as_nanos()).unwrap_or(i64::MAX)),
            entry.began.map_or_else(|| NEVER.to_owned(), |began| self.time_of(began)),
        ];
        if with_details {
            let RequestDetails { user, verb, path, namespace, name, group, version, resource, subresource } =
                details;
            let group_version = match (group.as_str(), version.as_str()) {
                ("", version) => version.to_owned(),
                (group, version) => format!("{group}/{version}"),
            };
            row.extend([user, verb, path, namespace, name, group_version, resource, subresource]);
        }
        row
    }

    /// Returns the time of day of a moment in nanoseconds since the start.
    fn time_of(&self, moment: u64) -> String {
        let time = self.started_at() + Duration::from_nanos(moment);
        let since_1970 = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let seconds = i64::try_from(since_1970.as_secs()).unwrap_or(i64::MAX);
        // Go leaves out the zeros at the end of a fraction, and an empty one.
        let fraction = format!(".{:09}", since_1970.subsec_nanos());
        let fraction = fraction.trim_end_matches('0').trim_end_matches('.');
        let whole = Time::from_unix(seconds, 0).to_string();
        format!("{}{fraction}Z", whole.trim_end_matches('Z'))
    }
}
