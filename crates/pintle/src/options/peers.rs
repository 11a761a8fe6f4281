//! Whom the server believes or asks about its clients: front proxies, password files, webhooks, token issuers.

use std::path::PathBuf;
use std::time::Duration;

use pintle_auth::authenticator::FrontProxyHeaders;
use pintle_flags::Parsed;

use super::path;

pub(crate) struct PeerOptions {
    pub(crate) request_header: Option<RequestHeaderOptions>,
    pub(crate) basic_auth_file: Option<PathBuf>,
    pub(crate) token_webhook: Option<TokenWebhookOptions>,
    pub(crate) authorization_webhook: Option<AuthorizationWebhookOptions>,
}

/// `--authentication-token-webhook-*`.
pub(crate) struct TokenWebhookOptions {
    pub(crate) kubeconfig: PathBuf,
    pub(crate) version: String,
    pub(crate) cache_ttl: Duration,
}

/// `--authorization-webhook-*`.
pub(crate) struct AuthorizationWebhookOptions {
    pub(crate) kubeconfig: PathBuf,
    pub(crate) version: String,
    pub(crate) allowed_ttl: Duration,
    pub(crate) denied_ttl: Duration,
    /// Whether reviews carry selectors.
    pub(crate) selectors: bool,
}

/// Front proxies.
pub(crate) struct RequestHeaderOptions {
    pub(crate) client_ca: PathBuf,
    pub(crate) allowed_names: Vec<String>,
    pub(crate) headers: FrontProxyHeaders,
}

impl PeerOptions {
    pub(super) fn from_flags(flags: &Parsed) -> PeerOptions {
        let request_header = path(flags, "requestheader-client-ca-file").map(|client_ca| {
            let of = |name: &str| flags.strings(name).to_vec();
            RequestHeaderOptions {
                client_ca,
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
                selectors: flags.feature_gates().enabled("AuthorizeWithSelectors"),
            });
        PeerOptions {
            request_header,
            basic_auth_file: path(flags, "basic-auth-file"),
            token_webhook,
            authorization_webhook,
        }
    }
}
