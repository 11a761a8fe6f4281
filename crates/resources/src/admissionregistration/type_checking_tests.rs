use pintle_codec::json;

use super::*;

fn policy(spec: &str) -> Value {
    let text = format!(r#"{{"spec":{spec}}}"#);
    json::decode_untyped(text.as_bytes()).unwrap_or_else(|error| panic!("{text}: {error}")).value
}

fn builtin(name: &str) -> (GroupVersionKind, KindType) {
    let found = pintle_schema::find(name).unwrap();
    let kind = GroupVersionKind::new(found.group().as_ref(), found.version(), found.kind_name());
    (kind, KindType::builtin(found, 7))
}

fn schema(json: &str) -> Structural {
    let schema = json::decode_untyped(json.as_bytes()).unwrap().value;
    pintle_definitions::compile(&schema).unwrap()
}

/// Checks a policy against deployments.
fn warnings(spec: &str) -> Vec<(String, String)> {
    let kinds = CheckedKinds { objects: vec![builtin("apps/v1.Deployment")], params: None };
    warned(spec, &kinds)
}

fn warned(spec: &str, kinds: &CheckedKinds) -> Vec<(String, String)> {
    let warnings = type_warnings(&policy(spec), kinds);
    warnings.into_iter().map(|warning| (warning.field, warning.warning)).collect()
}

#[test]
fn a_wrong_field_is_warned_of_with_its_kind_and_place() {
    assert_eq!(warnings(r#"{"validations":[{"expression":"object.spec.replicas > 1"}]}"#), []);
    assert_eq!(
        warnings(r#"{"validations":[{"expression":"object.replicas > 1"}]}"#),
        [(
            "spec.validations[0].expression".to_owned(),
            "apps/v1, Kind=Deployment: ERROR: <input>:1:7: undefined field 'replicas'\n | object.replicas > 1\n | ......^\n"
                .to_owned()
        )]
    );
}

#[test]
fn every_validation_and_message_is_checked_against_every_kind() {
    let spec = r#"{"validations":[{"expression":"object.spec.replicas > '1'","messageExpression":"object.spec.nope"},{"expression":"oldObject.data.a == 'b'"}]}"#;
    let kinds = CheckedKinds {
        objects: vec![builtin("core/v1.ConfigMap"), builtin("apps/v1.Deployment")],
        params: None,
    };
    let found = warned(spec, &kinds);
    let fields: Vec<&str> = found.iter().map(|(field, _)| field.as_str()).collect();
    assert_eq!(
        fields,
        [
            "spec.validations[0].expression",
            "spec.validations[0].messageExpression",
            "spec.validations[1].expression"
        ]
    );
    let (first, second) = found[0].1.split_once("\n\n").expect("two results");
    assert!(first.starts_with("/v1, Kind=ConfigMap: ERROR: <input>:1:7: undefined field 'spec'"), "{first}");
    let mismatch = "found no matching overload for '_>_' applied to '(int, string)'";
    assert!(second.starts_with("apps/v1, Kind=Deployment: ") && second.contains(mismatch), "{second}");
    assert!(found[2].1.starts_with("apps/v1, Kind=Deployment: "), "{found:?}");
}

#[test]
fn variables_have_the_types_of_their_expressions() {
    let spec = |variables: &str, text: &str| {
        format!(r#"{{"variables":[{variables}],"validations":[{{"expression":"{text}"}}]}}"#)
    };
    let variables = r#"{"name":"replicas","expression":"object.spec.replicas"},{"name":"spec","expression":"object.spec"},{"name":"bad","expression":"object.nope"}"#;
    assert_eq!(warnings(&spec(variables, "variables.replicas > 1 && variables.spec.any.field")), []);
    assert_eq!(warnings(&spec(variables, "variables.bad.any == 1")), [], "not reported, of any type");
    let wrong = warnings(&spec(variables, "variables.replicas == 'a'"));
    assert!(wrong[0].1.contains("applied to '(int, string)'"), "{wrong:?}");
    let missing = warnings(&spec(variables, "variables.absent"));
    assert!(missing[0].1.contains("undefined field 'absent'"), "{missing:?}");
}

#[test]
fn authorizer_params_and_the_request_are_known() {
    let one = |text: &str| format!(r#"{{"validations":[{{"expression":"{text}"}}]}}"#);
    assert_eq!(warnings(&one("authorizer.group('').resource('pods').check('get').allowed()")), []);
    let bad = warnings(&one("authorizer.allowed()"));
    assert!(bad[0].1.contains("found no matching overload for 'allowed'"), "{bad:?}");
    assert_eq!(warnings(&one("request.operation == 'CREATE' && namespaceObject.metadata.name != ''")), []);
    assert!(warnings(&one("params.a"))[0].1.contains("undeclared reference to 'params'"));
    let objects = || vec![builtin("apps/v1.Deployment")];
    let unknown = CheckedKinds { objects: objects(), params: Some(None) };
    assert_eq!(warned(&one("params.anything == 1"), &unknown), []);
    let known = CheckedKinds { objects: objects(), params: Some(Some(builtin("core/v1.ConfigMap").1)) };
    assert_eq!(warned(&one("params.data.a == object.metadata.name"), &known), []);
    assert!(warned(&one("params.dat.a == ''"), &known)[0].1.contains("undefined field 'dat'"));
}

#[test]
fn custom_kinds_have_the_types_of_their_schemas() {
    let schema = schema(
        r#"{"type":"object","properties":{"spec":{"type":"object","properties":{"size":{"type":"integer"},"parts":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"}}}},"free":{"type":"object","additionalProperties":{"type":"string"}}}}}}"#,
    );
    let kind = GroupVersionKind::new("example.com", "v1", "Boat");
    let objects = vec![(kind, KindType::custom(&schema, "Boat", 42))];
    let kinds = CheckedKinds { objects, params: None };
    let one = |text: &str| warned(&format!(r#"{{"validations":[{{"expression":"{text}"}}]}}"#), &kinds);
    for right in [
        "object.spec.size > 1",
        "object.metadata.labels.a == ''",
        "object.kind == 'Boat' && object.metadata.namespace == ''",
        "object.spec.parts.all(part, part.name != '')",
        "object.spec.free['a'] == ''",
    ] {
        assert_eq!(one(right), [], "{right}");
    }
    let wrong = one("object.spec.parts[0] > 1");
    let start = "example.com/v1, Kind=Boat: ERROR: <input>:1:22: found no matching overload for '_>_' applied to \
                 '(Boat42.spec.parts.@idx, int)'";
    assert!(wrong[0].1.starts_with(start), "{wrong:?}");
    let untyped = KindType::custom(&Structural::default(), "Boat", 1);
    let kind = GroupVersionKind::new("example.com", "v1", "Boat");
    let kinds = CheckedKinds { objects: vec![(kind, untyped)], params: None };
    assert_eq!(warned(r#"{"validations":[{"expression":"object.anything.goes"}]}"#, &kinds), []);
}

#[test]
fn kinds_come_from_rules_without_wildcards() {
    let kinds = |rules: &str| {
        let policy = policy(&format!(r#"{{"matchConstraints":{{"resourceRules":[{rules}]}}}}"#));
        let found = kinds_to_check(&policy, |resource| {
            if resource.resource == "none" {
                return Vec::new();
            }
            vec![GroupVersionKind::new(
                &*resource.group,
                &*resource.version,
                resource.resource.to_uppercase(),
            )]
        });
        found.iter().map(|kind| format!("{}/{}/{}", kind.group, kind.version, kind.kind)).collect::<Vec<_>>()
    };
    let rule = |groups: &str, versions: &str, resources: &str| {
        let list =
            |names: &str| names.split(' ').map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(",");
        format!(
            r#"{{"apiGroups":[{}],"apiVersions":[{}],"resources":[{}]}}"#,
            list(groups),
            list(versions),
            list(resources)
        )
    };
    assert_eq!(kinds(&rule("b a", "v1", "y x none")), ["a/v1/X", "a/v1/Y", "b/v1/X", "b/v1/Y"]);
    assert_eq!(kinds(&rule("a *", "v1", "x")), [""; 0]);
    assert_eq!(kinds(&rule("a", "*", "x")), [""; 0]);
    assert_eq!(kinds(&rule("a", "v1", "* x/status */scale x")), ["a/v1/X"]);
    assert_eq!(kinds(&format!("{},{}", rule("a", "v1", "x"), rule("a", "v1", "x"))), ["a/v1/X"]);
    let many: Vec<String> = (0..20).map(|number| format!("r{number:02}")).collect();
    assert_eq!(kinds(&format!("{},{}", rule("a", "v1", &many.join(" ")), rule("b", "v1", "x"))).len(), 10);
    assert_eq!(kinds(""), [""; 0]);
}
