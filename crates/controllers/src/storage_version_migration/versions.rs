//! The revision up to which a migration has objects to migrate.

use async_trait::async_trait;
use pintle_meta::{Status, Value};
use pintle_registry::Result;

use super::{Migrations, RUNNING, has_ended, is_true, resource_of};
use crate::runtime::{Controller, Requeue, Source};

/// Sets the resourceVersion of migrations that run.
pub struct MigrationVersions(pub Migrations);

#[async_trait]
impl Controller for MigrationVersions {
    fn name(&self) -> &'static str {
        "resource-version-controller"
    }

    fn sources(&self) -> Vec<Source> {
        vec![self.0.source(|migration| migration.name().to_owned())]
    }

    async fn reconcile(&self, name: &str) -> Result<Requeue> {
        let Some(migration) = self.0.migration(name).await? else { return Ok(Requeue::Never) };
        let is_set = !migration.text_at(&["status", "resourceVersion"]).is_empty();
        if !is_true(&migration, RUNNING) || has_ended(&migration) || is_set {
            return Ok(Requeue::Never);
        }
        let Some(resource) = self.0.resource(&migration).await else {
            if self.0.is_new(&migration) {
                let message = "resource does not exist in our rest mapper, requeuing to attempt again";
                return Err(Box::new(Status::plain(message)));
            }
            self.0.fail(&migration, "resource does not exist in discovery").await?;
            return Ok(Requeue::Never);
        };
        let Some(keys) = resource.stored.filter(|_| resource.verbs.list) else {
            let (group, name) = resource_of(&migration);
            let of = format!("{group}/{}, Resource={name}", resource.resource.version);
            let message =
                format!("resource {of:?} does not support discovery operations: [update patch list]");
            self.0.fail(&migration, &message).await?;
            return Ok(Requeue::Never);
        };
        let revision = keys.backend.current_revision().await.map_err(Status::internal)?;
        let revision = Value::string(revision.0.to_string());
        self.0.set_status(&migration, "resourceVersion", revision).await?;
        Ok(Requeue::Never)
    }

    fn failed(&self, name: &str, status: &Status) {
        tracing::debug!(svm = name, "Error syncing SVM resource, retrying: {}", status.message);
    }
}
