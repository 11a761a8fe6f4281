//! Auditing by a whole server: what its log and its webhook get, and what keeps it from starting.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use http::Method;
use pintle_outbound::testing::{HttpsServer, Reply};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::kubectl::Kubectl;
use crate::support::shared::ready;
use crate::support::{ALICE, Launch, MASTER, Server, eventually};

const JSON: [(&str, &str); 1] = [("content-type", "application/json")];
const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// A server whose requests are recorded under these rules, in `audit.log`.
fn audited(launch: Launch, rules: &str) -> Launch {
    let policy = format!("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n{rules}");
    std::fs::write(launch.path("policy.yaml"), policy).expect("write");
    let flag = |name: &str, file: &str| format!("--{name}={}", launch.path(file).display());
    let flags = [flag("audit-policy-file", "policy.yaml"), flag("audit-log-path", "logs/audit.log")];
    launch.args(&flags)
}

fn log_file(server: &Server) -> PathBuf {
    server.dir().join("logs/audit.log")
}

fn events(server: &Server) -> Vec<Value> {
    let text = std::fs::read_to_string(log_file(server)).expect("the log");
    text.lines().map(|line| serde_json::from_str(line).expect("an event")).collect()
}

/// The events of a stage of requests to a path.
fn of(events: &[Value], verb: &str, path: &str, stage: &str) -> Vec<Value> {
    let matches = |event: &&Value| {
        event["verb"] == verb
            && event["requestURI"].as_str().is_some_and(|uri| uri.starts_with(path))
            && event["stage"] == stage
    };
    events.iter().filter(matches).cloned().collect()
}

fn completed(server: &Server, verb: &str, path: &str) -> Value {
    let found = of(&events(server), verb, path, "ResponseComplete");
    found.last().unwrap_or_else(|| panic!("no {verb} {path}: {:?}", events(server))).clone()
}

#[tokio::test]
async fn wrong_policies_and_backends_keep_the_server_from_starting() {
    let launch = Launch::new();
    let missing = launch.path("missing.yaml").display().to_string();
    let sentence = launch.arg(format!("--audit-policy-file={missing}")).fails().await;
    let expect = format!("loading audit policy file: failed to read file path \"{missing}\": ");
    assert!(sentence.starts_with(&expect), "{sentence}");
    for (policy, expect) in [
        ("{", "failed decoding: "),
        ("apiVersion: v1\nkind: Pod\n", "failed decoding: no kind \"Pod\" is registered for version \"v1\""),
        ("apiVersion: audit.k8s.io/v1\nkind: Policy\n", "loaded illegal policy with 0 rules: from file "),
        (
            "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{}]\n",
            "rules[0].level: Required value: from file ",
        ),
    ] {
        let launch = Launch::new();
        let file = launch.path("policy.yaml");
        std::fs::write(&file, policy).expect("write");
        let sentence = launch.arg(format!("--audit-policy-file={}", file.display())).fails().await;
        assert!(sentence.starts_with(&format!("loading audit policy file: {expect}")), "{sentence}");
    }
    let launch = Launch::new();
    std::fs::write(launch.path("file"), "").expect("write");
    let log = launch.path("file/audit.log");
    let sentence = launch.arg(format!("--audit-log-path={}", log.display())).fails().await;
    assert!(sentence.starts_with("ensureLogFile: "), "{sentence}");
    let launch = audited(Launch::new(), "- level: Metadata\n");
    let sentence = launch.arg("--audit-webhook-config-file=/no/such/file").fails().await;
    assert!(sentence.starts_with("initializing audit webhook: "), "{sentence}");
}

#[tokio::test]
async fn kubectl_s_requests_are_recorded_as_the_policy_says() {
    let rules = "- level: None\n  nonResourceURLs: ['*']\n- level: Metadata\n  resources: [{resources: [secrets]}]\n\
                 - level: RequestResponse\n  omitManagedFields: true\n  omitStages: [RequestReceived]\n  namespaces: [default]\n\
                 - level: None\n";
    let server = audited(Launch::new(), rules).start().await;
    ready(&server).await;
    let kubectl = Kubectl::of(&server);
    kubectl.ok("create configmap settings --from-literal=a=b").await;
    kubectl.ok("create secret generic key --from-literal=password=hidden").await;
    kubectl.ok("annotate configmap settings note=x").await;
    kubectl.ok("get configmaps").await;
    kubectl.ok("delete configmap settings --wait=false").await;
    kubectl.ok("create namespace elsewhere").await;

    let created = completed(&server, "create", CONFIG_MAPS);
    assert_eq!(created["level"], "RequestResponse");
    assert_eq!(created["objectRef"]["name"], "settings");
    assert_eq!(created["requestObject"]["data"], json!({"a": "b"}));
    assert_eq!(created["responseObject"]["metadata"].get("managedFields"), None);
    assert!(created["responseObject"]["metadata"]["uid"].is_string());
    assert_eq!(created["responseStatus"], json!({"metadata": {}, "code": 201}));
    assert!(created["userAgent"].as_str().is_some_and(|agent| agent.starts_with("kubectl/")));
    assert_eq!(created["annotations"]["authorization.k8s.io/decision"], "allow");
    let patched = completed(&server, "patch", CONFIG_MAPS);
    assert_eq!(patched["requestObject"], json!({"metadata": {"annotations": {"note": "x"}}}));
    let listed = completed(&server, "list", CONFIG_MAPS);
    assert_eq!(listed["responseObject"]["kind"], "Table", "what kubectl was shown");
    assert!(!listed.to_string().contains("managedFields"), "{listed}");
    let deleted = completed(&server, "delete", CONFIG_MAPS);
    assert_eq!(deleted["requestObject"]["kind"], "DeleteOptions");
    assert_eq!(deleted["responseStatus"]["status"], "Success");
    let secret = completed(&server, "create", "/api/v1/namespaces/default/secrets");
    assert_eq!((secret["level"].as_str(), secret.get("requestObject")), (Some("Metadata"), None));
    let text = std::fs::read_to_string(log_file(&server)).expect("the log");
    assert!(!text.contains("hidden") && !text.contains("aGlkZGVu") && !text.contains("elsewhere"), "{text}");
    assert!(!text.contains("\"requestURI\":\"/readyz"), "{text}");
    let mode = |path: PathBuf| std::fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    assert_eq!((mode(log_file(&server)), mode(server.dir().join("logs"))), (0o600, 0o700));
    let metrics = server.admin().get("/metrics").await.body;
    assert!(metrics.contains("apiserver_audit_level_total{level=\"Metadata\"} 1\n"), "{metrics}");
    assert!(metrics.contains("apiserver_audit_event_total "), "{metrics}");
}

#[tokio::test]
async fn answers_in_any_encoding_are_recorded_as_json() {
    let server =
        audited(Launch::new(), "- level: RequestResponse\n  resources: [{resources: [configmaps]}]\n")
            .start()
            .await;
    let admin = server.admin();
    let object =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"x": "<y>"}});
    admin.request(Method::POST, CONFIG_MAPS, &JSON, object.to_string()).await.code_is(201);
    let mut shown = Vec::new();
    for accept in [
        "application/json",
        "application/json;pretty=1",
        "application/yaml",
        "application/vnd.kubernetes.protobuf",
    ] {
        for path in [format!("{CONFIG_MAPS}/a"), format!("{CONFIG_MAPS}?fieldSelector=metadata.name%3Da")] {
            admin.request(Method::GET, &path, &[("accept", accept)], "").await.code_is(200);
            let verb = if path.contains('?') { "list" } else { "get" };
            shown.push(completed(&server, verb, &path)["responseObject"].clone());
        }
    }
    assert_eq!(shown[0]["data"]["x"], "<y>");
    assert_eq!(shown[1]["items"][0]["data"]["x"], "<y>");
    for pair in shown.chunks(2) {
        assert_eq!((&pair[0], &pair[1]), (&shown[0], &shown[1]));
    }
    // A body in another encoding as well.
    let yaml = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n";
    let headers = [("content-type", "application/yaml")];
    admin.request(Method::POST, CONFIG_MAPS, &headers, yaml).await.code_is(201);
    let created = completed(&server, "create", CONFIG_MAPS);
    assert_eq!(
        created["requestObject"],
        json!({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "b"}})
    );
    let text = std::fs::read_to_string(log_file(&server)).expect("the log");
    assert!(text.contains(r"\u003cy\u003e"), "the escapes of the reference");
}

#[tokio::test]
async fn a_watch_has_three_stages_and_ends_with_its_client() {
    let server = audited(Launch::new(), "- level: Metadata\n  verbs: [watch]\n").start().await;
    let path = format!("{CONFIG_MAPS}?watch=1");
    let watch = server.admin().follow(&path, &[]).await;
    eventually("the begin of the answer", async || {
        !of(&events(&server), "watch", CONFIG_MAPS, "ResponseStarted").is_empty()
    })
    .await;
    assert!(of(&events(&server), "watch", CONFIG_MAPS, "ResponseComplete").is_empty(), "it goes on");
    drop(watch);
    eventually("the end", async || {
        !of(&events(&server), "watch", CONFIG_MAPS, "ResponseComplete").is_empty()
    })
    .await;
    let all = events(&server);
    let stages: Vec<&str> = all.iter().filter_map(|event| event["stage"].as_str()).collect();
    assert_eq!(stages, ["RequestReceived", "ResponseStarted", "ResponseComplete"]);
    assert_eq!(all[2]["responseStatus"], json!({"metadata": {}, "code": 200}));
}

#[tokio::test]
async fn impersonation_and_refused_credentials_are_recorded() {
    let server = audited(Launch::new().tokens(), "- level: Metadata\n").start().await;
    ready(&server).await;
    let root = server.client().token(MASTER);
    let headers =
        [("impersonate-user", "carol"), ("impersonate-group", "system:masters"), ("impersonate-uid", "7")];
    root.request(Method::GET, "/api/v1/pods", &headers, "").await.code_is(200);
    let event = completed(&server, "list", "/api/v1/pods");
    assert_eq!(event["user"]["username"], "root");
    let expect =
        json!({"username": "carol", "uid": "7", "groups": ["system:masters", "system:authenticated"]});
    assert_eq!(event["impersonatedUser"], expect);
    assert_eq!(event.get("authenticationMetadata"), None, "by the older permission");
    assert_eq!(event["annotations"]["authorization.k8s.io/decision"], "allow");

    let rules = json!([
        {"apiGroups": ["authentication.k8s.io"], "resources": ["users"], "verbs": ["impersonate:user-info"]},
        {"apiGroups": [""], "resources": ["nodes"], "verbs": ["impersonate-on:user-info:list"]},
    ]);
    let rbac = "/apis/rbac.authorization.k8s.io/v1";
    let role = json!({"metadata": {"name": "r"}, "rules": rules});
    root.request(Method::POST, &format!("{rbac}/clusterroles"), &JSON, role.to_string()).await.code_is(201);
    let binding = json!({"metadata": {"name": "r"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "r"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "alice"}]});
    root.request(Method::POST, &format!("{rbac}/clusterrolebindings"), &JSON, binding.to_string())
        .await
        .code_is(201);
    let alice = server.client().token(ALICE);
    alice.request(Method::GET, "/api/v1/nodes", &[("impersonate-user", "bob")], "").await;
    let event = completed(&server, "list", "/api/v1/nodes");
    assert_eq!(event["impersonatedUser"]["username"], "bob");
    assert_eq!(event["authenticationMetadata"], json!({"impersonationConstraint": "impersonate:user-info"}));

    server.client().token("wrong").get("/api/v1/pods?refused").await.code_is(401);
    let refused = of(&events(&server), "list", "/api/v1/pods?refused", "ResponseStarted");
    assert_eq!((refused.len(), &refused[0]["user"]), (1, &json!({})));
    assert_eq!(refused[0]["responseStatus"]["message"], "Unauthorized");
    let text = std::fs::read_to_string(log_file(&server)).expect("the log");
    assert!(!text.contains("wrong") && !text.contains(MASTER), "no credentials");
}

#[tokio::test]
async fn annotations_of_credentials_policies_and_old_versions_are_recorded() {
    let server = audited(Launch::with_defaults(), "- level: Metadata\n").start().await;
    server.until_it_has_namespaces().await;
    let admin = server.admin();
    eventually("the account", async || {
        admin.get("/api/v1/namespaces/default/serviceaccounts/default").await.code == 200
    })
    .await;
    let path = "/api/v1/namespaces/default/serviceaccounts/default/token";
    let body = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}});
    admin.request(Method::POST, path, &JSON, body.to_string()).await.code_is(201);
    let id = &completed(&server, "create", path)["annotations"]["authentication.kubernetes.io/issued-credential-id"];
    assert!(id.as_str().is_some_and(|id| id.starts_with("JTI=")), "{id}");
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let pods = "/api/v1/namespaces/default/pods";
    admin.request(Method::POST, pods, &JSON, pod.to_string()).await.code_is(201);
    let annotations = completed(&server, "create", pods)["annotations"].clone();
    assert_eq!(annotations["pod-security.kubernetes.io/enforce-policy"], "privileged:latest");
    let old = "/api/v1/componentstatuses";
    admin.get(old).await.code_is(200);
    assert_eq!(completed(&server, "list", old)["annotations"]["k8s.io/deprecated"], "true");
    // Controllers in this process stand for those of kube-controller-manager.
    admin
        .request(Method::POST, "/api/v1/namespaces", &JSON, json!({"metadata": {"name": "gone"}}).to_string())
        .await;
    admin.request(Method::DELETE, "/api/v1/namespaces/gone", &[], "").await;
    eventually("the namespace's end", async || admin.get("/api/v1/namespaces/gone").await.code == 404).await;
    let of_controllers = events(&server).into_iter().any(|event| {
        event["user"]["username"] == "system:serviceaccount:kube-system:namespace-controller"
            && event["stage"] == "ResponseComplete"
    });
    assert!(of_controllers);
}

#[tokio::test]
async fn a_server_that_ends_writes_every_event() {
    let webhook = HttpsServer::start(|_| Reply::text(200, "")).await;
    let launch =
        audited(Launch::new(), "- level: Metadata\n  omitStages: [RequestReceived]\n  verbs: [create]\n");
    let config = launch.path("webhook.yaml");
    std::fs::write(&config, webhook.kubeconfig("/audit")).expect("write");
    let mut server = launch
        .args(&[
            format!("--audit-webhook-config-file={}", config.display()),
            "--audit-log-mode=batch".into(),
            "--audit-webhook-batch-max-wait=1h".into(),
        ])
        .start()
        .await;
    let mut connection = server.admin().connect().await.expect("a connection");
    for number in 0..500 {
        let object = json!({"metadata": {"name": format!("c{number}")}});
        let answer = connection.send(Method::POST, CONFIG_MAPS, &JSON, object.to_string()).await;
        assert_eq!(answer.expect("an answer").code, 201);
    }
    server.signal(Signal::TERM);
    assert_eq!(server.exited().await.code(), Some(0));
    let logged = of(&events(&server), "create", CONFIG_MAPS, "ResponseComplete");
    assert_eq!(logged.len(), 500);
    let seen = webhook.seen();
    let posted: usize = seen
        .iter()
        .flat_map(|seen| seen.json()["items"].as_array().cloned().unwrap_or_default())
        .filter(|event| event["requestURI"] == CONFIG_MAPS)
        .count();
    assert_eq!(posted, 500);
    assert!(seen.len() <= 4, "in batches: {}", seen.len());
}

#[tokio::test]
async fn a_request_that_must_be_recorded_and_cannot_be_fails() {
    for (mode, code) in [("blocking-strict", 500), ("blocking", 200)] {
        let launch = Launch::new();
        let policy =
            "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n- level: Metadata\n  verbs: [list]\n";
        std::fs::write(launch.path("policy.yaml"), policy).expect("write");
        let policy = format!("--audit-policy-file={}", launch.path("policy.yaml").display());
        let flags = ["--audit-log-path=/dev/full", "--audit-log-maxsize=0"];
        let server = launch.arg(policy).args(&flags).arg(format!("--audit-log-mode={mode}")).start().await;
        let answer = server.admin().get(CONFIG_MAPS).await;
        answer.code_is(code);
        let metrics = server.admin().get("/metrics").await.body;
        assert!(metrics.contains("apiserver_audit_error_total{plugin=\"log\"} "), "{metrics}");
        if code == 500 {
            let expect = format!("Internal Server Error: \"{CONFIG_MAPS}\": failed to store audit event\n");
            assert_eq!(answer.body, expect);
            assert!(metrics.contains("apiserver_audit_requests_rejected_total 1\n"), "{metrics}");
        }
    }
}

#[tokio::test]
async fn the_legacy_format_goes_to_standard_output() {
    let launch = Launch::new();
    let policy = "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n- level: Metadata\n  verbs: [list]\n";
    std::fs::write(launch.path("policy.yaml"), policy).expect("write");
    let policy = format!("--audit-policy-file={}", launch.path("policy.yaml").display());
    let server = launch.arg(policy).args(&["--audit-log-path=-", "--audit-log-format=legacy"]).start().await;
    server.admin().get(CONFIG_MAPS).await.code_is(200);
    let stdout = server.stdout();
    let line = stdout.lines().rfind(|line| line.contains(" AUDIT: ")).unwrap_or_else(|| panic!("{stdout}"));
    assert!(line.contains("stage=\"ResponseComplete\"") && line.ends_with("response=\"200\""), "{line}");
}
