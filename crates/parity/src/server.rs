//! A server of a binary, on an empty store, with the flags that the reference had when its answers were recorded.

use std::fs::File;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use tempfile::TempDir;

use crate::client::{Call, Client, Tokens};

/// How long a start may take.
const PATIENCE: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(20);
/// Another process may take a free port between its being found and its being used.
const ATTEMPTS: usize = 5;

/// The users that steps name, with their tokens in `data/tokens.csv`.
pub fn tokens() -> Tokens {
    ["admin", "alice", "bob", "node"].map(|name| (name.to_owned(), format!("{name}token"))).to_vec()
}

/// A running server. It ends with this value.
pub struct Server {
    child: Child,
    port: u16,
    dir: TempDir,
}

impl Server {
    /// Starts a binary and waits until it is ready. `data` is a folder of recordings.
    pub async fn start(binary: &Path, data: &Path) -> anyhow::Result<Server> {
        Server::start_with(binary, data, &[]).await
    }

    /// The same with more flags.
    pub async fn start_with(binary: &Path, data: &Path, flags: &[String]) -> anyhow::Result<Server> {
        let mut attempts = ATTEMPTS;
        loop {
            attempts -= 1;
            match Server::try_start(binary, data, flags).await {
                Err(error) if attempts > 0 && error.to_string().contains("cannot listen") => {}
                done => return done,
            }
        }
    }

    async fn try_start(binary: &Path, data: &Path, flags: &[String]) -> anyhow::Result<Server> {
        let dir = tempfile::tempdir().context("there is no temporary directory")?;
        let key = rcgen::KeyPair::generate_for(&rcgen::PKCS_RSA_SHA256).context("cannot make a key")?;
        let key_file = dir.path().join("sa.key");
        std::fs::write(&key_file, key.serialize_pem())?;
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let log = File::create(dir.path().join("log"))?;
        let path = |flag: &str, path: &Path| format!("--{flag}={}", path.display());
        let child = Command::new(binary)
            .args([
                path("data-dir", &dir.path().join("data")),
                path("cert-dir", &dir.path().join("certs")),
                path("token-auth-file", &data.join("tokens.csv")),
                path("service-account-key-file", &key_file),
                path("service-account-signing-key-file", &key_file),
                format!("--secure-port={port}"),
            ])
            .args([
                "--bind-address=127.0.0.1",
                "--authorization-mode=Node,RBAC",
                "--service-cluster-ip-range=10.0.0.0/16",
                "--service-account-issuer=https://kubernetes.default.svc",
                "--enable-admission-plugins=NodeRestriction",
                "--allow-privileged=true",
                // The answers were recorded without kube-controller-manager.
                "--controllers=",
            ])
            .args(flags)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .with_context(|| format!("cannot run {}", binary.display()))?;
        let mut server = Server { child, port, dir };
        server.until_ready().await?;
        Ok(server)
    }

    pub fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.port)
    }

    /// A client with all tokens.
    pub fn client(&self) -> anyhow::Result<Client> {
        Client::new(&self.url(), tokens())
    }

    async fn until_ready(&mut self) -> anyhow::Result<()> {
        let (mut client, end) = (self.client()?, Instant::now() + PATIENCE);
        let call = Call { method: "GET", path: "/readyz", user: "admin", ..Call::default() };
        while !client.call(&call).await.is_ok_and(|answer| answer.status == 200) {
            let log = || std::fs::read_to_string(self.dir.path().join("log")).unwrap_or_default();
            if self.child.try_wait()?.is_some() {
                bail!("the server stopped: {}", log());
            }
            if Instant::now() > end {
                bail!("the server is not ready in {PATIENCE:?}: {}", log());
            }
            tokio::time::sleep(PAUSE).await;
        }
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
