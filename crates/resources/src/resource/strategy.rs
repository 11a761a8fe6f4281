//! The strategies of the group's resources.

use std::sync::Arc;

use pintle_registry::Strategy;

use super::device_class::CLASSES;
use super::resource_claim::CLAIMS;
use super::resource_claim_template::TEMPLATES;
use super::resource_slice::SLICES;
use super::{device_taint_rule, resource_claim, resource_pool_status_request};
use crate::framework::strategy::{Entry, Rules, Settings, find};

const CLASS: &str = "resource/v1.DeviceClass";
const RULE: &str = "resource/v1alpha3.DeviceTaintRule";
const CLAIM: &str = "resource/v1.ResourceClaim";
const TEMPLATE: &str = "resource/v1.ResourceClaimTemplate";
const REQUEST: &str = "resource/v1alpha3.ResourcePoolStatusRequest";
const SLICE: &str = "resource/v1.ResourceSlice";

const TABLE: &[Entry] = &[
    Entry { name: "deviceclasses", kind: CLASS, rules: CLASSES },
    Entry { name: "devicetaintrules", kind: RULE, rules: device_taint_rule::RULES },
    Entry { name: "devicetaintrules/status", kind: RULE, rules: device_taint_rule::STATUS },
    Entry { name: "resourceclaims", kind: CLAIM, rules: CLAIMS },
    Entry { name: "resourceclaims/status", kind: CLAIM, rules: resource_claim::STATUS },
    Entry { name: "resourceclaimtemplates", kind: TEMPLATE, rules: TEMPLATES },
    Entry {
        name: "resourcepoolstatusrequests",
        kind: REQUEST,
        rules: resource_pool_status_request::REQUESTS,
    },
    Entry {
        name: "resourcepoolstatusrequests/status",
        kind: REQUEST,
        rules: resource_pool_status_request::STATUS,
    },
    Entry { name: "resourceslices", kind: SLICE, rules: SLICES },
];

pub(super) const NAMESPACED: Rules =
    Rules { unconditional_update: true, returns_deleted_object: true, ..Rules::NAMESPACED };
pub(super) const CLUSTER: Rules = Rules { namespaced: false, ..NAMESPACED };

/// The strategy of a resource or subresource.
pub(crate) fn strategy(name: &str, settings: &Settings) -> Option<Arc<dyn Strategy>> {
    find(TABLE, name, settings)
}
