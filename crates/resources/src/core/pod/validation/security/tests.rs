use pintle_features::Feature;

use crate::framework::validation::testing::Base;

const POD: &str = r#"{
    "metadata": {"name": "a", "namespace": "n"},
    "spec": {"containers": [{"name": "c", "image": "i"}], "initContainers": [{"name": "init", "image": "i"}]}
}"#;
const CONTEXT: &str = "/spec/securityContext";

fn base() -> Base {
    Base::new("", "pods", POD)
}

#[test]
fn a_pod_on_the_hosts_network_uses_its_own_ports() {
    let host = ("/spec/hostNetwork", "true");
    base().refuses(&[(
        &[host, ("/spec/containers/0/ports", r#"[{"containerPort": 80, "hostPort": 81}]"#)],
        &["spec.containers[0].ports[0].hostPort: Invalid value: 81: must match `containerPort` when `hostNetwork` is true"],
    )]);
    base().accepts(&[
        &[host, ("/spec/containers/0/ports", r#"[{"containerPort": 80}]"#)],
        &[("/spec/containers/0/ports", r#"[{"containerPort": 80, "hostPort": 81}]"#)],
    ]);
}

#[test]
fn a_template_may_leave_ports_of_the_host_to_its_pods() {
    let template = r#"{"metadata": {"name": "a", "namespace": "n"}, "template": {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 80}]}], "hostNetwork": true}
    }}"#;
    let base = Base::new("", "podtemplates", template);
    const PORT: &str = "/template/spec/containers/0/ports/0/hostPort";
    base.accepts(&[&[(PORT, "80")]]);
    base.refuses(&[(
        &[(PORT, "81")],
        &["template.spec.containers[0].ports[0].hostPort: Invalid value: 81: must match `containerPort` when \
           `hostNetwork` is true"],
    )]);
}

#[test]
fn ids_of_pods_are_in_range() {
    let wrong = |field: &str, id: i64| {
        format!(
            "spec.securityContext.{field}: Invalid value: {id}: must be between 0 and 2147483647, inclusive"
        )
    };
    let expected = [
        wrong("fsGroup", -1),
        wrong("runAsUser", -2),
        wrong("runAsGroup", -3),
        wrong("supplementalGroups[1]", 2_147_483_648),
    ];
    let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
    base().refuses(&[(
        &[(
            CONTEXT,
            r#"{"fsGroup": -1, "runAsUser": -2, "runAsGroup": -3, "supplementalGroups": [1, 2147483648]}"#,
        )],
        &expected,
    )]);
    base().accepts(&[&[(
        CONTEXT,
        r#"{"fsGroup": 0, "runAsUser": 1, "runAsGroup": 2, "supplementalGroups": [0, 2147483647]}"#,
    )]]);
}

#[test]
fn policies_of_pods_are_known() {
    base().refuses(&[
        (
            &[("/spec/restartPolicy", r#""x""#)],
            &["spec.restartPolicy: Unsupported value: \"x\": supported values: \"Always\", \"OnFailure\", \"Never\""],
        ),
        (
            &[(CONTEXT, r#"{"fsGroupChangePolicy": "x", "supplementalGroupsPolicy": "x", "seLinuxChangePolicy": "x"}"#)],
            &[
                "spec.securityContext.fsGroupChangePolicy: Unsupported value: \"x\": supported values: \"Always\", \
                 \"OnRootMismatch\"",
                "spec.securityContext.supplementalGroupsPolicy: Unsupported value: \"x\": supported values: \"Merge\", \
                 \"Strict\"",
                "spec.securityContext.seLinuxChangePolicy: Unsupported value: \"x\": supported values: \"Recursive\"",
            ],
        ),
        (
            &[(CONTEXT, r#"{"seLinuxChangePolicy": "MountOption"}"#)],
            &["spec.securityContext.seLinuxChangePolicy: Unsupported value: \"MountOption\": supported values: \"Recursive\""],
        ),
        (
            &[("/spec/hostPID", "true"), ("/spec/shareProcessNamespace", "true")],
            &["spec.securityContext.shareProcessNamespace: Invalid value: true: ShareProcessNamespace and HostPID cannot both \
               be enabled"],
        ),
    ]);
    base().accepts(&[
        &[(
            CONTEXT,
            r#"{"fsGroupChangePolicy": "Always", "supplementalGroupsPolicy": "Merge", "seLinuxChangePolicy": "Recursive"}"#,
        )],
        &[("/spec/hostPID", "true"), ("/spec/shareProcessNamespace", "false")],
    ]);
    let with_mount_option = Base::with_features("", "pods", POD, &[(Feature::SELinuxMount, true)]);
    with_mount_option.accepts(&[&[(CONTEXT, r#"{"seLinuxChangePolicy": "MountOption"}"#)]]);
    with_mount_option.refuses(&[(
        &[(CONTEXT, r#"{"seLinuxChangePolicy": "x"}"#)],
        &["spec.securityContext.seLinuxChangePolicy: Unsupported value: \"x\": supported values: \"MountOption\", \
           \"Recursive\""],
    )]);
}

#[test]
fn sysctls_are_unique_and_not_of_the_host() {
    const SYSCTLS: &str = "/spec/securityContext/sysctls";
    let wrong = "must have at most 253 characters and match regex \
                 ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$";
    let wrong = format!("spec.securityContext.sysctls[0].name: Invalid value: \"A\": {wrong}");
    let of_host =
        r#"[{"name": "net.ipv4.ip_forward", "value": "1"}, {"name": "kernel.shmmax", "value": "1"}]"#;
    base().refuses(&[
        (
            &[(SYSCTLS, r#"[{"name": "", "value": "1"}]"#)],
            &["spec.securityContext.sysctls[0].name: Required value"],
        ),
        (&[(SYSCTLS, r#"[{"name": "A", "value": "1"}]"#)], &[&wrong]),
        (
            &[(SYSCTLS, r#"[{"name": "a.b", "value": "1"}, {"name": "a.b", "value": "2"}]"#)],
            &["spec.securityContext.sysctls[1].name: Duplicate value: \"a.b\""],
        ),
        (
            &[(SYSCTLS, of_host), ("/spec/hostNetwork", "true"), ("/spec/hostIPC", "true")],
            &[
                "spec.securityContext.sysctls[0].name: Invalid value: \"net.ipv4.ip_forward\": may not be specified when \
                 'hostNetwork' is true",
                "spec.securityContext.sysctls[1].name: Invalid value: \"kernel.shmmax\": may not be specified when 'hostIPC' \
                 is true",
            ],
        ),
    ]);
    base().accepts(&[&[(SYSCTLS, of_host)]]);
    // Sysctls that are stored already may stay.
    let stored = [(SYSCTLS, of_host), ("/spec/hostNetwork", "true")];
    base().accepts_update_of(&stored, &[&[("/spec/containers/0/image", r#""j""#)]]);
}

#[test]
fn a_pod_with_own_users_shares_nothing_of_the_host() {
    let own = ("/spec/hostUsers", "false");
    let all = [own, ("/spec/hostNetwork", "true"), ("/spec/hostPID", "true"), ("/spec/hostIPC", "true")];
    let device = r#"[{"name": "v", "devicePath": "/dev/v"}]"#;
    let volume = ("/spec/volumes", r#"[{"name": "v", "persistentVolumeClaim": {"claimName": "v"}}]"#);
    base().refuses(&[
        (
            &all,
            &[
                "spec.hostNetwork: Forbidden: when `hostUsers` is false",
                "spec.HostPID: Forbidden: when `hostUsers` is false",
                "spec.HostIPC: Forbidden: when `hostUsers` is false",
            ],
        ),
        (
            &[
                own,
                volume,
                ("/spec/containers/0/volumeDevices", device),
                ("/spec/initContainers/0/volumeDevices", device),
            ],
            &[
                "spec.initContainers[0].volumeDevices: Forbidden: when `hostUsers` is false",
                "spec.containers[0].volumeDevices: Forbidden: when `hostUsers` is false",
            ],
        ),
    ]);
    base().accepts(&[
        &[own],
        &[all[1], all[2], all[3]],
        &[volume, ("/spec/containers/0/volumeDevices", device)],
    ]);
    let features = [(Feature::NodeDeclaredFeatures, true), (Feature::UserNamespacesHostNetworkSupport, true)];
    Base::with_features("", "pods", POD, &features).accepts(&[&[own, all[1]]]);
}

#[test]
fn profiles_fit_their_type() {
    let seccomp = |profile: &str| format!(r#"{{"seccompProfile": {profile}}}"#);
    let app_armor = |profile: &str| format!(r#"{{"appArmorProfile": {profile}}}"#);
    let long = format!(r#"{{"type": "Localhost", "localhostProfile": "{}"}}"#, "p".repeat(4096));
    base().refuses(&[
        (
            &[(CONTEXT, &seccomp("{}"))],
            &["spec.securityContext.seccompProfile.type: Required value: type is required when seccompProfile is set"],
        ),
        (
            &[(CONTEXT, &seccomp(r#"{"type": "Localhost"}"#))],
            &["spec.securityContext.seccompProfile.localhostProfile: Required value: must be set when seccomp type is \
               Localhost"],
        ),
        (
            &[(CONTEXT, &seccomp(r#"{"type": "Localhost", "localhostProfile": "/a/../b"}"#))],
            &[
                "spec.securityContext.seccompProfile.localhostProfile: Invalid value: \"/a/../b\": must be a relative path",
                "spec.securityContext.seccompProfile.localhostProfile: Invalid value: \"/a/../b\": must not contain '..'",
            ],
        ),
        (
            &[(CONTEXT, &seccomp(r#"{"type": "Unconfined", "localhostProfile": "a"}"#))],
            &["spec.securityContext.seccompProfile.localhostProfile: Invalid value: \
               {\"Type\":\"Unconfined\",\"LocalhostProfile\":\"a\"}: can only be set when seccomp type is Localhost"],
        ),
        (
            &[(CONTEXT, &app_armor("{}"))],
            &["spec.securityContext.appArmorProfile.type: Required value: type is required when appArmorProfile is set"],
        ),
        (
            &[(CONTEXT, &app_armor(r#"{"type": "Localhost"}"#))],
            &["spec.securityContext.appArmorProfile.localhostProfile: Required value: must be set when AppArmor type is \
               Localhost"],
        ),
        (
            &[(CONTEXT, &app_armor(r#"{"type": "Localhost", "localhostProfile": ""}"#))],
            &["spec.securityContext.appArmorProfile.localhostProfile: Required value: must be set when AppArmor type is \
               Localhost"],
        ),
        (
            &[(CONTEXT, &app_armor(r#"{"type": "Localhost", "localhostProfile": " a"}"#))],
            &["spec.securityContext.appArmorProfile.localhostProfile: Invalid value: \" a\": must not be padded with \
               whitespace"],
        ),
        (
            &[(CONTEXT, &app_armor(&long))],
            &["spec.securityContext.appArmorProfile.localhostProfile: Too long: may not be more than 4095 bytes"],
        ),
        (
            &[(CONTEXT, &app_armor(r#"{"type": "RuntimeDefault", "localhostProfile": "a"}"#))],
            &["spec.securityContext.appArmorProfile.localhostProfile: Invalid value: \"a\": can only be set when AppArmor type \
               is Localhost"],
        ),
    ]);
    base().accepts(&[
        &[(CONTEXT, &seccomp(r#"{"type": "Localhost", "localhostProfile": "a/b..c"}"#))],
        &[(CONTEXT, &seccomp(r#"{"type": "RuntimeDefault"}"#))],
        &[(CONTEXT, &app_armor(r#"{"type": "Localhost", "localhostProfile": "a"}"#))],
        &[(CONTEXT, &app_armor(r#"{"type": "Unconfined"}"#))],
    ]);
}

#[test]
fn windows_options_are_valid() {
    let options = |field: &str, value: &str| {
        let value = serde_json::Value::from(value);
        format!(r#"{{"windowsOptions": {{"{field}": {value}}}}}"#)
    };
    let subdomain = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must \
                     start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
                     '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
    let long = "s".repeat(64 * 1024 + 1);
    let long_domain = format!("{}\\u", ["d"; 129].join("."));
    let long_user = "u".repeat(105);
    for (field, value, why) in [
        ("gmsaCredentialSpecName", "A", subdomain),
        ("gmsaCredentialSpec", "", "gmsaCredentialSpec cannot be an empty string"),
        ("gmsaCredentialSpec", &long, "gmsaCredentialSpec size must be under 64 KiB"),
        ("runAsUserName", "", "runAsUserName cannot be an empty string"),
        ("runAsUserName", "a\tb", "runAsUserName cannot contain control characters"),
        ("runAsUserName", "a\\b\\c", "runAsUserName cannot contain more than one backslash"),
        ("runAsUserName", &long_domain, "runAsUserName's Domain length must be under 256 characters"),
        ("runAsUserName", "a*\\u", "runAsUserName's Domain doesn't match the NetBios nor the DNS format"),
        ("runAsUserName", "\\u", "runAsUserName's Domain doesn't match the NetBios nor the DNS format"),
        ("runAsUserName", ".a\\u", "runAsUserName's Domain doesn't match the NetBios nor the DNS format"),
        (
            "runAsUserName",
            "seventeen_chars_d\\u",
            "runAsUserName's Domain doesn't match the NetBios nor the DNS format",
        ),
        ("runAsUserName", "d\\", "runAsUserName's User cannot be empty"),
        ("runAsUserName", &long_user, "runAsUserName's User length must not be longer than 104 characters"),
        ("runAsUserName", ". .", "runAsUserName's User cannot contain only periods or spaces"),
        (
            "runAsUserName",
            "a@b",
            "runAsUserName's User cannot contain the following characters: \"/\\:;|=,+*?<>@[]",
        ),
    ] {
        let shown = serde_json::Value::from(value);
        let expected = format!("spec.securityContext.windowsOptions.{field}: Invalid value: {shown}: {why}");
        base().refuses(&[(&[(CONTEXT, &options(field, value))], &[&expected])]);
    }
    for (field, value) in [
        ("gmsaCredentialSpecName", "a.b"),
        ("gmsaCredentialSpec", "s"),
        ("runAsUserName", "ContainerAdministrator"),
        ("runAsUserName", "NT AUTHORITY\\LOCAL SERVICE"),
        ("runAsUserName", "a.very-long.domain.example\\u.v"),
    ] {
        base().accepts(&[&[(CONTEXT, &options(field, value))]]);
    }
    base().refuses(&[(
        &[("/spec/containers/0/securityContext", &options("runAsUserName", ""))],
        &["spec.containers[0].securityContext.windowsOptions.runAsUserName: Invalid value: \"\": runAsUserName cannot be an \
           empty string"],
    )]);
}
