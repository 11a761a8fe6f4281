//! The service account that pods run as unless they say otherwise: every namespace has one.
//!
//! In a cluster the controller manager makes them. Where it runs too, whoever is first does it.

use std::sync::Arc;
use std::time::Duration;

use pintle_cache::{Change, Cursor, Entry, Interest, Next};
use pintle_meta::{Reason, Value};
use pintle_registry::{Context, Store};

use crate::objects::Objects;

const NAME: &str = "default";

/// How soon what failed is tried again.
const PAUSE: Duration = Duration::from_secs(1);

/// Makes them as namespaces come, and again where somebody deletes one.
pub struct DefaultServiceAccounts {
    namespaces: Arc<Store>,
    accounts: Objects,
}

impl DefaultServiceAccounts {
    pub fn new(namespaces: Arc<Store>, accounts: Objects) -> DefaultServiceAccounts {
        DefaultServiceAccounts { namespaces, accounts }
    }

    /// Goes on until `shutdown`.
    pub fn start(self, shutdown: impl Future<Output = ()> + Send + 'static) {
        tokio::spawn(async move {
            tokio::select! {
                () = self.run() => {}
                () = shutdown => {}
            }
        });
    }

    async fn run(&self) {
        loop {
            match self.load().await {
                Some((namespaces, accounts)) => self.follow(namespaces, accounts).await,
                None => tokio::time::sleep(PAUSE).await,
            }
        }
    }

    /// Makes what is missing, and cursors at what comes.
    async fn load(&self) -> Option<(Cursor, Cursor)> {
        let (namespaces, accounts) = (self.namespaces.cache(), self.accounts.store().cache());
        namespaces.ready().await.ok()?;
        accounts.ready().await.ok()?;
        let (_, accounts) = accounts.snapshot_and_watch(Interest::Everything).ok()?;
        let (snapshot, namespaces) = namespaces.snapshot_and_watch(Interest::Everything).ok()?;
        for namespace in snapshot.objects.iter() {
            self.ensure(namespace).await.ok()?;
        }
        Some((namespaces, accounts))
    }

    /// Returns when something was missed or could not be done.
    async fn follow(&self, mut namespaces: Cursor, mut accounts: Cursor) {
        loop {
            let next = tokio::select! {
                next = namespaces.next() => next,
                next = accounts.next() => next,
            };
            let Next::Changes(changes) = next else { return };
            for change in changes {
                let Some(namespace) = self.concerned(&change) else { continue };
                if self.ensure(&namespace).await.is_err() {
                    tokio::time::sleep(PAUSE).await;
                    return;
                }
            }
        }
    }

    /// The namespace that may lack an account now.
    fn concerned(&self, change: &Change) -> Option<Arc<Entry>> {
        match change.entry.key().split_once('/') {
            None if change.deleted => None,
            None => Some(change.entry.clone()),
            Some((namespace, NAME)) if change.deleted => self.namespaces.cache().get(namespace),
            Some(_) => None,
        }
    }

    async fn ensure(&self, namespace: &Entry) -> Result<(), ()> {
        let name = namespace.key();
        let object = self.namespaces.object(namespace).map_err(drop)?;
        if !is_active(&object) || self.accounts.cached(name, NAME).is_some() {
            return Ok(());
        }
        let json = format!(
            r#"{{"kind":"ServiceAccount","apiVersion":"v1","metadata":{{"name":"{NAME}","namespace":"{name}"}}}}"#
        );
        let done = match self.accounts.create_if_missing(name, json.as_bytes()).await {
            Ok(Some(created)) => self.take_back(name, &created).await,
            other => other.map(drop),
        };
        match done {
            Ok(()) => Ok(()),
            // The namespace has gone meanwhile.
            Err(status) if status.reason == Reason::NotFound => Ok(()),
            Err(status) => {
                tracing::error!(
                    namespace = name,
                    "unable to create a default service account: {}",
                    status.message
                );
                Err(())
            }
        }
    }

    /// Deletes an account that was just created if its namespace is being deleted by now, or gone: whoever empties the
    /// namespace may have done so before the account was there. A namespace that is active now is emptied later.
    async fn take_back(&self, namespace: &str, created: &Value) -> pintle_registry::Result<()> {
        match self.namespaces.get(&Context::default(), namespace).await {
            Ok(found) if is_active(&found) => Ok(()),
            Err(status) if status.reason != Reason::NotFound => Err(status),
            Ok(_) | Err(_) => self.accounts.delete(namespace, created).await,
        }
    }
}

fn is_active(namespace: &Value) -> bool {
    namespace.text_at(&["status", "phase"]) == "Active"
}
