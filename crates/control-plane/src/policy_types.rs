//! The types of kinds that policies are checked against: built-in ones from the type graph, custom ones from their definitions.

use std::sync::Arc;

use async_trait::async_trait;
use pintle_controllers::{PolicyTypeChecker, PolicyWarning};
use pintle_discovery::GroupVersion;
use pintle_extensions::Definitions;
use pintle_meta::Value;
use pintle_meta::gvk::GroupVersionKind;
use pintle_resources::type_checking::{CheckedKinds, KindType, NamedResource, kinds_to_check, type_warnings};
use pintle_runtime::Random;
use pintle_schema::{Resources, find_kind};

use crate::api_groups;

/// Checks policies against the resources that this server serves.
pub(crate) struct PolicyTypes {
    pub(crate) resources: Arc<Resources>,
    pub(crate) served: Vec<GroupVersion>,
    pub(crate) definitions: Arc<Definitions>,
    pub(crate) random: Random,
}

impl PolicyTypes {
    /// Returns the kinds of a resource by its plural or singular name. Without a group, every group is searched, as the
    /// reference does.
    fn kinds(&self, named: &NamedResource) -> Vec<GroupVersionKind> {
        let NamedResource { group, version, resource } = named;
        let mut kinds = Vec::new();
        for found in self.resources.versions() {
            if found.version != version || !(group.is_empty() || found.group == group) {
                continue;
            }
            let resources = found.resources.iter().filter(|known| {
                known.subresource.is_none()
                    && (known.name == resource || known.singular == resource.as_str())
                    && api_groups::contains(&self.served, found, known)
            });
            kinds.extend(
                resources
                    .map(|known| GroupVersionKind::new(found.group, found.version, known.kind.kind_name())),
            );
        }
        kinds.extend(self.definitions.kinds_of(group, version, resource));
        kinds
    }

    fn type_of(&self, kind: &GroupVersionKind) -> Option<KindType> {
        let number = self.random.number() % 1_000_000_000;
        if let Some(found) = find_kind(&kind.group, &kind.version, &kind.kind) {
            return Some(KindType::builtin(found, number));
        }
        let schema = self.definitions.schema_of(kind)?;
        Some(KindType::custom(&schema, &kind.kind, number))
    }

    fn checked_kinds(&self, policy: &Value) -> CheckedKinds {
        let kinds = kinds_to_check(policy, |named| self.kinds(named));
        let objects = kinds.into_iter().filter_map(|kind| self.type_of(&kind).map(|of| (kind, of)));
        let params = policy.at(&["spec", "paramKind"]).filter(|kind| !kind.is_null()).map(|kind| {
            let api_version = kind.text_at(&["apiVersion"]);
            let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
            self.type_of(&GroupVersionKind::new(group, version, kind.text_at(&["kind"])))
        });
        CheckedKinds { objects: objects.collect(), params }
    }
}

#[async_trait]
impl PolicyTypeChecker for PolicyTypes {
    async fn warnings(&self, policy: &Value) -> Vec<PolicyWarning> {
        if let Err(status) = self.definitions.ready().await {
            tracing::debug!(error = status.message, "custom resources are not known yet");
        }
        let (kinds, policy) = (self.checked_kinds(policy), policy.clone());
        // Checking large policies against several kinds takes long.
        let checked = tokio::task::spawn_blocking(move || type_warnings(&policy, &kinds)).await;
        let warnings = checked.unwrap_or_default().into_iter();
        warnings.map(|found| PolicyWarning { field: found.field, warning: found.warning }).collect()
    }
}
