//! The floor: a bare server of the same HTTP and TLS libraries that answers from memory.
//!
//! The same machine's speed varies from one minute to the next, by more than the differences to be measured. The floor
//! shows how fast the machine is now, and it is known for the machine where the budgets were set.

use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use anyhow::Context;
use bytes::Bytes;
use http::{Request as Asked, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

use super::client::{Client, Request};
use super::kubeconfig::Access;
use super::operations::push;
use super::process::Processes;
use super::table::{Cell, Row};
use super::target::Target;
use crate::arguments::Arguments;

/// An answer as long as a pod's, and what one took where the budgets were set, in ms of CPU.
const SMALL: (usize, f64) = (4_400, 0.043);
/// An answer as long as a list of 10,000 pods.
const LARGE: (usize, f64) = (44_000_000, 42.0);
const REQUESTS: usize = 5_000;
const LARGE_REQUESTS: usize = 3;

/// The bare server, in a process of its own.
pub(crate) struct Floor {
    child: Child,
    target: Target,
    small: Cell,
    large: Cell,
}

impl Drop for Floor {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Floor {
    pub(crate) async fn start(arguments: &Arguments) -> anyhow::Result<Floor> {
        let program = std::env::current_exe().context("this program cannot find itself")?;
        let mut child = Command::new(program).arg("--floor=serve").stdout(Stdio::piped()).spawn()?;
        let output = child.stdout.take().context("the bare server says nothing")?;
        let mut address = String::new();
        BufReader::new(output).read_line(&mut address)?;
        let access = Access {
            address: address.trim().to_owned(),
            prefix: String::new(),
            server_name: "localhost".to_owned(),
            authority: None,
            certificate: None,
            token: None,
        };
        let processes = Processes::new(vec![child.id()])?;
        let target = Target::bare(Client::new(access)?, processes, arguments.connections).await?;
        Ok(Floor { child, target, small: Cell::Unknown, large: Cell::Unknown })
    }

    /// Another round.
    pub(crate) async fn measure(&mut self, arguments: &Arguments) -> anyhow::Result<()> {
        let small = self.target.many(0..REQUESTS, arguments.streams, |_| Request::get("/small"));
        let small = self.target.measure(small).await?.cpu.map(|cpu| cpu * 1e3 / REQUESTS as f64);
        push(&mut self.small, small);
        let large = self.target.many(0..LARGE_REQUESTS, 1, |_| Request::get("/large"));
        let large = self.target.measure(large).await?.cpu.map(|cpu| cpu * 1e3 / LARGE_REQUESTS as f64);
        push(&mut self.large, large);
        Ok(())
    }

    /// For the table, beside as many servers.
    pub(crate) fn rows(&self, servers: usize) -> Vec<Row> {
        let row = |label: &str, (_, known): (usize, f64), cell: &Cell| {
            Row::new(label, "ms").seen(known).of(vec![cell.clone(); servers.max(1)])
        };
        vec![
            row("floor: bare server, 4.4 KB, CPU", SMALL, &self.small),
            row("floor: bare server, 44 MB, CPU", LARGE, &self.large),
        ]
    }

    /// How many times slower this machine is now than the one of the budgets.
    pub(crate) fn slowness(&self) -> Option<f64> {
        Some(self.small.median()? / SMALL.1)
    }
}

/// The other process: says where it listens, and serves until it is killed.
pub(crate) async fn serve() -> anyhow::Result<()> {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).map_err(anyhow::Error::msg)?;
    let chain: Vec<CertificateDer<'static>> = vec![made.cert.der().clone()];
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    config.alpn_protocols = vec![b"h2".to_vec()];
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = tokio::net::TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await?;
    println!("{}", listener.local_addr()?);
    let (small, large) = (Bytes::from(vec![b'a'; SMALL.0]), Bytes::from(vec![b'a'; LARGE.0]));
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let (acceptor, small, large) = (acceptor.clone(), small.clone(), large.clone());
        tokio::spawn(async move {
            let Ok(stream) = acceptor.accept(stream).await else { return };
            let service = service_fn(move |asked: Asked<Incoming>| {
                let body = if asked.uri().path() == "/large" { large.clone() } else { small.clone() };
                async move { Ok::<_, std::convert::Infallible>(Response::new(Full::new(body))) }
            });
            let _ = http2::Builder::new(TokioExecutor::new())
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}
