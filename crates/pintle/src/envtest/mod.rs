//! `pintle envtest`: what controller-runtime's envtest starts, from a folder that `make envtest` makes.
//!
//! ```text
//! envtest             KUBEBUILDER_ASSETS
//!   etcd ...          etcd            -> pintle envtest etcd ...             stands in for etcd: health, and a directory
//!   kube-apiserver    kube-apiserver  -> pintle envtest kube-apiserver ...   the server, on the embedded store there
//! ```
//!
//! envtest starts an etcd, waits for its health, and hands its address to kube-apiserver. The stand-in stores nothing: the server
//! learns from it which data directory envtest gave it, and keeps its store there. So the data goes when envtest removes the
//! directory, and stays while it restarts the server alone. Behind a real etcd the server uses that.

mod etcd;

use std::ffi::OsString;
use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use anyhow::bail;
use pintle_flags::REFERENCE;

use crate::print;

/// The path at which a stand-in says where it was told to store its data.
const DIRECTORY_PATH: &str = "/pintle/data-dir";

/// Time limit of the stand-in's answer, which is on this machine.
const PATIENCE: Duration = Duration::from_secs(5);
const MOST: u64 = 64 << 10;

const USAGE: &str = "Stand for the programs that controller-runtime's envtest starts.

Usage:
  pintle envtest etcd [flags of etcd]
  pintle envtest kube-apiserver [flags of kube-apiserver]

make envtest makes a folder with programs of these names. In another project:

  export KUBEBUILDER_ASSETS=/path/to/build/envtest
  go test ./...
";

pub(crate) fn command(args: &[OsString]) -> anyhow::Result<()> {
    let words: Vec<&str> = args.iter().map(|word| word.to_str().unwrap_or_default()).collect();
    match words[..] {
        ["etcd", ..] => etcd::command(&words[1..]),
        ["kube-apiserver", ..] => crate::serve(REFERENCE, server_args(&args[1..])),
        [] | ["-h" | "--help"] => {
            print(USAGE);
            Ok(())
        }
        _ => bail!("pintle envtest knows etcd and kube-apiserver; see pintle envtest --help"),
    }
}

/// Returns the arguments of the server: the embedded store in the stand-in's directory instead of an etcd, if that is one.
fn server_args(args: &[OsString]) -> Vec<OsString> {
    let directory = etcd_servers(args).and_then(|server| data_dir(&server));
    let Some(directory) = directory else { return args.to_vec() };
    let (mut kept, mut args) = (Vec::new(), args.iter());
    while let Some(arg) = args.next() {
        let text = arg.to_string_lossy();
        match text.strip_prefix("--etcd-") {
            // Without a value behind `=`, the next word is it.
            Some(flag) if !flag.contains('=') => drop(args.next()),
            Some(_) => {}
            None => kept.push(arg.clone()),
        }
    }
    let mut data_dir = OsString::from("--data-dir=");
    data_dir.push(directory);
    kept.extend([data_dir, "--unsafe-no-fsync".into()]);
    kept
}

/// Returns the value of `--etcd-servers`, where it is one.
fn etcd_servers(args: &[OsString]) -> Option<String> {
    let mut args = args.iter().map(|arg| arg.to_string_lossy());
    while let Some(arg) = args.next() {
        if let Some(value) = arg.strip_prefix("--etcd-servers=") {
            return Some(value.to_owned());
        }
        if arg == "--etcd-servers" {
            return args.next().map(|value| value.into_owned());
        }
    }
    None
}

/// Asks a stand-in for its directory; `None` if it is not one.
fn data_dir(server: &str) -> Option<String> {
    let host = server.strip_prefix("http://")?.trim_end_matches('/');
    let address = host.to_socket_addrs().ok()?.next()?;
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    stream.set_write_timeout(Some(PATIENCE)).ok()?;
    let request = format!("GET {DIRECTORY_PATH} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.take(MOST).read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let is_ok = head.split(' ').nth(1) == Some("200");
    (is_ok && !body.is_empty()).then(|| body.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn os(words: &[&str]) -> Vec<OsString> {
        words.iter().map(OsString::from).collect()
    }

    #[test]
    fn the_address_of_etcd_is_found_in_both_spellings() {
        assert_eq!(etcd_servers(&os(&["--v=1", "--etcd-servers=http://a:1"])).as_deref(), Some("http://a:1"));
        assert_eq!(etcd_servers(&os(&["--etcd-servers", "http://a:1"])).as_deref(), Some("http://a:1"));
        assert_eq!(etcd_servers(&os(&["--etcd-prefix=x"])), None);
    }

    #[test]
    fn without_a_stand_in_the_arguments_stay() {
        // The port is one that nothing listens on.
        let args = os(&["--etcd-servers=http://127.0.0.1:1", "--secure-port=5"]);
        assert_eq!(server_args(&args), args);
    }

    #[test]
    fn the_store_is_in_the_directory_of_the_stand_in() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let server = format!("http://{}", listener.local_addr().expect("an address"));
        let answering = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a request");
            let mut request = [0; 1024];
            let read = stream.read(&mut request).expect("a request");
            assert!(request[..read].starts_with(b"GET /pintle/data-dir "));
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\n/tmp/x").expect("an answer");
        });
        let args = os(&["--etcd-servers", &server, "--etcd-prefix=/p", "--secure-port=5"]);
        assert_eq!(server_args(&args), os(&["--secure-port=5", "--data-dir=/tmp/x", "--unsafe-no-fsync"]));
        answering.join().expect("no panic");
    }
}
