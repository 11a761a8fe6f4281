//! The objects to which tokens of service accounts and bootstrap tokens are bound.

use std::sync::Arc;

use async_trait::async_trait;
use pintle_auth::Metrics;
use pintle_auth::authenticator::BootstrapSecrets;
use pintle_auth::service_account::{Kind, Objects, Use};
use pintle_meta::{Reason, Status, Value};
use pintle_registry::{Client, Context, ObjectIdentity, Result as Registered, Store};

use crate::Error;
use crate::error::no_resource;
use crate::stores::Stores;

const LAST_USED: &str = "kubernetes.io/legacy-token-last-used";

/// The objects of tokens, read from the stores.
pub(crate) struct StoredAccounts {
    accounts: Arc<Store>,
    secrets: Arc<Store>,
    pods: Arc<Store>,
    nodes: Arc<Store>,
    marks: Client,
    metrics: Metrics,
}

impl StoredAccounts {
    pub(crate) fn new(stores: &Stores, metrics: Metrics) -> Result<StoredAccounts, Error> {
        let store = |path: &str| stores.require_store(path);
        let secrets = store("secrets")?;
        let served = stores.served("", "v1", "secrets").ok_or_else(no_resource("secrets"))?;
        Ok(StoredAccounts {
            accounts: store("serviceaccounts")?,
            pods: store("pods")?,
            nodes: store("minions")?,
            marks: Client::new(secrets.clone(), served),
            secrets,
            metrics,
        })
    }
}

/// Returns an object as the cache has it; one that it does not have is read from the store.
pub(crate) async fn find(store: &Store, namespace: &str, name: &str) -> Registered<Value> {
    let context = Context { namespace: namespace.into(), ..Context::default() };
    let entry = store.cached_entry(&context, name).await?;
    store.object(&entry)
}

#[async_trait]
impl Objects for StoredAccounts {
    async fn get(&self, kind: Kind, namespace: &str, name: &str) -> Result<Value, String> {
        let store = match kind {
            Kind::ServiceAccount => &self.accounts,
            Kind::Secret => &self.secrets,
            Kind::Pod => &self.pods,
            Kind::Node => &self.nodes,
        };
        find(store, namespace, name).await.map_err(|status| status.message)
    }

    async fn mark_used(&self, secret: &Value, day: &str) {
        let mut mark = |old: &Value| marked(old, day).map(Some);
        let exactly = ObjectIdentity::of(secret);
        if let Err(status) = self.marks.update_exactly(secret.namespace(), &exactly, &mut mark).await {
            let (namespace, name) = (secret.namespace(), secret.name());
            tracing::error!(
                error = status.message,
                namespace,
                name,
                "cannot note when a token was last used"
            );
        }
    }

    fn count(&self, usage: Use) {
        self.metrics.token_used(usage);
    }
}

#[async_trait]
impl BootstrapSecrets for StoredAccounts {
    async fn secret(&self, name: &str) -> Result<Option<Value>, String> {
        match find(&self.secrets, "kube-system", name).await {
            Ok(secret) => Ok(Some(secret)),
            Err(status) if status.reason == Reason::NotFound => Ok(None),
            Err(status) => Err(status.message),
        }
    }
}

/// Returns a secret that says when its token was last used.
fn marked(secret: &Value, day: &str) -> Registered<Value> {
    let mut secret = secret.clone();
    let metadata = secret.metadata_mut().ok_or_else(|| Status::internal("a secret without metadata"))?;
    let labels = metadata.get_or_insert_with("labels", || Value::object(Default::default()));
    if let Some(labels) = labels.as_object_mut() {
        labels.insert(LAST_USED, day);
    }
    Ok(secret)
}
