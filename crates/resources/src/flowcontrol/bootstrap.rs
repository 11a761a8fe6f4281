//! Mandatory objects, whose specs are fixed.

use pintle_codec::json;
use pintle_meta::Value;

/// The level and the schema of requests that are never queued.
pub(super) const EXEMPT: &str = "exempt";
/// The level and the schema of all other requests.
const CATCH_ALL: &str = "catch-all";

const EXEMPT_SCHEMA: &str = r#"{"priorityLevelConfiguration":{"name":"exempt"},"matchingPrecedence":1,"rules":[{
    "subjects":[{"kind":"Group","group":{"name":"system:masters"}}],
    "resourceRules":[{"verbs":["*"],"apiGroups":["*"],"resources":["*"],"clusterScope":true,"namespaces":["*"]}],
    "nonResourceRules":[{"verbs":["*"],"nonResourceURLs":["*"]}]}]}"#;
const CATCH_ALL_SCHEMA: &str = r#"{"priorityLevelConfiguration":{"name":"catch-all"},"matchingPrecedence":10000,
    "distinguisherMethod":{"type":"ByUser"},"rules":[{
    "subjects":[{"kind":"Group","group":{"name":"system:unauthenticated"}},{"kind":"Group","group":{"name":"system:authenticated"}}],
    "resourceRules":[{"verbs":["*"],"apiGroups":["*"],"resources":["*"],"clusterScope":true,"namespaces":["*"]}],
    "nonResourceRules":[{"verbs":["*"],"nonResourceURLs":["*"]}]}]}"#;
const CATCH_ALL_LEVEL: &str = r#"{"type":"Limited","limited":{"nominalConcurrencyShares":5,
    "limitResponse":{"type":"Reject"},"lendablePercent":0}}"#;

/// Returns the spec that a FlowSchema with this name must have.
pub(super) fn flow_schema(name: &str) -> Option<Value> {
    let spec = match name {
        EXEMPT => EXEMPT_SCHEMA,
        CATCH_ALL => CATCH_ALL_SCHEMA,
        _ => return None,
    };
    decoded("flowcontrol/v1.FlowSchemaSpec", spec)
}

/// Returns the spec that a PriorityLevelConfiguration with this name must have, that of `exempt` aside.
pub(super) fn priority_level(name: &str) -> Option<Value> {
    if name != CATCH_ALL {
        return None;
    }
    decoded("flowcontrol/v1.PriorityLevelConfigurationSpec", CATCH_ALL_LEVEL)
}

fn decoded(of: &str, spec: &str) -> Option<Value> {
    Some(json::decode(pintle_schema::find(of)?, spec.as_bytes()).ok()?.value)
}
