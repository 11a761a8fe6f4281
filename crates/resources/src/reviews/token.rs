//! Whose token is this: TokenReview, by which other servers let this one authenticate their callers.

use std::sync::Arc;
use std::time::SystemTime;

use async_trait::async_trait;
use pintle_auth::authenticator::Error;
use pintle_auth::{Identity, TokenAuthenticator};
use pintle_meta::{Status, Value};
use pintle_registry::{Admission, Context, Result, Subresource, WriteOptions};
use serde::Deserialize;
use serde_json::json;

use super::{shown, typed, view};

/// Answers by asking those who know tokens.
pub struct TokenReview {
    pub tokens: Arc<dyn TokenAuthenticator>,
    /// Of this server, for those who ask about none.
    pub audiences: Arc<[String]>,
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
        let spec: Spec = view(&object, "spec")?;
        if spec.token.is_empty() {
            let why = "token is required for TokenReview in authentication";
            return Err(Box::new(Status::bad_request(why)));
        }
        admission.create(&object).await?;
        let audiences = if spec.audiences.is_empty() { &*self.audiences } else { &spec.audiences };
        let status = match self.ask(&spec.token, audiences).await {
            Ok(Identity { user, audiences: found, .. }) => {
                let found = found.unwrap_or_default();
                if !audiences.is_empty() && !audiences.iter().any(|audience| found.contains(audience)) {
                    return Err(Box::new(Status::internal("error validating audiences")));
                }
                json!({ "authenticated": true, "user": shown(&user), "audiences": &*found })
            }
            Err(error) => json!({ "error": error.to_string() }),
        };
        if let Some(object) = object.as_object_mut() {
            object.insert("status", typed("authentication/v1.TokenReviewStatus", &status)?);
        }
        Ok(Some(object))
    }
}

impl TokenReview {
    /// As if the token had come in a request: what could not be there is nobody's.
    async fn ask(&self, token: &str, audiences: &[String]) -> std::result::Result<Identity, Error> {
        let Some(token) = token.trim().split(' ').next().filter(|token| !token.is_empty()) else {
            return Err(Error::InvalidToken);
        };
        let found = self.tokens.authenticate_token(token.as_bytes(), audiences, SystemTime::now()).await;
        // In the reference, whoever knows the server's own token comes first and has nothing else to say.
        let refused = |error| Error::all([Error::InvalidToken, error]).unwrap_or(Error::InvalidToken);
        found.map_err(refused)?.ok_or(Error::InvalidToken)
    }
}
