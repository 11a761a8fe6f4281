//! A stand-in for etcd, for programs that start one, look at its health and pass on its address.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail};
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use pintle_server::{ListenOptions, listen};

use super::DIRECTORY_PATH;
use crate::print;
use crate::signals::Signals;

/// The release of etcd whose answers these are.
const VERSION: &str = "3.5.21";

/// Time for a client to send the head of a request.
const HEAD: Duration = Duration::from_secs(10);

const USAGE: &str = "A stand-in for etcd: it answers /health and /version and stores nothing.

Usage:
  etcd [flags]

Flags:
  --listen-client-urls 'http://localhost:2379'
    Addresses of the listener; plain HTTP.
  --data-dir 'default.etcd'
    Where kube-apiserver of the same folder keeps its store.
  --unsafe-no-fsync 'false'
    The store is never synchronised.

Other flags of etcd are taken, and named in a warning.
";

/// Flags whose values matter here, or that say what is so anyway.
const KNOWN: [&str; 4] = ["listen-client-urls", "data-dir", "unsafe-no-fsync", "advertise-client-urls"];

/// The settings of a stand-in.
#[derive(Debug, PartialEq)]
struct Settings {
    addresses: Vec<SocketAddr>,
    data_dir: PathBuf,
    /// Flags without effect.
    ignored: Vec<String>,
}

pub(super) fn command(args: &[&str]) -> anyhow::Result<()> {
    if args.iter().any(|arg| ["-h", "--help"].contains(arg)) {
        print(USAGE);
        return Ok(());
    }
    if args.contains(&"--version") {
        print(&format!("etcd Version: {VERSION}\nA stand-in by Pintle {}\n", env!("CARGO_PKG_VERSION")));
        return Ok(());
    }
    let settings = Settings::parse(args)?;
    if !settings.ignored.is_empty() {
        warn(&format!("this stand-in for etcd does nothing with --{}", settings.ignored.join(", --")));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(serve(settings))
}

impl Settings {
    fn parse(args: &[&str]) -> anyhow::Result<Settings> {
        let mut settings =
            Settings { addresses: Vec::new(), data_dir: "default.etcd".into(), ignored: Vec::new() };
        let mut urls = "http://127.0.0.1:2379";
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let Some(flag) = arg.strip_prefix("--").or_else(|| arg.strip_prefix('-')) else {
                bail!("etcd does not take {arg:?}; see etcd --help");
            };
            let (name, value) = match flag.split_once('=') {
                Some((name, value)) => (name, value),
                // A boolean flag has no value of its own.
                None if flag == "unsafe-no-fsync" => (flag, ""),
                None => (flag, *args.next().with_context(|| format!("--{flag} needs a value"))?),
            };
            match name {
                "listen-client-urls" => urls = value,
                "data-dir" => settings.data_dir = value.into(),
                name if KNOWN.contains(&name) => {}
                name => settings.ignored.push(name.to_owned()),
            }
        }
        for url in urls.split(',') {
            let host = url.strip_prefix("http://").with_context(|| {
                format!("--listen-client-urls: {url:?} does not begin with http://, which is all that this stand-in serves")
            })?;
            let address = host.replace("localhost", "127.0.0.1");
            settings.addresses.push(
                address
                    .parse()
                    .with_context(|| format!("--listen-client-urls: {url:?} is not an address"))?,
            );
        }
        Ok(settings)
    }
}

/// Answers until a signal ends it.
async fn serve(settings: Settings) -> anyhow::Result<()> {
    let mut signals = Signals::listen()?;
    let directory = std::path::absolute(&settings.data_dir)?;
    let directory = Bytes::from(directory.to_string_lossy().into_owned());
    for address in settings.addresses {
        let listener = listen(ListenOptions { address, share_port: false })
            .with_context(|| format!("cannot listen on {address} (--listen-client-urls)"))?;
        let directory = directory.clone();
        tokio::spawn(async move {
            loop {
                let Ok((stream, _)) = listener.accept().await else { continue };
                let directory = directory.clone();
                let answer = service_fn(move |request: Request<Incoming>| {
                    std::future::ready(Ok::<_, Infallible>(answer(
                        request.method(),
                        request.uri().path(),
                        &directory,
                    )))
                });
                let mut http = hyper::server::conn::http1::Builder::new();
                http.timer(TokioTimer::new()).header_read_timeout(HEAD);
                // A client that breaks off is its own affair.
                tokio::spawn(http.serve_connection(TokioIo::new(stream), answer));
            }
        });
    }
    signals.received().await;
    Ok(())
}

fn answer(method: &Method, path: &str, directory: &Bytes) -> Response<Full<Bytes>> {
    let body = match path {
        _ if method != Method::GET && method != Method::HEAD => None,
        "/health" | "/readyz" | "/livez" => Some(Bytes::from_static(br#"{"health":"true","reason":""}"#)),
        "/version" => {
            Some(format!(r#"{{"etcdserver":"{VERSION}","etcdcluster":"{}.0"}}"#, &VERSION[..3]).into())
        }
        DIRECTORY_PATH => Some(directory.clone()),
        _ => None,
    };
    let is_known = body.is_some();
    let mut response = Response::new(Full::new(body.unwrap_or_else(|| "404 page not found\n".into())));
    if !is_known {
        *response.status_mut() = StatusCode::NOT_FOUND;
    } else if path != DIRECTORY_PATH {
        response.headers_mut().insert(CONTENT_TYPE, http::HeaderValue::from_static("application/json"));
    }
    response
}

#[expect(clippy::print_stderr, reason = "the log of a program that has no other")]
fn warn(text: &str) {
    eprintln!("{text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flags_of_envtest_are_understood() {
        let settings = Settings::parse(&[
            "--advertise-client-urls=http://127.0.0.1:5",
            "--data-dir=/tmp/d",
            "--listen-client-urls=http://127.0.0.1:5,http://localhost:6",
            "--listen-peer-urls=http://127.0.0.1:7",
            "--unsafe-no-fsync=true",
            "--quota-backend-bytes",
            "1",
        ]);
        let addresses = ["127.0.0.1:5", "127.0.0.1:6"].map(|text| text.parse().expect("an address"));
        assert_eq!(
            settings.expect("settings"),
            Settings {
                addresses: addresses.into(),
                data_dir: "/tmp/d".into(),
                ignored: vec!["listen-peer-urls".into(), "quota-backend-bytes".into()],
            }
        );
    }

    #[test]
    fn addresses_that_cannot_be_served_are_refused() {
        let error =
            |url: &str| Settings::parse(&["--listen-client-urls", url]).expect_err("an error").to_string();
        assert!(error("https://127.0.0.1:5").contains("does not begin with http://"));
        assert!(error("http://nowhere").contains("is not an address"));
        assert!(Settings::parse(&["serve"]).is_err());
    }

    #[test]
    fn other_paths_and_methods_are_not_found() {
        let directory = Bytes::from_static(b"/d");
        let status = |method: Method, path: &str| answer(&method, path, &directory).status().as_u16();
        assert_eq!(status(Method::GET, "/health"), 200);
        assert_eq!(status(Method::GET, "/version"), 200);
        assert_eq!(status(Method::POST, "/health"), 404);
        assert_eq!(status(Method::POST, "/v3/kv/put"), 404);
    }
}
