//! Authentication: the seam, and combinations of authenticators.

use std::sync::Arc;
use std::time::SystemTime;

use async_trait::async_trait;
use http::HeaderMap;

use crate::User;

pub mod basic;
mod bootstrap_token;
pub mod oidc;
mod request_header;
mod token_cache;
pub mod token_file;
mod webhook;
mod websocket;
mod x509;

pub use basic::BasicAuth;
pub use bootstrap_token::{BootstrapSecrets, BootstrapTokens};
pub use oidc::{Issuers, KeyEvents, Oidc};
pub use request_header::{FrontProxyHeaders, RequestHeader};
pub use token_cache::{NoRandomness, TokenCache, TokenCacheEvents, TokenCacheOptions};
pub use token_file::TokenFile;
pub use webhook::WebhookTokens;
pub use websocket::{WebSocketToken, forget_protocol_token};
pub use x509::{ClientCertificates, PeerCertificates, RootError, merge_bundles};

/// The credentials of a request.
#[derive(Clone, Copy)]
pub struct Credentials<'a> {
    pub headers: &'a HeaderMap,
    /// The decoded path, since some may be asked for without credentials.
    pub path: &'a str,
    pub certificates: &'a PeerCertificates,
    pub now: SystemTime,
}

impl<'a> Credentials<'a> {
    /// Returns the bearer token of the `Authorization` header.
    pub fn bearer(&self) -> Bearer<'a> {
        self.headers
            .get(http::header::AUTHORIZATION)
            .map_or(Bearer::Absent, |value| Bearer::of(value.as_bytes()))
    }

    /// The token of an `Authorization: Bearer` header, which may be any bytes. An empty one counts as none.
    pub fn bearer_token(&self) -> Option<&'a [u8]> {
        match self.bearer() {
            Bearer::Token(token) => Some(token),
            Bearer::Absent | Bearer::BehindSpaces => None,
        }
    }
}

/// The bearer token of an `Authorization` header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bearer<'a> {
    Absent,
    Token(&'a [u8]),
    /// Two spaces leave an empty token behind, which is no token at all, whatever follows.
    BehindSpaces,
}

impl<'a> Bearer<'a> {
    /// The warning for a token that is [`Bearer::BehindSpaces`].
    pub const SPACES_WARNING: &'static str =
        "the provided Authorization header contains extra space before the bearer token, and is ignored";

    pub fn of(header: &'a [u8]) -> Bearer<'a> {
        let header = std::str::from_utf8(header).map_or(header.trim_ascii(), |text| text.trim().as_bytes());
        let mut words = header.split(|byte| *byte == b' ');
        if !words.next().is_some_and(|word| word.eq_ignore_ascii_case(b"bearer")) {
            return Bearer::Absent;
        }
        match words.next() {
            None => Bearer::Absent,
            Some(b"") => Bearer::BehindSpaces,
            Some(token) => Bearer::Token(token),
        }
    }
}

/// An authenticated user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// In the groups that it belongs to, [`crate::ALL_AUTHENTICATED`] included.
    pub user: Arc<User>,
    /// The requested audiences that the token is for; `None` if none were requested.
    pub audiences: Option<Arc<[String]>>,
    /// `None`, mostly. Kept with the identity where that is kept.
    pub notes: Option<Arc<Notes>>,
}

/// Warnings and audit annotations that credentials cause.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    /// Sent to the client as `Warning` headers.
    pub warnings: Vec<String>,
    /// For the audit log: key and value.
    pub annotations: Vec<(String, String)>,
}

impl From<Arc<User>> for Identity {
    fn from(user: Arc<User>) -> Identity {
        Identity { user, audiences: None, notes: None }
    }
}

/// Why credentials were refused. For logs and TokenReviews; other clients are told `Unauthorized` and nothing else, so it
/// must hold nothing secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    #[error("invalid bearer token")]
    InvalidToken,
    #[error("verifying certificate {certificate} failed: {reason}")]
    Certificate { certificate: String, reason: String },
    #[error("{0}")]
    Refused(String),
    /// An error with annotations for the audit log.
    #[error("{error}")]
    Annotated { error: Box<Error>, annotations: Vec<(String, String)> },
    /// The errors of several authenticators: `[a, b]`, each text once.
    #[error("{}", listed(.0))]
    Several(Vec<Error>),
}

impl Error {
    /// Returns the error with annotations for the audit log, if there are any.
    #[must_use]
    pub(crate) fn annotated(self, annotations: Vec<(String, String)>) -> Error {
        match annotations.is_empty() {
            true => self,
            false => Error::Annotated { error: Box::new(self), annotations },
        }
    }

    /// Returns the annotations of the request for the audit log.
    pub fn annotations(&self) -> Vec<(String, String)> {
        match self {
            Error::Annotated { annotations, .. } => annotations.clone(),
            Error::Several(errors) => errors.iter().flat_map(Error::annotations).collect(),
            _ => Vec::new(),
        }
    }
}

fn listed(errors: &[Error]) -> String {
    let texts: Vec<String> = errors.iter().map(Error::to_string).collect();
    format!("[{}]", texts.join(", "))
}

impl Error {
    /// Several as one, none of them twice; nothing if there are none.
    pub fn all(errors: impl IntoIterator<Item = Error>) -> Option<Error> {
        let mut all: Vec<Error> = Vec::new();
        for error in errors {
            let each = match error {
                Error::Several(each) => each,
                one => vec![one],
            };
            for error in each {
                if !all.iter().any(|known| known.to_string() == error.to_string()) {
                    all.push(error);
                }
            }
        }
        match all.len() {
            0 | 1 => all.pop(),
            _ => Some(Error::Several(all)),
        }
    }
}

/// Authenticates requests by one kind of credentials.
#[async_trait]
pub trait Authenticator: Send + Sync + 'static {
    /// Called once per request. `Ok(None)`: the request has no credentials of this kind. An error: it has, and they are not
    /// valid. The other authenticators are still called; if none accepts, the answer is 401.
    async fn authenticate(&self, credentials: Credentials<'_>) -> Result<Option<Identity>, Error>;
}

/// One kind of token.
#[async_trait]
pub trait TokenAuthenticator: Send + Sync + 'static {
    /// Called for every token without a cached verdict. The token must be for at least one of `audiences`, unless there are
    /// none; the identity has those that it is for. Results are as of [`Authenticator::authenticate`].
    async fn authenticate_token(
        &self,
        token: &[u8],
        audiences: &[String],
        now: SystemTime,
    ) -> Result<Option<Identity>, Error>;
}

/// Authenticators in order; the first that knows the user wins. Fails if none does and at least one failed.
pub struct Union(pub Vec<Arc<dyn Authenticator>>);

#[async_trait]
impl Authenticator for Union {
    async fn authenticate(&self, credentials: Credentials<'_>) -> Result<Option<Identity>, Error> {
        let mut failed = Vec::new();
        for authenticator in &self.0 {
            match authenticator.authenticate(credentials).await {
                Ok(Some(identity)) => return Ok(Some(identity)),
                Ok(None) => {}
                Err(error) => failed.push(error),
            }
        }
        Error::all(failed).map_or(Ok(None), Err)
    }
}

/// Token authenticators in order, as [`Union`].
pub struct TokenUnion(pub Vec<Arc<dyn TokenAuthenticator>>);

#[async_trait]
impl TokenAuthenticator for TokenUnion {
    async fn authenticate_token(
        &self,
        token: &[u8],
        audiences: &[String],
        now: SystemTime,
    ) -> Result<Option<Identity>, Error> {
        let mut failed = Vec::new();
        for authenticator in &self.0 {
            match authenticator.authenticate_token(token, audiences, now).await {
                Ok(Some(identity)) => return Ok(Some(identity)),
                Ok(None) => {}
                Err(error) => failed.push(error),
            }
        }
        Error::all(failed).map_or(Ok(None), Err)
    }
}

/// Tokens that name no audience: they are for this server, so they are good where one of its own audiences is asked about.
pub struct ForThisServer<T> {
    pub tokens: T,
    pub audiences: Arc<[String]>,
}

#[async_trait]
impl<T: TokenAuthenticator + ?Sized> TokenAuthenticator for Arc<T> {
    async fn authenticate_token(
        &self,
        token: &[u8],
        audiences: &[String],
        now: SystemTime,
    ) -> Result<Option<Identity>, Error> {
        (**self).authenticate_token(token, audiences, now).await
    }
}

#[async_trait]
impl<T: TokenAuthenticator> TokenAuthenticator for ForThisServer<T> {
    async fn authenticate_token(
        &self,
        token: &[u8],
        audiences: &[String],
        now: SystemTime,
    ) -> Result<Option<Identity>, Error> {
        if audiences.is_empty() {
            return self.tokens.authenticate_token(token, audiences, now).await;
        }
        let own = |audience: &&String| self.audiences.contains(audience);
        let good: Arc<[String]> = audiences.iter().filter(own).cloned().collect();
        if good.is_empty() {
            return Ok(None);
        }
        let identity = self.tokens.authenticate_token(token, audiences, now).await?;
        Ok(identity.map(|identity| Identity { audiences: Some(good), ..identity }))
    }
}

/// The token of an `Authorization: Bearer` header. One that no authenticator knows is an error.
pub struct BearerToken {
    pub tokens: Arc<dyn TokenAuthenticator>,
    /// The audiences of this server.
    pub audiences: Arc<[String]>,
}

#[async_trait]
impl Authenticator for BearerToken {
    async fn authenticate(&self, credentials: Credentials<'_>) -> Result<Option<Identity>, Error> {
        let Some(token) = credentials.bearer_token() else { return Ok(None) };
        let found = self.tokens.authenticate_token(token, &self.audiences, credentials.now).await?;
        found.map(Some).ok_or(Error::InvalidToken)
    }
}

/// Authenticates requests without credentials as `system:anonymous`. Invalid credentials remain an error.
pub struct OrAnonymous<A> {
    inner: A,
    anonymous: Arc<User>,
    /// Where they are let in; nothing means everywhere.
    paths: Vec<String>,
}

impl<A> OrAnonymous<A> {
    pub fn new(inner: A) -> Self {
        OrAnonymous::at(inner, Vec::new())
    }

    /// Only at these paths, to the letter; without any, everywhere.
    pub fn at(inner: A, paths: Vec<String>) -> Self {
        OrAnonymous { inner, anonymous: Arc::new(User::anonymous()), paths }
    }
}

#[async_trait]
impl<A: Authenticator> Authenticator for OrAnonymous<A> {
    async fn authenticate(&self, credentials: Credentials<'_>) -> Result<Option<Identity>, Error> {
        let found = self.inner.authenticate(credentials).await?;
        let allowed = self.paths.is_empty() || self.paths.iter().any(|path| path == credentials.path);
        Ok(found.or_else(|| allowed.then(|| self.anonymous.clone().into())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixed(Result<Option<&'static str>, Error>);

    #[async_trait]
    impl Authenticator for Fixed {
        async fn authenticate(&self, _: Credentials<'_>) -> Result<Option<Identity>, Error> {
            self.0
                .clone()
                .map(|name| name.map(|name| Arc::new(User { name: name.into(), ..User::default() }).into()))
        }
    }

    async fn ask(members: Vec<Fixed>) -> Result<String, Error> {
        let members = members.into_iter().map(|member| Arc::new(member) as Arc<dyn Authenticator>).collect();
        let headers = HeaderMap::new();
        let credentials = Credentials {
            headers: &headers,
            path: "/",
            certificates: &PeerCertificates::default(),
            now: SystemTime::now(),
        };
        let user = OrAnonymous::new(Union(members)).authenticate(credentials).await?;
        Ok(user.map(|user| user.user.name.clone()).unwrap_or_default())
    }

    #[tokio::test]
    async fn the_first_that_knows_the_user_wins_over_one_that_failed() {
        let members = vec![
            Fixed(Err(Error::InvalidToken)),
            Fixed(Ok(None)),
            Fixed(Ok(Some("a"))),
            Fixed(Ok(Some("b"))),
        ];
        assert_eq!(ask(members).await, Ok("a".into()));
    }

    #[tokio::test]
    async fn no_credentials_are_anonymous_but_wrong_ones_are_refused() {
        assert_eq!(ask(vec![Fixed(Ok(None))]).await, Ok("system:anonymous".into()));
        assert_eq!(
            ask(vec![Fixed(Err(Error::InvalidToken)), Fixed(Ok(None))]).await,
            Err(Error::InvalidToken)
        );
    }

    #[tokio::test]
    async fn the_anonymous_may_be_let_in_at_some_paths_only() {
        let headers = HeaderMap::new();
        let authenticator = OrAnonymous::at(Fixed(Ok(None)), vec!["/livez".into()]);
        for (path, expect) in [("/livez", true), ("/livez/", false), ("/", false)] {
            let certificates = PeerCertificates::default();
            let now = SystemTime::now();
            let credentials = Credentials { headers: &headers, path, certificates: &certificates, now };
            assert_eq!(authenticator.authenticate(credentials).await.unwrap().is_some(), expect, "{path}");
        }
    }

    #[test]
    fn a_bearer_token_is_taken_from_the_header() {
        let check = |header: &str, expect: Option<&str>| {
            let mut headers = HeaderMap::new();
            headers.insert(http::header::AUTHORIZATION, header.parse().unwrap());
            let credentials = Credentials {
                headers: &headers,
                path: "/",
                certificates: &PeerCertificates::default(),
                now: SystemTime::now(),
            };
            assert_eq!(credentials.bearer_token(), expect.map(str::as_bytes), "{header:?}");
            let spaced = credentials.bearer() == Bearer::BehindSpaces;
            assert_eq!(spaced, header.starts_with("Bearer  a"), "{header:?}");
        };
        check("Bearer abc", Some("abc"));
        check("bearer abc", Some("abc"));
        check("Bearer  abc", None);
        check("Bearer", None);
        check("Bearer  ", None);
        check(" Bearer abc ", Some("abc"));
        check("Bearer \u{fc}ml\u{e4}ut", Some("\u{fc}ml\u{e4}ut"));
        check("Basic abc", None);
        check("Bearer abc def", Some("abc"));
    }
}
