//! A server of our own: the built program on the embedded store, in a directory that goes with it.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use base64::Engine;
use pintle_outbound::AnyCertificate;
use rustix::process::{Pid, Signal, kill_process};
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use rustls_pki_types::ServerName;

/// How long a start or a stop may take.
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) struct Own {
    child: Child,
    data: PathBuf,
    /// From the call of the program to the first 200 of `/readyz`.
    pub(crate) took: Duration,
}

impl Drop for Own {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The configuration of encryption in a data directory, with which servers on it are started.
const ENCRYPTION: &str = "encryption.yaml";
/// The audit policy in a data directory, with which servers on it are started.
const AUDIT_POLICY: &str = "audit-policy.yaml";

/// Has servers on a data directory encrypt everything.
pub(crate) fn encrypt(data: &Path, provider: &str) -> anyhow::Result<()> {
    // A key that protects nothing.
    let secret = base64::engine::general_purpose::STANDARD.encode([7; 32]);
    let text = format!(
        "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n- resources: ['*.*']\n  \
         providers: [{{{provider}: {{keys: [{{name: bench, secret: {secret}}}]}}}}]\n"
    );
    std::fs::create_dir_all(data)?;
    Ok(std::fs::write(data.join(ENCRYPTION), text)?)
}

/// Has servers on a data directory record all requests at a level.
pub(crate) fn audit(data: &Path, level: &str) -> anyhow::Result<()> {
    let policy = format!("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n- level: {level}\n");
    std::fs::create_dir_all(data)?;
    Ok(std::fs::write(data.join(AUDIT_POLICY), policy)?)
}

/// Returns the flags that the files in a data directory ask for.
fn flags_of(data: &Path) -> Vec<String> {
    let mut flags = Vec::new();
    let encryption = data.join(ENCRYPTION);
    if encryption.exists() {
        flags.push(format!("--encryption-provider-config={}", encryption.display()));
    }
    let policy = data.join(AUDIT_POLICY);
    if policy.exists() {
        flags.extend([
            format!("--audit-policy-file={}", policy.display()),
            format!("--audit-log-path={}", data.join("audit.log").display()),
            "--audit-log-mode=batch".to_owned(),
            // An event that does not fit would not be measured.
            "--audit-log-batch-buffer-size=1000000".to_owned(),
        ]);
    }
    flags
}

impl Own {
    pub(crate) fn start(program: &Path, data: &Path) -> anyhow::Result<Own> {
        Own::start_with(program, data, &[])
    }

    /// Starts the program with further flags.
    pub(crate) fn start_with(program: &Path, data: &Path, flags: &[&str]) -> anyhow::Result<Own> {
        ensure!(program.exists(), "{} is missing: make bench builds it", program.display());
        let client = Arc::new(client()?);
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let start = Instant::now();
        let mut command = Command::new(program);
        let child = command
            .arg("--data-dir")
            .arg(data)
            .arg(format!("--secure-port={}", address.port()))
            // Pods are on any server as the bench makes them, apart from what every pod is given.
            .arg("--disable-admission-plugins=ServiceAccount")
            .args(flags_of(data))
            .args(flags)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("cannot start {}", program.display()))?;
        let mut own = Own { child, data: data.to_owned(), took: Duration::ZERO };
        while !is_ready(address, &client).unwrap_or(false) {
            if let Some(status) = own.child.try_wait()? {
                bail!("{} ended with {status} before it was ready", program.display());
            }
            ensure!(start.elapsed() < PATIENCE, "{} is not ready after {PATIENCE:?}", program.display());
            std::thread::sleep(Duration::from_micros(500));
        }
        own.took = start.elapsed();
        Ok(own)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn data(&self) -> &Path {
        &self.data
    }

    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.data.join("pki/admin.kubeconfig")
    }

    /// In order, so that the next start finds nothing to repair.
    pub(crate) fn stop(mut self) -> anyhow::Result<()> {
        let pid = i32::try_from(self.pid()).ok().and_then(Pid::from_raw).context("a process has a number")?;
        kill_process(pid, Signal::TERM)?;
        let start = Instant::now();
        while self.child.try_wait()?.is_none() {
            ensure!(start.elapsed() < PATIENCE, "the server does not stop within {PATIENCE:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }
}

fn is_ready(address: SocketAddr, client: &Arc<ClientConfig>) -> anyhow::Result<bool> {
    let stream = TcpStream::connect(address)?;
    let name = ServerName::try_from("localhost")?;
    let mut stream = StreamOwned::new(ClientConnection::new(client.clone(), name)?, stream);
    stream.write_all(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut status = [0; 12];
    stream.read_exact(&mut status)?;
    Ok(status.ends_with(b"200"))
}

fn client() -> anyhow::Result<ClientConfig> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    Ok(ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(AnyCertificate::new(provider)))
        .with_no_client_auth())
}
