use super::*;

fn read(text: &str) -> Value {
    json::decode_any(text.as_bytes()).unwrap().value
}

fn applied(document: &str, patch: &str) -> Result<String, String> {
    let patched =
        Patch::decode(patch.as_bytes()).unwrap().apply(read(document)).map_err(|error| error.to_string())?;
    let mut text = Vec::new();
    json::encode(&patched, &mut text);
    Ok(String::from_utf8(text).unwrap())
}

#[track_caller]
fn check(document: &str, patch: &str, expected: &str) {
    assert_eq!(applied(document, patch).as_deref(), Ok(expected));
}

#[track_caller]
fn refused(document: &str, patch: &str, message: &str) {
    assert_eq!(applied(document, patch), Err(message.to_string()));
}

#[test]
fn every_operation_is_applied() {
    check(
        r#"{"a":1}"#,
        r#"[{"op":"add","path":"/b","value":{"c":[1]}},{"op":"add","path":"/b/c/-","value":2}]"#,
        r#"{"a":1,"b":{"c":[1,2]}}"#,
    );
    check(
        r#"{"a":[1,3]}"#,
        r#"[{"op":"add","path":"/a/1","value":2},{"op":"add","path":"/a/3","value":4}]"#,
        r#"{"a":[1,2,3,4]}"#,
    );
    check(
        r#"{"a":1,"b":[1,2,3]}"#,
        r#"[{"op":"remove","path":"/a"},{"op":"remove","path":"/b/1"}]"#,
        r#"{"b":[1,3]}"#,
    );
    check(
        r#"{"a":[1,2]}"#,
        r#"[{"op":"replace","path":"/a/0","value":"x"},{"op":"replace","path":"/a","value":0}]"#,
        r#"{"a":0}"#,
    );
    check(r#"{"a":{"b":1},"c":[]}"#, r#"[{"op":"move","from":"/a/b","path":"/c/0"}]"#, r#"{"a":{},"c":[1]}"#);
    check(
        r#"{"a":{"b":1}}"#,
        r#"[{"op":"copy","from":"/a","path":"/c"},{"op":"remove","path":"/a/b"}]"#,
        r#"{"a":{},"c":{"b":1}}"#,
    );
    check(
        r#"{"a":{"b":[1,null]}}"#,
        r#"[{"op":"test","path":"/a","value":{"b":[1,null]}},{"op":"test","path":"","value":{"a":{"b":[1,null]}}}]"#,
        r#"{"a":{"b":[1,null]}}"#,
    );
}

#[test]
fn paths_may_have_slashes_and_tildes_in_their_parts() {
    check(
        r#"{"a/b":1,"m~n":2,"~1":3}"#,
        r#"[{"op":"remove","path":"/a~1b"},{"op":"remove","path":"/m~0n"},{"op":"remove","path":"/~01"}]"#,
        "{}",
    );
    check(r#"{"":{"":1}}"#, r#"[{"op":"replace","path":"//","value":2}]"#, r#"{"":{"":2}}"#);
    check(r#"{"a":1}"#, r#"[{"op":"remove","path":"nothing/a"}]"#, "{}");
}

#[test]
fn the_references_extensions_are_supported() {
    check(
        r#"{"a":[1,2,3]}"#,
        r#"[{"op":"remove","path":"/a/-1"},{"op":"add","path":"/a/-1","value":9}]"#,
        r#"{"a":[1,2,9]}"#,
    );
    check(
        "{}",
        r#"[{"op":"replace","path":"/a","value":1},{"op":"add","path":"/b"},{"op":"test","path":"/c"}]"#,
        r#"{"a":1,"b":null}"#,
    );
    check("{}", r#"[{"op":"copy","from":"/x","path":"/y"}]"#, r#"{"y":null}"#);
    check("{}", r#"[{"op":"replace","path":"","value":{"x":1}}]"#, r#"{"x":1}"#);
    check(r#"{"a":1}"#, "null", r#"{"a":1}"#);
}

#[test]
fn failed_operations_have_the_references_messages() {
    refused(
        "{}",
        r#"[{"op":"add","path":"/a/b","value":1}]"#,
        r#"add operation does not apply: doc is missing path: "/a/b": missing value"#,
    );
    refused(
        r#"{"a":1}"#,
        r#"[{"op":"add","path":"/a/b","value":1}]"#,
        r#"add operation does not apply: doc is missing path: "/a/b": missing value"#,
    );
    refused(
        "{}",
        r#"[{"op":"add","path":"","value":1}]"#,
        r#"add operation does not apply: doc is missing path: "": missing value"#,
    );
    refused(
        "{}",
        r#"[{"op":"remove","path":"/a"}]"#,
        "error in remove for path: '/a': Unable to remove nonexistent key: a: missing value",
    );
    refused(
        r#"{"a":[]}"#,
        r#"[{"op":"remove","path":"/a/0"}]"#,
        "error in remove for path: '/a/0': Unable to access invalid index: 0: invalid index referenced",
    );
    refused(
        r#"{"a":[]}"#,
        r#"[{"op":"remove","path":"/a/-"}]"#,
        r#"error in remove for path: '/a/-': strconv.Atoi: parsing "-": invalid syntax"#,
    );
    refused(
        r#"{"a":[]}"#,
        r#"[{"op":"add","path":"/a/x","value":1}]"#,
        r#"error in add for path: '/a/x': value was not a proper array index: 'x': strconv.Atoi: parsing "x": invalid syntax"#,
    );
    refused(
        r#"{"a":[]}"#,
        r#"[{"op":"add","path":"/a/2","value":1}]"#,
        "error in add for path: '/a/2': Unable to access invalid index: 2: invalid index referenced",
    );
    refused(
        r#"{"a":[]}"#,
        r#"[{"op":"replace","path":"/a/0","value":1}]"#,
        "replace operation does not apply: doc is missing key: /a/0: missing value",
    );
    refused(
        "{}",
        r#"[{"op":"move","from":"/a","path":"/b"}]"#,
        "error in move for path: 'a': Unable to remove nonexistent key: a: missing value",
    );
    refused(r#"{"a":1}"#, r#"[{"op":"test","path":"/a","value":2}]"#, "testing value /a failed: test failed");
    refused("{}", r#"[{"op":"paint","path":"/a"}]"#, "Unexpected kind: paint");
    refused("{}", r#"[{"op":1}]"#, "Unexpected kind: unknown");
    refused("{}", r#"[{"op":"add"}]"#, "add operation failed to decode path: missing value");
}

#[test]
fn invalid_patches_are_rejected() {
    let bad = |text: &str| Patch::decode(text.as_bytes()).unwrap_err().to_string();
    assert_eq!(bad("{}"), "json: cannot unmarshal object into Go value of type jsonpatch.Patch");
    assert_eq!(bad("[1]"), "json: cannot unmarshal number into Go value of type jsonpatch.Operation");
    let strictly = |text: &str| strict(text.as_bytes()).map_err(|error| error.to_string());
    let type_error = "json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp";
    assert_eq!(strictly("{}"), Err(type_error.into()));
    assert_eq!(strictly("\"x\""), Err(type_error.replace("object", "string")));
    assert_eq!(
        strictly("[1]"),
        Err("json: cannot unmarshal number into Go value of type handlers.jsonPatchOp".into())
    );
    assert_eq!(strictly(""), Err("unexpected end of JSON input".into()));
    assert_eq!(
        strictly(r#"[{"op":1}]"#),
        Err("json: cannot unmarshal number into Go struct field jsonPatchOp.op of type string".into())
    );
    assert_eq!(
        strictly(r#"[{"op":"add","path":"/a","value":[1],"x":2}]"#),
        Ok(vec![r#"json patch unknown field "[0].x""#.into()])
    );
}

#[track_caller]
fn strictly(patch: &str, expected: &[&str]) {
    let found = strict(patch.as_bytes()).unwrap();
    let expected: Vec<String> = expected.iter().map(|message| format!("json patch {message}")).collect();
    assert_eq!(found, expected);
}

#[test]
fn strict_errors_are_in_the_order_of_the_patch() {
    strictly(
        r#"[{"op":"add","path":"/a","foo":"x","value":1},{"op":"add","path":"/a","path":"/b","bar":1},null,{"x":1,"op":"a","op":"b"}]"#,
        &[
            r#"unknown field "[0].foo""#,
            r#"duplicate field "[1].path""#,
            r#"unknown field "[1].bar""#,
            r#"unknown field "[3].x""#,
            r#"duplicate field "[3].op""#,
        ],
    );
    // Field names are case-sensitive.
    strictly(r#"[{"Op":"test","path":null}]"#, &[r#"unknown field "[0].Op""#]);
}

#[test]
fn a_repeated_unknown_field_is_reported_as_unknown_only() {
    strictly(
        r#"[{"foo":1,"foo":{"a":1,"a":2},"op":"test","path":"/data/a","value":"5"}]"#,
        &[r#"unknown field "[0].foo""#],
    );
}

#[test]
fn duplicate_fields_in_a_value_are_strict_errors() {
    strictly(
        r#"[{"op":"add","path":"/a","value":{"b":[{"c":1,"c":2,"c":3}],"b":0},"value":{"b":1}}]"#,
        &[
            r#"duplicate field "[0].value.b[0].c""#,
            r#"duplicate field "[0].value.b""#,
            r#"duplicate field "[0].value""#,
        ],
    );
}

#[test]
fn strict_errors_are_limited_to_a_hundred() {
    let operations = vec![r#"{"op":"test","path":"/a","x":1,"path":"/b"}"#; 150];
    let found = strict(format!("[{}]", operations.join(",")).as_bytes()).unwrap();
    assert_eq!(found.len(), 100);
    assert_eq!(found[99], r#"json patch duplicate field "[49].path""#);
}

#[test]
fn strict_decoding_reports_the_first_value_of_a_wrong_type() {
    let refused = |text: &str| strict(text.as_bytes()).unwrap_err().to_string();
    assert_eq!(
        refused(r#"[{"path":[],"op":1,"x":1},{"from":true}]"#),
        "json: cannot unmarshal array into Go struct field jsonPatchOp.path of type string"
    );
    assert_eq!(
        refused(r#"[{"value":{"a":[1e999]}}]"#),
        "json: cannot unmarshal number 1e999 into Go struct field jsonPatchOp.value of type float64"
    );
    assert_eq!(
        refused(r#"[{"op":1},{]"#),
        "invalid character ']' looking for beginning of object key string"
    );
}

#[test]
fn copies_cannot_grow_without_bound() {
    let big = format!(r#"{{"a":"{}"}}"#, "x".repeat(1 << 20));
    let copies: Vec<String> =
        (0..10).map(|n| format!(r#"{{"op":"copy","from":"/a","path":"/b{n}"}}"#)).collect();
    let error = applied(&big, &format!("[{}]", copies.join(","))).unwrap_err();
    assert!(
        error.starts_with("Unable to complete the copy, the accumulated size increase of copy is 3"),
        "{error}"
    );
    assert!(error.ends_with("exceeding the limit 3145728"));
    // Each copy doubles the document.
    let doubling: Vec<String> =
        (0..64).map(|n| format!(r#"{{"op":"copy","from":"/a","path":"/a/{n}"}}"#)).collect();
    assert!(applied(r#"{"a":{"x":"0123456789"}}"#, &format!("[{}]", doubling.join(","))).is_err());
}

#[test]
fn documents_cannot_be_built_too_deep() {
    let mut operations = Vec::new();
    let mut path = String::new();
    for _ in 0..MAX_DEPTH + 5 {
        path.push_str("/a");
        operations.push(format!(r#"{{"op":"add","path":"{path}","value":{{}}}}"#));
    }
    assert_eq!(applied("{}", &format!("[{}]", operations.join(","))), Err("exceeded max depth".into()));
    let there = "/a".repeat(MAX_DEPTH / 2 + 50);
    let half = MAX_DEPTH / 2 + 50;
    let nested = format!("{}{{}}{}", r#"{"a":"#.repeat(half), "}".repeat(half));
    let moves = format!(
        r#"[{{"op":"add","path":"/b","value":{nested}}},{{"op":"move","from":"/b","path":"{there}/b"}}]"#
    );
    assert_eq!(applied(&nested, &moves), Err("exceeded max depth".into()));
    // Moving back and forth is measured only so often, but works in a shallow document.
    let shuttle: Vec<String> = (0..1000)
        .map(|n| match n % 2 {
            0 => r#"{"op":"move","from":"/x","path":"/y/z"}"#.to_string(),
            _ => r#"{"op":"move","from":"/y/z","path":"/x"}"#.to_string(),
        })
        .collect();
    check(r#"{"x":1,"y":{}}"#, &format!("[{}]", shuttle.join(",")), r#"{"x":1,"y":{}}"#);
}

#[test]
fn values_are_compared_as_they_are_written() {
    let document = r#"{"a":1,"b":"<","c":{"x":[1,null,{"y":true}],"z":"é"}}"#;
    check(
        document,
        r#"[{"op":"test","path":"/c","value":{"z":"é","x":[1,null,{"y":true}]}}]"#,
        r#"{"a":1,"b":"\u003c","c":{"x":[1,null,{"y":true}],"z":"é"}}"#,
    );
    let failed = |path: &str, value: &str| {
        let patch = format!(r#"[{{"op":"test","path":"{path}","value":{value}}}]"#);
        refused(document, &patch, &format!("testing value {path} failed: test failed"));
    };
    failed("/a", "1.0");
    failed("/a", "null");
    failed("/b", "\"<\"");
    failed("/c", r#"{"x":[1,null,{"y":true}]}"#);
    failed("/c/x", r#"[1,null,{"y":"true"}]"#);
    check(
        document,
        r#"[{"op":"test","path":"/b","value":"\u003c"},{"op":"test","path":"/q"}]"#,
        r#"{"a":1,"b":"\u003c","c":{"x":[1,null,{"y":true}],"z":"é"}}"#,
    );
    // Values of the patch are compared as written there.
    check(
        "{}",
        r#"[{"op":"add","path":"/a","value":"<"},{"op":"test","path":"/a","value":"<"}]"#,
        r#"{"a":"\u003c"}"#,
    );
}

#[test]
fn untouched_values_stay_as_written() {
    let map = r#"{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","labels":{"x":"y"}},"data":{"b":"1","a":"2"}}"#;
    let of = pintle_schema::find("core/v1.ConfigMap").unwrap();
    let document = json::decode(of, map.as_bytes()).unwrap().value;
    let patched = |patch: &str| {
        let mut text = Vec::new();
        json::encode(&Patch::decode(patch.as_bytes()).unwrap().apply(document.clone()).unwrap(), &mut text);
        String::from_utf8(text).unwrap()
    };
    assert_eq!(
        patched(r#"[{"op":"add","path":"/x","value":{"z":1.50, "a":[1e2],"z":2.0}}]"#),
        concat!(
            r#"{"apiVersion":"v1","data":{"a":"2","b":"1"},"kind":"ConfigMap","#,
            r#""metadata":{"name":"a","labels":{"x":"y"}},"x":{"z":1.50,"a":[1e2],"z":2.0}}"#
        )
    );
    assert_eq!(
        patched(
            r#"[{"op":"add","path":"/metadata/x","value":1.0},{"op":"copy","from":"/metadata","path":"/c"}]"#
        ),
        concat!(
            r#"{"apiVersion":"v1","c":{"labels":{"x":"y"},"name":"a","x":1.0},"data":{"a":"2","b":"1"},"#,
            r#""kind":"ConfigMap","metadata":{"labels":{"x":"y"},"name":"a","x":1.0}}"#
        )
    );
}

#[test]
fn shifted_list_items_are_bounded() {
    let list = format!(r#"{{"a":[{}]}}"#, vec!["1"; 100_000].join(","));
    let many = |operation: &str, count: usize| format!("[{}]", vec![operation; count].join(","));
    let moved = Err("too many items of lists would have to be moved".to_owned());
    for first in [
        r#"{"op":"add","path":"/a/0","value":2}"#,
        r#"{"op":"remove","path":"/a/0"}"#,
        r#"{"op":"move","from":"/a/0","path":"/a/0"}"#,
    ] {
        assert_eq!(applied(&list, &many(first, 9_999)).map(drop), moved, "{first}");
    }
    // Appending shifts nothing.
    assert!(applied(&list, &many(r#"{"op":"add","path":"/a/-","value":2}"#, 9_999)).is_ok());
    assert!(applied(&list, &many(r#"{"op":"replace","path":"/a/0","value":2}"#, 9_999)).is_ok());
    assert!(applied(r#"{"a":[]}"#, &many(r#"{"op":"add","path":"/a/0","value":2}"#, 9_999)).is_ok());
}
