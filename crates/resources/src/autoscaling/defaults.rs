//! Defaults of autoscalers. The metric that `autoscaling/v1` assumes is added by its conversion, which sees the annotations.

use pintle_meta::Value;

use crate::defaults::{Place, Rule};

pub(crate) const RULES: &[Rule] = &[
    Rule::code(&["autoscaling/v1.HorizontalPodAutoscaler"], min_replicas),
    Rule::code(&["autoscaling/v2.HorizontalPodAutoscaler"], |autoscaler| {
        min_replicas(autoscaler);
        autoscaler.within("spec", |spec| {
            metrics(spec);
            spec.within("behavior", behavior);
        });
    }),
];

/// Of the processors that pods request.
const CPU_PERCENT: i64 = 80;

fn min_replicas(autoscaler: &mut Place<'_>) {
    autoscaler.within("spec", |spec| spec.default("minReplicas", 1));
}

fn metrics(spec: &mut Place<'_>) {
    if !spec.items("metrics").is_empty() {
        return;
    }
    let metric = spec.build("metrics", [("type", "Resource".into())]);
    spec.set("metrics", vec![metric]);
    spec.each("metrics", |metric| {
        metric.make("resource", |resource| {
            resource.set("name", "cpu");
            resource.within("target", |target| {
                target.set("type", "Utilization");
                target.set("averageUtilization", CPU_PERCENT);
            });
        });
    });
}

/// Where one direction is configured, both are completed. How long to wait before scaling down is a setting of the
/// controller.
fn behavior(behavior: &mut Place<'_>) {
    behavior.make("scaleUp", |rules| {
        rules.default("stabilizationWindowSeconds", 0);
        scaling_rules(rules, &[("Pods", 4), ("Percent", 100)]);
    });
    behavior.make("scaleDown", |rules| scaling_rules(rules, &[("Percent", 100)]));
}

fn scaling_rules(rules: &mut Place<'_>, policies: &[(&'static str, i64)]) {
    const PERIOD_SECONDS: i64 = 15;
    rules.default("selectPolicy", "Max");
    if rules.unset("policies") {
        let policy = |(kind, value): &(&'static str, i64)| {
            let fields = [
                ("type", Value::literal(kind)),
                ("value", (*value).into()),
                ("periodSeconds", PERIOD_SECONDS.into()),
            ];
            rules.build("policies", fields)
        };
        let policies: Vec<_> = policies.iter().map(policy).collect();
        rules.set("policies", policies);
    }
}
