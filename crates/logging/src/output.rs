//! Where lines go. One line is one write, so that lines of several threads never mix; errors of the stream are dropped,
//! because a log that fails must not take the server with it.

use std::io::Write;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::filter::Filter;
use crate::{Config, Error};

/// The most that `--log-*-info-buffer-size` can ask for; the reference's limit is far above, its use is not.
const LARGEST_BUFFER: usize = 64 << 20;

pub(crate) type Stream = Box<dyn Write + Send>;

#[derive(Clone)]
pub(crate) struct Output {
    errors: Arc<Mutex<Sink>>,
    /// The same sink unless streams are split.
    infos: Arc<Mutex<Sink>>,
}

struct Sink {
    stream: Stream,
    held_back: Vec<u8>,
    /// Bytes to hold back; 0 writes at once.
    limit: usize,
}

impl Output {
    pub(crate) fn standard(config: &Config) -> Output {
        let infos: Option<Stream> = config.split_stream.then(|| Box::new(std::io::stdout()) as Stream);
        Output::new(Box::new(std::io::stderr()), infos, config.info_buffer_size)
    }

    /// Everything to `errors` unless there is a stream for the rest.
    pub(crate) fn new(errors: Stream, infos: Option<Stream>, info_buffer_size: usize) -> Output {
        let sink = |stream, limit| Arc::new(Mutex::new(Sink { stream, held_back: Vec::new(), limit }));
        let errors = sink(errors, 0);
        let infos = match infos {
            Some(stream) => sink(stream, info_buffer_size.min(LARGEST_BUFFER)),
            None => errors.clone(),
        };
        Output { errors, infos }
    }

    pub(crate) fn write(&self, line: &str, error: bool) {
        let sink = if error { &self.errors } else { &self.infos };
        // A panic elsewhere while writing leaves at worst half a line behind.
        sink.lock().unwrap_or_else(PoisonError::into_inner).write(line.as_bytes());
    }

    pub(crate) fn flush(&self) {
        self.infos.lock().unwrap_or_else(PoisonError::into_inner).flush();
    }

    fn holds_back(&self) -> bool {
        self.infos.lock().unwrap_or_else(PoisonError::into_inner).limit > 0
    }
}

impl Sink {
    fn write(&mut self, line: &[u8]) {
        if self.held_back.len() + line.len() > self.limit {
            self.flush();
        }
        if line.len() > self.limit {
            let _ = self.stream.write_all(line);
            let _ = self.stream.flush();
        } else {
            self.held_back.extend_from_slice(line);
        }
    }

    fn flush(&mut self) {
        if !self.held_back.is_empty() {
            let _ = self.stream.write_all(&self.held_back);
            let _ = self.stream.flush();
            self.held_back.clear();
        }
    }
}

/// Keeps logging in order until the end of the process, and steers it meanwhile.
pub struct Guard {
    filter: Filter,
    output: Output,
    flusher: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Guard {
    pub(crate) fn new(filter: Filter, output: Output, every: Duration) -> Result<Guard, Error> {
        let flusher = if output.holds_back() { Some(start_flusher(output.clone(), every)?) } else { None };
        Ok(Guard { filter, output, flusher })
    }

    /// The present verbosity.
    pub fn verbosity(&self) -> u32 {
        self.filter.verbosity()
    }

    /// Changes the verbosity of the running process; files that `--vmodule` names keep theirs.
    pub fn set_verbosity(&self, verbosity: u32) {
        self.filter.set_verbosity(verbosity);
    }

    /// Writes out what is held back.
    pub fn flush(&self) {
        self.output.flush();
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.flusher.take() {
            drop(stop);
            let _ = thread.join();
        }
        self.output.flush();
    }
}

fn start_flusher(output: Output, every: Duration) -> Result<(Sender<()>, JoinHandle<()>), Error> {
    let (stop, stopped) = channel::<()>();
    let run = move || {
        // Dropping the sender ends the thread at once instead of at its next turn.
        while stopped.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
            output.flush();
        }
    };
    let thread = std::thread::Builder::new().name("log-flush".into()).spawn(run).map_err(Error::Flusher)?;
    Ok((stop, thread))
}
