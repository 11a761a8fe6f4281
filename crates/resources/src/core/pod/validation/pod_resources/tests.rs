use pintle_features::Feature;

use crate::framework::validation::testing::Base;

const POD: &str = r#"{
    "metadata": {"name": "a", "namespace": "n"},
    "spec": {
        "containers": [
            {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}},
            {"name": "d", "image": "i", "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}}}
        ],
        "initContainers": [{"name": "i", "image": "i"}, {"name": "s", "image": "i"}, {"name": "j", "image": "i"}]
    }
}"#;
const RESOURCES: &str = "/spec/resources";

fn base() -> Base {
    Base::new("", "pods", POD)
}

#[test]
fn a_pod_has_cpu_memory_and_huge_pages() {
    base().refuses(&[
        (
            &[(RESOURCES, r#"{"limits": {"ephemeral-storage": "1", "gpu": "1"}}"#)],
            &[
                "spec.resources.limits[ephemeral-storage]: Unsupported value: \"ephemeral-storage\": supported values: \"cpu\", \
                 \"hugepages-\", \"memory\"",
                "spec.resources.limits[gpu]: Invalid value: \"gpu\": must be a standard resource type or fully qualified",
            ],
        ),
        (
            &[(RESOURCES, r#"{"limits": {"cpu": "1"}, "requests": {"cpu": "2"}}"#)],
            &["spec.resources.requests: Invalid value: \"2\": must be less than or equal to cpu limit of 1"],
        ),
        (
            &[(RESOURCES, r#"{"claims": []}"#)],
            &["spec.resources.claims: Forbidden: claims may not be set for Resources at pod-level"],
        ),
        (
            &[(RESOURCES, r#"{"claims": [{"name": "c"}]}"#)],
            &[
                "spec.resources.claims: Forbidden: claims may not be set for Resources at pod-level",
                "spec.resources.claims[0]: Not found: \"c\": must be one of the names in pod.spec.resourceClaims which is empty",
            ],
        ),
        (
            &[(RESOURCES, r#"{"limits": {"gpu": "1"}}"#), ("/spec/os/name", r#""windows""#)],
            &["spec.resources: Forbidden: may not be set for a windows pod"],
        ),
    ]);
    base().accepts(&[
        &[(RESOURCES, "{}")],
        &[(RESOURCES, r#"{"limits": {"cpu": "2", "memory": "1Gi", "hugepages-2Mi": "2Mi"}}"#)],
    ]);
}

#[test]
fn containers_fit_into_the_requests_of_the_pod() {
    let init = |index: usize, cpu: &str| {
        (format!("/spec/initContainers/{index}/resources/requests/cpu"), cpu.to_owned())
    };
    let sidecar = ("/spec/initContainers/1/restartPolicy", r#""Always""#);
    let request = (RESOURCES, r#"{"requests": {"cpu": "2", "memory": "1Gi"}}"#);
    let wrong = |total: &str| {
        format!(
            "spec.resources.requests[cpu]: Invalid value: \"2\": must be greater than or equal to aggregate container requests \
             of {total}"
        )
    };
    let [(i, _), (s, _), (j, _)] = [init(0, ""), init(1, ""), init(2, "")];
    base().refuses(&[
        (
            &[(RESOURCES, r#"{"requests": {"cpu": "1400m", "memory": "1Mi"}}"#)],
            &[
                "spec.resources.requests[cpu]: Invalid value: \"1400m\": must be greater than or equal to aggregate container \
                 requests of 1500m",
                "spec.resources.requests[memory]: Invalid value: \"1Mi\": must be greater than or equal to aggregate container \
                 requests of 1Gi",
            ],
        ),
        // Before the sidecar, an init container runs alone; after it, beside it.
        (&[request, (&i, r#""3""#)], &[&wrong("3")]),
        (&[request, sidecar, (&s, r#""1""#)], &[&wrong("2500m")]),
        (&[request, sidecar, (&s, r#""500m""#), (&j, r#""1600m""#)], &[&wrong("2100m")]),
        (&[request, sidecar, (&s, r#""500m""#), (&i, r#""2100m""#), (&j, r#""1""#)], &[&wrong("2100m")]),
    ]);
    base().accepts(&[
        &[request],
        &[request, (&i, r#""2""#), (&s, r#""2""#), (&j, r#""2""#)],
        &[request, sidecar, (&i, r#""2""#), (&s, r#""500m""#), (&j, r#""1500m""#)],
        &[request, ("/spec/initContainers/0/resources/requests", r#"{"ephemeral-storage": "1"}"#)],
    ]);
}

#[test]
fn containers_fit_into_the_limits_of_the_pod() {
    let limits = |index: usize| format!("/spec/containers/{index}/resources/limits");
    let pages = r#"{"hugepages-2Mi": "4Mi", "cpu": "2"}"#;
    base().refuses(&[
        (
            &[(RESOURCES, r#"{"limits": {"cpu": "1700m", "memory": "2Gi"}}"#), (&limits(1), r#"{"cpu": "2", "memory": "1Gi"}"#)],
            &["spec.resources.containers[1][cpu].limits: Invalid value: \"2\": must be less than or equal to pod limits of 1700m"],
        ),
        (
            &[
                (RESOURCES, r#"{"limits": {"hugepages-2Mi": "6Mi", "cpu": "4"}, "requests": {"hugepages-2Mi": "6Mi"}}"#),
                (&limits(0), pages),
                (&limits(1), pages),
            ],
            &[
                "spec.resources.requests[hugepages-2Mi]: Invalid value: \"6Mi\": must be greater than or equal to aggregate \
                 container requests of 8Mi",
                "spec.resources.limits[hugepages-2Mi]: Invalid value: \"6Mi\": must be greater than or equal to aggregate \
                 container limits of 8Mi",
            ],
        ),
    ]);
    base().accepts(&[&[
        (RESOURCES, r#"{"limits": {"cpu": "2"}}"#),
        (&limits(0), r#"{"cpu": "2"}"#),
        (&limits(1), r#"{"cpu": "2"}"#),
    ]]);
}

#[test]
fn without_the_feature_resources_of_pods_are_not_checked() {
    let features =
        [(Feature::InPlacePodLevelResourcesVerticalScaling, false), (Feature::PodLevelResources, false)];
    Base::with_features("", "pods", POD, &features).accepts(&[&[(RESOURCES, r#"{"limits": {"gpu": "1"}}"#)]]);
}
