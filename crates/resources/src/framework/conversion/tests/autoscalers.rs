//! Autoscalers and their annotations.

use super::*;

fn v1(annotations: &str, spec: &str, status: &str) -> String {
    format!(
        r#"{{"kind":"HorizontalPodAutoscaler","apiVersion":"autoscaling/v1","metadata":{{"name":"h"{annotations}}},
        "spec":{{"scaleTargetRef":{{"kind":"D","name":"d"}},"maxReplicas":3{spec}}},
        "status":{{"currentReplicas":1,"desiredReplicas":2{status}}}}}"#
    )
}

fn v2(spec: &str, status: &str) -> String {
    format!(
        r#"{{"kind":"HorizontalPodAutoscaler","apiVersion":"autoscaling/v2","metadata":{{"name":"h"}},
        "spec":{{"scaleTargetRef":{{"kind":"D","name":"d"}},"maxReplicas":3{spec}}},
        "status":{{"currentReplicas":1,"desiredReplicas":2{status}}}}}"#
    )
}

/// Annotations with one of the four that conversions make; `json` is its text.
fn annotation(name: &str, json: &str) -> String {
    let text = serde_json::to_string(json).unwrap();
    format!(r#","annotations":{{"autoscaling.alpha.kubernetes.io/{name}":{text}}}"#)
}

const CPU: &str = r#"{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":50}}}"#;

#[test]
fn a_percentage_is_a_metric() {
    check_both(
        &v1("", r#","targetCPUUtilizationPercentage":50"#, ""),
        &v2(&format!(r#","metrics":[{CPU}]"#), ""),
    );
}

#[test]
fn without_any_metric_the_target_is_eighty_percent() {
    let metrics = format!(r#","metrics":[{}]"#, CPU.replace("50", "80"));
    check(&v1("", "", ""), "autoscaling/v2.HorizontalPodAutoscaler", &v2(&metrics, ""));
    // Annotations that cannot be read do not count.
    let broken = v1(&annotation("metrics", "[{\"type\":5}]"), "", "");
    check(&broken, "autoscaling/v2.HorizontalPodAutoscaler", &v2(&metrics, ""));
}

#[test]
fn other_metrics_are_in_an_annotation_before_the_percentage() {
    let flat = concat!(
        r#"[{"type":"Pods","pods":{"metricName":"m","targetAverageValue":"5","selector":{"matchLabels":{"a":"b"}}}},"#,
        r#"{"type":"Object","object":{"target":{"kind":"K","name":"n"},"metricName":"m","targetValue":"0","averageValue":"2"}},"#,
        r#"{"type":"Object","object":{"target":{"kind":"K","name":"n"},"metricName":"m","targetValue":"7"}},"#,
        r#"{"type":"Resource","resource":{"name":"memory","targetAverageValue":"1Gi"}},"#,
        r#"{"type":"ContainerResource","containerResource":{"name":"cpu","targetAverageUtilization":6,"container":"c"}},"#,
        r#"{"type":"External","external":{"metricName":"e","targetValue":"8"}},"#,
        r#"{"type":"External","external":{"metricName":"e","targetAverageValue":"9"}}]"#,
    );
    let deep = format!(
        r#","metrics":[
        {{"type":"Pods","pods":{{"metric":{{"name":"m","selector":{{"matchLabels":{{"a":"b"}}}}}},
            "target":{{"type":"AverageValue","averageValue":"5"}}}}}},
        {{"type":"Object","object":{{"describedObject":{{"kind":"K","name":"n"}},
            "target":{{"type":"AverageValue","averageValue":"2"}},"metric":{{"name":"m"}}}}}},
        {{"type":"Object","object":{{"describedObject":{{"kind":"K","name":"n"}},
            "target":{{"type":"Value","value":"7"}},"metric":{{"name":"m"}}}}}},
        {{"type":"Resource","resource":{{"name":"memory","target":{{"type":"AverageValue","averageValue":"1Gi"}}}}}},
        {{"type":"ContainerResource","containerResource":{{"name":"cpu",
            "target":{{"type":"Utilization","averageUtilization":6}},"container":"c"}}}},
        {{"type":"External","external":{{"metric":{{"name":"e"}},"target":{{"type":"Value","value":"8"}}}}}},
        {{"type":"External","external":{{"metric":{{"name":"e"}},"target":{{"type":"AverageValue","averageValue":"9"}}}}}},
        {CPU}]"#
    );
    check_both(
        &v1(&annotation("metrics", flat), r#","targetCPUUtilizationPercentage":50"#, ""),
        &v2(&deep, ""),
    );
}

#[test]
fn what_was_measured_is_in_an_annotation_beside_the_percentage() {
    let flat = concat!(
        r#"[{"type":"Resource","resource":{"name":"cpu","currentAverageUtilization":4,"currentAverageValue":"10m"}},"#,
        r#"{"type":"Pods","pods":{"metricName":"m","currentAverageValue":"5"}},"#,
        r#"{"type":"Object","object":{"target":{"kind":"K","name":"n"},"metricName":"m","currentValue":"7","averageValue":"2"}},"#,
        r#"{"type":"External","external":{"metricName":"e","currentValue":"8","currentAverageValue":"3"}}]"#,
    );
    let deep = r#","currentMetrics":[
        {"type":"Resource","resource":{"name":"cpu","current":{"averageValue":"10m","averageUtilization":4}}},
        {"type":"Pods","pods":{"metric":{"name":"m"},"current":{"averageValue":"5"}}},
        {"type":"Object","object":{"metric":{"name":"m"},"current":{"value":"7","averageValue":"2"},
            "describedObject":{"kind":"K","name":"n"}}},
        {"type":"External","external":{"metric":{"name":"e"},"current":{"value":"8","averageValue":"3"}}}]"#;
    check_both(
        &v1(
            &annotation("current-metrics", flat),
            r#","targetCPUUtilizationPercentage":50"#,
            r#","currentCPUUtilizationPercentage":4"#,
        ),
        &v2(&format!(r#","metrics":[{CPU}]"#), deep),
    );
}

#[test]
fn conditions_are_in_an_annotation() {
    let conditions = r#"[{"type":"AbleToScale","status":"True","lastTransitionTime":"2020-01-02T03:04:05Z","reason":"<r>"}]"#;
    let escaped = conditions.replace('<', "\\u003c").replace('>', "\\u003e");
    check_both(
        &v1(&annotation("conditions", &escaped), r#","targetCPUUtilizationPercentage":50"#, ""),
        &v2(
            &format!(r#","metrics":[{CPU}]"#),
            &format!(r#","currentMetrics":null,"conditions":{conditions}"#),
        ),
    );
}

#[test]
fn the_behavior_is_in_an_annotation_under_the_names_of_gos_fields() {
    let internal = concat!(
        r#"{"ScaleUp":{"StabilizationWindowSeconds":5,"SelectPolicy":"Max","#,
        r#""Policies":[{"Type":"Pods","Value":4,"PeriodSeconds":15}],"Tolerance":"100m"},"ScaleDown":null}"#,
    );
    let spec = format!(
        r#","metrics":[{CPU}],"behavior":{{"scaleUp":{{"stabilizationWindowSeconds":5,"selectPolicy":"Max",
        "policies":[{{"type":"Pods","value":4,"periodSeconds":15}}],"tolerance":"100m"}}}}"#
    );
    let percent = r#","targetCPUUtilizationPercentage":50"#;
    check_both(&v1(&annotation("behavior", internal), percent, ""), &v2(&spec, ""));
    // Go reads it in any case.
    let lower = internal.replace("ScaleUp", "scaleUp").replace("PeriodSeconds", "periodseconds");
    let to = "autoscaling/v2.HorizontalPodAutoscaler";
    check(&v1(&annotation("behavior", &lower), percent, ""), to, &v2(&spec, ""));
    // And not at all if it says nothing, or something wrong.
    let plain = v2(&format!(r#","metrics":[{CPU}]"#), "");
    check(&v1(&annotation("behavior", "{}"), percent, ""), to, &plain);
    check(&v1(&annotation("behavior", r#"{"ScaleUp":{"Policies":"x"}}"#), percent, ""), to, &plain);
}
