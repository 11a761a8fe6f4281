use pintle_codec::MAX_DEPTH;
use pintle_meta::Value;

use super::*;

fn set(text: &str) -> Set {
    Set::from_json(text.as_bytes()).unwrap()
}

fn text(set: &Set) -> String {
    String::from_utf8(set.to_json()).unwrap()
}

#[track_caller]
fn round(given: &str, printed: &str) {
    assert_eq!(text(&set(given)), printed);
    let tree = pintle_codec::json::decode_any(given.as_bytes()).unwrap().value;
    assert_eq!(Set::from_value(&tree).unwrap(), set(given), "as a tree");
    assert_eq!(Set::from_value(&Value::raw(given.as_bytes())).unwrap(), set(given), "as raw JSON");
}

#[track_caller]
fn same(text: &str) {
    round(text, text);
}

#[test]
fn canonical_json_round_trips_to_the_byte() {
    same("{}");
    same(r#"{"f:metadata":{"f:labels":{".":{},"f:app":{}}},"f:spec":{"f:replicas":{}}}"#);
    same(r#"{"f:spec":{"f:ports":{".":{},"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:port":{}}}}}"#);
    same(
        r#"{"f:a":{},"k:{\"a\":1}":{},"v:1.5":{},"v:2":{},"v:\"x\"":{},"v:true":{},"v:null":{},"i:-1":{},"i:10":{}}"#,
    );
}

#[test]
fn elements_are_sorted_by_kind_and_value_and_not_by_their_text() {
    round(
        r#"{"i:1":{},"v:10":{},"v:9":{},"k:{}":{},"f:b":{},"f:a":{}}"#,
        r#"{"f:a":{},"f:b":{},"k:{}":{},"v:9":{},"v:10":{},"i:1":{}}"#,
    );
    round(
        r#"{"v:[1]":{},"v:{\"b\":1}":{},"v:{\"a\":1}":{},"v:false":{},"v:\"\"":{}}"#,
        r#"{"v:\"\"":{},"v:false":{},"v:[1]":{},"v:{\"a\":1}":{},"v:{\"b\":1}":{}}"#,
    );
    round(r#"{"k:{\"b\":1,\"a\":2}":{},"k:{\"a\":1}":{}}"#, r#"{"k:{\"a\":1}":{},"k:{\"a\":2,\"b\":1}":{}}"#);
}

#[test]
fn numbers_are_equal_in_any_notation() {
    round(r#"{"v:1.0":{},"v:1":{},"v:1e0":{}}"#, r#"{"v:1":{}}"#);
    round(
        r#"{"v:1e21":{},"v:1e-7":{},"v:100e18":{}}"#,
        r#"{"v:1e-07":{},"v:100000000000000000000":{},"v:1e+21":{}}"#,
    );
}

#[test]
fn numbers_beyond_2_to_the_53_are_floats() {
    round(r#"{"v:9007199254740993":{}}"#, r#"{"v:9007199254740992":{}}"#);
    same(r#"{"v:9007199254740991":{}}"#);
    assert_eq!(Element::value(9007199254740993i64.into()), Element::value(9007199254740992f64.into()));
}

#[test]
fn a_node_is_a_member_if_marked_or_without_children() {
    assert!(set(r#"{"f:a":{".":{}}}"#).has(&[Element::field("a")]));
    assert!(set(r#"{"f:a":null}"#).has(&[Element::field("a")]));
    round(r#"{"f:a":{"f:b":{},".":{}}}"#, r#"{"f:a":{".":{},"f:b":{}}}"#);
    assert!(!set(r#"{"f:a":{"f:b":{}}}"#).has(&[Element::field("a")]));
    round(r#"{"f:a":{".":{"f:ignored":[1,"]"]}}}"#, r#"{"f:a":{}}"#);
    assert!(set("null").is_empty());
}

#[test]
fn unknown_kinds_of_elements_are_dropped() {
    round(r#"{"x:new":{"f:below":{}},"f:a":{"y:":{"z:":[1,{}]}}}"#, r#"{"f:a":{}}"#);
}

#[test]
fn repeated_elements_are_joined_and_the_last_children_win() {
    assert_eq!(text(&set(r#"{"f:a":{"f:x":{}},"f:a":{"f:y":{}}}"#)), r#"{"f:a":{"f:y":{}}}"#);
    assert_eq!(text(&set(r#"{"f:a":{"f:x":{}},"f:a":{}}"#)), r#"{"f:a":{".":{},"f:x":{}}}"#);
}

#[test]
fn strings_are_escaped_as_in_the_reference() {
    same(r#"{"f:<a>&":{},"v:\"\\u003cb\\u003e\"":{}}"#);
    same(r#"{"f:\n\u0008\u001f":{},"f:é\"\\":{}}"#);
    round(r#"{"f:\u00e9\/\ud83d\ude00":{}}"#, "{\"f:é/😀\":{}}");
    round("{\"v:\\\"\u{2028}\\\"\":{}}", r#"{"v:\"\\u2028\"":{}}"#);
    round(r#"{ "f:a" : { "f:b" : { } } }"#, r#"{"f:a":{"f:b":{}}}"#);
}

#[test]
fn invalid_sets_are_rejected() {
    for bad in [
        "",
        "[]",
        "1",
        "{",
        r#"{"f:a"}"#,
        r#"{"f:a":}"#,
        r#"{"f:a":1}"#,
        r#"{"f:a":[]}"#,
        r#"{"f":{}}"#,
        r#"{"":{}}"#,
        r#"{"ab":{}}"#,
        r#"{"v:":{}}"#,
        r#"{"v:{":{}}"#,
        r#"{"k:1":{}}"#,
        r#"{"i:x":{}}"#,
        r#"{"f:a":{}} x"#,
        r#"{"f:\ud8":{}}"#,
        r#"{"f:\x":{}}"#,
        r#"{"f:a":{},}"#,
        r#"{"f:a":{}"#,
        r#"{".":"#,
        r#"{".":]}"#,
    ] {
        assert!(Set::from_json(bad.as_bytes()).is_err(), "{bad}");
    }
    assert_eq!(Set::from_json(b"{\"f:\xff\":{}}"), Err(Error::Encoding));
    assert_eq!(Set::from_json(br#"{"f":{}}"#).unwrap_err().to_string(), "key must be 2 characters long:");
    assert_eq!(Set::from_json(br#"{"fa:":{}}"#).unwrap_err().to_string(), "missing colon: fa:");
}

#[test]
fn depth_is_bounded() {
    let nested = |depth: usize| format!("{}{{}}{}", r#"{"f:a":"#.repeat(depth), "}".repeat(depth));
    let deep = set(&nested(MAX_DEPTH - 1));
    assert_eq!(deep.len(), 1);
    assert_eq!(text(&deep.clone().union(deep)), nested(MAX_DEPTH - 1));
    assert_eq!(Set::from_json(nested(MAX_DEPTH).as_bytes()), Err(Error::Depth));
    assert!(Set::from_json(format!("{{\".\":{}", "[".repeat(3_000_000)).as_bytes()).is_err());
}

#[test]
fn differences_are_shallow_or_recursive() {
    let all = || set(r#"{"f:a":{".":{},"f:b":{},"f:c":{"f:d":{}}},"f:e":{}}"#);
    let some = set(r#"{"f:a":{},"f:e":{}}"#);
    assert_eq!(text(&all().difference(&some)), r#"{"f:a":{"f:b":{},"f:c":{"f:d":{}}}}"#);
    assert_eq!(text(&all().recursive_difference(&some)), "{}");
    let below = set(r#"{"f:a":{"f:c":{}}}"#);
    assert_eq!(text(&all().difference(&below)), text(&all()));
    assert_eq!(text(&all().recursive_difference(&below)), r#"{"f:a":{".":{},"f:b":{}},"f:e":{}}"#);
    assert_eq!(text(&all().intersection(&below)), "{}");
    assert_eq!(text(&all().intersection(&some)), r#"{"f:a":{},"f:e":{}}"#);
    assert_eq!(text(&all().leaves()), r#"{"f:a":{"f:b":{},"f:c":{"f:d":{}}},"f:e":{}}"#);
    assert_eq!(text(&some.union(below)), r#"{"f:a":{".":{},"f:c":{}},"f:e":{}}"#);
}

#[test]
fn paths_are_formatted_as_in_messages() {
    let all =
        set(r#"{"f:a":{"k:{\"name\":\"x\",\"port\":80}":{"f:b":{}},"v:\"y\"":{},"v:true":{},"i:3":{}}}"#);
    assert_eq!(all.to_string(), ".a[=\"y\"]\n.a[=true]\n.a[3]\n.a[name=\"x\",port=80].b");
}

#[test]
fn filters_include_or_exclude() {
    let all = || {
        set(
            r#"{"f:metadata":{"f:labels":{}},"f:spec":{".":{},"f:containers":{"k:{\"name\":\"a\"}":{".":{},"f:image":{},"f:resources":{"f:limits":{}},"f:resizePolicy":{}}}},"f:status":{"f:phase":{}}}"#,
        )
    };
    let exclude = Filter::Exclude(Set::of_fields(&[&["status"], &["spec", "containers"]]));
    assert_eq!(text(&exclude.apply(all())), r#"{"f:metadata":{"f:labels":{}},"f:spec":{}}"#);
    let path = |last: &str| {
        [Some(Element::field("spec")), Some(Element::field("containers")), None, Some(Element::field(last))]
    };
    let include = Filter::Include(Matcher::prefix(path("resources")));
    assert_eq!(
        text(&include.apply(all())),
        r#"{"f:spec":{".":{},"f:containers":{"k:{\"name\":\"a\"}":{".":{},"f:resources":{"f:limits":{}}}}}}"#
    );
    let prefixes = Matcher::prefix([Some(Element::field("status"))])
        .or(Matcher::prefix([Some(Element::field("metadata"))]));
    assert_eq!(
        text(&Filter::Include(prefixes).apply(all())),
        r#"{"f:metadata":{"f:labels":{}},"f:status":{"f:phase":{}}}"#
    );
    // If two patterns have a wildcard at the same position, the first one applies.
    let two = Matcher::prefix(path("resources")).or(Matcher::prefix(path("resizePolicy")));
    assert_eq!(text(&Filter::Include(two).apply(all())), text(&include.apply(all())));
}

#[test]
fn simple_elements_are_parsed_like_others() {
    let element = |text: &str| Element::parse(text).unwrap().unwrap();
    let ports = Element::key([("port".into(), 80.into()), ("protocol".into(), "TCP".into())]);
    for text in [
        r#"k:{"port":80,"protocol":"TCP"}"#,
        r#"k:{"protocol":"TCP","port":80}"#,
        r#"k:{ "port": 80, "protocol": "TCP" }"#,
        r#"k:{"port":8e1,"protocol":"\u0054CP"}"#,
    ] {
        assert_eq!(element(text), ports, "{text}");
    }
    assert_eq!(element(r#"v:"a""#), Element::value("a".into()));
    assert_eq!(element("v:7"), Element::value(7.into()));
    for text in [r#"k:{"a":1,}"#, r#"k:{"a":01}"#, r#"k:{"a":"#, r#"v:"a"b"#, "v:", "v:1 2", "k:1"] {
        assert!(Element::parse(text).is_err(), "{text}");
    }
}
