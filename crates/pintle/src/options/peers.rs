//! Options of authentication and authorization by others: front proxies, password files, webhooks, token issuers.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use pintle_auth::authenticator::FrontProxyHeaders;
use pintle_control_plane::server_id;
use pintle_controllers::FrontProxies;
use pintle_features::Feature;
use pintle_flags::Parsed;

use super::path;
use crate::addresses::host_name;

pub(crate) struct PeerOptions {
    pub(crate) request_header: Option<RequestHeaderOptions>,
    pub(crate) basic_auth_file: Option<PathBuf>,
    pub(crate) token_webhook: Option<TokenWebhookOptions>,
    pub(crate) authorization_webhook: Option<AuthorizationWebhookOptions>,
    pub(crate) authentication: AuthenticationSource,
    /// Whether `--anonymous-auth` is given.
    pub(crate) anonymous_flag: bool,
    /// `--authorization-config`.
    pub(crate) authorization_config: Option<PathBuf>,
    /// Whether reviews carry selectors.
    pub(crate) selectors: bool,
    /// The name of this server in metrics; empty if servers have no identity.
    pub(crate) server_id: String,
    /// Whether front proxies may name uids.
    pub(crate) uid_headers: bool,
    /// Whether there are metrics of the keys of issuers.
    pub(crate) key_metrics: bool,
    /// `--proxy-client-cert-file` and `--proxy-client-key-file`, if both are given.
    pub(crate) proxy_client: Option<(PathBuf, PathBuf)>,
    /// `--aggregator-reject-forwarding-redirect`.
    pub(crate) refuses_redirects: bool,
    /// `--egress-selector-config-file`.
    pub(crate) egress_config: Option<PathBuf>,
    /// Whether issuers of tokens may be behind an egress proxy.
    pub(crate) issuer_networks: bool,
}

/// The source of token issuers.
pub(crate) enum AuthenticationSource {
    None,
    Flags(OidcOptions),
    File(PathBuf),
}

/// `--oidc-*`.
pub(crate) struct OidcOptions {
    pub(crate) issuer_url: String,
    pub(crate) client_id: String,
    pub(crate) ca_file: Option<PathBuf>,
    pub(crate) username_claim: String,
    pub(crate) username_prefix: String,
    pub(crate) groups_claim: String,
    pub(crate) groups_prefix: String,
    pub(crate) algorithms: Vec<String>,
    pub(crate) required_claims: BTreeMap<String, String>,
}

impl AuthenticationSource {
    fn from_flags(flags: &Parsed) -> AuthenticationSource {
        if let Some(path) = path(flags, "authentication-config") {
            return AuthenticationSource::File(path);
        }
        let text = |name: &str| flags.string(name).to_owned();
        match flags.non_empty("oidc-issuer-url") {
            None => AuthenticationSource::None,
            Some(issuer_url) => AuthenticationSource::Flags(OidcOptions {
                issuer_url: issuer_url.to_owned(),
                client_id: text("oidc-client-id"),
                ca_file: path(flags, "oidc-ca-file"),
                username_claim: text("oidc-username-claim"),
                username_prefix: text("oidc-username-prefix"),
                groups_claim: text("oidc-groups-claim"),
                groups_prefix: text("oidc-groups-prefix"),
                algorithms: flags.strings("oidc-signing-algs").to_vec(),
                required_claims: flags.pairs("oidc-required-claim").clone(),
            }),
        }
    }
}

/// `--authentication-token-webhook-*`.
pub(crate) struct TokenWebhookOptions {
    pub(crate) kubeconfig: PathBuf,
    pub(crate) version: String,
    pub(crate) cache_ttl: Duration,
}

/// `--authorization-webhook-*`.
#[derive(Clone)]
pub(crate) struct AuthorizationWebhookOptions {
    pub(crate) kubeconfig: PathBuf,
    pub(crate) version: String,
    pub(crate) allowed_ttl: Duration,
    pub(crate) denied_ttl: Duration,
}

/// `--requestheader-*`.
pub(crate) struct RequestHeaderOptions {
    pub(crate) client_ca: PathBuf,
    pub(crate) allowed_names: Vec<String>,
    pub(crate) headers: FrontProxyHeaders,
    /// The flags as they are published for other servers of the cluster.
    pub(crate) published: BTreeMap<&'static str, Vec<String>>,
}

impl PeerOptions {
    pub(super) fn from_flags(flags: &Parsed) -> PeerOptions {
        let request_header = path(flags, "requestheader-client-ca-file").map(|client_ca| {
            let of = |name: &str| flags.strings(name).to_vec();
            RequestHeaderOptions {
                client_ca,
                published: [
                    (FrontProxies::ALLOWED_NAMES, of("requestheader-allowed-names")),
                    (FrontProxies::EXTRA_PREFIXES, of("requestheader-extra-headers-prefix")),
                    (FrontProxies::GROUP_HEADERS, of("requestheader-group-headers")),
                    (FrontProxies::UID_HEADERS, of("requestheader-uid-headers")),
                    (FrontProxies::USERNAME_HEADERS, of("requestheader-username-headers")),
                ]
                .into(),
                allowed_names: of("requestheader-allowed-names"),
                headers: FrontProxyHeaders::new(
                    &of("requestheader-username-headers"),
                    &of("requestheader-uid-headers"),
                    &of("requestheader-group-headers"),
                    &of("requestheader-extra-headers-prefix"),
                ),
            }
        });
        let token_webhook =
            path(flags, "authentication-token-webhook-config-file").map(|kubeconfig| TokenWebhookOptions {
                kubeconfig,
                version: flags.string("authentication-token-webhook-version").to_owned(),
                cache_ttl: flags.duration("authentication-token-webhook-cache-ttl"),
            });
        let authorization_webhook =
            path(flags, "authorization-webhook-config-file").map(|kubeconfig| AuthorizationWebhookOptions {
                kubeconfig,
                version: flags.string("authorization-webhook-version").to_owned(),
                allowed_ttl: flags.duration("authorization-webhook-cache-authorized-ttl"),
                denied_ttl: flags.duration("authorization-webhook-cache-unauthorized-ttl"),
            });
        let features = flags.features();
        PeerOptions {
            request_header,
            basic_auth_file: path(flags, "basic-auth-file"),
            token_webhook,
            authorization_webhook,
            authentication: AuthenticationSource::from_flags(flags),
            anonymous_flag: flags.changed("anonymous-auth"),
            authorization_config: path(flags, "authorization-config"),
            selectors: features.enabled(Feature::AuthorizeWithSelectors),
            server_id: if features.enabled(Feature::APIServerIdentity) {
                server_id(&host_name())
            } else {
                String::new()
            },
            uid_headers: features.enabled(Feature::RemoteRequestHeaderUID),
            key_metrics: features.enabled(Feature::StructuredAuthenticationConfigurationJWKSMetrics),
            proxy_client: path(flags, "proxy-client-cert-file").zip(path(flags, "proxy-client-key-file")),
            refuses_redirects: flags.bool("aggregator-reject-forwarding-redirect"),
            egress_config: path(flags, "egress-selector-config-file"),
            issuer_networks: features.enabled(Feature::StructuredAuthenticationConfigurationEgressSelector),
        }
    }
}
