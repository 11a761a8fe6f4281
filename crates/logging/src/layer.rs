//! The tracing layer: one event, one line. Fields of the spans around an event come before its own, outermost first.

use std::time::SystemTime;

use pintle_runtime::Clock;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Event, Level, Metadata, Subscriber, level_filters::LevelFilter};
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::registry::LookupSpan;

use crate::filter::Filter;
use crate::output::Output;
use crate::{Format, json, text};

/// Writes events as lines.
pub struct KlogLayer {
    format: Format,
    filter: Filter,
    output: Output,
    pid: u32,
    clock: fn() -> SystemTime,
}

/// The parts of an event that both formats print before its fields.
pub(crate) struct Head<'a> {
    pub(crate) time: SystemTime,
    pub(crate) level: Level,
    pub(crate) pid: u32,
    pub(crate) file: &'a str,
    pub(crate) line: u32,
}

/// The fields of one event or span, rendered as they are recorded.
pub(crate) struct Fields {
    format: Format,
    /// Fields of a span, among which its error goes.
    span: bool,
    pub(crate) message: String,
    pub(crate) error: Option<String>,
    /// The others, ready to append to a line.
    pub(crate) rest: String,
}

impl KlogLayer {
    pub(crate) fn new(format: Format, filter: Filter, output: Output) -> KlogLayer {
        KlogLayer { format, filter, output, pid: std::process::id(), clock: || Clock::system().now() }
    }

    #[cfg(test)]
    pub(crate) fn with_clock(mut self, pid: u32, clock: fn() -> SystemTime) -> KlogLayer {
        self.pid = pid;
        self.clock = clock;
        self
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for KlogLayer {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        if self.filter.enabled(metadata) { Interest::always() } else { Interest::never() }
    }

    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        self.filter.enabled(metadata)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(self.filter.max_level())
    }

    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        if let Some(span) = context.span(id) {
            let mut fields = Fields { span: true, ..Fields::new(self.format) };
            attributes.record(&mut fields);
            span.extensions_mut().insert(fields);
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        if let Some(span) = context.span(id)
            && let Some(fields) = span.extensions_mut().get_mut::<Fields>()
        {
            values.record(fields);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut fields = Fields::new(self.format);
        event.record(&mut fields);
        let mut around = String::new();
        for span in context.event_scope(event).into_iter().flat_map(|scope| scope.from_root()) {
            if let Some(span) = span.extensions().get::<Fields>() {
                around.push_str(&span.rest);
            }
        }
        let metadata = event.metadata();
        let head = Head {
            time: (self.clock)(),
            level: *metadata.level(),
            pid: self.pid,
            file: metadata.file().unwrap_or("???"),
            line: metadata.line().unwrap_or(1),
        };
        let line = match self.format {
            Format::Text => text::line(&head, &fields, &around),
            Format::Json => json::line(&head, &fields, &around),
        };
        self.output.write(&line, *metadata.level() == Level::ERROR);
    }
}

impl Fields {
    fn new(format: Format) -> Fields {
        Fields { format, span: false, message: String::new(), error: None, rest: String::new() }
    }

    fn push_text(&mut self, field: &Field, value: &str) {
        match (name(field), self.format) {
            ("message", _) => value.clone_into(&mut self.message),
            ("err" | "error", _) if !self.span && self.error.is_none() => self.error = Some(value.to_owned()),
            (name, Format::Text) => text::push_string(&mut self.rest, name, value),
            (name, Format::Json) => json::push_string(&mut self.rest, name, value),
        }
    }

    /// A number or boolean, which both formats print bare.
    fn push_bare(&mut self, field: &Field, value: &str) {
        match self.format {
            Format::Text => text::push_bare(&mut self.rest, name(field), value),
            Format::Json => json::push_bare(&mut self.rest, name(field), value),
        }
    }
}

/// A field's name as its author meant it: `r#type` is a keyword's way of spelling `type`.
fn name(field: &Field) -> &'static str {
    field.name().trim_start_matches("r#")
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.push_text(field, &format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.push_text(field, value);
    }

    fn record_error(&mut self, field: &Field, value: &(dyn std::error::Error + 'static)) {
        self.push_text(field, &value.to_string());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.push_bare(field, if value { "true" } else { "false" });
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.push_bare(field, &value.to_string());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.push_bare(field, &value.to_string());
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        if value.is_finite() {
            self.push_bare(field, &value.to_string());
        } else {
            // JSON has no word for these.
            self.push_text(field, &value.to_string());
        }
    }
}

#[cfg(test)]
#[path = "layer_tests.rs"]
mod tests;
