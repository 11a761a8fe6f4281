//! Signatures of the ConfigMap `kube-public/cluster-info` by bootstrap tokens: a node that has a token, and trusts nobody yet, reads
//! the kubeconfig there and verifies it by the token.

use std::collections::BTreeMap;

use async_trait::async_trait;
use pintle_auth::jwt::detached_signature;
use pintle_cache::Entry;
use pintle_meta::gvk::GroupVersionResource;
use pintle_meta::{Object, Reason, Status, Value};
use pintle_registry::Result;
use pintle_runtime::Clock;

use super::{Life, NAMESPACE, data, is_token};
use crate::api::{ApiClient, Location};
use crate::followed::Followed;
use crate::runtime::{Controller, Requeue, Source};

const MAP_NAMESPACE: &str = "kube-public";
const MAP: &str = "cluster-info";
/// The content that is signed.
const KUBECONFIG: &str = "kubeconfig";
/// Begins the keys of signatures; the token's id follows.
const SIGNATURE: &str = "jws-kubeconfig-";
const SECRET_PREFIX: &str = "bootstrap-token-";

/// Keeps the signatures.
pub struct BootstrapSigner {
    maps: Followed,
    secrets: Followed,
    /// The place of the type among the fields of secrets.
    secret_type: usize,
    api: ApiClient,
    clock: Clock,
}

impl BootstrapSigner {
    pub const NAME: &'static str = "bootstrap-signer-controller";
    /// Its service account.
    pub const ACCOUNT: &'static str = "bootstrap-signer";

    pub fn new(
        maps: Followed,
        secrets: Followed,
        secret_type: usize,
        api: ApiClient,
        clock: Clock,
    ) -> BootstrapSigner {
        BootstrapSigner { maps, secrets, secret_type, api, clock }
    }

    async fn sync(&self) -> Result<Requeue> {
        let maps = GroupVersionResource::new("", "v1", "configmaps");
        let location = Location::object(maps, MAP_NAMESPACE, MAP);
        let Some(mut map) = self.api.find(&location).await? else { return Ok(Requeue::Never) };
        let content = map.text_at(&["data", KUBECONFIG]).to_owned();
        let Some(values) = map.get_mut("data").and_then(Value::as_object_mut) else {
            return Ok(Requeue::Never);
        };
        if !values.contains(KUBECONFIG) {
            return Ok(Requeue::Never);
        }
        let prefix = format!("{NAMESPACE}/{SECRET_PREFIX}");
        let secrets = self.secrets.list(&prefix, |entry| is_token(entry, self.secret_type)).await?;
        let (tokens, next) = self.tokens(&secrets);
        let signatures: BTreeMap<String, String> = tokens
            .into_iter()
            .map(|(id, secret)| {
                (format!("{SIGNATURE}{id}"), detached_signature(content.as_bytes(), id, secret))
            })
            .collect();
        if replace_signatures(values, signatures) {
            match self.api.replace(&location, &map).await {
                // The change in between queues the ConfigMap again.
                Err(status) if matches!(status.reason, Reason::Conflict | Reason::NotFound) => {}
                written => drop(written?),
            }
        }
        Ok(next)
    }

    /// Returns the tokens that may sign, by id, and when the first of them expires.
    fn tokens<'a>(&self, secrets: &'a [Value]) -> (BTreeMap<&'a str, &'a [u8]>, Requeue) {
        let (mut tokens, mut next) = (BTreeMap::new(), None);
        for secret in secrets {
            let Some((id, token)) = signing_token(secret) else { continue };
            match Life::of(secret, &self.clock) {
                Life::Over => continue,
                Life::Left(left) => next = next.into_iter().chain([left]).min(),
                Life::Unlimited => {}
            }
            tokens.insert(id, token);
        }
        (tokens, next.map_or(Requeue::Never, Requeue::After))
    }
}

/// Returns id and secret of a token that may sign.
fn signing_token(secret: &Value) -> Option<(&str, &[u8])> {
    let id = secret.name().strip_prefix(SECRET_PREFIX)?;
    let is_id = id.len() == 6 && id.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_lowercase());
    let token = data(secret, "token-secret");
    let may_sign = data(secret, "usage-bootstrap-signing") == b"true";
    (is_id && data(secret, "token-id") == id.as_bytes() && !token.is_empty() && may_sign)
        .then_some((id, token))
}

/// Puts signatures in the place of those that are there. Returns whether that is a change.
fn replace_signatures(values: &mut Object, signatures: BTreeMap<String, String>) -> bool {
    let old: BTreeMap<String, String> = values
        .iter()
        .filter(|(key, _)| key.starts_with(SIGNATURE))
        .map(|(key, value)| (key.to_owned(), value.as_str().unwrap_or_default().to_owned()))
        .collect();
    if old == signatures {
        return false;
    }
    values.retain(|key, _| !key.starts_with(SIGNATURE));
    for (key, signature) in signatures {
        values.insert(key, signature);
    }
    true
}

#[async_trait]
impl Controller for BootstrapSigner {
    fn name(&self) -> &'static str {
        "bootstrap_signer_queue"
    }

    /// The ConfigMap, and every token.
    fn sources(&self) -> Vec<Source> {
        let place = self.secret_type;
        let keys = move |entry: &Entry, _: bool| is_token(entry, place).then(|| "".into());
        vec![
            Source::stored(self.maps.store().clone(), format!("{MAP_NAMESPACE}/{MAP}"), ""),
            Source::informer(self.secrets.store().clone(), keys),
        ]
    }

    async fn reconcile(&self, _: &str) -> Result<Requeue> {
        self.sync().await
    }

    fn failed(&self, _: &str, status: &Status) {
        tracing::error!("Signing the ConfigMap {MAP_NAMESPACE}/{MAP} failed: {}", status.message);
    }
}
