//! A small HTTPS client: the command line asking its own server.

use std::io::Write;
use std::sync::Arc;

use anyhow::{Context, anyhow, bail};
use bytes::Bytes;
use http::header::{HOST, HeaderName};
use http_body_util::{BodyExt, Empty};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::admin::Access;

/// Bytes of an error's body that are shown.
const MAX_ERROR: usize = 4096;

/// Fetches a path into `output`. `estimate` is the header that says about how long the answer will be.
pub(crate) async fn download(
    access: &Access,
    path: &str,
    estimate: &HeaderName,
    output: &mut impl Write,
    mut progress: impl FnMut(u64, u64),
) -> anyhow::Result<()> {
    let authority = access
        .server
        .strip_prefix("https://")
        .ok_or_else(|| anyhow!("the server's address {:?} does not begin with https://", access.server))?;
    let host = authority.rsplit_once(':').map_or(authority, |(host, _)| host).trim_matches(['[', ']']);
    let unreachable = || format!("cannot reach the server at {}", access.server);

    let stream = TcpStream::connect(authority.replace(['[', ']'], "")).await;
    let stream = match stream {
        Ok(stream) => stream,
        Err(_) => TcpStream::connect(authority).await.with_context(unreachable)?,
    };
    let name = ServerName::try_from(host.to_owned()).context("the server's name is not a DNS name")?;
    let stream = TlsConnector::from(tls(access)?).connect(name, stream).await.with_context(unreachable)?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.with_context(unreachable)?;
    let driver = tokio::spawn(connection);

    let request = http::Request::get(path).header(HOST, authority).body(Empty::<Bytes>::new())?;
    let response = sender.send_request(request).await.with_context(unreachable)?;
    let (head, mut body) = response.into_parts();
    if !head.status.is_success() {
        let text = http_body_util::Limited::new(body, MAX_ERROR).collect().await.map(|body| body.to_bytes());
        let text = text.map(|text| String::from_utf8_lossy(&text).trim().to_owned()).unwrap_or_default();
        bail!("the server answered {}: {text}", head.status);
    }
    let total = head.headers.get(estimate).and_then(|value| value.to_str().ok()?.parse().ok()).unwrap_or(0);
    let mut done = 0;
    while let Some(frame) = body.frame().await {
        let frame = frame.context("the server broke off in the middle")?;
        if let Some(chunk) = frame.data_ref() {
            output.write_all(chunk).context("cannot write")?;
            done += chunk.len() as u64;
            progress(done, total);
        }
    }
    drop(sender);
    let _ = driver.await;
    Ok(())
}

fn tls(access: &Access) -> anyhow::Result<Arc<ClientConfig>> {
    let mut roots = RootCertStore::empty();
    for authority in CertificateDer::pem_slice_iter(&access.authority) {
        roots.add(authority.context("the kubeconfig's authority is damaged")?)?;
    }
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&access.certificate).collect();
    let key =
        PrivateKeyDer::from_pem_slice(&access.key).map_err(|_| anyhow!("the kubeconfig's key is damaged"))?;
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_client_auth_cert(chain.context("the kubeconfig's certificate is damaged")?, key)?;
    Ok(Arc::new(config))
}
