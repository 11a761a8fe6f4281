mod hooks;
mod large;
mod resources;
mod restart;
mod security_context;

use crate::framework::validation::testing::Base;

/// A pod with a regular container, an init container and a sidecar, in a control plane that allows privileged ones.
const POD: &str = r#"{
    "metadata": {"name": "a", "namespace": "n"},
    "spec": {
        "containers": [{"name": "c", "image": "i"}],
        "initContainers": [
            {"name": "init", "image": "i"},
            {"name": "sidecar", "image": "i", "restartPolicy": "Always"}
        ]
    }
}"#;

fn base() -> Base {
    Base::with("", "pods", POD, |settings| settings.allow_privileged = true)
}

#[test]
fn a_pod_has_containers_with_name_and_image() {
    let label = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start \
                 and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
                 '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
    let wrong_name = format!("spec.containers[0].name: Invalid value: \"C\": {label}");
    base().refuses(&[
        (&[("/spec/containers", "[]")], &["spec.containers: Required value"]),
        (&[("/spec/containers/0/name", "")], &["spec.containers[0].name: Required value"]),
        (&[("/spec/containers/0/name", r#""C""#)], &[&wrong_name]),
        (&[("/spec/containers/0/image", "")], &["spec.containers[0].image: Required value"]),
        (
            &[("/spec/containers/0/image", r#"" i""#), ("/spec/initContainers/0/image", r#""i\n""#)],
            &[
                "spec.containers[0].image: Invalid value: \" i\": must not have leading or trailing whitespace",
                "spec.initContainers[0].image: Invalid value: \"i\\n\": must not have leading or trailing whitespace",
            ],
        ),
        (
            &[("/spec/containers/0/terminationMessagePolicy", r#""x""#)],
            &["spec.containers[0].terminationMessagePolicy: Unsupported value: \"x\": supported values: \"File\", \
               \"FallbackToLogsOnError\""],
        ),
        (
            &[("/spec/initContainers/1/imagePullPolicy", r#""x""#)],
            &["spec.initContainers[1].imagePullPolicy: Unsupported value: \"x\": supported values: \"Always\", \
               \"IfNotPresent\", \"Never\""],
        ),
    ]);
    base().accepts(&[
        &[],
        &[("/spec/containers/0/terminationMessagePolicy", r#""FallbackToLogsOnError""#)],
        &[("/spec/containers/0/imagePullPolicy", r#""Never""#)],
    ]);
}

#[test]
fn names_differ_across_all_lists() {
    let again = r#"{"name": "c", "image": "i"}"#;
    base().refuses(&[
        (&[("/spec/containers/-", again)], &["spec.containers[1].name: Duplicate value: \"c\""]),
        (&[("/spec/initContainers/-", again)], &["spec.initContainers[2].name: Duplicate value: \"c\""]),
        (
            &[("/spec/initContainers/-", r#"{"name": "init", "image": "i"}"#)],
            &["spec.initContainers[2].name: Duplicate value: \"init\""],
        ),
        // Without names, init containers repeat only the regular ones.
        (
            &[("/spec/initContainers/0/name", ""), ("/spec/initContainers/1/name", "")],
            &["spec.initContainers[0].name: Required value", "spec.initContainers[1].name: Required value"],
        ),
        (
            &[("/spec/containers/0/name", ""), ("/spec/initContainers/0/name", "")],
            &[
                "spec.containers[0].name: Required value",
                "spec.initContainers[0].name: Required value",
                "spec.initContainers[0].name: Duplicate value: \"\"",
            ],
        ),
    ]);
}

#[test]
fn ports_have_numbers_and_unique_names() {
    const PORTS: &str = "/spec/containers/0/ports";
    base().refuses(&[
        (
            &[(PORTS, r#"[{"name": "p"}]"#)],
            &["spec.containers[0].ports[0].containerPort: Required value"],
        ),
        (
            &[(PORTS, r#"[{"containerPort": 65536}]"#)],
            &["spec.containers[0].ports[0].containerPort: Invalid value: 65536: must be between 1 and 65535, inclusive"],
        ),
        (
            &[(PORTS, r#"[{"containerPort": 80, "hostPort": -1}]"#)],
            &["spec.containers[0].ports[0].hostPort: Invalid value: -1: must be between 1 and 65535, inclusive"],
        ),
        (
            &[(PORTS, r#"[{"containerPort": 80, "protocol": "tcp"}]"#)],
            &["spec.containers[0].ports[0].protocol: Unsupported value: \"tcp\": supported values: \"SCTP\", \"TCP\", \
               \"UDP\""],
        ),
        (
            &[(PORTS, r#"[{"containerPort": 80, "name": "p"}, {"containerPort": 81, "name": "p"}]"#)],
            &["spec.containers[0].ports[1].name: Duplicate value: \"p\""],
        ),
        (
            &[(PORTS, r#"[{"containerPort": 80, "name": "a--B-"}, {"containerPort": 80, "name": "a--B-"}]"#)],
            &[
                "spec.containers[0].ports[0].name: Invalid value: \"a--B-\": must contain only alpha-numeric characters \
                 (a-z, 0-9), and hyphens (-)",
                "spec.containers[0].ports[0].name: Invalid value: \"a--B-\": must not contain consecutive hyphens",
                "spec.containers[0].ports[0].name: Invalid value: \"a--B-\": must not begin or end with a hyphen",
                "spec.containers[0].ports[1].name: Invalid value: \"a--B-\": must contain only alpha-numeric characters \
                 (a-z, 0-9), and hyphens (-)",
                "spec.containers[0].ports[1].name: Invalid value: \"a--B-\": must not contain consecutive hyphens",
                "spec.containers[0].ports[1].name: Invalid value: \"a--B-\": must not begin or end with a hyphen",
            ],
        ),
    ]);
    base().accepts(&[&[(PORTS, r#"[{"containerPort": 80, "protocol": "SCTP"}, {"containerPort": 80}]"#)]]);
}

#[test]
fn ports_of_the_host_are_used_once() {
    let port = r#"[{"containerPort": 80, "hostPort": 80}]"#;
    let twice = r#"[{"containerPort": 80, "hostPort": 80}, {"containerPort": 81, "hostPort": 80}]"#;
    let distinct = r#"[
        {"containerPort": 80, "hostPort": 80},
        {"containerPort": 80, "hostPort": 80, "protocol": "UDP"},
        {"containerPort": 80, "hostPort": 80, "hostIP": "10.0.0.1"},
        {"containerPort": 80, "hostPort": 81}
    ]"#;
    let other = r#"{"name": "d", "image": "i", "ports": [{"containerPort": 81, "hostPort": 80}]}"#;
    base().refuses(&[
        (
            &[("/spec/containers/0/ports", twice)],
            &["spec.containers[0].ports[1].hostPort: Duplicate value: \"TCP//80\""],
        ),
        (
            &[("/spec/containers/0/ports", port), ("/spec/containers/-", other)],
            &["spec.containers[1].ports[0].hostPort: Duplicate value: \"TCP//80\""],
        ),
        // Reported at the first init container, whichever it is.
        (
            &[("/spec/initContainers/1/ports", twice)],
            &["spec.initContainers[0].ports[1].hostPort: Duplicate value: \"TCP//80\""],
        ),
    ]);
    base().accepts(&[
        &[("/spec/containers/0/ports", distinct)],
        &[("/spec/initContainers/0/ports", port), ("/spec/initContainers/1/ports", port)],
    ]);
}

#[test]
fn only_sidecars_among_init_containers_have_hooks() {
    let probe = r#"{"exec": {"command": ["c"]}}"#;
    let all = |container: usize| {
        let field = |name: &str| format!("/spec/initContainers/{container}/{name}");
        [field("lifecycle"), field("livenessProbe"), field("readinessProbe"), field("startupProbe")]
    };
    let [lifecycle, liveness, readiness, startup] = all(0);
    base().refuses(&[(
        &[(&lifecycle, "{}"), (&liveness, probe), (&readiness, probe), (&startup, probe)],
        &[
            "spec.initContainers[0].lifecycle: Forbidden: may not be set for init containers without restartPolicy=Always",
            "spec.initContainers[0].livenessProbe: Forbidden: may not be set for init containers without \
             restartPolicy=Always",
            "spec.initContainers[0].readinessProbe: Forbidden: may not be set for init containers without \
             restartPolicy=Always",
            "spec.initContainers[0].startupProbe: Forbidden: may not be set for init containers without \
             restartPolicy=Always",
        ],
    )]);
    let [lifecycle, liveness, readiness, startup] = all(1);
    base().accepts(&[&[(&lifecycle, "{}"), (&liveness, probe), (&readiness, probe), (&startup, probe)]]);
}

#[test]
fn ephemeral_containers_have_few_fields() {
    const ON_CREATE: &str = "spec.ephemeralContainers: Forbidden: cannot be set on create";
    const LIST: &str = "/spec/ephemeralContainers";
    base().refuses(&[
        (&[(LIST, r#"[{"name": "e", "image": "i", "targetContainerName": "c"}]"#)], &[ON_CREATE]),
        (
            &[(LIST, r#"[{"name": "e", "image": "i", "targetContainerName": "init", "stdin": true, "tty": true}]"#)],
            &[ON_CREATE],
        ),
        (
            &[(LIST, r#"[{"name": "c", "image": "i "}, {"name": "e", "image": "i"}, {"name": "e", "image": "i"}]"#)],
            &[
                "spec.ephemeralContainers[0].image: Invalid value: \"i \": must not have leading or trailing whitespace",
                "spec.ephemeralContainers[0].name: Duplicate value: \"c\"",
                "spec.ephemeralContainers[2].name: Duplicate value: \"e\"",
                ON_CREATE,
            ],
        ),
        (
            &[(LIST, r#"[{"image": "i"}, {"name": "e"}]"#)],
            &[
                "spec.ephemeralContainers[0].name: Required value",
                "spec.ephemeralContainers[1].image: Required value",
                ON_CREATE,
            ],
        ),
        (
            &[(LIST, r#"[{"name": "e", "image": "i", "targetContainerName": "e"}]"#)],
            &["spec.ephemeralContainers[0].targetContainerName: Not found: \"e\"", ON_CREATE],
        ),
        (
            &[(
                LIST,
                r#"[{"name": "e", "image": "i",
                    "ports": [{"containerPort": 80}],
                    "resources": {"limits": {"cpu": "1"}},
                    "resizePolicy": [{"resourceName": "cpu", "restartPolicy": "NotRequired"}],
                    "restartPolicy": "Always",
                    "restartPolicyRules": [{"action": "Restart", "exitCodes": {"operator": "In", "values": [1]}}],
                    "livenessProbe": {}, "readinessProbe": {}, "startupProbe": {}, "lifecycle": {},
                    "volumeMounts": [
                        {"name": "v", "mountPath": "/a", "subPath": "s"},
                        {"name": "v", "mountPath": "/b", "subPathExpr": "s"}
                    ]}]"#,
            ), ("/spec/volumes", r#"[{"name": "v", "emptyDir": {}}]"#)],
            &[
                "spec.ephemeralContainers[0].ports: Forbidden: cannot be set for an Ephemeral Container",
                "spec.ephemeralContainers[0].resources: Forbidden: cannot be set for an Ephemeral Container",
                "spec.ephemeralContainers[0].resizePolicy: Forbidden: cannot be set for an Ephemeral Container",
                "spec.ephemeralContainers[0].restartPolicy: Forbidden: cannot be set for an Ephemeral Container",
                "spec.ephemeralContainers[0].restartPolicyRules: Forbidden: cannot be set for an Ephemeral Container",
                "spec.ephemeralContainers[0].livenessProbe: Forbidden: cannot be set for an Ephemeral Container",
                "spec.ephemeralContainers[0].readinessProbe: Forbidden: cannot be set for an Ephemeral Container",
                "spec.ephemeralContainers[0].startupProbe: Forbidden: cannot be set for an Ephemeral Container",
                "spec.ephemeralContainers[0].lifecycle: Forbidden: cannot be set for an Ephemeral Container",
                "spec.ephemeralContainers[0].volumeMounts[0].subPath: Forbidden: cannot be set for an Ephemeral Container",
                "spec.ephemeralContainers[0].volumeMounts[1].subPathExpr: Forbidden: cannot be set for an Ephemeral \
                 Container",
                ON_CREATE,
            ],
        ),
    ]);
}
