use super::*;

fn full() -> Event {
    let user = |name: &str| User {
        name: name.into(),
        uid: "u1".into(),
        groups: vec!["g<1>".into(), "g2".into()],
        extra: BTreeMap::from([("scopes".into(), vec!["a".into(), "b".into()])]),
    };
    let status = Status { code: 0, ..Status::not_found("", "pods", "p") };
    Event {
        request: Arc::new(RequestPart {
            level: Level::RequestResponse,
            audit_id: "id".into(),
            uri: "/api/v1/pods?a=b&c=d".into(),
            verb: "get".into(),
            user: Some(Arc::new(user("alice"))),
            source_ips: vec!["1.2.3.4".into(), "127.0.0.1".into()],
            user_agent: "kubectl".into(),
            received: MicroTime::from_unix(1_700_000_000, 123_456_789),
            json: OnceLock::new(),
        }),
        stage: Stage::ResponseComplete,
        stage_time: MicroTime::from_unix(1_700_000_001, 0),
        impersonated_user: Some(Arc::new(user("bob"))),
        impersonation_constraint: "impersonate:user-info",
        object: Some(Arc::new(ObjectReference {
            resource: "pods".into(),
            namespace: "n".into(),
            name: "p".into(),
            uid: "x".into(),
            group: "g".into(),
            version: "v1".into(),
            resource_version: "7".into(),
            subresource: "log".into(),
        })),
        response_status: Some(ResponseStatus { code: 404, status: Some(Arc::new(status)) }),
        request_object: Some(Bytes::from_static(b"{\"a\":1}")),
        response_object: Some(Bytes::from_static(b"{\"b\":2}")),
        annotations: BTreeMap::from([("b".into(), "2\n".into()), ("a".into(), "1".into())]),
        json: OnceLock::new(),
    }
}

fn bare() -> Event {
    let full = full();
    Event {
        request: Arc::new(RequestPart {
            level: Level::Metadata,
            audit_id: "id".into(),
            uri: "/".into(),
            verb: "get".into(),
            user: None,
            source_ips: Vec::new(),
            user_agent: String::new(),
            received: full.request.received,
            json: OnceLock::new(),
        }),
        stage: Stage::RequestReceived,
        impersonated_user: None,
        impersonation_constraint: "",
        object: None,
        response_status: None,
        request_object: None,
        response_object: None,
        annotations: BTreeMap::new(),
        ..full
    }
}

#[test]
fn fields_are_in_the_reference_s_order() {
    let user = |name: &str| {
        format!(
            r#"{{"username":"{name}","uid":"u1","groups":["g\u003c1\u003e","g2"],"extra":{{"scopes":["a","b"]}}}}"#
        )
    };
    let expect = format!(
        r#""level":"RequestResponse","auditID":"id","stage":"ResponseComplete","requestURI":"/api/v1/pods?a=b\u0026c=d","verb":"get","user":{},"impersonatedUser":{},"authenticationMetadata":{{"impersonationConstraint":"impersonate:user-info"}},"sourceIPs":["1.2.3.4","127.0.0.1"],"userAgent":"kubectl","objectRef":{{"resource":"pods","namespace":"n","name":"p","uid":"x","apiGroup":"g","apiVersion":"v1","resourceVersion":"7","subresource":"log"}},"responseStatus":{{"metadata":{{}},"status":"Failure","message":"pods \"p\" not found","reason":"NotFound","details":{{"name":"p","kind":"pods"}},"code":404}},"requestObject":{{"a":1}},"responseObject":{{"b":2}},"requestReceivedTimestamp":"2023-11-14T22:13:20.123456Z","stageTimestamp":"2023-11-14T22:13:21.000000Z","annotations":{{"a":"1","b":"2\n"}}}}"#,
        user("alice"),
        user("bob")
    );
    assert_eq!(String::from_utf8_lossy(full().json()), expect);
}

#[test]
fn what_is_not_known_is_left_out() {
    let expect = r#""level":"Metadata","auditID":"id","stage":"RequestReceived","requestURI":"/","verb":"get","user":{},"requestReceivedTimestamp":"2023-11-14T22:13:20.123456Z","stageTimestamp":"2023-11-14T22:13:21.000000Z"}"#;
    let event = bare();
    assert_eq!(String::from_utf8_lossy(event.json()), expect);
    assert_eq!(event.size(), LINE_START.len() + expect.len() + 1);
    let answered = Event { response_status: Some(ResponseStatus { code: 200, status: None }), ..bare() };
    assert!(
        String::from_utf8_lossy(answered.json()).contains(r#""responseStatus":{"metadata":{},"code":200},"#)
    );
}

#[test]
fn a_list_has_the_kind_of_its_items() {
    let events = [bare(), full()];
    let list: serde_json::Value = serde_json::from_slice(&list_of(events.iter())).unwrap();
    assert_eq!((&list["kind"], &list["apiVersion"]), (&"EventList".into(), &"audit.k8s.io/v1".into()));
    assert_eq!(list["items"].as_array().unwrap().len(), 2);
    assert_eq!(list["items"][1]["requestObject"]["a"], 1);
    assert!(list["items"][0].get("kind").is_none());
}

#[test]
fn the_legacy_format_is_one_line() {
    assert_eq!(
        full().to_string(),
        r#"2023-11-14T22:13:20.123456Z AUDIT: id="id" stage="ResponseComplete" ip="1.2.3.4" method="get" user="alice" groups="\"g<1>\",\"g2\"" as="bob" asgroups="\"g<1>\",\"g2\"" user-agent="kubectl" namespace="n" uri="/api/v1/pods?a=b&c=d" response="404""#
    );
    assert_eq!(
        bare().to_string(),
        r#"2023-11-14T22:13:20.123456Z AUDIT: id="id" stage="RequestReceived" ip="<unknown>" method="get" user="<none>" groups="<none>" as="<self>" asgroups="<lookup>" user-agent="" namespace="<none>" uri="/" response="<deferred>""#
    );
}

#[test]
fn what_clients_send_becomes_compact_json() {
    let shown = |text: &str| String::from_utf8(json_of(text.as_bytes()).to_vec()).unwrap();
    assert_eq!(shown("{ \"a\" : [ 1, \"<x>\" ] }\n"), r#"{"a":[1,"\u003cx\u003e"]}"#);
    assert_eq!(shown("a: [1, b]\n"), r#"{"a":[1,"b"]}"#);
    assert_eq!(shown("{\"a\": "), r#""{\"a\": ""#);
    assert_eq!(shown(""), "null");
    let shown = json_of(&[b'{', 0xff]);
    assert!(serde_json::from_slice::<serde_json::Value>(&shown).is_ok());
}

#[test]
fn a_truncated_event_has_no_objects() {
    let event = full();
    let before = event.size();
    let truncated = event.truncated();
    let text = String::from_utf8_lossy(truncated.json()).into_owned();
    assert!(
        truncated.size() < before + 40 && !text.contains("requestObject") && !text.contains("responseObject")
    );
    assert!(text.contains(r#""annotations":{"a":"1","audit.k8s.io/truncated":"true","b":"2\n"}"#), "{text}");
}
