//! Defaults of the core group.

mod image;
mod pod;
mod pod_resources;
mod service;

use pintle_meta::Value;
use pintle_meta::quantity::Quantity;

use crate::framework::defaults::Fill::{Int, Text, Zero};
use crate::framework::defaults::{Place, Rule};

pub(crate) const RULES: &[Rule] = &[
    // Pods.
    Rule::code(&["core/v1.Pod"], pod::pod),
    Rule::table(
        &["core/v1.PodSpec"],
        &[
            ("dnsPolicy", Text("ClusterFirst")),
            ("restartPolicy", Text("Always")),
            ("securityContext", Zero),
            ("terminationGracePeriodSeconds", Int(30)),
            ("schedulerName", Text("default-scheduler")),
        ],
    ),
    Rule {
        types: &["core/v1.Container", "core/v1.EphemeralContainer"],
        fields: &[
            ("terminationMessagePath", Text("/dev/termination-log")),
            ("terminationMessagePolicy", Text("File")),
        ],
        call: Some(pod::container),
    },
    Rule::table(
        &["core/v1.Probe"],
        &[
            ("timeoutSeconds", Int(1)),
            ("periodSeconds", Int(10)),
            ("successThreshold", Int(1)),
            ("failureThreshold", Int(3)),
        ],
    ),
    Rule::table(&["core/v1.HTTPGetAction"], &[("path", Text("/")), ("scheme", Text("HTTP"))]),
    Rule::table(&["core/v1.ObjectFieldSelector"], &[("apiVersion", Text("v1"))]),
    Rule::code(&["core/v1.PodLogOptions"], pod::log_options),
    Rule::code(&["core/v1.ReplicationController"], replication_controller),
    // Volumes. Permissions are 0644 in JSON's decimal.
    Rule::code(&["core/v1.Volume"], pod::volume),
    Rule::table(
        &[
            "core/v1.SecretVolumeSource",
            "core/v1.ConfigMapVolumeSource",
            "core/v1.DownwardAPIVolumeSource",
            "core/v1.ProjectedVolumeSource",
        ],
        &[("defaultMode", Int(0o644))],
    ),
    Rule::table(&["core/v1.ServiceAccountTokenProjection"], &[("expirationSeconds", Int(3600))]),
    Rule::table(&["core/v1.HostPathVolumeSource"], &[("type", Text(""))]),
    Rule::code(&["core/v1.PersistentVolume"], persistent_volume),
    Rule::code(&["core/v1.PersistentVolumeClaim"], |claim| {
        claim.within("status", |status| status.default("phase", "Pending"));
    }),
    Rule::table(&["core/v1.PersistentVolumeClaimSpec"], &[("volumeMode", Text("Filesystem"))]),
    // Services.
    Rule::code(&["core/v1.Service"], service::service),
    Rule::code(&["core/v1.Endpoints"], |endpoints| {
        endpoints.each("subsets", |subset| {
            subset.each("ports", |port| port.default("protocol", "TCP"));
        });
    }),
    // The rest. That a ConfigMap's data is never nil cannot be seen from outside.
    Rule::table(&["core/v1.Secret"], &[("type", Text("Opaque"))]),
    Rule::code(&["core/v1.Namespace"], namespace),
    Rule::table(&["core/v1.NamespaceStatus"], &[("phase", Text("Active"))]),
    Rule::code(&["core/v1.NodeStatus"], node_status),
    Rule::code(&["core/v1.LimitRangeItem"], limit_range_item),
];

const THOUSANDTHS: i32 = -3;

/// Amounts of resources are rounded up to thousandths.
pub(crate) fn round_amounts(amounts: &Value) -> Option<Value> {
    let amounts = amounts.as_object()?;
    let mut rounded: Option<Value> = None;
    for (name, amount) in amounts.iter() {
        if let Some(amount) = amount.as_str().and_then(round_amount) {
            let changed = rounded.get_or_insert_with(|| Value::object(amounts.clone()));
            if let Some(changed) = changed.get_mut(name) {
                *changed = amount.into();
            }
        }
    }
    rounded
}

/// An amount that is finer than thousandths, rounded up.
fn round_amount(amount: &str) -> Option<String> {
    // Finer amounts end in n or u or have a negative exponent; everything else is spared the parsing.
    if !amount.contains(['n', 'u', '.']) && !amount.get(1..).is_some_and(|rest| rest.contains('-')) {
        return None;
    }
    let mut quantity = Quantity::parse(amount).ok()?;
    quantity.round_up(THOUSANDTHS);
    let rounded = quantity.to_string();
    (rounded != amount).then_some(rounded)
}

/// The labels of the pods are those of the controller, and what it selects by, if nothing else was said.
fn replication_controller(controller: &mut Place<'_>) {
    let Some(labels) =
        controller.get("spec").and_then(|spec| spec.at(&["template", "metadata", "labels"])).cloned()
    else {
        return;
    };
    controller.within("spec", |spec| spec.default("selector", labels.clone()));
    controller.within("metadata", |metadata| metadata.default("labels", labels.clone()));
}

fn persistent_volume(volume: &mut Place<'_>) {
    volume.within("status", |status| status.default("phase", "Pending"));
    volume.within("spec", |spec| {
        spec.default("persistentVolumeReclaimPolicy", "Retain");
        spec.default("volumeMode", "Filesystem");
    });
}

/// A namespace carries its name as a label, whatever was there. One whose name is to be generated gets it later.
fn namespace(namespace: &mut Place<'_>) {
    const LABEL: &str = "kubernetes.io/metadata.name";
    namespace.within("metadata", |metadata| {
        let name = metadata.text("name");
        let labels = metadata.map("labels");
        if name.is_empty() || labels.and_then(|labels| labels.get(LABEL)?.as_str()) == Some(name) {
            return;
        }
        let mut labels = labels.cloned().unwrap_or_default();
        labels.insert(LABEL, name);
        metadata.set("labels", labels);
    });
}

/// What a node has is what can be given to pods, if it does not say.
fn node_status(status: &mut Place<'_>) {
    if let Some(capacity) = status.copy("capacity") {
        status.default("allocatable", capacity);
    }
}

/// For containers: no default limit is the maximum, no default request the default limit, or else the minimum.
fn limit_range_item(item: &mut Place<'_>) {
    if item.text("type") != "Container" {
        return;
    }
    for (name, from) in [("default", "max"), ("defaultRequest", "default"), ("defaultRequest", "min")] {
        if let Some(from) = item.copy(from) {
            item.complete(name, &from, |_| true);
        }
    }
}

#[cfg(test)]
mod tests;
