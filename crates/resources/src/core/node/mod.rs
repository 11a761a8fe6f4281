//! Nodes, whose kubelets register them with their status.

pub(super) mod columns;
mod config;
mod validation;

use pintle_features::{Feature, Features};
use pintle_meta::Value;

use super::strategy::{CLUSTER, warnings};
use crate::framework::strategy::{MetadataRecheck, Rules, rules, tree};

pub(super) const NODES: Rules = Rules {
    recheck: MetadataRecheck::Full,
    // A kubelet brings its status along when it registers its node.
    cleared_on_create: &[],
    on_create: |settings, _, node| {
        tree::remove(node, &["spec", "configSource"]);
        tree::remove(node, &["status", "config"]);
        drop_disabled(&settings.features, node, None);
    },
    on_update: |settings, _, new, old| {
        keep_removed_feature(new, old, &["spec", "configSource"]);
        drop_disabled(&settings.features, new, Some(old));
    },
    validate: validation::node,
    validate_update: |settings, node| {
        validation::node(settings, node);
        rules::metadata_update(node);
        validation::update(node);
    },
    warnings: |_, node, _| warnings::of_node(node),
    ..CLUSTER.with_status()
};

pub(super) const NODE_STATUS: Rules = Rules {
    on_update: |_, _, new, old| keep_removed_feature(new, old, &["status", "config"]),
    validate_update: |_, node| validation::update(node),
    ..NODES.of_status()
};

/// A feature that is no more: what an old object has of it may change, and nothing else may have it.
fn keep_removed_feature(new: &mut Value, old: &Value, path: tree::Path) {
    if old.at(path).is_none() {
        tree::remove(new, path);
    }
}

/// Removes the status of features that are off, unless the old node has it already.
fn drop_disabled(features: &Features, node: &mut Value, old: Option<&Value>) {
    const DECLARED: tree::Path = &["status", "declaredFeatures"];
    const FEATURES: tree::Path = &["status", "features"];
    let had = |path: tree::Path| old.is_some_and(|old| old.at(path).is_some());
    let has_handlers = [Feature::RecursiveReadOnlyMounts, Feature::UserNamespacesSupport];
    if !has_handlers.into_iter().any(|feature| features.enabled(feature)) {
        tree::remove(node, &["status", "runtimeHandlers"]);
    }
    if !features.enabled(Feature::SupplementalGroupsPolicy) && !had(FEATURES) {
        tree::remove(node, FEATURES);
    }
    if !features.enabled(Feature::NodeDeclaredFeatures) && !had(DECLARED) {
        tree::remove(node, DECLARED);
    }
}

#[cfg(test)]
mod tests;
