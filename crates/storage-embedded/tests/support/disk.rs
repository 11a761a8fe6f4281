//! A disk in memory that behaves as badly as real ones may.
//!
//! Writes that are not synced are kept apart. At a power failure each such write happened or not, or happened in
//! part (by sectors, because those are whole or not on real disks), independently of the order they were made in.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use pintle_storage_embedded::disk::Disk;
use rand::Rng;
use redb::StorageBackend;

const SECTOR: usize = 512;

#[derive(Clone, Debug, Default)]
pub struct TestDisk {
    state: Arc<Mutex<State>>,
    pub syncs: Arc<AtomicU64>,
}

#[derive(Debug, Default)]
struct State {
    /// As the running system sees it.
    now: Vec<u8>,
    /// As of the last sync.
    synced: Vec<u8>,
    unsynced: Vec<Change>,
    /// Operations left until the power goes.
    fuse: Option<u64>,
    /// Capacity in bytes, and whether the free space is reported.
    capacity: Option<u64>,
    tells_free: bool,
    fail_sync: bool,
    fail_writes: bool,
}

#[derive(Debug)]
enum Change {
    Write(u64, Vec<u8>),
    SetLen(u64),
}

impl TestDisk {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// The power goes after so many more operations: from then on everything fails.
    pub fn cut_power_after(&self, operations: u64) {
        self.state().fuse = Some(operations);
    }

    /// Returns the disk as a new system finds it after a power failure.
    pub fn after_power_loss(&self, rng: &mut impl Rng) -> TestDisk {
        let state = self.state();
        let mut image = state.synced.clone();
        for change in &state.unsynced {
            match change {
                Change::SetLen(len) if rng.random_bool(0.8) => image.resize(*len as usize, 0),
                Change::SetLen(_) => {}
                Change::Write(offset, data) => match rng.random_range(0..4) {
                    0 => {}
                    1 => {
                        for (i, sector) in data.chunks(SECTOR).enumerate() {
                            if rng.random_bool(0.5) {
                                write(&mut image, offset + (i * SECTOR) as u64, sector);
                            }
                        }
                    }
                    _ => write(&mut image, *offset, data),
                },
            }
        }
        TestDisk::from_image(image)
    }

    /// The same bytes for a new system, as after a crash of the program alone.
    pub fn as_it_is(&self) -> TestDisk {
        TestDisk::from_image(self.state().now.clone())
    }

    fn from_image(image: Vec<u8>) -> TestDisk {
        let disk = TestDisk::default();
        *disk.state() = State { now: image.clone(), synced: image, ..State::default() };
        disk
    }

    /// Limits the disk to so many bytes, from now on. `tells` is whether it reports its free space.
    pub fn limit(&self, capacity: Option<u64>, tells: bool) {
        let mut state = self.state();
        state.capacity = capacity;
        state.tells_free = tells;
    }

    pub fn len(&self) -> u64 {
        self.state().now.len() as u64
    }

    pub fn fail_syncs(&self, fail: bool) {
        self.state().fail_sync = fail;
    }

    pub fn fail_writes(&self, fail: bool) {
        self.state().fail_writes = fail;
    }
}

impl State {
    /// Whether the power is still there for one more operation.
    fn burn(&mut self) -> io::Result<()> {
        match &mut self.fuse {
            Some(0) => Err(io::Error::other("the power is off")),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }
}

fn write(image: &mut Vec<u8>, offset: u64, data: &[u8]) {
    let (start, end) = (offset as usize, offset as usize + data.len());
    if image.len() < end {
        image.resize(end, 0);
    }
    image[start..end].copy_from_slice(data);
}

impl Disk for TestDisk {
    fn open(&self) -> io::Result<Box<dyn StorageBackend>> {
        Ok(Box::new(self.clone()))
    }

    fn free(&self) -> Option<u64> {
        let state = self.state();
        let capacity = state.capacity.filter(|_| state.tells_free)?;
        Some(capacity.saturating_sub(state.now.len() as u64))
    }

    fn size(&self) -> u64 {
        self.len()
    }
}

impl StorageBackend for TestDisk {
    fn len(&self) -> io::Result<u64> {
        Ok(self.state().now.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let state = self.state();
        let (start, end) = (offset as usize, offset as usize + out.len());
        let data = state.now.get(start..end).ok_or(io::ErrorKind::UnexpectedEof)?;
        out.copy_from_slice(data);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut state = self.state();
        state.burn()?;
        if state.capacity.is_some_and(|capacity| len > capacity && len > state.now.len() as u64) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        state.now.resize(len as usize, 0);
        state.unsynced.push(Change::SetLen(len));
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut state = self.state();
        state.burn()?;
        if state.fail_sync {
            return Err(io::Error::other("input/output error"));
        }
        self.syncs.fetch_add(1, Ordering::SeqCst);
        let mut synced = std::mem::take(&mut state.synced);
        for change in std::mem::take(&mut state.unsynced) {
            match change {
                Change::SetLen(len) => synced.resize(len as usize, 0),
                Change::Write(offset, data) => write(&mut synced, offset, &data),
            }
        }
        state.synced = synced;
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut state = self.state();
        state.burn()?;
        if state.fail_writes {
            return Err(io::Error::other("input/output error"));
        }
        write(&mut state.now, offset, data);
        state.unsynced.push(Change::Write(offset, data.to_vec()));
        Ok(())
    }
}
