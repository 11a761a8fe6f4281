//! LimitRanges as the plugin reads them.

use pintle_meta::Value;
use pintle_quota::ResourceList;

/// A LimitRange.
pub(super) struct LimitRange {
    pub(super) limits: Vec<Limit>,
    /// The defaults of all its limits of containers; of several for a resource the last.
    pub(super) default_requests: ResourceList,
    pub(super) default_limits: ResourceList,
}

/// The limits of one type.
pub(super) struct Limit {
    /// `Container`, `Pod` or `PersistentVolumeClaim`; others limit nothing.
    pub(super) of: String,
    pub(super) min: ResourceList,
    pub(super) max: ResourceList,
    pub(super) max_ratio: ResourceList,
}

impl LimitRange {
    pub(super) fn read(range: &Value) -> LimitRange {
        let mut read = LimitRange {
            limits: Vec::new(),
            default_requests: ResourceList::default(),
            default_limits: ResourceList::default(),
        };
        for limit in range.items_at(&["spec", "limits"]) {
            let amounts = |field: &str| ResourceList::read(limit.get(field));
            let of = limit.text_at(&["type"]);
            if of == "Container" {
                let set = |defaults: &mut ResourceList, field: &str| {
                    for (name, amount) in amounts(field).iter() {
                        defaults.set(name, amount.clone());
                    }
                };
                set(&mut read.default_requests, "defaultRequest");
                set(&mut read.default_limits, "default");
            }
            read.limits.push(Limit {
                of: of.into(),
                min: amounts("min"),
                max: amounts("max"),
                max_ratio: amounts("maxLimitRequestRatio"),
            });
        }
        read
    }
}
