//! The authenticators of the control plane, put together in the reference's order.

use std::sync::Arc;

use pintle_auth::Metrics;
use pintle_auth::authenticator::{
    BearerToken, OrAnonymous, TokenCache, TokenCacheOptions, TokenUnion, Union, WebSocketToken,
};
use pintle_auth::{Authenticator, TokenAuthenticator};

use super::StoredAccounts;
use crate::Error;
use crate::config::AuthenticationConfig;

/// The authenticators of bearer tokens, which TokenReviews ask too.
#[derive(Clone)]
pub(crate) struct Tokens {
    pub(crate) authenticator: Arc<dyn TokenAuthenticator>,
    /// The audiences of this server.
    pub(crate) audiences: Arc<[String]>,
    /// Whether requests without credentials are taken at every path.
    pub(crate) anonymous: bool,
}

impl Tokens {
    pub(crate) fn new(
        config: &AuthenticationConfig,
        accounts: Arc<StoredAccounts>,
        metrics: Metrics,
    ) -> Result<Tokens, Error> {
        let mut tokens = config.first_tokens.clone();
        tokens.extend(config.service_accounts.authenticators(accounts));
        // Looking for an issuer's keys or asking a webhook takes longest.
        tokens.extend(config.last_tokens.iter().cloned());
        let all = Arc::new(TokenUnion(tokens));
        let cached = TokenCache::new(all, TokenCacheOptions::default(), Some(Arc::new(metrics)));
        Ok(Tokens {
            authenticator: Arc::new(cached.map_err(Error::part)?),
            audiences: config.service_accounts.audiences.clone(),
            anonymous: config.anonymous_paths.as_ref().is_some_and(Vec::is_empty),
        })
    }
}

/// Returns the authenticator of all requests.
pub(crate) fn authenticator(config: &AuthenticationConfig, tokens: Tokens) -> Arc<dyn Authenticator> {
    let Tokens { authenticator: tokens, audiences, .. } = tokens;
    let mut all = config.requests.clone();
    all.push(Arc::new(BearerToken { tokens: tokens.clone(), audiences: audiences.clone() }));
    all.push(Arc::new(WebSocketToken { tokens, audiences }));
    match config.anonymous_paths.clone() {
        Some(paths) => Arc::new(OrAnonymous::at(Union(all), paths)),
        None => Arc::new(Union(all)),
    }
}
