//! `JobValidation`: keeps the parallelism of Jobs whose pods are scheduled as a gang.

use std::sync::Arc;

use async_trait::async_trait;
use pintle_meta::{Value, quote};

use crate::Result;
use crate::attributes::{Attributes, Operation, Target};
use crate::chain::Cluster;
use crate::objects::{ObjectLister, Resource};
use crate::plugin::Plugin;

pub(crate) struct JobValidation {
    objects: Arc<dyn ObjectLister>,
}

impl JobValidation {
    pub(crate) fn new(cluster: &Cluster) -> JobValidation {
        JobValidation { objects: cluster.objects.clone() }
    }

    /// Returns a gang-scheduled PodGroup of a job: the one that its template names, else one that the job controls. Groups
    /// that cannot be read do not count.
    async fn gang_of(&self, job: &Value) -> Option<Value> {
        let named = job.at(&["spec", "template", "spec", "schedulingGroup", "podGroupName"]);
        if let Some(name) = named.and_then(Value::as_str) {
            let group = self.objects.object(Resource::PodGroup, job.namespace(), name).await.ok().flatten();
            return group.filter(is_gang);
        }
        let groups = self.objects.list(Resource::PodGroup, job.namespace()).await.unwrap_or_default();
        groups.into_iter().find(|group| controller(group) == Some(job.uid()) && is_gang(group))
    }
}

fn is_gang(group: &Value) -> bool {
    group.at(&["spec", "schedulingPolicy", "gang"]).is_some_and(|gang| !gang.is_null())
}

/// Returns the UID of the controller of an object.
fn controller(object: &Value) -> Option<&str> {
    let is_controller = |owner: &&Value| owner.get("controller").and_then(Value::as_bool) == Some(true);
    let owner = object.owner_references().iter().find(is_controller)?;
    Some(owner.text_at(&["uid"]))
}

#[async_trait]
impl Plugin for JobValidation {
    fn name(&self) -> &'static str {
        "JobValidation"
    }

    fn validates(&self, operation: Operation, target: &Target) -> bool {
        operation == Operation::Update
            && target.subresource.is_empty()
            && target.resource.group == "batch"
            && target.resource.resource == "jobs"
    }

    async fn validate(&self, attributes: &Attributes<'_>) -> Result<()> {
        let (Some(new), Some(old)) = (attributes.object(), attributes.old_object()) else { return Ok(()) };
        let parallelism = ["spec", "parallelism"];
        if new.at(&parallelism) == old.at(&parallelism) {
            return Ok(());
        }
        let Some(gang) = self.gang_of(old).await else { return Ok(()) };
        Err(attributes.forbidden(&format!(
            "cannot change parallelism for a Job referencing gang-scheduled PodGroup {}",
            quote(gang.name())
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{TestCluster, target, update};

    async fn put_group(cluster: &TestCluster, namespace: &str, name: &str, policy: &str, owners: &[&str]) {
        let owner = |owner: &&str| format!(r#"{{"apiVersion":"batch/v1","kind":"Job","name":"j",{owner}}}"#);
        let owners = owners.iter().map(owner).collect::<Vec<_>>().join(",");
        let group = format!(
            r#"{{"metadata":{{"name":"{name}","namespace":"{namespace}","ownerReferences":[{owners}]}},
            "spec":{{"schedulingPolicy":{{"{policy}":{{}}}}}}}}"#
        );
        cluster.put(Resource::PodGroup, &group).await;
    }

    fn job(uid: &str, group: Option<&str>, rest: &str) -> String {
        let group = group.map(|name| format!(r#""schedulingGroup":{{"podGroupName":"{name}"}},"#));
        let group = group.unwrap_or_default();
        format!(
            r#"{{"metadata":{{"name":"j","namespace":"n","uid":"{uid}"}},
            "spec":{{"template":{{"spec":{{{group}"containers":[]}}}}{rest}}}}}"#
        )
    }

    #[tokio::test]
    async fn the_parallelism_of_a_gang_is_fixed() {
        let controlled = [r#""uid":"x""#, r#""uid":"u1","controller":true"#];
        let cluster = TestCluster::new().await;
        put_group(&cluster, "n", "basic", "basic", &[]).await;
        put_group(&cluster, "n", "gang", "gang", &[]).await;
        put_group(&cluster, "n", "own", "gang", &controlled).await;
        put_group(&cluster, "n", "owned", "gang", &[r#""uid":"u2""#]).await;
        put_group(&cluster, "n", "own-basic", "basic", &[r#""uid":"u3","controller":true"#]).await;
        put_group(&cluster, "m", "far", "gang", &[r#""uid":"u4","controller":true"#]).await;
        let plugin = JobValidation::new(&cluster.cluster);
        for (uid, group, expected) in [
            ("u1", Some("gang"), Some("gang")),
            ("u1", Some("basic"), None),
            ("u1", Some("none"), None),
            ("u1", Some("far"), None),
            ("u1", None, Some("own")),
            ("u2", None, None),
            ("u3", None, None),
            ("u4", None, None),
        ] {
            let run = async |from: &str, to: &str| {
                let request = update("jobs.batch").named("j").in_namespace("n");
                // The stored job names the group.
                let request = request.old_json(&job(uid, group, from)).json(&job(uid, None, to));
                request.run(&plugin).await.why()
            };
            let expected = expected.map(|name| {
                format!("cannot change parallelism for a Job referencing gang-scheduled PodGroup \"{name}\"")
            });
            for (from, to) in [
                (r#","parallelism":1"#, r#","parallelism":2"#),
                ("", r#","parallelism":2"#),
                (r#","parallelism":2"#, ""),
            ] {
                assert_eq!(run(from, to).await, expected, "{uid} {group:?} {from} {to}");
            }
            let same = r#","parallelism":2"#;
            assert_eq!(run(same, r#","parallelism":2,"completions":3"#).await, None);
            assert_eq!(run("", "").await, None);
        }
    }

    #[tokio::test]
    async fn only_updates_of_jobs_are_handled() {
        let plugin = JobValidation::new(&TestCluster::new().await.cluster);
        assert!(plugin.validates(Operation::Update, &target("jobs.batch")));
        assert!(!plugin.validates(Operation::Create, &target("jobs.batch")));
        for resource in ["jobs.batch/status", "cronjobs.batch", "jobs.x.io"] {
            assert!(!plugin.validates(Operation::Update, &target(resource)), "{resource}");
        }
    }
}
