//! The same puts on a real etcd, through our own client, on the same disk.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use pintle_storage::Backend;
use pintle_storage_etcd::{Config, Store};

use crate::figures;
use crate::puts::{self, Puts};

/// Ends with us, whatever happens.
struct Etcd(Child);

impl Drop for Etcd {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Puts of new keys into an empty etcd, and what it has resident then, in MB.
pub(crate) async fn puts(directory: &Path, time: Duration) -> anyhow::Result<(Puts, f64)> {
    let binary = std::env::var("PINTLE_ETCD")
        .or_else(|_| std::env::var("PINTLE_ETCD_OLD"))
        .context("no etcd to compare with: make bench finds one, or set PINTLE_ETCD")?;
    let (client, peer) = (free_address()?, free_address()?);
    let etcd = Command::new(&binary)
        .arg("--data-dir")
        .arg(directory)
        .args(["--listen-client-urls", &client, "--advertise-client-urls", &client])
        .args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer])
        .args(["--initial-cluster", &format!("default={peer}")])
        .args(["--log-level", "error"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .with_context(|| format!("cannot start {binary}"))?;
    let etcd = Etcd(etcd);
    let store = Store::connect(Config { endpoints: vec![client], ..Config::default() }).await?;
    let start = Instant::now();
    while store.health().await.is_err() {
        if start.elapsed() > Duration::from_secs(30) {
            bail!("etcd did not start within 30 s");
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let store: Arc<dyn Backend> = Arc::new(store);
    let process = etcd.0.id().to_string();
    let puts = puts::measure(store.clone(), time, None).await?;
    let resident = figures::memory(&process, "VmRSS");
    store.close().await?;
    Ok((puts, resident))
}

fn free_address() -> anyhow::Result<String> {
    Ok(format!("http://{}", TcpListener::bind("127.0.0.1:0")?.local_addr()?))
}
