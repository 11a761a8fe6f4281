use proptest::prelude::*;

use crate::MAX_DEPTH;

use super::*;
use crate::json;

fn json_of(text: &str) -> String {
    String::from_utf8(to_json(text.as_bytes()).unwrap_or_else(|error| panic!("{text:?}: {error}"))).unwrap()
}

fn error_of(text: impl AsRef<[u8]>) -> String {
    let text = text.as_ref();
    match to_json(text) {
        Ok(json) => panic!("{} became {}", text.escape_ascii(), json.escape_ascii()),
        Err(error) => error.to_string(),
    }
}

fn strict_of(text: &str) -> Vec<String> {
    to_json_strict(text.as_bytes()).unwrap().1
}

fn yaml_of(json: &str) -> String {
    let value = json::decode_any(json.as_bytes()).unwrap().value;
    let mut out = Vec::new();
    encode(&value, &mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn documents_convert_to_json() {
    let cases = [
        ("", "null"),
        ("# nothing\n", "null"),
        ("---\n...\n", "null"),
        ("{}", "{}"),
        ("v: hi", r#"{"v":"hi"}"#),
        ("b: 1\na: 2", r#"{"a":2,"b":1}"#),
        ("empty:", r#"{"empty":null}"#),
        ("seq: [A,1,C,]", r#"{"seq":["A",1,"C"]}"#),
        (
            "seq:\n - A\n - 1\n -\n - - x\n   - v: z\n     w:\n",
            r#"{"seq":["A",1,null,["x",{"v":"z","w":null}]]}"#,
        ),
        ("a:\n- 1\n- 2\nb: 3", r#"{"a":[1,2],"b":3}"#),
        ("a: {b: c, 'd': [e: f], g, ? h}", r#"{"a":{"b":"c","d":[{"e":"f"}],"g":null,"h":null}}"#),
        ("? a\n: - b\n? c\n", r#"{"a":["b"],"c":null}"#),
        ("a:\n  b\n   c\n\n   d", r#"{"a":"b c\nd"}"#),
        ("a: {b: https://x.y/z}", r#"{"a":{"b":"https://x.y/z"}}"#),
        ("a: [https://x.y/z]", r#"{"a":["https://x.y/z"]}"#),
        (
            "a: -b_c\nb: 50cent\nc: 1:1\nd: <foo>",
            r#"{"a":"-b_c","b":"50cent","c":"1:1","d":"\u003cfoo\u003e"}"#,
        ),
        ("a:\tb\n", r#"{"a":"b"}"#),
        ("a: b\r\nc: d\r\n", r#"{"a":"b","c":"d"}"#),
        ("a: b # c\nd: e#f", r#"{"a":"b","d":"e#f"}"#),
        ("\u{feff}a: b", r#"{"a":"b"}"#),
        // Only the first document is converted.
        ("a: 1\n---\nb: 2\n", r#"{"a":1}"#),
        ("---\nhello\n...\n}not yaml", r#""hello""#),
        ("'a' 'b'", r#""a""#),
        (r#"{"a":[1.50,true,null,"x\u00e9\/"],"b":{}}"#, r#"{"a":[1.5,true,null,"xé/"],"b":{}}"#),
    ];
    for (text, want) in cases {
        if text.contains(r"\/") {
            // JSON's escaped slash is the one escape that YAML 1.1 does not have.
            assert_eq!(error_of(text), "yaml: found unknown escape character");
            continue;
        }
        assert_eq!(json_of(text), want, "{text:?}");
    }
}

#[test]
fn scalars_follow_yaml_1_1() {
    let cases = [
        ("yes", "true"),
        ("off", "false"),
        ("y", "true"),
        ("~", "null"),
        ("0o14", "12"),
        ("014", "12"),
        ("0xA", "10"),
        ("0b10", "2"),
        ("1_000", "1000"),
        ("685_230.15", "685230.15"),
        ("6.8523e+5", "685230"),
        ("123456e1", "1234560"),
        ("1e21", "1e+21"),
        ("18446744073709551615", "18446744073709551615"),
        ("18446744073709551616", "18446744073709552000"),
        ("190:20:30", r#""190:20:30""#),
        ("2015-01-01", r#""2015-01-01""#),
        ("2015-02-24T18:19:39Z", r#""2015-02-24T18:19:39Z""#),
        ("'yes'", r#""yes""#),
        ("\"1\"", r#""1""#),
        ("!!str 1", r#""1""#),
        ("!!int '1'", "1"),
        ("!!float 1", "1"),
        ("!!bool 'no'", "false"),
        ("!!null ''", "null"),
        ("!!timestamp '2015-01-01'", r#""2015-01-01""#),
        ("! 12", r#""12""#),
        ("!other 12", r#""12""#),
        ("!<tag:yaml.org,2002:int> '12'", "12"),
        ("!!str", r#""""#),
        ("!!binary aGVsbG8=", r#""hello""#),
        ("!!binary |\n  aGVs\n  bG8=\n", r#""hello""#),
        ("!!binary gIGC", "\"\u{fffd}\u{fffd}\u{fffd}\""),
        ("%TAG !y! tag:yaml.org,2002:\n--- !y!int '1'", "1"),
        ("%YAML 1.1\n--- !!str\n'a'", r#""a""#),
    ];
    for (text, want) in cases {
        assert_eq!(json_of(text), want, "{text:?}");
    }
}

#[test]
fn text_is_folded_preserved_and_escaped() {
    let cases = [
        ("a: | # Comment\n\n literal\n\n \ttext\n\n", r#"{"a":"\nliteral\n\n\ttext\n"}"#),
        ("a: |-\n  x\n  y\n\nb: 1", r#"{"a":"x\ny","b":1}"#),
        ("a: |+\n  x\n\nb: 1", r#"{"a":"x\n\n","b":1}"#),
        ("a: |2\n   x\n  y", r#"{"a":" x\ny"}"#),
        ("a: |1-\n   x\n", r#"{"a":"  x"}"#),
        (
            "a: > # Comment\n\n folded\n line\n \n next\n line\n  * one\n  * two\n\n last\n line\n\n",
            r#"{"a":"\nfolded line\nnext line\n * one\n * two\n\nlast line\n"}"#,
        ),
        ("'1': '\"2\"'", r#"{"1":"\"2\""}"#),
        ("- 'B\n\n  C'\n- 'It''s'", r#"["B\nC","It's"]"#),
        (r#""\0\a\b\t\n\v\f\r\e\x41\u00e4\U0001F600\N\_\L\P\"\\\ ""#, {
            "\"\\u0000\\u0007\\b\\t\\n\\u000b\\f\\r\\u001bAä😀\u{85}\u{a0}\\u2028\\u2029\\\"\\\\ \""
        }),
        ("\"a\\\n   b\n c\"", r#""ab c""#),
        ("\"a \\\n  \\  b\"", r#""a   b""#),
        ("a\u{2028} b", r#""a\u2028b""#),
    ];
    for (text, want) in cases {
        assert_eq!(json_of(text), want, "{text:?}");
    }
}

#[test]
fn keys_become_strings() {
    let cases = [
        ("1: a\n-2: b\n0x10: c", r#"{"-2":"b","1":"a","16":"c"}"#),
        ("yes: a\nNo: b", r#"{"false":"b","true":"a"}"#),
        ("1.5: a\n1e20: b\n.inf: c\n-.inf: d\n.nan: e\n0.1: f\n-1e-9: g", {
            r#"{"-.inf":"d","-1e-09":"g",".inf":"c",".nan":"e","0.1":"f","1.5":"a","1e+20":"b"}"#
        }),
        ("2015-01-01: a", r#"{"2015-01-01":"a"}"#),
        // Floats are formatted as 32-bit floats.
        ("1e40: a", r#"{".inf":"a"}"#),
        ("0.123456789: a", r#"{"0.12345679":"a"}"#),
        ("&k a: 1\n*k : 2", r#"{"a":2}"#),
    ];
    for (text, want) in cases {
        assert_eq!(json_of(text), want, "{text:?}");
    }
    assert_eq!(
        error_of("~: {a: [1, x, null, true, 1e9], b: {}}"),
        "unsupported map key of type: %!s(<nil>), key: <nil>, value: map[interface {}]interface {}{\
         \"a\":[]interface {}{1, \"x\", interface {}(nil), true, 1e+09}, \"b\":map[interface {}]interface {}{}}"
    );
    assert_eq!(
        error_of("18446744073709551615: ~"),
        "unsupported map key of type: uint64, key: 0xffffffffffffffff, value: <nil>"
    );
    assert_eq!(error_of("{[.]}"), "yaml: invalid map key: []interface {}{\".\"}");
    assert_eq!(
        error_of("a: {{ .Values.x }}"),
        "yaml: invalid map key: map[interface {}]interface {}{\".Values.x\":interface {}(nil)}"
    );
}

#[test]
fn aliases_are_followed_and_merges_merged() {
    let cases = [
        ("a: &x 1\nb: *x\n", r#"{"a":1,"b":1}"#),
        ("a: &a [1, {b: 2}]\nc: *a", r#"{"a":[1,{"b":2}],"c":[1,{"b":2}]}"#),
        ("a: &x 1\nb: &x 2\nc: *x", r#"{"a":1,"b":2,"c":2}"#),
        ("a: &x {p: 1, q: 2}\nb:\n  <<: *x\n  q: 3", r#"{"a":{"p":1,"q":2},"b":{"p":1,"q":3}}"#),
        // Previous entries are overwritten too.
        ("a: &x {p: 1}\nb:\n  p: 3\n  <<: *x", r#"{"a":{"p":1},"b":{"p":1}}"#),
        ("b:\n  <<: [{p: 1}, {p: 2, q: 2}]", r#"{"b":{"p":1,"q":2}}"#),
        ("b:\n  <<: {p: 1}\n  '<<': x", r#"{"b":{"\u003c\u003c":"x","p":1}}"#),
        ("b:\n  !!merge <<: {p: 1}", r#"{"b":{"p":1}}"#),
    ];
    for (text, want) in cases {
        assert_eq!(json_of(text), want, "{text:?}");
    }
    let map_wanted = "yaml: map merge requires map or sequence of maps as the value";
    for text in ["<<: 1", "<<: [1]", "a: &x null\n<<:\n- *x\n", "a: &x [{}]\n<<: *x", "a: &x [{}]\n<<: [*x]"]
    {
        assert_eq!(error_of(text), map_wanted, "{text:?}");
    }
}

#[test]
fn errors_have_the_references_messages_and_lines() {
    let cases = [
        ("v: !!float 'error'", "yaml: cannot decode !!str `error` as a !!float"),
        ("a: [", "yaml: line 1: did not find expected node content"),
        ("v: [A,", "yaml: line 1: did not find expected node content"),
        ("v:\n- [A,", "yaml: line 2: did not find expected node content"),
        ("a:\n- b: *,", "yaml: line 2: did not find expected alphabetic or numeric character"),
        ("a: *b\n", "yaml: unknown anchor 'b' referenced"),
        ("b: *a\na: &a {c: 1}", "yaml: unknown anchor 'a' referenced"),
        ("a: &a\n  b: *a\n", "yaml: anchor 'a' value contains itself"),
        ("a: &a [*a]\n", "yaml: anchor 'a' value contains itself"),
        ("value: -", "yaml: block sequence entries are not allowed in this context"),
        ("a: !!binary ==", "yaml: !!binary value contains invalid base64 data"),
        ("%TAG !%79! tag:yaml.org,2002:\n---\nv: !%79!int '1'", "yaml: did not find expected whitespace"),
        ("a:\n  1:\nb\n  2:", "yaml: line 4: could not find expected ':'"),
        ("apiVersion: v1\nkind: ConfigMap\nmetadata: a: b\n", {
            "yaml: line 3: mapping values are not allowed in this context"
        }),
        ("a: b: c", "yaml: mapping values are not allowed in this context"),
        ("a: ? b", "yaml: mapping keys are not allowed in this context"),
        ("a:\n\tb: c", "yaml: line 2: found character that cannot start any token"),
        ("a: @b", "yaml: found character that cannot start any token"),
        ("a: `b", "yaml: found character that cannot start any token"),
        ("a: %b", "yaml: found character that cannot start any token"),
        ("a: 'b", "yaml: found unexpected end of stream"),
        ("a:\n 'b", "yaml: line 2: found unexpected end of stream"),
        ("a: 'b\n---\n", "yaml: line 2: found unexpected document indicator"),
        (r#"a: "\q""#, "yaml: found unknown escape character"),
        (r#"a: "\x4""#, "yaml: did not find expected hexdecimal number"),
        (r#"a: "\ud800""#, "yaml: found invalid Unicode character escape code"),
        (r#"a: "\UFFFFFFFF""#, "yaml: found invalid Unicode character escape code"),
        ("a: |0\n", "yaml: found an indentation indicator equal to 0"),
        ("a: |x\n", "yaml: did not find expected comment or line break"),
        ("a: |\n\tx\n", "yaml: line 2: found a tab character where an indentation space is expected"),
        ("a:\n  b\n\tc", "yaml: line 3: found a tab character that violates indentation"),
        ("a: {b", "yaml: line 1: did not find expected ',' or '}'"),
        ("a: [b", "yaml: line 1: did not find expected ',' or ']'"),
        ("a:\n  - b\n c: d", "yaml: line 2: did not find expected key"),
        ("- a\nb: c", "yaml: line 1: did not find expected '-' indicator"),
        ("a: 1\n b: 2", "yaml: line 2: mapping values are not allowed in this context"),
        ("a: b\n- c", "yaml: line 1: did not find expected key"),
        ("a: b\n}", "yaml: line 1: did not find expected key"),
        ("%YAML 1.2\n---\n", "yaml: found incompatible YAML document"),
        ("%YAML 1.1\n%YAML 1.1\n---\n", "yaml: line 1: found duplicate %YAML directive"),
        ("%TAG ! a\n%TAG ! b\n---\n", "yaml: line 1: found duplicate %TAG directive"),
        ("%FOO\n---\n", "yaml: found unknown directive name"),
        ("%YAML 1.1\na", "yaml: line 1: did not find expected <document start>"),
        ("%YAML 111.1\n---\n", "yaml: found extremely long version number"),
        ("%YAML x\n---\n", "yaml: did not find expected version number"),
        ("%YAML 1-1\n---\n", "yaml: did not find expected digit or '.' character"),
        ("a: !x!y b", "yaml: found undefined tag handle"),
        ("a: !<b c", "yaml: did not find the expected '>'"),
        ("a: !<> c", "yaml: did not find expected tag URI"),
        ("a: !b%zz c", "yaml: did not find URI escaped octet"),
        ("a: !b{} c", "yaml: did not find expected whitespace or line break"),
        ("a: & b", "yaml: did not find expected alphabetic or numeric character"),
        ("a: .inf", "json: unsupported value: +Inf"),
        ("a: .nan", "json: unsupported value: NaN"),
        ("a: b\0", "yaml: control characters are not allowed"),
        ("a: \u{7f}", "yaml: control characters are not allowed"),
    ];
    let wrong: Vec<String> = cases
        .iter()
        .filter(|(text, want)| error_of(text) != *want)
        .map(|(text, want)| format!("{text:?}\n  got  {}\n  want {want}", error_of(text)))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(error_of(b"0: [!00 \xef"), "yaml: incomplete UTF-8 octet sequence");
    assert_eq!(error_of(b"a: \xff"), "yaml: invalid leading UTF-8 octet");
}

#[test]
fn a_syntax_error_precedes_an_invalid_byte_of_a_later_chunk() {
    let mut text = b"a: b: c\n".to_vec();
    text.resize(600, b' ');
    text.push(0);
    assert_eq!(error_of(&text), "yaml: mapping values are not allowed in this context");
    assert_eq!(error_of(&text[100..]), "yaml: control characters are not allowed");
    assert_eq!(error_of(&text[550..]), "yaml: control characters are not allowed");
}

#[test]
fn a_simple_key_has_its_colon_on_its_line_within_1024_characters() {
    let long = "k".repeat(1025);
    assert_eq!(error_of(format!("a: 1\n{long}: b")), "yaml: line 2: could not find expected ':'");
    assert_eq!(json_of(&format!("{}: b", &long[1..])), format!("{{\"{}\":\"b\"}}", &long[1..]));
    assert_eq!(error_of(format!("{{{long}: b}}")), "yaml: did not find expected ',' or '}'");
    assert_eq!(json_of(&format!("? {long}\n: b")), format!("{{\"{long}\":\"b\"}}"));
}

#[test]
fn duplicate_keys_are_one_strict_error() {
    assert_eq!(strict_of("a: 1\nb: 2\n"), [""; 0]);
    let text = "a: 1\nb:\n  c: 1\n  c: 2\na:\n  2\n1: x\n1: z\ntrue: a\nyes: b\n";
    assert_eq!(
        strict_of(text),
        [
            "yaml: unmarshal errors:\n  line 4: key \"c\" already set in map\n  line 6: key \"a\" already set in map\n  \
          line 8: key 1 already set in map\n  line 10: key true already set in map"
        ]
    );
    assert_eq!(json_of(text), r#"{"1":"z","a":2,"b":{"c":2},"true":"b"}"#);
    // A merged key counts as set.
    assert_eq!(
        strict_of("a: &x {p: 1}\nb:\n  <<: *x\n  p: 2"),
        ["yaml: unmarshal errors:\n  line 4: key \"p\" already set in map"]
    );
    // `1` and `"1"` are two keys until JSON makes them equal.
    assert_eq!(strict_of("1: a\n'1': b"), [""; 0]);
}

#[test]
fn trees_are_encoded_as_yaml() {
    let cases = [
        ("null", "null\n"),
        ("{}", "{}\n"),
        ("[]", "[]\n"),
        ("12", "12\n"),
        (r#"{"v":["A","B\nC"]}"#, "v:\n- A\n- |-\n  B\n  C\n"),
        (r#"{"v":["A",1,{"B":[2,3]}]}"#, "v:\n- A\n- 1\n- B:\n  - 2\n  - 3\n"),
        (r#"[[1,[2]],{"a":{}},[]]"#, "- - 1\n  - - 2\n- a: {}\n- []\n"),
        (r#"{"a":{"b":"c"},"d":null,"e":true}"#, "a:\n  b: c\nd: null\ne: true\n"),
        (r#"{"a10":1,"a2":2,"B":3,"b":4,"_":5,"1":6}"#, "_: 5\n\"1\": 6\nB: 3\na2: 2\na10: 1\nb: 4\n"),
        (
            r#"{"":"","true":"1","0x1":"~","y":"n"}"#,
            "\"\": \"\"\n\"0x1\": \"~\"\n\"true\": \"1\"\n\"y\": \"n\"\n",
        ),
        (r#"{"a":{"":0}}"#, "a:\n  \"\": 0\n"),
    ];
    for (json, want) in cases {
        assert_eq!(yaml_of(json), want, "{json}");
    }
}

#[test]
fn strings_are_quoted_only_where_needed() {
    let cases = [
        ("-", "'-'"),
        ("- a", "'- a'"),
        ("-a", "-a"),
        ("b: c", "'b: c'"),
        ("b:c", "b:c"),
        ("b:", "'b:'"),
        ("a #b", "'a #b'"),
        ("a#b", "a#b"),
        ("<foo>", "<foo>"),
        ("<<", "<<"),
        ("1:1", "\"1:1\""),
        ("1:61", "1:61"),
        ("190:20:30.15", "\"190:20:30.15\""),
        ("2015-02-24T18:19:39Z", "\"2015-02-24T18:19:39Z\""),
        ("2015-02-24", "\"2015-02-24\""),
        ("12", "\"12\""),
        ("1e3", "\"1e3\""),
        ("1_000", "\"1_000\""),
        ("1.2.3.4", "1.2.3.4"),
        ("100m", "100m"),
        ("", "\"\""),
        (" a", "' a'"),
        ("a ", "'a '"),
        ("it's", "it's"),
        ("'a'", "'''a'''"),
        ("\"a\"", "'\"a\"'"),
        ("*a", "'*a'"),
        ("{a}", "'{a}'"),
        ("a{b}, c", "a{b}, c"),
        ("%a", "'%a'"),
        ("@a", "'@a'"),
        ("---", "'---'"),
        ("...a", "'...a'"),
        ("?a", "?a"),
        ("? a", "'? a'"),
        ("?", "'?'"),
        ("a\tb", "\"a\\tb\""),
        ("\0", "\"\\0\""),
        ("你好", "你好"),
        ("😀", "\"\\U0001F600\""),
        ("a\u{7f}", "\"a\\x7F\""),
        ("a\u{fffe}", "\"a\\uFFFE\""),
        ("a\u{feff}", "\"a\\uFEFF\""),
        ("\u{feff}a", "\"\\uFEFF\\x61\""),
        ("a\u{a0}", "a\u{a0}"),
        ("a\rb", "\"a\\rb\""),
        ("a\u{2028}b", "'a\u{2028}  b'"),
        ("a\nb\n", "|\n  a\n  b"),
        ("a\nb", "|-\n  a\n  b"),
        ("a\n\n", "|+\n  a\n"),
        ("\n", "|2+\n"),
        ("\na", "|2-\n\n  a"),
        (" a\nb", "|2-\n   a\n  b"),
        ("a\n b", "|-\n  a\n   b"),
        ("a \nb", "\"a \\nb\""),
        ("a\nb ", "\"a\\nb \""),
        ("a\n\tb", "\"a\\n\\tb\""),
    ];
    for (text, want) in cases {
        let mut json = b"{\"k\":".to_vec();
        json::write::string(text, &mut json);
        json.push(b'}');
        let yaml = yaml_of(std::str::from_utf8(&json).unwrap());
        assert_eq!(yaml, format!("k: {want}\n"), "{text:?}");
        if !text.contains('\u{2028}') {
            assert_eq!(to_json(yaml.as_bytes()).unwrap(), json, "{text:?}");
        }
    }
}

#[test]
fn numbers_are_encoded_as_through_json() {
    let cases = [
        ("1.0", "1"),
        ("0.1", "0.1"),
        ("-0.0", "0"),
        ("1e19", "10000000000000000000"),
        ("1e20", "1e+20"),
        ("123456789.5", "1.234567895e+08"),
        ("123456.5", "123456.5"),
        ("0.0001", "0.0001"),
        ("0.00001", "1e-05"),
        ("1e-7", "1e-07"),
        ("9223372036854775807", "9223372036854775807"),
    ];
    for (number, want) in cases {
        assert_eq!(yaml_of(number), format!("{want}\n"), "{number}");
    }
}

#[test]
fn long_lines_are_folded_at_a_space() {
    let words = "abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ 1234567890 ".repeat(2);
    let folded = "abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ 1234567890 abcdefghijklmnopqrstuvwxyz\n  \
                  ABCDEFGHIJKLMNOPQRSTUVWXYZ 1234567890";
    let yaml = |text: &str| yaml_of(&format!("{{\"a\":\"{text}\"}}"));
    assert_eq!(yaml(&words), format!("a: '{folded} '\n"));
    assert_eq!(yaml(words.trim_end()), format!("a: {folded}\n"));
    let two_spaces = words.replace("z A", "z  A");
    assert_eq!(yaml(two_spaces.trim_end()).lines().count(), 2);
    let tabbed = format!("{words}\\t");
    assert_eq!(yaml(&tabbed), format!("a: \"{folded} \\t\"\n"));
}

#[test]
fn long_keys_follow_a_question_mark() {
    let key = "k".repeat(129);
    assert_eq!(yaml_of(&format!("{{\"{key}\":[1]}}")), format!("? {key}\n: - 1\n"));
    assert_eq!(yaml_of(&format!("{{\"{key}\":{{\"a\":1}}}}")), format!("? {key}\n: a: 1\n"));
    assert_eq!(yaml_of("{\"a\\nb\":1}"), "? |-\n  a\n  b\n: 1\n");
    assert_eq!(yaml_of(&format!("{{\"{}\":[1]}}", &key[1..])), format!("{}:\n- 1\n", &key[1..]));
}

#[test]
fn bytes_and_raw_json_are_encoded_as_in_json() {
    use pintle_meta::{Object, Value};
    let object: Object = [
        ("bytes", Value::bytes(*b"hello")),
        ("hollow", Value::hollow()),
        ("raw", Value::raw(*br#" {"b":[1, 2.5],"a":"x"} "#)),
    ]
    .into_iter()
    .collect();
    let mut out = Vec::new();
    encode(&object.into(), &mut out);
    assert_eq!(String::from_utf8(out).unwrap(), "bytes: aGVsbG8=\nraw:\n  a: x\n  b:\n  - 1\n  - 2.5\n");
}

#[test]
fn aliases_of_aliases_are_excessive() {
    let mut bomb = String::from("a: &a [00,00,00,00,00,00,00,00,00]\n");
    for (name, of) in ('b'..='i').zip('a'..) {
        let items = vec![format!("*{of}"); 9].join(",");
        bomb.push_str(&format!("{name}: &{name} [{items}]\n"));
    }
    let excessive = "yaml: document contains excessive aliasing";
    assert_eq!(error_of(&bomb), excessive);
    let merges =
        bomb.replace("00,", "").replace("[00]", "{x: 0}").replace("[*", "{<<: [*").replace(']', "]}");
    assert_eq!(error_of(&merges), excessive);
    // Few nodes, but each is long.
    let long = format!("a: &a {}\nb: [{}]", "x".repeat(1 << 20), vec!["*a"; 1000].join(","));
    assert_eq!(error_of(&long), excessive);
    // A hundred are allowed.
    let few = format!("a: &a [1, 2, 3]\nb: [{}]", vec!["*a"; 100].join(","));
    assert!(to_json(few.as_bytes()).is_ok());
}

#[test]
fn deep_documents_are_rejected_without_recursion() {
    let ours = format!("yaml: exceeded max depth of {MAX_DEPTH}");
    let too_deep = ["yaml: exceeded max depth of 10000", &ours];
    for (open, times) in
        [("[", 1_000_000), ("{a: ", 250_000), ("- ", 1_000_000), ("? ", 1_000_000), ("[", 5000)]
    {
        let text = open.repeat(times);
        let error = error_of(&text);
        assert!(too_deep.contains(&error.as_str()) || times == 5000, "{open}: {error}");
    }
    let nested = |depth| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert_eq!(error_of(nested(MAX_DEPTH + 1)), too_deep[1]);
    assert_eq!(json_of(&nested(MAX_DEPTH)), nested(MAX_DEPTH));
    let block: String = (0..=MAX_DEPTH).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect();
    assert_eq!(error_of(block), too_deep[1]);
}

#[test]
fn large_documents_are_decoded_and_encoded() {
    let text = "x".repeat(3 << 20);
    for (open, close) in [("", ""), ("'", "'"), ("\"", "\""), ("|\n ", ""), (">\n ", ""), ("k: ", "")] {
        let document = format!("{open}{text}{close}");
        let json = to_json(document.as_bytes()).unwrap();
        assert!(json.len() >= text.len());
    }
    for item in [
        "a\n", "'a\n'\n", "- a\n", "? a\n", "a: \n", ": \n", "[],", "[a]\n", "\n", "#\n", "&a ", "!a ",
        "a b ", "\" ",
    ] {
        let document = item.repeat((1 << 18) / item.len());
        let _ = to_json(document.as_bytes());
        let _ = to_json(format!("[{document}").as_bytes());
    }
    let keys: String = (0..100_000).map(|key| format!("k{key}: {key}\n")).collect();
    let json = to_json(keys.as_bytes()).unwrap();
    let tree = json::decode_any(&json).unwrap().value;
    let mut yaml = Vec::new();
    encode(&tree, &mut yaml);
    assert_eq!(String::from_utf8(yaml).unwrap(), keys);
}

proptest! {
    #[test]
    fn bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = to_json(&bytes);
    }

    #[test]
    fn yaml_like_text_never_panics(text in "[-?:,\\[\\]{}#&*!|>'\"%@` \\t\\n\\r\\\\a0<.~\u{85}\u{2028}\u{feff}]{0,60}") {
        let _ = to_json(text.as_bytes());
    }

    #[test]
    fn strings_round_trip(text in "[ -~\\n\\t\u{a0}-\u{2ff}\u{1f600}:#'\"]{0,120}", key in "[ -~]{1,140}") {
        let mut json = b"{".to_vec();
        json::write::string(&key, &mut json);
        json.extend_from_slice(b":[{\"k\":");
        json::write::string(&text, &mut json);
        json.extend_from_slice(b"}]}");
        let yaml = yaml_of(std::str::from_utf8(&json).unwrap());
        prop_assert_eq!(to_json(yaml.as_bytes()).unwrap(), json, "{}", yaml);
    }
}
