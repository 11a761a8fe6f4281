//! Aggregated cluster roles: a role with an aggregationRule has the rules of all roles that its selectors match.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use async_trait::async_trait;
use pintle_auth::authorizer::rbac::Rule;
use pintle_codec::json;
use pintle_meta::selector::LabelSelector;
use pintle_meta::{Reason, Status, Value};
use pintle_registry::{Client, ObjectIdentity, Result};

use crate::runtime::{Controller, Requeue, Source};

/// The field manager of the rules of aggregates.
const MANAGER: &str = "clusterrole-aggregation-controller";

/// How long [`ClusterRoleAggregation::sync_now`] waits for the cache.
const CACHE_TIMEOUT: Duration = Duration::from_secs(3);

/// Keeps the rules of aggregated roles up to date.
pub struct ClusterRoleAggregation {
    roles: Client,
}

/// The roles, by name.
type Known = BTreeMap<String, Role>;

struct Role {
    uid: String,
    resource_version: String,
    labels: BTreeMap<String, String>,
    rules: Vec<Rule>,
    /// The selectors of an aggregate.
    selectors: Option<Vec<LabelSelector>>,
}

impl ClusterRoleAggregation {
    pub fn new(cluster_roles: Client) -> ClusterRoleAggregation {
        ClusterRoleAggregation { roles: cluster_roles.managed_by(MANAGER) }
    }

    /// Brings the aggregates up to date once, with all roles that are stored now, so that a server is not ready before they are
    /// whole. Roles that fail are retried by the controller.
    pub async fn sync_now(&self) {
        if self.roles.cache().wait_for_current(CACHE_TIMEOUT).await.is_ok()
            && let Some(known) = self.known()
        {
            self.sync(&known).await;
        }
    }

    /// Returns the roles that the cache has; `None` while it starts over.
    fn known(&self) -> Option<Known> {
        let snapshot = self.roles.cache().snapshot().ok()?;
        let roles = snapshot.objects.iter().filter_map(|entry| self.roles.object(entry).ok());
        Some(roles.map(|role| (role.name().to_owned(), Role::read(&role))).collect())
    }

    /// Writes the aggregates whose rules are not up to date. Returns whether all could be written.
    async fn sync(&self, known: &Known) -> bool {
        let mut is_done = true;
        for (name, rules) in outdated(known) {
            if let Err(reason) = self.apply(name, &known[name], &rules).await {
                tracing::error!("{name} failed with : {reason}");
                is_done = false;
            }
        }
        is_done
    }

    /// Applies rules to a role as it was read. A role that was deleted stays deleted: its access ends with it.
    async fn apply(&self, name: &str, role: &Role, rules: &[Rule]) -> std::result::Result<(), String> {
        let mut text =
            br#"{"kind":"ClusterRole","apiVersion":"rbac.authorization.k8s.io/v1","metadata":{"name":"#
                .to_vec();
        json::write::string(name, &mut text);
        text.push(b'}');
        for (index, rule) in rules.iter().enumerate() {
            text.extend_from_slice(if index == 0 { b",\"rules\":[" } else { b"," });
            rule.write_json(&mut text);
        }
        text.extend_from_slice(if rules.is_empty() { b"}" } else { b"]}" });
        let config = json::decode_untyped(&text).map_err(|error| error.to_string())?.value;
        let read = ObjectIdentity { name, uid: &role.uid, resource_version: Some(&role.resource_version) };
        match self.roles.apply("", &read, &config).await {
            Ok(_) => Ok(()),
            // It was deleted, replaced or changed, which the informer sees.
            Err(status) if matches!(status.reason, Reason::NotFound | Reason::Conflict) => Ok(()),
            Err(status) => Err(status.message),
        }
    }
}

#[async_trait]
impl Controller for ClusterRoleAggregation {
    fn name(&self) -> &'static str {
        "ClusterRoleAggregator"
    }

    /// Any change may concern any aggregate, so there is one key for all. Changes that come while it is processed are one more
    /// round.
    fn sources(&self) -> Vec<Source> {
        vec![Source::informer(self.roles.store().clone(), |_, _| Some("".into()))]
    }

    async fn reconcile(&self, _: &str) -> Result<Requeue> {
        let known =
            self.known().ok_or_else(|| Status::service_unavailable("the cache of roles starts over"))?;
        if self.sync(&known).await {
            return Ok(Requeue::Never);
        }
        Err(Status::internal("some aggregated roles could not be written").into())
    }

    /// Each role has been reported by itself.
    fn failed(&self, _: &str, status: &Status) {
        tracing::debug!("aggregation of cluster roles is retried: {}", status.message);
    }
}

impl Role {
    fn read(role: &Value) -> Role {
        let selectors = role.get("aggregationRule").filter(|rule| !rule.is_null()).map(|rule| {
            let selectors = rule.items_at(&["clusterRoleSelectors"]).iter();
            selectors.filter_map(|selector| selector.view().ok()).collect()
        });
        Role {
            uid: role.uid().to_owned(),
            resource_version: role.resource_version().to_owned(),
            labels: role.labels().map(|(key, value)| (key.to_owned(), value.to_owned())).collect(),
            rules: Rule::read_all(role),
            selectors,
        }
    }
}

/// Returns the aggregates whose rules are outdated, with the rules that they should have. An aggregate may be part of another one,
/// so this takes rounds until nothing changes; the number of rounds is bounded, since aggregates may select each other.
fn outdated(known: &Known) -> BTreeMap<&str, Vec<Rule>> {
    let mut outdated: BTreeMap<&str, Vec<Rule>> = BTreeMap::new();
    let aggregates: Vec<_> =
        known.iter().filter_map(|(name, role)| Some((name, role, role.selectors.as_ref()?))).collect();
    for _ in 0..=aggregates.len() {
        let mut is_same = true;
        for (name, role, selectors) in &aggregates {
            let now = outdated.get(name.as_str()).unwrap_or(&role.rules);
            match gathered(known, &outdated, name, selectors) {
                Ok(rules) if rules == *now => {}
                Ok(rules) => {
                    is_same = false;
                    outdated.insert(name, rules);
                }
                // A retry does not help, only another selector.
                Err(reason) => tracing::error!("{name} failed with : {reason}"),
            }
        }
        if is_same {
            break;
        }
    }
    outdated.retain(|name, rules| known[*name].rules != *rules);
    outdated
}

/// Returns the rules of all roles that the selectors match, by the order of the selectors and then of the roles' names, each once.
fn gathered(
    known: &Known,
    outdated: &BTreeMap<&str, Vec<Rule>>,
    own: &str,
    selectors: &[LabelSelector],
) -> std::result::Result<Vec<Rule>, String> {
    let mut rules: Vec<Rule> = Vec::new();
    let mut seen = HashSet::new();
    for selector in selectors {
        let selector = selector.selector()?;
        for (name, role) in known {
            if name == own || !selector.matches(|key| role.labels.get(key).map(String::as_str)) {
                continue;
            }
            let found = outdated.get(name.as_str()).unwrap_or(&role.rules);
            rules.extend(found.iter().filter(|rule| seen.insert(*rule)).cloned());
        }
    }
    Ok(rules)
}
