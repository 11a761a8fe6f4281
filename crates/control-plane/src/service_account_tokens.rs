//! Tokens of service accounts: their issuer, the authenticators that verify them, and the documents by which others do.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use pintle_auth::TokenAuthenticator;
use pintle_auth::authenticator::{BootstrapTokens, ForThisServer};
use pintle_auth::service_account::openid::{self, CONFIGURATION_PATH, Documents, KEYS_PATH};
use pintle_auth::service_account::{
    EXTENDED_SECONDS, FixedKeys, Issuer, KeySource, Keys, Signer, TokenSettings, Tokens,
};
use pintle_features::{Feature, Features};
use pintle_resources::subresources::TokenRequestSettings;
use pintle_server::filter::Handler;
use pintle_server::handlers::PublicDocument;

use crate::access::StoredAccounts;

/// The issuer of tokens where none is configured: the name of the server for clients inside of a cluster.
pub const DEFAULT_ISSUER: &str = "https://kubernetes.default.svc.cluster.local";

/// How tokens of service accounts are signed and verified.
pub struct ServiceAccountConfig {
    /// The first signs, all are accepted.
    pub issuers: Vec<String>,
    pub audiences: Arc<[String]>,
    /// `None`: tokens cannot be requested.
    pub signer: Option<Arc<dyn Signer>>,
    /// Signs the tokens that are kept in secrets; `None`: none are made.
    pub legacy_signer: Option<Arc<dyn Signer>>,
    pub keys: Arc<dyn KeySource>,
    /// Whether legacy tokens are checked against their secret.
    pub lookup: bool,
    /// Whether tokens of joining nodes are accepted.
    pub bootstrap_tokens: bool,
    /// The longest lifetime of a token; zero for no limit.
    pub max_lifetime: Duration,
    /// Whether tokens of pods outlive the lifetime that was requested.
    pub extend: bool,
    /// The lifetime of tokens that are extended.
    pub extended_lifetime: Duration,
    /// The address of the keys, if it is not this server.
    pub jwks_uri: String,
}

impl Default for ServiceAccountConfig {
    /// Returns a configuration without keys.
    fn default() -> ServiceAccountConfig {
        ServiceAccountConfig {
            issuers: vec![DEFAULT_ISSUER.into()],
            audiences: [DEFAULT_ISSUER.to_owned()].into(),
            signer: None,
            legacy_signer: None,
            keys: Arc::new(FixedKeys(Arc::new(Keys::new(Vec::new())))),
            lookup: true,
            bootstrap_tokens: false,
            max_lifetime: Duration::ZERO,
            extend: true,
            extended_lifetime: Duration::from_secs(EXTENDED_SECONDS.unsigned_abs()),
            jwks_uri: String::new(),
        }
    }
}

impl ServiceAccountConfig {
    /// Returns the authenticators of these tokens, in the reference's order.
    pub(crate) fn authenticators(&self, objects: Arc<StoredAccounts>) -> Vec<Arc<dyn TokenAuthenticator>> {
        let mut all: Vec<Arc<dyn TokenAuthenticator>> = Vec::new();
        if !self.keys.current().is_empty() {
            let settings = TokenSettings {
                keys: self.keys.clone(),
                audiences: self.audiences.clone(),
                objects: objects.clone(),
            };
            all.push(Arc::new(Tokens::legacy(settings.clone(), self.lookup)));
            all.push(Arc::new(Tokens::bound(settings, self.issuers.clone())));
        }
        if self.bootstrap_tokens {
            let tokens = BootstrapTokens(objects);
            all.push(Arc::new(ForThisServer { tokens, audiences: self.audiences.clone() }));
        }
        all
    }

    /// Returns how tokens are issued; `None` without a signer.
    pub(crate) fn token_requests(&self, features: Features) -> Option<TokenRequestSettings> {
        let issuer = Issuer { name: self.issuers.first()?.clone(), signer: self.signer.clone()? };
        Some(TokenRequestSettings {
            issuer,
            audiences: self.audiences.clone(),
            max_seconds: whole_seconds(self.max_lifetime),
            extend: self.extend,
            extended_seconds: whole_seconds(self.extended_lifetime),
            validate_uid: features.enabled(Feature::TokenRequestServiceAccountUIDValidation),
        })
    }

    /// Returns the handlers of the issuer's discovery documents by path; none if the issuer is not an address that clients
    /// could look at.
    pub(crate) fn endpoints(&self, address: &str) -> Vec<(String, Box<dyn Handler>)> {
        let issuer = self.issuers.first().map(String::as_str).unwrap_or_default();
        let published = Published {
            issuer: issuer.to_owned(),
            keys_uri: self.jwks_uri.clone(),
            address: address.to_owned(),
            source: self.keys.clone(),
            last: Mutex::default(),
        };
        let published = match published.refresh(&self.keys.current()) {
            Ok(_) => Arc::new(published),
            Err(error) => {
                tracing::error!(
                    %error,
                    "Could not construct pre-rendered responses for ServiceAccountIssuerDiscovery endpoints. Endpoints will \
                     not be enabled."
                );
                return Vec::new();
            }
        };
        let other = published.clone();
        let configuration: Box<dyn Handler> = Box::new(PublicDocument::new("application/json", move || {
            published.read(|documents| &documents.configuration)
        }));
        let keys: Box<dyn Handler> = Box::new(PublicDocument::new("application/jwk-set+json", move || {
            other.read(|documents| &documents.keys)
        }));
        vec![(CONFIGURATION_PATH.to_owned(), configuration), (KEYS_PATH.to_owned(), keys)]
    }
}

/// The discovery documents of the issuer, made anew when the keys change.
struct Published {
    issuer: String,
    keys_uri: String,
    address: String,
    source: Arc<dyn KeySource>,
    last: Mutex<Option<(Arc<Keys>, Arc<Documents>)>>,
}

impl Published {
    fn refresh(&self, keys: &Arc<Keys>) -> Result<Arc<Documents>, openid::Error> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, documents)) = &*last
            && Arc::ptr_eq(of, keys)
        {
            return Ok(documents.clone());
        }
        let documents = match (Documents::new(&self.issuer, &self.keys_uri, &self.address, keys), &*last) {
            (Ok(documents), _) => Arc::new(documents),
            // Old documents are better than none.
            (Err(error), Some((_, documents))) => {
                tracing::error!(%error, "failed to update openid config metadata");
                documents.clone()
            }
            (Err(error), None) => return Err(error),
        };
        *last = Some((keys.clone(), documents.clone()));
        Ok(documents)
    }

    fn read(&self, one: fn(&Documents) -> &Bytes) -> (Bytes, Duration) {
        let age = self.source.max_age();
        // The first refresh succeeded, so there are documents.
        let documents = self.refresh(&self.source.current()).ok();
        (documents.map(|documents| one(&documents).clone()).unwrap_or_default(), age)
    }
}

fn whole_seconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_secs()).unwrap_or(i64::MAX)
}
