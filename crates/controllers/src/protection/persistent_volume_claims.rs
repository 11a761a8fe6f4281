//! `persistentvolumeclaim-protection-controller`: a claim that a pod on a node uses is not removed. With the gate
//! `PersistentVolumeClaimUnusedSinceTime`, a condition says since when no pod refers to a claim.

use std::sync::Arc;

use async_trait::async_trait;
use pintle_cache::Change;
use pintle_meta::gvk::GroupVersionResource;
use pintle_meta::time::Time;
use pintle_meta::{Object, Status, Value};
use pintle_registry::{Result, Store};
use pintle_runtime::Clock;

use super::{Finalizer, current, has_ended, report};
use crate::api::ApiClient;
use crate::runtime::{Controller, Key, Requeue, Source, Waiting, WorkQueue};

const UNUSED: &str = "Unused";

/// Protects PersistentVolumeClaims.
#[derive(Clone)]
pub struct ClaimProtection {
    finalizer: Finalizer,
    pods: Arc<Store>,
    /// The place of the node's name among the fields of pods.
    node_name: usize,
    clock: Clock,
    /// Whether claims have a condition for when they are not used.
    tracks_use: bool,
}

impl ClaimProtection {
    pub const NAME: &'static str = "persistentvolumeclaim-protection-controller";
    /// The service account, whose name is older.
    pub const ACCOUNT: &'static str = "pvc-protection-controller";

    /// `pods` come with the place of `spec.nodeName` among their fields. With `tracks_use`, claims get a condition for when they are
    /// not used.
    pub fn new(
        claims: Arc<Store>,
        (pods, node_name): (Arc<Store>, usize),
        api: ApiClient,
        clock: Clock,
        tracks_use: bool,
    ) -> ClaimProtection {
        let resource = GroupVersionResource::new("", "v1", "persistentvolumeclaims");
        let finalizer = Finalizer {
            name: "kubernetes.io/pvc-protection",
            resource,
            objects: claims,
            api,
            waiting: Waiting::default(),
        };
        ClaimProtection { finalizer, pods, node_name, clock, tracks_use }
    }

    /// Returns whether a pod of the claim's namespace uses it in the sense of a predicate. Pods without a node are looked at only where
    /// that matters.
    async fn is_used(
        &self,
        claim: &Value,
        needs_node: bool,
        uses: impl Fn(&Value, &Value) -> bool,
    ) -> Result<bool> {
        let pods = current(&self.pods).await?;
        let namespace = format!("{}/", claim.namespace());
        for entry in pods.objects.iter_prefix(&namespace) {
            if needs_node && entry.field(self.node_name).is_some_and(str::is_empty) {
                continue;
            }
            if uses(&self.pods.object(entry)?, claim) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    async fn look(&self, claim: &Value) -> Result<()> {
        if self.tracks_use && claim.deletion_timestamp().is_none() {
            let is_used = self.is_used(claim, false, refers_to).await?;
            self.report_use(claim, is_used).await?;
        }
        if self.finalizer.holds(claim) && !self.is_used(claim, true, holds).await? {
            return self.finalizer.remove(claim).await;
        }
        if self.finalizer.is_missing(claim) {
            return self.finalizer.add(claim).await;
        }
        Ok(())
    }

    /// Writes the condition of a claim if it says something else.
    async fn report_use(&self, claim: &Value, is_used: bool) -> Result<()> {
        let now = Time::from(self.clock.now()).to_string();
        let Some(new) = with_use(claim, is_used, &now) else { return Ok(()) };
        let location = self.finalizer.location(claim).subresource("status");
        self.finalizer.api.replace(&location, &new).await.map(drop)
    }

    /// Queues the waiting claims of a pod that has changed.
    fn see_pod(&self, change: &Change, queue: &WorkQueue<Key>) {
        let Some((namespace, _)) = change.entry.key().split_once('/') else { return };
        if !self.finalizer.waiting.has_in(namespace) {
            return;
        }
        let Ok(pod) = self.pods.object(&change.entry) else { return };
        let may_hold =
            !change.deleted && !is_terminated(&pod) && !pod.text_at(&["spec", "nodeName"]).is_empty();
        let previous = change.previous.as_ref().and_then(|entry| self.pods.object(entry).ok());
        let replaced = previous.filter(|previous| previous.uid() != pod.uid());
        let released = (self.tracks_use || !may_hold).then_some(pod);
        for pod in [released, replaced].into_iter().flatten() {
            for claim in claims_of(&pod) {
                let key = format!("{namespace}/{claim}");
                if self.finalizer.waiting.contains(&key) {
                    queue.add(key.into());
                }
            }
        }
    }
}

#[async_trait]
impl Controller for ClaimProtection {
    fn name(&self) -> &'static str {
        "pvcprotection"
    }

    fn sources(&self) -> Vec<Source> {
        let tracks_use = self.tracks_use;
        let claims = self.finalizer.source(move |own, claim| {
            own.is_missing(claim) || own.holds(claim) || (tracks_use && condition(claim).is_none())
        });
        let own = self.clone();
        let pods =
            self.finalizer.users(&self.pods, &self.clock, move |change, queue| own.see_pod(change, queue));
        vec![claims, pods]
    }

    async fn reconcile(&self, key: &str) -> Result<Requeue> {
        let Some(claim) = self.finalizer.object(key).await? else {
            self.finalizer.waiting.remove(key);
            return Ok(Requeue::Never);
        };
        match self.tracks_use || self.finalizer.holds(&claim) {
            true => self.finalizer.waiting.add(key),
            false => self.finalizer.waiting.remove(key),
        }
        self.look(&claim).await?;
        Ok(Requeue::Never)
    }

    fn failed(&self, key: &str, status: &Status) {
        report("PVC", key, status);
    }
}

/// Returns the names of the claims that a pod refers to.
fn claims_of(pod: &Value) -> Vec<String> {
    let volumes = pod.items_at(&["spec", "volumes"]).iter();
    let claim = |volume: &Value| {
        let named = volume.text_at(&["persistentVolumeClaim", "claimName"]);
        let generated = || format!("{}-{}", pod.name(), volume.text_at(&["name"]));
        let named = (!named.is_empty()).then(|| named.to_owned());
        named.or_else(|| volume.get("ephemeral").map(|_| generated()))
    };
    volumes.filter_map(claim).collect()
}

/// Returns whether a pod's volumes have a claim, by name or as the ephemeral volume that the claim was made for.
fn has_volume(pod: &Value, claim: &Value, with_ephemeral: bool) -> bool {
    let name = claim.name();
    let is_named = |volume: &Value| volume.text_at(&["persistentVolumeClaim", "claimName"]) == name;
    let is_made = |volume: &Value| {
        volume.get("ephemeral").is_some() && format!("{}-{}", pod.name(), volume.text_at(&["name"])) == name
    };
    let controller = |owner: &Value| owner.get("controller").and_then(Value::as_bool) == Some(true);
    let is_own = || {
        let owner = claim.owner_references().iter().find(|owner| controller(owner));
        owner.is_some_and(|owner| owner.text_at(&["uid"]) == pod.uid())
    };
    let mut volumes = pod.items_at(&["spec", "volumes"]).iter();
    volumes.any(|volume| is_named(volume) || (with_ephemeral && is_made(volume) && is_own()))
}

/// Returns whether a pod keeps a claim from being removed: its kubelet may have mounted it. One without a node cannot start any more.
fn holds(pod: &Value, claim: &Value) -> bool {
    // The volumes of a pod that was deleted at once, or has ended, are not mounted any more.
    let grace = pod.at(&["metadata", "deletionGracePeriodSeconds"]).and_then(Value::as_i64);
    let is_shut_down = pod.deletion_timestamp().is_some() && grace == Some(0);
    !pod.text_at(&["spec", "nodeName"]).is_empty() && has_volume(pod, claim, !is_shut_down)
}

/// Returns whether a pod that has not ended refers to a claim.
fn refers_to(pod: &Value, claim: &Value) -> bool {
    !is_terminated(pod) && has_volume(pod, claim, true)
}

/// Returns whether a pod has ended, or is being deleted and none of its containers runs.
fn is_terminated(pod: &Value) -> bool {
    let lists = ["initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses"];
    let mut statuses = lists.into_iter().flat_map(|list| pod.items_at(&["status", list]));
    let runs =
        |status: &Value| ["terminated", "waiting"].iter().all(|state| status.at(&["state", state]).is_none());
    has_ended(pod) || (pod.deletion_timestamp().is_some() && !statuses.any(runs))
}

fn condition(claim: &Value) -> Option<&Value> {
    claim.items_at(&["status", "conditions"]).iter().find(|found| found.text_at(&["type"]) == UNUSED)
}

/// Returns a claim whose condition says whether it is used, unless it does.
fn with_use(claim: &Value, is_used: bool, now: &str) -> Option<Value> {
    let status = if is_used { "False" } else { "True" };
    if condition(claim).is_some_and(|found| (found.text_at(&["status"]) == "True") != is_used) {
        return None;
    }
    let (reason, message) = match is_used {
        true => ("PodUsingPVC", "A pod is currently referencing this PVC"),
        false => ("NoPodsUsingPVC", "No pods are currently referencing this PVC"),
    };
    let fields = [
        ("type", UNUSED),
        ("status", status),
        ("lastTransitionTime", now),
        ("reason", reason),
        ("message", message),
    ];
    let new_condition = Value::object(Object::from_iter(fields));
    let mut conditions = claim.items_at(&["status", "conditions"]).to_vec();
    match conditions.iter_mut().find(|found| found.text_at(&["type"]) == UNUSED) {
        Some(found) => *found = new_condition,
        None => conditions.push(new_condition),
    }
    let mut new = claim.clone();
    let status = new.as_object_mut()?.get_or_insert_with("status", || Value::object(Object::default()));
    status.as_object_mut()?.insert("conditions", conditions);
    Some(new)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protection::object;

    fn pod(volume: &str, rest: &str) -> Value {
        object(&format!(
            r#"{{"metadata":{{"namespace":"n","name":"p","uid":"u"{rest}}},"spec":{{"nodeName":"node","volumes":[{volume}]}}}}"#
        ))
    }

    fn claim(name: &str, owner: &str) -> Value {
        let owner =
            format!(r#"{{"apiVersion":"v1","kind":"Pod","name":"p","uid":"{owner}","controller":true}}"#);
        object(&format!(r#"{{"metadata":{{"namespace":"n","name":"{name}","ownerReferences":[{owner}]}}}}"#))
    }

    const NAMED: &str = r#"{"name":"v","persistentVolumeClaim":{"claimName":"c"}}"#;
    const EPHEMERAL: &str = r#"{"name":"v","ephemeral":{}}"#;
    const SHUT_DOWN: &str = r#","deletionTimestamp":"2026-01-01T00:00:00Z","deletionGracePeriodSeconds":0"#;

    #[test]
    fn pods_hold_claims_by_name_and_those_that_were_made_for_them() {
        let named = pod(NAMED, "");
        assert!(holds(&named, &claim("c", "")));
        assert!(!holds(&named, &claim("d", "")));
        let ephemeral = pod(EPHEMERAL, "");
        assert!(holds(&ephemeral, &claim("p-v", "u")));
        assert!(!holds(&ephemeral, &claim("p-v", "other")), "it is another pod's");
        assert!(holds(&pod(NAMED, SHUT_DOWN), &claim("c", "")));
        assert!(!holds(&pod(EPHEMERAL, SHUT_DOWN), &claim("p-v", "u")), "else each would wait for the other");
        assert_eq!(claims_of(&pod(&format!("{NAMED},{EPHEMERAL}"), "")), ["c", "p-v"]);
    }

    #[test]
    fn a_pod_that_is_not_on_a_node_holds_nothing() {
        let pending = object(&format!(r#"{{"metadata":{{"name":"p"}},"spec":{{"volumes":[{NAMED}]}}}}"#));
        assert!(!holds(&pending, &claim("c", "")));
        assert!(refers_to(&pending, &claim("c", "")));
    }

    #[test]
    fn a_deleted_pod_is_terminated_when_no_container_runs() {
        let with_state = |state: &str, deleted: bool| {
            let deleted = if deleted { r#""deletionTimestamp":"2026-01-01T00:00:00Z""# } else { "" };
            let statuses = format!(r#"[{{"state":{{"{state}":{{}}}}}}]"#);
            object(&format!(r#"{{"metadata":{{{deleted}}},"status":{{"containerStatuses":{statuses}}}}}"#))
        };
        assert!(is_terminated(&with_state("waiting", true)));
        assert!(!is_terminated(&with_state("running", true)));
        assert!(!is_terminated(&with_state("waiting", false)));
        assert!(is_terminated(&object(r#"{"status":{"phase":"Failed"}}"#)));
    }

    #[test]
    fn the_condition_says_since_when_a_claim_is_not_used() {
        let unused = with_use(&claim("c", ""), false, "1").expect("a condition");
        let found = condition(&unused).expect("the condition");
        assert_eq!([found.text_at(&["status"]), found.text_at(&["reason"])], ["True", "NoPodsUsingPVC"]);
        assert_eq!(with_use(&unused, false, "2"), None);
        let used = with_use(&unused, true, "3").expect("another one");
        let found = condition(&used).expect("the condition");
        assert_eq!([found.text_at(&["status"]), found.text_at(&["lastTransitionTime"])], ["False", "3"]);
        assert_eq!(used.items_at(&["status", "conditions"]).len(), 1);
        assert_eq!(with_use(&used, true, "4"), None);
    }
}
