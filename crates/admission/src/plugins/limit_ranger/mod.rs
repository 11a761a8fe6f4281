//! `LimitRanger`: gives containers the default requests and limits of the namespace's LimitRanges, and rejects pods and volume
//! claims outside of their minima, maxima and ratios.

mod checks;
mod limit_range;
mod live;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use async_trait::async_trait;
use pintle_features::Feature;
use pintle_meta::field_path::aggregate;
use pintle_meta::{Object, Value};
use pintle_quota::ResourceList;
use pintle_registry::Store;
use pintle_schema::{find, normal};

use self::limit_range::LimitRange;
use self::live::LiveLookups;
use crate::Result;
use crate::attributes::{Attributes, Operation, Target};
use crate::by_namespace::ByNamespace;
use crate::chain::Cluster;
use crate::objects::Resource;
use crate::plugin::Plugin;

const ANNOTATION: &str = "kubernetes.io/limit-ranger";

pub(crate) struct LimitRanger {
    ranges: ByNamespace<LimitRange>,
    /// Lookups for namespaces where the cache has no ranges; none where the cache has every write that was answered.
    live: Option<LiveLookups>,
    pod_level_resources: bool,
}

impl LimitRanger {
    pub(crate) fn new(cluster: &Cluster) -> LimitRanger {
        let store = cluster.stores.get(Resource::LimitRange);
        let is_remote = |store: &&Arc<Store>| store.config().backend.known_revision().is_none();
        LimitRanger {
            ranges: ByNamespace::new(store, LimitRange::read),
            live: store.filter(is_remote).map(|store| LiveLookups::new(store, &cluster.clock)),
            pod_level_resources: cluster.features.enabled(Feature::PodLevelResources),
        }
    }

    /// Returns the ranges that apply to a request. None apply to an object that is being deleted.
    async fn ranges(&self, attributes: &Attributes<'_>) -> Result<Vec<Arc<LimitRange>>> {
        if attributes.old_object().is_some_and(|old| old.deletion_timestamp().is_some()) {
            return Ok(Vec::new());
        }
        let ranges = self.ranges.of(attributes.namespace()).await?;
        match &self.live {
            Some(live) if ranges.is_empty() => {
                let found = live.of(attributes.namespace()).await;
                found.map_err(|status| attributes.forbidden(&status.message))
            }
            _ => Ok(ranges),
        }
    }
}

#[async_trait]
impl Plugin for LimitRanger {
    fn name(&self) -> &'static str {
        "LimitRanger"
    }

    fn admits(&self, operation: Operation, target: &Target) -> bool {
        // The containers of a pod change in no other way than by a resize.
        let wanted = match operation {
            Operation::Create => "",
            Operation::Update => "resize",
            Operation::Delete | Operation::Connect => return false,
        };
        is_core(target, "pods") && target.subresource == wanted
    }

    async fn admit(&self, attributes: &mut Attributes<'_>) -> Result<()> {
        let ranges = self.ranges(attributes).await?;
        if let Some(pod) = attributes.object_mut().filter(|_| !ranges.is_empty()) {
            ranges.iter().for_each(|range| set_defaults(pod, range));
        }
        Ok(())
    }

    fn validates(&self, operation: Operation, target: &Target) -> bool {
        let is_claim = matches!(operation, Operation::Create | Operation::Update)
            && is_core(target, "persistentvolumeclaims")
            && target.subresource.is_empty();
        is_claim || self.admits(operation, target)
    }

    async fn validate(&self, attributes: &Attributes<'_>) -> Result<()> {
        let ranges = self.ranges(attributes).await?;
        let Some(object) = attributes.object() else { return Ok(()) };
        for range in &ranges {
            let wrong = match attributes.target().resource.resource.as_str() {
                "pods" => checks::pod(range, object, self.pod_level_resources),
                _ => checks::claim(range, object),
            };
            if !wrong.is_empty() {
                return Err(attributes.forbidden(&aggregate(&wrong)));
            }
        }
        Ok(())
    }
}

fn is_core(target: &Target, resource: &str) -> bool {
    target.resource.group.is_empty() && target.resource.resource == resource
}

/// Gives the containers of a pod the defaults of a range, and says so in an annotation, in place of the one for another range.
fn set_defaults(pod: &mut Value, range: &LimitRange) {
    if range.default_requests.is_empty() && range.default_limits.is_empty() {
        return;
    }
    let mut set = Vec::new();
    for (list, what) in [("containers", "container"), ("initContainers", "init container")] {
        let containers = pod.at_mut(&["spec", list]).and_then(Value::as_list_mut);
        for container in containers.into_iter().flatten() {
            let name = container.text_at(&["name"]).to_owned();
            let parts = [
                ("requests", &range.default_requests, "request"),
                ("limits", &range.default_limits, "limit"),
            ];
            for (field, defaults, noun) in parts {
                let missing = set_missing(container, field, defaults);
                if !missing.is_empty() {
                    set.push(format!("{} {noun} for {what} {name}", missing.join(", ")));
                }
            }
        }
    }
    if !set.is_empty()
        && let Some(metadata) = pod.metadata_mut()
        && let Some(annotations) =
            metadata.get_or_insert_with("annotations", || Object::new().into()).as_object_mut()
    {
        annotations.insert(ANNOTATION, format!("LimitRanger plugin set: {}", set.join("; ")));
    }
}

/// Adds the amounts that the requests or limits of a container lack. Returns their names.
fn set_missing<'d>(container: &mut Value, field: &'static str, defaults: &'d ResourceList) -> Vec<&'d str> {
    let given = container.at(&["resources", field]).and_then(Value::as_object);
    let missing: Vec<_> =
        defaults.iter().filter(|(name, _)| !given.is_some_and(|given| given.contains(name))).collect();
    let zero = || {
        let of = find("core/v1.ResourceRequirements").and_then(|of| of.structure());
        of.map(normal::zero_struct).unwrap_or_default()
    };
    if let Some(container) = container.as_object_mut().filter(|_| !missing.is_empty())
        && let Some(resources) = container.get_or_insert_with("resources", zero).as_object_mut()
        && let Some(amounts) = resources.get_or_insert_with(field, || Object::new().into()).as_object_mut()
    {
        for (name, amount) in &missing {
            amounts.insert(*name, amount.to_string());
        }
    }
    missing.into_iter().map(|(name, _)| name).collect()
}
