use super::base;
use crate::framework::validation::testing::Base;

const PROBE: &str = "/spec/containers/0/livenessProbe";

#[test]
fn a_probe_has_one_valid_handler() {
    base().refuses(&[
        (&[(PROBE, "{}")], &["spec.containers[0].livenessProbe: Required value: must specify a handler type"]),
        (
            &[(PROBE, r#"{"exec": {"command": []}}"#)],
            &["spec.containers[0].livenessProbe.exec.command: Required value"],
        ),
        (
            &[(PROBE, r#"{"exec": {}, "httpGet": {"port": 0}, "tcpSocket": {"port": 0}, "grpc": {"port": 0}}"#)],
            &[
                "spec.containers[0].livenessProbe.exec.command: Required value",
                "spec.containers[0].livenessProbe.httpGet: Forbidden: may not specify more than 1 handler type",
                "spec.containers[0].livenessProbe.tcpSocket: Forbidden: may not specify more than 1 handler type",
                "spec.containers[0].livenessProbe.grpc: Forbidden: may not specify more than 1 handler type",
            ],
        ),
        (
            &[(PROBE, r#"{"tcpSocket": {"port": "-"}}"#)],
            &[
                "spec.containers[0].livenessProbe.tcpSocket.port: Invalid value: \"-\": must contain at least one letter \
                 (a-z)",
                "spec.containers[0].livenessProbe.tcpSocket.port: Invalid value: \"-\": must not begin or end with a hyphen",
            ],
        ),
        (
            &[(PROBE, r#"{"grpc": {"port": 65536}}"#)],
            &["spec.containers[0].livenessProbe.grpc.port: Invalid value: 65536: must be between 1 and 65535, inclusive"],
        ),
    ]);
    base().accepts(&[
        &[(PROBE, r#"{"exec": {"command": ["c"]}}"#)],
        &[(PROBE, r#"{"tcpSocket": {"port": "http"}}"#)],
        &[(PROBE, r#"{"grpc": {"port": 80, "service": "s"}}"#)],
    ]);
}

#[test]
fn http_requests_are_valid() {
    base().refuses(&[
        (
            &[(PROBE, r#"{"httpGet": {"port": 0, "scheme": "http", "httpHeaders": [{"name": "a b", "value": ""}]}}"#)],
            &[
                "spec.containers[0].livenessProbe.httpGet.port: Invalid value: 0: must be between 1 and 65535, inclusive",
                "spec.containers[0].livenessProbe.httpGet.scheme: Unsupported value: \"http\": supported values: \"HTTP\", \
                 \"HTTPS\"",
                "spec.containers[0].livenessProbe.httpGet.httpHeaders: Invalid value: \"a b\": a valid HTTP header must \
                 consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for validation is \
                 '[-A-Za-z0-9]+')",
            ],
        ),
        (
            &[(PROBE, r#"{"httpGet": {"port": "80"}}"#)],
            &["spec.containers[0].livenessProbe.httpGet.port: Invalid value: \"80\": must contain at least one letter (a-z)"],
        ),
    ]);
    base().accepts(&[&[(
        PROBE,
        r#"{"httpGet": {"port": "http", "scheme": "HTTPS", "path": "/p", "httpHeaders": [{"name": "X-A", "value": "b"}]}}"#,
    )]]);
}

#[test]
fn numbers_of_probes_fit_their_kind() {
    let of = |fields: &str| format!(r#"{{"exec": {{"command": ["c"]}}, {fields}}}"#);
    let negative =
        of(r#""initialDelaySeconds": -1, "timeoutSeconds": -2, "periodSeconds": -3, "successThreshold": -4,
        "failureThreshold": -5, "terminationGracePeriodSeconds": 0"#);
    let twice = of(r#""successThreshold": 2"#);
    let grace = of(r#""terminationGracePeriodSeconds": 1"#);
    let below = |probe: &str, field: &str, value: i64| {
        format!(
            "spec.containers[0].{probe}.{field}: Invalid value: {value}: must be greater than or equal to 0"
        )
    };
    let all = |probe: &str| {
        [
            below(probe, "initialDelaySeconds", -1),
            below(probe, "timeoutSeconds", -2),
            below(probe, "periodSeconds", -3),
            below(probe, "successThreshold", -4),
            below(probe, "failureThreshold", -5),
            format!(
                "spec.containers[0].{probe}.terminationGracePeriodSeconds: Invalid value: 0: must be greater than 0"
            ),
        ]
    };
    for probe in ["livenessProbe", "startupProbe"] {
        let (at, expected) = (format!("/spec/containers/0/{probe}"), all(probe));
        let threshold = |value: i64| {
            format!("spec.containers[0].{probe}.successThreshold: Invalid value: {value}: must be 1")
        };
        let [one, two] = [threshold(-4), threshold(2)];
        let expected: Vec<&str> = expected.iter().chain([&one]).map(String::as_str).collect();
        base().refuses(&[(&[(&at, &negative)], &expected), (&[(&at, &twice)], &[&two])]);
        base().accepts(&[&[(&at, &grace)]]);
    }
    const READINESS: &str = "/spec/containers/0/readinessProbe";
    let unset = |seconds: i64| {
        format!(
            "spec.containers[0].readinessProbe.terminationGracePeriodSeconds: Invalid value: {seconds}: must not be set for \
             readinessProbes"
        )
    };
    let (expected, [zero, one]) = (all("readinessProbe"), [unset(0), unset(1)]);
    let expected: Vec<&str> = expected.iter().chain([&zero]).map(String::as_str).collect();
    base().refuses(&[(&[(READINESS, &negative)], &expected), (&[(READINESS, &grace)], &[&one])]);
    base().accepts(&[&[(READINESS, &twice)]]);
}

#[test]
fn hooks_have_one_valid_handler() {
    const HOOKS: &str = "/spec/containers/0/lifecycle";
    base().refuses(&[
        (
            &[(HOOKS, r#"{"postStart": {}, "preStop": {}}"#)],
            &[
                "spec.containers[0].lifecycle.postStart: Required value: must specify a handler type",
                "spec.containers[0].lifecycle.preStop: Required value: must specify a handler type",
            ],
        ),
        (
            &[(HOOKS, r#"{"preStop": {"exec": {"command": ["c"]}, "sleep": {"seconds": -1}}}"#)],
            &["spec.containers[0].lifecycle.preStop.sleep: Forbidden: may not specify more than 1 handler type"],
        ),
        (
            &[(HOOKS, r#"{"preStop": {"sleep": {"seconds": 31}}, "postStart": {"sleep": {"seconds": -1}}}"#)],
            &[
                "spec.containers[0].lifecycle.postStart.sleep: Invalid value: -1: must be non-negative and less than \
                 terminationGracePeriodSeconds (30)",
                "spec.containers[0].lifecycle.preStop.sleep: Invalid value: 31: must be non-negative and less than \
                 terminationGracePeriodSeconds (30)",
            ],
        ),
        (
            &[("/spec/initContainers/1/lifecycle", r#"{"preStop": {"sleep": {"seconds": 31}}}"#)],
            &["spec.initContainers[1].lifecycle.preStop.sleep: Invalid value: 31: must be non-negative and less than \
               terminationGracePeriodSeconds (30)"],
        ),
    ]);
    base().accepts(&[
        &[(HOOKS, "{}")],
        &[(HOOKS, r#"{"preStop": {"sleep": {"seconds": 0}}, "postStart": {"sleep": {"seconds": 30}}}"#)],
        &[(
            HOOKS,
            r#"{"preStop": {"httpGet": {"port": 80, "path": "/"}}, "postStart": {"tcpSocket": {"port": 1}}}"#,
        )],
    ]);
}

#[test]
fn stop_signals_are_of_the_operating_system() {
    use pintle_features::Feature;
    let base = Base::with_features(
        "",
        "pods",
        r#"{"metadata": {"name": "a", "namespace": "n"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}"#,
        &[(Feature::ContainerStopSignals, true)],
    );
    const SIGNAL: &str = "/spec/containers/0/lifecycle/stopSignal";
    let linux = &[("/spec/os/name", r#""linux""#), (SIGNAL, r#""SIGNONE""#)];
    base.refuses(&[
        (
            &[(SIGNAL, r#""SIGTERM""#)],
            &["spec.containers[0].lifecycle.stopSignal: Forbidden: may not be set for containers with empty `spec.os.name`"],
        ),
        (&[(SIGNAL, r#""x""#), ("/spec/os", "{}")], &["spec.os.name: Required value"]),
        (
            &[("/spec/os/name", r#""windows""#), (SIGNAL, r#""SIGHUP""#)],
            &["spec.containers[0].lifecycle.stopSignal: Unsupported value: \"SIGHUP\": supported values: \"SIGKILL\", \
               \"SIGTERM\""],
        ),
        (
            linux,
            &["spec.containers[0].lifecycle.stopSignal: Unsupported value: \"SIGNONE\": supported values: \"SIGABRT\", \
               \"SIGALRM\", \"SIGBUS\", \"SIGCHLD\", \"SIGCLD\", \"SIGCONT\", \"SIGFPE\", \"SIGHUP\", \"SIGILL\", \
               \"SIGINT\", \"SIGIO\", \"SIGIOT\", \"SIGKILL\", \"SIGPIPE\", \"SIGPOLL\", \"SIGPROF\", \"SIGPWR\", \
               \"SIGQUIT\", \"SIGRTMAX\", \"SIGRTMAX-1\", \"SIGRTMAX-10\", \"SIGRTMAX-11\", \"SIGRTMAX-12\", \
               \"SIGRTMAX-13\", \"SIGRTMAX-14\", \"SIGRTMAX-2\", \"SIGRTMAX-3\", \"SIGRTMAX-4\", \"SIGRTMAX-5\", \
               \"SIGRTMAX-6\", \"SIGRTMAX-7\", \"SIGRTMAX-8\", \"SIGRTMAX-9\", \"SIGRTMIN\", \"SIGRTMIN+1\", \
               \"SIGRTMIN+10\", \"SIGRTMIN+11\", \"SIGRTMIN+12\", \"SIGRTMIN+13\", \"SIGRTMIN+14\", \"SIGRTMIN+15\", \
               \"SIGRTMIN+2\", \"SIGRTMIN+3\", \"SIGRTMIN+4\", \"SIGRTMIN+5\", \"SIGRTMIN+6\", \"SIGRTMIN+7\", \
               \"SIGRTMIN+8\", \"SIGRTMIN+9\", \"SIGSEGV\", \"SIGSTKFLT\", \"SIGSTOP\", \"SIGSYS\", \"SIGTERM\", \
               \"SIGTRAP\", \"SIGTSTP\", \"SIGTTIN\", \"SIGTTOU\", \"SIGURG\", \"SIGUSR1\", \"SIGUSR2\", \"SIGVTALRM\", \
               \"SIGWINCH\", \"SIGXCPU\", \"SIGXFSZ\""],
        ),
    ]);
    base.accepts(&[
        &[("/spec/os/name", r#""linux""#), (SIGNAL, r#""SIGRTMIN+3""#)],
        &[("/spec/os/name", r#""windows""#), (SIGNAL, r#""SIGTERM""#)],
    ]);
}
