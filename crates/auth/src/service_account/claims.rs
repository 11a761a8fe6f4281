//! The claims of a new token.

use std::sync::Arc;
use std::time::SystemTime;

use async_trait::async_trait;
use aws_lc_rs::rand::{SecureRandom, SystemRandom};
use pintle_meta::time::Time;
use pintle_meta::value::{Key, Object};
use pintle_meta::{Value, names};

use super::username;
use crate::jwt::{PrivateKey, PrivateKeyError};

/// An object by name and identity.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ref {
    pub name: String,
    pub uid: String,
}

/// A token to be signed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claims {
    pub namespace: String,
    pub account: Ref,
    pub pod: Option<Ref>,
    pub secret: Option<Ref>,
    /// The object it is bound to, and the node of a bound pod.
    pub node: Option<Ref>,
    pub audiences: Vec<String>,
    pub expiration_seconds: i64,
    /// When it should have been replaced, if it lives longer than that.
    pub warn_after_seconds: Option<i64>,
    /// Its own name, which nothing else has.
    pub id: String,
}

/// A new token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issued {
    pub token: String,
    /// As [`super::credential_id`] names it.
    pub credential_id: String,
}

/// Signs tokens.
#[async_trait]
pub trait Signer: Send + Sync + 'static {
    /// A token that says `claims`. The error is what the client is told.
    async fn sign(&self, claims: &Value) -> Result<String, String>;
}

#[async_trait]
impl Signer for PrivateKey {
    async fn sign(&self, claims: &Value) -> Result<String, String> {
        PrivateKey::sign(self, claims).map_err(|error| error.to_string())
    }
}

/// Makes tokens.
#[derive(Clone)]
pub struct Issuer {
    pub name: String,
    pub signer: Arc<dyn Signer>,
}

impl Issuer {
    /// A token under a name of its own, good from now on.
    pub async fn issue(&self, mut claims: Claims, now: SystemTime) -> Result<Issued, String> {
        let mut random = [0; 16];
        SystemRandom::new().fill(&mut random).map_err(|_| PrivateKeyError::Sign.to_string())?;
        claims.id = names::uuid(u128::from_be_bytes(random));
        let token = self.signer.sign(&claims.value(&self.name, now)).await?;
        Ok(Issued { token, credential_id: super::credential_id(&claims.id) })
    }
}

impl Claims {
    /// Returns the claims of a token of an issuer, valid from now on.
    pub(super) fn value(&self, issuer: &str, now: SystemTime) -> Value {
        let now = Time::from(now).unix_seconds();
        let mut own: Vec<(Key, Value)> = vec![
            (Key::new("namespace"), Value::string(&self.namespace)),
            (Key::new("serviceaccount"), reference(&self.account)),
        ];
        for (name, bound) in [("pod", &self.pod), ("secret", &self.secret), ("node", &self.node)] {
            own.extend(bound.as_ref().map(|bound| (Key::new(name), reference(bound))));
        }
        if let Some(seconds) = self.warn_after_seconds {
            own.push((Key::new("warnafter"), now.saturating_add(seconds).into()));
        }
        let mut all: Vec<(Key, Value)> = vec![
            (Key::new("exp"), now.saturating_add(self.expiration_seconds).into()),
            (Key::new("iat"), now.into()),
            (Key::new("iss"), Value::string(issuer)),
            (Key::new("jti"), Value::string(&self.id)),
            (Key::new("kubernetes.io"), Value::object(Object::from_unsorted(own))),
            (Key::new("nbf"), now.into()),
            (Key::new("sub"), Value::string(username(&self.namespace, &self.account.name))),
        ];
        if !self.audiences.is_empty() {
            let audiences = self.audiences.iter().map(Value::string).collect();
            all.push((Key::new("aud"), Value::list(audiences)));
        }
        Value::object(Object::from_unsorted(all))
    }
}

fn reference(to: &Ref) -> Value {
    let entries = [("name", &to.name), ("uid", &to.uid)];
    let entries = entries.iter().filter(|(_, text)| !text.is_empty());
    Value::object(Object::from_unsorted(
        entries.map(|(key, text)| (Key::new(key), Value::string(text))).collect(),
    ))
}
