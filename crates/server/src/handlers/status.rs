//! `/statusz`: the version and uptime of the server, and the paths of its other pages.

use std::collections::BTreeSet;

use async_trait::async_trait;
use pintle_codec::negotiate::Encoding;
use pintle_meta::time::Time;
use pintle_meta::{Object, Value};
use pintle_runtime::{Random, Stopwatch};

use super::Version;
use super::page::Pages;
use crate::filter::Handler;
use crate::metrics::Metrics;
use crate::{Request, Response};

/// Paths that are of no use for finding faults.
const OTHER_PATHS: [&str; 5] = ["/apis", "/api", "/openid", "/openapi", "/.well-known"];

pub(crate) struct StatusPage {
    pages: Pages,
    /// Start time in seconds since 1970.
    started: i64,
    running: Stopwatch,
    go_version: String,
    binary_version: String,
    emulation_version: String,
    paths: Vec<String>,
}

impl StatusPage {
    /// Makes the page; `paths` are all paths that are served.
    pub(crate) fn new(
        version: &Version,
        paths: &[String],
        encodings: &[Encoding],
        metrics: &Metrics,
        random: &Random,
    ) -> StatusPage {
        StatusPage {
            pages: Pages::new("statusz", "Statusz", encodings, metrics, random),
            started: metrics.started(),
            running: Stopwatch::start(),
            go_version: version.go_version.clone(),
            binary_version: version.git_version.trim_start_matches('v').to_owned(),
            emulation_version: format!("{}.{}", version.emulation_major, version.emulation_minor),
            paths: first_segments(paths),
        }
    }

    fn uptime_seconds(&self) -> i64 {
        i64::try_from(self.running.elapsed().as_secs()).unwrap_or(i64::MAX)
    }

    fn text(&self) -> String {
        let (heading, up, delimiter) = (self.pages.heading(), self.uptime_seconds(), self.pages.delimiter());
        let StatusPage { go_version, binary_version, emulation_version, paths, .. } = self;
        let paths =
            if paths.is_empty() { String::new() } else { format!("Paths{delimiter} {}", paths.join(" ")) };
        format!(
            "{heading}\nStarted{delimiter} {}\nUp{delimiter} {} hr {:02} min {:02} sec\nGo version{delimiter} {go_version}\n\
             Binary version{delimiter} {binary_version}\nEmulation version{delimiter} {emulation_version}\n{paths}\n",
            unix_date(self.started),
            up / 3600,
            up / 60 % 60,
            up % 60,
        )
    }

    fn fields(&self) -> Object {
        let paths = if self.paths.is_empty() {
            Value::NULL
        } else {
            self.paths.iter().map(|path| Value::from(path.as_str())).collect::<Vec<_>>().into()
        };
        Object::from_iter([
            ("startTime", Value::from(Time::from_unix(self.started, 0).to_string())),
            ("uptimeSeconds", self.uptime_seconds().into()),
            ("goVersion", self.go_version.as_str().into()),
            ("binaryVersion", self.binary_version.as_str().into()),
            ("emulationVersion", self.emulation_version.as_str().into()),
            ("paths", paths),
        ])
    }
}

#[async_trait]
impl Handler for StatusPage {
    async fn handle(&self, request: Box<Request>) -> Response {
        self.pages.answer(&request, || self.text(), || self.fields())
    }
}

/// `/healthz/etcd` is below `/healthz`; each once, in order.
fn first_segments(paths: &[String]) -> Vec<String> {
    let first = |path: &String| {
        let segment = path.strip_prefix('/')?.split('/').next().filter(|segment| !segment.is_empty())?;
        Some(format!("/{segment}")).filter(|path| !OTHER_PATHS.contains(&path.as_str()))
    };
    paths.iter().filter_map(first).collect::<BTreeSet<_>>().into_iter().collect()
}

/// Go's `UnixDate`: `Tue Nov 17 20:31:22 UTC 2026`.
fn unix_date(seconds: i64) -> String {
    const DAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    // `2026-11-17T20:31:22Z`
    let text = Time::from_unix(seconds, 0).to_string();
    let part = |from: usize, to: usize| text.get(from..to).unwrap_or_default();
    let number = |from: usize, to: usize| part(from, to).parse::<usize>().unwrap_or_default();
    // The first day was a Thursday.
    let weekday = usize::try_from((seconds.div_euclid(86_400) + 4).rem_euclid(7)).unwrap_or_default();
    let month = MONTHS.get(number(5, 7).saturating_sub(1)).copied().unwrap_or_default();
    format!("{} {month} {:>2} {} UTC {}", DAYS[weekday], number(8, 10), part(11, 19), part(0, 4))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_shown_as_unix_does() {
        assert_eq!(unix_date(0), "Thu Jan  1 00:00:00 UTC 1970");
        assert_eq!(unix_date(1_794_947_482), "Tue Nov 17 20:31:22 UTC 2026");
        assert_eq!(unix_date(951_782_400), "Tue Feb 29 00:00:00 UTC 2000");
    }

    #[test]
    fn paths_are_listed_by_their_first_segment() {
        let paths =
            ["/", "/healthz", "/healthz/ping", "/apis/apps", "/.well-known/x", "/metrics", "/flagz", ""];
        assert_eq!(first_segments(&paths.map(str::to_owned)), ["/flagz", "/healthz", "/metrics"]);
    }
}
