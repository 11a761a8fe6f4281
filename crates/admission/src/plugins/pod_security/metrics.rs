//! Counts of evaluations, exemptions and errors.

use pintle_metrics::{Counter, Counters, Error, Registry};

use super::extract::Subject;
use super::labels::{LevelVersion, Version};
use crate::attributes::{Attributes, Operation};

/// The version of this server: later ones are counted together, so that clients cannot make metrics by labels of namespaces.
const CURRENT: Version = Version::Minor(36);

/// The use of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Enforce,
    Audit,
    Warn,
}

impl Mode {
    fn as_str(self) -> &'static str {
        match self {
            Mode::Enforce => "enforce",
            Mode::Audit => "audit",
            Mode::Warn => "warn",
        }
    }
}

/// The `pod_security_*` families.
pub(super) struct Metrics {
    evaluations: Counters,
    exemptions: Counters,
    errors: Counters,
    /// Creations and updates of pods that every policy allows: nearly all evaluations, so they need no lookup.
    unrestricted: [Counter; 2],
}

impl Metrics {
    pub(super) fn new(registry: &Registry) -> Result<Metrics, Error> {
        let evaluations = registry.counters(
            "pod_security_evaluations_total",
            "Evaluations of pods and workloads by Pod Security Standards.",
            &[
                "decision",
                "policy_level",
                "policy_version",
                "mode",
                "request_operation",
                "resource",
                "subresource",
            ],
        )?;
        let exemptions = registry.counters(
            "pod_security_exemptions_total",
            "Requests that are exempt from Pod Security Standards.",
            &["request_operation", "resource", "subresource"],
        )?;
        for operation in ["create", "update"] {
            for resource in ["pod", "controller"] {
                exemptions.with(&[operation, resource, ""]);
            }
        }
        let errors = registry.counters(
            "pod_security_errors_total",
            "Errors of evaluations: fatal ones, and labels in whose place the strictest level was used.",
            &["fatal", "request_operation", "resource", "subresource"],
        )?;
        let unrestricted = ["create", "update"].map(|operation| {
            evaluations.with(&["allow", "privileged", "latest", "enforce", operation, "pod", ""])
        });
        Ok(Metrics { evaluations, exemptions, errors, unrestricted })
    }

    /// Counts an allowed pod of a namespace without restrictions.
    pub(super) fn unrestricted(&self, attributes: &Attributes<'_>) {
        if !attributes.target().subresource.is_empty() {
            self.evaluation(true, LevelVersion::PRIVILEGED, Mode::Enforce, attributes);
            return;
        }
        let place = usize::from(attributes.operation == Operation::Update);
        self.unrestricted[place].inc();
    }

    /// Counts an evaluation by its outcome.
    pub(super) fn evaluation(
        &self,
        is_allowed: bool,
        policy: LevelVersion,
        mode: Mode,
        attributes: &Attributes<'_>,
    ) {
        let decision = if is_allowed { "allow" } else { "deny" };
        let version = match policy.version {
            // All versions of the privileged level are the same.
            _ if policy.is_privileged() => "latest".to_owned(),
            version @ Version::Minor(_) if version > CURRENT => "future".to_owned(),
            version => version.to_string(),
        };
        let [operation, resource, subresource] = request(attributes);
        let level = policy.level.as_str();
        let labels = [decision, level, &version, mode.as_str(), operation, resource, subresource];
        self.evaluations.with(&labels).inc();
    }

    pub(super) fn exemption(&self, attributes: &Attributes<'_>) {
        self.exemptions.with(&request(attributes)).inc();
    }

    /// Counts an error: a fatal one, or wrong labels of the namespace.
    pub(super) fn error(&self, is_fatal: bool, attributes: &Attributes<'_>) {
        let [operation, resource, subresource] = request(attributes);
        let fatal = if is_fatal { "true" } else { "false" };
        self.errors.with(&[fatal, operation, resource, subresource]).inc();
    }
}

/// Returns the values of the labels `request_operation`, `resource` and `subresource`.
fn request<'a>(attributes: &'a Attributes<'_>) -> [&'a str; 3] {
    let operation = if attributes.operation == Operation::Update { "update" } else { "create" };
    let resource = match Subject::of(attributes.target()) {
        Some(Subject::Pod) => "pod",
        Some(Subject::Namespace) => "namespace",
        Some(Subject::Workload(_)) | None => "controller",
    };
    [operation, resource, &attributes.target().subresource]
}
