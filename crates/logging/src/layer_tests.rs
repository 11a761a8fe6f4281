use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use std::time::{Duration, UNIX_EPOCH};

use tracing::subscriber::with_default;
use tracing_subscriber::layer::SubscriberExt;

use super::*;
use crate::filter::VModule;

/// A stream that remembers what was written to it, and into how many pieces.
#[derive(Clone, Default)]
struct Memory(Arc<Mutex<Vec<String>>>);

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().push(String::from_utf8_lossy(bytes).into_owned());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Memory {
    fn text(&self) -> String {
        self.0.lock().unwrap().concat()
    }
}

/// Standard error after the reader went away.
struct Closed;

impl Write for Closed {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Err(io::ErrorKind::BrokenPipe.into())
    }
}

/// 2026-11-15 21:04:05.123456 UTC.
fn clock() -> SystemTime {
    UNIX_EPOCH + Duration::from_micros(1_794_776_645_123_456)
}

fn logged(format: Format, filter: Filter, code: impl FnOnce()) -> String {
    let memory = Memory::default();
    let output = Output::new(Box::new(memory.clone()), None, 0);
    let layer = KlogLayer::new(format, filter, output).with_clock(12345, clock);
    with_default(tracing_subscriber::registry().with(layer), code);
    memory.text()
}

fn verbosity(v: u32) -> Filter {
    Filter::new(v, Vec::new())
}

#[test]
fn text_lines_have_klogs_header_and_quoted_values() {
    let line = line!() + 2;
    let text = logged(Format::Text, verbosity(0), || {
        tracing::info!(port = 6443, address = "0.0.0.0", secure = true, share = 0.5, path = ?Some("a b"), "Serving");
    });
    assert_eq!(
        text,
        format!(
            "I1115 21:04:05.123456   12345 layer_tests.rs:{line}] \"Serving\" port=6443 address=\"0.0.0.0\" \
             secure=true share=0.5 path=\"Some(\\\"a b\\\")\"\n"
        )
    );
}

#[test]
fn errors_show_their_cause_first() {
    let cause = io::Error::other("disk \"sda\" is full");
    let text = logged(Format::Text, verbosity(0), || {
        tracing::error!(key = "/registry/a", err = &cause as &dyn std::error::Error, "Cannot write");
        tracing::warn!(error = %cause, "Cannot write");
    });
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("E1115 "));
    assert!(lines[0].ends_with(r#"] "Cannot write" err="disk \"sda\" is full" key="/registry/a""#));
    assert!(lines[1].starts_with("W1115 "));
    assert!(lines[1].ends_with(r#"] "Cannot write" err="disk \"sda\" is full""#));
}

#[test]
fn json_lines_are_those_of_component_base() {
    let line = line!() + 2;
    let text = logged(Format::Json, verbosity(2), || {
        tracing::info!(port = 6443, name = "a\nb", nan = f64::NAN, "Serving");
        tracing::debug!("details");
        tracing::error!(err = "broken", code = 7, "Failed");
    });
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[0],
        format!(
            "{{\"ts\":1794776645123.456,\"caller\":\"logging/layer_tests.rs:{line}\",\"msg\":\"Serving\",\"v\":0,\
             \"port\":6443,\"name\":\"a\\nb\",\"nan\":\"NaN\"}}"
        )
    );
    assert!(lines[1].ends_with(r#""msg":"details","v":2}"#));
    assert!(lines[2].ends_with(r#""msg":"Failed","err":"broken","code":7}"#));
}

#[test]
fn a_message_cannot_forge_a_line() {
    let input = "GET /\nE1115 21:04:05.000000       1 auth.rs:1] \"admin logged in\"\u{1b}[2J";
    for format in [Format::Text, Format::Json] {
        let text = logged(format, verbosity(0), || tracing::info!(path = input, "{input}"));
        assert_eq!(text.matches('\n').count(), 1, "{text}");
        assert!(!text.contains('\u{1b}'));
    }
}

#[test]
fn verbosity_decides_what_is_written() {
    let everything = || {
        tracing::warn!("warn");
        tracing::info!("info");
        tracing::debug!("debug");
        tracing::trace!("trace");
        tracing::info!(target: "h2::codec", "library info");
        tracing::debug!(target: "h2::codec", "library debug");
        tracing::error!(target: "h2::codec", "library error");
    };
    let cases = [(0, 3), (1, 3), (2, 4), (3, 4), (4, 6), (8, 7)];
    for (v, lines) in cases {
        assert_eq!(logged(Format::Text, verbosity(v), everything).lines().count(), lines, "-v {v}");
    }
    let here = vec![VModule { pattern: "layer_*".into(), level: 4 }];
    assert_eq!(logged(Format::Text, Filter::new(0, here), everything).lines().count(), 6);
}

#[test]
fn fields_of_spans_come_before_those_of_the_event() {
    let text = logged(Format::Text, verbosity(0), || {
        let request = tracing::info_span!("request", verb = "get", user = tracing::field::Empty).entered();
        request.record("user", "alice");
        let _inner = tracing::info_span!("inner", attempt = 2, error = "late").entered();
        tracing::info!(code = 200, r#type = "Pod", "Done");
    });
    let fields = "verb=\"get\" user=\"alice\" attempt=2 error=\"late\" code=200 type=\"Pod\"";
    assert!(text.ends_with(&format!("] \"Done\" {fields}\n")), "{text}");
}

#[test]
fn split_streams_keep_errors_apart_and_hold_back_the_rest() {
    let (errors, infos) = (Memory::default(), Memory::default());
    let output = Output::new(Box::new(errors.clone()), Some(Box::new(infos.clone())), 1 << 16);
    let filter = verbosity(0);
    let guard = crate::Guard::new(filter.clone(), output.clone(), Duration::from_secs(3600)).unwrap();
    let layer = KlogLayer::new(Format::Text, filter, output);
    with_default(tracing_subscriber::registry().with(layer), || {
        tracing::info!("held back");
        tracing::error!("at once");
    });
    assert!(errors.text().contains("at once") && !errors.text().contains("held back"));
    assert_eq!(infos.text(), "");
    drop(guard);
    assert!(infos.text().contains("held back"));
}

#[test]
fn held_back_lines_are_written_in_time() {
    let infos = Memory::default();
    let output = Output::new(Box::new(Closed), Some(Box::new(infos.clone())), 1 << 16);
    let _guard = crate::Guard::new(verbosity(0), output.clone(), Duration::from_millis(5)).unwrap();
    output.write("line\n", false);
    let patience = std::time::Instant::now() + Duration::from_secs(10);
    while infos.text().is_empty() && std::time::Instant::now() < patience {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(infos.text(), "line\n");
}

#[test]
fn a_closed_output_does_no_harm() {
    let output = Output::new(Box::new(Closed), None, 0);
    let layer = KlogLayer::new(Format::Json, verbosity(0), output);
    with_default(tracing_subscriber::registry().with(layer), || {
        tracing::error!("nobody reads this");
    });
}

#[test]
fn each_line_is_one_write() {
    let memory = Memory::default();
    let output = Output::new(Box::new(memory.clone()), None, 0);
    let layer = KlogLayer::new(Format::Text, verbosity(0), output);
    with_default(tracing_subscriber::registry().with(layer), || {
        tracing::info!(a = 1, b = "two", "one");
        tracing::info!("two");
    });
    assert_eq!(memory.0.lock().unwrap().len(), 2);
}

#[test]
fn verbosity_can_change_while_running() {
    let memory = Memory::default();
    let output = Output::new(Box::new(memory.clone()), None, 0);
    let filter = verbosity(0);
    let guard = crate::Guard::new(filter.clone(), output.clone(), Duration::from_secs(5)).unwrap();
    let layer = KlogLayer::new(Format::Text, filter, output);
    with_default(tracing_subscriber::registry().with(layer), || {
        let step = |name: &str| tracing::debug!("{name}");
        step("before");
        guard.set_verbosity(2);
        step("between");
        guard.set_verbosity(0);
        step("after");
    });
    assert_eq!(guard.verbosity(), 0);
    assert!(memory.text().contains("\"between\""));
    assert_eq!(memory.text().lines().count(), 1);
}

#[test]
fn the_guard_can_be_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<crate::Guard>();
}
