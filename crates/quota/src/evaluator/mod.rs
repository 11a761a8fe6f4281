//! Evaluators: for the objects of one resource, the names in quotas that they count for, the scopes that they match, and their
//! usage.

mod object_count;
mod persistent_volume_claims;
mod pods;
mod resource_claims;
mod services;
#[cfg(test)]
pub(crate) mod tests;

use std::sync::Arc;

pub use self::resource_claims::extended_resource_owner;
use pintle_features::Features;
use pintle_meta::Value;
use pintle_meta::time::Time;

use crate::quota::Quota;
use crate::resource_list::ResourceList;
use crate::scope::ScopeRequirement;

/// The objects that usage depends on beside the object itself. Answers come from caches.
pub trait Surroundings: Send + Sync + 'static {
    fn now(&self) -> Time;

    /// Returns the extended resource that a device class provides by name; `None` if it has none or does not exist.
    fn extended_resource(&self, device_class: &str) -> Option<String>;

    /// Returns whether a device class provides an extended resource, by the name that it declares or the one it implies.
    fn has_device_class(&self, extended_resource: &str) -> bool;

    /// Returns a pod. Called for claims that were made for the extended resources of a pod.
    fn pod(&self, namespace: &str, name: &str) -> Option<Value>;

    /// Returns the claims that were made for the extended resources of a pod, by their annotation and owner.
    fn extended_resource_claims(&self, namespace: &str, pod_uid: &str) -> Vec<Value>;
}

/// The surroundings of objects where there are neither device classes nor pods.
#[derive(Clone, Copy, Debug)]
pub struct NoSurroundings;

impl Surroundings for NoSurroundings {
    fn now(&self) -> Time {
        Time::default()
    }

    fn extended_resource(&self, _: &str) -> Option<String> {
        None
    }

    fn has_device_class(&self, _: &str) -> bool {
        false
    }

    fn pod(&self, _: &str, _: &str) -> Option<Value> {
        None
    }

    fn extended_resource_claims(&self, _: &str, _: &str) -> Vec<Value> {
        Vec::new()
    }
}

/// The evaluators of all resources. Clones are the same evaluators.
#[derive(Clone)]
pub struct Evaluators {
    features: Features,
    surroundings: Arc<dyn Surroundings>,
}

/// The evaluator of one resource. Objects are in the storage version.
pub struct Evaluator<'e> {
    kind: Kind,
    evaluators: &'e Evaluators,
}

enum Kind {
    Pods,
    Services,
    PersistentVolumeClaims,
    ResourceClaims,
    /// The names that count objects of a resource without an evaluator of its own.
    ObjectCount(Vec<String>),
}

/// Returns whether quotas ignore a resource: objects that are not stored, and events.
pub fn is_ignored(group: &str, resource: &str) -> bool {
    matches!(
        (group, resource),
        ("", "bindings" | "componentstatuses" | "events")
            | ("authentication.k8s.io", "tokenreviews" | "selfsubjectreviews")
            | (
                "authorization.k8s.io",
                "subjectaccessreviews"
                    | "selfsubjectaccessreviews"
                    | "localsubjectaccessreviews"
                    | "selfsubjectrulesreviews"
            )
            | ("events.k8s.io", "events")
    )
}

impl Evaluators {
    pub fn new(features: Features, surroundings: Arc<dyn Surroundings>) -> Evaluators {
        Evaluators { features, surroundings }
    }

    /// Returns the evaluator of a resource, built in or custom.
    pub fn of(&self, group: &str, resource: &str) -> Evaluator<'_> {
        let kind = match (group, resource) {
            ("", "pods") => Kind::Pods,
            ("", "services") => Kind::Services,
            ("", "persistentvolumeclaims") => Kind::PersistentVolumeClaims,
            ("resource.k8s.io", "resourceclaims") => Kind::ResourceClaims,
            _ => Kind::ObjectCount(object_count::names(group, resource)),
        };
        Evaluator { kind, evaluators: self }
    }
}

impl Evaluator<'_> {
    /// Returns whether objects count for a name in a quota.
    pub fn tracks(&self, name: &str) -> bool {
        match &self.kind {
            Kind::Pods => pods::tracks(name),
            Kind::Services => services::tracks(name),
            Kind::PersistentVolumeClaims => persistent_volume_claims::tracks(name),
            Kind::ResourceClaims => {
                resource_claims::tracks(name, &self.evaluators.features, &*self.evaluators.surroundings)
            }
            Kind::ObjectCount(names) => names.iter().any(|own| own == name),
        }
    }

    /// Returns whether an object matches a scope. Objects without scopes match none.
    fn is_in_scope(&self, scope: &ScopeRequirement, object: &Value) -> Result<bool, String> {
        match &self.kind {
            Kind::Pods => pods::is_in_scope(scope, object, &self.evaluators.features),
            Kind::PersistentVolumeClaims => persistent_volume_claims::is_in_scope(scope, object),
            Kind::Services | Kind::ResourceClaims | Kind::ObjectCount(_) => Ok(false),
        }
    }

    /// Returns the scopes that an object matches.
    pub fn matching_scopes<'s>(
        &self,
        scopes: impl IntoIterator<Item = &'s ScopeRequirement>,
        object: &Value,
    ) -> Result<Vec<&'s ScopeRequirement>, String> {
        let mut matching = Vec::new();
        for scope in scopes {
            match self.is_in_scope(scope, object) {
                Ok(true) => matching.push(scope),
                Ok(false) => {}
                Err(why) => return Err(format!("error on matching scope {scope}: {why}")),
            }
        }
        Ok(matching)
    }

    /// Returns whether an object counts towards a quota: for one of its limits, and in all of its scopes.
    pub fn matches(&self, quota: &Quota, object: &Value) -> Result<bool, String> {
        let mut in_all = true;
        for scope in &quota.scopes {
            in_all &= self.is_in_scope(scope, object)?;
        }
        Ok(in_all && quota.hard.names().any(|name| self.tracks(name)))
    }

    /// Checks that an object says how much it takes of the resources that a quota limits.
    pub fn check_constraints(&self, required: &[&str], object: &Value) -> Result<(), String> {
        match &self.kind {
            Kind::Pods => pods::check_constraints(required, object, &self.evaluators.features),
            _ => Ok(()),
        }
    }

    /// Returns what an object takes.
    pub fn usage(&self, object: &Value) -> ResourceList {
        let Evaluators { features, surroundings } = self.evaluators;
        match &self.kind {
            Kind::Pods => pods::usage(object, features, surroundings.now()),
            Kind::Services => services::usage(object),
            Kind::PersistentVolumeClaims => persistent_volume_claims::usage(object),
            Kind::ResourceClaims => resource_claims::usage(object, features, &**surroundings),
            Kind::ObjectCount(names) => object_count::usage(names),
        }
    }

    /// Returns what all objects of a namespace that match a quota take of the limits that this resource counts for. Names
    /// without usage are zero. A quota whose scopes are wrong counts nothing.
    pub fn total<'o>(&self, quota: &Quota, objects: impl IntoIterator<Item = &'o Value>) -> ResourceList {
        let mut total = ResourceList::default();
        for name in quota.hard.names().filter(|name| self.tracks(name)) {
            total.set_count(name, 0);
        }
        for object in objects {
            let Ok(matching) = self.matching_scopes(&quota.scopes, object) else { return total };
            if matching.len() == quota.scopes.len() {
                total.add(&self.usage(object).masked(|name| total.contains(name)));
            }
        }
        total
    }

    /// Returns whether a quota limits nothing but the number of these objects, so that they can be counted without a look at them.
    pub fn counts_objects_only(&self, quota: &Quota) -> bool {
        let counts = |name: &str| match &self.kind {
            Kind::ObjectCount(_) => true,
            Kind::Pods => name == pods::COUNT,
            Kind::Services => services::counts_objects(name),
            Kind::PersistentVolumeClaims => persistent_volume_claims::counts_objects(name),
            Kind::ResourceClaims => false,
        };
        quota.scopes.is_empty() && quota.hard.names().filter(|name| self.tracks(name)).all(counts)
    }

    /// Returns what [`Evaluator::total`] would for so many objects of a quota that limits [their number
    /// alone](Evaluator::counts_objects_only).
    pub fn total_of_count(&self, quota: &Quota, count: i64) -> ResourceList {
        let mut total = ResourceList::default();
        quota.hard.names().filter(|name| self.tracks(name)).for_each(|name| total.set_count(name, count));
        total
    }

    /// Returns whether a change of an object may lower its usage, so that quotas have to be counted again.
    pub fn may_free(&self, old: &Value, new: &Value) -> bool {
        match &self.kind {
            Kind::Pods => pods::may_free(old, new, self.evaluators.surroundings.now()),
            Kind::Services => services::charged_type(old) != services::charged_type(new),
            Kind::PersistentVolumeClaims => true,
            Kind::ResourceClaims | Kind::ObjectCount(_) => false,
        }
    }
}
