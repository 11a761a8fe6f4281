use super::*;

fn parse(args: &[&str]) -> Result<Parsed, Error> {
    super::parse("kube-apiserver", args.iter().map(OsString::from))
}

fn good(args: &[&str]) -> Parsed {
    parse(args).unwrap_or_else(|error| panic!("{args:?}: {error}"))
}

fn error(args: &[&str]) -> String {
    parse(args).unwrap_err().to_string()
}

#[test]
fn a_value_follows_an_equals_sign_or_is_the_next_word() {
    assert_eq!(good(&["--etcd-prefix=/a"]).string("etcd-prefix"), "/a");
    assert_eq!(good(&["--etcd-prefix", "/a"]).string("etcd-prefix"), "/a");
    assert_eq!(good(&["--etcd-prefix="]).string("etcd-prefix"), "");
    assert_eq!(good(&["--etcd-prefix", "--profiling"]).string("etcd-prefix"), "--profiling");
    assert_eq!(
        good(&["--service-account-issuer=https://a?b=c"]).strings("service-account-issuer"),
        ["https://a?b=c"]
    );
    assert_eq!(good(&["--secure-port=1", "--secure-port", "2"]).int("secure-port"), 2);
}

#[test]
fn a_boolean_never_takes_the_next_word() {
    assert!(good(&["--allow-privileged"]).bool("allow-privileged"));
    assert!(!good(&["--profiling=false"]).bool("profiling"));
    assert!(!good(&["--profiling=F"]).bool("profiling"));
    assert_eq!(
        error(&["--profiling", "false"]),
        r#""kube-apiserver" does not take any arguments, got ["false"]"#
    );
    assert_eq!(
        error(&["--profiling=no"]),
        r#"invalid argument "no" for "--profiling" flag: strconv.ParseBool: parsing "no": invalid syntax"#
    );
}

#[test]
fn shorthands_take_their_value_in_three_ways() {
    for args in [&["-v", "2"][..], &["-v=2"], &["-v2"], &["--v=2"], &["--v", "2"]] {
        assert_eq!(good(args).level("v"), 2, "{args:?}");
    }
    assert!(good(&["-h"]).bool("help"));
    let both = good(&["-hv=3"]);
    assert!(both.bool("help"));
    assert_eq!(both.level("v"), 3);
    assert_eq!(error(&["-z"]), "unknown shorthand flag: 'z' in -z");
    assert_eq!(error(&["-hz=1"]), "unknown shorthand flag: 'z' in -z=1");
    assert_eq!(error(&["-v"]), "flag needs an argument: 'v' in -v");
    assert_eq!(
        error(&["-v=x"]),
        r#"invalid argument "x" for "-v, --v" flag: strconv.ParseUint: parsing "x": invalid syntax"#
    );
    assert_eq!(error(&["-é"]), "unknown shorthand flag: 'é' in -é");
}

#[test]
fn underscores_are_dashes() {
    assert_eq!(good(&["--secure_port=7"]).int("secure-port"), 7);
    assert_eq!(good(&["--etcd_servers", "http://a"]).strings("etcd-servers"), ["http://a"]);
    assert_eq!(error(&["--no_such=1"]), "unknown flag: --no_such");
}

#[test]
fn unusable_words_get_pflags_messages() {
    assert_eq!(error(&["--foo"]), "unknown flag: --foo");
    assert_eq!(error(&["--foo=bar"]), "unknown flag: --foo");
    assert_eq!(error(&["--etcd-prefix"]), "flag needs an argument: --etcd-prefix");
    assert_eq!(error(&["--=x"]), "bad flag syntax: --=x");
    assert_eq!(error(&["---x"]), "bad flag syntax: ---x");
    assert_eq!(
        error(&["--secure-port=x"]),
        r#"invalid argument "x" for "--secure-port" flag: strconv.ParseInt: parsing "x": invalid syntax"#
    );
    assert_eq!(
        error(&["--request-timeout", "5"]),
        r#"invalid argument "5" for "--request-timeout" flag: time: missing unit in duration "5""#
    );
    assert_eq!(
        error(&["--bind-address=localhost"]),
        r#"invalid argument "localhost" for "--bind-address" flag: failed to parse IP: "localhost""#
    );
}

#[test]
fn two_dashes_end_the_flags_and_empty_words_are_ignored() {
    assert!(parse(&["", "--profiling=false", ""]).is_ok());
    assert_eq!(
        error(&["--", "--profiling"]),
        r#""kube-apiserver" does not take any arguments, got ["--profiling"]"#
    );
    assert_eq!(error(&["a", "-"]), r#""kube-apiserver" does not take any arguments, got ["a" "-"]"#);
    assert!(parse(&["--"]).is_ok());
}

#[cfg(unix)]
#[test]
fn a_word_that_is_not_text_is_an_error() {
    use std::os::unix::ffi::OsStringExt;
    let word = OsString::from_vec(b"--etcd-prefix=\xff".to_vec());
    let error = super::parse("pintle", [word]).unwrap_err().to_string();
    assert_eq!(error, "argument --etcd-prefix=\u{fffd} is not valid UTF-8");
}
