use super::*;

/// The value after the given occurrences.
fn value(kind: Kind, inputs: &[&str]) -> Result<Value, String> {
    let mut value = Value::zero(kind);
    for (at, input) in inputs.iter().enumerate() {
        value.set(kind, input, at == 0)?;
    }
    Ok(value)
}

fn error(kind: Kind, input: &str) -> String {
    value(kind, &[input]).unwrap_err()
}

fn strings(items: &[&str]) -> Value {
    Value::Strings(items.iter().map(ToString::to_string).collect())
}

fn pairs(items: &[(&str, &str)]) -> Value {
    Value::Pairs(items.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect())
}

#[test]
fn the_last_scalar_wins() {
    assert_eq!(value(Kind::Int, &["1", "2"]), Ok(Value::Int(2)));
    assert_eq!(value(Kind::Bool, &["true", "f"]), Ok(Value::Bool(false)));
}

#[test]
fn lists_append_and_the_first_occurrence_replaces_the_default() {
    let mut list = Value::default_of(Kind::Strings, "RS256").unwrap();
    list.set(Kind::Strings, "ES256,\"a,b\"", true).unwrap();
    list.set(Kind::Strings, "PS256", false).unwrap();
    assert_eq!(list, strings(&["ES256", "a,b", "PS256"]));
    assert_eq!(value(Kind::Strings, &[""]), Ok(strings(&[])));
    assert_eq!(value(Kind::StringArray, &["a,b", "c"]), Ok(strings(&["a,b", "c"])));
    assert_eq!(value(Kind::Int32Slice, &["29,0x17", "24"]), Ok(Value::Int32s(vec![29, 23, 24])));
    assert_eq!(error(Kind::Int32Slice, "29,"), r#"strconv.ParseInt: parsing "": invalid syntax"#);
}

#[test]
fn addresses_may_be_empty_but_not_wrong() {
    assert_eq!(value(Kind::Ip, &["0.0.0.0", ""]), Ok(Value::Ip(Some("0.0.0.0".parse().unwrap()))));
    assert_eq!(value(Kind::Ip, &[" ::1 "]), Ok(Value::Ip(Some("::1".parse().unwrap()))));
    assert_eq!(error(Kind::Ip, "localhost"), r#"failed to parse IP: "localhost""#);
    assert_eq!(error(Kind::Ip, "010.0.0.1"), r#"failed to parse IP: "010.0.0.1""#);
}

#[test]
fn pairs_come_in_three_dialects() {
    assert_eq!(
        value(Kind::Pairs, &["api/all=true, batch/v1 = false ,", "v1"]),
        Ok(pairs(&[("api/all", "true"), ("batch/v1", "false"), ("v1", "")]))
    );
    assert_eq!(value(Kind::PairsOneEach, &["a=b,c=d"]), Ok(pairs(&[("a", "b,c=d")])));
    assert_eq!(error(Kind::PairsOneEach, "a"), "malformed pair, expect string=string");
    assert_eq!(
        value(Kind::QuotedPairs, &[r#""m1,l1=v1,v2","m2,l2=v3""#]),
        Ok(pairs(&[("m1,l1", "v1,v2"), ("m2,l2", "v3")]))
    );
    assert_eq!(value(Kind::QuotedPairs, &["a=b"]), Ok(pairs(&[("a", "b")])));
    assert_eq!(error(Kind::QuotedPairs, "a"), "a must be formatted as key=value");
}

#[test]
fn gates_may_name_a_component() {
    let Ok(Value::Multimap(map)) = value(Kind::Multimap, &["kube:Foo=true,kube:Bar=false", "Baz=true,"])
    else {
        panic!("not a multimap");
    };
    assert_eq!(map["kube"], ["Foo=true", "Bar=false"]);
    assert_eq!(map[""], ["Baz=true"]);
}

#[test]
fn certificates_may_name_hosts() {
    let Ok(Value::CertKeys(keys)) =
        value(Kind::NamedCertKey, &["a.crt,a.key", "b.crt, b.key: *.b.com,b.com"])
    else {
        panic!("not certificates");
    };
    assert_eq!((keys[0].cert_file.as_str(), keys[0].key_file.as_str()), ("a.crt", "a.key"));
    assert!(keys[0].names.is_empty());
    assert_eq!(keys[1].key_file, "b.key");
    assert_eq!(keys[1].names, ["*.b.com", "b.com"]);
    assert_eq!(error(Kind::NamedCertKey, "a.crt,a.key:"), "empty names list is not allowed");
    assert_eq!(error(Kind::NamedCertKey, "a.crt"), "expected comma separated certificate and key file paths");
}

#[test]
fn verbosity_is_a_small_number_per_file() {
    assert_eq!(value(Kind::Level, &["4"]), Ok(Value::Level(4)));
    assert_eq!(error(Kind::Level, "-1"), r#"strconv.ParseUint: parsing "-1": invalid syntax"#);
    let Ok(Value::VModule(modules)) = value(Kind::VModule, &["cache*=5,,watch=2"]) else {
        panic!("not a vmodule")
    };
    assert_eq!(modules[0], VModule { pattern: "cache*".into(), level: 5 });
    assert_eq!(modules[1].level, 2);
    assert_eq!(error(Kind::VModule, "cache"), r#""cache" does not have the pattern=N format"#);
    assert_eq!(
        error(Kind::VModule, "a=x"),
        r#"parsing verbosity in "a=x": strconv.ParseUint: parsing "x": invalid syntax"#
    );
}

#[test]
fn port_ranges_have_three_notations() {
    let range = |first, last| Ok(Value::PortRange(Some(PortRange { first, last })));
    assert_eq!(value(Kind::PortRange, &["30000-32767"]), range(30_000, 32_767));
    assert_eq!(value(Kind::PortRange, &["80"]), range(80, 80));
    assert_eq!(value(Kind::PortRange, &["80+20"]), range(80, 100));
    assert_eq!(value(Kind::PortRange, &[""]), Ok(Value::PortRange(None)));
    assert_eq!(error(Kind::PortRange, "9-1"), "end port cannot be less than start port: 9-1");
    assert_eq!(error(Kind::PortRange, "1-70000"), "the port range cannot be greater than 65535: 1-70000");
    assert_eq!(error(Kind::PortRange, "1-2+3"), "unable to parse port range: 1-2+3");
    assert_eq!(error(Kind::PortRange, "a-b"), r#"strconv.Atoi: parsing "a": invalid syntax"#);
}
