//! controller-runtime's envtest, step by step as its code goes: flags are looked for in the help, etcd is started and asked for its
//! health, then kube-apiserver, and both are stopped with SIGTERM.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use http::Method;
use rcgen::{CertificateParams, KeyPair};
use serde_json::json;

use crate::support::{Authority, Client, PATIENCE, free_port};

/// The folder that `make envtest` makes, of the binary under test.
fn assets(dir: &Path) -> PathBuf {
    let folder = dir.join("assets");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/envtest.sh");
    let made = Command::new(script)
        .args([env!("CARGO_BIN_EXE_pintle").as_ref(), folder.as_os_str()])
        .output()
        .expect("the script runs");
    let printed = String::from_utf8_lossy(&made.stdout);
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    assert!(printed.contains(&format!("export KUBEBUILDER_ASSETS={}", folder.display())), "{printed}");
    folder
}

/// Returns whether the help of a program has a flag, found as envtest finds it.
fn has_flag(program: &Path, flag: &str) -> bool {
    let help = Command::new(program).arg("--help").output().expect("help");
    assert!(help.status.success(), "{}", program.display());
    let text = String::from_utf8_lossy(&help.stdout).into_owned() + &String::from_utf8_lossy(&help.stderr);
    text.lines().any(|line| {
        let rest = line.trim_start().strip_prefix("--").and_then(|rest| rest.strip_prefix(flag));
        rest.is_some_and(|rest| !rest.starts_with(|next: char| next.is_alphanumeric() || next == '_'))
    })
}

/// A process that is killed with its owner.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Process {
    fn start(program: &Path, args: &[String]) -> Process {
        let child = Command::new(program)
            .args(args)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        Process(child)
    }

    /// Ends it with SIGTERM. Returns how long that took.
    fn stop(&mut self) -> Duration {
        let start = Instant::now();
        let id = rustix::process::Pid::from_child(&self.0);
        rustix::process::kill_process(id, rustix::process::Signal::TERM).expect("a signal");
        while self.0.try_wait().expect("a child").is_none() {
            assert!(start.elapsed() < PATIENCE, "it does not stop");
            std::thread::sleep(Duration::from_millis(1));
        }
        start.elapsed()
    }
}

async fn eventually_200(mut get: impl AsyncFnMut() -> Option<u16>) {
    let start = Instant::now();
    while get().await != Some(200) {
        assert!(start.elapsed() < PATIENCE, "it is not healthy");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// The health of an etcd over plain HTTP.
async fn plain_health(port: u16) -> Option<u16> {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let mut stream = tokio::net::TcpStream::connect(("127.0.0.1", port)).await.ok()?;
    stream.write_all(b"GET /health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").await.ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.ok()?;
    answer.split(' ').nth(1)?.parse().ok()
}

/// One environment: an etcd and an API server.
struct Environment {
    folder: PathBuf,
    cert_dir: PathBuf,
    authority: Authority,
    clients: Authority,
    etcd: Process,
    etcd_port: u16,
    server: Process,
    port: u16,
}

impl Environment {
    async fn start(folder: &Path, dir: &Path) -> Environment {
        let (etcd, server) = (folder.join("etcd"), folder.join("kube-apiserver"));
        assert!(has_flag(&etcd, "unsafe-no-fsync"));
        assert!(!has_flag(&server, "insecure-port"));
        let (etcd_port, data) = (free_port(), dir.join("etcd-data"));
        std::fs::create_dir_all(&data).expect("a directory");
        let url = format!("http://127.0.0.1:{etcd_port}");
        let etcd = Process::start(
            &etcd,
            &[
                format!("--advertise-client-urls={url}"),
                format!("--data-dir={}", data.display()),
                format!("--listen-client-urls={url}"),
                format!("--listen-peer-urls=http://127.0.0.1:{}", free_port()),
                "--unsafe-no-fsync=true".into(),
            ],
        );
        eventually_200(async || plain_health(etcd_port).await).await;

        let cert_dir = dir.join("certs");
        std::fs::create_dir_all(&cert_dir).expect("a directory");
        let authority = Authority::new("envtest-environment");
        authority.server(&["127.0.0.1", "localhost"]).write(&cert_dir, "apiserver");
        let clients = Authority::new("envtest-clients");
        clients.write(&cert_dir, "client-cert-auth-ca.crt");
        let key = KeyPair::generate_for(&rcgen::PKCS_RSA_SHA256).expect("a key");
        let certificate = CertificateParams::default().self_signed(&key).expect("a certificate");
        std::fs::write(cert_dir.join("sa-signer.crt"), certificate.pem()).expect("written");
        std::fs::write(cert_dir.join("sa-signer.key"), key.serialize_pem()).expect("written");
        let port = free_port();
        let server = Environment::serve(folder, &cert_dir, etcd_port, port);
        let environment = Environment {
            folder: folder.into(),
            cert_dir,
            authority,
            clients,
            etcd,
            etcd_port,
            server,
            port,
        };
        environment.is_healthy().await;
        environment
    }

    fn serve(folder: &Path, cert_dir: &Path, etcd_port: u16, port: u16) -> Process {
        let file = |flag: &str, name: &str| format!("--{flag}={}", cert_dir.join(name).display());
        let args = [
            "--allow-privileged=true".into(),
            "--authorization-mode=RBAC".into(),
            "--bind-address=127.0.0.1".into(),
            format!("--cert-dir={}", cert_dir.display()),
            file("client-ca-file", "client-cert-auth-ca.crt"),
            "--disable-admission-plugins=ServiceAccount".into(),
            format!("--etcd-servers=http://127.0.0.1:{etcd_port}"),
            format!("--secure-port={port}"),
            format!("--service-account-issuer=https://127.0.0.1:{port}/"),
            file("service-account-key-file", "sa-signer.crt"),
            file("service-account-signing-key-file", "sa-signer.key"),
            "--service-cluster-ip-range=10.0.0.0/24".into(),
        ];
        Process::start(&folder.join("kube-apiserver"), &args)
    }

    async fn is_healthy(&self) {
        let client = self.client();
        eventually_200(async || Some(client.try_get("/healthz").await.ok()?.code)).await;
    }

    fn client(&self) -> Client {
        let admin = self.clients.client("admin", &["system:masters"]);
        Client::new(self.port, &self.authority.pem).identity(&admin)
    }

    async fn make(&self, path: &str, name: &str) {
        let object = json!({"metadata": {"name": name}}).to_string();
        let json = [("content-type", "application/json")];
        self.client().request(Method::POST, path, &json, object).await.code_is(201);
    }

    /// Stops the server alone and starts it again on the same etcd.
    async fn restart_server(&mut self) {
        self.server.stop();
        self.server = Environment::serve(&self.folder, &self.cert_dir, self.etcd_port, self.port);
        self.is_healthy().await;
    }
}

#[tokio::test]
async fn envtest_starts_and_stops_servers_side_by_side() {
    let dir = tempfile::tempdir().expect("a directory");
    let folder = assets(dir.path());
    let (one, other) = (dir.path().join("one"), dir.path().join("other"));
    let (mut one, mut other) =
        tokio::join!(Environment::start(&folder, &one), Environment::start(&folder, &other));
    one.make("/api/v1/namespaces", "only-here").await;
    other.client().get("/api/v1/namespaces/only-here").await.code_is(404);

    // What envtest's users miss in a kube-apiserver alone.
    let namespace = "/api/v1/namespaces/only-here";
    one.make(&format!("{namespace}/configmaps"), "m").await;
    one.client().request(Method::DELETE, namespace, &[], String::new()).await.code_is(200);
    let start = Instant::now();
    while one.client().get(namespace).await.code != 404 {
        assert!(start.elapsed() < PATIENCE, "the namespace does not go");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }

    one.make("/api/v1/namespaces", "stays").await;
    one.restart_server().await;
    one.client().get("/api/v1/namespaces/stays").await.code_is(200);

    let mut watches = Vec::new();
    for _ in 0..20 {
        watches.push(one.client().follow("/api/v1/configmaps?watch=true", &[]).await);
    }
    let took = one.server.stop();
    assert!(took < Duration::from_secs(2), "open watches held the server for {took:?}");
    one.etcd.stop();
    other.server.stop();
    other.etcd.stop();
}
