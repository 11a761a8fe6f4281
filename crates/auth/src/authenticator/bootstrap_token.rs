//! Bootstrap tokens, `abcdef.0123456789abcdef`: what a machine joins a cluster with. Each is a secret in `kube-system`.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::SystemTime;

use async_trait::async_trait;
use aws_lc_rs::constant_time::verify_slices_are_equal;
use pintle_meta::Value;
use pintle_meta::time::Time;

use super::{Error, Identity, TokenAuthenticator};
use crate::User;

const SECRET_TYPE: &str = "bootstrap.kubernetes.io/token";
const USER_PREFIX: &str = "system:bootstrap:";
const GROUP: &str = "system:bootstrappers";
const GROUP_PREFIX: &str = "system:bootstrappers:";

/// Where the secrets are.
#[async_trait]
pub trait BootstrapSecrets: Send + Sync + 'static {
    /// A secret of `kube-system` now; `None` if there is none. Called for every token that looks like one of these. The
    /// error is what a client would be told.
    async fn secret(&self, name: &str) -> Result<Option<Value>, String>;
}

/// Accepts tokens of which there is a secret.
pub struct BootstrapTokens(pub Arc<dyn BootstrapSecrets>);

#[async_trait]
impl TokenAuthenticator for BootstrapTokens {
    async fn authenticate_token(
        &self,
        token: &[u8],
        _: &[String],
        now: SystemTime,
    ) -> Result<Option<Identity>, Error> {
        let Some((id, secret)) = parse(token) else { return Ok(None) };
        let name = format!("bootstrap-token-{id}");
        let Some(found) = self.0.secret(&name).await.map_err(Error::Refused)? else { return Ok(None) };
        match user(&found, id, secret, now) {
            Ok(user) => Ok(Some(Arc::new(user.authenticated()).into())),
            Err(reason) => {
                tracing::debug!(name, reason, "a bootstrap token is not accepted");
                Ok(None)
            }
        }
    }
}

/// The two parts of a token: one that may be known, and one that may not.
fn parse(token: &[u8]) -> Option<(&str, &[u8])> {
    let plain = |part: &[u8]| part.iter().all(|byte| byte.is_ascii_digit() || byte.is_ascii_lowercase());
    let (id, rest) = token.split_at_checked(6)?;
    let secret = rest.strip_prefix(b".").filter(|secret| secret.len() == 16)?;
    (plain(id) && plain(secret)).then_some((std::str::from_utf8(id).ok()?, secret))
}

/// Returns the user of a secret that has this token and may be used. The error is for the log.
fn user(secret: &Value, id: &str, token_secret: &[u8], now: SystemTime) -> Result<User, &'static str> {
    let data = |key: &str| secret.at(&["data", key]).and_then(Value::as_bytes).unwrap_or_default();
    if secret.deletion_timestamp().is_some() {
        return Err("is deleted and awaiting removal");
    }
    if secret.text_at(&["type"]) != SECRET_TYPE {
        return Err("has invalid type");
    }
    if verify_slices_are_equal(data("token-secret"), token_secret).is_err() {
        return Err("has invalid value for key token-secret");
    }
    if data("token-id") != id.as_bytes() {
        return Err("has invalid value for key token-id");
    }
    if has_expired(data("expiration"), now) {
        return Err("has expired");
    }
    if data("usage-bootstrap-authentication") != b"true" {
        return Err("is not marked usage-bootstrap-authentication=true");
    }
    let groups = groups(data("auth-extra-groups")).ok_or("has invalid value for key auth-extra-groups")?;
    Ok(User { name: format!("{USER_PREFIX}{id}"), groups, ..User::default() })
}

/// Returns whether a token has expired. One without an expiration never does; one that cannot be parsed has.
fn has_expired(expiration: &[u8], now: SystemTime) -> bool {
    if expiration.is_empty() {
        return false;
    }
    let end = std::str::from_utf8(expiration).ok().and_then(|text| Time::parse(text).ok());
    end.is_none_or(|end| end.nanos_since(&Time::from(now)) <= 0)
}

/// Sorted, each once; `None` if one of them is not for these tokens.
fn groups(extra: &[u8]) -> Option<Vec<String>> {
    let mut groups = BTreeSet::from([GROUP]);
    let extra = std::str::from_utf8(extra).ok()?;
    if !extra.is_empty() {
        for group in extra.split(',') {
            if !is_group(group) {
                return None;
            }
            groups.insert(group);
        }
    }
    Some(groups.into_iter().map(str::to_owned).collect())
}

fn is_group(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_digit() || byte.is_ascii_lowercase();
    name.strip_prefix(GROUP_PREFIX).is_some_and(|own| {
        own.len() <= 256
            && own.bytes().all(|byte| plain(byte) || b":-".contains(&byte))
            && own.bytes().last().is_some_and(plain)
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use pintle_meta::value::{Key, Object};

    use super::*;

    const TOKEN: &str = "abcdef.0123456789abcdef";

    struct One(Result<Option<Value>, String>);

    #[async_trait]
    impl BootstrapSecrets for One {
        async fn secret(&self, name: &str) -> Result<Option<Value>, String> {
            assert_eq!(name, "bootstrap-token-abcdef");
            self.0.clone()
        }
    }

    fn secret(changes: &[(&str, &str)]) -> Value {
        let text = r#"{"metadata":{"name":"bootstrap-token-abcdef"},"type":"bootstrap.kubernetes.io/token"}"#;
        let mut secret = pintle_codec::json::decode_any(text.as_bytes()).unwrap().value;
        let mut data = Object::from_unsorted(Vec::<(Key, Value)>::new());
        let usual = [
            ("token-id", "abcdef"),
            ("token-secret", "0123456789abcdef"),
            ("usage-bootstrap-authentication", "true"),
        ];
        for (key, value) in usual.iter().chain(changes) {
            data.insert(*key, Value::bytes(value.as_bytes()));
        }
        secret.as_object_mut().unwrap().insert("data", Value::object(data));
        secret
    }

    async fn ask(found: Value, token: &str) -> Option<Arc<User>> {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
        let tokens = BootstrapTokens(Arc::new(One(Ok(Some(found)))));
        tokens.authenticate_token(token.as_bytes(), &[], now).await.unwrap().map(|identity| identity.user)
    }

    #[tokio::test]
    async fn a_token_with_its_secret_is_a_bootstrapper() {
        let user = ask(secret(&[]), TOKEN).await.unwrap();
        assert_eq!(user.name, "system:bootstrap:abcdef");
        assert_eq!(user.groups, ["system:bootstrappers", "system:authenticated"]);
        let extra = "system:bootstrappers:z,system:bootstrappers:a:b-1,system:bootstrappers:z";
        let user = ask(secret(&[("auth-extra-groups", extra)]), TOKEN).await.unwrap();
        assert_eq!(
            user.groups,
            [
                "system:bootstrappers",
                "system:bootstrappers:a:b-1",
                "system:bootstrappers:z",
                "system:authenticated"
            ]
        );
    }

    #[tokio::test]
    async fn a_secret_that_is_not_for_this_is_not_accepted() {
        for changes in [
            [("token-secret", "fedcba9876543210")],
            [("token-secret", "0123456789abcde")],
            [("token-secret", "")],
            [("token-id", "fedcba")],
            [("usage-bootstrap-authentication", "false")],
            [("usage-bootstrap-authentication", "")],
            [("expiration", "2027-01-15T08:00:00Z")],
            [("expiration", "soon")],
            [("auth-extra-groups", "system:masters")],
            [("auth-extra-groups", "system:bootstrappers")],
            [("auth-extra-groups", "system:bootstrappers:")],
            [("auth-extra-groups", "system:bootstrappers:a,")],
            [("auth-extra-groups", "system:bootstrappers:a, system:bootstrappers:b")],
            [("auth-extra-groups", "system:bootstrappers:A")],
            [("auth-extra-groups", "system:bootstrappers:a-")],
        ] {
            assert_eq!(ask(secret(&changes), TOKEN).await, None, "{changes:?}");
        }
        assert!(ask(secret(&[("expiration", "2027-01-15T08:00:01Z")]), TOKEN).await.is_some());
        let mut opaque = secret(&[]);
        opaque.as_object_mut().unwrap().insert("type", "Opaque");
        assert_eq!(ask(opaque, TOKEN).await, None);
        let mut leaving = secret(&[]);
        leaving.metadata_mut().unwrap().insert("deletionTimestamp", "2099-01-01T00:00:00Z");
        assert_eq!(ask(leaving, TOKEN).await, None);
    }

    #[tokio::test]
    async fn a_token_of_another_form_is_no_opinion() {
        struct Nobody;
        #[async_trait]
        impl BootstrapSecrets for Nobody {
            async fn secret(&self, name: &str) -> Result<Option<Value>, String> {
                panic!("asked for {name}")
            }
        }
        let tokens = BootstrapTokens(Arc::new(Nobody));
        for token in
            ["", "abcdef", "abcdef.0123456789abcde", "ABCDEF.0123456789abcdef", "abcdef-0123456789abcdef"]
        {
            let found = tokens.authenticate_token(token.as_bytes(), &[], SystemTime::now()).await;
            assert_eq!(found, Ok(None), "{token}");
        }
        let umlauts = "äöü.0123456789abcdef";
        assert_eq!(tokens.authenticate_token(umlauts.as_bytes(), &[], SystemTime::now()).await, Ok(None));
    }

    #[tokio::test]
    async fn an_unreadable_store_is_an_error_and_no_secret_is_none() {
        let now = SystemTime::now();
        let tokens = BootstrapTokens(Arc::new(One(Ok(None))));
        assert_eq!(tokens.authenticate_token(TOKEN.as_bytes(), &[], now).await, Ok(None));
        let tokens = BootstrapTokens(Arc::new(One(Err("down".into()))));
        let failed = tokens.authenticate_token(TOKEN.as_bytes(), &[], now).await;
        assert_eq!(failed, Err(Error::Refused("down".into())));
    }
}
