//! Restart policies of containers, and rules that depend on exit codes.

use super::super::Options;
use crate::framework::validation::Cursor;

const MAX_RULES: usize = 20;
const MAX_EXIT_CODES: usize = 255;

/// Checks policy and rules of an init container. One that restarts always is a sidecar.
pub(super) fn init_policy(container: &Cursor<'_, '_>, options: &Options) {
    let (policy, rules) = (container.field("restartPolicy"), container.field("restartPolicyRules"));
    if !policy.is_set() {
        if !rules.is_empty() {
            policy.required("must specify restartPolicy when restart rules are used");
        }
        return;
    }
    let is_sidecar = policy.text() == "Always";
    if !options.allow_container_restart_rules {
        if !is_sidecar {
            policy.one_of(&["Always"]);
        }
    } else if !is_sidecar || options.allow_restart_all_containers {
        self::policy(container, options);
    } else if !rules.is_empty() {
        rules.forbidden("restartPolicyRules are not allowed for init containers with restart policy Always");
    }
}

/// Checks policy and rules of a container.
pub(super) fn policy(container: &Cursor<'_, '_>, options: &Options) {
    let (policy, rules) = (container.field("restartPolicy"), container.field("restartPolicyRules"));
    if policy.is_set() {
        policy.one_of(&["Always", "Never", "OnFailure"]);
    } else if !rules.is_empty() {
        policy.required("must specify restartPolicy when restart rules are used");
    }
    if rules.len() > MAX_RULES {
        rules.too_many(MAX_RULES);
    }
    for rule in rules.items() {
        let actions: &[&str] = if options.allow_restart_all_containers {
            &["Restart", "RestartAllContainers"]
        } else {
            &["Restart"]
        };
        rule.field("action").one_of(actions);
        let codes = rule.field("exitCodes");
        if codes.is_set() {
            codes.field("operator").one_of(&["In", "NotIn"]);
            if codes.field("values").len() > MAX_EXIT_CODES {
                codes.field("values").too_many(MAX_EXIT_CODES);
            }
        } else {
            codes.required("must be specified");
        }
    }
}
