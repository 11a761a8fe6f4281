//! Connections through a server to a kubelet: `exec` beside a plain TLS connection to the same program, and port-forwards that are idle.
//!
//! Client and kubelet are this process; the kubelet is that of the tests. The servers must reach 127.0.0.1 and not check certificates of
//! kubelets.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, bail, ensure};
use bytes::{Buf, BytesMut};
use http::Method;
use http::header::{CONNECTION, HeaderMap, HeaderName, HeaderValue, UPGRADE};
use pintle_kubelet_testing::{Kubelet, Options};
use pintle_outbound::egress::BoxedStream;
use pintle_outbound::testing::{Authority, HttpsOptions, server_config};
use pintle_outbound::{AnyCertificate, Client, Kubeconfig, RequestBody, StreamLimits, Streamed, Url};
use pintle_spdy::headers::Writer;
use pintle_spdy::{Decoder, Frame, encode};
use rustls_pki_types::ServerName;
use serde_json::json;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::Command;
use tokio_rustls::{TlsAcceptor, TlsConnector};

use super::client::Request;
use super::operations::{push, scaled};
use super::table::{Cell, Row};
use super::target::{REST, Target};
use crate::arguments::Arguments;

const SIZE: usize = 100_000_000;
const CHUNK: usize = 32 << 10;
const NODE: &str = "pintle-bench";
const MERGE_PATCH: &str = "application/merge-patch+json";
/// How many of the tunnels are opened at once.
const AT_ONCE: usize = 20;

/// A way of `exec`.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Protocol {
    /// Version 5, which the server translates.
    WebSocket,
    Spdy,
}

/// The work of `cat`.
#[derive(Clone, Copy, Debug)]
struct Transfer {
    work: Work,
    size: usize,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Work {
    /// Prints a file.
    Print,
    /// Returns what it is sent.
    Return,
}

const PROTOCOLS: [Protocol; 2] = [Protocol::WebSocket, Protocol::Spdy];
const WAYS: [(Work, &str); 2] = [(Work::Print, "down"), (Work::Return, "up and down")];

pub(crate) async fn measure(targets: &[Target], arguments: &Arguments) -> anyhow::Result<Vec<Row>> {
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("data");
    std::fs::write(&file, vec![b'x'; SIZE])?;
    let kubelet = Kubelet::start(Options::default()).await;
    let mut clusters = Vec::new();
    for target in targets {
        clusters.push(match &target.objects {
            Some(_) => Some(Cluster::new(target, kubelet.address).await?),
            None => None,
        });
    }
    let plain = Plain::start(&file).await?;
    let mut rows = Vec::new();
    for (work, name) in WAYS {
        let (mut plain_times, servers) = (Vec::new(), targets.len());
        let none = || vec![Cell::NotThere; servers];
        // Times and CPU by protocol and server.
        let mut figures = PROTOCOLS.map(|_| (none(), none()));
        let transfer = Transfer { work, size: SIZE };
        for _ in 0..arguments.rounds {
            plain_times.push(plain.run(transfer).await?);
            for (protocol, (times, cpu)) in PROTOCOLS.into_iter().zip(&mut figures) {
                for (place, (target, cluster)) in targets.iter().zip(&clusters).enumerate() {
                    let Some(cluster) = cluster else { continue };
                    let took = target.measure(cluster.exec(protocol, transfer, &file)).await?;
                    push(&mut times[place], Some(took.elapsed));
                    push(&mut cpu[place], took.cpu.map(|cpu| cpu * 1e3));
                }
            }
        }
        let best = plain_times.iter().copied().fold(f64::INFINITY, f64::min);
        let rates = Cell::Rounds(plain_times.iter().map(|time| SIZE as f64 / 1e6 / time).collect());
        rows.push(
            Row::new(format!("cat of 100 MB {name}, plain TLS"), "MB/s")
                .more_is_better()
                .of(vec![rates; servers]),
        );
        for (protocol, (times, cpu)) in PROTOCOLS.into_iter().zip(figures) {
            let shares = times.iter().map(|cell| scaled(cell, |time| 100.0 * best / time)).collect();
            rows.push(
                Row::new(format!("the same by exec, {protocol:?}, of the best plain TLS"), "%")
                    .budget(60.0)
                    .more_is_better()
                    .of(shares),
            );
            rows.push(Row::new(format!("the same by exec, {protocol:?}, CPU"), "ms").of(cpu));
        }
    }
    let mut idle = Vec::new();
    for (target, cluster) in targets.iter().zip(&clusters) {
        idle.push(match cluster {
            Some(cluster) => cluster.idle(target, &kubelet, arguments.forwards).await?,
            None => Cell::NotThere,
        });
    }
    let forwards = super::table::count(arguments.forwards);
    let row = Row::new(format!("{forwards} idle port-forwards, memory over none"), "MB").of(idle);
    rows.push(if arguments.forwards == 1000 { row.budget(40.0) } else { row });
    for cluster in clusters.iter().flatten() {
        cluster.tidy().await?;
    }
    Ok(rows)
}

/// A plain TLS connection to `cat`.
struct Plain {
    address: SocketAddr,
    connector: TlsConnector,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Plain {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Plain {
    async fn start(file: &Path) -> anyhow::Result<Plain> {
        let authority = Authority::new("plain");
        let (certificate, key) = authority.issue(&["localhost"], |_| {});
        let acceptor =
            TlsAcceptor::from(Arc::new(server_config(&HttpsOptions::default(), &certificate, &key)));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let file = file.to_owned();
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let _ = stream.set_nodelay(true);
                let (acceptor, file) = (acceptor.clone(), file.clone());
                tokio::spawn(async move {
                    let mut stream = acceptor.accept(stream).await?;
                    let work = match stream.read_u8().await? {
                        0 => Work::Print,
                        _ => Work::Return,
                    };
                    let (reading, writing) = tokio::io::split(stream);
                    cat(work, &file, reading, writing).await
                });
            }
        });
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = rustls::ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(AnyCertificate::new(provider)))
            .with_no_client_auth();
        Ok(Plain { address, connector: TlsConnector::from(Arc::new(config)), task })
    }

    /// Returns the time that it took, with the connection's beginning.
    async fn run(&self, transfer: Transfer) -> anyhow::Result<f64> {
        let Transfer { work, size } = transfer;
        let start = Instant::now();
        let stream = TcpStream::connect(self.address).await?;
        stream.set_nodelay(true)?;
        let mut stream = self.connector.connect(ServerName::try_from("localhost")?, stream).await?;
        stream.write_u8(u8::from(work == Work::Return)).await?;
        let (mut reading, mut writing) = tokio::io::split(stream);
        let up = async {
            if work == Work::Return {
                let chunk = vec![b'x'; CHUNK];
                for part in parts(size) {
                    writing.write_all(&chunk[..part]).await?;
                }
                writing.flush().await?;
                writing.shutdown().await?;
            }
            Ok::<_, anyhow::Error>(())
        };
        let down = async {
            let (mut buffer, mut received) = (vec![0; 2 * CHUNK], 0);
            while received < size {
                match reading.read(&mut buffer).await? {
                    0 => bail!("plain TLS ended after {received} bytes"),
                    read => received += read,
                }
            }
            Ok(())
        };
        tokio::try_join!(up, down)?;
        Ok(start.elapsed().as_secs_f64())
    }
}

/// The sizes of the chunks that are sent.
fn parts(size: usize) -> impl Iterator<Item = usize> {
    (0..size).step_by(CHUNK).map(move |at| CHUNK.min(size - at))
}

async fn cat(
    work: Work,
    file: &Path,
    mut reading: impl AsyncRead + Unpin,
    mut writing: impl AsyncWrite + Unpin,
) -> std::io::Result<()> {
    let mut command = Command::new("cat");
    if work == Work::Print {
        command.arg(file);
    }
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true).spawn()?;
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let up = async {
        let Some(mut stdin) = stdin.filter(|_| work == Work::Return) else { return Ok(()) };
        let mut buffer = vec![0; CHUNK];
        loop {
            match reading.read(&mut buffer).await? {
                0 => return std::io::Result::Ok(()),
                size => stdin.write_all(&buffer[..size]).await?,
            }
        }
    };
    let down = async {
        let Some(mut stdout) = stdout else { return Ok(()) };
        let mut buffer = vec![0; CHUNK];
        loop {
            match stdout.read(&mut buffer).await? {
                0 => break,
                size => writing.write_all(&buffer[..size]).await?,
            }
        }
        writing.flush().await?;
        writing.shutdown().await
    };
    tokio::try_join!(up, down)?;
    child.wait().await.map(drop)
}

/// A server with a node, whose kubelet is ours, and a pod on it.
struct Cluster {
    connection: super::client::Connection,
    client: Client,
    server: Url,
    pod: String,
}

impl Cluster {
    async fn new(target: &Target, kubelet: SocketAddr) -> anyhow::Result<Cluster> {
        let objects = target.objects.as_ref().context("the server has no namespaces")?;
        let connection = target.connection().clone();
        let node = json!({"kind": "Node", "apiVersion": "v1", "metadata": {"name": NODE}});
        connection.ask(Request::post("/api/v1/nodes", node.to_string())).await?;
        let status = json!({"status": {
            "addresses": [{"type": "InternalIP", "address": kubelet.ip().to_string()}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": kubelet.port()}},
        }});
        let path = format!("/api/v1/nodes/{NODE}/status");
        connection.expect(Request::patch(path, MERGE_PATCH, status.to_string())).await?;
        let pod = json!({"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "exec"},
            "spec": {"nodeName": NODE, "containers": [{"name": "c", "image": "c"}]}});
        connection.expect(Request::post(objects.path("pods"), pod.to_string())).await?;
        let kubeconfig = Kubeconfig::load(&target.kubeconfig)?;
        let client = Client::new(&kubeconfig.server, kubeconfig.client_options())?;
        let pod = format!("{}/exec", objects.path("pods"));
        Ok(Cluster { connection, client, server: kubeconfig.server, pod })
    }

    async fn tidy(&self) -> anyhow::Result<()> {
        self.connection.drain(Request::delete(format!("{}?gracePeriodSeconds=0", self.pod))).await?;
        self.connection.drain(Request::delete(format!("/api/v1/nodes/{NODE}"))).await?;
        Ok(())
    }

    /// Opens a connection to a subresource of the pod.
    async fn open(
        &self,
        method: Method,
        subresource: &str,
        query: &str,
        fields: &[(&'static str, &'static str)],
    ) -> anyhow::Result<BoxedStream> {
        let url = self.server.with_path(&format!("{}/{subresource}", self.pod)).with_query(query);
        let mut headers = HeaderMap::new();
        headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
        for (name, value) in fields {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        debug_assert!(headers.contains_key(UPGRADE));
        let streamed =
            self.client.stream(method, &url, headers, RequestBody::empty(), StreamLimits::default()).await?;
        match streamed {
            Streamed::Upgraded(upgraded) => Ok(upgraded.into_stream()),
            Streamed::Response(response) => {
                bail!("{subresource} was answered {} in place of an upgrade", response.status())
            }
        }
    }

    /// Runs `cat` in the pod and reads all of its output.
    async fn exec(&self, protocol: Protocol, transfer: Transfer, file: &Path) -> anyhow::Result<()> {
        let file = file.to_str().context("the path of a temporary file")?;
        let query = match transfer.work {
            Work::Print => format!("command=cat&command={file}&stdout=true"),
            Work::Return => "command=cat&stdin=true&stdout=true".to_owned(),
        };
        match protocol {
            Protocol::WebSocket => {
                let fields = websocket("v5.channel.k8s.io");
                let stream = self.open(Method::GET, "exec", &query, &fields).await?;
                exec_over_websocket(stream, transfer).await
            }
            Protocol::Spdy => {
                let fields = [("upgrade", "SPDY/3.1"), ("x-stream-protocol-version", "v4.channel.k8s.io")];
                let stream = self.open(Method::POST, "exec", &query, &fields).await?;
                exec_over_spdy(stream, transfer).await
            }
        }
    }

    /// Returns the memory that idle port-forwards take.
    async fn idle(&self, target: &Target, kubelet: &Kubelet, count: usize) -> anyhow::Result<Cell> {
        if !target.processes.are_known() {
            return Ok(Cell::Unknown);
        }
        let fields = websocket("SPDY/3.1+portforward.k8s.io");
        let mut open = vec![self.open(Method::GET, "portforward", "ports=80", &fields).await?];
        tokio::time::sleep(REST).await;
        let before = target.processes.resident();
        while open.len() <= count {
            let next = (0..AT_ONCE).map(|_| self.open(Method::GET, "portforward", "ports=80", &fields));
            open.extend(futures_util::future::try_join_all(next).await?);
        }
        tokio::time::sleep(REST).await;
        let grown = target.processes.resident() - before;
        ensure!(kubelet.streaming() >= count, "only {} of {count} are open", kubelet.streaming());
        Ok(Cell::one(grown))
    }
}

fn websocket(protocol: &'static str) -> [(&'static str, &'static str); 4] {
    [
        ("upgrade", "websocket"),
        ("sec-websocket-version", "13"),
        ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
        ("sec-websocket-protocol", protocol),
    ]
}

/// Returns a message of a client: its channel and data, masked by zeros.
fn message(channel: u8, data: &[u8]) -> BytesMut {
    let mut message = BytesMut::with_capacity(9 + data.len());
    let length = 1 + data.len();
    message.extend_from_slice(&[0x82, 0x80 | 126]);
    message.extend_from_slice(&(length as u16).to_be_bytes());
    message.extend_from_slice(&[0; 4]);
    message.extend_from_slice(&[channel]);
    message.extend_from_slice(data);
    message
}

/// Takes a message of the server off the front of what has arrived; returns its channel and its length.
fn take_message(arrived: &mut BytesMut) -> Option<(u8, usize)> {
    let (length, head) = match arrived.get(1)? {
        126 => (usize::from(u16::from_be_bytes([*arrived.get(2)?, *arrived.get(3)?])), 4),
        127 => (u64::from_be_bytes(*arrived.get(2..)?.first_chunk::<8>()?) as usize, 10),
        length => (usize::from(*length), 2),
    };
    if arrived.len() < head + length {
        return None;
    }
    let channel = arrived.get(head).copied().unwrap_or(u8::MAX);
    arrived.advance(head + length);
    Some((channel, length.saturating_sub(1)))
}

async fn exec_over_websocket(stream: BoxedStream, transfer: Transfer) -> anyhow::Result<()> {
    let Transfer { work, size } = transfer;
    let (mut reading, mut writing) = tokio::io::split(stream);
    let up = async {
        if work == Work::Return {
            let chunk = vec![b'x'; CHUNK];
            for part in parts(size) {
                writing.write_all(&message(0, &chunk[..part])).await?;
            }
            writing.write_all(&message(255, &[0])).await?;
            writing.flush().await?;
        }
        Ok::<_, anyhow::Error>(())
    };
    let down = async {
        let (mut arrived, mut received) = (BytesMut::with_capacity(4 * CHUNK), 0);
        loop {
            while let Some((channel, length)) = take_message(&mut arrived) {
                // The status follows the output.
                match channel {
                    1 => received += length,
                    _ => ensure!(received == size, "channel {channel} after {received} bytes"),
                }
            }
            if received == size {
                return Ok(());
            }
            arrived.reserve(2 * CHUNK);
            ensure!(reading.read_buf(&mut arrived).await? > 0, "exec ended after {received} bytes");
        }
    };
    tokio::try_join!(up, down)?;
    Ok(())
}

async fn exec_over_spdy(stream: BoxedStream, transfer: Transfer) -> anyhow::Result<()> {
    let Transfer { work, size } = transfer;
    let (mut reading, mut writing) = tokio::io::split(stream);
    let (mut writer, mut opening, mut next) = (Writer::default(), BytesMut::new(), 1);
    let kinds: &[&str] = match work {
        Work::Print => &["error", "stdout"],
        Work::Return => &["error", "stdin", "stdout"],
    };
    for kind in kinds {
        encode::syn_stream(&mut opening, next, &writer.block(&[("streamtype", kind)]));
        next += 2;
    }
    let stdout = next - 2;
    let up = async {
        writing.write_all(&opening).await?;
        if work == Work::Return {
            let chunk = vec![b'x'; CHUNK];
            for part in parts(size) {
                let mut frame = BytesMut::with_capacity(8 + part);
                encode::data(&mut frame, 3, false, &chunk[..part]);
                writing.write_all(&frame).await?;
            }
            let mut end = BytesMut::new();
            encode::data(&mut end, 3, true, b"");
            writing.write_all(&end).await?;
        }
        writing.flush().await?;
        Ok::<_, anyhow::Error>(())
    };
    let down = async {
        let (mut decoder, mut arrived, mut received) = (Decoder::default(), BytesMut::new(), 0);
        loop {
            while let Some(frame) = decoder.decode(&mut arrived)? {
                if let Frame::Data { stream, data, .. } = frame {
                    match stream == stdout {
                        true => received += data.len(),
                        false => ensure!(received == size, "stream {stream} after {received} bytes"),
                    }
                }
            }
            if received == size {
                return Ok(());
            }
            arrived.reserve(2 * CHUNK);
            ensure!(reading.read_buf(&mut arrived).await? > 0, "exec ended after {received} bytes");
        }
    };
    tokio::try_join!(up, down)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use pintle_outbound::{ClientOptions, TlsOptions};

    use super::*;

    const SMALL: Transfer = Transfer { work: Work::Return, size: 100_000 };

    #[tokio::test]
    async fn a_plain_connection_returns_what_it_is_sent_or_prints_a_file() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), vec![b'x'; SMALL.size]).unwrap();
        let plain = Plain::start(file.path()).await.unwrap();
        for work in [Work::Print, Work::Return] {
            assert!(plain.run(Transfer { work, ..SMALL }).await.unwrap() > 0.0);
        }
    }

    #[tokio::test]
    async fn exec_over_spdy_reads_all_that_it_has_sent() {
        let kubelet = Kubelet::start(Options::default()).await;
        let tls = TlsOptions { skip_verification: true, ..TlsOptions::default() };
        let client = Client::of_any(ClientOptions { tls, ..ClientOptions::default() }).unwrap();
        let url = format!("https://{}/exec/a/b/c", kubelet.address);
        let url = Url::parse(&url).unwrap().with_query("command=cat&input=1&output=1");
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("connection", "Upgrade"),
            ("upgrade", "SPDY/3.1"),
            ("x-stream-protocol-version", "v4.channel.k8s.io"),
        ] {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        let limits = StreamLimits::default();
        let streamed =
            client.stream(Method::POST, &url, headers, RequestBody::empty(), limits).await.unwrap();
        let Streamed::Upgraded(upgraded) = streamed else { panic!("no upgrade") };
        exec_over_spdy(upgraded.into_stream(), SMALL).await.unwrap();
    }

    #[test]
    fn messages_of_a_server_are_taken_whole() {
        let mut arrived = BytesMut::from(&b"\x82\x03\x01ab\x82\x7e\x00\x02\x01c\x82\x05\x01"[..]);
        assert_eq!(take_message(&mut arrived), Some((1, 2)));
        assert_eq!(take_message(&mut arrived), Some((1, 1)));
        assert_eq!(take_message(&mut arrived), None);
        assert_eq!(&message(0, b"ab")[..], b"\x82\xfe\x00\x03\0\0\0\0\0ab");
    }
}
