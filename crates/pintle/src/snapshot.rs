//! `pintle snapshot save|restore`, and the endpoint that a running server answers it by.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use async_trait::async_trait;
use futures_util::TryStreamExt;
use http::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use http::{Method, StatusCode};
use pintle_flags::{CommandLine, DataDir};
use pintle_meta::Status;
use pintle_runtime::Stopwatch;
use pintle_server::filter::Handler;
use pintle_server::{Body, Request, Response, respond};
use pintle_storage_embedded::{OpenError, Store, snapshot};

use crate::storage::STORE_DIRECTORY;
use crate::{admin, client, print};

/// The path of the snapshot of a running server, which is for members of `system:masters` only
/// ([`pintle_server::handlers::Privileged`]).
pub(crate) const PATH: &str = "/pintle/snapshot";
/// About how many bytes will come, for a progress bar.
const ESTIMATE: HeaderName = HeaderName::from_static("pintle-estimated-bytes");

const USAGE: &str = "Save the embedded store to a file, or restore it from one.

Usage:
  pintle snapshot save FILE [--data-dir DIR] [--cert-dir DIR]
  pintle snapshot restore FILE [--data-dir DIR]

save asks the server that runs on the data directory, with the administrator's
credentials from the certificate directory; it opens the directory itself when
none runs. A server with a client CA of your own is asked with your own
credentials: GET /pintle/snapshot, as a member of system:masters. restore needs
a directory without a store. Watches and lists that began before a restore
start over.

Flags:
      --data-dir string   as given to the server (default ~/.local/share/pintle)
      --cert-dir string   as given to the server (default DATA-DIR/pki)
";

/// Streams a snapshot of the store as it is when the request comes. Writers go on meanwhile.
pub(crate) struct Endpoint {
    store: Arc<Store>,
}

impl Endpoint {
    pub(crate) fn new(store: Arc<Store>) -> Endpoint {
        Endpoint { store }
    }
}

#[async_trait]
impl Handler for Endpoint {
    async fn handle(&self, request: Box<Request>) -> Response {
        if request.parts.method != Method::GET {
            return respond::status(&Status::method_not_allowed());
        }
        let snapshot = match self.store.snapshot() {
            Ok(snapshot) => snapshot,
            Err(error) => return respond::status(&Status::internal(error)),
        };
        let estimate = snapshot.estimated_bytes();
        let mut response = Response::new(Body::stream(snapshot.into_stream().map_err(Into::into)));
        *response.status_mut() = StatusCode::OK;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
        headers.insert(ESTIMATE, estimate.into());
        response
    }
}

/// The directories of a server.
struct Target {
    store: PathBuf,
    cert_dir: PathBuf,
}

pub(crate) fn command(args: &[OsString]) -> anyhow::Result<()> {
    // The server's own parser reads the flags, so that they mean the same; the other words are ours.
    let (flags, words): (Vec<_>, Vec<_>) = split(args);
    let words: Vec<&str> = words.iter().map(|word| word.to_str().unwrap_or_default()).collect();
    if words.is_empty() || flags.iter().any(|flag| *flag == "-h" || *flag == "--help") {
        print(USAGE);
        return Ok(());
    }
    let target = target(flags)?;
    match words[..] {
        ["save", file] => save(Path::new(file), &target),
        ["restore", file] => restore(Path::new(file), &target),
        ["save" | "restore"] => bail!("the file is missing; see pintle snapshot --help"),
        _ => bail!("pintle snapshot knows save FILE and restore FILE; see pintle snapshot --help"),
    }
}

/// Tells flags, with the values behind them, from the other words.
fn split(args: &[OsString]) -> (Vec<OsString>, Vec<OsString>) {
    let (mut flags, mut words) = (Vec::new(), Vec::new());
    let mut args = args.iter().cloned();
    while let Some(arg) = args.next() {
        let text = arg.to_string_lossy();
        if !text.starts_with('-') {
            words.push(arg);
            continue;
        }
        let takes_next = !text.contains('=') && !matches!(&*text, "-h" | "--help");
        flags.push(arg);
        flags.extend(takes_next.then(|| args.next()).flatten());
    }
    (flags, words)
}

fn target(flags: Vec<OsString>) -> anyhow::Result<Target> {
    for flag in &flags {
        let name = flag.to_string_lossy();
        let name = name.split('=').next().unwrap_or_default();
        if name.starts_with('-') && !matches!(name, "--data-dir" | "--cert-dir") {
            bail!("unknown flag: {name}; see pintle snapshot --help");
        }
    }
    let CommandLine::Run(flags) = pintle_flags::command_line("pintle", flags, 0)? else {
        bail!("unknown flags; see pintle snapshot --help");
    };
    let data_dir = match flags.data_dir(|name| std::env::var_os(name))? {
        DataDir::Path(path) => path,
        DataDir::Memory => bail!("--data-dir=:memory: is nothing that can be saved or restored"),
    };
    let cert_dir = if flags.changed("cert-dir") {
        PathBuf::from(flags.string("cert-dir"))
    } else {
        data_dir.join("pki")
    };
    Ok(Target { store: data_dir.join(STORE_DIRECTORY), cert_dir })
}

fn save(file: &Path, target: &Target) -> anyhow::Result<()> {
    if file.exists() {
        bail!("{} is there already; name a new file", file.display());
    }
    let directory = match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    // Private, under a name that cannot be prepared by others, and removed unless it is completed.
    let cannot_write = || format!("cannot write {}", file.display());
    let mut partial = tempfile::Builder::new()
        .prefix(".pintle-snapshot-")
        .tempfile_in(directory)
        .with_context(cannot_write)?;
    write(partial.as_file_mut(), target)?;
    partial.as_file().sync_all().with_context(cannot_write)?;
    // Reading it back is cheap beside finding out on the day that it is needed.
    let summary = snapshot::verify(BufReader::new(partial.reopen().with_context(cannot_write)?))?;
    partial.persist_noclobber(file).map_err(|error| {
        anyhow!("cannot write {}: {}; nothing was overwritten", file.display(), error.error)
    })?;
    let (path, bytes) = (file.display(), size(summary.bytes));
    print(&format!("Saved {} keys at revision {} to {path} ({bytes}).\n", summary.keys, summary.revision));
    Ok(())
}

/// Writes the snapshot: from the directory, or from the server that runs on it.
fn write(file: &mut File, target: &Target) -> anyhow::Result<()> {
    let mut output = BufWriter::new(file);
    let mut bar = Bar::new("saving");
    match snapshot::save_dir(&target.store, &mut output, |done, total| bar.show(done, total)) {
        Ok(_) => {}
        Err(OpenError::InUse { .. }) => {
            let kubeconfig = target.cert_dir.join(admin::FILE_NAME);
            let access = admin::read(&kubeconfig).context(
                "a server runs on the data directory, and it can only be asked with its own kubeconfig",
            )?;
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            let progress = |done, total| bar.show(done, total);
            runtime.block_on(client::download(&access, PATH, &ESTIMATE, &mut output, progress))?;
        }
        Err(error) => return Err(error.into()),
    }
    bar.clear();
    output.flush().context("cannot write the snapshot")
}

fn restore(file: &Path, target: &Target) -> anyhow::Result<()> {
    let open = || File::open(file).with_context(|| format!("cannot read {}", file.display()));
    let total = open()?.metadata().map_or(0, |metadata| metadata.len());
    let mut bar = Bar::new("restoring");
    let summary = snapshot::restore(BufReader::new(open()?), &target.store, |done| bar.show(done, total))?;
    bar.clear();
    print(&format!(
        "Restored {} keys of revision {} into {}.\n",
        summary.keys,
        summary.revision,
        target.store.display()
    ));
    Ok(())
}

fn size(bytes: u64) -> String {
    match bytes {
        0..10_000 => format!("{bytes} bytes"),
        10_000..10_000_000 => format!("{} kB", bytes / 1000),
        _ => format!("{} MB", bytes / 1_000_000),
    }
}

/// A progress line, shown on a terminal.
struct Bar {
    what: &'static str,
    last: Option<Stopwatch>,
    on_terminal: bool,
}

impl Bar {
    const WIDTH: u64 = 30;

    fn new(what: &'static str) -> Bar {
        Bar { what, last: None, on_terminal: io::stderr().is_terminal() }
    }

    fn show(&mut self, done: u64, total: u64) {
        let often = self.last.is_some_and(|shown| shown.elapsed() < Duration::from_millis(100));
        if !self.on_terminal || often {
            return;
        }
        self.last = Some(Stopwatch::start());
        let filled = (done * Self::WIDTH).checked_div(total).unwrap_or(0).min(Self::WIDTH) as usize;
        let empty = Self::WIDTH as usize - filled;
        let _ = write!(
            io::stderr(),
            "\r{} [{}{}] {}  ",
            self.what,
            "#".repeat(filled),
            " ".repeat(empty),
            size(done)
        );
    }

    fn clear(&mut self) {
        if self.last.take().is_some() {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_and_words_come_in_any_order() {
        let args = ["--data-dir", "/d", "save", "--cert-dir=/c", "f"].map(OsString::from);
        let (flags, words) = split(&args);
        assert_eq!(words, ["save", "f"]);
        let target = target(flags).unwrap();
        assert_eq!((target.store, target.cert_dir), ("/d/store".into(), "/c".into()));
    }

    #[test]
    fn other_flags_are_refused() {
        let error =
            target(vec!["--secure-port=1".into()]).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(error.contains("unknown flag: --secure-port"), "{error}");
    }

    #[test]
    fn nothing_is_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("f");
        std::fs::write(&file, "precious").unwrap();
        let target = Target { store: dir.path().join("none"), cert_dir: dir.path().into() };
        assert!(save(&file, &target).unwrap_err().to_string().contains("there already"));
        assert!(save(&dir.path().join("g"), &target).unwrap_err().to_string().contains("there is no store"));
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "no partial file stays");
    }
}
