//! A whole server as its own process, on a free port, with everything it writes in a temporary directory.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use super::certs::Identity;
use super::client::{Answer, Client};
use super::etcd::Etcd;

/// A token in system:masters, of every server started with [`Launch::tokens`].
pub(crate) const MASTER: &str = "masters-token-3f9c1e";
/// A token of a user without rights.
pub(crate) const ALICE: &str = "alice-token-77ab02";

/// No pod is given an account.
const WITHOUT_ACCOUNTS: &str = "--disable-admission-plugins=ServiceAccount";

/// Nothing but requests changes objects.
const WITHOUT_CONTROLLERS: &str = "--controllers=";

/// How long anything may take before a test gives up.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Returns a port that the kernel reports as free. Another process may still take it; none is returned twice here.
pub(crate) fn free_port() -> u16 {
    static USED: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());
    loop {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("its address").port();
        if USED.lock().expect("no panic while held").insert(port) {
            return port;
        }
    }
}

/// A command line to be run.
pub(crate) struct Launch {
    program: PathBuf,
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    dir: Arc<TempDir>,
    data_dir: Option<PathBuf>,
    cert_dir: Option<PathBuf>,
    expected_pki: Option<PathBuf>,
    secrets: Vec<String>,
}

impl Launch {
    /// On the embedded store, in a directory of its own. Objects are what tests make them: there are no controllers, and pods get no
    /// account.
    pub(crate) fn new() -> Launch {
        Launch::with_default_plugins().arg(WITHOUT_ACCOUNTS)
    }

    /// The same, with the default admission plugins.
    pub(crate) fn with_default_plugins() -> Launch {
        Launch::with_defaults().arg(WITHOUT_CONTROLLERS)
    }

    /// As a user starts it: with the default admission plugins and controllers.
    pub(crate) fn with_defaults() -> Launch {
        let mut launch = Launch::bare();
        launch.data_dir = Some(launch.path("data"));
        launch
    }

    /// No flags but a port.
    pub(crate) fn bare() -> Launch {
        Launch {
            program: env!("CARGO_BIN_EXE_pintle").into(),
            args: Vec::new(),
            env: Vec::new(),
            dir: Arc::new(tempfile::tempdir().expect("a temporary directory")),
            data_dir: None,
            cert_dir: None,
            expected_pki: None,
            secrets: vec![MASTER.into(), ALICE.into()],
        }
    }

    /// On this etcd, with certificates of its own.
    pub(crate) fn on_etcd(etcd: &Etcd) -> Launch {
        Launch::on_etcd_with_defaults(etcd).arg(WITHOUT_ACCOUNTS)
    }

    /// The same, with every admission plugin that is on by default.
    pub(crate) fn on_etcd_with_defaults(etcd: &Etcd) -> Launch {
        let launch = Launch::bare();
        let pki = launch.path("pki");
        launch
            .cert_dir(pki)
            .args(&[format!("--etcd-servers={}", etcd.endpoint()), "--bind-address=127.0.0.1".into()])
    }

    /// The directory that goes with the last server in it.
    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn program(mut self, path: PathBuf) -> Launch {
        self.program = path;
        self
    }

    pub(crate) fn arg(mut self, arg: impl Into<OsString>) -> Launch {
        self.args.push(arg.into());
        self
    }

    pub(crate) fn args<A: AsRef<OsStr>>(mut self, args: &[A]) -> Launch {
        self.args.extend(args.iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    pub(crate) fn env(mut self, name: &str, value: impl Into<OsString>) -> Launch {
        self.env.push((name.into(), value.into()));
        self
    }

    /// Where the certificates are, if not beside the store.
    pub(crate) fn cert_dir(mut self, path: PathBuf) -> Launch {
        self.cert_dir = Some(path);
        self
    }

    /// Where the certificates will be without being told.
    pub(crate) fn cert_dir_is(mut self, path: PathBuf) -> Launch {
        self.expected_pki = Some(path);
        self
    }

    /// Runs on the directory of another server.
    pub(crate) fn data_dir(mut self, path: PathBuf) -> Launch {
        self.data_dir = Some(path);
        self
    }

    /// Something that must never be written.
    pub(crate) fn secret(mut self, secret: &str) -> Launch {
        self.secrets.push(secret.into());
        self
    }

    /// With a token file that knows [`MASTER`] and [`ALICE`].
    pub(crate) fn tokens(self) -> Launch {
        let file = self.path("tokens.csv");
        let text = format!("{MASTER},root,u1,\"system:masters\"\n{ALICE},alice,u2,\"dev\"\n");
        std::fs::write(&file, text).expect("write tokens");
        let mut flag = OsString::from("--token-auth-file=");
        flag.push(file);
        self.arg(flag)
    }

    fn command(&self, output: &str, port: Option<u16>) -> Command {
        let file = |kind: &str| File::create(self.path(&format!("{output}.{kind}"))).expect("a log file");
        let mut command = Command::new(&self.program);
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.path("home"))
            .env("TMPDIR", self.dir())
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .args(&self.args)
            .current_dir(self.dir())
            .stdin(Stdio::null())
            .stdout(file("stdout"))
            .stderr(file("stderr"));
        if let Some(data_dir) = &self.data_dir {
            command.arg("--data-dir").arg(data_dir);
        }
        if let Some(cert_dir) = &self.cert_dir {
            command.arg("--cert-dir").arg(cert_dir);
        }
        if let Some(port) = port {
            command.arg(format!("--secure-port={port}"));
        }
        command
    }

    /// Starts the process and returns at once.
    pub(crate) fn spawn(&self, port: Option<u16>) -> Server {
        let name = format!("run-{}", free_name());
        let child = self.command(&name, port).spawn().expect("the server should start");
        let pki = self.data_dir.as_ref().map(|data| data.join("pki"));
        Server {
            child: Some(child),
            output: self.path(&name),
            port: port.unwrap_or(6443),
            pki: self.cert_dir.clone().or(self.expected_pki.clone()).or(pki),
            data_dir: self.data_dir.clone(),
            secrets: self.secrets.clone(),
            dir: self.dir.clone(),
        }
    }

    /// Starts a server and waits until it says that it serves.
    pub(crate) async fn start(&self) -> Server {
        // Another process may take the free port before the server listens on it.
        for attempt in 0.. {
            let mut server = self.spawn(Some(free_port()));
            match server.until_it_serves().await {
                Ok(()) => {
                    server.until_it_has_begun().await;
                    return server;
                }
                Err(text) if text.contains("cannot listen") && attempt < 5 => {}
                Err(text) => panic!("the server did not start: {text}"),
            }
        }
        unreachable!()
    }

    /// Runs a command line that ends by itself.
    pub(crate) async fn run(&self) -> Finished {
        self.run_on(Some(free_port())).await
    }

    pub(crate) async fn run_on(&self, port: Option<u16>) -> Finished {
        let mut server = self.spawn(port);
        let status = server.exited().await;
        Finished { code: status.code(), stdout: server.stdout(), stderr: server.stderr() }
    }

    /// Expects one sentence on standard error and exit code 1.
    pub(crate) async fn fails(&self) -> String {
        let finished = self.run().await;
        finished.sentence()
    }
}

fn free_name() -> usize {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Exit code and output of a process.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Finished {
    /// The last words of one that failed: a single line, after whatever was logged.
    #[track_caller]
    pub(crate) fn sentence(&self) -> String {
        assert_eq!(self.code, Some(1), "{self:?}");
        assert_eq!(self.stdout, "", "nothing was served");
        let (_, last) = self.stderr.rsplit_once("Error: ").unwrap_or_else(|| panic!("no sentence: {self:?}"));
        assert_eq!(last.trim_end().lines().count(), 1, "one line: {self:?}");
        last.trim_end().to_owned()
    }
}

/// A running server. Gone with this value, also when a test panics; its log is then shown.
pub(crate) struct Server {
    child: Option<Child>,
    output: PathBuf,
    pub(crate) port: u16,
    pki: Option<PathBuf>,
    data_dir: Option<PathBuf>,
    secrets: Vec<String>,
    dir: Arc<TempDir>,
}

impl Server {
    pub(crate) fn pid(&self) -> u32 {
        self.child.as_ref().expect("running").id()
    }

    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn pki(&self) -> &Path {
        self.pki.as_deref().expect("a directory of certificates")
    }

    /// The administrator's.
    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.pki().join("admin.kubeconfig")
    }

    pub(crate) fn data_dir(&self) -> &Path {
        self.data_dir.as_deref().expect("a data directory")
    }

    fn read(&self, kind: &str) -> String {
        let bytes = std::fs::read(self.output.with_extension(kind)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    pub(crate) fn stdout(&self) -> String {
        self.read("stdout")
    }

    pub(crate) fn stderr(&self) -> String {
        self.read("stderr")
    }

    /// A client without credentials that trusts what the server made for itself.
    pub(crate) fn client(&self) -> Client {
        let authority = std::fs::read_to_string(self.pki().join("pintle-ca.crt")).expect("the authority");
        Client::new(self.port, &authority)
    }

    /// The administrator of the generated kubeconfig.
    pub(crate) fn admin(&self) -> Client {
        self.client().identity(&Identity::read(self.pki(), "admin"))
    }

    /// Waits for the banner; an error holds the last words of a server that ended instead.
    pub(crate) async fn until_it_serves(&mut self) -> Result<(), String> {
        let deadline = Instant::now() + PATIENCE;
        while !self.stdout().contains("is serving on https://") {
            let child = self.child.as_mut().expect("running");
            if child.try_wait().expect("its state").is_some() {
                return Err(self.stderr());
            }
            if Instant::now() > deadline {
                return Err(format!("no banner in time: {}", self.stderr()));
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Ok(())
    }

    /// Waits while hooks that run at its start make it unhealthy. A server that cannot be asked is taken as it is.
    async fn until_it_has_begun(&self) {
        let Some(authority) = self.pki.as_ref().map(|pki| std::fs::read_to_string(pki.join("pintle-ca.crt")))
        else {
            return;
        };
        let Ok(authority) = authority else { return };
        let client = Client::new(self.port, &authority);
        let begins = |answer: &Answer| {
            ["[-]poststarthook/", "[-]autoregister-completion"]
                .iter()
                .any(|failed| answer.body.contains(failed))
        };
        eventually("the end of its hooks", async || {
            !client.try_get("/healthz").await.is_ok_and(|answer| begins(&answer))
        })
        .await;
    }

    /// Waits for the namespace that tests put their objects in.
    pub(crate) async fn until_it_has_namespaces(&self) {
        let client = self.admin();
        eventually("the namespace default", async || {
            client.get("/api/v1/namespaces/default").await.code == 200
        })
        .await;
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.pid()).ok().and_then(Pid::from_raw).expect("a process");
        kill_process(pid, signal).expect("signal the server");
    }

    pub(crate) fn is_running(&mut self) -> bool {
        self.child.as_mut().is_some_and(|child| matches!(child.try_wait(), Ok(None)))
    }

    /// Waits until the process has ended by itself.
    pub(crate) async fn exited(&mut self) -> ExitStatus {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.as_mut().expect("running").try_wait().expect("its state") {
                return status;
            }
            assert!(Instant::now() < deadline, "the process did not end in time");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// SIGTERM, and a clean end.
    pub(crate) async fn stop(&mut self) {
        self.signal(Signal::TERM);
        assert_eq!(self.exited().await.code(), Some(0), "a clean end");
    }

    /// Bytes of memory that the process holds.
    pub(crate) fn resident(&self) -> u64 {
        self.memory("VmRSS:")
    }

    /// Bytes of memory that the process has held at most.
    pub(crate) fn peak(&self) -> u64 {
        self.memory("VmHWM:")
    }

    fn memory(&self, of: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).expect("its status");
        let line = status.lines().find_map(|line| line.strip_prefix(of)).expect("its memory");
        let kilobytes: u64 = line.trim().trim_end_matches(" kB").parse().expect("a number");
        kilobytes * 1024
    }

    /// Nothing that a server writes may hold a token or a key, or the trace of a panic.
    fn check_output(&self) {
        let mut secrets = self.secrets.clone();
        collect_keys(self.dir.path(), &mut secrets);
        for (kind, text) in [("standard output", self.stdout()), ("standard error", self.stderr())] {
            for secret in &secrets {
                assert!(!text.contains(secret), "a secret is on {kind}: {text}");
            }
            assert!(!text.contains("PRIVATE KEY"), "a key is on {kind}: {text}");
            assert!(!text.contains("panicked at"), "a panic is on {kind}: {text}");
        }
    }
}

/// The lines of every private key below a directory.
fn collect_keys(dir: &Path, secrets: &mut Vec<String>) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect_keys(&path, secrets);
        } else if path.extension().is_some_and(|end| end == "key") {
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            secrets.extend(
                text.lines().filter(|line| line.len() > 16 && !line.starts_with('-')).map(str::to_owned),
            );
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
        if std::thread::panicking() {
            eprintln!("--- standard output\n{}\n--- standard error\n{}", self.stdout(), self.stderr());
        } else {
            self.check_output();
        }
    }
}

/// Tries until it holds.
pub(crate) async fn eventually(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds().await {
        assert!(Instant::now() < deadline, "{what}: not within {PATIENCE:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
