//! Defaults of controllers. The first versions of these kinds also selected by what the pods' template says.

use pintle_meta::Value;

use crate::defaults::{Place, Rule};

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
                    if update.gates().max_unavailable_stateful_set {
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
