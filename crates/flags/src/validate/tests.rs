use std::ffi::OsString;

use crate::command_line;

/// The message of an invalid command line.
fn error(args: &[&str]) -> String {
    match command_line("pintle", args.iter().map(OsString::from), 0) {
        Ok(_) => panic!("{args:?} is valid"),
        Err(error) => error.to_string(),
    }
}

fn valid(args: &[&str]) {
    if let Err(error) = command_line("pintle", args.iter().map(OsString::from), 0) {
        panic!("{args:?}: {error}");
    }
}

fn check(cases: &[(&[&str], &str)]) {
    for (args, want) in cases {
        assert_eq!(error(args), *want, "{args:?}");
    }
}

#[test]
fn no_flag_at_all_is_valid() {
    valid(&[]);
}

#[test]
fn all_problems_are_reported_at_once() {
    assert_eq!(
        error(&["--secure-port=0", "--request-timeout=-1s", "--tls-cert-file=a"]),
        "[--request-timeout can not be negative value, --secure-port 0 must be between 1 and 65535, inclusive. It \
         cannot be turned off with 0, --tls-cert-file and --tls-private-key-file must be specified together]"
    );
}

#[test]
fn server_limits_have_ranges() {
    check(&[
        (&["--livez-grace-period=-1s"], "--livez-grace-period can not be a negative value"),
        (&["--max-requests-inflight=-1"], "--max-requests-inflight can not be negative value"),
        (&["--min-request-timeout=-1"], "--min-request-timeout can not be negative value"),
        (&["--shutdown-delay-duration=-1s"], "--shutdown-delay-duration can not be negative value"),
        (&["--goaway-chance=0.03"], "--goaway-chance can not be less than 0 or greater than 0.02"),
        (&["--goaway-chance=nan"], "--goaway-chance can not be less than 0 or greater than 0.02"),
        (
            &["--max-requests-inflight=0", "--max-mutating-requests-inflight=0"],
            "--max-requests-inflight and --max-mutating-requests-inflight must add up to something positive with \
             --enable-priority-and-fairness",
        ),
    ]);
    valid(&[
        "--max-requests-inflight=0",
        "--max-mutating-requests-inflight=0",
        "--enable-priority-and-fairness=false",
    ]);
    valid(&["--goaway-chance=.001"]);
}

#[test]
fn headers_are_checked() {
    valid(&["--strict-transport-security-directives=max-age=31536000,includeSubDomains,preload"]);
    assert!(
        error(&["--strict-transport-security-directives=forever"])
            .contains("allowed values: max-age=expireTime")
    );
    check(&[
        (
            &["--strict-transport-security-directives=,preload"],
            "empty value in --strict-transport-security-directives",
        ),
        (
            &["--cors-allowed-origins=example.com"],
            "--cors-allowed-origins has an invalid regular expression: regular expression does not pin to start/end \
             of host in the origin header",
        ),
        (&["--cors-allowed-origins=,//a$"], "empty value in --cors-allowed-origins"),
    ]);
    assert_eq!(
        error(&["--cors-allowed-origins=^//(a$"]),
        "--cors-allowed-origins has an invalid regular expression: error parsing regexp: missing closing ): `^//(a$`"
    );
    valid(&[r"--cors-allowed-origins=^https://[\w-.]+\.example$"]);
    valid(&[r"--cors-allowed-origins=//example\.com(:|$),^https://a\.b$"]);
}

#[test]
fn the_two_stores_exclude_each_other() {
    check(&[
        (
            &["--etcd-servers=http://a:2379", "--data-dir=/x"],
            "--data-dir is for the embedded store and excludes --etcd-servers",
        ),
        (
            &["--etcd-servers=http://a:2379", "--unsafe-no-fsync"],
            "--unsafe-no-fsync is for the embedded store and excludes --etcd-servers",
        ),
        (&["--etcd-certfile=a"], "--etcd-certfile and --etcd-keyfile must be specified together"),
        (
            &["--storage-backend=etcd2"],
            "--storage-backend invalid, allowed values: etcd3. If not specified, it will default to 'etcd3'",
        ),
        (
            &["--storage-media-type=text/plain"],
            "--storage-media-type \"text/plain\" invalid, allowed values: application/json, \
             application/vnd.kubernetes.protobuf, application/yaml",
        ),
        (
            &["--encryption-provider-config-automatic-reload"],
            "--encryption-provider-config-automatic-reload must be set with --encryption-provider-config",
        ),
        (
            &["--etcd-servers-overrides=/events#http://a:2379"],
            "--etcd-servers-overrides needs --etcd-servers",
        ),
        (&["--watch-cache-sizes=pods#x"], "--watch-cache-sizes: invalid size of watch cache size: pods#x"),
        (
            &["--watch-cache-sizes=pods#-1"],
            "--watch-cache-sizes: watch cache size cannot be negative: pods#-1",
        ),
    ]);
    let etcd = "--etcd-servers=http://a:2379";
    let malformed = error(&[etcd, "--etcd-servers-overrides=events#http://a"]);
    assert!(malformed.starts_with("--etcd-servers-overrides invalid"), "{malformed}");
    valid(&[
        etcd,
        "--etcd-servers-overrides=/events#http://a:2379;http://b:2379",
        "--watch-cache-sizes=pods#0",
    ]);
    valid(&["--data-dir=:memory:", "--unsafe-no-fsync"]);
    valid(&["--etcd-servers=http://a:2379", "--data-dir="]);
}

#[test]
fn serving_names_are_checked() {
    check(&[
        (&["--tls-min-version=TLS1.2"], "--tls-min-version: unknown tls version \"TLS1.2\""),
        (
            &["--tls-cipher-suites=TLS_AES_128_GCM_SHA256,TLS_NOPE"],
            "--tls-cipher-suites: Cipher suite TLS_NOPE not supported or doesn't exist",
        ),
        (&["--tls-curve-preferences=29,29"], "--tls-curve-preferences: duplicate curve preference 29"),
        (&["--tls-curve-preferences=1"], "--tls-curve-preferences: curve preference 1 is not supported"),
        (
            &["--tls-curve-preferences=0"],
            "--tls-curve-preferences: curve preference 0 is out of range (must be 1-65535)",
        ),
    ]);
    assert!(error(&["--secure-port=65536"]).starts_with("--secure-port 65536 must be between 1 and 65535"));
    valid(&["--tls-min-version=VersionTLS13", "--tls-curve-preferences=29,4588"]);
}

#[test]
fn service_account_flags_belong_together() {
    let incomplete = "--service-account-signing-key-file, --service-account-issuer, and --api-audiences should be \
                      specified together";
    check(&[
        (
            &["--service-account-issuer=a", "--service-account-key-file=k"],
            "--service-account-signing-key-file, --service-account-issuer, and --api-audiences should be specified \
             together",
        ),
        (
            &["--service-account-issuer=a", "--service-account-signing-key-file=k"],
            "either `--service-account-key-file` or `--service-account-signing-endpoint` must be set",
        ),
        (
            &["--service-account-max-token-expiration=1m"],
            "the service-account-max-token-expiration must be between 1 hour and 2^32 seconds",
        ),
        (
            &["--service-account-jwks-uri=http://a/jwks"],
            "service-account-jwks-uri requires https scheme, parsed as: http://a/jwks",
        ),
    ]);
    let text = error(&["--service-account-key-file=k"]);
    assert!(
        text.contains("--service-account-issuer is a required flag") && text.contains(incomplete),
        "{text}"
    );
    let complete = ["--service-account-key-file=k", "--service-account-signing-key-file=k"];
    let with = |issuers: &[&'static str]| [&complete[..], issuers].concat();
    valid(&with(&["--service-account-issuer=https://a"]));
    valid(&with(&["--service-account-issuer=kubernetes/serviceaccount"]));
    assert_eq!(
        error(&with(&["--service-account-issuer=a", "--service-account-issuer=a"])),
        "service-account-issuer \"a\" is already specified"
    );
    assert_eq!(
        error(&with(&["--service-account-issuer=://a"])),
        "service-account-issuer \"://a\" contained a ':' but was not a valid URL: parse \"://a\": missing protocol \
         scheme"
    );
    assert_eq!(
        error(&with(&["--service-account-issuer=https://a:b/"])),
        "service-account-issuer \"https://a:b/\" contained a ':' but was not a valid URL: parse \"https://a:b/\": \
         invalid port \":b\" after host"
    );
    let text =
        error(&with(&["--service-account-issuer=https://a", "--service-account-signing-endpoint=@a b"]));
    assert!(
        text.contains("(They are mutually exclusive)") && text.contains("valid abstract socket name"),
        "{text}"
    );
}

#[test]
fn authorization_modes_need_their_files() {
    check(&[
        (&["--authorization-mode=RBAC,Nope"], "authorization-mode \"Nope\" is not a valid mode"),
        (&["--authorization-mode=ABAC"], "authorization-mode ABAC's authorization policy file not passed"),
        (
            &["--authorization-mode=Webhook"],
            "authorization-mode Webhook's authorization config file not passed",
        ),
        (
            &["--authorization-mode=RBAC", "--authorization-policy-file=p"],
            "cannot specify --authorization-policy-file without mode ABAC",
        ),
        (
            &["--authorization-mode=RBAC,RBAC"],
            "authorization-mode [\"RBAC\" \"RBAC\"] has mode specified more than once",
        ),
        (
            &["--authorization-config=c", "--authorization-mode=RBAC"],
            "--authorization-config can not be specified when --authorization-mode or --authorization-webhook-* flags \
             are defined",
        ),
    ]);
    valid(&["--authorization-mode=Node,RBAC"]);
    valid(&["--authorization-config=c"]);
}

#[test]
fn authentication_flags_belong_together() {
    check(&[
        (
            &["--oidc-username-claim=email"],
            "oidc-issuer-url and oidc-client-id must be specified together when any oidc-* flags are set",
        ),
        (
            &["--authentication-config=c", "--oidc-issuer-url=https://a"],
            "authentication-config file and oidc-* flags are mutually exclusive",
        ),
        (
            &["--requestheader-username-headers=X-Remote-User, "],
            "empty value in \"requestheader-username-headers\"",
        ),
        (
            &["--requestheader-uid-headers=X-Uid"],
            "--requestheader-uid-headers is set without specifying the standard X-Remote-Uid header - API \
             aggregation will not work",
        ),
        (
            &["--requestheader-uid-headers=X-Remote-Uid", "--feature-gates=RemoteRequestHeaderUID=false"],
            "--requestheader-uid-headers requires the \"RemoteRequestHeaderUID\" feature to be enabled",
        ),
    ]);
    valid(&["--oidc-issuer-url=https://a", "--oidc-client-id=b", "--oidc-required-claim=a=b"]);
}

#[test]
fn audit_backends_are_checked_when_on() {
    valid(&["--audit-log-mode=nope", "--audit-log-maxage=-1"]);
    check(&[
        (
            &["--audit-log-path=-", "--audit-log-mode=nope"],
            "invalid audit log mode nope, allowed modes are \"batch,blocking,blocking-strict\"",
        ),
        (
            &["--audit-log-path=-", "--audit-log-format=xml"],
            "invalid audit log format xml, allowed formats are \"legacy,json\"",
        ),
        (
            &["--audit-log-path=-", "--audit-log-maxage=-1"],
            "--audit-log-maxage -1 can't be a negative number",
        ),
        (
            &["--audit-webhook-config-file=c", "--audit-webhook-batch-throttle-qps=0"],
            "invalid audit batch webhook throttle QPS 0, must be a positive number",
        ),
        (
            &["--audit-webhook-config-file=c", "--audit-webhook-batch-buffer-size=0"],
            "invalid audit batch webhook buffer size 0, must be a positive number",
        ),
        (
            &["--audit-webhook-config-file=c", "--audit-webhook-truncate-max-batch-size=1"],
            "invalid audit truncate webhook max batch size 1, must be greater than max event size (102400)",
        ),
    ]);
    assert!(
        error(&["--audit-log-path=-", "--audit-log-version=audit.k8s.io/v1beta1"])
            .contains("invalid group version, allowed versions are [\"audit.k8s.io/v1\"]")
    );
}

#[test]
fn admission_plugins_and_api_groups_must_exist() {
    check(&[
        (&["--admission-control=Nope"], "admission-control plugin \"Nope\" is unknown"),
        (&["--enable-admission-plugins=Nope"], "enable-admission-plugins plugin \"Nope\" is unknown"),
        (&["--disable-admission-plugins=Nope"], "disable-admission-plugins plugin \"Nope\" is unknown"),
        (
            &["--enable-admission-plugins=Priority,PodSecurity", "--disable-admission-plugins=PodSecurity"],
            "[PodSecurity] in enable-admission-plugins and disable-admission-plugins overlapped",
        ),
        (
            &["--admission-control=Priority", "--enable-admission-plugins=Priority"],
            "admission-control and enable-admission-plugins/disable-admission-plugins flags are mutually exclusive",
        ),
        (&["--runtime-config=api/all=false"], "invalid runtime-config with only api/all=false"),
        (&["--runtime-config=example.com/v1=true"], "--runtime-config: unknown api groups example.com/v1"),
        (&["--runtime-config=apps=true"], "runtime-config invalid key apps"),
        (&["--runtime-config=api/beta=yes"], "--runtime-config: invalid value api/beta=yes"),
        (
            &["--runtime-config=api/all=false,v1=true"],
            "--runtime-config=api/all=false conflicts with --enable-priority-and-fairness=true",
        ),
        (
            &["--runtime-config=flowcontrol.apiserver.k8s.io/v1=false"],
            "--runtime-config=flowcontrol.apiserver.k8s.io/v1=false conflicts with \
             --enable-priority-and-fairness=true",
        ),
    ]);
    valid(&["--runtime-config=api/all=false,api/ga=true,v1,apps/v1=true,batch/v1/jobs=false,api/legacy=x"]);
}

#[test]
fn service_networks_are_checked() {
    let range = |value: &str| format!("--service-cluster-ip-range={value}");
    for good in ["10.0.0.0/24", "10.96.0.0/12", "10.96.0.0/16,fd00:10:96::/112", "fd00::/108"] {
        valid(&[&range(good)]);
    }
    check(&[
        (&[&range("10.0.0.0")], "--service-cluster-ip-range[0] \"10.0.0.0\" is not a valid cidr"),
        (
            &[&range("10.0.0.0/16,10.1.0.0/16")],
            "--service-cluster-ip-range[0] and --service-cluster-ip-range[1] must be of different IP family",
        ),
        (
            &[&range("10.0.0.0/30")],
            "--service-cluster-ip-range: the service cluster IP range must be at least 8 IP addresses",
        ),
        (
            &[&range("10.0.0.0/16,fd00::/112,10.1.0.0/16")],
            "--service-cluster-ip-range must not contain more than two entries",
        ),
        (
            &[&range("10.0.0.0/16"), "--advertise-address=fd00::1"],
            "service IP family \"10.0.0.0/16\" must match public address family \"fd00::1\"",
        ),
        (
            &["--kubernetes-service-node-port=80"],
            "kubernetes service node port range 30000-32767 doesn't contain 80",
        ),
        (
            &["--coordinated-leadership-renew-deadline=15s"],
            "--coordinated-leadership-lease-duration must be greater than --coordinated-leadership-renew-deadline",
        ),
        (&["--apiserver-count=0"], "--apiserver-count should be a positive number, but value '0' provided"),
        (
            &["--endpoint-reconciler-type=magic"],
            "--endpoint-reconciler-type \"magic\" is unknown, use lease, master-count or none",
        ),
        (
            &["--peer-ca-file=a", "--feature-gates=UnknownVersionInteroperabilityProxy=false"],
            "--peer-ca-file requires UnknownVersionInteroperabilityProxy feature to be turned on",
        ),
    ]);
}

#[test]
fn log_options_need_their_gates() {
    check(&[
        (&["--logging-format=xml"], "--logging-format \"xml\" is not supported, use text or json"),
        (&["--log-flush-frequency=0"], "--log-flush-frequency 0s must be greater than zero"),
        (&["--logging-format=json", "--vmodule=a=1"], "--vmodule is only supported for text log format"),
        (&["--log-text-split-stream"], "--log-text-split-stream: Feature LoggingAlphaOptions is disabled"),
        (
            &["--logging-format=json", "--feature-gates=LoggingBetaOptions=false"],
            "--logging-format=json is disabled, see LoggingBetaOptions feature",
        ),
    ]);
    valid(&[
        "--log-json-split-stream",
        "--log-json-info-buffer-size=64Ki",
        "--feature-gates=LoggingAlphaOptions=true",
    ]);
}

#[test]
fn versions_are_within_three_releases() {
    check(&[
        (
            &["--emulated-version=1.32"],
            "[--emulated-version: emulation version 1.32 is not between [1.33, 1.36], --min-compatibility-version: \
             minCompatibilityVersion version 1.33 is not between [1.33, 1.32]]",
        ),
        (
            &["--emulated-version=kube=1.37"],
            "--emulated-version: emulation version 1.37 is not between [1.33, 1.36]",
        ),
        (&["--emulated-version=1.35.1"], "--emulated-version: patch version not allowed, got: kube=1.35.1"),
        (&["--emulated-version=new"], "--emulated-version: could not parse \"new\" as version"),
        (&["--emulated-version=wardle=1.2"], "--emulated-version: component not registered: wardle"),
        (
            &["--emulated-version=1.35,kube=1.34"],
            "--emulated-version: duplicate version flag, kube=1.35 and kube=1.34",
        ),
        (
            &["--emulation-forward-compatible"],
            "--emulation-forward-compatible cannot be set to true if the emulation version is the same as the binary \
             version",
        ),
    ]);
    valid(&["--emulated-version=1.35", "--emulation-forward-compatible", "--min-compatibility-version=1.34"]);
}

#[test]
fn gates_are_checked_with_the_rest() {
    assert_eq!(
        error(&["--feature-gates=Nope=true", "--secure-port=0"]),
        "[unrecognized feature gate: Nope, --secure-port 0 must be between 1 and 65535, inclusive. It cannot be \
         turned off with 0]"
    );
}

#[test]
fn metric_names_are_checked() {
    check(&[
        (
            &["--show-hidden-metrics-for-version=1.34"],
            "--show-hidden-metrics-for-version \"1.34\" must be omitted or have the value '1.35'; only the previous \
             minor version is allowed",
        ),
        (
            &["--disabled-metrics=a-b"],
            "--disabled-metrics must be fully qualified metric names matching \"^[a-zA-Z_:][a-zA-Z0-9_:]*$\", got \
             \"a-b\"",
        ),
        (
            &["--allow-metric-labels=a=b"],
            "--allow-metric-labels must have keys with format `metricName,labelName`, got \"a\"",
        ),
    ]);
    valid(&["--allow-metric-labels=m,l=v1", "--disabled-metrics=apiserver_request_total"]);
}

#[test]
fn authorities_come_with_their_keys_and_of_one_kind() {
    check(&[
        (
            &["--cluster-signing-cert-file=a"],
            "--cluster-signing-cert-file and --cluster-signing-key-file must be given together",
        ),
        (
            &["--cluster-signing-kubelet-serving-key-file=a"],
            "--cluster-signing-kubelet-serving-cert-file and --cluster-signing-kubelet-serving-key-file must be given together",
        ),
        (
            &[
                "--cluster-signing-cert-file=a",
                "--cluster-signing-key-file=b",
                "--cluster-signing-legacy-unknown-cert-file=a",
                "--cluster-signing-legacy-unknown-key-file=b",
            ],
            "cannot specify default and per controller certs at the same time",
        ),
        (&["--cluster-signing-duration=0s"], "--cluster-signing-duration must be greater than zero"),
    ]);
    valid(&["--cluster-signing-kubelet-client-cert-file=a", "--cluster-signing-kubelet-client-key-file=b"]);
}
