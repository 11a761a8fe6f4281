//! kubeconfig files, as far as a server uses them to reach another one.
//!
//! Credentials that need another program or a person (exec plugins, auth providers) are refused: a server that waits for them cannot
//! answer its own clients.

mod users;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

use crate::client::ClientOptions;
use crate::configuration::null_is_default;
use crate::credentials::Authorization;
use crate::tls::{KeyPair, Material, Roots, TlsOptions, reason};
use crate::url::Url;

pub use users::{Credentials, Users};

/// The cluster and user of the current context.
#[derive(Clone)]
pub struct Kubeconfig {
    pub server: Url,
    pub tls: TlsOptions,
    pub authorization: Authorization,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Error(String);

/// Larger ones are not configuration.
const LARGEST: u64 = 10 << 20;

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "kebab-case")]
struct File {
    #[serde(deserialize_with = "null_is_default")]
    clusters: Vec<Named<ClusterEntry>>,
    #[serde(deserialize_with = "null_is_default")]
    users: Vec<Named<UserEntry>>,
    #[serde(deserialize_with = "null_is_default")]
    contexts: Vec<Named<ContextEntry>>,
    #[serde(deserialize_with = "null_is_default")]
    current_context: String,
}

#[derive(Deserialize)]
struct Named<T> {
    #[serde(default)]
    name: String,
    #[serde(flatten)]
    entry: T,
}

#[derive(Deserialize)]
struct ClusterEntry {
    #[serde(default, deserialize_with = "null_is_default")]
    cluster: Cluster,
}

#[derive(Deserialize)]
struct UserEntry {
    #[serde(default, deserialize_with = "null_is_default")]
    user: User,
}

#[derive(Deserialize)]
struct ContextEntry {
    #[serde(default, deserialize_with = "null_is_default")]
    context: Context,
}

#[derive(Deserialize, Default, Clone, PartialEq)]
#[serde(default, rename_all = "kebab-case")]
struct Cluster {
    server: String,
    certificate_authority: String,
    certificate_authority_data: String,
    insecure_skip_tls_verify: bool,
    tls_server_name: String,
    proxy_url: String,
}

#[derive(Deserialize, Default, Clone)]
#[serde(default, rename_all = "kebab-case")]
struct User {
    client_certificate: String,
    client_certificate_data: String,
    client_key: String,
    client_key_data: String,
    token: String,
    #[serde(rename = "tokenFile")]
    token_file: String,
    username: String,
    password: String,
    exec: Option<serde_json::Value>,
    auth_provider: Option<serde_json::Value>,
    #[serde(rename = "as")]
    impersonate: String,
}

#[derive(Deserialize, Default, Clone)]
#[serde(default)]
struct Context {
    cluster: String,
    user: String,
}

impl File {
    fn parse(text: &[u8]) -> Result<File, Error> {
        let json = pintle_codec::yaml::to_json(text).map_err(|error| Error(error.to_string()))?;
        let file: Option<File> =
            serde_json::from_slice(&json).map_err(|error| Error(without_values(&error)))?;
        Ok(file.unwrap_or_default())
    }
}

impl Kubeconfig {
    pub fn load(path: &Path) -> Result<Kubeconfig, Error> {
        load(path, Kubeconfig::parse)
    }

    /// `base`: what paths in it are relative to.
    pub fn parse(text: &[u8], base: &Path) -> Result<Kubeconfig, Error> {
        let file = File::parse(text)?;
        if file.clusters.is_empty() && file.users.is_empty() && file.contexts.is_empty() {
            return Err(Error("invalid configuration: no configuration has been provided".into()));
        }
        if file.current_context.is_empty() {
            return Err(Error("no context chosen".into()));
        }
        let mut problems = Vec::new();
        let contexts: BTreeMap<_, _> =
            file.contexts.into_iter().map(|named| (named.name, named.entry.context)).collect();
        let clusters: BTreeMap<_, _> =
            file.clusters.into_iter().map(|named| (named.name, named.entry.cluster)).collect();
        let users: BTreeMap<_, _> =
            file.users.into_iter().map(|named| (named.name, named.entry.user)).collect();
        let name = &file.current_context;
        let Some(context) = contexts.get(name) else {
            return Err(Error(format!("context {} does not exist", pintle_meta::quote(name))));
        };
        let quote = pintle_meta::quote;
        match context.user.as_str() {
            "" => problems.push(format!("user was not specified for context {}", quote(name))),
            user if !users.contains_key(user) => {
                problems.push(format!("user {} was not found for context {}", quote(user), quote(name)));
            }
            _ => {}
        }
        match context.cluster.as_str() {
            "" => problems.push(format!("cluster was not specified for context {}", quote(name))),
            cluster if !clusters.contains_key(cluster) => {
                problems.push(format!(
                    "cluster {} was not found for context {}",
                    quote(cluster),
                    quote(name)
                ));
            }
            _ => {}
        }
        let user = users.get(&context.user).cloned().unwrap_or_default();
        check_user(&context.user, &user, base, &mut problems);
        let cluster = clusters.get(&context.cluster).cloned().unwrap_or_default();
        check_cluster(&context.cluster, &cluster, base, &mut problems);
        if !problems.is_empty() {
            let problems = match problems.as_slice() {
                [one] => one.clone(),
                several => format!("[{}]", several.join(", ")),
            };
            return Err(Error(format!("invalid configuration: {problems}")));
        }
        assemble(&cluster, &user, base)
    }

    pub fn client_options(&self) -> ClientOptions {
        ClientOptions {
            tls: self.tls.clone(),
            authorization: self.authorization.clone(),
            ..ClientOptions::default()
        }
    }
}

/// Reads a file and parses it, relative to its folder.
fn load<T>(path: &Path, parse: impl FnOnce(&[u8], &Path) -> Result<T, Error>) -> Result<T, Error> {
    let failed = |error: &std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => Error(format!("stat {}: no such file or directory", path.display())),
        _ => Error(format!("open {}: {}", path.display(), reason(error))),
    };
    if std::fs::metadata(path).map_err(|error| failed(&error))?.len() > LARGEST {
        return Err(Error(format!("{} is longer than {LARGEST} bytes", path.display())));
    }
    let text = std::fs::read(path).map_err(|error| failed(&error))?;
    let base = path.parent().unwrap_or(Path::new(""));
    parse(&text, base).map_err(|Error(why)| {
        Error(format!("error loading config file {}: {why}", pintle_meta::quote(&path.display().to_string())))
    })
}

/// Returns serde's message about a wrong value without the value, which may be a key.
fn without_values(error: &serde_json::Error) -> String {
    format!(
        "json: cannot unmarshal it into a Config (line {} column {} of its JSON)",
        error.line(),
        error.column()
    )
}

fn check_user(name: &str, user: &User, base: &Path, problems: &mut Vec<String>) {
    let mut methods = Vec::new();
    if !user.token.is_empty() {
        methods.push("token");
    }
    if !user.username.is_empty() || !user.password.is_empty() {
        methods.push("basicAuth");
    }
    if !user.client_certificate.is_empty() || !user.client_certificate_data.is_empty() {
        if !user.client_certificate.is_empty() && !user.client_certificate_data.is_empty() {
            problems.push(format!("client-cert-data and client-cert are both specified for {name}. client-cert-data will override."));
        }
        if !user.client_key.is_empty() && !user.client_key_data.is_empty() {
            problems.push(format!(
                "client-key-data and client-key are both specified for {name}; client-key-data will override"
            ));
        }
        if user.client_key.is_empty() && user.client_key_data.is_empty() {
            problems.push(format!("client-key-data or client-key must be specified for {name} to use the clientCert authentication method."));
        }
        unreadable("client-cert", &user.client_certificate, name, base, problems);
        unreadable("client-key", &user.client_key, name, base, problems);
    }
    if user.exec.is_some() {
        problems.push(format!("exec plugins are not supported here, and user {name} has one: use a certificate, a token or a tokenFile"));
    }
    if user.auth_provider.is_some() {
        problems.push(format!("auth providers are not supported here, and user {name} has one: use a certificate, a token or a tokenFile"));
    }
    if !user.impersonate.is_empty() {
        problems.push(format!("impersonation is not supported here, and user {name} asks for it"));
    }
    if methods.len() > 1 {
        problems.push(format!(
            "more than one authentication method found for {name}; found [{}], only one is allowed",
            methods.join(" ")
        ));
    }
}

fn check_cluster(name: &str, cluster: &Cluster, base: &Path, problems: &mut Vec<String>) {
    if *cluster == Cluster::default() {
        problems.push("cluster has no server defined".into());
        return;
    }
    if cluster.server.is_empty() {
        problems.push(match name {
            "" => "default cluster has no server defined".into(),
            name => format!("no server found for cluster {}", pintle_meta::quote(name)),
        });
    }
    if !cluster.proxy_url.is_empty() {
        problems.push(format!("proxies are not supported here, and cluster {name} has a proxy-url"));
    }
    if !cluster.certificate_authority.is_empty() && !cluster.certificate_authority_data.is_empty() {
        problems.push(format!("certificate-authority-data and certificate-authority are both specified for {name}. certificate-authority-data will override."));
    }
    unreadable("certificate-authority", &cluster.certificate_authority, name, base, problems);
}

fn unreadable(what: &str, path: &str, name: &str, base: &Path, problems: &mut Vec<String>) {
    if path.is_empty() {
        return;
    }
    let path = base.join(path);
    if let Err(error) = std::fs::File::open(&path) {
        let shown = path.display();
        problems.push(format!(
            "unable to read {what} {shown} for {name} due to open {shown}: {}",
            reason(&error)
        ));
    }
}

fn assemble(cluster: &Cluster, user: &User, base: &Path) -> Result<Kubeconfig, Error> {
    let server = match cluster.server.contains("://") {
        true => cluster.server.clone(),
        false => format!("http://{}", cluster.server),
    };
    let server = Url::parse(&server).map_err(|error| Error(error.to_string()))?;
    // A query would be lost anyway, and dots in paths are resolved once.
    let server = server.with_path(&clean(server.path()));
    // Nothing secret goes over a connection that anyone can read.
    if !server.is_https() {
        return Ok(Kubeconfig { server, tls: TlsOptions::default(), authorization: Authorization::None });
    }
    let roots = match material(
        "certificate-authority-data",
        &cluster.certificate_authority,
        &cluster.certificate_authority_data,
        base,
    )? {
        Some(_) if cluster.insecure_skip_tls_verify => {
            return Err(Error(
                "specifying a root certificates file with the insecure flag is not allowed".into(),
            ));
        }
        Some(bundle) => Roots::Bundle(bundle),
        None => Roots::System,
    };
    let (key_pair, authorization) = credentials(user, base)?;
    let tls = TlsOptions {
        roots,
        key_pair,
        server_name: Some(cluster.tls_server_name.clone()).filter(|name| !name.is_empty()),
        skip_verification: cluster.insecure_skip_tls_verify,
        http1_only: false,
    };
    Ok(Kubeconfig { server, tls, authorization })
}

/// Returns the certificate of a user with its key, and what goes into the `Authorization` header.
fn credentials(user: &User, base: &Path) -> Result<(Option<KeyPair>, Authorization), Error> {
    let certificate =
        material("client-certificate-data", &user.client_certificate, &user.client_certificate_data, base)?;
    let key = material("client-key-data", &user.client_key, &user.client_key_data, base)?;
    let key_pair = match (certificate, key) {
        (Some(certificate), Some(key)) => Some(KeyPair { certificate, key }),
        _ => None,
    };
    let authorization = match user {
        User { token_file, .. } if !token_file.is_empty() => Authorization::BearerFile(base.join(token_file)),
        User { token, .. } if !token.is_empty() => Authorization::Bearer(token.clone()),
        User { username, password, .. } if !username.is_empty() || !password.is_empty() => {
            Authorization::Basic { user: username.clone(), password: password.clone() }
        }
        _ => Authorization::None,
    };
    Ok((key_pair, authorization))
}

/// Data wins over a file.
fn material(what: &str, path: &str, data: &str, base: &Path) -> Result<Option<Material>, Error> {
    if !data.is_empty() {
        let data: String = data.chars().filter(|c| !c.is_ascii_whitespace()).collect();
        let text = STANDARD.decode(data).map_err(|_| Error(format!("{what} is not base64")))?;
        return Ok(Some(Material::Text(text)));
    }
    Ok((!path.is_empty()).then(|| Material::File(PathBuf::from(base).join(path))))
}

/// A path without empty parts, dots and a slash at its end.
fn clean(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Kubeconfig, String> {
        Kubeconfig::parse(text.as_bytes(), Path::new("/base")).map_err(|error| error.to_string())
    }

    fn config(cluster: &str, user: &str) -> String {
        format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts:\n- name: c\n  context: {{cluster: k, user: u}}\n\
             clusters:\n- name: k\n  cluster: {cluster}\nusers:\n- name: u\n  user: {user}\n"
        )
    }

    #[test]
    fn the_current_context_names_cluster_and_user() {
        let found = parse(&config(
            "{server: 'https://a.example:8443/b/../c/?x=y', tls-server-name: name, insecure-skip-tls-verify: true}",
            "{token: t}",
        ))
        .unwrap();
        assert_eq!(found.server.to_string(), "https://a.example:8443/c");
        assert_eq!(found.tls.server_name.as_deref(), Some("name"));
        assert!(found.tls.skip_verification);
        assert!(found.authorization == Authorization::Bearer("t".into()));
    }

    #[test]
    fn paths_are_relative_to_the_file_and_must_be_there() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("ca.pem"), "x").unwrap();
        let text = config("{server: 'https://a', certificate-authority: ca.pem}", "{tokenFile: t}");
        let found = Kubeconfig::parse(text.as_bytes(), directory.path()).unwrap();
        assert_eq!(found.tls.roots, Roots::Bundle(Material::File(directory.path().join("ca.pem"))));
        assert!(found.authorization == Authorization::BearerFile(directory.path().join("t")));
        assert_eq!(
            parse(&text).err().unwrap(),
            "invalid configuration: unable to read certificate-authority /base/ca.pem for k due to open \
             /base/ca.pem: no such file or directory"
        );
    }

    #[test]
    fn nothing_secret_goes_over_plain_http() {
        let found = parse(&config("{server: '127.0.0.1:80'}", "{token: t}")).unwrap();
        assert!(!found.server.is_https());
        assert!(found.authorization == Authorization::None);
    }

    #[test]
    fn an_unusable_kubeconfig_is_explained() {
        let check = |text: &str, expect: &str| {
            let error = parse(text).err().unwrap_or_default();
            assert!(error.contains(expect), "{error}");
        };
        check("", "no configuration has been provided");
        check(&config("{server: 'https://a'}", "{}").replace("current-context: c", ""), "no context chosen");
        check(
            &config("{server: 'https://a'}", "{}").replace("current-context: c", "current-context: d"),
            "context \"d\" does not exist",
        );
        check(&config("{}", "{}"), "cluster has no server defined");
        check(
            &config("{server: 'https://a'}", "{exec: {command: x}}"),
            "exec plugins are not supported here",
        );
        check(
            &config("{server: 'https://a'}", "{auth-provider: {name: gcp}}"),
            "auth providers are not supported here",
        );
        check(
            &config("{server: 'https://a'}", "{token: t, username: u}"),
            "found [token basicAuth], only one is allowed",
        );
        check(
            &config("{server: 'https://a'}", "{client-certificate-data: eA==}"),
            "client-key-data or client-key must be specified for u",
        );
        check(
            &config("{server: 'https://a', certificate-authority-data: '*'}", "{}"),
            "certificate-authority-data is not base64",
        );
        check(
            &config("{server: 'https://a'}", "{}").replace("user: u", "user: v"),
            "user \"v\" was not found for context \"c\"",
        );
    }

    #[test]
    fn a_secret_of_the_wrong_shape_is_not_shown() {
        let error = parse(&config("{server: 'https://a'}", "{token: {secret: sesame}}")).err().unwrap();
        assert!(!error.contains("sesame"), "{error}");
    }
}
