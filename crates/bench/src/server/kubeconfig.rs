//! Server and user of the current context of a kubeconfig.

use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail, ensure};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

/// The parts of a kubeconfig that a client needs.
#[derive(Debug)]
pub(crate) struct Access {
    /// `host:port`, as it is dialled.
    pub(crate) address: String,
    /// Prefix of every path, if the server is not at the root of its address.
    pub(crate) prefix: String,
    /// The name in the server's certificate.
    pub(crate) server_name: String,
    /// PEM. None: any certificate will do.
    pub(crate) authority: Option<Vec<u8>>,
    /// PEM of the chain and of the key.
    pub(crate) certificate: Option<(Vec<u8>, Vec<u8>)>,
    pub(crate) token: Option<String>,
}

impl Access {
    pub(crate) fn read(path: &Path) -> anyhow::Result<Access> {
        let text = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        let folder = path.parent().unwrap_or(Path::new("."));
        Access::parse(&text, folder).with_context(|| format!("cannot use {}", path.display()))
    }

    fn parse(text: &[u8], folder: &Path) -> anyhow::Result<Access> {
        let json = pintle_codec::yaml::to_json(text).map_err(|error| anyhow!("{error}"))?;
        let config: Value = serde_json::from_slice(&json)?;
        let context = string(&config, "current-context").context("it has no current context")?;
        let context = named(&config, "contexts", "context", context)?;
        let part = |list, item| {
            let name = string(context, item).with_context(|| format!("its context names no {item}"))?;
            named(&config, list, item, name)
        };
        let (cluster, user) = (part("clusters", "cluster")?, part("users", "user")?);
        let file = |of: &Value, name: &str| content(of, name, folder);

        let (address, prefix) =
            split_server(string(cluster, "server").context("its cluster has no server")?)?;
        let host = address.rsplit_once(':').map_or(&*address, |(host, _)| host).trim_matches(['[', ']']);
        let server_name = string(cluster, "tls-server-name").unwrap_or(host).to_owned();
        let authority = if cluster["insecure-skip-tls-verify"] == Value::Bool(true) {
            None
        } else {
            Some(file(cluster, "certificate-authority")?.context("it has no certificate-authority")?)
        };
        let certificate = match (file(user, "client-certificate")?, file(user, "client-key")?) {
            (Some(certificate), Some(key)) => Some((certificate, key)),
            (None, None) => None,
            _ => bail!("its user has only one of client-certificate and client-key"),
        };
        let token = match (string(user, "token"), string(user, "tokenFile")) {
            (Some(token), _) => Some(token.to_owned()),
            (None, Some(path)) => Some(
                std::fs::read_to_string(folder.join(path))
                    .with_context(|| format!("cannot read its token in {path}"))?
                    .trim()
                    .to_owned(),
            ),
            (None, None) => None,
        };
        ensure!(
            certificate.is_some() || token.is_some(),
            "its user has neither a client certificate nor a token, and other ways to log in are not known here"
        );
        Ok(Access { address, prefix, server_name, authority, certificate, token })
    }
}

fn string<'a>(of: &'a Value, name: &str) -> Option<&'a str> {
    of[name].as_str().filter(|text| !text.is_empty())
}

/// The item of a list of named ones.
fn named<'a>(config: &'a Value, list: &str, item: &str, name: &str) -> anyhow::Result<&'a Value> {
    let items = config[list].as_array().into_iter().flatten();
    let found = items.into_iter().find(|entry| entry["name"] == name).map(|entry| &entry[item]);
    found.with_context(|| format!("it has no {item} {name:?}"))
}

/// `name` is a file, `name-data` what would be in it.
fn content(of: &Value, name: &str, folder: &Path) -> anyhow::Result<Option<Vec<u8>>> {
    if let Some(data) = string(of, &format!("{name}-data")) {
        return Ok(Some(STANDARD.decode(data).with_context(|| format!("its {name}-data is not base64"))?));
    }
    let Some(path) = string(of, name).map(|path| folder.join(PathBuf::from(path))) else { return Ok(None) };
    std::fs::read(&path).with_context(|| format!("cannot read {}", path.display())).map(Some)
}

/// `https://host:port/prefix` in its parts.
fn split_server(server: &str) -> anyhow::Result<(String, String)> {
    let Some(rest) = server.strip_prefix("https://") else {
        bail!("its server is {server:?}, which does not begin with https://");
    };
    let (authority, prefix) = rest.find('/').map_or((rest, ""), |slash| rest.split_at(slash));
    let has_port = authority.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    let address = if has_port { authority.to_owned() } else { format!("{authority}:443") };
    Ok((address, prefix.trim_end_matches('/').to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(cluster: &str, user: &str) -> anyhow::Result<Access> {
        let text = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: there\n\
             contexts:\n- name: elsewhere\n  context: {{cluster: x, user: y}}\n- name: there\n  context:\n    cluster: c\n    user: u\n\
             clusters:\n- name: c\n  cluster: {cluster}\nusers:\n- name: u\n  user: {user}\n"
        );
        Access::parse(text.as_bytes(), Path::new("/nowhere"))
    }

    fn mistake(cluster: &str, user: &str) -> String {
        format!("{:#}", parse(cluster, user).unwrap_err())
    }

    #[test]
    fn the_current_context_is_read() {
        let access = parse(
            "{server: 'https://10.0.0.1:6443/', certificate-authority-data: Y2E=}",
            "{client-certificate-data: Y2VydA==, client-key-data: a2V5}",
        )
        .unwrap();
        assert_eq!(
            (&*access.address, &*access.prefix, &*access.server_name),
            ("10.0.0.1:6443", "", "10.0.0.1")
        );
        assert_eq!(access.authority.as_deref(), Some(&b"ca"[..]));
        assert_eq!(access.certificate, Some((b"cert".to_vec(), b"key".to_vec())));
        assert_eq!(access.token, None);
    }

    #[test]
    fn a_token_and_an_unverified_server_will_do() {
        let access =
            parse("{server: 'https://[::1]/k8s/c/', insecure-skip-tls-verify: true}", "{token: secret}")
                .unwrap();
        assert_eq!((&*access.address, &*access.prefix, &*access.server_name), ("[::1]:443", "/k8s/c", "::1"));
        assert!(access.authority.is_none() && access.certificate.is_none());
        assert_eq!(access.token.as_deref(), Some("secret"));
    }

    #[test]
    fn missing_fields_are_named() {
        let good = "{server: 'https://a', certificate-authority-data: Y2E=}";
        assert_eq!(mistake("{server: 'https://a'}", "{token: t}"), "it has no certificate-authority");
        assert!(mistake("{server: 'http://a'}", "{token: t}").contains("does not begin with https://"));
        assert!(
            mistake(good, "{exec: {command: login}}").contains("neither a client certificate nor a token")
        );
        assert!(mistake(good, "{client-key-data: a2V5}").contains("only one of"));
        assert!(mistake(good, "{tokenFile: token}").starts_with("cannot read its token in token"));
        assert!(format!("{:#}", Access::parse(b"a: [", Path::new(".")).unwrap_err()).contains("yaml"));
        assert_eq!(
            format!("{:#}", Access::parse(b"{}", Path::new(".")).unwrap_err()),
            "it has no current context"
        );
    }
}
