//! The seam of authentication, and the order in which authenticators are asked.

use std::sync::Arc;
use std::time::SystemTime;

use async_trait::async_trait;
use http::HeaderMap;

use crate::User;

pub mod token_file;
mod x509;

pub use token_file::TokenFile;
pub use x509::{ClientCertificates, PeerCertificates, RootError};

/// What a request brings to show who it is.
#[derive(Clone, Copy)]
pub struct Credentials<'a> {
    pub headers: &'a HeaderMap,
    pub certificates: &'a PeerCertificates,
    pub now: SystemTime,
}

impl<'a> Credentials<'a> {
    /// The token of an `Authorization: Bearer` header, which may be any bytes. An empty one counts as none.
    pub fn bearer_token(&self) -> Option<&'a [u8]> {
        let header = self.headers.get(http::header::AUTHORIZATION)?.as_bytes().trim_ascii();
        let mut words = header.split(|byte| *byte == b' ');
        if !words.next()?.eq_ignore_ascii_case(b"bearer") {
            return None;
        }
        // Two spaces leave an empty token behind, which is no token at all.
        words.next().filter(|token| !token.is_empty())
    }
}

/// Why credentials were refused. For logs; the client is told `Unauthorized` and nothing else.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    #[error("invalid bearer token")]
    InvalidToken,
    #[error("verifying certificate {certificate} failed: {reason}")]
    Certificate { certificate: String, reason: String },
}

/// One way to find out who is asking.
#[async_trait]
pub trait Authenticator: Send + Sync + 'static {
    /// Called once per request. `Ok(None)`: there is nothing here that this authenticator understands. An error: there
    /// is, and it is not valid. Others are still asked; if none accepts, the request is refused.
    async fn authenticate(&self, credentials: Credentials<'_>) -> Result<Option<Arc<User>>, Error>;
}

/// Asks several in order; the first that knows the user wins. Fails if none does and at least one failed.
pub struct Union(pub Vec<Arc<dyn Authenticator>>);

#[async_trait]
impl Authenticator for Union {
    async fn authenticate(&self, credentials: Credentials<'_>) -> Result<Option<Arc<User>>, Error> {
        let mut failed = None;
        for authenticator in &self.0 {
            match authenticator.authenticate(credentials).await {
                Ok(Some(user)) => return Ok(Some(user)),
                Ok(None) => {}
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        failed.map_or(Ok(None), Err)
    }
}

/// The last to be asked: a token that got this far is nobody's, and is refused rather than passed over.
pub struct UnknownToken;

#[async_trait]
impl Authenticator for UnknownToken {
    async fn authenticate(&self, credentials: Credentials<'_>) -> Result<Option<Arc<User>>, Error> {
        credentials.bearer_token().map_or(Ok(None), |_| Err(Error::InvalidToken))
    }
}

/// Lets in who brings no credentials, under a name that the policy can speak of. Wrong credentials stay wrong.
pub struct OrAnonymous<A>(pub A, Arc<User>);

impl<A> OrAnonymous<A> {
    pub fn new(inner: A) -> Self {
        OrAnonymous(inner, Arc::new(User::anonymous()))
    }
}

#[async_trait]
impl<A: Authenticator> Authenticator for OrAnonymous<A> {
    async fn authenticate(&self, credentials: Credentials<'_>) -> Result<Option<Arc<User>>, Error> {
        Ok(Some(self.0.authenticate(credentials).await?.unwrap_or_else(|| self.1.clone())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixed(Result<Option<&'static str>, Error>);

    #[async_trait]
    impl Authenticator for Fixed {
        async fn authenticate(&self, _: Credentials<'_>) -> Result<Option<Arc<User>>, Error> {
            self.0
                .clone()
                .map(|name| name.map(|name| Arc::new(User { name: name.into(), ..User::default() })))
        }
    }

    async fn ask(members: Vec<Fixed>) -> Result<String, Error> {
        let members = members.into_iter().map(|member| Arc::new(member) as Arc<dyn Authenticator>).collect();
        let headers = HeaderMap::new();
        let credentials = Credentials {
            headers: &headers,
            certificates: &PeerCertificates::default(),
            now: SystemTime::now(),
        };
        let user = OrAnonymous::new(Union(members)).authenticate(credentials).await?;
        Ok(user.map(|user| user.name.clone()).unwrap_or_default())
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

    #[test]
    fn a_bearer_token_is_taken_from_the_header() {
        let check = |header: &str, expect: Option<&str>| {
            let mut headers = HeaderMap::new();
            headers.insert(http::header::AUTHORIZATION, header.parse().unwrap());
            let credentials = Credentials {
                headers: &headers,
                certificates: &PeerCertificates::default(),
                now: SystemTime::now(),
            };
            assert_eq!(credentials.bearer_token(), expect.map(str::as_bytes), "{header:?}");
        };
        check("Bearer abc", Some("abc"));
        check("bearer abc", Some("abc"));
        check("Bearer  abc", None);
        check("Bearer", None);
        check("Bearer \u{fc}ml\u{e4}ut", Some("\u{fc}ml\u{e4}ut"));
        check("Basic abc", None);
        check("Bearer abc def", Some("abc"));
    }
}
