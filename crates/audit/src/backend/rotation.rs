//! A log file that is put aside when it is full.
//!
//! ```text
//! audit.log                              the file that is written
//! audit-2026-01-02T15-04-05.000.log      put aside then (UTC)
//! audit-2026-01-01T00-00-00.000.log.gz   compressed
//! ```
//!
//! Names and behaviour are those of the library that the reference uses (lumberjack), so that tools for its logs find these. A new
//! file has owner and mode of the old one. Old files are removed and compressed on a thread of their own, by age and number.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use flate2::Compression;
use flate2::write::GzEncoder;
use pintle_meta::time::MicroTime;
use pintle_runtime::Clock;

const COMPRESSED: &str = ".gz";
const PRIVATE: u32 = 0o600;
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// When a file rotates, and what happens to old ones. Zero is no limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RotationConfig {
    pub path: PathBuf,
    /// Bytes of a file.
    pub max_size: u64,
    pub max_age_days: u64,
    pub max_backups: usize,
    pub compress: bool,
}

/// A file that rotates.
pub struct RotatingFile {
    config: RotationConfig,
    clock: Clock,
    open: Option<(File, u64)>,
    cleaner: Arc<Cleaner>,
}

/// Creates a log file that only its owner can read, with its directory; one that is there stays as it is.
pub fn create_private(path: &Path) -> io::Result<()> {
    if let Some(directory) = path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    }
    OpenOptions::new().create(true).append(true).read(true).mode(PRIVATE).open(path)?;
    Ok(())
}

impl RotatingFile {
    /// Errors: the file cannot be created.
    pub fn new(config: RotationConfig, clock: Clock) -> io::Result<RotatingFile> {
        create_private(&config.path)?;
        let cleaner = Arc::new(Cleaner {
            config: config.clone(),
            wanted: AtomicBool::new(false),
            runs: AtomicBool::new(false),
        });
        Ok(RotatingFile { config, clock, open: None, cleaner })
    }

    /// Returns whether a line can be written after `pending` bytes that are not written yet.
    pub(super) fn fits(&self, pending: usize, length: usize) -> bool {
        let size = self.open.as_ref().map(|(_, size)| *size);
        size.is_some_and(|size| size + pending as u64 + length as u64 <= self.config.max_size)
    }

    /// Opens a file that has room for a line.
    ///
    /// Errors: a line that is longer than a file may be; the file system's.
    pub(super) fn make_room(&mut self, length: usize) -> io::Result<()> {
        let (length, most) = (length as u64, self.config.max_size);
        if length > most {
            return Err(io::Error::other(format!("write length {length} exceeds maximum file size {most}")));
        }
        match &self.open {
            None => self.open(length),
            Some((_, size)) if size + length > most => self.rotate(),
            Some(_) => Ok(()),
        }
    }

    pub(super) fn write(&mut self, lines: &[u8]) -> io::Result<()> {
        let (file, size) = self.open.as_mut().ok_or_else(|| io::Error::other("the log is not open"))?;
        file.write_all(lines)?;
        *size += lines.len() as u64;
        Ok(())
    }

    fn open(&mut self, length: u64) -> io::Result<()> {
        self.clean();
        let size = match fs::metadata(&self.config.path) {
            Ok(known) => known.len(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return self.open_new(),
            Err(error) => return Err(named("error getting log file info", &error)),
        };
        if size + length >= self.config.max_size {
            return self.rotate();
        }
        match OpenOptions::new().append(true).open(&self.config.path) {
            Ok(file) => {
                self.open = Some((file, size));
                Ok(())
            }
            Err(_) => self.open_new(),
        }
    }

    fn rotate(&mut self) -> io::Result<()> {
        self.open = None;
        self.open_new()?;
        self.clean();
        Ok(())
    }

    /// Opens an empty file, and puts aside the one that is there.
    fn open_new(&mut self) -> io::Result<()> {
        let path = &self.config.path;
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory)
                .map_err(|error| named("can't make directories for new logfile", &error))?;
        }
        let mut mode = PRIVATE;
        let before = fs::metadata(path).ok();
        if let Some(before) = &before {
            mode = before.mode() & 0o7777;
            fs::rename(path, self.backup_path()).map_err(|error| named("can't rename log file", &error))?;
        }
        let file = OpenOptions::new().create(true).write(true).truncate(true).mode(mode).open(path);
        let file = file.map_err(|error| named("can't open new logfile", &error))?;
        if let Some(before) = before {
            std::os::unix::fs::fchown(&file, Some(before.uid()), Some(before.gid()))?;
        }
        self.open = Some((file, 0));
        Ok(())
    }

    /// Returns the name under which the file is put aside now, which no other file has.
    fn backup_path(&self) -> PathBuf {
        let mut time = self.clock.now();
        loop {
            let path = self.config.backup_path(time);
            let compressed = with_suffix(&path, COMPRESSED);
            if !path.exists() && !compressed.exists() {
                return path;
            }
            time += Duration::from_millis(1);
        }
    }

    /// Removes and compresses old files, on another thread.
    fn clean(&self) {
        self.cleaner.start(self.clock.now());
    }
}

fn named(what: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{what}: {error}"))
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

impl RotationConfig {
    fn directory(&self) -> &Path {
        self.path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
    }

    /// Returns the parts of the name before and after the time of a file that was put aside.
    fn name_parts(&self) -> (String, String) {
        let name = self.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        // As Go's `filepath.Ext`: a name that begins with its only dot is all extension.
        let (stem, extension) = match name.rfind('.') {
            Some(dot) => name.split_at(dot),
            None => (name.as_str(), ""),
        };
        (format!("{stem}-"), extension.to_owned())
    }

    fn backup_path(&self, time: SystemTime) -> PathBuf {
        let (start, end) = self.name_parts();
        self.directory().join(format!("{start}{}{end}", stamp(time)))
    }

    /// Returns the time of a file that was put aside, by its name.
    fn time_of(&self, name: &str) -> Option<MicroTime> {
        let (start, end) = self.name_parts();
        let name = name.strip_prefix(&start)?;
        let stamp = name.strip_suffix(&format!("{end}{COMPRESSED}")).or_else(|| name.strip_suffix(&end))?;
        parse_stamp(stamp)
    }

    /// Returns the files that were put aside, from the newest to the oldest.
    fn old_files(&self) -> io::Result<Vec<(MicroTime, String)>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(self.directory())? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if let Some(time) = self.time_of(&name)
                && !entry.file_type()?.is_dir()
            {
                found.push((time, name));
            }
        }
        found.sort_by_key(|(time, _)| std::cmp::Reverse((time.unix_seconds(), time.subsecond_nanos())));
        Ok(found)
    }

    /// Removes old files and compresses the others.
    fn clean(&self, now: SystemTime) -> io::Result<()> {
        if self.max_backups == 0 && self.max_age_days == 0 && !self.compress {
            return Ok(());
        }
        let mut files = self.old_files()?;
        let mut removed = Vec::new();
        if self.max_backups > 0 {
            // A file counts once, also while it is there compressed and not.
            let mut kept: Vec<String> = Vec::new();
            files.retain(|(_, name)| {
                let plain = name.strip_suffix(COMPRESSED).unwrap_or(name);
                if !kept.iter().any(|kept| kept == plain) {
                    kept.push(plain.to_owned());
                }
                let stays = kept.len() <= self.max_backups;
                if !stays {
                    removed.push(name.clone());
                }
                stays
            });
        }
        if self.max_age_days > 0 {
            let age = DAY.saturating_mul(u32::try_from(self.max_age_days).unwrap_or(u32::MAX));
            let cutoff = now.checked_sub(age).map_or(0, unix_millis);
            files.retain(|(time, name)| {
                let stays = millis(time) >= cutoff;
                if !stays {
                    removed.push(name.clone());
                }
                stays
            });
        }
        let mut result = Ok(());
        for name in removed {
            result = result.and(fs::remove_file(self.directory().join(name)));
        }
        if self.compress {
            for (_, name) in files.iter().filter(|(_, name)| !name.ends_with(COMPRESSED)) {
                result = result.and(compress(&self.directory().join(name)));
            }
        }
        result
    }
}

/// Compresses a file and removes it. A file that cannot be compressed stays.
fn compress(path: &Path) -> io::Result<()> {
    let compressed = with_suffix(path, COMPRESSED);
    let write = || {
        let mut from = File::open(path)?;
        let known = from.metadata()?;
        let mode = known.mode() & 0o7777;
        let to = OpenOptions::new().create(true).write(true).truncate(true).mode(mode).open(&compressed)?;
        std::os::unix::fs::fchown(&to, Some(known.uid()), Some(known.gid()))?;
        let mut encoder = GzEncoder::new(to, Compression::default());
        io::copy(&mut from, &mut encoder)?;
        encoder.finish()?.sync_all()?;
        fs::remove_file(path)
    };
    write().inspect_err(|_| {
        let _ = fs::remove_file(&compressed);
    })
}

/// Cleans up on a thread of its own, never on two at once.
struct Cleaner {
    config: RotationConfig,
    wanted: AtomicBool,
    runs: AtomicBool,
}

impl Cleaner {
    fn start(self: &Arc<Cleaner>, now: SystemTime) {
        self.wanted.store(true, Ordering::Release);
        if self.runs.swap(true, Ordering::AcqRel) {
            return;
        }
        let cleaner = self.clone();
        let thread = std::thread::Builder::new().name("audit-cleaner".into());
        let started = thread.spawn(move || cleaner.run(now));
        if let Err(error) = started {
            self.runs.store(false, Ordering::Release);
            tracing::warn!(%error, "old audit logs are cleaned up later");
        }
    }

    fn run(&self, now: SystemTime) {
        loop {
            while self.wanted.swap(false, Ordering::AcqRel) {
                if let Err(error) = self.config.clean(now) {
                    tracing::warn!(%error, "old audit logs could not be cleaned up");
                }
            }
            self.runs.store(false, Ordering::Release);
            // One that was wanted in between found this one running.
            if !self.wanted.load(Ordering::Acquire) || self.runs.swap(true, Ordering::AcqRel) {
                return;
            }
        }
    }
}

fn unix_millis(time: SystemTime) -> i64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

fn millis(time: &MicroTime) -> i64 {
    time.unix_seconds().saturating_mul(1000).saturating_add(i64::from(time.subsecond_nanos() / 1_000_000))
}

/// Returns a time as in names of files: `2006-01-02T15-04-05.000`.
fn stamp(time: SystemTime) -> String {
    let text = MicroTime::from(time).to_ascii().unwrap_or(*b"1970-01-01T00:00:00.000000Z");
    let text: String = text.iter().map(|byte| if *byte == b':' { '-' } else { char::from(*byte) }).collect();
    text[..23].to_owned()
}

fn parse_stamp(stamp: &str) -> Option<MicroTime> {
    (stamp.len() == 23 && stamp.is_ascii()).then_some(())?;
    let (day, time) = stamp.split_once('T')?;
    MicroTime::parse(&format!("{day}T{}000Z", time.replace('-', ":"))).ok()
}
