//! The authenticator of service account tokens.

use std::sync::Arc;
use std::time::SystemTime;

use async_trait::async_trait;
use pintle_meta::{quote, quote_all};

use super::bound::{self, Private};
use super::legacy;
use super::{KeySource, LEGACY_ISSUER, Objects, Use};
use crate::authenticator::{Error, Identity, Notes, TokenAuthenticator};
use crate::jwt::{Algorithm, Claims, Unverified, unverified_issuer};

/// The accepted signature algorithms.
const ALGORITHMS: &[Algorithm] = &Algorithm::ALL;

/// Settings of both kinds of service account tokens.
#[derive(Clone)]
pub struct TokenSettings {
    pub keys: Arc<dyn KeySource>,
    /// The audiences of this server. Tokens that name none are for these.
    pub audiences: Arc<[String]>,
    pub objects: Arc<dyn Objects>,
}

/// Authenticates the tokens of one or several issuers, and no others.
pub struct Tokens {
    settings: TokenSettings,
    issuers: Vec<String>,
    rules: Rules,
}

enum Rules {
    Bound,
    Legacy {
        /// Whether the secret and the account must still be there.
        lookup: bool,
    },
}

/// The registered claims of a token.
pub(super) struct Public {
    pub(super) issuer: String,
    pub(super) subject: String,
    audiences: Vec<String>,
    pub(super) expiry: Option<i64>,
    pub(super) not_before: Option<i64>,
    pub(super) issued_at: Option<i64>,
    pub(super) id: String,
}

impl Tokens {
    /// Tokens that were asked for, of these issuers.
    pub fn bound(settings: TokenSettings, issuers: impl IntoIterator<Item = String>) -> Tokens {
        Tokens { settings, issuers: issuers.into_iter().collect(), rules: Rules::Bound }
    }

    /// Tokens that are kept in secrets.
    pub fn legacy(settings: TokenSettings, lookup: bool) -> Tokens {
        Tokens { settings, issuers: vec![LEGACY_ISSUER.into()], rules: Rules::Legacy { lookup } }
    }

    /// Returns the claims, verified with one of the keys.
    async fn verified(&self, token: &Unverified<'_>) -> Result<Claims, Error> {
        let mut failed = Err(refused("invalid signature, no keys found"));
        let keys = self.settings.keys.knowing(token.key_id()).await;
        for key in keys.named(token.key_id()) {
            match token.verify(key, ALGORITHMS) {
                Ok(claims) => return Ok(claims),
                // The words are those of the reference's library, which TokenReviews show.
                Err(_) => failed = Err(refused("go-jose/go-jose: error in cryptographic primitive")),
            }
        }
        failed
    }

    /// Returns the requested audiences that the token is for.
    fn audiences(&self, own: &[String], asked: &[String]) -> Result<Vec<String>, Error> {
        let implicit = &self.settings.audiences;
        let asked = if asked.is_empty() { &implicit[..] } else { asked };
        let good: Vec<String> = asked.iter().filter(|audience| own.contains(audience)).cloned().collect();
        if good.is_empty() && !implicit.is_empty() {
            return Err(refused(format!(
                "token audiences {} is invalid for the target audiences {}",
                quote_all(own),
                quote_all(asked)
            )));
        }
        Ok(good)
    }
}

#[async_trait]
impl TokenAuthenticator for Tokens {
    async fn authenticate_token(
        &self,
        token: &[u8],
        audiences: &[String],
        now: SystemTime,
    ) -> Result<Option<Identity>, Error> {
        // Checking a signature is the dearest part, and others' tokens are not worth it.
        if !unverified_issuer(token).is_some_and(|issuer| self.issuers.contains(&issuer)) {
            return Ok(None);
        }
        let Ok(parsed) = Unverified::parse(token) else { return Ok(None) };
        let claims = self.verified(&parsed).await?;
        let public = Public::read(&claims)?;
        if !self.issuers.contains(&public.issuer) {
            return Err(refused(format!("token issuer {} is invalid", quote(&public.issuer))));
        }
        let mut notes = Notes::default();
        let objects = &*self.settings.objects;
        let good = if public.audiences.is_empty() {
            objects.count(Use::Legacy);
            let annotation = ("authentication.k8s.io/legacy-token".to_owned(), public.subject.clone());
            notes.annotations.push(annotation);
            self.audiences(&self.settings.audiences, audiences)?
        } else {
            self.audiences(&public.audiences, audiences)?
        };
        let validated = match self.rules {
            Rules::Bound => {
                let private = Private::read(&claims).map_err(|()| refused(UNREADABLE))?;
                bound::validate(objects, &public, private, now, &mut notes).await
            }
            Rules::Legacy { lookup } => {
                let private = legacy::Private::read(&claims).map_err(|_| refused(UNREADABLE))?;
                private.validate(lookup.then_some(objects), token, &public, now, &mut notes).await
            }
        };
        let bearer = validated.map_err(|error| error.annotated(std::mem::take(&mut notes.annotations)))?;
        Ok(Some(Identity {
            user: Arc::new(bearer.into_user()),
            audiences: (!audiences.is_empty()).then(|| good.into()),
            notes: (notes != Notes::default()).then(|| Arc::new(notes)),
        }))
    }
}

/// The error of a verified token with claims of the wrong types.
const UNREADABLE: &str = "service account token has claims that cannot be read";

impl Public {
    fn read(claims: &Claims) -> Result<Public, Error> {
        let unreadable = |_| refused(UNREADABLE);
        let text = |name| Ok(claims.text(name).map_err(unreadable)?.unwrap_or_default().to_owned());
        Ok(Public {
            issuer: text("iss")?,
            subject: text("sub")?,
            audiences: claims.audiences().map_err(unreadable)?,
            expiry: claims.date("exp").map_err(unreadable)?,
            not_before: claims.date("nbf").map_err(unreadable)?,
            issued_at: claims.date("iat").map_err(unreadable)?,
            id: text("jti")?,
        })
    }
}

pub(super) fn refused(why: impl Into<String>) -> Error {
    Error::Refused(why.into())
}
