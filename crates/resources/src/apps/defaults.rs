//! Defaults of controllers. The first versions of these kinds also selected by what the pods' template says.

use pintle_features::Feature;
use pintle_meta::Value;

use crate::framework::defaults::{Place, Rule};

pub(crate) const RULES: &[Rule] = &[
    Rule::code(&["apps/v1.Deployment", "apps/v1beta2.Deployment"], |deployment| {
        self::deployment(deployment, &DEPLOYMENT);
    }),
    Rule::code(&["apps/v1beta1.Deployment"], |deployment| {
        select_template(deployment);
        self::deployment(deployment, &Deployment { revisions: 2, ..DEPLOYMENT });
    }),
    Rule::code(&["extensions/v1beta1.Deployment"], |deployment| {
        select_template(deployment);
        self::deployment(deployment, &EXTENSIONS);
    }),
    Rule::code(&["apps/v1.DaemonSet", "apps/v1beta2.DaemonSet"], |set| daemon_set(set, ROLLING_UPDATE)),
    Rule::code(&["extensions/v1beta1.DaemonSet"], |set| {
        select_template(set);
        daemon_set(set, "OnDelete");
    }),
    Rule::code(&["apps/v1.StatefulSet", "apps/v1beta2.StatefulSet"], |set| {
        set.within("spec", |spec| {
            spec.within("updateStrategy", |strategy| {
                if strategy.unset("type") {
                    strategy.set("type", ROLLING_UPDATE);
                    strategy.make("rollingUpdate", |_| {});
                }
            });
        });
        stateful_set(set);
    }),
    Rule::code(&["apps/v1beta1.StatefulSet"], |set| {
        set.within("spec", |spec| {
            spec.within("updateStrategy", |strategy| strategy.default("type", "OnDelete"));
        });
        select_template(set);
        stateful_set(set);
    }),
    Rule::code(&["apps/v1.ReplicaSet", "apps/v1beta2.ReplicaSet"], replica_set),
    Rule::code(&["extensions/v1beta1.ReplicaSet"], |set| {
        select_template(set);
        replica_set(set);
    }),
];

const ROLLING_UPDATE: &str = "RollingUpdate";

/// What differs between versions.
struct Deployment {
    /// How many pods may be missing and how many too many during an update.
    slack: fn() -> Value,
    revisions: i64,
    deadline: i64,
    /// Parameters of an update are completed whatever the strategy.
    any_strategy: bool,
}

const DEPLOYMENT: Deployment =
    Deployment { slack: || Value::literal("25%"), revisions: 10, deadline: 600, any_strategy: false };

const EXTENSIONS: Deployment = Deployment {
    slack: || 1.into(),
    // As good as none.
    revisions: i32::MAX as i64,
    deadline: i32::MAX as i64,
    any_strategy: true,
};

fn deployment(deployment: &mut Place<'_>, with: &Deployment) {
    deployment.within("spec", |spec| {
        spec.default("replicas", 1);
        spec.within("strategy", |strategy| {
            strategy.default("type", ROLLING_UPDATE);
            let given = with.any_strategy && !strategy.unset("rollingUpdate");
            if given || strategy.text("type") == ROLLING_UPDATE {
                strategy.make("rollingUpdate", |update| {
                    update.default("maxUnavailable", (with.slack)());
                    update.default("maxSurge", (with.slack)());
                });
            }
        });
        spec.default("revisionHistoryLimit", with.revisions);
        spec.default("progressDeadlineSeconds", with.deadline);
    });
}

fn daemon_set(set: &mut Place<'_>, strategy: &'static str) {
    set.within("spec", |spec| {
        spec.within("updateStrategy", |update| {
            update.default("type", strategy);
            if update.text("type") == ROLLING_UPDATE {
                update.make("rollingUpdate", |update| {
                    update.default("maxUnavailable", 1);
                    update.default("maxSurge", 0);
                });
            }
        });
        spec.default("revisionHistoryLimit", 10);
    });
}

fn stateful_set(set: &mut Place<'_>) {
    set.within("spec", |spec| {
        spec.default("podManagementPolicy", "OrderedReady");
        spec.within("updateStrategy", |strategy| {
            if strategy.text("type") == ROLLING_UPDATE {
                strategy.within("rollingUpdate", |update| {
                    update.default("partition", 0);
                    if update.features().enabled(Feature::MaxUnavailableStatefulSet) {
                        update.default("maxUnavailable", 1);
                    }
                });
            }
        });
        spec.make("persistentVolumeClaimRetentionPolicy", |policy| {
            policy.default("whenDeleted", "Retain");
            policy.default("whenScaled", "Retain");
        });
        spec.default("replicas", 1);
        spec.default("revisionHistoryLimit", 10);
    });
}

fn replica_set(set: &mut Place<'_>) {
    set.within("spec", |spec| spec.default("replicas", 1));
}

/// The labels of the pods are those of the controller, and what it selects by, if nothing else was said.
fn select_template(controller: &mut Place<'_>) {
    let template = controller.get("spec").and_then(|spec| spec.at(&["template", "metadata", "labels"]));
    let Some(labels) = template.cloned() else { return };
    controller.within("spec", |spec| {
        if spec.unset("selector") {
            spec.make("selector", |selector| selector.set("matchLabels", labels.clone()));
        }
    });
    controller.within("metadata", |metadata| metadata.default("labels", labels.clone()));
}

#[cfg(test)]
mod tests {
    use pintle_features::{Feature, Features};

    use crate::framework::defaults::Settings;
    use crate::framework::defaults::tests::{check, check_with};

    /// What a template becomes of which nothing was said.
    const TEMPLATE: &str = r#""template":{"metadata":{},"spec":{"containers":null,"restartPolicy":"Always",
        "terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst","securityContext":{},
        "schedulerName":"default-scheduler"}}"#;

    #[track_caller]
    fn check_spec(kind: &str, input: &str, expected: &str) {
        check_spec_with(&Settings::default(), kind, input, expected);
    }

    #[track_caller]
    fn check_spec_with(settings: &Settings, kind: &str, input: &str, expected: &str) {
        let status = match kind.rsplit('.').next() {
            Some("DaemonSet") => {
                r#"{"currentNumberScheduled":0,"numberMisscheduled":0,"desiredNumberScheduled":0,"numberReady":0}"#
            }
            Some("ReplicaSet") => r#"{"replicas":0}"#,
            Some("StatefulSet") => r#"{"replicas":0,"availableReplicas":0}"#,
            _ => "{}",
        };
        let expected = format!(r#"{{"metadata":{{}},"spec":{{{TEMPLATE},{expected}}},"status":{status}}}"#);
        check_with(settings, kind, &format!(r#"{{"spec":{{{input}}}}}"#), &expected);
    }

    #[test]
    fn deployments_roll_out_a_quarter_at_a_time() {
        let rest = r#""selector":null,"replicas":1,"revisionHistoryLimit":10,"progressDeadlineSeconds":600"#;
        for kind in ["apps/v1.Deployment", "apps/v1beta2.Deployment"] {
            let quarter =
                r#"{"type":"RollingUpdate","rollingUpdate":{"maxUnavailable":"25%","maxSurge":"25%"}}"#;
            check_spec(kind, "", &format!(r#"{rest},"strategy":{quarter}"#));
            check_spec(
                kind,
                r#""strategy":{"rollingUpdate":{"maxSurge":0}}"#,
                &format!(
                    r#"{rest},"strategy":{{"type":"RollingUpdate","rollingUpdate":{{"maxUnavailable":"25%","maxSurge":0}}}}"#
                ),
            );
            check_spec(
                kind,
                r#""strategy":{"type":"Recreate"}"#,
                &format!(r#"{rest},"strategy":{{"type":"Recreate"}}"#),
            );
            check_spec(
                kind,
                r#""strategy":{"type":"Recreate"},"replicas":0,"revisionHistoryLimit":0,"progressDeadlineSeconds":0"#,
                r#""selector":null,"strategy":{"type":"Recreate"},"replicas":0,"revisionHistoryLimit":0,
                    "progressDeadlineSeconds":0"#,
            );
        }
    }

    #[test]
    fn daemon_sets_update_one_pod_at_a_time() {
        for kind in ["apps/v1.DaemonSet", "apps/v1beta2.DaemonSet"] {
            check_spec(
                kind,
                "",
                r#""selector":null,"revisionHistoryLimit":10,
                    "updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"maxUnavailable":1,"maxSurge":0}}"#,
            );
            check_spec(
                kind,
                r#""updateStrategy":{"type":"OnDelete"},"revisionHistoryLimit":1"#,
                r#""selector":null,"revisionHistoryLimit":1,"updateStrategy":{"type":"OnDelete"}"#,
            );
        }
    }

    #[test]
    fn stateful_sets_are_completed() {
        let rest = r#""selector":null,"serviceName":"","replicas":1,"revisionHistoryLimit":10,
            "podManagementPolicy":"OrderedReady",
            "persistentVolumeClaimRetentionPolicy":{"whenDeleted":"Retain","whenScaled":"Retain"}"#;
        for kind in ["apps/v1.StatefulSet", "apps/v1beta2.StatefulSet"] {
            let rolling = |more: &str| {
                format!(
                    r#"{rest},"updateStrategy":{{"type":"RollingUpdate","rollingUpdate":{{"partition":0{more}}}}}"#
                )
            };
            check_spec(kind, "", &rolling(""));
            // Who names the strategy but not its parameters gets none.
            check_spec(
                kind,
                r#""updateStrategy":{"type":"RollingUpdate"}"#,
                &format!(r#"{rest},"updateStrategy":{{"type":"RollingUpdate"}}"#),
            );
            check_spec(kind, r#""updateStrategy":{"type":"RollingUpdate","rollingUpdate":{}}"#, &rolling(""));
            check_spec(
                kind,
                r#""updateStrategy":{"type":"OnDelete"}"#,
                &format!(r#"{rest},"updateStrategy":{{"type":"OnDelete"}}"#),
            );
            let features = Features::default().with(Feature::MaxUnavailableStatefulSet, true);
            let settings = Settings { features, ..Settings::default() };
            check_spec_with(&settings, kind, "", &rolling(r#","maxUnavailable":1"#));
        }
        check_spec(
            "apps/v1.StatefulSet",
            r#""persistentVolumeClaimRetentionPolicy":{"whenScaled":"Delete"},"updateStrategy":{"type":"OnDelete"},
                "volumeClaimTemplates":[{}]"#,
            r#""selector":null,"serviceName":"","replicas":1,"revisionHistoryLimit":10,
                "podManagementPolicy":"OrderedReady","updateStrategy":{"type":"OnDelete"},
                "persistentVolumeClaimRetentionPolicy":{"whenDeleted":"Retain","whenScaled":"Delete"},
                "volumeClaimTemplates":[{"metadata":{},"spec":{"resources":{},"volumeMode":"Filesystem"},
                    "status":{"phase":"Pending"}}]"#,
        );
    }

    #[test]
    fn replica_sets_have_one_replica() {
        for kind in ["apps/v1.ReplicaSet", "apps/v1beta2.ReplicaSet"] {
            check_spec(kind, "", r#""selector":null,"replicas":1"#);
            check_spec(kind, r#""replicas":0"#, r#""selector":null,"replicas":0"#);
        }
    }

    /// Of a kind that takes after its template's labels.
    #[track_caller]
    fn check_selecting(kind: &str, expected: &str, status: &str) {
        let template = TEMPLATE.replace(r#""metadata":{}"#, r#""metadata":{"labels":{"a":"b"}}"#);
        check(
            kind,
            r#"{"spec":{"template":{"metadata":{"labels":{"a":"b"}}}}}"#,
            &format!(
                r#"{{"metadata":{{"labels":{{"a":"b"}}}},"spec":{{{template},"selector":{{"matchLabels":{{"a":"b"}}}},{expected}}},
                    "status":{status}}}"#
            ),
        );
        check(
            kind,
            r#"{"metadata":{"labels":{"c":"d"}},"spec":{"selector":{},"template":{"metadata":{"labels":{"a":"b"}}}}}"#,
            &format!(
                r#"{{"metadata":{{"labels":{{"c":"d"}}}},"spec":{{{template},"selector":{{}},{expected}}},"status":{status}}}"#
            ),
        );
    }

    #[test]
    fn the_first_versions_take_after_their_template() {
        check_selecting(
            "apps/v1beta1.Deployment",
            r#""replicas":1,"revisionHistoryLimit":2,"progressDeadlineSeconds":600,
                "strategy":{"type":"RollingUpdate","rollingUpdate":{"maxUnavailable":"25%","maxSurge":"25%"}}"#,
            "{}",
        );
        check_selecting(
            "extensions/v1beta1.Deployment",
            r#""replicas":1,"revisionHistoryLimit":2147483647,"progressDeadlineSeconds":2147483647,
                "strategy":{"type":"RollingUpdate","rollingUpdate":{"maxUnavailable":1,"maxSurge":1}}"#,
            "{}",
        );
        check_selecting(
            "apps/v1beta1.StatefulSet",
            r#""serviceName":"","replicas":1,"revisionHistoryLimit":10,"podManagementPolicy":"OrderedReady",
                "updateStrategy":{"type":"OnDelete"},
                "persistentVolumeClaimRetentionPolicy":{"whenDeleted":"Retain","whenScaled":"Retain"}"#,
            r#"{"replicas":0,"availableReplicas":0}"#,
        );
        check_selecting("extensions/v1beta1.ReplicaSet", r#""replicas":1"#, r#"{"replicas":0}"#);
        check_selecting(
            "extensions/v1beta1.DaemonSet",
            r#""revisionHistoryLimit":10,"updateStrategy":{"type":"OnDelete"}"#,
            r#"{"currentNumberScheduled":0,"numberMisscheduled":0,"desiredNumberScheduled":0,"numberReady":0}"#,
        );
    }
}
