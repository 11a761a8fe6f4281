//! Downloads from the server that runs on the same data directory, for the command line.

use std::io::Write;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use http::header::HeaderName;
use http::{HeaderMap, Method};
use http_body_util::BodyExt;
use pintle_outbound::{
    Client, ClientOptions, KeyPair, Material, RequestBody, Roots, StreamLimits, Streamed, TlsOptions, Url,
};

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
    if !access.server.starts_with("https://") {
        bail!("the server's address {:?} does not begin with https://", access.server);
    }
    let url = Url::parse(&access.server).context("the server's address is not a URL")?.with_path(path);
    let client = Client::new(&url, ClientOptions { tls: tls(access), ..ClientOptions::default() })
        .context("the kubeconfig is damaged")?;
    // A snapshot of a large store takes its time.
    let limits = StreamLimits { header: Duration::MAX, ..StreamLimits::default() };
    let streamed = client.stream(Method::GET, &url, HeaderMap::new(), RequestBody::empty(), limits).await;
    let streamed = streamed.with_context(|| format!("cannot reach the server at {}", access.server))?;
    let Streamed::Response(response) = streamed else { return Err(anyhow!("the server switched protocols")) };
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
    Ok(())
}

fn tls(access: &Access) -> TlsOptions {
    let text = |pem: &[u8]| Material::Text(pem.to_vec());
    TlsOptions {
        roots: Roots::Bundle(text(&access.authority)),
        key_pair: Some(KeyPair { certificate: text(&access.certificate), key: text(&access.key) }),
        http1_only: true,
        ..TlsOptions::default()
    }
}
