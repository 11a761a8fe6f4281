//! Tokens that a webhook authenticates by TokenReviews.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use async_trait::async_trait;
use pintle_outbound::Webhook;
use serde::{Deserialize, Serialize};

use super::{Error, Identity, TokenAuthenticator};
use crate::User;
use crate::review::{self, Version};

const GROUP: &str = "authentication.k8s.io";
const KIND: &str = "TokenReview";

/// To be put behind a cache that keeps no errors.
pub struct WebhookTokens {
    pub webhook: Webhook,
    pub version: Version,
    /// Audiences of this server, for tokens of which the webhook names none.
    pub audiences: Arc<[String]>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Review<'a> {
    kind: &'static str,
    api_version: String,
    metadata: Empty,
    spec: Spec<'a>,
    status: EmptyStatus,
}

#[derive(Serialize)]
struct Spec<'a> {
    token: &'a str,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    audiences: &'a [String],
}

#[derive(Serialize)]
struct Empty {}

#[derive(Serialize)]
struct EmptyStatus {
    user: Empty,
}

#[derive(Deserialize, Default)]
struct Status {
    authenticated: Option<bool>,
    user: Option<UserInfo>,
    audiences: Option<Vec<String>>,
    error: Option<String>,
}

#[derive(Deserialize, Default)]
struct UserInfo {
    username: Option<String>,
    uid: Option<String>,
    groups: Option<Vec<String>>,
    extra: Option<BTreeMap<String, Option<Vec<String>>>>,
}

impl From<UserInfo> for User {
    fn from(info: UserInfo) -> User {
        let extra = info.extra.unwrap_or_default().into_iter();
        User {
            name: info.username.unwrap_or_default(),
            uid: info.uid.unwrap_or_default(),
            groups: info.groups.unwrap_or_default(),
            extra: extra.map(|(key, values)| (key, values.unwrap_or_default())).collect(),
        }
    }
}

impl WebhookTokens {
    fn review(&self, token: &str, audiences: &[String]) -> Result<Vec<u8>, Error> {
        let review = Review {
            kind: KIND,
            api_version: format!("{GROUP}/{}", self.version.name()),
            metadata: Empty {},
            spec: Spec { token, audiences },
            status: EmptyStatus { user: Empty {} },
        };
        let mut body = serde_json::to_vec(&review).map_err(|error| Error::Refused(error.to_string()))?;
        body.push(b'\n');
        Ok(body)
    }

    /// Returns the identity of a review's status.
    fn judge(&self, status: Status, audiences: &[String]) -> Result<Option<Identity>, Error> {
        let mut good = None;
        if !audiences.is_empty() {
            let said = status.audiences.unwrap_or_default();
            let of_token = if said.is_empty() { &self.audiences[..] } else { &said[..] };
            let both: Arc<[String]> =
                audiences.iter().filter(|audience| of_token.contains(audience)).cloned().collect();
            if both.is_empty() {
                return Ok(None);
            }
            good = Some(both);
        }
        if !status.authenticated.unwrap_or_default() {
            return match status.error.filter(|error| !error.is_empty()) {
                Some(error) => Err(Error::Refused(error)),
                None => Ok(None),
            };
        }
        let user = User::from(status.user.unwrap_or_default()).authenticated();
        Ok(Some(Identity { user: Arc::new(user), audiences: good, notes: None }))
    }
}

#[async_trait]
impl TokenAuthenticator for WebhookTokens {
    async fn authenticate_token(
        &self,
        token: &[u8],
        audiences: &[String],
        _: SystemTime,
    ) -> Result<Option<Identity>, Error> {
        // JSON would make one token of several that are not text.
        let Ok(token) = std::str::from_utf8(token) else { return Ok(None) };
        let review = self.review(token, audiences)?;
        let answer = self.webhook.post(review.into(), |_| ()).await.map_err(|error| {
            tracing::error!(%error, "Failed to make webhook authenticator request");
            Error::Refused(error.to_string())
        })?;
        let status = review::status(&answer, KIND, GROUP, self.version).map_err(|error| {
            tracing::error!(%error, "Failed to make webhook authenticator request");
            Error::Refused(error)
        })?;
        self.judge(status, audiences)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use pintle_outbound::testing::{HttpsServer, Reply};
    use pintle_outbound::webhook::Backoff;
    use pintle_outbound::{ClientOptions, Kubeconfig};
    use serde_json::{Value, json};

    use super::*;

    async fn ask(
        reply: Reply,
        version: Version,
        audiences: &[&str],
    ) -> (Result<Option<Identity>, Error>, Value) {
        let server = HttpsServer::start(move |_| reply.clone()).await;
        let kubeconfig = Kubeconfig::parse(server.kubeconfig("/").as_bytes(), Path::new("/")).unwrap();
        let backoff = Backoff { first: Duration::from_millis(1), ..Backoff::default() };
        let options = ClientOptions { timeout: Duration::from_secs(5), ..ClientOptions::default() };
        let tokens = WebhookTokens {
            webhook: Webhook::from_kubeconfig(&kubeconfig, options, backoff).unwrap(),
            version,
            audiences: Arc::new(["api".into()]),
        };
        let audiences: Vec<String> = audiences.iter().map(|audience| (*audience).to_owned()).collect();
        let found = tokens.authenticate_token(b"some-token", &audiences, SystemTime::now()).await;
        (found, server.seen()[0].json())
    }

    fn yes(audiences: Value) -> Reply {
        Reply::json(&json!({
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenReview",
            "status": {
                "authenticated": true,
                "audiences": audiences,
                "user": {"username": "ann", "uid": "u1", "groups": ["devs"], "extra": {"scope": ["a", "b"]}},
            },
        }))
    }

    #[tokio::test]
    async fn a_token_is_of_the_user_in_the_review_status() {
        let (found, sent) = ask(yes(Value::Null), Version::V1, &[]).await;
        let user = found.unwrap().unwrap().user;
        assert_eq!((user.name.as_str(), user.uid.as_str()), ("ann", "u1"));
        assert_eq!(user.groups, ["devs", "system:authenticated"]);
        assert_eq!(user.extra["scope"], ["a", "b"]);
        assert_eq!(
            sent,
            json!({
                "kind": "TokenReview", "apiVersion": "authentication.k8s.io/v1", "metadata": {},
                "spec": {"token": "some-token"}, "status": {"user": {}},
            })
        );
    }

    #[tokio::test]
    async fn audiences_must_meet() {
        let check = async |said: Value, asked: &[&str], expect: Option<&[&str]>| {
            let (found, sent) = ask(yes(said.clone()), Version::V1, asked).await;
            let found = found.unwrap().map(|identity| identity.audiences.unwrap_or_default().to_vec());
            let expect = expect.map(|all| all.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>());
            assert_eq!(found, expect, "{said} for {asked:?}");
            assert_eq!(sent["spec"]["audiences"], json!(asked));
        };
        check(json!(["a", "b"]), &["b", "c"], Some(&["b"])).await;
        check(json!(["a"]), &["c"], None).await;
        check(json!([]), &["api", "c"], Some(&["api"])).await;
        check(Value::Null, &["c"], None).await;
    }

    #[tokio::test]
    async fn an_unauthenticated_status_is_no_opinion_and_its_error_is_returned() {
        let no = |status: Value| Reply::json(&json!({"status": status}));
        assert_eq!(ask(no(json!({"authenticated": false})), Version::V1, &[]).await.0, Ok(None));
        assert_eq!(ask(no(Value::Null), Version::V1, &[]).await.0, Ok(None));
        let (found, _) = ask(no(json!({"error": "expired"})), Version::V1, &[]).await;
        assert_eq!(found, Err(Error::Refused("expired".into())));
    }

    #[tokio::test]
    async fn a_malformed_review_authenticates_no_user() {
        for reply in [
            Reply::text(200, "yes please"),
            Reply::json(&json!([])),
            Reply::json(&json!({"status": {"authenticated": "true"}})),
            Reply::json(&json!({"kind": "Pod", "status": {"authenticated": true}})),
            Reply::text(401, "no"),
        ] {
            let shown = format!("{reply:?}");
            assert!(ask(reply, Version::V1, &[]).await.0.is_err(), "{shown}");
        }
        let (found, _) = ask(yes(Value::Null), Version::V1beta1, &[]).await;
        assert!(found.is_err(), "another version's answer");
    }

    #[test]
    fn the_review_is_the_reference_s_to_the_letter() {
        let review = Review {
            kind: KIND,
            api_version: "authentication.k8s.io/v1beta1".into(),
            metadata: Empty {},
            spec: Spec { token: "t", audiences: &["a".into()] },
            status: EmptyStatus { user: Empty {} },
        };
        assert_eq!(
            serde_json::to_string(&review).unwrap(),
            r#"{"kind":"TokenReview","apiVersion":"authentication.k8s.io/v1beta1","metadata":{},"spec":{"token":"t","audiences":["a"]},"status":{"user":{}}}"#
        );
    }
}
