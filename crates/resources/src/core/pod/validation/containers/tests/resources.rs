use super::base;
use crate::framework::validation::testing::Base;

const RESOURCES: &str = "/spec/containers/0/resources";
const NAME_PART: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
    alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
    '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

#[test]
fn resources_have_known_names() {
    let wrong = format!("spec.containers[0].resources.requests[a b]: Invalid value: \"a b\": {NAME_PART}");
    base().refuses(&[
        (
            &[(RESOURCES, r#"{"requests": {"a b": "1"}}"#)],
            &[
                &wrong,
                "spec.containers[0].resources.requests[a b]: Invalid value: \"a b\": must be a standard resource for containers",
            ],
        ),
        (
            &[(RESOURCES, r#"{"requests": {"gpu": "1", "pods": "1"}}"#)],
            &[
                "spec.containers[0].resources.requests[gpu]: Invalid value: \"gpu\": must be a standard resource type or fully \
                 qualified",
                "spec.containers[0].resources.requests[gpu]: Invalid value: \"gpu\": must be a standard resource for \
                 containers",
                "spec.containers[0].resources.requests[pods]: Invalid value: \"pods\": must be a standard resource for \
                 containers",
            ],
        ),
        (
            &[(RESOURCES, r#"{"limits": {"requests.example.com/a": "1"}}"#)],
            // The request has the limit as its default.
            &[
                "spec.containers[0].resources.limits[requests.example.com/a]: Invalid value: \"requests.example.com/a\": \
                 doesn't follow extended resource name standard",
                "spec.containers[0].resources.requests[requests.example.com/a]: Invalid value: \"requests.example.com/a\": \
                 doesn't follow extended resource name standard",
            ],
        ),
    ]);
    base().accepts(&[
        &[(
            RESOURCES,
            r#"{"limits": {"cpu": "1", "memory": "1Gi", "ephemeral-storage": "1Gi", "example.com/a": "1"}}"#,
        )],
        &[(RESOURCES, r#"{"requests": {"cpu": "1", "kubernetes.io/x": "1"}}"#)],
    ]);
}

#[test]
fn amounts_are_not_negative_and_whole_where_counted() {
    base().refuses(&[
        (
            &[(RESOURCES, r#"{"limits": {"cpu": "-1"}}"#)],
            // The request has the limit as its default.
            &[
                "spec.containers[0].resources.limits[cpu]: Invalid value: \"-1\": must be greater than or equal to 0",
                "spec.containers[0].resources.requests[cpu]: Invalid value: \"-1\": must be greater than or equal to 0",
            ],
        ),
        (
            &[(RESOURCES, r#"{"limits": {"example.com/a": "1500m"}, "requests": {"example.com/a": "1500m"}}"#)],
            &[
                "spec.containers[0].resources.limits[example.com/a]: Invalid value: \"1500m\": must be an integer",
                "spec.containers[0].resources.requests[example.com/a]: Invalid value: \"1500m\": must be an integer",
            ],
        ),
    ]);
}

#[test]
fn requests_stay_within_limits() {
    base().refuses(&[
        (
            &[(RESOURCES, r#"{"limits": {"cpu": "1"}, "requests": {"cpu": "1500m"}}"#)],
            &["spec.containers[0].resources.requests: Invalid value: \"1500m\": must be less than or equal to cpu limit of 1"],
        ),
        (
            &[(RESOURCES, r#"{"limits": {"example.com/a": "2"}, "requests": {"example.com/a": "1"}}"#)],
            &["spec.containers[0].resources.requests: Invalid value: \"1\": must be equal to example.com/a limit of 2"],
        ),
        (
            &[(RESOURCES, r#"{"requests": {"example.com/a": "1"}}"#)],
            &["spec.containers[0].resources.limits: Required value: Limit must be set for non overcommitable resources"],
        ),
    ]);
    base().accepts(&[
        &[(RESOURCES, r#"{"limits": {"cpu": "1"}, "requests": {"cpu": "1000m"}}"#)],
        &[(RESOURCES, r#"{"limits": {"memory": "1Gi"}, "requests": {"memory": "1Mi", "cpu": "5"}}"#)],
    ]);
}

#[test]
fn huge_pages_are_whole_and_not_alone() {
    let whole = r#"{"limits": {"hugepages-2Mi": "4Mi", "cpu": "1"}}"#;
    base().refuses(&[
        (
            &[(RESOURCES, r#"{"limits": {"hugepages-2Mi": "4Mi"}, "requests": {"hugepages-2Mi": "4Mi"}}"#)],
            &["spec.containers[0].resources: Forbidden: HugePages require cpu or memory"],
        ),
        (
            &[(
                RESOURCES,
                r#"{"limits": {"hugepages-2Mi": "3Mi", "cpu": "1"}, "requests": {"hugepages-2Mi": "3Mi"}}"#,
            )],
            &[
                "spec.containers[0].resources.limits[hugepages-2Mi]: Invalid value: \"3Mi\": 3Mi is not positive integer \
                 multiple of hugepages-2Mi",
                "spec.containers[0].resources.requests[hugepages-2Mi]: Invalid value: \"3Mi\": 3Mi is not positive integer \
                 multiple of hugepages-2Mi",
            ],
        ),
        (
            &[(RESOURCES, r#"{"limits": {"hugepages-x": "3Mi", "memory": "1"}}"#)],
            &[
                "spec.containers[0].resources.limits[hugepages-x]: Invalid value: \"3Mi\": 3Mi is not positive integer \
                 multiple of hugepages-x",
                "spec.containers[0].resources.requests[hugepages-x]: Invalid value: \"3Mi\": 3Mi is not positive integer \
                 multiple of hugepages-x",
            ],
        ),
        // A size that no number holds.
        (
            &[(RESOURCES, r#"{"requests": {"hugepages-1e30": "1", "memory": "1"}}"#)],
            &[
                "spec.containers[0].resources.limits: Required value: Limit must be set for non overcommitable resources",
                "spec.containers[0].resources.requests[hugepages-1e30]: Invalid value: \"1\": 1 is not positive integer \
                 multiple of hugepages-1e30",
            ],
        ),
    ]);
    base().accepts(&[&[(RESOURCES, whole)]]);
    // Parts of pages that are stored already may stay.
    let part = (RESOURCES, r#"{"limits": {"hugepages-2Mi": "3Mi", "cpu": "1"}}"#);
    base().accepts_update_of(&[part], &[&[("/spec/containers/0/image", r#""j""#)]]);
}

#[test]
fn claims_are_of_the_pod_and_differ() {
    let base = Base::new(
        "",
        "pods",
        r#"{"metadata": {"name": "a", "namespace": "n"}, "spec": {
            "containers": [{"name": "c", "image": "i"}],
            "resourceClaims": [{"name": "b", "resourceClaimName": "x"}, {"name": "a", "resourceClaimName": "y"}]
        }}"#,
    );
    const CLAIMS: &str = "/spec/containers/0/resources/claims";
    base.refuses(&[
        (&[(CLAIMS, r#"[{"name": ""}]"#)], &["spec.containers[0].resources.claims[0]: Required value"]),
        (
            &[(CLAIMS, r#"[{"name": "a"}, {"name": "a"}, {"name": "a", "request": "r"}]"#)],
            &[
                "spec.containers[0].resources.claims[1]: Duplicate value: \"a\"",
                "spec.containers[0].resources.claims[2]: Duplicate value: \"a\"",
            ],
        ),
        (
            &[(
                CLAIMS,
                r#"[{"name": "a", "request": "r"}, {"name": "a", "request": "s"}, {"name": "a", "request": "r"}, {"name": "a"}]"#,
            )],
            &[
                "spec.containers[0].resources.claims[2]: Duplicate value: \"a/r\"",
                "spec.containers[0].resources.claims[3]: Duplicate value: \"a\"",
                "spec.containers[0].resources.claims[3]: Duplicate value: \"a\"",
            ],
        ),
        (
            &[(CLAIMS, r#"[{"name": "a", "request": "R"}]"#)],
            &["spec.containers[0].resources.claims[0].request: Invalid value: \"R\": a lowercase RFC 1123 label must consist of \
               lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. \
               'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"],
        ),
        (
            &[(CLAIMS, r#"[{"name": "c"}]"#)],
            &["spec.containers[0].resources.claims[0]: Not found: \"c\": must be one of the names in pod.spec.resourceClaims: \
               a, b"],
        ),
        (
            &[(CLAIMS, r#"[{"name": "c"}]"#), ("/spec/resourceClaims", "[]")],
            &["spec.containers[0].resources.claims[0]: Not found: \"c\": must be one of the names in pod.spec.resourceClaims \
               which is empty"],
        ),
    ]);
    base.accepts(&[
        &[(CLAIMS, r#"[{"name": "a"}, {"name": "b"}]"#)],
        &[(CLAIMS, r#"[{"name": "a", "request": "r"}, {"name": "a", "request": "s"}]"#)],
    ]);
}

#[test]
fn resize_policies_are_of_cpu_and_memory() {
    const POLICIES: &str = "/spec/containers/0/resizePolicy";
    base().refuses(&[
        (
            &[(
                POLICIES,
                r#"[{"resourceName": "cpu", "restartPolicy": "x"}, {"resourceName": "cpu", "restartPolicy": ""},
                    {"resourceName": "gpu", "restartPolicy": "NotRequired"}, {"resourceName": "", "restartPolicy": "NotRequired"}]"#,
            )],
            &[
                "spec.containers[0].resizePolicy: Unsupported value: \"x\": supported values: \"NotRequired\", \
                 \"RestartContainer\"",
                "spec.containers[0].resizePolicy[1]: Duplicate value: \"cpu\"",
                "spec.containers[0].resizePolicy: Required value",
                "spec.containers[0].resizePolicy: Unsupported value: \"gpu\": supported values: \"cpu\", \"memory\"",
                "spec.containers[0].resizePolicy: Required value",
            ],
        ),
        (
            &[
                (POLICIES, r#"[{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]"#),
                ("/spec/restartPolicy", r#""Never""#),
            ],
            &["spec.containers[0].resizePolicy: Invalid value: \"RestartContainer\": must be 'NotRequired' when pod \
               `restartPolicy` is 'Never'"],
        ),
        (
            &[(
                "/spec/initContainers/0/resizePolicy",
                r#"[{"resourceName": "cpu", "restartPolicy": "NotRequired"},
                    {"resourceName": "memory", "restartPolicy": "RestartContainer"}]"#,
            )],
            &["spec.initContainers[0].resizePolicy[1].restartPolicy: Invalid value: \"RestartContainer\": must not be set to \
               'RestartContainer' for non-sidecar initContainers"],
        ),
    ]);
    let restart = r#"[{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]"#;
    base().accepts(&[
        &[(POLICIES, restart)],
        &[("/spec/initContainers/1/resizePolicy", restart)],
        &[
            (POLICIES, &restart.replace("RestartContainer", "NotRequired")),
            ("/spec/restartPolicy", r#""Never""#),
        ],
    ]);
}
