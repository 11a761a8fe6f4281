//! Tokens of service accounts that are kept in secrets: filled in where they are missing, and removed with their account.
//!
//! ```text
//! Secret of type kubernetes.io/service-account-token
//!   its account exists          data.token, data.namespace and data.ca.crt are filled in, and the annotation with the account's uid
//!   its account does not exist  the secret is deleted
//! ServiceAccount deleted        its secrets are deleted
//! Secret deleted                the account's `secrets` no longer lists it
//! ```
//!
//! Tokens are made only for secrets that somebody created: since Kubernetes 1.24 no account gets one by itself.

use std::sync::Arc;

use async_trait::async_trait;
use pintle_auth::service_account::{Signer, legacy_claims};
use pintle_cache::Entry;
use pintle_meta::{Reason, Status, Value};
use pintle_registry::Result;
use pintle_runtime::Clock;
use serde_json::json;

use crate::api::ApiClient;
use crate::followed::Followed;
use crate::repairs::Repairs;
use crate::runtime::{Controller, Key, Requeue, Source};

pub(crate) const SECRET_TYPE: &str = "kubernetes.io/service-account-token";
pub(crate) const ACCOUNT_NAME: &str = "kubernetes.io/service-account.name";
pub(crate) const ACCOUNT_UID: &str = "kubernetes.io/service-account.uid";

/// Mark keys of deleted accounts, `-namespace/name/uid`, and of deleted secrets, `!namespace/name/account/uid`. No name begins so.
const DELETED_ACCOUNT: char = '-';
const DELETED_SECRET: char = '!';

/// Keeps the tokens in secrets.
pub struct ServiceAccountTokens {
    accounts: Followed,
    secrets: Followed,
    /// The place of the type among the fields of secrets.
    secret_type: usize,
    api: ApiClient,
    signer: Arc<dyn Signer>,
    root_ca: Option<Arc<str>>,
    repairs: Repairs,
}

/// The resources that [`ServiceAccountTokens`] and [`crate::LegacyTokenCleaner`] follow.
pub struct TokenResources {
    pub accounts: Followed,
    pub secrets: Followed,
    /// The place of the type among the fields of secrets.
    pub secret_type: usize,
}

impl ServiceAccountTokens {
    pub const NAME: &'static str = "serviceaccount-token-controller";

    /// Tokens are signed by `signer`; `root_ca` is put beside them, if there is one.
    pub fn new(
        resources: TokenResources,
        api: ApiClient,
        signer: Arc<dyn Signer>,
        root_ca: Option<Arc<str>>,
        clock: Clock,
    ) -> ServiceAccountTokens {
        let TokenResources { accounts, secrets, secret_type } = resources;
        let repairs = Repairs::new(clock);
        ServiceAccountTokens { accounts, secrets, secret_type, api, signer, root_ca, repairs }
    }

    /// Brings a secret up to date, or deletes it if its account is gone.
    async fn sync_secret(&self, key: &str) -> Result<Requeue> {
        let Some(secret) = self.secrets.find(key).await? else { return Ok(Requeue::Never) };
        let name = secret.annotation(ACCOUNT_NAME).unwrap_or_default();
        if secret.text_at(&["type"]) != SECRET_TYPE || name.is_empty() {
            return Ok(Requeue::Never);
        }
        let uid = secret.annotation(ACCOUNT_UID).unwrap_or_default();
        match self.account(secret.namespace(), name, uid).await? {
            Some(account) => self.fill(&account, secret).await,
            None => {
                tracing::debug!(secret = key, "the service account of a token does not exist");
                self.delete(&secret).await.map(|()| Requeue::Never)
            }
        }
    }

    /// Returns an account, of this uid if that is not empty. One that the cache does not have yet is asked for.
    async fn account(&self, namespace: &str, name: &str, uid: &str) -> Result<Option<Value>> {
        let fits = |account: &Value| uid.is_empty() || account.uid() == uid;
        if let Some(account) = self.accounts.find(&format!("{namespace}/{name}")).await?.filter(fits) {
            return Ok(Some(account));
        }
        // A name that no account can have is not looked up.
        if !pintle_meta::validation::dns1123_subdomain(name).is_empty() {
            return Ok(None);
        }
        let mut location = self.accounts.collection(namespace);
        name.clone_into(&mut location.name);
        Ok(self.api.find(&location).await?.filter(fits))
    }

    async fn fill(&self, account: &Value, mut secret: Value) -> Result<Requeue> {
        let data = |key: &str| secret.at(&["data", key]).and_then(Value::as_bytes).unwrap_or_default();
        let authority = self.root_ca.as_deref().map(str::as_bytes).filter(|own| data("ca.crt") != *own);
        let needs_namespace = data("namespace").is_empty();
        let needs_token = data("token").is_empty();
        if authority.is_none() && !needs_namespace && !needs_token {
            return Ok(Requeue::Never);
        }
        let location = self.secrets.location(&secret);
        let key = format!("{}/{}", location.namespace, location.name);
        if !needs_token && let Some(delay) = self.repairs.wait(&key) {
            return Ok(Requeue::After(delay));
        }
        let mut filled: Vec<(&str, Value)> = Vec::new();
        filled.extend(authority.map(|authority| ("ca.crt", Value::bytes(authority))));
        if needs_namespace {
            filled.push(("namespace", Value::bytes(location.namespace.as_bytes())));
        }
        if needs_token {
            let token = self.signer.sign(&legacy_claims(account, &location.name)).await;
            filled.push(("token", Value::bytes(token.map_err(Status::internal)?.as_bytes())));
        }
        let fields = secret.as_object_mut().map(|fields| fields.get_or_insert_with("data", empty));
        if let Some(data) = fields.and_then(Value::as_object_mut) {
            for (key, value) in filled {
                data.insert(key, value);
            }
        }
        let annotations =
            secret.metadata_mut().map(|metadata| metadata.get_or_insert_with("annotations", empty));
        if let Some(annotations) = annotations.and_then(Value::as_object_mut) {
            annotations.insert(ACCOUNT_NAME, account.name());
            annotations.insert(ACCOUNT_UID, account.uid());
        }
        // With the version that the cache had: what has changed meanwhile is looked at again.
        let written = self.api.replace(&location, &secret).await.map(drop);
        if let Err(status) = &written
            && status.reason == Reason::Invalid
        {
            // It is immutable, for example: only a change could help, which comes up by itself.
            self.failed(&key, status);
            return Ok(Requeue::Never);
        }
        unless_changed(written).map(|()| Requeue::Never)
    }

    /// Deletes the secrets of an account that was deleted.
    async fn delete_all(&self, namespace: &str, name: &str, uid: &str) -> Result<()> {
        let current = self.accounts.find(&format!("{namespace}/{name}")).await?;
        if current.is_some_and(|account| account.uid() == uid) {
            return Ok(());
        }
        let is_token = |entry: &Entry| entry.field(self.secret_type) == Some(SECRET_TYPE);
        let mut result = Ok(());
        for secret in self.secrets.list(&format!("{namespace}/"), is_token).await? {
            let annotation = |key: &str| secret.annotation(key).unwrap_or_default();
            if annotation(ACCOUNT_NAME) == name && annotation(ACCOUNT_UID) == uid {
                // One that cannot be deleted does not keep the others.
                result = self.delete(&secret).await.and(result);
            }
        }
        result
    }

    async fn delete(&self, secret: &Value) -> Result<()> {
        let options = json!({"preconditions": {"uid": secret.uid()}});
        unless_changed(self.api.delete(&self.secrets.location(secret), options).await)
    }

    /// Removes the reference of an account to a secret that was deleted.
    async fn forget(&self, namespace: &str, secret: &str, account: &str, uid: &str) -> Result<()> {
        let Some(account) = self.accounts.find(&format!("{namespace}/{account}")).await? else {
            return Ok(());
        };
        if !uid.is_empty() && account.uid() != uid || !lists(&account, secret) {
            return Ok(());
        }
        // It may have come again under its name, which the cache knows by now.
        if self.secrets.find(&format!("{namespace}/{secret}")).await?.is_some() {
            return Ok(());
        }
        let mut new = account.clone();
        if let Some(secrets) = new.get_mut("secrets").and_then(Value::as_list_mut) {
            secrets.retain(|listed| listed.text_at(&["name"]) != secret);
        }
        match self.api.replace(&self.accounts.location(&account), &new).await {
            Err(status) if status.reason != Reason::NotFound => Err(status),
            _ => Ok(()),
        }
    }
}

/// Returns whether an account lists a secret as its own.
pub(crate) fn lists(account: &Value, secret: &str) -> bool {
    account.items_at(&["secrets"]).iter().any(|listed| listed.text_at(&["name"]) == secret)
}

fn empty() -> Value {
    Value::object(Default::default())
}

/// Takes a write to an object that has changed or is gone for done: its change is looked at by itself.
pub(crate) fn unless_changed(result: Result<()>) -> Result<()> {
    match result {
        Err(status) if matches!(status.reason, Reason::NotFound | Reason::Conflict) => Ok(()),
        result => result,
    }
}

#[async_trait]
impl Controller for ServiceAccountTokens {
    fn name(&self) -> &'static str {
        "serviceaccount_tokens_service"
    }

    /// Secrets of the type, and accounts that were deleted. That an account is there is nothing to act upon.
    fn sources(&self) -> Vec<Source> {
        let (secrets, place) = (self.secrets.clone(), self.secret_type);
        let of_secret = move |entry: &Entry, deleted: bool| {
            if entry.field(place) != Some(SECRET_TYPE) {
                return None;
            }
            if !deleted {
                return Some(Key::from(entry.key()));
            }
            let secret = secrets.decode(entry).ok()?;
            let annotation = |key: &str| secret.annotation(key).unwrap_or_default();
            let (name, uid) = (annotation(ACCOUNT_NAME), annotation(ACCOUNT_UID));
            let is_name = !name.is_empty() && !name.contains('/');
            is_name.then(|| Key::from(format!("{DELETED_SECRET}{}/{name}/{uid}", entry.key())))
        };
        let accounts = self.accounts.clone();
        let of_account = move |entry: &Entry, deleted: bool| {
            let account = deleted.then(|| accounts.decode(entry).ok()).flatten()?;
            Some(Key::from(format!("{DELETED_ACCOUNT}{}/{}", entry.key(), account.uid())))
        };
        vec![
            Source::informer(self.accounts.store().clone(), of_account),
            Source::informer(self.secrets.store().clone(), of_secret),
        ]
    }

    async fn reconcile(&self, key: &str) -> Result<Requeue> {
        let parts = |rest: &str| rest.splitn(4, '/').map(str::to_owned).collect::<Vec<_>>();
        if let Some(parts) = key.strip_prefix(DELETED_ACCOUNT).map(parts) {
            let [namespace, name, uid] = &parts[..] else { return Ok(Requeue::Never) };
            return self.delete_all(namespace, name, uid).await.map(|()| Requeue::Never);
        }
        if let Some(parts) = key.strip_prefix(DELETED_SECRET).map(parts) {
            let [namespace, secret, account, uid] = &parts[..] else { return Ok(Requeue::Never) };
            return self.forget(namespace, secret, account, uid).await.map(|()| Requeue::Never);
        }
        self.sync_secret(key).await
    }

    fn failed(&self, key: &str, status: &Status) {
        let key = key.trim_start_matches([DELETED_ACCOUNT, DELETED_SECRET]);
        tracing::error!(key, "Synchronizing service account tokens failed: {}", status.message);
    }

    fn workers(&self) -> usize {
        5
    }
}
