//! Storing the objects of a resource again.

use async_trait::async_trait;
use pintle_meta::{Reason, Status, Value};
use pintle_registry::Result;
use serde_json::json;

use super::{Migrations, SUCCEEDED, has_ended};
use crate::api::{Location, PatchKind};
use crate::catalog::CatalogResource;
use crate::runtime::{Controller, Requeue, Source};

/// Migrates objects.
pub struct Migrator(pub Migrations);

impl Migrator {
    pub const NAME: &'static str = "storage-version-migrator-controller";

    /// Applies every object that was written at a revision or before, without a change: the server then stores it in the version of
    /// today. Returns why it cannot be done, if it cannot.
    async fn migrate(&self, resource: &CatalogResource, until: u64) -> Result<Option<String>> {
        let collection = Location::collection(resource.resource.clone(), "");
        let mut page = String::new();
        loop {
            let (objects, next) = self.0.api.list_metadata_page(&collection, page).await?;
            for object in &objects {
                let is_newer = object.resource_version().parse().is_ok_and(|revision: u64| revision > until);
                if is_newer {
                    continue;
                }
                match self.store_again(resource, object).await {
                    Ok(()) => {}
                    // It was written meanwhile, and so migrated, or is gone.
                    Err(status) if matches!(status.reason, Reason::Conflict | Reason::NotFound) => {}
                    Err(status) if is_temporary(&status) => return Err(status),
                    Err(status) => return Ok(Some(status.message.to_string())),
                }
            }
            if next.is_empty() {
                return Ok(None);
            }
            page = next;
        }
    }

    async fn store_again(&self, resource: &CatalogResource, object: &Value) -> Result<()> {
        let of = &resource.resource;
        let version = match of.group.as_str() {
            "" => of.version.clone(),
            group => format!("{group}/{}", of.version),
        };
        let config = json!({
            "kind": resource.kind, "apiVersion": version,
            "metadata": {"uid": object.uid(), "resourceVersion": object.resource_version()},
        });
        let location = Location::object(of.clone(), object.namespace(), object.name());
        self.0.api.patch(&location, PatchKind::Apply(Migrator::NAME), &config).await.map(drop)
    }
}

/// Returns whether a request may succeed later.
fn is_temporary(status: &Status) -> bool {
    matches!(
        status.reason,
        Reason::ServerTimeout
            | Reason::TooManyRequests
            | Reason::ServiceUnavailable
            | Reason::InternalError
            | Reason::Timeout
    )
}

#[async_trait]
impl Controller for Migrator {
    fn name(&self) -> &'static str {
        "storage-version-migrator-controller"
    }

    fn sources(&self) -> Vec<Source> {
        vec![self.0.source(|migration| migration.name().to_owned())]
    }

    async fn reconcile(&self, name: &str) -> Result<Requeue> {
        let Some(migration) = self.0.migration(name).await? else { return Ok(Requeue::Never) };
        let until = migration.text_at(&["status", "resourceVersion"]);
        if has_ended(&migration) || until.is_empty() {
            return Ok(Requeue::Never);
        }
        let failure = |why: &str| format!("migration encountered unhandled error: {why}");
        let Some(resource) = self.0.resource(&migration).await else {
            if self.0.is_new(&migration) {
                let message = "resource does not exist in rest mapper, requeuing to attempt again";
                return Err(Box::new(Status::plain(message)));
            }
            self.0.fail(&migration, &failure("unable to obtain GVR from discovery")).await?;
            return Ok(Requeue::Never);
        };
        let Ok(until) = until.parse() else {
            let why = "error comparing resource versions between GC and SVM resource: resource version is not well formed";
            self.0.fail(&migration, &failure(&format!("{why}: {until}"))).await?;
            return Ok(Requeue::Never);
        };
        match self.migrate(&resource, until).await? {
            Some(why) => self.0.fail(&migration, &failure(&why)).await?,
            None => {
                self.0.add_condition(&migration, SUCCEEDED, "StorageVersionMigrationSucceeded", "").await?;
            }
        }
        Ok(Requeue::Never)
    }

    fn failed(&self, name: &str, status: &Status) {
        tracing::debug!(svm = name, "Error syncing SVM resource, retrying: {}", status.message);
    }

    fn workers(&self) -> usize {
        5
    }
}
