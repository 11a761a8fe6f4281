//! The first thing a person reads.

use std::fmt::Write;
use std::net::SocketAddr;
use std::path::Path;

use pintle_flags::DataDir;

use crate::options::{Options, StoreOptions};

/// Returns the text that says how to use the server.
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
            let _ = writeln!(text, "  export KUBECONFIG={}", for_shell(kubeconfig));
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

/// A path that can be pasted into a shell, from any directory.
fn for_shell(path: &Path) -> String {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).display().to_string();
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+:@%".contains(&byte);
    if path.bytes().all(is_plain) { path } else { format!("'{}'", path.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_survives_the_shell() {
        assert_eq!(for_shell(Path::new("/a/b.c")), "/a/b.c");
        assert_eq!(for_shell(Path::new("/my data/it's")), r"'/my data/it'\''s'");
        assert!(for_shell(Path::new("a")).starts_with('/'));
    }
}
