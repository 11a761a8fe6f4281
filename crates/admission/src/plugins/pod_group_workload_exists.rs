//! `PodGroupWorkloadExists`: rejects PodGroups made from a template that their Workload lacks.

use std::sync::Arc;

use async_trait::async_trait;
use pintle_meta::{Status, quote};

use super::pod_group_protection::is_pod_groups;
use crate::Result;
use crate::attributes::{Attributes, Operation, Target};
use crate::chain::Cluster;
use crate::objects::{ObjectLister, Resource};
use crate::plugin::Plugin;

pub(crate) struct PodGroupWorkloadExists {
    objects: Arc<dyn ObjectLister>,
}

impl PodGroupWorkloadExists {
    pub(crate) fn new(cluster: &Cluster) -> PodGroupWorkloadExists {
        PodGroupWorkloadExists { objects: cluster.objects.clone() }
    }
}

#[async_trait]
impl Plugin for PodGroupWorkloadExists {
    fn name(&self) -> &'static str {
        "PodGroupWorkloadExists"
    }

    fn validates(&self, operation: Operation, target: &Target) -> bool {
        operation == Operation::Create && is_pod_groups(target)
    }

    async fn validate(&self, attributes: &Attributes<'_>) -> Result<()> {
        let reference =
            attributes.object().and_then(|group| group.at(&["spec", "podGroupTemplateRef", "workload"]));
        let Some(reference) = reference.filter(|reference| !reference.is_null()) else { return Ok(()) };
        let name = reference.text_at(&["workloadName"]);
        let found = self.objects.object(Resource::Workload, attributes.namespace(), name).await;
        let found = found.map_err(|status| Box::new(Status::internal(status.message)))?;
        let rejected = |why: String| Err(attributes.forbidden(&format!("PodGroup rejected: {why}")));
        let shown = quote(name);
        let Some(workload) = found else { return rejected(format!("Workload {shown} not found")) };
        if workload.deletion_timestamp().is_some() {
            return rejected(format!("Workload {shown} is being deleted"));
        }
        let template = reference.text_at(&["podGroupTemplateName"]);
        let mut templates = workload.items_at(&["spec", "podGroupTemplates"]).iter();
        if templates.any(|one| one.text_at(&["name"]) == template) {
            return Ok(());
        }
        rejected(format!("PodGroupTemplate {} not found in Workload {shown}", quote(template)))
    }
}

#[cfg(test)]
mod tests {
    use pintle_meta::Value;

    use super::*;
    use crate::testing::{create, decoded, target};

    struct Workloads;

    #[async_trait]
    impl ObjectLister for Workloads {
        async fn object(&self, resource: Resource, namespace: &str, name: &str) -> Result<Option<Value>> {
            assert_eq!((resource, namespace), (Resource::Workload, "here"));
            let rest = match name {
                "w" => "",
                "ending" => r#","deletionTimestamp":"2024-01-01T00:00:00Z""#,
                "broken" => return Err(Box::new(Status::service_unavailable("the store is gone"))),
                _ => return Ok(None),
            };
            let templates = r#"[{"name":"a"},{"name":"b"}]"#;
            let workload = format!(
                r#"{{"metadata":{{"name":"{name}"{rest}}},"spec":{{"podGroupTemplates":{templates}}}}}"#
            );
            Ok(Some(decoded("scheduling/v1alpha2.Workload", &workload)))
        }

        async fn list(&self, resource: Resource, _: &str) -> Result<Vec<Value>> {
            panic!("the plugin does not list {resource:?}")
        }
    }

    #[tokio::test]
    async fn the_template_must_be_in_the_workload() {
        let plugin = PodGroupWorkloadExists { objects: Arc::new(Workloads) };
        let of = |workload: &str, template: &str| {
            let names = format!(r#""workloadName":"{workload}","podGroupTemplateName":"{template}""#);
            format!(r#"{{"podGroupTemplateRef":{{"workload":{{{names}}}}}}}"#)
        };
        for (spec, expected) in [
            (of("w", "a"), None),
            (of("w", "b"), None),
            ("{}".to_owned(), None),
            (r#"{"podGroupTemplateRef":{}}"#.to_owned(), None),
            (of("w", "c"), Some(r#"PodGroupTemplate "c" not found in Workload "w""#)),
            (of("none", "a"), Some(r#"Workload "none" not found"#)),
            (of("ending", "c"), Some(r#"Workload "ending" is being deleted"#)),
        ] {
            let group = format!(r#"{{"metadata":{{"name":"g"}},"spec":{spec}}}"#);
            let request = create("podgroups.scheduling.k8s.io").in_namespace("here").json(&group);
            let expected = expected.map(|why| format!("PodGroup rejected: {why}"));
            assert_eq!(request.run(&plugin).await.why(), expected, "{spec}");
        }
        let group = format!(r#"{{"metadata":{{"name":"g"}},"spec":{}}}"#, of("broken", "a"));
        let request = create("podgroups.scheduling.k8s.io").in_namespace("here").json(&group);
        let expected = Some("Internal error occurred: the store is gone");
        assert_eq!(request.run(&plugin).await.message().as_deref(), expected);
    }

    #[test]
    fn only_new_groups_are_handled() {
        let plugin = PodGroupWorkloadExists { objects: Arc::new(Workloads) };
        assert!(plugin.validates(Operation::Create, &target("podgroups.scheduling.k8s.io")));
        assert!(!plugin.validates(Operation::Update, &target("podgroups.scheduling.k8s.io")));
        assert!(!plugin.validates(Operation::Create, &target("pods")));
    }
}
