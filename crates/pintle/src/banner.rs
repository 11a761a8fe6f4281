//! The first thing a person reads.

use std::fmt::Write;
use std::net::SocketAddr;
use std::path::Path;

use pintle_flags::DataDir;

use crate::options::{Options, StoreOptions};

/// How to use the server that has just started.
pub(crate) fn text(
    address: SocketAddr,
    kubeconfig: Option<&Path>,
    options: &Options,
    version: &str,
) -> String {
    let mut text = String::new();
    let pintle = env!("CARGO_PKG_VERSION");
    // Writing to a string does not fail.
    let _ = writeln!(text, "Pintle {pintle} (Kubernetes {version}) is serving on https://{address}\n");
    match kubeconfig {
        Some(kubeconfig) => {
            let _ = writeln!(text, "  export KUBECONFIG={}", kubeconfig.display());
            let _ = writeln!(text, "  kubectl version\n");
        }
        None => {
            let _ = writeln!(
                text,
                "Clients need a certificate of --client-ca-file or a token of --token-auth-file.\n"
            );
        }
    }
    let store = match &options.store {
        StoreOptions::Embedded { location: DataDir::Memory, .. } => {
            "in memory, gone when it stops".to_owned()
        }
        StoreOptions::Embedded { location: DataDir::Path(path), .. } => format!("in {}", path.display()),
        StoreOptions::Etcd(etcd) => format!("in etcd at {}", etcd.servers.join(",")),
    };
    let _ = writeln!(text, "Data is {store}. Stop with Ctrl-C.");
    text
}
