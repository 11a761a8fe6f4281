//! The service account `default`, which pods run as unless they name another one: every namespace has it.
//!
//! kube-controller-manager has the same controller. Where both run, either may create an account.

use std::sync::Arc;

use async_trait::async_trait;
use pintle_cache::Entry;
use pintle_meta::{Reason, Status, Value};
use pintle_registry::{Client, Context, Result, Store, cache_error};

use crate::runtime::{Controller, Key, Requeue, Source};

const NAME: &str = "default";

/// Creates the account in new namespaces, and again where it was deleted.
pub struct DefaultServiceAccounts {
    namespaces: Arc<Store>,
    accounts: Client,
}

impl DefaultServiceAccounts {
    pub fn new(namespaces: Arc<Store>, accounts: Client) -> DefaultServiceAccounts {
        DefaultServiceAccounts { namespaces, accounts }
    }

    async fn ensure(&self, namespace: &str) -> Result<()> {
        let Some(entry) = self.namespaces.cache().get(namespace) else { return Ok(()) };
        if !is_active(&self.namespaces.object(&entry)?) || self.accounts.cached(namespace, NAME).is_some() {
            return Ok(());
        }
        let json = format!(
            r#"{{"kind":"ServiceAccount","apiVersion":"v1","metadata":{{"name":"{NAME}","namespace":"{namespace}"}}}}"#
        );
        let done = match self.accounts.create_if_missing(namespace, json.as_bytes()).await {
            Ok(Some(created)) => self.take_back(namespace, &created).await,
            other => other.map(drop),
        };
        match done {
            // The namespace has gone meanwhile.
            Err(status) if status.reason == Reason::NotFound => Ok(()),
            done => done,
        }
    }

    /// Deletes an account that was just created if its namespace is being deleted by now, or gone: its contents may have been
    /// deleted before the account was there. A namespace that is active now is emptied later.
    async fn take_back(&self, namespace: &str, created: &Value) -> Result<()> {
        match self.namespaces.get(&Context::default(), namespace).await {
            Ok(found) if is_active(&found) => Ok(()),
            Err(status) if status.reason != Reason::NotFound => Err(status),
            Ok(_) | Err(_) => self.accounts.delete(namespace, created).await,
        }
    }
}

#[async_trait]
impl Controller for DefaultServiceAccounts {
    fn name(&self) -> &'static str {
        "serviceaccount"
    }

    /// Namespaces that come or change, and those whose account was deleted. Keys are names of namespaces.
    fn sources(&self) -> Vec<Source> {
        let namespaces = |entry: &Entry, deleted: bool| (!deleted).then(|| Key::from(entry.key()));
        let accounts = |entry: &Entry, deleted: bool| match entry.key().split_once('/') {
            Some((namespace, NAME)) if deleted => Some(Key::from(namespace)),
            _ => None,
        };
        vec![
            Source::informer(self.accounts.store().clone(), accounts),
            Source::informer(self.namespaces.clone(), namespaces),
        ]
    }

    async fn reconcile(&self, namespace: &str) -> Result<Requeue> {
        // An account that is not in the cache yet is not created twice: the store refuses.
        self.accounts.cache().ready().await.map_err(|error| cache_error(&error))?;
        self.ensure(namespace).await.map(|()| Requeue::Never)
    }

    fn failed(&self, namespace: &str, status: &Status) {
        tracing::error!(namespace, "unable to create a default service account: {}", status.message);
    }
}

fn is_active(namespace: &Value) -> bool {
    namespace.text_at(&["status", "phase"]) == "Active"
}
