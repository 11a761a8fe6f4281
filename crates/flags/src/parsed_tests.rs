use super::*;
use crate::kind::Kind;
use crate::{CommandLine, command_line};

fn run(args: &[&str]) -> Parsed {
    match command_line("pintle", args.iter().map(OsString::from), 0) {
        Ok(CommandLine::Run(parsed)) => *parsed,
        Ok(CommandLine::Print(text)) => panic!("{args:?} printed {text}"),
        Err(error) => panic!("{args:?}: {error}"),
    }
}

#[test]
fn every_flag_is_readable_by_the_method_of_its_kind() {
    let flags = run(&[]);
    for flag in table::all() {
        assert!(!flags.changed(flag.name));
        let name = flag.name;
        match flag.kind {
            Kind::Bool => drop(flags.bool(name)),
            Kind::String => drop(flags.string(name).len()),
            Kind::Strings | Kind::StringArray => drop(flags.strings(name).len()),
            Kind::Int => drop(flags.int(name)),
            Kind::Uint => drop(flags.uint(name)),
            Kind::Float | Kind::Float32 => drop(flags.float(name)),
            Kind::Duration => assert!(flags.duration(name).as_nanos() as i64 == flags.duration_nanos(name)),
            Kind::Ip => drop(flags.ip(name)),
            Kind::Pairs | Kind::PairsOneEach | Kind::QuotedPairs => drop(flags.pairs(name).len()),
            Kind::Multimap => drop(flags.multimap(name).len()),
            Kind::NamedCertKey => drop(flags.cert_keys(name).len()),
            Kind::Int32Slice => drop(flags.int32s(name).len()),
            Kind::Quantity => drop(flags.quantity(name)),
            Kind::Level => drop(flags.level(name)),
            Kind::VModule => drop(flags.vmodule(name).len()),
            Kind::Version => assert_eq!(*flags.version(name), VersionRequest::None),
            Kind::PortRange => assert!(flags.port_range(name).is_some()),
        }
    }
}

#[test]
#[should_panic(expected = "there is no flag --no-such")]
fn asking_for_an_unknown_flag_is_a_bug() {
    run(&[]).bool("no-such");
}

#[test]
#[should_panic(expected = "--secure-port is of kind int, not string")]
fn asking_with_another_kind_is_a_bug() {
    run(&[]).string("secure-port");
}

#[test]
fn flags_without_effect_are_warned_about_once_when_they_differ_from_the_default() {
    let flags = run(&[
        "--peer-advertise-port=1",
        "--peer-advertise-port=2",
        "--event-ttl=60m",
        "--max-requests-inflight=400",
        "--secure-port=7443",
        "--tracing-config-file=/t",
        "--feature-gates=NativeHistograms=true",
    ]);
    assert_eq!(
        flags.warnings(),
        [
            "--tracing-config-file has no effect in this version of Pintle",
            "--peer-advertise-port has no effect in this version of Pintle",
            "feature gate NativeHistograms=true has no effect in this version of Pintle",
        ]
    );
    assert!(run(&[]).warnings().is_empty());
}

#[test]
fn a_gate_whose_feature_is_there_in_part_says_so() {
    assert_eq!(
        run(&["--feature-gates=UnknownVersionInteroperabilityProxy=false"]).warnings(),
        [
            "feature gate UnknownVersionInteroperabilityProxy=false has not all of its effects in this version of \
             Pintle"
        ]
    );
}

#[test]
fn naming_the_version_one_has_is_not_worth_a_warning() {
    assert!(run(&["--emulated-version=kube=1.36"]).warnings().is_empty());
    assert!(run(&["--emulated-version=1.36.0", "--min-compatibility-version=1.35"]).warnings().is_empty());
    assert_eq!(
        run(&["--emulated-version=1.35"]).warnings(),
        ["--emulated-version has no effect in this version of Pintle"]
    );
}

#[test]
fn moot_flags_say_why_unless_moot_in_the_reference() {
    let flags = run(&["--watch-cache=false", "--default-watch-cache-size=0"]);
    let why = "has no effect in Pintle: watch caches have the size that is needed";
    assert_eq!(flags.warnings(), [format!("--default-watch-cache-size {why}")]);
    assert!(run(&["--watch-cache-sizes=pods#100", "--default-watch-cache-size=7"]).warnings().is_empty());
}

#[test]
fn deprecated_flags_work_and_say_so() {
    let flags = run(&["--kubelet-port=10250", "--admission-control=NamespaceLifecycle"]);
    assert_eq!(
        flags.deprecations(),
        [
            "Flag --kubelet-port has been deprecated, kubelet-port is deprecated and will be removed.",
            "Flag --admission-control has been deprecated, Use --enable-admission-plugins or \
             --disable-admission-plugins instead. Will be removed in a future version.",
        ]
    );
    assert_eq!(flags.uint("kubelet-port"), 10_250);
}

#[test]
fn admission_plugins_are_on_by_default_by_name_or_by_list() {
    // Without this, nodes are restricted too.
    let plugins = |args: &[&str]| {
        let args = [&["--authorization-mode=Node,RBAC"], args].concat();
        run(&args).admission_plugins().collect::<Vec<_>>()
    };
    let default = plugins(&[]);
    assert_eq!(default.len(), 27);
    assert_eq!(default[..3], ["NamespaceLifecycle", "LimitRanger", "ServiceAccount"]);
    assert_eq!(default[26], "ResourceQuota");
    let more = plugins(&["--enable-admission-plugins=AlwaysDeny,NamespaceExists,LimitRanger"]);
    assert_eq!(more.len(), 29);
    assert_eq!((more[1], more[28]), ("NamespaceExists", "AlwaysDeny"));
    let fewer = plugins(&["--disable-admission-plugins=NamespaceLifecycle,AlwaysAdmit"]);
    assert_eq!((fewer.len(), fewer[0]), (26, "LimitRanger"));
    assert_eq!(
        plugins(&["--admission-control=Priority,NamespaceLifecycle"]),
        ["NamespaceLifecycle", "Priority"]
    );
    assert!(plugins(&["--admission-control="]).is_empty());
}

#[test]
fn data_lives_where_the_user_keeps_data() {
    let at = |args: &[&str], vars: &[(&str, &str)]| {
        run(args).data_dir(|name| vars.iter().find(|(key, _)| *key == name).map(|(_, value)| value.into()))
    };
    let path = |path: &str| Ok(DataDir::Path(path.into()));
    assert_eq!(at(&[], &[("HOME", "/home/a")]), path("/home/a/.local/share/pintle"));
    assert_eq!(at(&[], &[("HOME", "/home/a"), ("XDG_DATA_HOME", "/data")]), path("/data/pintle"));
    assert_eq!(at(&[], &[("HOME", "/home/a"), ("XDG_DATA_HOME", "")]), path("/home/a/.local/share/pintle"));
    assert_eq!(at(&["--data-dir=/x"], &[]), path("/x"));
    assert_eq!(at(&["--data-dir", ":memory:"], &[]), Ok(DataDir::Memory));
    let error = at(&[], &[]).unwrap_err().to_string();
    assert!(error.starts_with("--data-dir must be set"), "{error}");
}

#[test]
fn a_version_to_report_can_be_given() {
    assert_eq!(run(&[]).reported_version(), "v1.36.4");
    assert_eq!(run(&["--version=v1.36.4-vendor.1"]).reported_version(), "v1.36.4-vendor.1");
}

#[test]
fn help_and_version_win_over_invalid_values() {
    for (args, start) in [
        (&["--help", "--secure-port=0"][..], "A Kubernetes API server"),
        (&["-h"], "A Kubernetes API server"),
        (&["--version", "--secure-port=0"], "Pintle "),
        (&["--version=raw"], "version.Info{"),
    ] {
        match command_line("pintle", args.iter().map(OsString::from), 0) {
            Ok(CommandLine::Print(text)) => assert!(text.starts_with(start), "{text}"),
            other => panic!("{args:?}: {other:?}"),
        }
    }
}

#[test]
fn every_flag_can_be_shown_as_pflag_does() {
    let shown = run(&[
        "--oidc-required-claim=b=2",
        "--oidc-required-claim=a=1",
        "--oidc-issuer-url=https://a",
        "--oidc-client-id=a",
        "--feature-gates=WatchList=true,LoggingAlphaOptions=true",
        "--tls-sni-cert-key=a.crt,a.key:a,*.a",
        "--tls-sni-cert-key=b.crt,b.key",
        "--service-node-port-range=30000+10",
        "--cors-allowed-origins=//a$,\"//b{1,2}$\"",
        "--log-json-info-buffer-size=2048Ki",
        "--vmodule=a=1,b*=2",
        "--goaway-chance=0.005",
        "--request-timeout=90s",
        "--insecure-port=0",
    ])
    .flag_values();
    for (name, expect) in [
        ("oidc-required-claim", "a=1,b=2"),
        ("feature-gates", ":WatchList=true,:LoggingAlphaOptions=true"),
        ("tls-sni-cert-key", "[a.crt,a.key:a,*.a;b.crt,b.key]"),
        ("service-node-port-range", "30000-30010"),
        ("cors-allowed-origins", "[//a$,\"//b{1,2}$\"]"),
        ("log-json-info-buffer-size", "2Mi"),
        ("log-text-info-buffer-size", "0"),
        ("vmodule", "a=1,b*=2"),
        ("goaway-chance", "0.005"),
        ("request-timeout", "1m30s"),
        ("min-request-timeout", "1800"),
        ("advertise-address", "<nil>"),
        ("anonymous-auth", "true"),
        ("admission-control-config-file", ""),
        ("enable-admission-plugins", "[]"),
        ("version", "false"),
        ("insecure-port", "0"),
    ] {
        assert_eq!(shown.get(name).map(String::as_str), Some(expect), "{name}");
    }
    assert!(!shown.contains_key("basic-auth-file"), "of an earlier release, and nobody gave it");
}
