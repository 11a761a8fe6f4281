//! The machine's kubectl: `$KUBECTL`, or the one on the `PATH`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::OnceLock;
use std::time::Duration;

use pintle_kubelet_testing::Terminal;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::timeout;

use super::server::{PATIENCE, Server};
use super::shared::Shared;

/// Older ones are not tried.
const OLDEST: u64 = 27;

/// Where kubectl is, and its minor version.
fn program() -> &'static (OsString, u64) {
    static PROGRAM: OnceLock<(OsString, u64)> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let program = std::env::var_os("KUBECTL").filter(|path| !path.is_empty());
        let program = program.unwrap_or_else(|| "kubectl".into());
        let output =
            std::process::Command::new(&program).args(["version", "--client", "-o", "json"]).output();
        let version = output.ok().and_then(|output| serde_json::from_slice::<Value>(&output.stdout).ok());
        let minor = version.and_then(|version| {
            let minor = version["clientVersion"]["minor"].as_str()?.trim_end_matches('+').to_owned();
            minor.parse::<u64>().ok()
        });
        match minor {
            Some(minor) if minor >= OLDEST => (program, minor),
            _ => panic!("these tests need kubectl 1.{OLDEST} or newer on the PATH, or its path in KUBECTL"),
        }
    })
}

/// Returns the file that kubectl is.
pub(crate) fn program_path() -> PathBuf {
    let name = Path::new(&program().0);
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let mut places = std::env::split_paths(&folders).map(|folder| folder.join(name));
    if name.components().count() > 1 {
        return name.to_owned();
    }
    places.find(|place| place.is_file()).unwrap_or_else(|| name.to_owned())
}

/// How a user of a server calls it: with a kubeconfig, and in a namespace.
#[derive(Clone)]
pub(crate) struct Kubectl {
    home: PathBuf,
    kubeconfig: PathBuf,
    namespace: String,
    /// Further environment variables.
    environment: Vec<(String, String)>,
    program: OsString,
}

/// Exit code and output of a command.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Kubectl {
    pub(crate) fn of(server: &Server) -> Kubectl {
        program();
        Kubectl {
            home: server.dir().join("kubectl"),
            kubeconfig: server.kubeconfig(),
            namespace: "default".into(),
            environment: Vec::new(),
            program: program().0.clone(),
        }
    }

    /// Another one.
    pub(crate) fn program(self, program: &Path) -> Kubectl {
        Kubectl { program: program.into(), ..self }
    }

    /// With a variable in its environment.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Kubectl {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// Returns a kubectl for another user; `user` is the YAML of the kubeconfig's user entry.
    pub(crate) fn signed_in(&self, name: &str, user: &str) -> Kubectl {
        let admin = std::fs::read_to_string(&self.kubeconfig).expect("the administrator's kubeconfig");
        let own =
            |line: &&str| !line.contains("client-certificate-data") && !line.contains("client-key-data");
        let mut lines: Vec<String> = admin.lines().filter(own).map(str::to_owned).collect();
        let place = lines.iter().position(|line| line == "  user:").expect("a user") + 1;
        lines.splice(place..place, user.lines().map(|line| format!("    {line}")));
        let kubeconfig = self.home.join(format!("{name}.kubeconfig"));
        std::fs::create_dir_all(&self.home).expect("a folder");
        std::fs::write(&kubeconfig, lines.join("\n")).expect("a kubeconfig");
        Kubectl { kubeconfig, ..self.clone() }
    }

    /// The minor version of kubectl, for what changed between them.
    pub(crate) fn minor() -> u64 {
        program().1
    }

    /// In a new namespace, so that tests leave each other alone.
    pub(crate) async fn in_namespace(shared: &Shared, namespace: &str) -> Kubectl {
        let kubectl = Kubectl { namespace: namespace.into(), ..Kubectl::of(&shared.server) };
        kubectl.ok(&format!("create namespace {namespace}")).await;
        kubectl
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        self.prepared(command, args)
    }

    fn prepared(&self, mut command: Command, args: &[&str]) -> Command {
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", &self.home)
            .env("KUBECONFIG", &self.kubeconfig)
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .arg("--namespace")
            .arg(&self.namespace)
            .args(args)
            .kill_on_drop(true);
        command
    }

    /// Starts a command on a terminal of its own.
    pub(crate) fn on_a_terminal(&self, args: &[&str]) -> Screen {
        let (terminal, far) = Terminal::open().expect("a terminal");
        // In a session of its own, which is told of changes of the terminal's size.
        let mut command = Command::new("setsid");
        command.arg("--ctty").arg(&self.program);
        let copy = || far.try_clone().expect("a copy");
        command.stdin(copy()).stdout(copy()).stderr(copy());
        let child = self.prepared(command, args).spawn().expect("kubectl should start");
        Screen { terminal, child, seen: String::new() }
    }

    /// Runs a command with these arguments and this on its standard input.
    pub(crate) async fn run(&self, args: &[&str], input: &str) -> Output {
        let mut child = self.command(args).spawn().expect("kubectl should start");
        let mut stdin = child.stdin.take().expect("its standard input");
        let fed = async {
            // One that does not read its input has ended.
            let _ = stdin.write_all(input.as_bytes()).await;
            drop(stdin);
        };
        let finished = timeout(PATIENCE, async { tokio::join!(fed, child.wait_with_output()).1 });
        let output = finished.await.unwrap_or_else(|_| panic!("kubectl {args:?} did not end in time"));
        let output = output.expect("its output");
        Output {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Runs words that are separated by spaces, expects success, and returns what it printed.
    pub(crate) async fn ok(&self, words: &str) -> String {
        self.feed(words, "").await
    }

    /// The same, with something on its standard input.
    pub(crate) async fn feed(&self, words: &str, input: &str) -> String {
        let args: Vec<&str> = words.split_whitespace().collect();
        self.run(&args, input).await.succeeded(words)
    }

    /// Expects a failure, and returns what it complained about.
    pub(crate) async fn fails(&self, words: &str) -> String {
        let args: Vec<&str> = words.split_whitespace().collect();
        self.run(&args, "").await.failed(words)
    }

    /// Runs `words -o json`.
    pub(crate) async fn json(&self, words: &str) -> Value {
        let text = self.ok(&format!("{words} -o json")).await;
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{words}: not JSON ({error}): {text}"))
    }

    /// Starts a command that goes on, such as a watch, and reads its lines.
    pub(crate) fn follow(&self, words: &str) -> Following {
        let args: Vec<&str> = words.split_whitespace().collect();
        let mut child = self.command(&args).spawn().expect("kubectl should start");
        let lines = BufReader::new(child.stdout.take().expect("its standard output")).lines();
        Following { words: words.into(), lines, _child: child }
    }
}

impl Output {
    pub(crate) fn succeeded(self, what: &str) -> String {
        assert_eq!(self.code, Some(0), "kubectl {what}: {self:?}");
        self.stdout
    }

    pub(crate) fn failed(self, what: &str) -> String {
        assert_eq!(self.code, Some(1), "kubectl {what}: {self:?}");
        self.stderr
    }
}

/// A command on a terminal.
pub(crate) struct Screen {
    terminal: Terminal,
    child: Child,
    /// The output that was not waited for yet.
    seen: String,
}

impl Screen {
    pub(crate) async fn types(&self, text: &str) {
        self.terminal.write_all(text.as_bytes()).await.expect("a terminal");
    }

    pub(crate) fn resize(&self, columns: u16, rows: u16) {
        self.terminal.resize(columns, rows).expect("a terminal");
    }

    /// Waits until this is printed.
    pub(crate) async fn shows(&mut self, text: &str) {
        let mut buffer = [0; 4096];
        loop {
            if let Some(place) = self.seen.find(text) {
                self.seen.drain(..place + text.len());
                return;
            }
            let read = timeout(PATIENCE, self.terminal.read(&mut buffer)).await;
            let read = read.unwrap_or_else(|_| panic!("no {text:?} in {:?}", self.seen)).expect("a terminal");
            assert!(read > 0, "the end in place of {text:?}: {:?}", self.seen);
            self.seen.push_str(&String::from_utf8_lossy(&buffer[..read]));
        }
    }

    /// Waits for the end; returns the exit code and what was printed before.
    pub(crate) async fn ended(mut self) -> (Option<i32>, String) {
        let mut buffer = [0; 4096];
        let all = async {
            while let Ok(read @ 1..) = self.terminal.read(&mut buffer).await {
                self.seen.push_str(&String::from_utf8_lossy(&buffer[..read]));
            }
            self.child.wait().await.expect("its exit code").code()
        };
        let code = timeout(PATIENCE, all).await;
        (code.unwrap_or_else(|_| panic!("no end after {:?}", self.seen)), self.seen)
    }
}

/// A command that goes on.
pub(crate) struct Following {
    words: String,
    lines: Lines<BufReader<ChildStdout>>,
    _child: Child,
}

impl Following {
    /// The next line, its columns separated by one space.
    pub(crate) async fn line(&mut self) -> String {
        let next = timeout(PATIENCE, self.lines.next_line()).await;
        let next = next.unwrap_or_else(|_| panic!("kubectl {}: no line in time", self.words));
        let line = next.expect("text").unwrap_or_else(|| panic!("kubectl {} ended", self.words));
        columns(&line)
    }

    /// A line that is there already.
    pub(crate) async fn line_if_any(&mut self) -> Option<String> {
        let next = timeout(Duration::from_millis(1), self.lines.next_line()).await.ok()?;
        next.expect("text").map(|line| columns(&line))
    }

    /// The rest, until it ends by itself.
    pub(crate) async fn rest(mut self) -> Vec<String> {
        let mut lines = Vec::new();
        let all = timeout(PATIENCE, async {
            while let Some(line) = self.lines.next_line().await.expect("text") {
                lines.push(columns(&line));
            }
        });
        all.await.unwrap_or_else(|_| panic!("kubectl {} did not end in time", self.words));
        lines
    }
}

/// A line with one space between its columns.
pub(crate) fn columns(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The lines of a table, each with one space between its columns.
pub(crate) fn rows(text: &str) -> Vec<String> {
    text.lines().map(columns).collect()
}
