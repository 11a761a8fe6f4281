//! Issuers of tokens that the flags or a file name, and what the file says about anonymous requests.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use pintle_auth::authenticator::{Issuers, KeyEvents, Oidc};
use pintle_auth::configuration::AuthenticationConfiguration;
use pintle_auth::configuration::authentication::{
    Anonymous, ClaimMappings, ClaimValidationRule, Issuer, JwtAuthenticator, Mapping, Rules,
};
use pintle_auth::jwt::Algorithm;
use pintle_auth::{Configuration, Metrics};
use pintle_outbound::egress::Selector;
use pintle_runtime::{Clock, Spawner, Stopwatch};
use pintle_server::WatchedFiles;
use tokio::sync::Notify;

use crate::options::{AuthenticationSource, OidcOptions, PeerOptions};

/// How long the discovery of new issuers may take before the file that names them counts as failed.
const PATIENCE: Duration = Duration::from_secs(60);

/// The issuers whose tokens are accepted.
pub(crate) struct Configured {
    pub(crate) issuers: Arc<Issuers>,
    /// The file's rules for requests without credentials, if it has any.
    pub(crate) anonymous: Option<Anonymous>,
    file: Option<File>,
    counted: Counted,
}

struct File {
    path: PathBuf,
    watched: WatchedFiles,
    content: Vec<u8>,
}

/// Counts for metrics, under the name of this server.
#[derive(Clone)]
struct Counted {
    metrics: Metrics,
    server: String,
    /// Whether fetches of keys are counted.
    keys: bool,
}

impl KeyEvents for Counted {
    fn fetched(&self, issuer: &str, keys: Option<&[u8]>) {
        if self.keys {
            self.metrics.keys_fetched(issuer, keys, &self.server);
        }
    }

    fn judged(&self, issuer: &str, success: bool, took: Duration) {
        self.metrics.token_judged(issuer, success, took);
    }
}

/// The settings with which authenticators of issuers are made, at start and whenever the file changes.
#[derive(Clone)]
pub(crate) struct Makers {
    /// Issuers of this server itself, which no other may be.
    pub(crate) own: Vec<String>,
    /// Whether issuers may be behind a proxy, and the proxies.
    pub(crate) networks: bool,
    pub(crate) egress: Option<Selector>,
    pub(crate) clock: Clock,
    pub(crate) spawner: Spawner,
}

impl Makers {
    fn rules(&self) -> Rules<'_> {
        Rules { disallowed: &self.own, egress_selectors: self.networks }
    }
}

/// Reads the issuers of flags or file.
pub(crate) fn load(
    options: &PeerOptions,
    makers: &Makers,
    metrics: &Metrics,
) -> anyhow::Result<Option<Configured>> {
    let counted =
        Counted { metrics: metrics.clone(), server: options.server_id.clone(), keys: options.key_metrics };
    match &options.authentication {
        AuthenticationSource::None => Ok(None),
        AuthenticationSource::Flags(options) => {
            let configuration =
                AuthenticationConfiguration { jwt: vec![from_flags(options)?], anonymous: None };
            let errors = configuration.validate(makers.rules());
            if !errors.is_empty() {
                bail!("{}", pintle_meta::field_path::aggregate(&errors));
            }
            let algorithms = options.algorithms.iter().map(|name| {
                Algorithm::named(name).ok_or_else(|| anyhow!("oidc: unsupported signing alg: {name:?}"))
            });
            let algorithms: Vec<Algorithm> = algorithms.collect::<Result<_, _>>()?;
            let issuers = build(&configuration, &algorithms, makers, &counted)?;
            Ok(Some(Configured {
                issuers: Arc::new(Issuers::new(issuers)),
                anonymous: None,
                file: None,
                counted,
            }))
        }
        AuthenticationSource::File(path) => {
            let watched = WatchedFiles::new(vec![path.clone()]);
            let flag = || format!("--authentication-config: {}", path.display());
            let content = std::fs::read(path).with_context(flag)?;
            let configuration = AuthenticationConfiguration::read(&content, makers.rules())
                .map_err(|error| anyhow!("invalid authentication configuration: {error}"))
                .with_context(flag)?;
            if configuration.anonymous.is_some() && options.anonymous_flag {
                bail!(
                    "anonymous: Forbidden: --anonymous-auth flag cannot be set when anonymous field is configured in \
                     authentication configuration file"
                );
            }
            let issuers = build(&configuration, &Algorithm::ALL, makers, &counted)?;
            metrics.configured(Configuration::Authentication, &content, &options.server_id);
            Ok(Some(Configured {
                issuers: Arc::new(Issuers::new(issuers)),
                anonymous: configuration.anonymous,
                file: Some(File { path: path.clone(), watched, content }),
                counted,
            }))
        }
    }
}

fn build(
    configuration: &AuthenticationConfiguration,
    algorithms: &[Algorithm],
    makers: &Makers,
    counted: &Counted,
) -> anyhow::Result<Vec<Oidc>> {
    let events: Arc<dyn KeyEvents> = Arc::new(counted.clone());
    let one = |issuer: &JwtAuthenticator| {
        let (algorithms, events) = (algorithms.to_vec(), Some(events.clone()));
        let (clock, spawner) = (makers.clock.clone(), makers.spawner.clone());
        Oidc::new(issuer.clone(), algorithms, events, makers.egress.as_ref(), clock, spawner)
            .map_err(|error| anyhow!(error))
    };
    configuration.jwt.iter().map(one).collect()
}

fn from_flags(options: &OidcOptions) -> anyhow::Result<JwtAuthenticator> {
    let certificate_authority = match &options.ca_file {
        Some(path) => {
            std::fs::read_to_string(path).with_context(|| format!("--oidc-ca-file: {}", path.display()))?
        }
        None => String::new(),
    };
    // As in the reference: an email names its domain, other names get the issuer as prefix.
    let prefix = match options.username_prefix.as_str() {
        "-" => String::new(),
        "" if options.username_claim != "email" => format!("{}#", options.issuer_url),
        prefix => prefix.to_owned(),
    };
    let groups = match options.groups_claim.as_str() {
        "" => Mapping::default(),
        claim => Mapping {
            claim: claim.to_owned(),
            prefix: Some(options.groups_prefix.clone()),
            ..Mapping::default()
        },
    };
    let username =
        Mapping { claim: options.username_claim.clone(), prefix: Some(prefix), ..Mapping::default() };
    let rules = options.required_claims.iter().map(|(claim, value)| ClaimValidationRule {
        claim: claim.clone(),
        required_value: value.clone(),
        ..ClaimValidationRule::default()
    });
    Ok(JwtAuthenticator {
        issuer: Issuer {
            url: options.issuer_url.clone(),
            audiences: vec![options.client_id.clone()],
            certificate_authority,
            ..Issuer::default()
        },
        claim_validation_rules: rules.collect(),
        claim_mappings: ClaimMappings { username, groups, ..ClaimMappings::default() },
        user_validation_rules: Vec::new(),
    })
}

/// Follows changes of the file. One that cannot be used changes nothing.
pub(crate) fn follow(configured: Configured, makers: Makers, spawner: &Spawner) {
    let Configured { issuers, anonymous, file, counted } = configured;
    let Some(File { path, watched, mut content }) = file else { return };
    let changed = Arc::new(Notify::new());
    let notice = changed.clone();
    spawner.spawn_until_stop(watched.watch(move || notice.notify_one()));
    spawner.spawn_until_stop(async move {
        loop {
            changed.notified().await;
            let done = reload(&path, &content, &makers, anonymous.as_ref(), &issuers, &counted).await;
            match done {
                Ok(None) => {}
                Ok(Some(fresh)) => {
                    tracing::info!("reloaded authentication config");
                    counted.metrics.reloaded(Configuration::Authentication, true, &counted.server);
                    counted.metrics.configured(Configuration::Authentication, &fresh, &counted.server);
                    content = fresh;
                }
                Err(error) => {
                    counted.metrics.reloaded(Configuration::Authentication, false, &counted.server);
                    let error = format!("{error:#}");
                    tracing::error!(
                        error,
                        "the authentication config changed and cannot be used, the old one stays"
                    );
                }
            }
        }
    });
}

/// Returns the new content of the file, if it has changed and is in use now.
async fn reload(
    path: &Path,
    content: &[u8],
    makers: &Makers,
    anonymous: Option<&Anonymous>,
    issuers: &Issuers,
    counted: &Counted,
) -> anyhow::Result<Option<Vec<u8>>> {
    let fresh = std::fs::read(path)?;
    if fresh == content {
        return Ok(None);
    }
    let configuration = AuthenticationConfiguration::read(&fresh, makers.rules())?;
    if configuration.anonymous.as_ref() != anonymous {
        bail!("anonymous: Forbidden: changed from initial configuration file");
    }
    let built = build(&configuration, &Algorithm::ALL, makers, counted)?;
    let waiting = Stopwatch::start();
    while let Some(problem) = built.iter().find_map(Oidc::problem) {
        if waiting.elapsed() >= PATIENCE {
            bail!("{problem}");
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    for gone in issuers.replace(built) {
        counted.metrics.issuer_removed(&gone, &counted.server);
    }
    Ok(Some(fresh))
}
