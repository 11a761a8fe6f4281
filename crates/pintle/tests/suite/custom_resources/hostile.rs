//! Definitions and objects as attackers write them: each is refused or bounded. Nothing takes for ever, and nothing takes
//! the memory that everybody else needs.

use http::Method;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::{DEFINITIONS, Session, definition, object, version};
use crate::support::{Answer, Launch, PATIENCE, Server, eventually};

/// How much a server may grow while it is attacked: an unoptimized build, and what its allocator keeps.
const GROWTH: u64 = 384 << 20;

struct Victim {
    server: Server,
    session: Session,
    before: u64,
}

impl Victim {
    async fn start() -> Victim {
        let server = Launch::new().start().await;
        server.until_it_has_namespaces().await;
        let session = Session::to(&server).await;
        let before = server.resident();
        Victim { server, session, before }
    }

    /// Within a time after which one would speak of hanging.
    async fn say(&mut self, method: Method, path: &str, body: &str) -> Answer {
        let asked = self.session.ask(method, path, "application/json", body);
        timeout(PATIENCE, asked).await.unwrap_or_else(|_| panic!("{path} does not answer"))
    }

    async fn ask(&mut self, method: Method, path: &str, body: &Value) -> Answer {
        self.say(method, path, &body.to_string()).await
    }

    async fn define(&mut self, definition: &Value) -> Answer {
        self.ask(Method::POST, DEFINITIONS, definition).await
    }

    /// A definition that is good, all the same.
    async fn install(&mut self, definition: &Value) {
        let answer = self.define(definition).await;
        assert_eq!(answer.code, 201, "{}", beginning(&answer));
        self.session.established(super::name(definition)).await;
    }

    async fn create(&mut self, group: &str, name: &str, spec: Value) -> Answer {
        let path = format!("/apis/{group}/v1/things");
        self.ask(Method::POST, &path, &object(&format!("{group}/v1"), "Thing", name, spec)).await
    }

    /// It still does what it is there for, and is not much larger.
    async fn lives(&mut self) {
        let answer = self.ask(Method::GET, "/apis", &Value::Null).await;
        assert_eq!(answer.code, 200);
        let grown = self.server.resident().saturating_sub(self.before);
        assert!(grown < GROWTH, "{} MB more", grown >> 20);
        self.server.client().get("/healthz").await.is(200, "ok");
    }
}

fn beginning(answer: &Answer) -> String {
    format!("{}: {}", answer.code, answer.body.chars().take(1500).collect::<String>())
}

/// Things whose spec is this.
fn things(group: &str, spec: Value) -> Value {
    let schema = json!({"type": "object", "properties": {"spec": spec}});
    definition(group, "Thing", "Cluster", vec![version("v1", &schema)])
}

/// Whether a definition is refused as invalid, for a reason in which one of these is said.
#[track_caller]
fn is_refused(answer: &Answer, reasons: &[&str]) {
    assert_eq!(answer.code, 422, "{}", beginning(answer));
    assert!(reasons.iter().any(|reason| answer.body.contains(reason)), "{reasons:?}: {}", beginning(answer));
}

#[tokio::test]
async fn patterns_take_no_more_than_their_texts() {
    let mut victim = Victim::start().await;
    let patterns =
        ["^(a+)+$", "^(a|aa)+$", "^(a|a?)+$", "(.*)*x$", "^(([a-z])+.)+[A-Z]([a-z])+$", "(a?){100}(a){100}$"];
    let fields = patterns.iter().enumerate();
    let fields: serde_json::Map<String, Value> = fields
        .map(|(place, pattern)| (format!("f{place}"), json!({"type": "string", "pattern": pattern})))
        .collect();
    victim.install(&things("patterns.test", json!({"type": "object", "properties": fields}))).await;
    let text = format!("{}!", "a".repeat(20_000));
    for (place, pattern) in patterns.iter().enumerate() {
        let answer = victim.create("patterns.test", "a", json!({format!("f{place}"): text})).await;
        assert_eq!(answer.code, 422, "{pattern}: {}", beginning(&answer));
    }
    // Patterns that would be too large once compiled.
    for pattern in
        ["((a{0,100}){0,100}){0,100}", "(x{1000}){1000}", "x{100000}", &"(".repeat(5000), &"(a|".repeat(2000)]
    {
        let spec = json!({"type": "object", "properties": {"f": {"type": "string", "pattern": pattern}}});
        let answer = victim.define(&things("large-patterns.test", spec)).await;
        is_refused(&answer, &["must be a valid regular expression"]);
    }
    // Patterns of rules.
    let rule = json!({"type": "object", "properties": {"f": {"type": "string", "maxLength": 20000, "x-kubernetes-validations": [
        {"rule": "self.matches('^(a+)+$')", "message": "no match"},
    ]}}});
    victim.install(&things("rule-patterns.test", rule)).await;
    let answer = victim.create("rule-patterns.test", "a", json!({"f": &text[text.len() - 10_000..]})).await;
    is_refused(&answer, &["no match"]);
    victim.lives().await;
}

#[tokio::test]
async fn rules_have_a_budget() {
    let mut victim = Victim::start().await;
    let numbers = |most: usize, rule: &str| {
        let mut list = match most {
            0 => json!({"type": "array", "items": {"type": "integer"}}),
            most => json!({"type": "array", "maxItems": most, "items": {"type": "integer"}}),
        };
        list["x-kubernetes-validations"] = json!([{"rule": rule, "message": "no"}]);
        json!({"type": "object", "properties": {"list": list}})
    };
    // Rules with too high an estimated cost are rejected.
    let within = |depth: usize, inner: &str| {
        (0..depth).fold(inner.to_owned(), |inner, level| format!("self.all(x{level}, {inner})"))
    };
    let doubled = (0..40).fold("[1, 1]".to_owned(), |inner, level| format!("[1, 1].map(m{level}, {inner})"));
    let long = vec!["self.size() >= 0"; 12_000].join(" && ");
    for (rule, reasons) in [
        (within(2, "x0 <= x1 || x1 <= x0"), &["cost"][..]),
        (within(3, "x0 + x1 + x2 > 0"), &["cost"]),
        (within(12, "true"), &["cost"]),
        ("self.map(x, self.map(y, self.filter(z, z > 0).map(w, self))).size() > 0".into(), &["cost"]),
        (format!("{doubled}.size() > 0"), &["cost", "recursion"]),
        (
            format!("{}true{}", "(".repeat(5000), ")".repeat(5000)),
            &["recursion", "Syntax", "compilation failed"],
        ),
        (long, &["limit", "compilation failed", "cost"]),
        ("self.all(x, x.nonsense)".into(), &["compilation failed"]),
        ("self.all(x".into(), &["compilation failed", "Syntax"]),
    ] {
        let answer = victim.define(&things("rules.test", numbers(0, &rule))).await;
        is_refused(&answer, reasons);
    }
    // A rule within the estimated limit is stopped when its evaluation exceeds the budget.
    victim.install(&things("budget.test", numbers(600, "self.all(x, self.all(y, x == y || x != y))"))).await;
    let list: Vec<usize> = (0..600).collect();
    let answer = victim.create("budget.test", "long", json!({"list": list})).await;
    is_refused(&answer, &["call cost exceeds limit"]);
    assert_eq!(victim.create("budget.test", "short", json!({"list": [1, 2, 3]})).await.code, 201);
    victim.lives().await;
}

#[tokio::test]
async fn thousands_of_rules_are_compiled_and_asked() {
    let mut victim = Victim::start().await;
    let rules: Vec<Value> = (0..2000)
        .map(|number| json!({"rule": format!("self.size != {number}"), "message": "taken"}))
        .collect();
    let spec = json!({"type": "object", "properties": {"size": {"type": "integer"}}, "required": ["size"],
        "x-kubernetes-validations": rules});
    victim.install(&things("many-rules.test", spec)).await;
    is_refused(&victim.create("many-rules.test", "a", json!({"size": 1999})).await, &["taken"]);
    let answer = victim.create("many-rules.test", "b", json!({"size": 2000})).await;
    assert_eq!(answer.code, 201, "{}", beginning(&answer));
    victim.lives().await;
}

/// Something in something in something. As text: what makes it should not be what fails.
fn nested(open: &str, inner: &str, close: &str, depth: usize) -> String {
    [&open.repeat(depth), inner, &close.repeat(depth)].concat()
}

/// A definition with this text as the schema of its spec.
fn things_as_text(group: &str, schema: &str) -> String {
    things(group, json!("here")).to_string().replacen(r#""here""#, schema, 1)
}

#[tokio::test]
async fn schemas_may_be_deep_but_not_without_end() {
    let mut victim = Victim::start().await;
    let mut accepted = 0;
    for depth in [50, 400, 2000, 4900, 5100, 20_000] {
        let group = format!("deep{depth}.test");
        let schema = nested(r#"{"type":"object","properties":{"a":"#, r#"{"type":"string"}"#, "}}", depth);
        let answer = victim.say(Method::POST, DEFINITIONS, &things_as_text(&group, &schema)).await;
        assert!(matches!(answer.code, 201 | 400 | 422), "{depth}: {}", beginning(&answer));
        if answer.code != 201 {
            continue;
        }
        accepted = depth;
        let path = format!("{DEFINITIONS}/things.{group}");
        eventually("a deep definition", async || {
            victim.say(Method::GET, &path, "").await.body.contains("InitialNamesAccepted")
        })
        .await;
        let things = format!("/apis/{group}/v1/things");
        let thing = object(&format!("{group}/v1"), "Thing", "a", json!("here")).to_string();
        let thing = thing.replacen(r#""here""#, &nested(r#"{"a":"#, r#""bottom""#, "}", depth), 1);
        let answer = victim.say(Method::POST, &things, &thing).await;
        assert!(matches!(answer.code, 201 | 400 | 422), "{depth}: {}", beginning(&answer));
        for path in [things, format!("/openapi/v3/apis/{group}/v1")] {
            let answer = victim.say(Method::GET, &path, "").await;
            assert!(matches!(answer.code, 200 | 404 | 500), "{path}: {}", beginning(&answer));
        }
    }
    assert!(accepted >= 50, "what people write is accepted");
    for wrap in ["not", "items"] {
        let schema = nested(&format!(r#"{{"{wrap}":"#), "{}", "}", 3000);
        let answer = victim.say(Method::POST, DEFINITIONS, &things_as_text("wrapped.test", &schema)).await;
        assert!(matches!(answer.code, 400 | 422), "{wrap}: {}", beginning(&answer));
    }
    let answer = victim.say(Method::GET, "/openapi/v2", "").await;
    assert!(matches!(answer.code, 200 | 500), "{}", beginning(&answer));
    victim.lives().await;
}

#[tokio::test]
async fn large_schemas_are_taken_or_refused() {
    let mut victim = Victim::start().await;
    let fields: serde_json::Map<String, Value> = (0..9000)
        .map(|number| (format!("field{number}"), json!({"type": "string", "description": "x".repeat(75)})))
        .collect();
    let large = things("large.test", json!({"type": "object", "properties": fields}));
    assert!(large.to_string().len() > 1_000_000);
    let answer = victim.define(&large).await;
    assert!(matches!(answer.code, 201 | 413 | 422 | 500), "{}", beginning(&answer));
    if answer.code == 201 {
        victim.session.established("things.large.test").await;
        let answer = victim.create("large.test", "a", json!({"field8999": "kept", "field9000": "not"})).await;
        assert_eq!(answer.gives(201)["spec"], json!({"field8999": "kept"}));
        for path in ["/openapi/v3/apis/large.test/v1", "/openapi/v2"] {
            assert_eq!(victim.ask(Method::GET, path, &Value::Null).await.code, 200, "{path}");
        }
    }
    let values: Vec<String> = (0..10_000).map(|number| format!("value-{number}")).collect();
    let spec = json!({"type": "object", "properties": {"f": {"type": "string", "enum": values}}});
    victim.install(&things("enum.test", spec)).await;
    assert_eq!(victim.create("enum.test", "a", json!({"f": "value-9999"})).await.code, 201);
    is_refused(&victim.create("enum.test", "b", json!({"f": "other"})).await, &["Unsupported value"]);

    let schema = json!({"type": "object"});
    let versions = (1..=1500).map(|number| version(&format!("v{number}"), &schema)).collect();
    victim.install(&definition("versions-many.test", "Thing", "Cluster", versions)).await;
    assert_eq!(victim.create("versions-many.test", "a", json!({})).await.code, 201);
    let shown =
        victim.ask(Method::GET, "/apis/versions-many.test/v1500/things/a", &Value::Null).await.gives(200);
    assert_eq!(shown["apiVersion"], "versions-many.test/v1500");
    let group = victim.ask(Method::GET, "/apis/versions-many.test", &Value::Null).await.gives(200);
    assert_eq!(group["versions"].as_array().map(Vec::len), Some(1500));
    // More of everything than is ever read is not even looked at.
    let huge = things("huge.test", json!({"type": "object", "description": "x".repeat(3 << 20)}));
    assert_eq!(victim.define(&huge).await.code, 413);
    victim.lives().await;
}

#[tokio::test]
async fn defaults_do_not_multiply_without_end() {
    let mut victim = Victim::start().await;
    let item =
        json!({"type": "object", "properties": {"text": {"type": "string", "default": "x".repeat(2000)}}});
    let spec = json!({"type": "object", "properties": {"list": {"type": "array", "items": item}}});
    victim.install(&things("bomb.test", spec)).await;
    // 60 MB of 90 KB.
    let answer = victim.create("bomb.test", "large", json!({"list": vec![json!({}); 30_000]})).await;
    assert!(matches!(answer.code, 400 | 413 | 422 | 500), "{}", beginning(&answer));
    assert!(answer.body.len() < 1 << 20, "{}", answer.body.len());
    let answer = victim.create("bomb.test", "small", json!({"list": [{}, {}]})).await;
    assert_eq!(answer.gives(201)["spec"]["list"][1]["text"].as_str().map(str::len), Some(2000));
    // Objects in objects in objects, all of them there by default.
    let mut tree =
        json!({"type": "object", "default": {}, "properties": {"leaf": {"type": "string", "default": "x"}}});
    for _ in 0..7 {
        tree = json!({"type": "object", "default": {}, "properties": {"a": tree, "b": tree, "c": tree}});
    }
    let answer = victim.define(&things("tree.test", tree)).await;
    assert!(matches!(answer.code, 201 | 422), "{}", beginning(&answer));
    if answer.code == 201 {
        victim.session.established("things.tree.test").await;
        let answer = victim.create("tree.test", "a", json!({})).await;
        assert!(matches!(answer.code, 201 | 413 | 500), "{}", beginning(&answer));
    }
    // Defaults that are wrong, or that go on and on.
    for default in ["1", r#"{"a":"b"}"#, &nested("[", "1", "]", 3000)] {
        let schema =
            format!(r#"{{"type":"object","properties":{{"f":{{"type":"string","default":{default}}}}}}}"#);
        let answer = victim.say(Method::POST, DEFINITIONS, &things_as_text("defaults.test", &schema)).await;
        assert!(matches!(answer.code, 400 | 422), "{}", beginning(&answer));
    }
    victim.lives().await;
}

#[tokio::test]
async fn names_of_all_kinds_are_refused() {
    let mut victim = Victim::start().await;
    let plain = || things("names.test", json!({"type": "object"}));
    let with = |place: &str, value: Value| {
        let mut definition = plain();
        *definition.pointer_mut(place).expect("a place") = value;
        definition
    };
    let long = "a".repeat(64);
    for wrong in
        ["", "..", ".", "a/b", "../../etc", "A", "a b", "a.b", "a%2fb", "\u{0}", "é", "-a", "a-", &long]
    {
        let answer = victim.define(&with("/spec/names/plural", wrong.into())).await;
        assert_eq!(answer.code, 422, "plural {wrong:?}: {}", beginning(&answer));
        let mut named = with("/spec/names/plural", wrong.into());
        named["metadata"]["name"] = format!("{wrong}.names.test").into();
        assert_eq!(victim.define(&named).await.code, 422, "plural {wrong:?}");
        assert_eq!(
            victim.define(&with("/spec/versions/0/name", wrong.into())).await.code,
            422,
            "version {wrong:?}"
        );
        let mut short = plain();
        short["spec"]["names"]["shortNames"] = json!([wrong]);
        assert_eq!(victim.define(&short).await.code, 422, "short name {wrong:?}");
    }
    for wrong in [
        "",
        "..",
        "test",
        "a/b.test",
        "A.test",
        "a..test",
        ".test",
        "k8s.io",
        "a.kubernetes.io",
        &format!("{}.test", "a".repeat(250)),
    ] {
        let mut named = with("/spec/group", wrong.into());
        named["metadata"]["name"] = format!("things.{wrong}").into();
        let answer = victim.define(&named).await;
        assert_eq!(answer.code, 422, "group {wrong:?}: {}", beginning(&answer));
    }
    for wrong in ["", "a/b", "1", &"A".repeat(64), "Th ing", "Thïng"] {
        let answer = victim.define(&with("/spec/names/kind", wrong.into())).await;
        assert_eq!(answer.code, 422, "kind {wrong:?}: {}", beginning(&answer));
    }
    assert_eq!(victim.define(&plain()).await.code, 201, "nothing of that is left");
    victim.session.established("things.names.test").await;
    // Objects' own names cannot lead elsewhere either.
    for wrong in ["..", ".", "a/b", "../../things.names.test", "A", "a%", &"a".repeat(254)] {
        let answer = victim.create("names.test", wrong, json!({})).await;
        assert_eq!(answer.code, 422, "{wrong:?}: {}", beginning(&answer));
    }
    victim.lives().await;
}

#[tokio::test]
async fn columns_show_what_they_can() {
    let mut victim = Victim::start().await;
    let paths = [
        ".spec..a..a..a..a..a".to_owned(),
        format!(".{}", "a.".repeat(10_000)),
        format!(".spec{}", "..*".repeat(8)),
        ".spec.list[0:1000000000:1]".into(),
        ".spec.list[-1000000000]".into(),
        ".spec.list[?(@.a==@.b)]".into(),
        format!(".spec.list{}", "[*]".repeat(500)),
        ".spec.a[".into(),
        ".spec.a[?(@.x==".into(),
        ".}{.spec".into(),
        ".'".into(),
        r".\".into(),
        ".spec.list[99999999999999999999]".into(),
        ".spec.a.metadata\u{0}".into(),
    ];
    let tree = (0..60).fold(json!("leaf"), |inner, _| json!({"a": inner}));
    let list: Vec<Value> = (0..500).map(|number| json!([number, [number]])).collect();
    for (number, path) in paths.iter().enumerate() {
        let group = format!("columns{number}.test");
        let mut defined =
            things(&group, json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}));
        defined["spec"]["versions"][0]["additionalPrinterColumns"] = json!([{"name": "Evil", "type": "string", "jsonPath": path}, {"name": "Whole", "type": "integer", "jsonPath": path}]);
        let answer = victim.define(&defined).await;
        let shown: String = path.chars().take(40).collect();
        assert!(matches!(answer.code, 201 | 422), "{shown}: {}", beginning(&answer));
        if answer.code == 422 {
            continue;
        }
        victim.session.established(&format!("things.{group}")).await;
        let answer = victim.create(&group, "a", json!({"a": tree, "list": list})).await;
        assert_eq!(answer.code, 201, "{shown}: {}", beginning(&answer));
        let mut connection = victim.server.admin().connect().await.expect("connect");
        let accept = [("accept", "application/json;as=Table;v=v1;g=meta.k8s.io")];
        let path = format!("/apis/{group}/v1/things");
        let answer = timeout(PATIENCE, connection.send(Method::GET, &path, &accept, "")).await;
        let answer = answer.unwrap_or_else(|_| panic!("{shown} does not end")).expect("an answer");
        // The reference fails to serve what it cannot parse.
        assert!(matches!(answer.code, 200 | 500), "{shown}: {}", beginning(&answer));
        if answer.code == 200 {
            assert_eq!(answer.json()["rows"][0]["cells"][0], "a", "{shown}");
        }
    }
    victim.lives().await;
}
