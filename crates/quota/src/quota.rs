//! Quotas as the evaluators see them.

use pintle_meta::Value;

use crate::resource_list::ResourceList;
use crate::scope::ScopeRequirement;

/// A ResourceQuota, with the limits that its status has: those that its usage was counted for.
#[derive(Clone, Debug)]
pub struct Quota {
    /// The object itself, for writes.
    pub object: Value,
    pub namespace: String,
    pub name: String,
    pub resource_version: String,
    /// All of them must match an object that counts.
    pub scopes: Vec<ScopeRequirement>,
    pub hard: ResourceList,
    pub used: ResourceList,
}

impl Quota {
    pub fn read(quota: &Value) -> Quota {
        Quota {
            object: quota.clone(),
            namespace: quota.namespace().into(),
            name: quota.name().into(),
            resource_version: quota.resource_version().into(),
            scopes: quota.get("spec").map(ScopeRequirement::read_all).unwrap_or_default(),
            hard: ResourceList::read(quota.at(&["status", "hard"])),
            used: ResourceList::read(quota.at(&["status", "used"])),
        }
    }
}
