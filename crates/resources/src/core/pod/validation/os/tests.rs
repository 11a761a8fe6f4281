use crate::framework::validation::testing::Base;

const POD: &str = r#"{
    "metadata": {"name": "a", "namespace": "n"},
    "spec": {"containers": [{"name": "c", "image": "i"}], "initContainers": [{"name": "init", "image": "i"}]}
}"#;

fn base() -> Base {
    Base::with("", "pods", POD, |settings| settings.allow_privileged = true)
}

#[test]
fn the_operating_system_is_known() {
    base().refuses(&[
        (&[("/spec/os", "{}")], &["spec.os.name: Required value"]),
        (
            &[("/spec/os/name", r#""plan9""#)],
            &["spec.os: Unsupported value: \"plan9\": supported values: \"linux\", \"windows\""],
        ),
    ]);
    base().accepts(&[&[("/spec/os/name", r#""linux""#)], &[("/spec/os/name", r#""windows""#)]]);
}

#[test]
fn linux_has_no_windows_options() {
    base().refuses(&[(
        &[
            ("/spec/os/name", r#""linux""#),
            ("/spec/securityContext/windowsOptions", "{}"),
            ("/spec/containers/0/securityContext/windowsOptions", "{}"),
            ("/spec/initContainers/0/securityContext/windowsOptions", "{}"),
        ],
        &[
            "spec.securityContext.windowsOptions: Forbidden: windows options cannot be set for a linux pod",
            "spec.initContainers[0].securityContext.windowsOptions: Forbidden: windows options cannot be set for a linux pod",
            "spec.containers[0].securityContext.windowsOptions: Forbidden: windows options cannot be set for a linux pod",
        ],
    )]);
}

#[test]
fn windows_has_no_linux_fields() {
    let windows = ("/spec/os/name", r#""windows""#);
    let context = r#"{
        "appArmorProfile": {"type": "RuntimeDefault"}, "seLinuxOptions": {}, "seccompProfile": {"type": "RuntimeDefault"},
        "fsGroup": 1, "fsGroupChangePolicy": "Always", "sysctls": [{"name": "a.b", "value": "1"}], "runAsUser": 1,
        "runAsGroup": 1, "supplementalGroups": [1], "supplementalGroupsPolicy": "Merge", "seLinuxChangePolicy": "Recursive"
    }"#;
    let own = r#"{
        "appArmorProfile": {"type": "RuntimeDefault"}, "seLinuxOptions": {}, "seccompProfile": {"type": "RuntimeDefault"},
        "capabilities": {}, "readOnlyRootFilesystem": false, "privileged": false, "allowPrivilegeEscalation": false,
        "procMount": "Default", "runAsUser": 1, "runAsGroup": 1
    }"#;
    let forbidden = |fields: &[&str]| -> Vec<String> {
        fields
            .iter()
            .map(|field| format!("spec.{field}: Forbidden: cannot be set for a windows pod"))
            .collect()
    };
    let of_pod = forbidden(&[
        "securityContext.appArmorProfile",
        "securityContext.seLinuxOptions",
        "hostUsers",
        "hostPID",
        "hostIPC",
        "securityContext.seccompProfile",
        "securityContext.fsGroup",
        "securityContext.fsGroupChangePolicy",
        "securityContext.sysctls",
        "shareProcessNamespace",
        "securityContext.runAsUser",
        "securityContext.runAsGroup",
        "securityContext.supplementalGroups",
        "securityContext.supplementalGroupsPolicy",
        "securityContext.seLinuxChangePolicy",
    ]);
    let of_container = forbidden(&[
        "containers[0].securityContext.appArmorProfile",
        "containers[0].securityContext.seLinuxOptions",
        "containers[0].securityContext.seccompProfile",
        "containers[0].securityContext.capabilities",
        "containers[0].securityContext.readOnlyRootFilesystem",
        "containers[0].securityContext.privileged",
        "containers[0].securityContext.allowPrivilegeEscalation",
        "containers[0].securityContext.procMount",
        "containers[0].securityContext.runAsUser",
        "containers[0].securityContext.runAsGroup",
    ]);
    let [of_pod, of_container] =
        [&of_pod, &of_container].map(|list| list.iter().map(String::as_str).collect::<Vec<_>>());
    base().refuses(&[
        (
            &[
                windows,
                ("/spec/securityContext", context),
                ("/spec/hostUsers", "true"),
                ("/spec/hostPID", "true"),
                ("/spec/hostIPC", "true"),
                ("/spec/shareProcessNamespace", "false"),
            ],
            &of_pod,
        ),
        (&[windows, ("/spec/containers/0/securityContext", own)], &of_container),
    ]);
    base().accepts(&[&[
        windows,
        ("/spec/hostPID", "false"),
        ("/spec/securityContext", r#"{"windowsOptions": {"runAsUserName": "u"}, "runAsNonRoot": true}"#),
        ("/spec/containers/0/securityContext", r#"{"runAsNonRoot": true}"#),
    ]]);
}

#[test]
fn host_processes_are_all_or_none() {
    const OF_POD: &str = "/spec/securityContext/windowsOptions/hostProcess";
    const OF_CONTAINER: &str = "/spec/containers/0/securityContext/windowsOptions/hostProcess";
    const OF_INIT: &str = "/spec/initContainers/0/securityContext/windowsOptions/hostProcess";
    let (host, yes, no) = (("/spec/hostNetwork", "true"), "true", "false");
    let mixed = "spec: Invalid value: \"\": If pod contains any hostProcess containers then all containers must be HostProcess \
                 containers";
    let network = "spec.hostNetwork: Invalid value: false: hostNetwork must be true if pod contains any hostProcess containers";
    base().refuses(&[
        (&[host, (OF_CONTAINER, yes)], &[mixed]),
        (&[(OF_POD, yes)], &[network]),
        (
            &[(OF_POD, yes), (OF_CONTAINER, no)],
            &[
                "spec.containers[0].securityContext.windowsOptions.hostProcess: Invalid value: false: pod hostProcess value must \
                 be identical if both are specified, was true",
                mixed,
                network,
            ],
        ),
    ]);
    base().accepts(&[
        &[host, (OF_POD, yes)],
        &[host, (OF_CONTAINER, yes), (OF_INIT, yes)],
        &[(OF_POD, no), (OF_CONTAINER, no)],
    ]);
    Base::new("", "pods", POD).refuses(&[(
        &[host, (OF_POD, yes)],
        &["spec: Forbidden: hostProcess containers are disallowed by cluster policy"],
    )]);
}
