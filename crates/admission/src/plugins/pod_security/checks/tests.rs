use super::*;
use crate::plugins::pod_security::evaluate::evaluate;
use crate::plugins::pod_security::labels::{LevelVersion, Version};
use crate::testing::decoded;

/// A rule on one pod.
#[track_caller]
fn check(check: &Check, minor: i64, pod: &str, expect: &str) {
    let object = decoded("core/v1.Pod", pod);
    let rule = check.rules.iter().rev().find(|(since, _)| *since <= minor).map(|(_, rule)| rule);
    let violation = rule.and_then(|rule| rule(&Pod::new(&object)));
    let text = violation.map_or(String::new(), |Violation { reason, detail }| format!("{reason}: {detail}"));
    assert_eq!(text, expect, "v1.{minor}: {pod}");
}

/// A pod with containers `a` (init), `b` and `c` (ephemeral), each with these fields.
fn three(a: &str, b: &str, c: &str) -> String {
    let container = |name: &str, rest: &str| {
        let comma = if rest.is_empty() { "" } else { "," };
        format!(r#"[{{"name":"{name}"{comma}{rest}}}]"#)
    };
    format!(
        r#"{{"spec":{{"initContainers":{},"containers":{},"ephemeralContainers":{}}}}}"#,
        container("a", a),
        container("b", b),
        container("c", c)
    )
}

/// [`three`] with security contexts.
fn secured(a: &str, b: &str, c: &str) -> String {
    let [a, b, c] = [a, b, c].map(|context| {
        if context.is_empty() { String::new() } else { format!(r#""securityContext":{{{context}}}"#) }
    });
    three(&a, &b, &c)
}

/// A pod with a security context, and a container `b` with another.
fn with_context(of_pod: &str, of_container: &str) -> String {
    format!(
        r#"{{"spec":{{"securityContext":{{{of_pod}}},"containers":[{{"name":"b","securityContext":{{{of_container}}}}}]}}}}"#
    )
}

#[test]
fn privileged_containers() {
    let is = privileged::CHECK;
    let (yes, no) = (r#""privileged":true"#, r#""privileged":false"#);
    check(&is, 0, &secured("", no, ""), "");
    let one = r#"privileged: container "a" must not set securityContext.privileged=true"#;
    check(&is, 0, &secured(yes, "", no), one);
    let all = r#"privileged: containers "a", "b", "c" must not set securityContext.privileged=true"#;
    check(&is, 99, &secured(yes, yes, yes), all);
}

#[test]
fn host_namespaces() {
    let is = host_namespaces::CHECK;
    check(&is, 0, r#"{"spec":{"hostPID":false,"hostUsers":true}}"#, "");
    check(&is, 0, r#"{"spec":{"hostPID":true}}"#, "host namespaces: hostPID=true");
    check(
        &is,
        0,
        r#"{"spec":{"hostIPC":true,"hostPID":true,"hostNetwork":true}}"#,
        "host namespaces: hostNetwork=true, hostPID=true, hostIPC=true",
    );
}

#[test]
fn host_ports() {
    let is = host_ports::CHECK;
    let ports = |ports: &[i64]| {
        let ports: Vec<String> =
            ports.iter().map(|port| format!(r#"{{"containerPort":1,"hostPort":{port}}}"#)).collect();
        format!(r#""ports":[{}]"#, ports.join(","))
    };
    check(&is, 0, &three("", &ports(&[0]), ""), "");
    check(&is, 0, &three("", &ports(&[0, 80]), ""), r#"hostPort: container "b" uses hostPort 80"#);
    check(
        &is,
        0,
        &three(&ports(&[9, 10, 9]), &ports(&[10]), ""),
        r#"hostPort: containers "a", "b" use hostPorts 10, 9"#,
    );
    check(&is, 0, &three(&ports(&[9]), &ports(&[9]), ""), r#"hostPort: containers "a", "b" use hostPort 9"#);
}

#[test]
fn host_path_volumes() {
    let is = host_path_volumes::CHECK;
    let volumes = |volumes: &str| format!(r#"{{"spec":{{"volumes":[{volumes}]}}}}"#);
    check(&is, 0, &volumes(r#"{"name":"v","emptyDir":{}}"#), "");
    let one = r#"{"name":"v","hostPath":{"path":"/"}}"#;
    check(&is, 0, &volumes(one), r#"hostPath volumes: volume "v""#);
    check(&is, 0, &volumes(&format!("{one},{one}")), r#"hostPath volumes: volumes "v", "v""#);
}

#[test]
fn restricted_volumes() {
    let is = restricted_volumes::CHECK;
    let volumes = |sources: &[&str]| {
        let volumes: Vec<String> = sources
            .iter()
            .enumerate()
            .map(|(number, source)| match *source {
                "" => format!(r#"{{"name":"v{number}"}}"#),
                source => format!(r#"{{"name":"v{number}","{source}":{{}}}}"#),
            })
            .collect();
        format!(r#"{{"spec":{{"volumes":[{}]}}}}"#, volumes.join(","))
    };
    let allowed = [
        "configMap",
        "downwardAPI",
        "emptyDir",
        "projected",
        "secret",
        "csi",
        "persistentVolumeClaim",
        "ephemeral",
        "image",
    ];
    check(&is, 0, &volumes(&allowed), "");
    for kind in [
        "hostPath",
        "gcePersistentDisk",
        "awsElasticBlockStore",
        "gitRepo",
        "nfs",
        "iscsi",
        "glusterfs",
        "rbd",
        "flexVolume",
        "cinder",
        "cephfs",
        "flocker",
        "fc",
        "azureFile",
        "vsphereVolume",
        "quobyte",
        "azureDisk",
        "portworxVolume",
        "photonPersistentDisk",
        "scaleIO",
        "storageos",
    ] {
        let text = format!(r#"restricted volume types: volume "v0" uses restricted volume type "{kind}""#);
        check(&is, 0, &volumes(&[kind]), &text);
    }
    check(
        &is,
        0,
        &volumes(&["rbd", "csi", "", "hostPath", "rbd"]),
        r#"restricted volume types: volumes "v0", "v2", "v3", "v4" use restricted volume types "hostPath", "rbd", "unknown""#,
    );
    check(
        &is,
        0,
        &volumes(&["rbd", "rbd"]),
        r#"restricted volume types: volumes "v0", "v1" use restricted volume type "rbd""#,
    );
}

#[test]
fn capabilities_of_the_baseline() {
    let is = capabilities_baseline::CHECK;
    let add = |capabilities: &str| format!(r#""capabilities":{{"add":[{capabilities}]}}"#);
    let default = r#""AUDIT_WRITE","CHOWN","DAC_OVERRIDE","FOWNER","FSETID","KILL","MKNOD","NET_BIND_SERVICE","SETFCAP","SETGID","SETPCAP","SETUID","SYS_CHROOT""#;
    check(&is, 0, &secured("", &add(default), r#""capabilities":{}"#), "");
    check(
        &is,
        0,
        &secured("", &add(r#""CHOWN","NET_RAW""#), ""),
        r#"non-default capabilities: container "b" must not include "NET_RAW" in securityContext.capabilities.add"#,
    );
    check(
        &is,
        0,
        &secured(&add(r#""chown","BPF""#), &add(r#""BPF""#), &add(r#""ALL""#)),
        r#"non-default capabilities: containers "a", "b", "c" must not include "ALL", "BPF", "chown" in securityContext.capabilities.add"#,
    );
}

#[test]
fn restricted_capabilities() {
    let is = capabilities_restricted::CHECK;
    let both = |add: &str, drop: &str| format!(r#""capabilities":{{"add":[{add}],"drop":[{drop}]}}"#);
    let good = both(r#""NET_BIND_SERVICE""#, r#""KILL","ALL""#);
    let drop = r#"must set securityContext.capabilities.drop=["ALL"]"#;
    check(&is, 21, &secured("", "", ""), "");
    check(&is, 22, &secured(&good, &good, &both("", r#""ALL""#)), "");
    check(
        &is,
        22,
        &secured("", r#""capabilities":{}"#, &both("", r#""all""#)),
        &format!(r#"unrestricted capabilities: containers "a", "b", "c" {drop}"#),
    );
    check(
        &is,
        36,
        &secured(&good, &both(r#""CHOWN","CHOWN""#, r#""ALL""#), &both(r#""BPF""#, "")),
        &format!(
            r#"unrestricted capabilities: container "c" {drop}; containers "b", "c" must not include "BPF", "CHOWN" in securityContext.capabilities.add"#
        ),
    );
    let windows = r#"{"spec":{"os":{"name":"windows"},"containers":[{"name":"b"}]}}"#;
    check(&is, 24, windows, &format!(r#"unrestricted capabilities: container "b" {drop}"#));
    check(&is, 25, windows, "");
}

#[test]
fn privilege_escalation() {
    let is = allow_privilege_escalation::CHECK;
    let (yes, no) = (r#""allowPrivilegeEscalation":true"#, r#""allowPrivilegeEscalation":false"#);
    let must = "must set securityContext.allowPrivilegeEscalation=false";
    check(&is, 7, &secured(yes, yes, yes), "");
    check(&is, 8, &secured(no, no, no), "");
    let two = format!(r#"allowPrivilegeEscalation != false: containers "a", "c" {must}"#);
    check(&is, 8, &secured(yes, no, ""), &two);
    let windows = r#"{"spec":{"os":{"name":"windows"},"containers":[{"name":"b","securityContext":{}}]}}"#;
    check(&is, 24, windows, &format!(r#"allowPrivilegeEscalation != false: container "b" {must}"#));
    check(&is, 25, windows, "");
    let linux = windows.replace("windows", "linux");
    check(&is, 25, &linux, &format!(r#"allowPrivilegeEscalation != false: container "b" {must}"#));
}

#[test]
fn proc_mounts() {
    let mount = |kind: &str| format!(r#""procMount":"{kind}""#);
    let masked = secured("", &mount("Default"), "");
    let unmasked = secured(&mount("Unmasked"), &mount("Default"), &mount("other"));
    let in_user_namespace = |pod: &str, host_users: bool| {
        pod.replacen(r#"{"spec":{"#, &format!(r#"{{"spec":{{"hostUsers":{host_users},"#), 1)
    };
    let wrong =
        r#"procMount: containers "a", "c" must not set securityContext.procMount to "Unmasked", "other""#;
    let (baseline, restricted) = (proc_mount::BASELINE, proc_mount::RESTRICTED);
    check(&baseline, 0, &masked, "");
    check(&baseline, 0, &unmasked, wrong);
    check(&baseline, 34, &in_user_namespace(&unmasked, false), wrong);
    check(&baseline, 35, &in_user_namespace(&unmasked, false), "");
    check(&baseline, 35, &in_user_namespace(&unmasked, true), wrong);
    check(&restricted, 34, &unmasked, "");
    check(&restricted, 35, &in_user_namespace(&unmasked, false), wrong);
    check(&restricted, 35, &masked, "");
}

#[test]
fn host_processes_of_windows() {
    let is = windows_host_process::CHECK;
    let host = |value: bool| format!(r#""windowsOptions":{{"hostProcess":{value}}}"#);
    let must = "must not set securityContext.windowsOptions.hostProcess=true";
    check(&is, 0, &with_context(&host(false), &host(false)), "");
    check(&is, 0, &with_context(&host(true), ""), &format!("hostProcess: pod {must}"));
    check(
        &is,
        0,
        &with_context(&host(true), &host(true)),
        &format!(r#"hostProcess: pod and container "b" {must}"#),
    );
    let two = format!(r#"hostProcess: containers "a", "c" {must}"#);
    check(&is, 0, &secured(&host(true), "", &host(true)), &two);
}

#[test]
fn se_linux_options() {
    let is = se_linux_options::CHECK;
    let options = |fields: &str| format!(r#""seLinuxOptions":{{{fields}}}"#);
    let kind = |kind: &str| options(&format!(r#""type":"{kind}","level":"l""#));
    let set = "set forbidden securityContext.seLinuxOptions:";
    for allowed in ["", "container_t", "container_init_t", "container_kvm_t"] {
        check(&is, 0, &with_context(&kind(allowed), &kind(allowed)), "");
    }
    let engine = with_context(&kind("container_engine_t"), "");
    check(&is, 30, &engine, &format!(r#"seLinuxOptions: pod {set} type "container_engine_t""#));
    check(&is, 31, &engine, "");
    check(
        &is,
        31,
        &with_context(&options(r#""user":"u""#), &options(r#""role":"r""#)),
        &format!(r#"seLinuxOptions: pod and container "b" {set} user may not be set; role may not be set"#),
    );
    check(
        &is,
        0,
        &secured(&kind("x"), &kind("container_t"), &options(r#""type":"w","user":"u""#)),
        &format!(r#"seLinuxOptions: containers "a", "c" {set} types "w", "x"; user may not be set"#),
    );
}

#[test]
fn sysctls() {
    let is = sysctls::CHECK;
    let pod = |names: &[&str]| {
        let sysctls: Vec<String> =
            names.iter().map(|name| format!(r#"{{"name":"{name}","value":"1"}}"#)).collect();
        with_context(&format!(r#""sysctls":[{}]"#, sysctls.join(",")), "")
    };
    let always = [
        "kernel.shm_rmid_forced",
        "net.ipv4.ip_local_port_range",
        "net.ipv4.tcp_syncookies",
        "net.ipv4.ping_group_range",
        "net.ipv4.ip_unprivileged_port_start",
    ];
    check(&is, 0, &pod(&always), "");
    for (since, name) in [
        (27, "net.ipv4.ip_local_reserved_ports"),
        (29, "net.ipv4.tcp_keepalive_time"),
        (29, "net.ipv4.tcp_fin_timeout"),
        (29, "net.ipv4.tcp_keepalive_intvl"),
        (29, "net.ipv4.tcp_keepalive_probes"),
        (32, "net.ipv4.tcp_rmem"),
        (32, "net.ipv4.tcp_wmem"),
    ] {
        check(&is, since, &pod(&[name]), "");
        check(&is, since - 1, &pod(&[name]), &format!("forbidden sysctls: {name}"));
    }
    check(&is, 36, &pod(&["b", always[0], "a", "b"]), "forbidden sysctls: b, a, b");
}

#[test]
fn app_armor_profiles() {
    let is = app_armor_profile::CHECK;
    let profile = |kind: &str| format!(r#""appArmorProfile":{{"type":"{kind}"}}"#);
    let annotated = |pod: &str, annotations: &str| {
        pod.replacen('{', &format!(r#"{{"metadata":{{"annotations":{{{annotations}}}}},"#), 1)
    };
    let key = "container.apparmor.security.beta.kubernetes.io";
    check(&is, 0, &secured(&profile("RuntimeDefault"), &profile("Localhost"), ""), "");
    let allowed =
        format!(r#""{key}/a":"runtime/default","{key}/b":"localhost/x","{key}/c":"","other/a":"x""#);
    check(&is, 0, &annotated(&three("", "", ""), &allowed), "");
    check(
        &is,
        0,
        &with_context(&profile("Unconfined"), ""),
        r#"forbidden AppArmor profile: pod must not set AppArmor profile type to "Unconfined""#,
    );
    check(
        &is,
        0,
        &with_context(&profile("Unconfined"), &profile("")),
        r#"forbidden AppArmor profiles: pod and container "b" must not set AppArmor profile type to "", "Unconfined""#,
    );
    check(
        &is,
        0,
        &annotated(&three("", "", ""), &format!(r#""{key}/a":"unconfined""#)),
        &format!(
            r#"forbidden AppArmor profile: annotation must not set AppArmor profile type to "{key}/a="unconfined"""#
        ),
    );
    check(
        &is,
        0,
        &annotated(
            &secured(&profile("x"), &profile("x"), ""),
            &format!(r#""{key}/b":"unconfined","{key}/a":"runtime/other""#),
        ),
        &format!(
            r#"forbidden AppArmor profiles: containers "a", "b" and annotations must not set AppArmor profile type to "x", "{key}/a="runtime/other"", "{key}/b="unconfined"""#
        ),
    );
}

#[test]
fn probes_and_hooks() {
    let is = host_probes::CHECK;
    let host = |kind: &str, host: &str| format!(r#"{{"{kind}":{{"host":"{host}","port":1}}}}"#);
    let probe = |name: &str, handler: &str| format!(r#""{name}":{handler}"#);
    let hook = |name: &str, handler: &str| format!(r#""lifecycle":{{"{name}":{handler}}}"#);
    let without = probe("livenessProbe", &host("httpGet", ""));
    check(&is, 34, &three("", &without, &probe("startupProbe", r#"{"exec":{}}"#)), "");
    for kind in ["httpGet", "tcpSocket"] {
        for place in ["livenessProbe", "readinessProbe", "startupProbe"] {
            let pod = three("", &probe(place, &host(kind, "h")), "");
            check(
                &is,
                34,
                &pod,
                r#"probe or lifecycle host: container "b" uses probe or lifecycle host "h""#,
            );
            check(&is, 33, &pod, "");
        }
        for place in ["postStart", "preStop"] {
            let pod = three(&hook(place, &host(kind, "h")), "", "");
            check(
                &is,
                34,
                &pod,
                r#"probe or lifecycle host: container "a" uses probe or lifecycle host "h""#,
            );
        }
    }
    let two = format!(
        "{},{}",
        probe("livenessProbe", &host("httpGet", "z")),
        hook("preStop", &host("tcpSocket", "h"))
    );
    check(
        &is,
        36,
        &three(&two, &probe("startupProbe", &host("tcpSocket", "h")), ""),
        r#"probe or lifecycle host: containers "a", "b" use probe or lifecycle hosts "h", "z""#,
    );
}

#[test]
fn users_that_are_not_root() {
    let is = run_as_non_root::CHECK;
    let (yes, no) = (r#""runAsNonRoot":true"#, r#""runAsNonRoot":false"#);
    let (not, must) =
        ("must not set securityContext.runAsNonRoot=false", "must set securityContext.runAsNonRoot=true");
    check(&is, 0, &with_context(yes, ""), "");
    check(&is, 0, &secured(yes, yes, yes), "");
    check(
        &is,
        0,
        &secured(yes, "", ""),
        &format!(r#"runAsNonRoot != true: pod or containers "b", "c" {must}"#),
    );
    check(&is, 0, &with_context(no, yes), &format!("runAsNonRoot != true: pod {not}"));
    check(&is, 0, &with_context(yes, no), &format!(r#"runAsNonRoot != true: container "b" {not}"#));
    check(&is, 0, &with_context(no, no), &format!(r#"runAsNonRoot != true: pod and container "b" {not}"#));
    // Wrong values are named before missing ones.
    check(&is, 0, &secured(no, "", ""), &format!(r#"runAsNonRoot != true: container "a" {not}"#));
    let relaxed = r#"{"spec":{"hostUsers":false,"containers":[{"name":"b"}]}}"#;
    let missing = format!(r#"runAsNonRoot != true: pod or container "b" {must}"#);
    check(&is, 34, relaxed, &missing);
    check(&is, 35, relaxed, "");
    check(&is, 35, &relaxed.replace("false", "true"), &missing);
}

#[test]
fn users() {
    let is = run_as_user::CHECK;
    let user = |id: i64| format!(r#""runAsUser":{id}"#);
    check(&is, 22, &with_context(&user(0), &user(0)), "");
    check(&is, 23, &with_context(&user(1), &user(1000)), "");
    check(&is, 23, &with_context(&user(0), ""), "runAsUser=0: pod must not set runAsUser=0");
    let both = r#"runAsUser=0: pod and container "b" must not set runAsUser=0"#;
    check(&is, 34, &with_context(&user(0), &user(0)), both);
    let two = r#"runAsUser=0: containers "a", "b" must not set runAsUser=0"#;
    check(&is, 36, &secured(&user(0), &user(0), &user(1)), two);
    let relaxed = with_context(&user(0), "").replacen(r#"{"spec":{"#, r#"{"spec":{"hostUsers":false,"#, 1);
    check(&is, 34, &relaxed, "runAsUser=0: pod must not set runAsUser=0");
    check(&is, 35, &relaxed, "");
}

fn seccomp(kind: &str) -> String {
    format!(r#""seccompProfile":{{"type":"{kind}"}}"#)
}

#[test]
fn seccomp_profiles_of_the_baseline() {
    let is = seccomp_baseline::CHECK;
    let annotated = |annotations: &str| {
        let head = format!(r#"{{"metadata":{{"annotations":{{{annotations}}}}},"#);
        three("", "", "").replacen('{', &head, 1)
    };
    let (pod, container) =
        ("seccomp.security.alpha.kubernetes.io/pod", "container.seccomp.security.alpha.kubernetes.io");
    let allowed = format!(
        r#""{pod}":"runtime/default","{container}/a":"docker/default","{container}/b":"localhost/x","{container}/d":"x""#
    );
    check(&is, 18, &annotated(&allowed), "");
    let one = annotated(&format!(r#""{pod}":"unconfined""#));
    check(&is, 0, &one, &format!(r#"seccompProfile: forbidden annotation {pod}="unconfined""#));
    check(&is, 19, &one, "");
    check(
        &is,
        18,
        &annotated(&format!(r#""{pod}":"","{container}/c":"a\"b","{container}/a":"x""#)),
        &format!(
            r#"seccompProfile: forbidden annotations {container}/a="x", {container}/c="a\"b", {pod}="""#
        ),
    );

    let must = "must not set securityContext.seccompProfile.type to";
    check(&is, 18, &with_context(&seccomp("Unconfined"), ""), "");
    check(&is, 19, &with_context("", ""), "");
    check(&is, 19, &with_context(&seccomp("RuntimeDefault"), &seccomp("Localhost")), "");
    check(
        &is,
        19,
        &with_context(&seccomp("Unconfined"), &seccomp("Localhost")),
        &format!(r#"seccompProfile: pod {must} "Unconfined""#),
    );
    check(
        &is,
        36,
        &with_context(&seccomp("Unconfined"), &seccomp("A")),
        &format!(r#"seccompProfile: pod and container "b" {must} "A", "Unconfined""#),
    );
}

#[test]
fn restricted_seccomp_profiles() {
    let is = seccomp_restricted::CHECK;
    let (good, bad) = (seccomp("RuntimeDefault"), seccomp("Unconfined"));
    let not = r#"must not set securityContext.seccompProfile.type to "Unconfined""#;
    let must = r#"must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost""#;
    check(&is, 18, &with_context("", ""), "");
    check(&is, 19, &with_context(&good, ""), "");
    check(&is, 19, &secured(&good, &seccomp("Localhost"), &good), "");
    check(&is, 19, &secured(&good, "", ""), &format!(r#"seccompProfile: pod or containers "b", "c" {must}"#));
    check(&is, 19, &with_context(&good, &bad), &format!(r#"seccompProfile: container "b" {not}"#));
    check(&is, 19, &with_context(&bad, &bad), &format!(r#"seccompProfile: pod and container "b" {not}"#));
    // Wrong values are named before missing ones.
    check(&is, 19, &with_context(&bad, ""), &format!("seccompProfile: pod {not}"));
    let windows = r#"{"spec":{"os":{"name":"windows"},"containers":[{"name":"b"}]}}"#;
    check(&is, 24, windows, &format!(r#"seccompProfile: pod or container "b" {must}"#));
    check(&is, 25, windows, "");
}

/// The reasons of a pod that violates every check.
fn reasons(level: Level, version: Version) -> String {
    let pod = decoded(
        "core/v1.Pod",
        r#"{"metadata":{"annotations":{"seccomp.security.alpha.kubernetes.io/pod":"x"}},"spec":{
            "hostPID":true,"volumes":[{"name":"v","hostPath":{"path":"/"}}],
            "securityContext":{"appArmorProfile":{"type":"x"},"seccompProfile":{"type":"x"},"seLinuxOptions":{"type":"x"},
                "sysctls":[{"name":"x"}],"windowsOptions":{"hostProcess":true},"runAsUser":0},
            "containers":[{"name":"c","ports":[{"hostPort":1}],"livenessProbe":{"tcpSocket":{"host":"h"}},
                "securityContext":{"privileged":true,"procMount":"x","capabilities":{"add":["x"]}}}]}}"#,
    );
    evaluate(LevelVersion { level, version }, &Pod::new(&pod)).reasons()
}

#[test]
fn checks_are_in_the_order_of_their_names_and_replaced_by_stricter_ones() {
    let (first, ports) = ("forbidden AppArmor profile", "hostPort");
    let baseline = "hostPort, probe or lifecycle host, privileged, procMount, seLinuxOptions";
    let last = "forbidden sysctls, hostProcess";
    for version in [Version::Latest, Version::Minor(36), Version::Minor(35), Version::Minor(1000)] {
        assert_eq!(
            reasons(Level::Baseline, version),
            format!(
                "{first}, non-default capabilities, host namespaces, hostPath volumes, {baseline}, seccompProfile, {last}"
            )
        );
        let restricted = "allowPrivilegeEscalation != false, unrestricted capabilities, procMount, restricted volume types, \
                          runAsNonRoot != true, runAsUser=0, seccompProfile";
        let without_mount = baseline.replace("procMount, ", "");
        assert_eq!(
            reasons(Level::Restricted, version),
            format!("{first}, host namespaces, {without_mount}, {last}, {restricted}")
        );
    }
    assert_eq!(reasons(Level::Privileged, Version::Latest), "");
    let old = format!("privileged, procMount, seLinuxOptions, seccompProfile, {last}");
    assert_eq!(
        reasons(Level::Baseline, Version::Minor(0)),
        format!("{first}, non-default capabilities, host namespaces, hostPath volumes, {ports}, {old}")
    );
    assert_eq!(
        reasons(Level::Restricted, Version::Minor(0)),
        format!(
            "{first}, non-default capabilities, host namespaces, {ports}, {old}, restricted volume types, runAsNonRoot != true"
        )
    );
    let newer = old.replace("seccompProfile, ", "");
    assert_eq!(
        reasons(Level::Restricted, Version::Minor(21)),
        format!(
            "{first}, non-default capabilities, host namespaces, {ports}, {newer}, allowPrivilegeEscalation != false, \
             restricted volume types, runAsNonRoot != true, seccompProfile"
        )
    );
}

#[test]
fn rules_are_in_ascending_order_of_versions() {
    for check in CHECKS {
        assert!(check.rules.is_sorted_by(|(one, _), (next, _)| one < next) && !check.rules.is_empty());
        assert!(check.level == Level::Baseline || check.replaced_since.is_none());
    }
    assert!(CHECKS.is_sorted_by_key(|check| check.level), "those of the baseline come first");
}
