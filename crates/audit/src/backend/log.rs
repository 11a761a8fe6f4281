//! The log: a line for each event.
//!
//! Files are written on threads for blocking work, by one of them at a time. Whoever comes while it writes leaves events
//! in a queue, which it writes next, together: many requests that wait for their events share a write.

use std::io::{self, Write};
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use tokio::sync::oneshot;

use super::Backend;
use super::rotation::RotatingFile;
use crate::event::{Event, LINE_START};
use crate::metrics::Metrics;

const PLUGIN: &str = "log";
/// Bytes that are put together for one write.
const CHUNK: usize = 256 << 10;

/// How events are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Json,
    /// One line of text.
    Legacy,
}

/// Where lines go.
pub enum Output {
    Stdout,
    /// A file that does not rotate.
    File(std::fs::File),
    Rotating(RotatingFile),
    /// For tests.
    Other(Box<dyn Write + Send>),
}

/// The log of events.
pub struct LogBackend(Arc<Shared>);

struct Shared {
    format: Format,
    metrics: Metrics,
    output: Mutex<Output>,
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    events: Vec<Arc<Event>>,
    /// Where the events of each caller end, and what tells it how they fared.
    callers: Vec<(usize, oneshot::Sender<bool>)>,
    is_written: bool,
}

impl LogBackend {
    pub fn new(output: Output, format: Format, metrics: Metrics) -> LogBackend {
        let (output, waiting) = (Mutex::new(output), Mutex::default());
        LogBackend(Arc::new(Shared { format, metrics, output, waiting }))
    }
}

#[async_trait]
impl Backend for LogBackend {
    async fn process(&self, events: &[Arc<Event>]) -> bool {
        let (written, result) = oneshot::channel();
        let begins = {
            let mut waiting = self.0.waiting();
            waiting.events.extend_from_slice(events);
            let end = waiting.events.len();
            waiting.callers.push((end, written));
            !mem::replace(&mut waiting.is_written, true)
        };
        if begins {
            let shared = self.0.clone();
            tokio::task::spawn_blocking(move || shared.write_all());
        }
        result.await.unwrap_or(false)
    }
}

impl Shared {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes until nothing waits.
    fn write_all(&self) {
        loop {
            let (events, callers) = {
                let mut waiting = self.waiting();
                if waiting.callers.is_empty() {
                    waiting.is_written = false;
                    return;
                }
                (mem::take(&mut waiting.events), mem::take(&mut waiting.callers))
            };
            let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
            let failed = self.write(&mut output, &events);
            drop(output);
            let mut start = 0;
            for (end, caller) in callers {
                let success = !failed.iter().any(|failed| (start..end).contains(failed));
                start = end;
                // A request may have ended meanwhile.
                let _ = caller.send(success);
            }
        }
    }

    /// Writes events, and returns the positions of those that could not be written.
    fn write(&self, output: &mut Output, events: &[Arc<Event>]) -> Vec<usize> {
        let mut failed = Vec::new();
        let mut chunk = Vec::new();
        let mut first = 0;
        for (index, event) in events.iter().enumerate() {
            let start = chunk.len();
            self.line(event, &mut chunk);
            let length = chunk.len() - start;
            // A file rotates between two lines.
            if let Output::Rotating(file) = &mut *output
                && !file.fits(start, length)
            {
                let line = chunk.split_off(start);
                self.flush(output, &mut chunk, events, first..index, &mut failed);
                first = index;
                if let Output::Rotating(file) = &mut *output
                    && let Err(error) = file.make_room(length)
                {
                    self.metrics.lost(PLUGIN, &error, &events[index..=index]);
                    failed.push(index);
                    first = index + 1;
                    continue;
                }
                chunk = line;
            }
            if chunk.len() >= CHUNK {
                self.flush(output, &mut chunk, events, first..index + 1, &mut failed);
                first = index + 1;
            }
        }
        self.flush(output, &mut chunk, events, first..events.len(), &mut failed);
        failed
    }

    fn flush(
        &self,
        output: &mut Output,
        chunk: &mut Vec<u8>,
        events: &[Arc<Event>],
        of: std::ops::Range<usize>,
        failed: &mut Vec<usize>,
    ) {
        if chunk.is_empty() {
            return;
        }
        if let Err(error) = output.write(chunk) {
            self.metrics.lost(PLUGIN, &error, &events[of.clone()]);
            failed.extend(of);
        }
        chunk.clear();
    }

    fn line(&self, event: &Event, out: &mut Vec<u8>) {
        match self.format {
            Format::Json => {
                out.extend_from_slice(LINE_START);
                out.extend_from_slice(event.json());
            }
            Format::Legacy => out.extend_from_slice(event.to_string().as_bytes()),
        }
        out.push(b'\n');
    }
}

impl Output {
    fn write(&mut self, lines: &[u8]) -> io::Result<()> {
        match self {
            Output::Stdout => {
                let mut stdout = io::stdout().lock();
                stdout.write_all(lines)?;
                stdout.flush()
            }
            Output::File(file) => file.write_all(lines),
            Output::Rotating(file) => file.write(lines),
            Output::Other(other) => other.write_all(lines),
        }
    }
}
