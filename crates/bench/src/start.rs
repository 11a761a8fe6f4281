//! From nothing to ready, and what is resident then.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, SignatureScheme, StreamOwned};
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};

use crate::figures::{memory, show};

const ROUNDS: usize = 15;

struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Cold starts on an empty directory, then warm ones on the same; the median of each.
pub(crate) fn measure(program: &Path, directory: &Path) -> anyhow::Result<()> {
    ensure!(program.exists(), "{} is missing: make bench builds it", program.display());
    let client = Arc::new(client()?);
    let (mut cold, mut warm, mut resident) = (Vec::new(), Vec::new(), 0.0);
    for round in 0..ROUNDS {
        let data = directory.join(format!("start-{round}"));
        let (time, _) = start(program, &data, &client, Duration::ZERO)?;
        cold.push(time);
        let rest = if round + 1 == ROUNDS { Duration::from_secs(2) } else { Duration::ZERO };
        let (time, memory) = start(program, &data, &client, rest)?;
        warm.push(time);
        resident = memory;
    }
    show("server_cold_start_to_readyz", median(cold), "ms");
    show("server_warm_start_to_readyz", median(warm), "ms");
    show("server_idle_resident", resident, "MB");
    Ok(())
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64() * 1e3
}

fn start(
    program: &Path,
    data: &Path,
    client: &Arc<ClientConfig>,
    rest: Duration,
) -> anyhow::Result<(Duration, f64)> {
    let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    let start = Instant::now();
    let server = Command::new(program)
        .arg("--data-dir")
        .arg(data)
        .arg(format!("--secure-port={}", address.port()))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .with_context(|| format!("cannot start {}", program.display()))?;
    let server = Server(server);
    while !is_ready(address, client).unwrap_or(false) {
        ensure!(start.elapsed() < Duration::from_secs(10), "the server is not ready after 10 s");
        std::thread::sleep(Duration::from_micros(500));
    }
    let elapsed = start.elapsed();
    std::thread::sleep(rest);
    Ok((elapsed, memory(&server.0.id().to_string(), "VmRSS")))
}

fn is_ready(address: std::net::SocketAddr, client: &Arc<ClientConfig>) -> anyhow::Result<bool> {
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
    Ok(ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Anyone))
        .with_no_client_auth())
}

/// Takes any certificate: the server is our own child, on loopback.
#[derive(Debug)]
struct Anyone;

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        rustls::crypto::aws_lc_rs::default_provider().signature_verification_algorithms.supported_schemes()
    }
}
