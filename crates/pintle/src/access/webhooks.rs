//! Webhooks that the flags name.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow};
use pintle_auth::authenticator::{TokenAuthenticator, TokenCache, TokenCacheOptions, WebhookTokens};
use pintle_auth::authorizer::{WebhookAuthorizer, WebhookOptions};
use pintle_auth::review::Version;
use pintle_auth::{Authorizer, Decision, Metrics};
use pintle_outbound::webhook::Backoff;
use pintle_outbound::{ClientOptions, Kubeconfig, Webhook};

use crate::options::{AuthorizationWebhookOptions, TokenWebhookOptions};

/// Time limit of one request.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Returns the webhook that is asked about tokens that no other authenticator knows.
pub(crate) fn tokens(
    options: &TokenWebhookOptions,
    audiences: Arc<[String]>,
    client: ClientOptions,
) -> anyhow::Result<Arc<dyn TokenAuthenticator>> {
    const FLAG: &str = "--authentication-token-webhook-config-file";
    let version = Version::named(&options.version).ok_or_else(|| {
        anyhow!(
            "unsupported authentication webhook version {:?}, supported versions are \"v1\", \"v1beta1\"",
            options.version
        )
    })?;
    let kubeconfig = Kubeconfig::load(&options.kubeconfig).context(FLAG)?;
    let client = ClientOptions { timeout: TIMEOUT, ..client };
    let webhook = Webhook::from_kubeconfig(&kubeconfig, client, Backoff::default()).context(FLAG)?;
    let cache = TokenCacheOptions {
        success: options.cache_ttl,
        failure: options.cache_ttl,
        // A webhook that could not be reached may answer the next time.
        keep_errors: false,
        ..TokenCacheOptions::default()
    };
    let tokens = Arc::new(WebhookTokens { webhook, version, audiences });
    Ok(Arc::new(TokenCache::new(tokens, cache, None)?))
}

/// Returns the mode Webhook of `--authorization-mode`.
pub(crate) fn authorizer(
    options: &AuthorizationWebhookOptions,
    selectors: bool,
    metrics: &Metrics,
    client: ClientOptions,
) -> anyhow::Result<Arc<dyn Authorizer>> {
    const FLAG: &str = "--authorization-webhook-config-file";
    let version = Version::named(&options.version).ok_or_else(|| {
        anyhow!(
            "unsupported webhook authorizer version {:?}, supported versions are \"v1\", \"v1beta1\"",
            options.version
        )
    })?;
    let kubeconfig = Kubeconfig::load(&options.kubeconfig).context(FLAG)?;
    let clock = client.clock.clone();
    let client = ClientOptions { timeout: TIMEOUT, ..client };
    let webhook = Webhook::from_kubeconfig(&kubeconfig, client, Backoff::default()).context(FLAG)?;
    let options = WebhookOptions {
        name: "webhook".into(),
        version,
        allowed_ttl: options.allowed_ttl,
        denied_ttl: options.denied_ttl,
        on_error: Decision::NoOpinion,
        selectors,
    };
    let events = Arc::new(metrics.clone());
    Ok(Arc::new(WebhookAuthorizer::new(webhook, options, None, Some(events), clock)))
}
