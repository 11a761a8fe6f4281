//! Tokens of service accounts and of joining nodes, checked against this cluster's objects.

use std::sync::Arc;

use async_trait::async_trait;
use pintle_auth::authenticator::BootstrapSecrets;
use pintle_auth::service_account::{Kind, Objects, Use};
use pintle_meta::{Reason, Status, Value};
use pintle_registry::{
    Admission, Context, Loopback, Mutation, Preconditions, Result as Registered, Store, Transform,
};
use pintle_server::Metrics;

use crate::Error;
use crate::error::no_resource;
use crate::stores::Stores;

const LAST_USED: &str = "kubernetes.io/legacy-token-last-used";

/// What tokens are bound to, out of the stores.
pub(crate) struct StoredAccounts {
    accounts: Arc<Store>,
    secrets: Arc<Store>,
    pods: Arc<Store>,
    nodes: Arc<Store>,
    marks: Loopback,
    metrics: Metrics,
}

impl StoredAccounts {
    pub(crate) fn new(stores: &Stores, metrics: Metrics) -> Result<StoredAccounts, Error> {
        let store = |path: &str| stores.require_store(path);
        let secrets = store("secrets")?;
        let served = stores.served("", "v1", "secrets").ok_or_else(no_resource("secrets"))?;
        let own = secrets.with_strategy(secrets.config().strategy.clone());
        Ok(StoredAccounts {
            accounts: store("serviceaccounts")?,
            pods: store("pods")?,
            nodes: store("minions")?,
            marks: Loopback::new(own, served, "", Arc::new(|_, _| Box::new(Unasked))),
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
        let mut mark = Mark { uid: secret.uid(), day };
        if let Err(status) = self.marks.update(secret.namespace(), secret.name(), &mut mark).await {
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

/// Notes in a secret when its token was last used.
struct Mark<'a> {
    uid: &'a str,
    day: &'a str,
}

#[async_trait]
impl Transform for Mark<'_> {
    async fn transform(&mut self, old: Option<&Value>) -> Registered<Value> {
        let mut secret = old.cloned().unwrap_or_default();
        let metadata = secret.metadata_mut().ok_or_else(|| Status::internal("a secret without metadata"))?;
        let labels = metadata.get_or_insert_with("labels", || Value::object(Default::default()));
        if let Some(labels) = labels.as_object_mut() {
            labels.insert(LAST_USED, self.day);
        }
        Ok(secret)
    }

    fn preconditions(&self) -> Preconditions {
        Preconditions { uid: Some(self.uid.to_owned()), ..Preconditions::default() }
    }
}

/// Nobody has a say in what the server notes for itself. Those who have are not there yet when tokens are.
struct Unasked;

#[async_trait]
impl Admission for Unasked {
    async fn create(&self, _: &Value) -> Registered<()> {
        Ok(())
    }

    async fn update(&self, _: &Value, _: &Value) -> Registered<()> {
        Ok(())
    }

    async fn delete(&self, _: &Value) -> Registered<()> {
        Ok(())
    }
}

#[async_trait]
impl Mutation for Unasked {
    async fn on_update(&self, new: Value, _: &Value) -> Registered<Value> {
        Ok(new)
    }
}
