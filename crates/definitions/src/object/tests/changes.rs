use pintle_codec::json;

use super::{schema, text, tree};
use crate::object::{
    Coercion, coerce, coerce_embedded, coerce_metadata, default, drop_nulls, prune, prune_defaults,
};

#[test]
fn unknown_fields_go_and_are_named() {
    let cases = [
        // (schema, object, what stays, what went)
        (r#"{}"#, r#"4"#, r#"4"#, ""),
        (r#"{}"#, r#"{"a":1,"b":{"c":1}}"#, r#"{}"#, "a b"),
        (r#"{}"#, r#"[[1,{"a":1}],{"b":2}]"#, r#"[[1,{}],{}]"#, "[0][1].a [1].b"),
        (r#"{"properties":{"a":{}}}"#, r#"{"a":1,"b":1}"#, r#"{"a":1}"#, "b"),
        (r#"{"properties":{"a":{}}}"#, r#"{"a":{"b":1}}"#, r#"{"a":{}}"#, "a.b"),
        (
            r#"{"properties":{"a":{"items":{"properties":{"k":{}}}}}}"#,
            r#"{"a":[{"k":1},{"x":1,"k":2},[{"k":1}]]}"#,
            r#"{"a":[{"k":1},{"k":2},[{}]]}"#,
            "a[1].x a[2][0].k",
        ),
        (
            r#"{"properties":{"m":{"additionalProperties":{"properties":{"k":{}}}}}}"#,
            r#"{"m":{"a.b":{"k":1,"x":1},"z":{"y":1}}}"#,
            r#"{"m":{"a.b":{"k":1},"z":{}}}"#,
            "m.a.b.x m.z.y",
        ),
        // A bool is no schema, so that everything below it is unknown.
        (r#"{"additionalProperties":true}"#, r#"{"a":{"b":1},"c":2}"#, r#"{"a":{},"c":2}"#, "a.b"),
        // Preserved, until fields are named again.
        (
            r#"{"x-kubernetes-preserve-unknown-fields":true,"properties":{"a":{"properties":{"k":{}}}}}"#,
            r#"{"a":{"k":1,"x":1},"b":{"x":1}}"#,
            r#"{"a":{"k":1},"b":{"x":1}}"#,
            "a.x",
        ),
        (
            r#"{"x-kubernetes-preserve-unknown-fields":true,"items":{"properties":{"k":{"type":"object"}}}}"#,
            r#"[{"x":1,"k":{"y":1}},[{"x":1}]]"#,
            r#"[{"k":{},"x":1},[{"x":1}]]"#,
            "[0].k.y",
        ),
        (r#"{"x-kubernetes-preserve-unknown-fields":true}"#, r#"[{"x":{"y":1}}]"#, r#"[{"x":{"y":1}}]"#, ""),
        // An embedded object keeps what every object has.
        (
            r#"{"properties":{"e":{"x-kubernetes-embedded-resource":true,"properties":{"spec":{}}}}}"#,
            r#"{"e":{"apiVersion":"v1","kind":"A","metadata":{"x":1},"spec":{"y":1},"z":1},"kind":"B"}"#,
            r#"{"e":{"apiVersion":"v1","kind":"A","metadata":{"x":1},"spec":{}}}"#,
            "e.spec.y e.z kind",
        ),
    ];
    for (of, given, want, went) in cases {
        let of = schema(of);
        let mut object = tree(given);
        assert_eq!(prune(&of, &mut object, false).join(" "), went, "{given}");
        assert_eq!(text(&object), want, "{given}");
        let before = object.clone();
        assert!(prune(&of, &mut object, false).is_empty());
        assert!(before.is_same(&object), "pruned again: {given}");
    }
}

#[test]
fn a_root_keeps_its_metadata() {
    let of = schema(r#"{"properties":{"spec":{}}}"#);
    let mut object = tree(r#"{"apiVersion":"v1","kind":"A","metadata":{"x":{"y":1}},"spec":1,"status":{}}"#);
    assert_eq!(prune(&of, &mut object, true), ["status"]);
    assert_eq!(text(&object), r#"{"apiVersion":"v1","kind":"A","metadata":{"x":{"y":1}},"spec":1}"#);
}

#[test]
fn pruned_fields_are_reported_up_to_a_limit() {
    let long = "k".repeat(1 << 20);
    let fields: Vec<String> = (0..50).map(|n| format!(r#""f{n}":1"#)).collect();
    let of = schema(&format!(r#"{{"properties":{{"{long}":{{}}}}}}"#));
    let mut object = tree(&format!(r#"{{"{long}":{{{}}}}}"#, fields.join(",")));
    assert_eq!(prune(&of, &mut object, false).len(), 3);
    assert_eq!(object.get(&long).unwrap().as_object().unwrap().len(), 0);
}

#[test]
fn defaults_are_set_where_nothing_is_said() {
    let nested = r#"{"properties":{"o":{"default":{},"properties":{"p":{"default":"P"},"q":{"default":{"r":1},
        "properties":{"r":{},"s":{"default":2}}}}},
        "l":{"items":{"default":7,"type":"integer"}},
        "m":{"additionalProperties":{"default":"M"}},
        "n":{"nullable":true,"default":"N"},
        "ln":{"items":{"nullable":true,"default":"x"}},
        "lo":{"items":{"properties":{"z":{"default":"zz"}}}}}}"#;
    let cases = [
        (r#"{}"#, r#"{}"#, r#"{}"#),
        (r#"{"properties":{"a":{"default":"A"}}}"#, r#"{}"#, r#"{"a":"A"}"#),
        (r#"{"properties":{"a":{"default":"A"}}}"#, r#"{"a":null}"#, r#"{"a":"A"}"#),
        (r#"{"properties":{"a":{"default":"A"}}}"#, r#"{"a":""}"#, r#"{"a":""}"#),
        (r#"{"properties":{"a":{"default":null}}}"#, r#"{}"#, r#"{}"#),
        (nested, r#"{}"#, r#"{"n":"N","o":{"p":"P","q":{"r":1,"s":2}}}"#),
        (nested, r#"{"n":null,"o":{"p":"x","q":{}}}"#, r#"{"n":null,"o":{"p":"x","q":{"s":2}}}"#),
        (nested, r#"{"n":1,"o":null}"#, r#"{"n":1,"o":{"p":"P","q":{"r":1,"s":2}}}"#),
        (nested, r#"{"l":[null,1],"n":1,"o":1}"#, r#"{"l":[7,1],"n":1,"o":1}"#),
        (nested, r#"{"ln":[null],"n":1,"o":1}"#, r#"{"ln":[null],"n":1,"o":1}"#),
        (nested, r#"{"lo":[{},{"z":"1"}],"n":1,"o":1}"#, r#"{"lo":[{"z":"zz"},{"z":"1"}],"n":1,"o":1}"#),
        (nested, r#"{"m":{"a":null,"b":"c"},"n":1,"o":1}"#, r#"{"m":{"a":"M","b":"c"},"n":1,"o":1}"#),
        // Below what is preserved nothing is known.
        (
            r#"{"x-kubernetes-preserve-unknown-fields":true,"properties":{"a":{"default":1}}}"#,
            r#"{"z":{}}"#,
            r#"{"a":1,"z":{}}"#,
        ),
    ];
    for (of, given, want) in cases {
        let of = schema(of);
        let mut object = tree(given);
        default(&of, &mut object);
        assert_eq!(text(&object), want, "{given}");
        let before = object.clone();
        default(&of, &mut object);
        assert!(before.is_same(&object), "defaulted again: {given}");
    }
}

#[test]
fn nulls_go_where_nothing_allows_them() {
    let of = schema(
        r#"{"properties":{"o":{"items":{"properties":{"a":{"default":"A"},"b":{"nullable":true},
            "c":{"default":"C","nullable":true},"d":{}}}},"m":{"additionalProperties":{}}}}"#,
    );
    let mut object =
        tree(r#"{"m":{"x":null,"y":1},"o":[{"a":null},{"b":null},{"c":null},{"d":null},{"e":null},null]}"#);
    drop_nulls(&of, &mut object);
    assert_eq!(text(&object), r#"{"m":{"y":1},"o":[{"a":null},{"b":null},{"c":null},{},{"e":null},null]}"#);
    let before = object.clone();
    drop_nulls(&of, &mut object);
    assert!(before.is_same(&object));
}

#[test]
fn defaults_are_pruned_themselves() {
    let mut of = schema(
        r#"{"properties":{"a":{"default":{"k":1,"x":2},"properties":{"k":{}}},
            "l":{"items":{"default":{"x":1},"type":"object"}},
            "m":{"additionalProperties":{"default":{"x":1,"y":2},"properties":{"x":{}}}},
            "p":{"default":{"x":1},"x-kubernetes-preserve-unknown-fields":true},
            "e":{"x-kubernetes-embedded-resource":true,"default":{"apiVersion":"v1","kind":1,"metadata":{"name":"a","x":1}}}}}"#,
    );
    prune_defaults(&mut of).unwrap();
    let shown = |path: &[&str]| {
        let node = path.iter().fold(&of, |node, name| match *name {
            "[]" => node.items.as_deref().unwrap(),
            "*" => node.additional_schema().unwrap(),
            name => node.property(name).unwrap(),
        });
        text(node.default.as_ref().unwrap())
    };
    assert_eq!(shown(&["a"]), r#"{"k":1}"#);
    assert_eq!(shown(&["l", "[]"]), "{}");
    assert_eq!(shown(&["m", "*"]), r#"{"x":1}"#);
    assert_eq!(shown(&["p"]), r#"{"x":1}"#);
    assert_eq!(shown(&["e"]), r#"{"apiVersion":"v1","metadata":{"name":"a"}}"#);
    let mut wrong = schema(r#"{"default":1}"#);
    let error = "failed to prune default value: object root default value must be of object type";
    assert_eq!(prune_defaults(&mut wrong).unwrap_err(), error);
}

#[test]
fn metadata_is_read_as_its_type() {
    let cases = [
        // (metadata, as it is then, unknown)
        (r#"{"name":"a"}"#, r#"{"name":"a"}"#, ""),
        (r#"null"#, r#"{}"#, ""),
        (r#"{"name":"a","bogus":1,"zz":{}}"#, r#"{"name":"a"}"#, "metadata.bogus metadata.zz"),
        (r#"{"Name":"a"}"#, r#"{}"#, "metadata.Name"),
        (r#"{"name":"","labels":{},"generation":0,"finalizers":[],"uid":null}"#, r#"{}"#, ""),
        (r#"{"labels":{"a":null,"b":"c"}}"#, r#"{"labels":{"a":"","b":"c"}}"#, ""),
        (
            r#"{"creationTimestamp":"2020-01-01T01:00:00+01:00"}"#,
            r#"{"creationTimestamp":"2020-01-01T00:00:00Z"}"#,
            "",
        ),
        (r#"{"creationTimestamp":null}"#, r#"{}"#, ""),
        (r#"{"creationTimestamp":"0001-01-01T00:00:00Z"}"#, r#"{}"#, ""),
        (
            r#"{"ownerReferences":[{"kind":"A","x":1,"controller":false}]}"#,
            r#"{"ownerReferences":[{"apiVersion":"","controller":false,"kind":"A","name":"","uid":""}]}"#,
            "metadata.ownerReferences[0].x",
        ),
        (
            r#"{"managedFields":[{"fieldsV1":{"f:b":{},"f:a":{".":null}},"manager":"m"}]}"#,
            r#"{"managedFields":[{"fieldsV1":{"f:a":{".":null},"f:b":{}},"manager":"m"}]}"#,
            "",
        ),
    ];
    for (given, want, unknown) in cases {
        for drop in [false, true] {
            let mut object = tree(&format!(r#"{{"metadata":{given}}}"#));
            assert_eq!(coerce_metadata(&mut object, drop).unwrap().join(" "), unknown, "{given}");
            assert_eq!(text(object.get("metadata").unwrap()), want, "{given}");
            let before = object.clone();
            assert!(coerce_metadata(&mut object, drop).unwrap().is_empty());
            assert!(before.is_same(&object), "read again: {given}");
        }
    }
}

#[test]
fn metadata_that_does_not_fit_is_an_error_or_left_out() {
    let cases = [
        (
            r#"{"annotations":11,"name":"a","x":1}"#,
            "json: cannot unmarshal number into Go struct field ObjectMeta.annotations of type map[string]string",
            r#"{"name":"a"}"#,
        ),
        (
            r#"{"name":1,"labels":{"a":"b"}}"#,
            "json: cannot unmarshal number into Go struct field ObjectMeta.name of type string",
            r#"{"labels":{"a":"b"}}"#,
        ),
        (
            r#"{"labels":{"a":1}}"#,
            "json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string",
            r#"{}"#,
        ),
        (
            r#"{"generation":1.5,"ownerReferences":[{"kind":1}],"uid":"u"}"#,
            "json: cannot unmarshal number 1.5 into Go struct field ObjectMeta.generation of type int64",
            r#"{"uid":"u"}"#,
        ),
    ];
    for (given, wrong, want) in cases {
        let mut object = tree(&format!(r#"{{"metadata":{given}}}"#));
        assert_eq!(coerce_metadata(&mut object.clone(), false).unwrap_err(), wrong);
        coerce_metadata(&mut object, true).unwrap();
        assert_eq!(text(object.get("metadata").unwrap()), want, "{given}");
    }
    let mut object = tree(r#"{"metadata":"a"}"#);
    assert_eq!(
        coerce_metadata(&mut object, false).unwrap_err(),
        "json: cannot unmarshal string into Go value of type v1.ObjectMeta"
    );
    assert_eq!(
        coerce_metadata(&mut object, true).unwrap_err(),
        "invalid metadata: expected object, got string"
    );
}

const EMBEDDED: &str = r#"{"properties":{"spec":{"properties":{
    "e":{"x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true},
    "m":{"additionalProperties":{"x-kubernetes-embedded-resource":true,"properties":{"spec":{}}}},
    "l":{"items":{"x-kubernetes-embedded-resource":true}}}}}}"#;

#[test]
fn embedded_metadata_is_read_too() {
    let of = schema(EMBEDDED);
    let mut object = tree(
        r#"{"apiVersion":"g/v1","kind":"W","metadata":{"name":"a0","bogus":1},"zzz":1,"spec":{
            "e":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x","bogus":1},"z":1},
            "l":[{"metadata":{"a":{"b":1}}}],"m":{"k":{"kind":"A","metadata":{"name":"n","b":1},"y":1}}}}"#,
    );
    let unknown = coerce(&of, &mut object, Coercion::REQUEST).unwrap();
    assert_eq!(
        unknown,
        [
            "metadata.bogus",
            "spec.m.k.y",
            "zzz",
            "spec.e.metadata.bogus",
            "spec.l[0].metadata.a",
            "spec.m[k].metadata.b",
        ]
    );
    assert_eq!(
        text(&object),
        concat!(
            r#"{"apiVersion":"g/v1","kind":"W","metadata":{"name":"a0"},"spec":{"#,
            r#""e":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"z":1},"#,
            r#""l":[{"metadata":{}}],"m":{"k":{"kind":"A","metadata":{"name":"n"}}}}}"#
        )
    );
}

#[test]
fn embedded_metadata_that_does_not_fit_is_an_error_or_left_out() {
    let of = schema(EMBEDDED);
    let cases = [
        (
            r#"{"spec":{"e":{"kind":1}}}"#,
            "spec.e.kind: Invalid value: 1: must be a string",
            r#"{"spec":{"e":{}}}"#,
        ),
        (
            r#"{"spec":{"l":[{"metadata":{"labels":[],"name":"a"}}]}}"#,
            concat!(
                r#"spec.l[0].metadata: Invalid value: {"labels":[],"name":"a"}: "#,
                "json: cannot unmarshal array into Go struct field ObjectMeta.labels of type map[string]string"
            ),
            r#"{"spec":{"l":[{"metadata":{"name":"a"}}]}}"#,
        ),
        (
            r#"{"spec":{"m":{"a/b":{"apiVersion":{},"metadata":"x"}}}}"#,
            "spec.m[a/b].apiVersion: Invalid value: {}: must be a string",
            r#"{"spec":{"m":{"a/b":{"metadata":"x"}}}}"#,
        ),
    ];
    for (given, wrong, want) in cases {
        let mut object = tree(given);
        let error = coerce_embedded(&of, &mut object, false, false).unwrap_err();
        assert_eq!(error.to_string(), wrong);
        assert_eq!(text(&object), given);
        coerce_embedded(&of, &mut object, false, true).unwrap();
        assert_eq!(text(&object), want);
    }
}

#[test]
fn an_object_without_a_generation_gets_its_first_one() {
    let of = schema(r#"{"x-kubernetes-preserve-unknown-fields":true}"#);
    let mut object = tree(r#"{"metadata":{"name":"a"}}"#);
    coerce(&of, &mut object, Coercion::STORED).unwrap();
    assert_eq!(object.generation(), 1);
    let before = object.clone();
    coerce(&of, &mut object, Coercion::STORED).unwrap();
    assert!(before.is_same(&object));
}

#[test]
fn a_definition_that_preserves_everything_does() {
    let of = schema(r#"{"properties":{"spec":{}}}"#);
    let mut object = tree(r#"{"metadata":{"name":"a"},"other":{"a":null},"spec":null}"#);
    let before = object.clone();
    let how = Coercion { preserve_unknown: true, ..Coercion::REQUEST };
    assert!(coerce(&of, &mut object, how).unwrap().is_empty());
    assert!(before.is_same(&object));
}

#[test]
fn a_default_may_be_as_deep_as_an_object() {
    let deep = format!("{}1{}", "[".repeat(300), "]".repeat(300));
    let of = pintle_schema::find("apiextensions/v1.JSONSchemaProps").unwrap();
    let given = format!(
        r#"{{"type":"object","properties":{{"a":{{"x-kubernetes-preserve-unknown-fields":true,"default":{deep}}}}}}}"#
    );
    let given = json::decode(of, given.as_bytes()).unwrap().value;
    let mut object = tree("{}");
    default(&crate::compile(&given).unwrap(), &mut object);
    assert_eq!(text(&object), format!(r#"{{"a":{deep}}}"#));
}
