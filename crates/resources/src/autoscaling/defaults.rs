//! Defaults of autoscalers. The metric that `autoscaling/v1` assumes is added by its conversion, which sees the annotations.

use pintle_meta::Value;

use crate::framework::defaults::{Draft, Rule};

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

fn min_replicas(autoscaler: &mut Draft<'_>) {
    autoscaler.within("spec", |spec| spec.default("minReplicas", 1));
}

fn metrics(spec: &mut Draft<'_>) {
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
fn behavior(behavior: &mut Draft<'_>) {
    behavior.make("scaleUp", |rules| {
        rules.default("stabilizationWindowSeconds", 0);
        scaling_rules(rules, &[("Pods", 4), ("Percent", 100)]);
    });
    behavior.make("scaleDown", |rules| scaling_rules(rules, &[("Percent", 100)]));
}

fn scaling_rules(rules: &mut Draft<'_>, policies: &[(&'static str, i64)]) {
    const PERIOD_SECONDS: i64 = 15;
    rules.default("selectPolicy", "Max");
    // An empty list stays, for validation to refuse it.
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

#[cfg(test)]
mod tests {
    use crate::framework::defaults::tests::check;

    const METRICS: &str = r#""metrics":[{"type":"Resource","resource":{"name":"cpu",
        "target":{"type":"Utilization","averageUtilization":80}}}]"#;

    #[track_caller]
    fn check_spec(input: &str, expected: &str) {
        check(
            "autoscaling/v2.HorizontalPodAutoscaler",
            &format!(r#"{{"spec":{{{input}}}}}"#),
            &format!(
                r#"{{"metadata":{{}},"spec":{{"scaleTargetRef":{{"kind":"","name":""}},"maxReplicas":0,{expected}}},
                    "status":{{"desiredReplicas":0,"currentMetrics":null}}}}"#
            ),
        );
    }

    #[test]
    fn the_first_version_has_at_least_one_replica() {
        check(
            "autoscaling/v1.HorizontalPodAutoscaler",
            "{}",
            r#"{"metadata":{},"spec":{"scaleTargetRef":{"kind":"","name":""},"minReplicas":1,"maxReplicas":0},
                "status":{"currentReplicas":0,"desiredReplicas":0}}"#,
        );
    }

    #[test]
    fn processors_are_measured_if_nothing_is_said() {
        check_spec("", &format!(r#""minReplicas":1,{METRICS}"#));
        check_spec(r#""minReplicas":0"#, &format!(r#""minReplicas":0,{METRICS}"#));
        let other = r#""metrics":[{"type":"External"}]"#;
        check_spec(other, &format!(r#""minReplicas":1,{other}"#));
    }

    #[test]
    fn behavior_is_completed_in_both_directions_if_there_is_one() {
        let up = r#"{"stabilizationWindowSeconds":0,"selectPolicy":"Max","policies":[
            {"type":"Pods","value":4,"periodSeconds":15},{"type":"Percent","value":100,"periodSeconds":15}]}"#;
        let down = r#"{"selectPolicy":"Max","policies":[{"type":"Percent","value":100,"periodSeconds":15}]}"#;
        check_spec(
            r#""behavior":{}"#,
            &format!(r#""minReplicas":1,{METRICS},"behavior":{{"scaleUp":{up},"scaleDown":{down}}}"#),
        );
        check_spec(
            r#""behavior":{"scaleDown":{"stabilizationWindowSeconds":60,"tolerance":"100m"},
                "scaleUp":{"selectPolicy":"Disabled","policies":[{"type":"Pods","value":1,"periodSeconds":1}]}}"#,
            &format!(
                r#""minReplicas":1,{METRICS},"behavior":{{
                    "scaleUp":{{"stabilizationWindowSeconds":0,"selectPolicy":"Disabled",
                        "policies":[{{"type":"Pods","value":1,"periodSeconds":1}}]}},
                    "scaleDown":{{"stabilizationWindowSeconds":60,"selectPolicy":"Max","tolerance":"100m",
                        "policies":[{{"type":"Percent","value":100,"periodSeconds":15}}]}}}}"#
            ),
        );
    }
}
