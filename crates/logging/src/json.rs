//! JSON lines as component-base writes them:
//! `{"ts":1580306777044.728,"caller":"server/listener.rs:42","msg":"message","v":0,"key":"value"}`.

use std::fmt::Write;
use std::time::{SystemTime, UNIX_EPOCH};

use tracing::Level;

use crate::layer::{Fields, Head};
use crate::quote::push_json;

pub(crate) fn line(head: &Head<'_>, fields: &Fields, around: &str) -> String {
    let mut out = String::with_capacity(128 + fields.message.len() + fields.rest.len() + around.len());
    // Writing to a String cannot fail.
    let _ = write!(out, "{{\"ts\":{},\"caller\":", milliseconds(head.time));
    push_json(&mut out, &format!("{}:{}", short_path(head.file), head.line));
    out.push_str(",\"msg\":");
    push_json(&mut out, &fields.message);
    match head.level {
        // An error has no verbosity; its absence is how readers tell errors from the rest.
        Level::ERROR => {}
        Level::DEBUG => out.push_str(",\"v\":2"),
        Level::TRACE => out.push_str(",\"v\":4"),
        _ => out.push_str(",\"v\":0"),
    }
    if let Some(error) = &fields.error {
        push_string(&mut out, "err", error);
    }
    out.push_str(around);
    out.push_str(&fields.rest);
    out.push_str("}\n");
    out
}

pub(crate) fn push_string(out: &mut String, name: &str, value: &str) {
    push_name(out, name);
    push_json(out, value);
}

pub(crate) fn push_bare(out: &mut String, name: &str, value: &str) {
    push_name(out, name);
    out.push_str(value);
}

fn push_name(out: &mut String, name: &str) {
    out.push(',');
    push_json(out, name);
    out.push(':');
}

/// Milliseconds since 1970 with fractions.
fn milliseconds(time: SystemTime) -> f64 {
    time.duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_nanos() as f64 / 1e6)
}

/// The file and the directory it is in. `src` says nothing in Rust, so the one above it stands for it.
fn short_path(file: &str) -> String {
    let mut parts = file.rsplit('/').filter(|part| *part != "src");
    match (parts.next(), parts.next()) {
        (Some(name), Some(directory)) => format!("{directory}/{name}"),
        _ => file.to_owned(),
    }
}
