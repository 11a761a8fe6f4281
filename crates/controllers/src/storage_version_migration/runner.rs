//! Choosing the migrations that run, one of each resource.

use async_trait::async_trait;
use pintle_meta::gvk::GroupVersionResource;
use pintle_meta::{Reason, Status, Value};
use pintle_registry::{Result, cache_error};
use serde_json::{Value as Json, json};

use super::{Migrations, RUNNING, SUCCEEDED, has_ended, is_true, resource_of};
use crate::api::{Location, PatchKind};
use crate::runtime::{Controller, Requeue, Source};

/// The field manager of a definition's condition.
const MANAGER: &str = "migration-runner-controller";

/// How often the write of a definition's status is tried.
const ATTEMPTS: usize = 5;

/// Starts and ends migrations. Keys are `group/resource`.
pub struct MigrationRunner(pub Migrations);

impl MigrationRunner {
    /// Returns the migrations of a resource that have ended and are still said to run, and the one to start.
    async fn of_resource(&self, key: &str) -> Result<(Vec<Value>, Option<Value>)> {
        let store = &self.0.migrations;
        store.cache().ready().await.map_err(|error| cache_error(&error))?;
        let snapshot = store.cache().snapshot().map_err(|error| cache_error(&error))?;
        let all: Result<Vec<Value>> = snapshot.objects.iter().map(|entry| store.object(entry)).collect();
        Ok(choose(all?.into_iter().filter(|migration| key_of(migration) == key)))
    }

    async fn start(&self, migration: &Value) -> Result<()> {
        let message = format!("Migration {} is running", migration.name());
        let status = |definition: &Value| {
            let generation = definition.generation();
            json!({"conditions": [self.storage_migrating("True", "MigrationRunning", &message, generation)]})
        };
        self.report(migration, status).await?;
        self.0.add_condition(migration, RUNNING, "MigrationRunning", "The migration is running").await
    }

    async fn end(&self, migration: &Value) -> Result<()> {
        let succeeded = is_true(migration, SUCCEEDED);
        let status = |definition: &Value| {
            let conditions = definition.items_at(&["status", "conditions"]).iter();
            let mut conditions = conditions.filter(|found| found.text_at(&["type"]) == "StorageMigrating");
            let observed = |found: &Value| found.get("observedGeneration").and_then(Value::as_i64);
            let same = conditions.any(|found| observed(found).unwrap_or_default() == definition.generation());
            let (reason, message) = match (succeeded, same) {
                (false, _) => ("MigrationFailed", "The migration has failed"),
                (true, true) => (
                    "MigrationSucceeded",
                    "The migration has succeeded and the stored versions have been updated",
                ),
                (true, false) => (
                    "MigrationSucceeded",
                    "The migration has succeeded but the stored versions have not been updated due to a generation mismatch",
                ),
            };
            let generation = definition.generation();
            let mut status =
                json!({"conditions": [self.storage_migrating("False", reason, message, generation)]});
            let versions = definition.items_at(&["spec", "versions"]).iter();
            let is_stored = |version: &&Value| version.get("storage").and_then(Value::as_bool) == Some(true);
            if let Some(stored) = versions.clone().find(is_stored).filter(|_| same && succeeded) {
                status["storedVersions"] = json!([stored.text_at(&["name"])]);
            }
            status
        };
        self.report(migration, status).await?;
        self.0.set_condition(migration, RUNNING, "False", "MigrationCompleted", "Migration completed").await
    }

    fn storage_migrating(&self, status: &str, reason: &str, message: &str, generation: i64) -> Json {
        json!({
            "type": "StorageMigrating", "status": status, "lastTransitionTime": self.0.now(), "reason": reason,
            "message": message, "observedGeneration": generation,
        })
    }

    /// Applies a status to the definition of a custom resource; other resources have none.
    async fn report(&self, migration: &Value, status: impl Fn(&Value) -> Json) -> Result<()> {
        let (group, resource) = resource_of(migration);
        if group.is_empty() {
            return Ok(());
        }
        let definitions =
            GroupVersionResource::new("apiextensions.k8s.io", "v1", "customresourcedefinitions");
        let location = Location::object(definitions, "", &format!("{resource}.{group}"));
        let mut attempt = 1;
        loop {
            let Some(definition) = self.0.api.find(&location).await? else { return Ok(()) };
            let config = json!({
                "kind": "CustomResourceDefinition", "apiVersion": "apiextensions.k8s.io/v1",
                "metadata": {"name": location.name, "resourceVersion": definition.resource_version()},
                "status": status(&definition),
            });
            let location = location.clone().subresource("status");
            match self.0.api.patch(&location, PatchKind::Apply(MANAGER), &config).await {
                Err(status) if status.reason == Reason::Conflict && attempt < ATTEMPTS => attempt += 1,
                other => return other.map(drop),
            }
        }
    }
}

fn key_of(migration: &Value) -> String {
    let (group, resource) = resource_of(migration);
    format!("{group}/{resource}")
}

/// Returns those that have ended and are still said to run, and the oldest one that waits, if none runs.
fn choose(migrations: impl Iterator<Item = Value>) -> (Vec<Value>, Option<Value>) {
    let (mut ended, mut next, mut runs): (Vec<Value>, Option<Value>, bool) = (Vec::new(), None, false);
    let age = |migration: &Value| {
        let created = migration.text_at(&["metadata", "creationTimestamp"]).to_owned();
        (created, migration.name().to_owned())
    };
    for migration in migrations {
        match (is_true(&migration, RUNNING), has_ended(&migration)) {
            (true, true) => ended.push(migration),
            (true, false) => runs = true,
            (false, true) => {}
            (false, false) if next.as_ref().is_none_or(|next| age(&migration) < age(next)) => {
                next = Some(migration);
            }
            (false, false) => {}
        }
    }
    (ended, next.filter(|_| !runs))
}

#[async_trait]
impl Controller for MigrationRunner {
    fn name(&self) -> &'static str {
        "migration-runner-controller"
    }

    fn sources(&self) -> Vec<Source> {
        vec![self.0.source(key_of)]
    }

    async fn reconcile(&self, key: &str) -> Result<Requeue> {
        let (ended, next) = self.of_resource(key).await?;
        for migration in &ended {
            self.end(migration).await?;
        }
        if let Some(migration) = &next {
            self.start(migration).await?;
        }
        Ok(Requeue::Never)
    }

    fn failed(&self, key: &str, status: &Status) {
        tracing::error!(svm = key, "Error syncing SVM resource, retrying: {}", status.message);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn migration(name: &str, second: u8, conditions: &[&str]) -> Value {
        let condition = |name: &&str| format!(r#"{{"type":"{name}","status":"True"}}"#);
        let conditions: Vec<String> = conditions.iter().map(condition).collect();
        let json = format!(
            r#"{{"metadata":{{"name":"{name}","creationTimestamp":"2026-01-01T00:00:0{second}Z"}},
                "status":{{"conditions":[{}]}}}}"#,
            conditions.join(",")
        );
        pintle_codec::json::decode_untyped(json.as_bytes()).expect("JSON").value
    }

    fn chosen(migrations: &[Value]) -> (Vec<String>, Option<String>) {
        let (ended, next) = choose(migrations.iter().cloned());
        (ended.iter().map(|known| known.name().to_owned()).collect(), next.map(|next| next.name().to_owned()))
    }

    #[test]
    fn the_oldest_migration_runs_when_no_other_does() {
        let waiting = [migration("b", 1, &[]), migration("a", 1, &[]), migration("c", 0, &["Failed"])];
        assert_eq!(chosen(&waiting), (vec![], Some("a".into())));
        let running = [migration("a", 0, &[]), migration("b", 1, &["Running"])];
        assert_eq!(chosen(&running), (vec![], None));
        let ended = [migration("a", 0, &["Running", "Succeeded"]), migration("b", 1, &[])];
        assert_eq!(chosen(&ended), (vec!["a".into()], Some("b".into())));
    }
}
