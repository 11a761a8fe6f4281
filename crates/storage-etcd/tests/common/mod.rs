//! Real etcds for tests: found by `scripts/etcd.sh`, started on free ports with their data in a temporary folder, and
//! gone with the value that stands for them, also when a test panics.

#![allow(dead_code, reason = "each test file uses a part")]
#![allow(clippy::print_stderr, reason = "a stand-in for a missing etcd is not kept silent")]

use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use pintle_storage_etcd::{Config, Progress, Store};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Which etcd.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    /// 3.5.13 or newer.
    New,
    /// One whose progress cannot be trusted.
    Old,
}

struct Binaries {
    new: Option<PathBuf>,
    old: Option<PathBuf>,
}

/// From the environment, else from the script.
fn binaries() -> &'static Binaries {
    static BINARIES: OnceLock<Binaries> = OnceLock::new();
    BINARIES.get_or_init(|| {
        let variable = |name| std::env::var_os(name).filter(|path| !path.is_empty()).map(PathBuf::from);
        let mut found = Binaries { new: variable("PINTLE_ETCD"), old: variable("PINTLE_ETCD_OLD") };
        if found.new.is_some() && found.old.is_some() {
            return found;
        }
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/etcd.sh");
        let output = Command::new(&script).output().expect("scripts/etcd.sh should run");
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            match line.split_once('=') {
                Some(("PINTLE_ETCD", path)) => found.new = Some(path.into()),
                Some(("PINTLE_ETCD_OLD", path)) => found.old = Some(path.into()),
                _ => {}
            }
        }
        found
    })
}

/// Where only one kind is to be had, it stands in for the other, with its progress trusted or not by configuration.
fn binary(version: Version) -> &'static Path {
    let Binaries { new, old } = binaries();
    let found = match version {
        Version::New => new.as_ref().or(old.as_ref()),
        Version::Old => old.as_ref().or(new.as_ref()),
    };
    found.expect("no etcd: run scripts/etcd.sh, or set PINTLE_ETCD and PINTLE_ETCD_OLD")
}

impl Version {
    /// Whether the other kind stands in for this one.
    pub(crate) fn is_stand_in(self) -> bool {
        match self {
            Version::New => binaries().new.is_none(),
            Version::Old => binaries().old.is_none(),
        }
    }
}

/// A free port below those that the kernel gives to outgoing connections, so that it is still free when etcd takes it,
/// and when etcd comes back after a restart. Test processes start at different places.
pub(crate) fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    loop {
        let start = (std::process::id() % 120) as u16 * 100;
        let port = 20_000 + (start + NEXT.fetch_add(1, Ordering::Relaxed)) % 12_000;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// A privileged port without a listener, which refuses connections.
pub(crate) const DEAD: &str = "http://127.0.0.1:1";

/// One etcd process.
pub(crate) struct Etcd {
    version: Version,
    child: Option<Child>,
    /// The folder goes when the last of a cluster goes.
    folder: TempDir,
    arguments: Vec<String>,
    pub(crate) port: u16,
    pub(crate) scheme: &'static str,
}

impl Etcd {
    pub(crate) fn start(version: Version) -> Etcd {
        Etcd::start_with(version, "http", &[])
    }

    pub(crate) fn start_with(version: Version, scheme: &'static str, more: &[String]) -> Etcd {
        // Another process may take a port between its being found and its being used.
        for _ in 0..5 {
            let (port, peer) = (free_port(), free_port());
            let mut arguments = vec![
                format!("--listen-peer-urls=http://127.0.0.1:{peer}"),
                format!("--initial-advertise-peer-urls=http://127.0.0.1:{peer}"),
                format!("--initial-cluster=default=http://127.0.0.1:{peer}"),
            ];
            arguments.extend_from_slice(more);
            let mut etcd = Etcd::prepare(version, scheme, port, arguments);
            if etcd.run() {
                return etcd;
            }
        }
        panic!("etcd does not start: {}", binary(version).display());
    }

    /// A member that is not running yet.
    pub(crate) fn prepare(
        version: Version,
        scheme: &'static str,
        port: u16,
        mut arguments: Vec<String>,
    ) -> Etcd {
        let url = format!("{scheme}://127.0.0.1:{port}");
        arguments.push(format!("--listen-client-urls={url}"));
        arguments.push(format!("--advertise-client-urls={url}"));
        let folder = tempfile::tempdir().expect("a temporary folder");
        Etcd { version, child: None, folder, arguments, port, scheme }
    }

    /// Starts the process (again) and waits until it listens.
    pub(crate) fn run(&mut self) -> bool {
        self.spawn();
        self.listens()
    }

    pub(crate) fn spawn(&mut self) {
        let log = std::fs::File::create(self.folder.path().join("log")).expect("a log file");
        let child = Command::new(binary(self.version))
            .args(&self.arguments)
            .arg("--data-dir")
            .arg(self.folder.path().join("data"))
            .args(["--logger=zap", "--log-level=error"])
            .env(
                "ETCD_UNSUPPORTED_ARCH",
                if cfg!(target_arch = "aarch64") { "arm64" } else { std::env::consts::ARCH },
            )
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .expect("etcd should start");
        self.child = Some(child);
    }

    pub(crate) fn listens(&mut self) -> bool {
        let deadline = Instant::now() + Duration::from_secs(20);
        while Instant::now() < deadline {
            if TcpStream::connect(("127.0.0.1", self.port)).is_ok() {
                return true;
            }
            if self.child.as_mut().is_none_or(|child| !matches!(child.try_wait(), Ok(None))) {
                return false;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        false
    }

    pub(crate) fn endpoint(&self) -> String {
        format!("{}://127.0.0.1:{}", self.scheme, self.port)
    }

    pub(crate) fn config(&self) -> Config {
        let progress = match self.version {
            version if !version.is_stand_in() => Progress::ByVersion,
            Version::New => Progress::Always,
            Version::Old => Progress::Never,
        };
        if progress != Progress::ByVersion {
            eprintln!(
                "no {:?} etcd was found: another stands in, its progress set to {progress:?}",
                self.version
            );
        }
        Config { endpoints: vec![self.endpoint()], progress, ..Config::default() }
    }

    pub(crate) async fn store(&self) -> Store {
        Store::connect(self.config()).await.expect("connect")
    }

    /// A metric of etcd, summed over its labels.
    pub(crate) async fn metric(&self, name: &str) -> f64 {
        let mut connection = tokio::net::TcpStream::connect(("127.0.0.1", self.port)).await.unwrap();
        connection.write_all(b"GET /metrics HTTP/1.0\r\nHost: localhost\r\n\r\n").await.unwrap();
        let mut text = String::new();
        connection.read_to_string(&mut text).await.unwrap();
        let lines = text.lines().filter(|line| line.starts_with(name));
        lines.filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok()).sum()
    }

    /// SIGKILL.
    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// SIGTERM, and waits.
    pub(crate) fn stop(&mut self) {
        self.signal("TERM");
        if let Some(mut child) = self.child.take() {
            let _ = child.wait();
        }
    }

    pub(crate) fn signal(&self, name: &str) {
        if let Some(child) = &self.child {
            // The shell's own, which is always there.
            let done = Command::new("sh").arg("-c").arg(format!("kill -{name} {}", child.id())).status();
            assert!(done.expect("kill should run").success());
            // Each of its threads stops when it is its turn; until then they answer.
            while name == "STOP" && !is_stopped(child.id()) {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }
}

fn is_stopped(process: u32) -> bool {
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).expect("its threads");
    threads.filter_map(Result::ok).all(|thread| {
        let state = std::fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
        state.rsplit(") ").next().is_some_and(|rest| rest.starts_with('T'))
    })
}

impl Drop for Etcd {
    fn drop(&mut self) {
        self.kill();
    }
}
