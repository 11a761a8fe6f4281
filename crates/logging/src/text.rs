//! klog's text lines: `I1115 21:04:05.123456   12345 file.rs:42] "message" key="value"`.

use std::fmt::Write;
use std::time::SystemTime;

use jiff::Timestamp;
use jiff::tz::Offset;
use pintle_meta::push_quoted;
use tracing::Level;

use crate::layer::{Fields, Head};

pub(crate) fn line(head: &Head<'_>, fields: &Fields, around: &str) -> String {
    let mut out = String::with_capacity(96 + fields.message.len() + fields.rest.len() + around.len());
    let severity = match head.level {
        Level::ERROR => 'E',
        Level::WARN => 'W',
        _ => 'I',
    };
    out.push(severity);
    push_time(&mut out, head.time);
    let file = head.file.rsplit('/').next().unwrap_or(head.file);
    // Writing to a String cannot fail.
    let _ = write!(out, " {:7} {file}:{}] ", head.pid, head.line);
    push_quoted(&mut out, &fields.message);
    if let Some(error) = &fields.error {
        push_string(&mut out, "err", error);
    }
    out.push_str(around);
    out.push_str(&fields.rest);
    out.push('\n');
    out
}

pub(crate) fn push_string(out: &mut String, name: &str, value: &str) {
    let _ = write!(out, " {name}=");
    push_quoted(out, value);
}

pub(crate) fn push_bare(out: &mut String, name: &str, value: &str) {
    let _ = write!(out, " {name}={value}");
}

/// `1115 21:04:05.123456`, UTC.
fn push_time(out: &mut String, time: SystemTime) {
    let time = Offset::UTC.to_datetime(Timestamp::try_from(time).unwrap_or(Timestamp::UNIX_EPOCH));
    let _ = write!(
        out,
        "{:02}{:02} {:02}:{:02}:{:02}.{:06}",
        time.month(),
        time.day(),
        time.hour(),
        time.minute(),
        time.second(),
        time.subsec_nanosecond() / 1000
    );
}
