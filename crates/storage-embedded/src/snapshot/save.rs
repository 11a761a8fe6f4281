//! Saves a store, running or not.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};
use futures_core::Stream;
use futures_util::{StreamExt, stream};
use pintle_storage::{Error, Result, Revision};
use redb::ReadableTable;
use tokio::sync::mpsc;

use super::Summary;
use super::format::{END, FORMAT, KEY, LEASE, MAGIC};
use crate::dir;
use crate::engine::senseless;
use crate::error::{OpenError, storage_error};
use crate::guard::guarded;
use crate::tables::LEASES;
use crate::view::View;

/// Bytes per piece, and how many pieces wait for a slow reader.
const CHUNK: usize = 64 << 10;
const CHUNKS_AHEAD: usize = 4;

/// One state of a store, kept until this is dropped.
pub struct Snapshot {
    view: Arc<View>,
}

impl Snapshot {
    pub(crate) fn new(view: Arc<View>) -> Self {
        Snapshot { view }
    }

    /// The revision that is saved.
    pub fn revision(&self) -> Revision {
        Revision(self.view.state.revision)
    }

    /// About how long the snapshot will be, at most: history that is not compacted yet counts, but is not saved.
    pub fn estimated_bytes(&self) -> u64 {
        self.view.state.bytes + 64
    }

    /// The snapshot in pieces, for an HTTP answer. Memory is bounded by a few pieces; dropping the stream ends the
    /// work. It is complete only if the stream ends without an error; the trailer lets a reader verify that.
    pub fn into_stream(self) -> impl Stream<Item = Result<Bytes>> + Send + 'static {
        let (sender, receiver) = mpsc::channel(CHUNKS_AHEAD);
        let work = move || {
            let result = encode(&self.view, |chunk| {
                // The reader is gone, so the error is not delivered.
                sender.blocking_send(Ok(chunk)).map_err(|_| Error::Closed)
            });
            if let Err(error) = result {
                let _ = sender.blocking_send(Err(error));
            }
        };
        let start = stream::once(async move {
            tokio::task::spawn_blocking(work);
            receiver
        });
        start.flat_map(|receiver| {
            stream::unfold(receiver, |mut receiver| async move {
                receiver.recv().await.map(|item| (item, receiver))
            })
        })
    }

    /// Writes the snapshot; `progress` hears how many bytes there are so far. Blocks. The caller syncs its file.
    pub fn write_to(&self, output: &mut impl Write, mut progress: impl FnMut(u64)) -> io::Result<Summary> {
        let mut written = 0;
        let mut failed = None;
        let result = encode(&self.view, |chunk| {
            if let Err(error) = output.write_all(&chunk) {
                failed = Some(error);
                return Err(Error::Closed);
            }
            written += chunk.len() as u64;
            progress(written);
            Ok(())
        });
        match (result, failed) {
            (_, Some(error)) => Err(error),
            (Err(error), None) => Err(io::Error::other(error)),
            (Ok(summary), None) => output.flush().map(|()| summary),
        }
    }
}

/// Saves the store in a directory that no process uses.
pub fn save_dir(
    dir: &Path,
    output: &mut impl Write,
    progress: impl FnMut(u64, u64),
) -> Result<Summary, OpenError> {
    if !dir.join(dir::STORE).exists() {
        return Err(OpenError::Missing { dir: dir.to_owned() });
    }
    let _lock = dir::lock(dir)?;
    let (engine, _) = dir::open(dir, false, 4 << 20)?;
    let view = match View::open(engine.db()) {
        Ok(view) => view,
        Err(error) => {
            engine.abandon();
            return Err(OpenError::engine(dir, error));
        }
    };
    let snapshot = Snapshot::new(Arc::new(view));
    let total = snapshot.estimated_bytes();
    let mut progress = progress;
    let saved = snapshot.write_to(output, |written| progress(written, total.max(written)));
    drop(snapshot);
    match saved {
        Ok(_) => engine.close(),
        Err(_) => engine.abandon(),
    }
    saved.map_err(|error| match error.get_ref().and_then(|error| error.downcast_ref()) {
        Some(Error::Corrupt(detail)) => {
            OpenError::Damaged { path: dir.join(dir::STORE), detail: detail.clone() }
        }
        _ => OpenError::io(Path::new("the snapshot"), error),
    })
}

/// Hands the snapshot of a view to `emit`, piece by piece.
fn encode(view: &View, emit: impl FnMut(Bytes) -> Result<()>) -> Result<Summary> {
    guarded(|| encode_trusting(view, emit)).unwrap_or_else(|panic| Err(storage_error(senseless(&panic))))
}

fn encode_trusting(view: &View, emit: impl FnMut(Bytes) -> Result<()>) -> Result<Summary> {
    let mut encoder = Encoder {
        buffer: BytesMut::with_capacity(CHUNK),
        checksum: crc32fast::Hasher::new(),
        emit,
        summary: Summary {
            revision: view.state.revision,
            compacted: view.state.compacted,
            ..Summary::default()
        },
    };
    encoder.buffer.put_slice(MAGIC);
    encoder.buffer.put_u32(FORMAT);
    encoder.buffer.put_u64(view.state.revision);
    encoder.buffer.put_u64(view.state.compacted);
    let leases = view.txn.open_table(LEASES).map_err(storage_error)?;
    for entry in leases.iter().map_err(storage_error)? {
        let (id, expires) = entry.map_err(storage_error)?;
        encoder.buffer.put_u8(LEASE);
        encoder.buffer.put_i64(id.value());
        encoder.buffer.put_u64(expires.value());
        encoder.summary.leases += 1;
        encoder.pause()?;
    }
    view.scan(b"", b"", view.state.revision, |key, revision, version| {
        let kv = view.value(revision, version.op)?;
        encoder.buffer.put_u8(KEY);
        encoder.buffer.put_u64(version.create_revision);
        encoder.buffer.put_u64(revision);
        encoder.buffer.put_u32(version.op);
        encoder.buffer.put_i64(version.lease);
        encoder.buffer.put_u32(key.len() as u32);
        encoder.buffer.put_u32(kv.value.len() as u32);
        encoder.buffer.put_slice(key);
        encoder.buffer.put_slice(&kv.value);
        encoder.summary.keys += 1;
        encoder.pause()
    })?;
    encoder.finish()
}

struct Encoder<F> {
    buffer: BytesMut,
    checksum: crc32fast::Hasher,
    emit: F,
    summary: Summary,
}

impl<F: FnMut(Bytes) -> Result<()>> Encoder<F> {
    /// Between records: passes the buffer on when it is full enough.
    fn pause(&mut self) -> Result<()> {
        if self.buffer.len() < CHUNK { Ok(()) } else { self.flush() }
    }

    fn flush(&mut self) -> Result<()> {
        let chunk = self.buffer.split().freeze();
        self.checksum.update(&chunk);
        self.summary.bytes += chunk.len() as u64;
        (self.emit)(chunk)
    }

    fn finish(mut self) -> Result<Summary> {
        self.buffer.put_u8(END);
        self.buffer.put_u64(self.summary.leases);
        self.buffer.put_u64(self.summary.keys);
        self.checksum.update(&self.buffer);
        let checksum = std::mem::take(&mut self.checksum).finalize();
        self.buffer.put_u32(checksum);
        self.flush()?;
        Ok(self.summary)
    }
}
