//! TokenReview, by which other servers let this one authenticate their callers.

use std::sync::Arc;

use async_trait::async_trait;
use pintle_auth::authenticator::{Bearer, Error};
use pintle_auth::{Identity, TokenAuthenticator, User};
use pintle_meta::{Status, Value};
use pintle_registry::{Admission, Context, Result, Subresource, WriteOptions};
use pintle_runtime::Clock;
use serde::Deserialize;
use serde_json::json;

use crate::framework::review::{decoded, part, user_info};

/// Answers with the user that the server's authenticators find for a token.
pub struct TokenReview {
    pub tokens: Arc<dyn TokenAuthenticator>,
    /// The server's own audiences, for reviews that name none.
    pub audiences: Arc<[String]>,
    /// Whether requests without credentials are anonymous.
    pub anonymous: bool,
    pub clock: Clock,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Spec {
    token: String,
    audiences: Vec<String>,
}

#[async_trait]
impl Subresource for TokenReview {
    async fn create(
        &self,
        _: &mut Context,
        _: &str,
        mut object: Value,
        admission: &dyn Admission,
        _: WriteOptions,
    ) -> Result<Option<Value>> {
        let spec: Spec = part(&object, "spec")?;
        if spec.token.is_empty() {
            let why = "token is required for TokenReview in authentication";
            return Err(Box::new(Status::bad_request(why)));
        }
        admission.create(&object).await?;
        let audiences = if spec.audiences.is_empty() { &*self.audiences } else { &spec.audiences };
        // The client's part of a status stays where no user is found.
        let mut status: serde_json::Map<String, serde_json::Value> = part(&object, "status")?;
        let answer = match self.ask(&spec.token, audiences).await {
            Ok(Some(Identity { user, audiences: found, .. })) => {
                let found = found.unwrap_or_default();
                if !audiences.is_empty() && !audiences.iter().any(|audience| found.contains(audience)) {
                    return Err(Box::new(Status::internal("error validating audiences")));
                }
                json!({ "authenticated": true, "user": user_info(&user), "audiences": &*found })
            }
            Ok(None) => json!({ "authenticated": false }),
            Err(error) => json!({ "authenticated": false, "error": error.to_string() }),
        };
        status.extend(answer.as_object().cloned().unwrap_or_default());
        if let Some(object) = object.as_object_mut() {
            object.insert("status", decoded("authentication/v1.TokenReviewStatus", &status.into())?);
        }
        Ok(Some(object))
    }
}

impl TokenReview {
    /// As if a request had come with nothing but the token: where the header then holds no token at all, it has come without
    /// credentials.
    async fn ask(&self, token: &str, audiences: &[String]) -> std::result::Result<Option<Identity>, Error> {
        let header = format!("Bearer {token}");
        let Bearer::Token(token) = Bearer::of(header.as_bytes()) else {
            let anonymous = || Identity {
                audiences: Some(audiences.into()),
                ..Identity::from(Arc::new(User::anonymous()))
            };
            return Ok(self.anonymous.then(anonymous));
        };
        let found = self.tokens.authenticate_token(token, audiences, self.clock.now()).await;
        // In the reference the authenticator of the loopback token comes first, and its error with it.
        let refused = |error| Error::all([Error::InvalidToken, error]).unwrap_or(Error::InvalidToken);
        found.map_err(refused)?.ok_or(Error::InvalidToken).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    struct Alice;

    #[async_trait]
    impl TokenAuthenticator for Alice {
        async fn authenticate_token(
            &self,
            token: &[u8],
            _: &[String],
            _: SystemTime,
        ) -> std::result::Result<Option<Identity>, Error> {
            let user = User { name: "alice".into(), ..User::default() };
            Ok((token == b"alicetoken").then(|| Arc::new(user).into()))
        }
    }

    #[tokio::test]
    async fn a_token_is_read_as_a_request_s_header_would_be() {
        let ask = async |anonymous, token: &str| {
            let review = TokenReview {
                tokens: Arc::new(Alice),
                audiences: Arc::default(),
                anonymous,
                clock: Clock::system(),
            };
            let found = review.ask(token, &["api".into()]).await.map_err(|error| error.to_string());
            found.map(|found| found.map_or_else(String::new, |found| found.user.name.clone()))
        };
        for token in ["alicetoken", "alicetoken ", "alicetoken and more"] {
            assert_eq!(ask(true, token).await, Ok("alice".into()), "{token:?}");
        }
        for token in [" ", " alicetoken", "  alicetoken"] {
            assert_eq!(ask(true, token).await, Ok("system:anonymous".into()), "{token:?}");
            assert_eq!(ask(false, token).await, Ok(String::new()), "{token:?}");
        }
        for token in ["x", "\talicetoken"] {
            assert_eq!(ask(true, token).await, Err("invalid bearer token".into()), "{token:?}");
        }
    }
}
