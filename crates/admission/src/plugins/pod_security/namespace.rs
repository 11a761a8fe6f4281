//! Writes of namespaces: their labels must be valid, and pods that exist are evaluated when a level becomes stricter.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use pintle_meta::field_path::Error;
use pintle_meta::{Status, Value, quote};
use pintle_runtime::Clock;

use super::PodSecurity;
use super::checks::Pod;
use super::configuration::Exemptions;
use super::evaluate::evaluate;
use super::labels::{Labels, LevelVersion, Policy};
use crate::Result;
use crate::attributes::{Attributes, Operation};

/// The number of pods of a namespace that are evaluated, and the time for them.
const MOST_PODS: usize = 3000;
const MOST_TIME: Duration = Duration::from_secs(1);

impl PodSecurity {
    /// Rejects a namespace with invalid labels, unless they were invalid in the same way before, and warns about pods that
    /// violate its new policy.
    pub(super) async fn validate_namespace(&self, attributes: &Attributes<'_>) -> Result<()> {
        let Some(namespace) = attributes.object() else { return Ok(()) };
        let defaults = &self.configuration.defaults;
        let labels = Labels::of(namespace.labels());
        let (policy, errors) = labels.policy(defaults);
        // Both verbs of the reference have the name of a namespace as its namespace too.
        let name = attributes.name();
        if attributes.operation == Operation::Create {
            if !errors.is_empty() {
                return Err(invalid(attributes, &errors));
            }
            self.warn_of_exemption(attributes, &labels, &policy);
            return Ok(());
        }
        let Some(old) = attributes.old_object() else { return Ok(()) };
        let (old_policy, old_errors) = Labels::of(old.labels()).policy(defaults);
        if !errors.is_empty() && errors != old_errors {
            return Err(invalid(attributes, &errors));
        }
        let (new, old) = (policy.enforce, old_policy.enforce);
        let is_relaxed = new.version == old.version && new.level <= old.level;
        if new == old || new.is_privileged() || is_relaxed {
            return Ok(());
        }
        if self.configuration.exemptions.has_namespace(name) {
            self.warn_of_exemption(attributes, &labels, &policy);
            return Ok(());
        }
        for warning in self.warnings_of_pods(name, new).await {
            attributes.request.notes.warn(warning);
        }
        Ok(())
    }

    /// Warns if an exempt namespace has labels that would restrict its pods.
    fn warn_of_exemption(&self, attributes: &Attributes<'_>, labels: &Labels<'_>, policy: &Policy) {
        let name = attributes.name();
        let is_exempt = self.configuration.exemptions.has_namespace(name);
        if !is_exempt || policy.is_privileged() || policy.is_equivalent(&self.configuration.defaults) {
            return;
        }
        let modes = [
            ("enforce", policy.enforce, labels.enforce.or(labels.enforce_version)),
            ("audit", policy.audit, labels.audit.or(labels.audit_version)),
            ("warn", policy.warn, labels.warn.or(labels.warn_version)),
        ];
        let shown = modes.iter().filter(|(_, mode, label)| !mode.is_privileged() && label.is_some());
        let shown: Vec<String> = shown.map(|(mode, policy, _)| format!("{mode}={policy}")).collect();
        attributes.request.notes.warn(format!(
            "namespace {} is exempt from Pod Security, and the policy ({}) will be ignored",
            quote(name),
            shown.join(", ")
        ));
    }

    /// Returns the warnings about pods of a namespace that violate a policy, which stay as they are.
    async fn warnings_of_pods(&self, namespace: &str, policy: LevelVersion) -> Vec<String> {
        let Some(store) = &self.pods else { return Vec::new() };
        let entries = match store.entries_cached(namespace).await {
            Ok(entries) => entries,
            Err(status) => {
                tracing::error!(namespace, error = %status.message, "failed to list pods");
                return vec!["failed to list pods while checking new PodSecurity enforce level".to_owned()];
            }
        };
        // Known to be long, so it need not be tried on a thread of the runtime.
        pintle_work::aside(entries.iter().map(|entry| entry.stored().len()).sum()).await;
        let pods = Existing { entries: &entries, decode: |entry: &Arc<_>| store.object(entry).ok() };
        let exemptions = &self.configuration.exemptions;
        let report = pintle_work::run(|| pods.evaluate(policy, exemptions, &self.clock)).await;
        report.warnings(namespace, policy)
    }
}

fn invalid(attributes: &Attributes<'_>, errors: &[Error]) -> Box<Status> {
    let kind = &attributes.target().kind;
    Box::new(Status::invalid(&kind.group, &kind.kind, attributes.name(), errors))
}

/// The pods of a namespace, which are decoded one after the other: a namespace may have very many.
pub(super) struct Existing<'e, E, D> {
    pub(super) entries: &'e [E],
    /// Decodes a pod; `None` if it cannot be read.
    pub(super) decode: D,
}

/// Pods that have the same violations.
#[derive(Debug, PartialEq, Eq)]
struct Group {
    /// The first name in the order of the alphabet.
    name: String,
    count: usize,
}

/// The result of an evaluation of many pods.
#[derive(Debug, Default)]
pub(super) struct Report {
    total: usize,
    evaluated: usize,
    /// By reasons.
    groups: HashMap<String, Group>,
}

impl<E, D: Fn(&E) -> Option<Value>> Existing<'_, E, D> {
    /// Evaluates pods until the limits are reached. Of the pods of one controller, which are mostly alike, the first one comes
    /// before the others.
    pub(super) fn evaluate(&self, policy: LevelVersion, exemptions: &Exemptions, clock: &Clock) -> Report {
        let deadline = clock.instant() + MOST_TIME;
        let mut report = Report::default();
        let (mut controllers, mut replicas) = (HashSet::new(), Vec::new());
        let mut is_over = false;
        for (place, entry) in self.entries.iter().enumerate() {
            let is_counted = report.evaluated == MOST_PODS && !exemptions.has_runtime_classes();
            if is_over || is_counted {
                // The rest is not decoded. Pods of exempt classes among them count too.
                report.total += self.entries.len() - place;
                break;
            }
            pintle_work::check_now();
            let Some(pod) = (self.decode)(entry) else { continue };
            if exemptions.has_runtime_class(Pod::new(&pod).runtime_class()) {
                continue;
            }
            report.total += 1;
            if controller(&pod).is_some_and(|uid| !controllers.insert(uid.to_owned())) {
                replicas.push(entry);
            } else if report.evaluated < MOST_PODS {
                report.add(policy, &pod);
            }
            is_over = clock.instant() >= deadline;
        }
        for entry in replicas {
            if is_over || report.evaluated == MOST_PODS {
                break;
            }
            pintle_work::check_now();
            let Some(pod) = (self.decode)(entry) else { continue };
            report.add(policy, &pod);
            is_over = clock.instant() >= deadline;
        }
        report
    }
}

/// Returns the UID of the controller of a pod.
fn controller(pod: &Value) -> Option<&str> {
    let is_controller = |owner: &&Value| owner.get("controller").and_then(Value::as_bool) == Some(true);
    pod.owner_references().iter().find(is_controller).map(|owner| owner.text_at(&["uid"]))
}

impl Report {
    /// Evaluates a pod.
    fn add(&mut self, policy: LevelVersion, pod: &Value) {
        self.evaluated += 1;
        let verdict = evaluate(policy, &Pod::new(pod));
        if verdict.is_allowed() {
            return;
        }
        let name = pod.name();
        let group = self.groups.entry(verdict.reasons());
        let group = group.or_insert_with(|| Group { name: name.to_owned(), count: 0 });
        group.count += 1;
        if name < group.name.as_str() {
            name.clone_into(&mut group.name);
        }
    }

    /// Returns the warnings: how many pods were evaluated if not all, and one for each group of pods.
    pub(super) fn warnings(self, namespace: &str, policy: LevelVersion) -> Vec<String> {
        let Report { total, evaluated, groups } = self;
        let mut warnings = Vec::new();
        if evaluated < total {
            warnings.push(format!(
                "new PodSecurity enforce level only checked against the first {evaluated} of {total} existing pods"
            ));
        }
        if !groups.is_empty() {
            warnings.push(format!(
                "existing pods in namespace {} violate the new PodSecurity enforce level {}",
                quote(namespace),
                quote(&policy.to_string())
            ));
        }
        let of_group = |(reasons, Group { name, count }): (String, Group)| match count {
            1 => format!("{name}: {reasons}"),
            2 => format!("{name} (and 1 other pod): {reasons}"),
            _ => format!("{name} (and {} other pods): {reasons}", count - 1),
        };
        let mut of_groups: Vec<String> = groups.into_iter().map(of_group).collect();
        of_groups.sort_unstable();
        warnings.extend(of_groups);
        warnings
    }
}

#[cfg(test)]
#[path = "namespace_tests.rs"]
mod tests;
