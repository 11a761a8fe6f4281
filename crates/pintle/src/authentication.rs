//! The authenticators that options and files name.

use std::sync::Arc;

use anyhow::Context;
use pintle_auth::authenticator::{self, BasicAuth, TokenFile};
use pintle_auth::{Authenticator, TokenAuthenticator};
use pintle_control_plane::{AuthenticationConfig, ServiceAccountConfig};
use pintle_outbound::ClientOptions;

use crate::access::issuers::Configured;
use crate::access::webhooks;
use crate::certificates::Certificates;
use crate::options::Options;

/// Returns the authentication of a control plane.
pub(crate) fn config(
    options: &Options,
    certificates: &Certificates,
    service_accounts: ServiceAccountConfig,
    issuers: Option<&Configured>,
    client: ClientOptions,
) -> anyhow::Result<AuthenticationConfig> {
    if options.anonymous_auth && !options.allows_anonymous() {
        tracing::warn!(
            "AnonymousAuth is not allowed with the AlwaysAllow authorizer. Resetting AnonymousAuth to false. You should use \
             a different authorizer"
        );
    }
    let audiences = service_accounts.audiences.clone();
    let mut first_tokens: Vec<Arc<dyn TokenAuthenticator>> = Vec::new();
    if let Some(path) = &options.token_auth_file {
        let tokens =
            TokenFile::load(path).with_context(|| format!("--token-auth-file: {}", path.display()))?;
        first_tokens.push(Arc::new(authenticator::ForThisServer { tokens, audiences: audiences.clone() }));
    }
    let mut last_tokens: Vec<Arc<dyn TokenAuthenticator>> = Vec::new();
    if let Some(configured) = issuers {
        let tokens = configured.issuers.clone();
        last_tokens.push(Arc::new(authenticator::ForThisServer { tokens, audiences: audiences.clone() }));
    }
    if let Some(options) = &options.peers.token_webhook {
        last_tokens.push(webhooks::tokens(options, audiences, client)?);
    }
    Ok(AuthenticationConfig {
        requests: requests(options, certificates)?,
        first_tokens,
        service_accounts,
        last_tokens,
        anonymous_paths: anonymous_paths(options, issuers),
        front_proxy: options.peers.request_header.as_ref().map(|proxy| proxy.headers.clone()),
        challenge: options.peers.basic_auth_file.as_ref().map(|_| authenticator::basic::CHALLENGE),
        trust: certificates.trust(options),
        trust_changed: certificates.changed.clone(),
    })
}

/// Returns the authenticators that come before bearer tokens.
fn requests(options: &Options, certificates: &Certificates) -> anyhow::Result<Vec<Arc<dyn Authenticator>>> {
    let mut all: Vec<Arc<dyn Authenticator>> = Vec::new();
    // Before client certificates: a front proxy has one, and does not ask for itself.
    all.extend(certificates.front_proxy.clone().map(|proxy| proxy as Arc<dyn Authenticator>));
    all.push(certificates.clients.clone());
    if let Some(path) = &options.peers.basic_auth_file {
        let file = BasicAuth::load(path).with_context(|| format!("--basic-auth-file: {}", path.display()))?;
        all.push(Arc::new(file));
    }
    Ok(all)
}

/// Returns the paths that take requests without credentials; empty: all of them; `None`: none.
fn anonymous_paths(options: &Options, issuers: Option<&Configured>) -> Option<Vec<String>> {
    let anonymous = issuers.and_then(|configured| configured.anonymous.as_ref());
    let conditions = anonymous.map(|anonymous| anonymous.conditions.as_slice()).unwrap_or_default();
    let enabled = anonymous.map_or(options.allows_anonymous(), |anonymous| anonymous.enabled);
    enabled.then(|| conditions.iter().map(|condition| condition.path.clone()).collect())
}
