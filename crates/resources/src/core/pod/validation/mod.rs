//! Validation of pods and pod templates.
//!
//! [`check_spec`] lists the rules in the reference's order; a file has the rules of one part. All of them start from the cursor they
//! are given, so a template is validated at its own path.

pub(crate) mod affinity;
pub(crate) mod annotations;
pub(crate) mod containers;
mod dns;
mod env;
mod field_selectors;
mod hosts;
mod mounts;
pub(crate) mod options;
mod os;
mod pod_resources;
mod profiles;
mod resource_claims;
pub(crate) mod scheduling;
mod security;
mod security_annotations;
mod sysctls;
pub(crate) mod tolerations;
mod topology_spread;
pub(crate) mod volumes;
mod windows_options;

use std::collections::{BTreeSet, HashMap};

use pintle_meta::Value;
use pintle_meta::validation::{dns1123_label, inclusive_range_error, object_meta};

pub(crate) use self::options::Options;
use crate::framework::validation::Cursor;

/// Facts of a spec that the rules of its parts need.
#[derive(Default)]
pub(crate) struct Facts<'v> {
    /// Valid volumes by name; those with errors are as if they were not there.
    pub(crate) volumes: HashMap<&'v str, &'v Value>,
    /// Names of `resourceClaims`, sorted as an error lists them.
    pub(crate) claim_names: BTreeSet<&'v str>,
    pub(crate) grace_period: Option<i64>,
    /// Whether the pod is in the host's user namespace.
    pub(crate) host_users: bool,
    /// `linux`, `windows` or empty.
    pub(crate) os: &'v str,
    /// Whether an operating system is given, if only by an empty name.
    pub(crate) has_os: bool,
    pub(crate) restart_policy: &'v str,
    /// Of the pod; empty in a template.
    pub(crate) pod_name: &'v str,
    /// Whether the pod shows one that a kubelet runs from a file.
    pub(crate) is_mirror: bool,
}

impl<'v> Facts<'v> {
    /// Returns the facts of a spec; `pod` is nothing for a template.
    fn new(spec: &Cursor<'_, 'v>, pod: Option<&Cursor<'_, 'v>>) -> Facts<'v> {
        let name = |item: &'v Value| item.text_at(&["name"]);
        let claims = spec.field("resourceClaims").values().iter();
        Facts {
            volumes: HashMap::new(),
            claim_names: claims.map(name).filter(|name| !name.is_empty()).collect(),
            grace_period: spec.field("terminationGracePeriodSeconds").optional_integer(),
            host_users: !spec.field("hostUsers").is_set() || spec.field("hostUsers").flag(),
            os: spec.at(&["os", "name"]).text(),
            has_os: spec.field("os").is_set(),
            restart_policy: spec.field("restartPolicy").text(),
            pod_name: pod.map(|pod| pod.at(&["metadata", "name"]).text()).unwrap_or_default(),
            is_mirror: pod
                .is_some_and(|pod| pod.at(&["metadata", "annotations", annotations::MIRROR]).is_set()),
        }
    }
}

/// Checks a pod template: labels, annotations and the spec.
pub(crate) fn template(template: &Cursor<'_, '_>, options: &Options) {
    // The reference leaves `metadata` out of these paths.
    template.at_as(&["metadata", "labels"], "labels").labels();
    let annotations = template.at_as(&["metadata", "annotations"], "annotations");
    annotations.annotations();
    let spec = template.field("spec");
    annotations::annotations(&annotations, &spec, options);
    check_spec(&spec, None, options);
    security_annotations::seccomp(&annotations, &spec);
    security_annotations::app_armor(&annotations, &spec);
    let ephemeral = spec.field("ephemeralContainers");
    if !ephemeral.is_empty() {
        ephemeral.forbidden("ephemeral containers not allowed in pod template");
    }
}

/// Checks a new pod, beside its metadata.
pub(crate) fn create(pod: &Cursor<'_, '_>, options: &Options) {
    annotations_and_spec(pod, options);
    let spec = pod.field("spec");
    let ephemeral = spec.field("ephemeralContainers");
    if !ephemeral.is_empty() {
        ephemeral.forbidden("cannot be set on create");
    }
    let node = spec.field("nodeName");
    if !node.is_empty() && !spec.field("schedulingGates").is_empty() {
        node.forbidden("cannot be set until all schedulingGates have been cleared");
    }
    let annotations = pod.at(&["metadata", "annotations"]);
    security_annotations::seccomp(&annotations, &spec);
    security_annotations::app_armor(&annotations, &spec);
}

/// Checks a new or changed pod, beside its metadata: its annotations, its spec, and rules that templates do not have.
pub(crate) fn annotations_and_spec(pod: &Cursor<'_, '_>, options: &Options) {
    let spec = pod.field("spec");
    annotations::annotations(&pod.at(&["metadata", "annotations"]), &spec, options);
    check_spec(&spec, Some(pod), options);
    if spec.field("serviceAccountName").is_empty() {
        spec.field("volumes").each(|volume| {
            volume.at(&["projected", "sources"]).each(|source| {
                let token = source.field("serviceAccountToken");
                if token.is_set() {
                    token.forbidden("must not be specified when serviceAccountName is not set");
                }
            });
        });
    }
    for list in ["containers", "initContainers"] {
        spec.field(list).each(|container| {
            let image = container.field("image");
            if image.text().trim() != image.text() {
                image.invalid(image.text(), "must not have leading or trailing whitespace");
            }
        });
    }
}

/// Checks the spec of a pod, or of a template if there is no `pod`.
fn check_spec<'v>(spec: &Cursor<'_, 'v>, pod: Option<&Cursor<'_, 'v>>, options: &Options) {
    let mut facts = Facts::new(spec, pod);
    let grace_period = spec.field("terminationGracePeriodSeconds");
    if !grace_period.is_set() {
        grace_period.required("");
    }
    facts.volumes = volumes::volumes(&spec.field("volumes"), facts.pod_name, options);
    let facts = &facts;
    resource_claims::claims(&spec.field("resourceClaims"), facts);
    containers::containers(&spec.field("containers"), facts, options);
    containers::init_containers(spec, facts, options);
    containers::ephemeral_containers(spec, facts, options);
    pod_resources::pod_resources(spec, facts, options);
    security::host_network(spec, options);
    restart_policy(&spec.field("restartPolicy"));
    dns::policy(&spec.field("dnsPolicy"));
    spec.field("nodeSelector").labels();
    security::security_context(spec, options);
    affinity::affinity(&spec.field("affinity"), options);
    dns::config(spec, options);
    scheduling::readiness_gates(&spec.field("readinessGates"));
    scheduling::scheduling_gates(&spec.field("schedulingGates"));
    topology_spread::constraints(&spec.field("topologySpreadConstraints"), options);
    os::windows_host_process(spec, options);
    security::host_users(spec, options);
    hosts::hostname_override(spec);
    subdomain(&spec.field("serviceAccountName"));
    subdomain(&spec.field("nodeName"));
    active_deadline(&spec.field("activeDeadlineSeconds"));
    label(&spec.field("hostname"));
    label(&spec.field("subdomain"));
    tolerations::tolerations(&spec.field("tolerations"), options.allow_toleration_comparison);
    hosts::aliases(&spec.field("hostAliases"), options);
    subdomain(&spec.field("priorityClassName"));
    let runtime_class = spec.field("runtimeClassName");
    if runtime_class.is_set() {
        runtime_class.text_format(|name| object_meta::subdomain_name(name, false));
    }
    scheduling::preemption_policy(&spec.field("preemptionPolicy"));
    scheduling::overhead(&spec.field("overhead"), options);
    os::operating_system(spec, options);
    scheduling::scheduling_group(&spec.field("schedulingGroup"));
    env::file_volumes(spec);
}

fn restart_policy(policy: &Cursor<'_, '_>) {
    policy.required_one_of(&["Always", "OnFailure", "Never"]);
}

/// Checks a name that may be empty.
fn subdomain(name: &Cursor<'_, '_>) {
    if !name.is_empty() {
        name.text_format(|name| object_meta::subdomain_name(name, false));
    }
}

fn label(name: &Cursor<'_, '_>) {
    if !name.is_empty() {
        name.text_format(dns1123_label);
    }
}

fn active_deadline(seconds: &Cursor<'_, '_>) {
    if let Some(value) = seconds.optional_integer()
        && !(1..=i64::from(i32::MAX)).contains(&value)
    {
        seconds.invalid(value, inclusive_range_error(1, i64::from(i32::MAX)));
    }
}

#[cfg(test)]
pub(in crate::core::pod) mod testing;
#[cfg(test)]
mod tests;
