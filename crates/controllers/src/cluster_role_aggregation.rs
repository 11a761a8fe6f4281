//! Roles that are made of others: an aggregate has the rules of all roles that its selectors match.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use pintle_auth::authorizer::rbac::Rule;
use pintle_cache::{Cursor, Interest, Next};
use pintle_codec::json;
use pintle_meta::selector::LabelSelector;
use pintle_meta::{Reason, Value};

use crate::objects::{ObjectIdentity, Objects};

/// Who manages the rules of aggregates.
const MANAGER: &str = "clusterrole-aggregation-controller";

/// How soon what failed is tried again.
const PAUSE: Duration = Duration::from_secs(1);

/// How long the cache may take to know the roles that were just made.
const PATIENCE: Duration = Duration::from_secs(3);

/// Keeps aggregates up to date, as roles change.
pub struct ClusterRoleAggregation {
    roles: Objects,
}

/// What is known of the roles, by name.
type Known = BTreeMap<String, Role>;

struct Role {
    uid: String,
    resource_version: String,
    labels: BTreeMap<String, String>,
    rules: Vec<Rule>,
    /// Of an aggregate.
    selectors: Option<Vec<LabelSelector>>,
}

impl ClusterRoleAggregation {
    pub fn new(cluster_roles: Objects) -> ClusterRoleAggregation {
        ClusterRoleAggregation { roles: cluster_roles.managed_by(MANAGER) }
    }

    /// Puts aggregates in order that are there now, so that who was just told that all roles are there finds them whole. What
    /// fails is tried again by [`ClusterRoleAggregation::start`].
    pub async fn settle(&self) {
        if self.roles.store().cache().wait_for_current(PATIENCE).await.is_ok()
            && let Some((known, _)) = self.load().await
        {
            self.sync(&known).await;
        }
    }

    /// Goes on until `shutdown`.
    pub fn start(self, shutdown: impl Future<Output = ()> + Send + 'static) {
        tokio::spawn(async move {
            tokio::select! {
                () = self.run() => {}
                () = shutdown => {}
            }
        });
    }

    async fn run(&self) {
        loop {
            match self.load().await {
                Some((known, cursor)) => self.follow(known, cursor).await,
                None => tokio::time::sleep(PAUSE).await,
            }
        }
    }

    async fn load(&self) -> Option<(Known, Cursor)> {
        let store = self.roles.store();
        store.cache().ready().await.ok()?;
        let (snapshot, cursor) = store.cache().snapshot_and_watch(Interest::Everything).ok()?;
        let roles = snapshot.objects.iter().filter_map(|entry| store.object(entry).ok());
        let known = roles.map(|role| (role.name().to_owned(), Role::read(&role))).collect();
        Some((known, cursor))
    }

    /// Until the cursor is of no more use.
    async fn follow(&self, mut known: Known, mut cursor: Cursor) {
        loop {
            let is_done = self.sync(&known).await;
            let next = async {
                match is_done {
                    true => Some(cursor.next().await),
                    false => tokio::time::timeout(PAUSE, cursor.next()).await.ok(),
                }
            };
            let mut next = next.await;
            // All that is there counts before anything is written.
            while let Some(changes) = next {
                let Next::Changes(changes) = changes else { return };
                for change in changes {
                    let name = change.entry.key().to_owned();
                    let role =
                        (!change.deleted).then(|| self.roles.store().object(&change.entry).ok()).flatten();
                    match role {
                        Some(role) => drop(known.insert(name, Role::read(&role))),
                        None => drop(known.remove(&name)),
                    }
                }
                next = cursor.try_news();
            }
        }
    }

    /// Writes the aggregates that are not as they should be. Whether all of them are now.
    async fn sync(&self, known: &Known) -> bool {
        let mut is_done = true;
        for (name, rules) in settled(known) {
            if let Err(reason) = self.apply(name, &known[name], &rules).await {
                tracing::error!("{name} failed with : {reason}");
                is_done = false;
            }
        }
        is_done
    }

    /// Applies rules to a role as it was read. A role that was deleted stays deleted: its access ends with it.
    async fn apply(&self, name: &str, role: &Role, rules: &[Rule]) -> Result<(), String> {
        let mut text =
            br#"{"kind":"ClusterRole","apiVersion":"rbac.authorization.k8s.io/v1","metadata":{"name":"#
                .to_vec();
        json::write::string(name, &mut text);
        text.push(b'}');
        for (place, rule) in rules.iter().enumerate() {
            text.extend_from_slice(if place == 0 { b",\"rules\":[" } else { b"," });
            rule.write_json(&mut text);
        }
        text.extend_from_slice(if rules.is_empty() { b"}" } else { b"]}" });
        let config = json::decode_untyped(&text).map_err(|error| error.to_string())?.value;
        let read = ObjectIdentity { name, uid: &role.uid, resource_version: Some(&role.resource_version) };
        match self.roles.apply("", &read, &config).await {
            Ok(_) => Ok(()),
            // It was deleted, replaced or changed, which the cursor tells.
            Err(status) if matches!(status.reason, Reason::NotFound | Reason::Conflict) => Ok(()),
            Err(status) => Err(status.message),
        }
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

/// The aggregates whose rules are others than they should be, with those. An aggregate may be part of another one, so that
/// it takes rounds until nothing changes any more; those of which each is part of the other end too.
fn settled(known: &Known) -> BTreeMap<&str, Vec<Rule>> {
    let mut settled: BTreeMap<&str, Vec<Rule>> = BTreeMap::new();
    let aggregates: Vec<_> =
        known.iter().filter_map(|(name, role)| Some((name, role, role.selectors.as_ref()?))).collect();
    for _ in 0..=aggregates.len() {
        let mut is_same = true;
        for (name, role, selectors) in &aggregates {
            let now = settled.get(name.as_str()).unwrap_or(&role.rules);
            match gathered(known, &settled, name, selectors) {
                Ok(rules) if rules == *now => {}
                Ok(rules) => {
                    is_same = false;
                    settled.insert(name, rules);
                }
                // Nothing but another selector helps.
                Err(reason) => tracing::error!("{name} failed with : {reason}"),
            }
        }
        if is_same {
            break;
        }
    }
    settled.retain(|name, rules| known[*name].rules != *rules);
    settled
}

/// The rules of all roles that the selectors match, by the order of the selectors and then of the roles' names, each once.
fn gathered(
    known: &Known,
    settled: &BTreeMap<&str, Vec<Rule>>,
    own: &str,
    selectors: &[LabelSelector],
) -> Result<Vec<Rule>, String> {
    let mut rules: Vec<Rule> = Vec::new();
    let mut seen = HashSet::new();
    for selector in selectors {
        let selector = selector.selector()?;
        for (name, role) in known {
            if name == own || !selector.matches(|key| role.labels.get(key).map(String::as_str)) {
                continue;
            }
            let found = settled.get(name.as_str()).unwrap_or(&role.rules);
            rules.extend(found.iter().filter(|rule| seen.insert(*rule)).cloned());
        }
    }
    Ok(rules)
}
