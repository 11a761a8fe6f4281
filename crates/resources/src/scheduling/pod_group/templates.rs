//! The spec of a PodGroup, and the templates in a Workload that PodGroups are made of. Both have the same fields; those of a
//! PodGroup are immutable, those of a template as parts of an immutable list.

use pintle_features::Feature;
use pintle_meta::Value;
use pintle_meta::validation::{declared, path_segment_name, qualified_name};

use crate::framework::strategy::{Settings, tree};
use crate::framework::validation::Cursor;
use crate::framework::validation::declarative::{self, all};

pub(super) const MAX_CLAIMS: usize = 4;
const MAX_CONSTRAINTS: usize = 1;
const MAX_PRIORITY: i64 = 1_000_000_000;

/// Features without which some fields may not be set, or changed where they are.
pub(in crate::scheduling) struct Gates {
    topology: bool,
    preemption: bool,
}

impl Gates {
    pub(in crate::scheduling) fn new(settings: &Settings) -> Gates {
        Gates {
            topology: settings.features.enabled(Feature::TopologyAwareWorkloadScheduling),
            preemption: settings.features.enabled(Feature::WorkloadAwarePreemption),
        }
    }
}

/// Resets fields whose features are off, each unless it is there already. `of` is the type of the spec or template.
pub(in crate::scheduling) fn drop_disabled(
    of: &str,
    settings: &Settings,
    spec: Option<&mut Value>,
    old: Option<&Value>,
) {
    let (Some(of), Some(spec)) = (pintle_schema::find(of), spec) else { return };
    let features = &settings.features;
    let gated: [(tree::Path, bool); 5] = [
        (&["schedulingConstraints"], features.enabled(Feature::TopologyAwareWorkloadScheduling)),
        (&["resourceClaims"], features.enabled(Feature::DRAWorkloadResourceClaims)),
        (&["disruptionMode"], features.enabled(Feature::WorkloadAwarePreemption)),
        (&["priorityClassName"], features.enabled(Feature::WorkloadAwarePreemption)),
        (&["priority"], features.enabled(Feature::WorkloadAwarePreemption)),
    ];
    for (field, enabled) in gated {
        if !enabled && old.is_none_or(|old| old.at(field).is_none_or(Value::is_null)) {
            tree::reset(of, spec, field);
        }
    }
}

/// Returns the key of a claim, of its status or of a template.
pub(in crate::scheduling) fn claim_key(item: &Value) -> &str {
    item.text_at(&["name"])
}

/// Checks the spec of a PodGroup.
pub(super) fn spec(spec: &Cursor<'_, '_>, gates: &Gates) {
    declarative::field(spec, "podGroupTemplateRef", |reference| {
        if all([declarative::immutable(reference), reference.is_set()]) {
            template_reference(reference);
        }
    });
    declarative::field(spec, "schedulingPolicy", |policy| {
        if declarative::immutable(policy) {
            scheduling_policy(policy);
        }
    });
    declarative::field(spec, "schedulingConstraints", |constraints| {
        if !gates.topology {
            declarative::forbidden(constraints);
        } else if all([constraints.is_set(), declarative::immutable(constraints)]) {
            scheduling_constraints(constraints);
        }
    });
    resource_claims(spec);
    declarative::field(spec, "disruptionMode", |mode| {
        if !gates.preemption {
            declarative::forbidden(mode);
        } else if all([declarative::required(mode), declarative::immutable(mode)]) {
            disruption_mode(mode);
        }
    });
    declarative::field(spec, "priorityClassName", |name| {
        if !gates.preemption {
            declarative::forbidden_value(name);
        } else if all([!name.is_empty(), declarative::immutable(name)]) {
            long_name(name);
        }
    });
    declarative::field(spec, "priority", |value| {
        if !gates.preemption {
            declarative::forbidden(value);
        } else if all([value.is_set(), declarative::immutable(value)]) {
            priority(value);
        }
    });
}

/// Checks a template of a Workload.
pub(in crate::scheduling) fn template(template: &Cursor<'_, '_>, gates: &Gates) {
    declarative::field(template, "name", short_name);
    declarative::field(template, "schedulingPolicy", scheduling_policy);
    declarative::field(template, "schedulingConstraints", |constraints| {
        if !gates.topology {
            declarative::forbidden(constraints);
        } else if constraints.is_set() {
            scheduling_constraints(constraints);
        }
    });
    resource_claims(template);
    declarative::field(template, "disruptionMode", |mode| {
        if !gates.preemption {
            declarative::forbidden(mode);
        } else if mode.is_set() {
            disruption_mode(mode);
        }
    });
    declarative::field(template, "priorityClassName", |name| {
        if !gates.preemption {
            declarative::forbidden_value(name);
        } else if !name.is_empty() {
            long_name(name);
        }
    });
    declarative::field(template, "priority", |value| {
        if !gates.preemption {
            declarative::forbidden(value);
        } else if value.is_set() {
            priority(value);
        }
    });
}

fn template_reference(reference: &Cursor<'_, '_>) {
    declarative::union(reference, &["workload"]);
    declarative::field(reference, "workload", |workload| {
        if workload.is_set() {
            declarative::field(workload, "workloadName", |name| {
                if declarative::required_value(name) {
                    long_name(name);
                }
            });
            declarative::field(workload, "podGroupTemplateName", short_name);
        }
    });
}

fn scheduling_policy(policy: &Cursor<'_, '_>) {
    declarative::union(policy, &["basic", "gang"]);
    declarative::field(policy, "gang", |gang| {
        if gang.is_set() {
            declarative::field(gang, "minCount", |count| {
                if declarative::required_value(count) {
                    declarative::minimum(count, 1);
                }
            });
        }
    });
}

fn scheduling_constraints(constraints: &Cursor<'_, '_>) {
    declarative::field(constraints, "topology", |topology| {
        if declarative::max_items(topology, MAX_CONSTRAINTS) {
            declarative::each(topology, |constraint| {
                declarative::field(constraint, "key", |key| {
                    if declarative::required_value(key) {
                        key.text_format(qualified_name);
                    }
                });
            });
        }
    });
}

fn resource_claims(parent: &Cursor<'_, '_>) {
    declarative::field(parent, "resourceClaims", |claims| {
        if all([declarative::immutable(claims), declarative::max_items(claims, MAX_CLAIMS)]) {
            declarative::unique_by(claims, claim_key);
            declarative::each_by(claims, claim_key, |claim| {
                declarative::union(claim, &["resourceClaimName", "resourceClaimTemplateName"]);
                declarative::field(claim, "name", short_name);
                declarative::field(claim, "resourceClaimName", long_name);
                declarative::field(claim, "resourceClaimTemplateName", long_name);
            });
        }
    });
}

fn disruption_mode(mode: &Cursor<'_, '_>) {
    mode.one_of(&["Pod", "PodGroup"]);
}

fn priority(priority: &Cursor<'_, '_>) {
    declarative::maximum(priority, MAX_PRIORITY);
}

/// Checks a name that must be given, like that of a container.
fn short_name(name: &Cursor<'_, '_>) {
    if declarative::required_value(name) {
        name.text_format(declared::dns1123_label);
    }
}

/// Checks the name of an object, where one is given.
pub(super) fn long_name(name: &Cursor<'_, '_>) {
    if name.is_set() {
        name.text_format(declared::dns1123_subdomain);
    }
}

/// Checks the controller of a Workload.
pub(in crate::scheduling) fn controller_reference(reference: &Cursor<'_, '_>) {
    declarative::field(reference, "apiGroup", |group| {
        if !group.is_empty() {
            long_name(group);
        }
    });
    for field in ["kind", "name"] {
        declarative::field(reference, field, |name| {
            if declarative::required_value(name) {
                name.text_format(path_segment_name);
            }
        });
    }
}
