//! The default roles and bindings: reconciled before the server is ready.

mod reconcile;

use std::time::Duration;

use futures_util::future::join_all;
use pintle_auth::authorizer::rbac::bootstrap::{self, Expected};
use pintle_features::Features;
use pintle_meta::{Reason, Value};
use pintle_registry::{Client, Result};
use pintle_runtime::Clock;

use reconcile::{Outcome, reconciled};

/// How long the objects are tried to be written, and how often. A server that cannot write them ends.
const TIMEOUT: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_secs(1);

/// The number of objects written at the same time: enough for few commits, and no more memory than requests take.
const AT_ONCE: usize = 24;

/// Attempts at one object, where another writer changes it at the same time.
const ATTEMPTS: usize = 4;

/// Clients of the four resources of RBAC.
#[derive(Clone)]
pub struct AccessObjects {
    pub roles: Client,
    pub role_bindings: Client,
    pub cluster_roles: Client,
    pub cluster_role_bindings: Client,
}

impl AccessObjects {
    fn of(&self, expected: &Expected) -> &Client {
        match (expected.is_binding, expected.namespace) {
            (false, "") => &self.cluster_roles,
            (false, _) => &self.roles,
            (true, "") => &self.cluster_role_bindings,
            (true, _) => &self.role_bindings,
        }
    }
}

/// Reconciles the default roles and bindings once.
pub struct BootstrapRoles {
    objects: AccessObjects,
    expected: Vec<Expected>,
}

impl BootstrapRoles {
    /// The post-start hook.
    pub const HOOK: &'static str = "rbac/bootstrap-roles";

    pub fn new(objects: AccessObjects, features: Features) -> BootstrapRoles {
        BootstrapRoles { objects, expected: bootstrap::objects(features).collect() }
    }

    /// Waits until all objects are reconciled. Errors: the last failure, after a while.
    pub async fn ensure(self, clock: &Clock) -> std::result::Result<(), String> {
        let begun = clock.instant();
        loop {
            let failure = match self.sync().await {
                Ok(()) => return Ok(()),
                Err(failure) => failure,
            };
            if clock.instant().saturating_duration_since(begun) >= TIMEOUT {
                return Err(format!("unable to initialize roles: {failure}"));
            }
            clock.sleep(PAUSE).await;
        }
    }

    /// Reconciles all objects once, many at the same time, so that they are few commits.
    pub async fn sync(&self) -> std::result::Result<(), String> {
        let AccessObjects { roles, role_bindings, cluster_roles, cluster_role_bindings } = &self.objects;
        for objects in [roles, role_bindings, cluster_roles, cluster_role_bindings] {
            if let Err(error) = objects.store().cache().ready().await {
                let resource = &objects.store().config().resource;
                tracing::error!("unable to initialize {resource}: {error}");
                return Err(error.to_string());
            }
        }
        self.prime_aggregated().await.map_err(|status| status.message)?;
        self.prime_split().await.map_err(|status| status.message)?;
        let mut failure = None;
        for some in self.expected.chunks(AT_ONCE) {
            let outcomes = join_all(some.iter().map(|expected| self.ensure_one(expected))).await;
            for (expected, outcome) in some.iter().zip(outcomes) {
                if let Err(status) = outcome {
                    let resource = &self.objects.of(expected).store().config().resource;
                    tracing::error!("unable to reconcile {resource}/{}: {}", expected.name, status.message);
                    failure = Some(status.message);
                }
            }
        }
        failure.map_or(Ok(()), Err)
    }

    async fn ensure_one(&self, expected: &Expected) -> Result<()> {
        let objects = self.objects.of(expected);
        let wanted = objects.read(expected.json.as_bytes())?;
        let (namespace, name) = (expected.namespace, &*expected.name);
        let mut found = objects.cached(namespace, name);
        for attempt in 1.. {
            let outcome = match &found {
                None => objects.create(namespace, wanted.clone()).await.map(drop),
                Some(found) => self.change(objects, found, &wanted, expected).await,
            };
            match outcome {
                // Another writer created, deleted or replaced it meanwhile.
                Err(status)
                    if attempt < ATTEMPTS
                        && matches!(
                            status.reason,
                            Reason::AlreadyExists | Reason::NotFound | Reason::Conflict
                        ) =>
                {
                    let context =
                        pintle_registry::Context { namespace: namespace.into(), ..Default::default() };
                    found = objects.store().get(&context, name).await.ok();
                }
                outcome => return outcome,
            }
        }
        Ok(())
    }

    async fn change(
        &self,
        objects: &Client,
        found: &Value,
        wanted: &Value,
        expected: &Expected,
    ) -> Result<()> {
        let (namespace, name) = (expected.namespace, &*expected.name);
        match reconciled(found, wanted, objects)? {
            Outcome::Same => Ok(()),
            Outcome::Protected => {
                let resource = &objects.store().config().resource;
                tracing::warn!("skipped reconcile-protected {resource}/{name}, which lacks something");
                Ok(())
            }
            Outcome::Changed(_) => {
                let mut again = |old: &Value| match reconciled(old, wanted, objects)? {
                    Outcome::Changed(new) => Ok(Some(new)),
                    _ => Ok(None),
                };
                objects.update(namespace, name, &mut again).await.map(drop)
            }
            Outcome::Replaced => {
                objects.delete(namespace, found).await?;
                objects.create(namespace, wanted.clone()).await.map(drop)
            }
        }
    }

    /// Copies the rules of a role that has since become an aggregate to the role that they are aggregated from.
    async fn prime_aggregated(&self) -> Result<()> {
        let roles = &self.objects.cluster_roles;
        for (from, to) in bootstrap::AGGREGATED {
            if roles.cached("", to).is_some() {
                continue;
            }
            let Some(old) = roles.cached("", from) else { continue };
            if old.get("aggregationRule").is_some_and(|rule| !rule.is_null()) {
                return Ok(());
            }
            tracing::info!("migrating {from} to {to}");
            self.copy(roles, &old, old.clone(), to).await?;
        }
        Ok(())
    }

    /// Copies the subjects of a binding that was split to the new one.
    async fn prime_split(&self) -> Result<()> {
        let bindings = &self.objects.cluster_role_bindings;
        let (from, to) = bootstrap::SPLIT;
        let (Some(old), None) = (bindings.cached("", from), bindings.cached("", to)) else { return Ok(()) };
        let template = self.expected.iter().find(|expected| expected.is_binding && expected.name == to);
        let Some(template) = template else { return Ok(()) };
        let mut new = bindings.read(template.json.as_bytes())?;
        if let Some(new) = new.as_object_mut() {
            if let Some(subjects) = old.get("subjects") {
                new.insert("subjects", subjects.clone());
            } else {
                new.remove("subjects");
            }
        }
        tracing::info!(
            "copying subjects, labels, and annotations from ClusterRoleBinding {from:?} to {to:?}"
        );
        self.copy(bindings, &old, new, to).await
    }

    /// Creates `object` under a name, with the labels and annotations of another.
    async fn copy(&self, objects: &Client, from: &Value, mut object: Value, name: &str) -> Result<()> {
        if let Some(metadata) = object.metadata_mut() {
            metadata.retain(|_, _| false);
            metadata.insert("name", name);
            for field in ["labels", "annotations"] {
                if let Some(value) = from.metadata().and_then(|metadata| metadata.get(field)) {
                    metadata.insert(field, value.clone());
                }
            }
        }
        match objects.create("", object).await {
            Err(status) if status.reason != Reason::AlreadyExists => Err(status),
            _ => {
                // Later steps of the round read the cache.
                let wait = objects.store().cache().wait_for_current(PAUSE).await;
                if let Err(error) = wait {
                    tracing::debug!(%error, "the cache is behind");
                }
                Ok(())
            }
        }
    }
}
