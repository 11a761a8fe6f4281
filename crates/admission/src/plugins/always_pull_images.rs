//! `AlwaysPullImages`: images of pods are pulled whenever a container starts, so that only users who may pull a private image
//! can use it.

use std::collections::HashSet;

use async_trait::async_trait;
use pintle_meta::field_path::{self, Error, Path};
use pintle_meta::{Status, Value};

use super::pods::{CONTAINERS, is_pod, is_write, spec_of};
use crate::Result;
use crate::attributes::{Attributes, Operation, Target};
use crate::plugin::Plugin;

const ALWAYS: &str = "Always";

pub(crate) struct AlwaysPullImages;

#[async_trait]
impl Plugin for AlwaysPullImages {
    fn name(&self) -> &'static str {
        "AlwaysPullImages"
    }

    fn admits(&self, operation: Operation, target: &Target) -> bool {
        is_write(operation) && is_pod(target)
    }

    async fn admit(&self, attributes: &mut Attributes<'_>) -> Result<()> {
        if has_only_old_images(attributes) {
            return Ok(());
        }
        let Some(spec) = spec_of(attributes) else { return Ok(()) };
        for list in CONTAINERS {
            for container in spec.get_mut(list).and_then(Value::as_list_mut).into_iter().flatten() {
                if let Some(container) = container.as_object_mut() {
                    container.insert("imagePullPolicy", ALWAYS);
                }
            }
        }
        for volume in spec.get_mut("volumes").and_then(Value::as_list_mut).into_iter().flatten() {
            if let Some(image) = volume.get_mut("image").and_then(Value::as_object_mut) {
                image.insert("pullPolicy", ALWAYS);
            }
        }
        Ok(())
    }

    fn validates(&self, operation: Operation, target: &Target) -> bool {
        self.admits(operation, target)
    }

    /// Rejects a pod whose policies another plugin has changed.
    async fn validate(&self, attributes: &Attributes<'_>) -> Result<()> {
        if has_only_old_images(attributes) {
            return Ok(());
        }
        let Some(pod) = attributes.object() else { return Ok(()) };
        let (spec, mut wrong) = (Path::new("spec"), Vec::new());
        let mut check = |path: &Path<'_>, policy: &str| {
            if policy != ALWAYS {
                let error = Error::not_supported(path, policy, &[ALWAYS]);
                wrong.push(attributes.forbidden(&error.to_string()).message);
            }
        };
        for list in CONTAINERS {
            for (index, container) in pod.items_at(&["spec", list]).iter().enumerate() {
                let path = spec.child(list);
                let path = path.index(index);
                check(&path.child("imagePullPolicy"), container.text_at(&["imagePullPolicy"]));
            }
        }
        for (index, volume) in pod.items_at(&["spec", "volumes"]).iter().enumerate() {
            if let Some(image) = volume.get("image") {
                let path = spec.child("volumes");
                let path = path.index(index);
                let path = path.child("image");
                check(&path.child("pullPolicy"), image.text_at(&["pullPolicy"]));
            }
        }
        if wrong.is_empty() {
            return Ok(());
        }
        // The reference joins errors into one that has no status.
        Err(Box::new(Status::plain(field_path::aggregate(&wrong))))
    }
}

/// Reports whether a request is an update of a pod to which no image is added.
fn has_only_old_images(attributes: &Attributes<'_>) -> bool {
    let (Operation::Update, Some(new), Some(old)) =
        (attributes.operation, attributes.object(), attributes.old_object())
    else {
        return false;
    };
    let old: HashSet<&str> = images(old).collect();
    images(new).all(|image| old.contains(image))
}

fn images(pod: &Value) -> impl Iterator<Item = &str> {
    let containers = CONTAINERS.iter().flat_map(|list| pod.items_at(&["spec", list]));
    containers.map(|container| container.text_at(&["image"]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{create, decoded, target, text, update};

    fn pod(policy: &str, images: [&str; 3]) -> String {
        let lists = CONTAINERS.iter().zip(images).map(|(list, image)| {
            format!(r#""{list}":[{{"name":"c","image":"{image}","imagePullPolicy":"{policy}"}}]"#)
        });
        let lists = lists.collect::<Vec<_>>().join(",");
        let volumes =
            r#"[{"name":"a","emptyDir":{}},{"name":"b","image":{"reference":"r","pullPolicy":"POLICY"}}]"#;
        let volumes = volumes.replace("POLICY", policy);
        format!(r#"{{"metadata":{{"name":"p"}},"spec":{{{lists},"volumes":{volumes}}}}}"#)
    }

    fn shown(pod: &Value) -> String {
        text(pod)
    }

    #[tokio::test]
    async fn every_container_and_image_volume_is_always_pulled() {
        for policy in ["", "IfNotPresent", "Never", "Always"] {
            let created = create("pods")
                .json(&pod(policy, ["a", "b", "c"]))
                .run(&AlwaysPullImages)
                .await
                .normal("core/v1.Pod");
            assert_eq!(shown(&created), shown(&decoded("core/v1.Pod", &pod("Always", ["a", "b", "c"]))));
        }
        let plain = create("pods").json(r#"{"spec":{"containers":[]}}"#).run(&AlwaysPullImages).await;
        assert_eq!(plain.normal("core/v1.Pod").items_at(&["spec", "containers"]).len(), 0);
    }

    #[tokio::test]
    async fn an_update_counts_only_with_a_new_image() {
        let old = pod("Never", ["a", "b", "c"]);
        for (images, policy) in
            [(["c", "a", "b"], "Never"), (["a", "b", "b"], "Never"), (["a", "b", "d"], "Always")]
        {
            let case = update("pods").old_json(&old).json(&pod("Never", images));
            let updated = case.run(&AlwaysPullImages).await.normal("core/v1.Pod");
            assert_eq!(shown(&updated), shown(&decoded("core/v1.Pod", &pod(policy, images))), "{images:?}");
        }
    }

    #[tokio::test]
    async fn policies_of_other_plugins_are_rejected() {
        let case = create("pods").json(&pod("Never", ["a", "b", "c"]));
        let error = AlwaysPullImages.validate(&case.attributes()).await.unwrap_err();
        let wrong = |path: &str| {
            format!(
                "pods \"p\" is forbidden: {path}: Unsupported value: \"Never\": supported values: \"Always\""
            )
        };
        let paths = [
            "spec.initContainers[0].imagePullPolicy",
            "spec.containers[0].imagePullPolicy",
            "spec.ephemeralContainers[0].imagePullPolicy",
            "spec.volumes[1].image.pullPolicy",
        ];
        assert_eq!((error.code, error.message), (500, format!("[{}]", paths.map(wrong).join(", "))));
        let one = pod("Always", ["a", "b", "c"]).replacen("Always", "Never", 1);
        let error = AlwaysPullImages.validate(&create("pods").json(&one).attributes()).await.unwrap_err();
        assert_eq!(error.message, wrong(paths[0]));
        let same = update("pods").old_json(&one).json(&one);
        assert!(AlwaysPullImages.validate(&same.attributes()).await.is_ok());
    }

    #[test]
    fn only_pods_are_handled() {
        for resource in ["pods/ephemeralcontainers", "pods/status", "podtemplates", "pods.metrics.k8s.io"] {
            assert!(!AlwaysPullImages.admits(Operation::Update, &target(resource)), "{resource}");
        }
        assert!(!AlwaysPullImages.validates(Operation::Delete, &target("pods")));
    }
}
