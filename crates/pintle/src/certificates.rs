//! Certificates: those that are given, those that this server makes for itself, and their changes on disk.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use pintle_auth::Metrics;
use pintle_auth::authenticator::{ClientCertificates, RequestHeader};
use pintle_control_plane::ControlPlane;
use pintle_controllers::{FrontProxies, Trust};
use pintle_flags::DataDir;
use pintle_server::WatchedFiles;
use pintle_server::tls::{KeyPairFiles, Tls, TlsOptions, read_certificates};
use tokio::sync::Notify;

use crate::addresses::{client_host, names};
use crate::options::{AuthorityFiles, Options, RequestHeaderOptions, ServingOptions, StoreOptions};
use crate::pki::{self, Names, Pki};
use crate::{admin, sentence};

/// The certificates of this server, and the certificate authorities of its clients.
pub(crate) struct Certificates {
    pub(crate) tls: Arc<Tls>,
    client_ca: PathBuf,
    /// The certificates by which clients verify this server, as far as it knows.
    serving_ca: PathBuf,
    pub(crate) clients: Arc<ClientCertificates>,
    pub(crate) front_proxy: Option<Arc<RequestHeader>>,
    generated: Option<Generated>,
    /// Notified when certificate authorities have changed on disk.
    pub(crate) changed: Arc<Notify>,
    /// Files of which `tls` and `clients` are made.
    files: WatchedFiles,
    /// The directory of keys and certificates that this server makes for itself.
    pub(crate) cert_dir: PathBuf,
    /// Holds `cert_dir` while the server runs, if it is a temporary directory.
    _temporary: Option<tempfile::TempDir>,
}

/// The certificates that this server makes for itself, and renews.
#[derive(Clone)]
struct Generated {
    pki: Pki,
    names: Option<Names>,
    admin: Option<Admin>,
}

/// The administrator's kubeconfig.
#[derive(Clone)]
struct Admin {
    kubeconfig: PathBuf,
    authority: PathBuf,
    host: String,
}

impl Generated {
    /// Makes certificates that are missing or about to expire.
    fn ensure(&self) -> anyhow::Result<()> {
        if let Some(names) = &self.names {
            self.pki.ensure_serving(names)?;
        }
        if self.admin.is_some() {
            self.pki.ensure_admin()?;
        }
        Ok(())
    }

    /// Writes the kubeconfig, now that the port is known. Returns its path.
    fn write_kubeconfig(&self, port: u16) -> anyhow::Result<Option<PathBuf>> {
        let Some(Admin { kubeconfig, authority, host }) = &self.admin else { return Ok(None) };
        admin::write(kubeconfig, &format!("https://{host}:{port}"), authority, &self.pki.admin())?;
        Ok(Some(kubeconfig.clone()))
    }

    /// Issues certificates that are about to expire anew. Serving certificates are picked up from their files.
    fn renew(&self, port: u16) -> anyhow::Result<()> {
        self.ensure()?;
        self.write_kubeconfig(port).map(drop)
    }
}

impl Certificates {
    /// Reads the certificates that the options name, and makes those that they do not.
    pub(crate) fn load(options: &Options, metrics: &Metrics) -> anyhow::Result<Certificates> {
        let serving = &options.serving;
        let (cert_dir, temporary) = cert_dir(options)?;
        let pki = Pki::new(cert_dir.clone());

        let default = serving.key_pair.clone().unwrap_or_else(|| pki.serving());
        let makes_serving = serving.key_pair.is_none() && !pki.has_foreign_serving();
        let serving_ca = if makes_serving { pki.authority() } else { default.certificate.clone() };
        let admin = serving.client_ca.is_none().then(|| Admin {
            kubeconfig: cert_dir.join(admin::FILE_NAME),
            authority: serving_ca.clone(),
            host: client_host(serving),
        });
        let names = makes_serving.then(|| names(serving)).transpose()?;
        let generated =
            (names.is_some() || admin.is_some()).then(|| Generated { pki: pki.clone(), names, admin });
        if let Some(generated) = &generated {
            generated.ensure().context("cannot make certificates (--cert-dir says where they go)")?;
        }

        let client_ca = serving.client_ca.clone().unwrap_or_else(|| pki.authority());
        let front_proxy_ca = options.peers.request_header.as_ref().map(|proxy| proxy.client_ca.clone());
        let client_cas = std::iter::once(client_ca.clone()).chain(front_proxy_ca).collect();
        let tls = tls_options(serving, default, client_cas);
        let files = WatchedFiles::new(tls.files());
        let roots = read_certificates(&client_ca).context("--client-ca-file")?;
        let counted = metrics.clone();
        let clients = ClientCertificates::new(&roots, options.uid_from_certificates)
            .context("--client-ca-file")?
            .observed_by(Arc::new(move |remaining| counted.certificate_seen(remaining)));
        Ok(Certificates {
            tls: Arc::new(Tls::new(tls).context("cannot serve TLS")?),
            client_ca,
            serving_ca,
            clients: Arc::new(clients),
            front_proxy: front_proxy(options.peers.request_header.as_ref())?,
            generated,
            changed: Arc::default(),
            files,
            cert_dir,
            _temporary: temporary,
        })
    }

    /// Writes the administrator's kubeconfig, if there is one, now that the port is known. Returns its path.
    pub(crate) fn write_kubeconfig(&self, port: u16) -> anyhow::Result<Option<PathBuf>> {
        self.generated.as_ref().map_or(Ok(None), |generated| generated.write_kubeconfig(port))
    }

    /// Returns the certificate authorities that are published for other servers of the cluster.
    pub(crate) fn trust(&self, options: &Options) -> Trust {
        let bundle = |path: &PathBuf| {
            let path = path.clone();
            Arc::new(move || {
                std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
            })
        };
        Trust {
            client_ca: bundle(&self.client_ca),
            front_proxies: options.peers.request_header.as_ref().map(|proxies| FrontProxies {
                authority: bundle(&proxies.client_ca),
                lists: proxies.published.clone(),
            }),
            uid_headers: options.peers.uid_headers,
        }
    }

    /// Returns the authorities by which pods verify this server: those that are given, or those of the administrator's kubeconfig.
    pub(crate) fn root_ca(&self, options: &Options) -> anyhow::Result<Arc<str>> {
        let path = options.controllers.root_ca.as_ref().unwrap_or(&self.serving_ca);
        read_certificates(path).context("--root-ca-file")?;
        let text =
            std::fs::read_to_string(path).with_context(|| format!("--root-ca-file: {}", path.display()))?;
        Ok(text.into())
    }

    /// Returns the authority that this server made for itself, if it is also the one by which it knows its clients: certificates
    /// that it signs are accepted.
    pub(crate) fn own_authority(&self) -> Option<AuthorityFiles> {
        let pki = Pki::new(self.cert_dir.clone());
        let files = AuthorityFiles { certificate: pki.authority(), key: pki.authority_key() };
        (self.client_ca == files.certificate && files.key.exists()).then_some(files)
    }

    /// Takes up certificates that change on disk, and renews those of this server, as long as the control plane runs.
    pub(crate) fn keep(&self, options: &Options, port: u16, plane: &ControlPlane) {
        let (tls, changed) = (self.tls.clone(), self.changed.clone());
        let mut authorities = vec![(self.client_ca.clone(), self.clients.clone())];
        if let (Some(proxy), Some(of)) = (&self.front_proxy, &options.peers.request_header) {
            authorities.push((of.client_ca.clone(), proxy.proxies.clone()));
        }
        plane.spawner().spawn_until_stop(self.files.clone().watch(move || {
            match tls.reload() {
                Ok(()) => tracing::info!("reloaded certificates"),
                Err(error) => {
                    tracing::error!(%error, "certificates changed on disk and cannot be used, the old ones stay");
                }
            }
            for (path, trusted) in &authorities {
                let replaced = read_certificates(path)
                    .map_err(|error| error.to_string())
                    .and_then(|roots| trusted.replace(&roots).map_err(|error| error.to_string()));
                if let Err(error) = replaced {
                    let path = path.display();
                    tracing::error!(error, %path, "a client CA changed on disk and cannot be used, the old one stays");
                }
            }
            changed.notify_one();
        }));
        if let Some(generated) = self.generated.clone() {
            plane.spawner().spawn_until_stop(async move {
                loop {
                    tokio::time::sleep(pki::RENEWAL_INTERVAL).await;
                    if let Err(error) = generated.renew(port) {
                        tracing::error!(error = sentence(&error), "cannot renew certificates");
                    }
                }
            });
        }
    }
}

fn tls_options(serving: &ServingOptions, default: KeyPairFiles, client_cas: Vec<PathBuf>) -> TlsOptions {
    TlsOptions {
        default,
        named: serving.named_key_pairs.clone(),
        min_version: serving.min_version,
        cipher_suites: serving.cipher_suites.clone(),
        curve_preferences: serving.curve_preferences.clone(),
        http2: serving.http2,
        client_cas,
    }
}

/// Returns the directory of certificates: the one that is given, one beside the store, or a temporary one.
fn cert_dir(options: &Options) -> anyhow::Result<(PathBuf, Option<tempfile::TempDir>)> {
    if let Some(directory) = &options.serving.cert_dir {
        return Ok((directory.clone(), None));
    }
    match &options.store {
        StoreOptions::Embedded { location: DataDir::Path(directory), .. } => {
            Ok((directory.join("pki"), None))
        }
        _ => {
            let temporary = tempfile::Builder::new().prefix("pintle-").tempdir().context(
                "cannot make a temporary directory for certificates; --cert-dir names another place",
            )?;
            Ok((temporary.path().to_owned(), Some(temporary)))
        }
    }
}

fn front_proxy(options: Option<&RequestHeaderOptions>) -> anyhow::Result<Option<Arc<RequestHeader>>> {
    let Some(RequestHeaderOptions { client_ca, allowed_names, headers, .. }) = options else {
        return Ok(None);
    };
    let roots = read_certificates(client_ca).context("--requestheader-client-ca-file")?;
    let proxies = ClientCertificates::new(&roots, false).context("--requestheader-client-ca-file")?;
    Ok(Some(Arc::new(RequestHeader {
        proxies: Arc::new(proxies),
        allowed_names: allowed_names.clone(),
        headers: headers.clone(),
    })))
}
