//! The status of ValidatingAdmissionPolicies: warnings of type checking.
//!
//! kube-controller-manager has the same controller. Where both run, they write the same status as the same field manager, so
//! either may be first.

use std::sync::Arc;

use async_trait::async_trait;
use pintle_codec::json;
use pintle_meta::{Reason, Status, Value};
use pintle_registry::{Client, ObjectIdentity, Result};

use crate::runtime::{Controller, Key, Requeue, Source};

/// The field manager of the status.
const MANAGER: &str = "validatingadmissionpolicy-status";

/// Bytes of warnings that a status may have; further expressions are left out.
const MOST_WARNINGS: usize = 512 << 10;

/// A warning about an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyWarning {
    /// `spec.validations[0].expression`.
    pub field: String,
    pub warning: String,
}

/// Checks the expressions of policies.
#[async_trait]
pub trait PolicyTypeChecker: Send + Sync + 'static {
    /// Returns what is wrong with the types in a policy's expressions.
    async fn warnings(&self, policy: &Value) -> Vec<PolicyWarning>;
}

/// Checks each policy once per generation.
pub struct ValidatingPolicyStatus {
    policies: Client,
    checker: Arc<dyn PolicyTypeChecker>,
}

impl ValidatingPolicyStatus {
    /// `policies` writes their status.
    pub fn new(policies: Client, checker: Arc<dyn PolicyTypeChecker>) -> ValidatingPolicyStatus {
        let policies = policies.through(policies.store().clone(), "status", MANAGER);
        ValidatingPolicyStatus { policies, checker }
    }

    async fn check(&self, policy: &Value) -> Result<()> {
        let generation = policy.generation();
        let observed = policy.at(&["status", "observedGeneration"]).and_then(Value::as_i64);
        if generation <= observed.unwrap_or_default() {
            return Ok(());
        }
        let status = status(policy.name(), generation, &self.checker.warnings(policy).await);
        let status = json::decode_untyped(&status).map_err(|error| Box::new(Status::internal(error)))?.value;
        match self.policies.apply("", &ObjectIdentity::of(policy), &status).await {
            // It was deleted, replaced or changed, which the informer sees.
            Err(status) if matches!(status.reason, Reason::NotFound | Reason::Conflict) => Ok(()),
            written => written.map(drop),
        }
    }
}

/// Returns the JSON of the configuration to apply.
fn status(name: &str, generation: i64, warnings: &[PolicyWarning]) -> Vec<u8> {
    let mut text = br#"{"kind":"ValidatingAdmissionPolicy","apiVersion":"admissionregistration.k8s.io/v1","metadata":{"name":"#
        .to_vec();
    json::write::string(name, &mut text);
    text.extend_from_slice(
        format!(r#"}},"status":{{"observedGeneration":{generation},"typeChecking":{{"#).as_bytes(),
    );
    let mut size = 0;
    for (index, PolicyWarning { field, warning }) in warnings.iter().enumerate() {
        size += field.len() + warning.len();
        if size > MOST_WARNINGS && index > 0 {
            break;
        }
        text.extend_from_slice(if index == 0 { b"\"expressionWarnings\":[" } else { b"," });
        text.extend_from_slice(b"{\"fieldRef\":");
        json::write::string(field, &mut text);
        text.extend_from_slice(b",\"warning\":");
        json::write::string(warning, &mut text);
        text.push(b'}');
    }
    text.extend_from_slice(if warnings.is_empty() { b"}}}" } else { b"]}}}" });
    text
}

#[async_trait]
impl Controller for ValidatingPolicyStatus {
    fn name(&self) -> &'static str {
        "validatingadmissionpolicy-status"
    }

    fn sources(&self) -> Vec<Source> {
        let keys = |entry: &pintle_cache::Entry, deleted: bool| (!deleted).then(|| Key::from(entry.key()));
        vec![Source::informer(self.policies.store().clone(), keys)]
    }

    async fn reconcile(&self, key: &str) -> Result<Requeue> {
        if let Some(policy) = self.policies.cached("", key) {
            self.check(&policy).await?;
        }
        Ok(Requeue::Never)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(warnings: &[(&str, &str)]) -> String {
        let warnings: Vec<_> = warnings
            .iter()
            .map(|(field, warning)| PolicyWarning { field: (*field).into(), warning: (*warning).into() })
            .collect();
        let text = String::from_utf8(status("p", 3, &warnings)).unwrap();
        text.split_once(r#""status":"#).unwrap().1.to_owned()
    }

    #[test]
    fn a_status_has_the_generation_and_the_warnings() {
        assert_eq!(written(&[]), r#"{"observedGeneration":3,"typeChecking":{}}}"#);
        assert_eq!(
            written(&[("a", "x\n\"y\""), ("b", "z")]),
            r#"{"observedGeneration":3,"typeChecking":{"expressionWarnings":[{"fieldRef":"a","warning":"x\n\"y\""},{"fieldRef":"b","warning":"z"}]}}}"#
        );
    }

    #[test]
    fn the_size_of_a_status_is_bounded() {
        let long = "x".repeat(MOST_WARNINGS - 100);
        let text = written(&[("a", &long), ("b", &long), ("c", "")]);
        assert!(text.len() < MOST_WARNINGS + 200 && text.ends_with("\"}]}}}"), "{}", text.len());
    }
}
