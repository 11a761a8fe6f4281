//! The administrator's kubeconfig: all that kubectl needs, in one private file.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pintle_server::tls::KeyPairFiles;

use crate::files::write_private;

/// The name of the file beside the certificates.
pub(crate) const FILE_NAME: &str = "admin.kubeconfig";

/// Writes a kubeconfig for these credentials. `authority` is what the client verifies the server by.
pub(crate) fn write(path: &Path, server: &str, authority: &Path, admin: &KeyPairFiles) -> anyhow::Result<()> {
    let read = |path: &PathBuf| {
        let content = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        Ok::<_, anyhow::Error>(STANDARD.encode(content))
    };
    let authority = read(&authority.to_owned())?;
    let (certificate, key) = (read(&admin.certificate)?, read(&admin.key)?);
    let mut text = String::new();
    let lines = [
        "apiVersion: v1",
        "kind: Config",
        "clusters:",
        "- name: pintle",
        "  cluster:",
        &format!("    server: {server}"),
        &format!("    certificate-authority-data: {authority}"),
        "users:",
        "- name: admin",
        "  user:",
        &format!("    client-certificate-data: {certificate}"),
        &format!("    client-key-data: {key}"),
        "contexts:",
        "- name: pintle",
        "  context:",
        "    cluster: pintle",
        "    user: admin",
        "current-context: pintle",
    ];
    for line in lines {
        writeln!(text, "{line}")?;
    }
    write_private(path, text.as_bytes())
}

/// The content of a kubeconfig written by [`write`].
pub(crate) struct Access {
    pub(crate) server: String,
    pub(crate) authority: Vec<u8>,
    pub(crate) certificate: Vec<u8>,
    pub(crate) key: Vec<u8>,
}

/// Reads a file written by [`write`]. It is not a parser of other kubeconfigs.
pub(crate) fn read(path: &Path) -> anyhow::Result<Access> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let field = |name: &str| {
        text.lines()
            .find_map(|line| line.trim_start().strip_prefix(name)?.strip_prefix(": "))
            .with_context(|| format!("{} has no {name}; it was not written by Pintle", path.display()))
    };
    let decoded = |name: &str| {
        STANDARD.decode(field(name)?).with_context(|| format!("{} is damaged at {name}", path.display()))
    };
    Ok(Access {
        server: field("server")?.to_owned(),
        authority: decoded("certificate-authority-data")?,
        certificate: decoded("client-certificate-data")?,
        key: decoded("client-key-data")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pki::Pki;

    #[test]
    fn a_written_kubeconfig_can_be_read() {
        let dir = tempfile::tempdir().unwrap();
        let pki = Pki::new(dir.path().into());
        pki.ensure_admin().unwrap();
        let path = dir.path().join(FILE_NAME);
        write(&path, "https://127.0.0.1:6443", &pki.authority(), &pki.admin()).unwrap();
        let access = read(&path).unwrap();
        assert_eq!(access.server, "https://127.0.0.1:6443");
        assert_eq!(access.authority, std::fs::read(pki.authority()).unwrap());
        assert_eq!(access.key, std::fs::read(pki.admin().key).unwrap());
    }
}
