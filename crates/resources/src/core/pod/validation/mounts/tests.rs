use crate::framework::validation::testing::Base;

const POD: &str = r#"{
    "metadata": {"name": "a", "namespace": "n"},
    "spec": {
        "containers": [{"name": "c", "image": "i"}],
        "volumes": [
            {"name": "v", "emptyDir": {}},
            {"name": "w", "hostPath": {"path": "/a"}},
            {"name": "p", "persistentVolumeClaim": {"claimName": "p"}},
            {"name": "q", "persistentVolumeClaim": {"claimName": "q"}}
        ]
    }
}"#;
const MOUNTS: &str = "spec.containers[0].volumeMounts";
const DEVICES: &str = "spec.containers[0].volumeDevices";

fn pods() -> Base {
    Base::new("", "pods", POD)
}

/// Checks the errors of mounts, each without the path of the list.
#[track_caller]
fn refused_mounts(mounts: &str, expected: &[&str]) {
    let expected: Vec<String> = expected.iter().map(|error| format!("{MOUNTS}{error}")).collect();
    let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
    pods().refuses(&[(&[("/spec/containers/0/volumeMounts", mounts)], &expected)]);
}

#[test]
fn mounts_are_of_volumes_at_different_paths() {
    pods().accepts(&[&[(
        "/spec/containers/0/volumeMounts",
        r#"[{"name":"v","mountPath":"/a","subPath":"b/..c"},{"name":"v","mountPath":"../b","subPathExpr":"$(A)"}]"#,
    )]]);
    refused_mounts(
        r#"[{"name":"","mountPath":""},{"name":"x","mountPath":"/a"},{"name":"v","mountPath":"/a"}]"#,
        &[
            "[0].name: Required value",
            r#"[0].name: Not found: """#,
            "[0].mountPath: Required value",
            r#"[1].name: Not found: "x""#,
            r#"[2].mountPath: Invalid value: "/a": must be unique"#,
        ],
    );
    // A volume with an error is as if it were not there.
    pods().refuses(&[(
        &[
            ("/spec/volumes/0/hostPath", r#"{"path":"/a"}"#),
            ("/spec/containers/0/volumeMounts", r#"[{"name":"v","mountPath":"/a"}]"#),
        ],
        &[
            "spec.volumes[0].hostPath: Forbidden: may not specify more than 1 volume type",
            &format!(r#"{MOUNTS}[0].name: Not found: "v""#),
        ],
    )]);
}

#[test]
fn paths_below_a_volume_stay_in_it() {
    refused_mounts(
        r#"[{"name":"v","mountPath":"/a","subPath":"/b"},{"name":"v","mountPath":"/b","subPath":"a/.."},{"name":"v","mountPath":"/c","subPath":"a","subPathExpr":"/.."}]"#,
        &[
            r#".subPath: Invalid value: "/b": must be a relative path"#,
            r#".subPath: Invalid value: "a/..": must not contain '..'"#,
            r#"[2].subPathExpr: Invalid value: "/..": subPathExpr and subPath are mutually exclusive"#,
            r#".subPathExpr: Invalid value: "/..": must be a relative path"#,
            r#".subPathExpr: Invalid value: "/..": must not contain '..'"#,
        ],
    );
}

#[test]
fn mounts_propagate_from_privileged_containers() {
    let mount = |rest: &str| format!(r#"[{{"name":"v","mountPath":"/a",{rest}}}]"#);
    refused_mounts(
        &mount(r#""mountPropagation":"x""#),
        &[
            r#".mountPropagation: Unsupported value: "x": supported values: "Bidirectional", "HostToContainer", "None""#,
        ],
    );
    refused_mounts(
        &mount(r#""mountPropagation":"Bidirectional""#),
        &[
            ".mountPropagation: Forbidden: Bidirectional mount propagation is available only to privileged containers",
        ],
    );
    let mounts = |rest: &str| mount(rest);
    Base::with("", "pods", POD, |settings| settings.allow_privileged = true).accepts(&[
        &[
            ("/spec/containers/0/volumeMounts", &mounts(r#""mountPropagation":"Bidirectional""#)),
            ("/spec/containers/0/securityContext", r#"{"privileged":true}"#),
        ],
        &[("/spec/containers/0/volumeMounts", &mounts(r#""mountPropagation":"HostToContainer""#))],
    ]);
}

#[test]
fn recursively_read_only_mounts_are_read_only() {
    let mount = |rest: &str| format!(r#"[{{"name":"v","mountPath":"/a",{rest}}}]"#);
    pods().accepts(&[
        &[("/spec/containers/0/volumeMounts", &mount(r#""recursiveReadOnly":"Disabled""#))],
        &[(
            "/spec/containers/0/volumeMounts",
            &mount(r#""recursiveReadOnly":"Enabled","readOnly":true,"mountPropagation":"None""#),
        )],
    ]);
    refused_mounts(
        &mount(r#""recursiveReadOnly":"IfPossible","mountPropagation":"HostToContainer""#),
        &[
            ".recursiveReadOnly: Forbidden: may only be specified when readOnly is true",
            ".recursiveReadOnly: Forbidden: may only be specified when mountPropagation is None or not specified",
        ],
    );
    refused_mounts(
        &mount(r#""recursiveReadOnly":"x""#),
        &[
            r#".recursiveReadOnly: Unsupported value: "x": supported values: "Disabled", "Enabled", "IfPossible""#,
        ],
    );
}

#[test]
fn devices_are_of_claims_at_different_paths() {
    let devices = |devices: &'static str| [("/spec/containers/0/volumeDevices", devices)];
    pods().accepts(&[&devices(r#"[{"name":"p","devicePath":"/dev/a"},{"name":"q","devicePath":"b"}]"#)]);
    pods().refuses(&[
        (
            &devices(r#"[{"name":"","devicePath":""},{"name":"x","devicePath":"/a"},{"name":"v","devicePath":"/b"}]"#),
            &[
                &format!("{DEVICES}[0].name: Required value"),
                &format!(r#"{DEVICES}[0].name: Not found: """#),
                &format!("{DEVICES}[0].devicePath: Required value"),
                &format!(r#"{DEVICES}[1].name: Not found: "x""#),
                &format!(
                    r#"{DEVICES}[2].name: Invalid value: "v": can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"#
                ),
            ],
        ),
        (
            &devices(
                r#"[{"name":"p","devicePath":"/a"},{"name":"p","devicePath":"/a"},{"name":"q","devicePath":"/../a"}]"#,
            ),
            &[
                &format!(r#"{DEVICES}[1].name: Invalid value: "p": must be unique"#),
                &format!(r#"{DEVICES}[1].devicePath: Invalid value: "/a": must be unique"#),
                &format!(r#"{DEVICES}[2].devicePath: Invalid value: "/../a": can not contain backsteps ('..')"#),
            ],
        ),
    ]);
}

#[test]
fn a_volume_is_mounted_or_a_device() {
    pods().refuses(&[(
        &[
            (
                "/spec/containers/0/volumeMounts",
                r#"[{"name":"p","mountPath":"/a"},{"name":"v","mountPath":"/dev/q"}]"#,
            ),
            (
                "/spec/containers/0/volumeDevices",
                r#"[{"name":"p","devicePath":"/dev/p"},{"name":"q","devicePath":"/dev/q"}]"#,
            ),
        ],
        &[
            &format!(r#"{MOUNTS}[0].name: Invalid value: "p": must not already exist in volumeDevices"#),
            &format!(
                r#"{MOUNTS}[1].mountPath: Invalid value: "/dev/q": must not already exist as a path in volumeDevices"#
            ),
            &format!(r#"{DEVICES}[0].name: Invalid value: "p": must not already exist in volumeMounts"#),
            &format!(
                r#"{DEVICES}[1].devicePath: Invalid value: "/dev/q": must not already exist as a path in volumeMounts"#
            ),
        ],
    )]);
}
