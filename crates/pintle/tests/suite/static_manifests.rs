//! Webhook configurations and policies that are files (`staticManifestsDir`).

use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::Method;
use pintle_outbound::testing::{HttpsServer, Reply, Seen};
use serde_json::{Value, json};

use crate::optional_plugins::configured;
use crate::support::shared::ready;
use crate::support::{Answer, Launch, Server, eventually};

const GATE: &str = "--feature-gates=ManifestBasedAdmissionControlConfig=true";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const REGISTRATION: &str = "/apis/admissionregistration.k8s.io/v1";
const VALIDATING: &str = "ValidatingAdmissionWebhook";
const MUTATING: &str = "MutatingAdmissionWebhook";

/// Returns a launch with a folder of manifests for each of these plugins.
fn with_folders(plugins: &[&str]) -> (Launch, Vec<PathBuf>) {
    let kind = |plugin: &str| match plugin.ends_with("Webhook") {
        true => "WebhookAdmissionConfiguration".to_owned(),
        false => format!("{plugin}Configuration"),
    };
    let launch = Launch::new().arg(GATE);
    let folders: Vec<PathBuf> = plugins.iter().map(|plugin| launch.path(plugin)).collect();
    let entry = |(plugin, folder): (&&str, &PathBuf)| {
        std::fs::create_dir(folder).expect("make a folder");
        json!({"name": plugin, "configuration": {
            "apiVersion": "apiserver.config.k8s.io/v1", "kind": kind(plugin), "staticManifestsDir": folder,
        }})
    };
    let entries: Vec<Value> = plugins.iter().zip(&folders).map(entry).collect();
    (configured(launch, &Value::Array(entries)), folders)
}

fn write(folder: &Path, name: &str, manifest: &Value) {
    // As a program that cares for readers does it: in place under its name at once.
    let (file, other) = (folder.join(name), folder.join("unfinished"));
    std::fs::write(&other, manifest.to_string()).expect("write a manifest");
    std::fs::rename(other, file).expect("move a manifest");
}

/// Returns a webhook for a resource of a group at a path of a server.
fn hook(name: &str, server: &HttpsServer, path: &str, group: &str, resource: &str) -> Value {
    json!({
        "name": name, "admissionReviewVersions": ["v1"], "sideEffects": "None",
        "rules": [{"apiGroups": [group], "apiVersions": ["*"], "operations": ["CREATE"], "resources": [resource]}],
        "clientConfig": {"url": server.url(path), "caBundle": STANDARD.encode(&server.authority.pem)},
    })
}

/// Returns a configuration: `Mutating` or `Validating`.
fn configuration(of: &str, name: &str, webhooks: &[Value]) -> Value {
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": format!("{of}WebhookConfiguration"),
        "metadata": {"name": name}, "webhooks": webhooks,
    })
}

fn reply(seen: &Seen, mut response: Value) -> Reply {
    let review = seen.json();
    response["uid"] = review["request"]["uid"].clone();
    Reply::json(&json!({"apiVersion": review["apiVersion"], "kind": "AdmissionReview", "response": response}))
}

/// Denies objects that are named `bad...`; at the path `/add/x` adds `x` to the annotation `seen`.
fn judge(seen: &Seen) -> Reply {
    let review = seen.json();
    let name = review["request"]["name"].as_str().unwrap_or_default();
    if name.starts_with("bad") {
        return reply(
            seen,
            json!({"allowed": false, "status": {"message": "bad is bad", "reason": "Forbidden", "code": 403}}),
        );
    }
    let Some(added) = seen.path.strip_prefix("/add/") else { return reply(seen, json!({"allowed": true})) };
    let added = added.split('?').next().unwrap_or_default();
    let before = review["request"]["object"]["metadata"]["annotations"]["seen"].as_str().unwrap_or_default();
    let annotations = json!({"seen": format!("{before}{added}")});
    let patch = json!([{"op": "add", "path": "/metadata/annotations", "value": annotations}]).to_string();
    reply(seen, json!({"allowed": true, "patch": STANDARD.encode(patch), "patchType": "JSONPatch"}))
}

async fn post(server: &Server, path: &str, body: &Value) -> Answer {
    let json = [("content-type", "application/json")];
    server.admin().request(Method::POST, path, &json, body.to_string()).await
}

async fn create(server: &Server, name: &str) -> Answer {
    post(server, &format!("{MAPS}?dryRun=All"), &json!({"metadata": {"name": name}})).await
}

fn denied(webhook: &str) -> String {
    format!("admission webhook {webhook:?} denied the request: bad is bad")
}

/// Returns how many times a plugin has read its manifests, by outcome.
async fn reloads(server: &Server, plugin: &str, status: &str) -> u64 {
    let text = server.admin().get("/metrics").await.body;
    let name =
        "apiserver_manifest_admission_config_controller_automatic_reloads_total{apiserver_id_hash=\"sha256:";
    let labels = format!("plugin={plugin:?},status={status:?}}} ");
    let line = text.lines().find(|line| line.starts_with(name) && line.contains(&labels));
    line.and_then(|line| line.rsplit(' ').next()?.parse().ok()).unwrap_or_default()
}

#[tokio::test]
async fn a_validating_webhook_of_a_file_is_called_and_follows_the_file() {
    let webhook = HttpsServer::start(judge).await;
    let (launch, folders) = with_folders(&[VALIDATING]);
    let folder = &folders[0];
    let maps = hook("maps.example.com", &webhook, "/maps", "", "configmaps");
    let policies = hook(
        "hooks.example.com",
        &webhook,
        "/hooks",
        "admissionregistration.k8s.io",
        "validatingwebhookconfigurations",
    );
    write(folder, "a.json", &configuration("Validating", "a.static.k8s.io", &[maps.clone(), policies]));
    let server = launch.start().await;
    ready(&server).await;
    create(&server, "good").await.code_is(201);
    create(&server, "bad").await.is_status(403, "Forbidden", &denied("maps.example.com"));
    let seen = webhook.seen();
    assert_eq!(seen.last().map(|seen| seen.path.as_str()), Some("/maps?timeout=10s"), "with defaults");
    assert_eq!(
        (reloads(&server, VALIDATING, "success").await, reloads(&server, VALIDATING, "failure").await),
        (1, 0)
    );

    // It is no object of the API, which has no such names.
    let path = format!("{REGISTRATION}/validatingwebhookconfigurations");
    server.admin().get(&format!("{path}/a.static.k8s.io")).await.code_is(404);
    let own = post(&server, &path, &configuration("Validating", "b.static.k8s.io", &[])).await;
    own.is_status(
        422,
        "Invalid",
        "ValidatingWebhookConfiguration.admissionregistration.k8s.io \"b.static.k8s.io\" is invalid: metadata.name: Invalid \
         value: \"b.static.k8s.io\": names ending with \".static.k8s.io\" are reserved for static manifest-based configurations \
         and cannot be managed via the API",
    );
    // Objects that configure admission are judged by webhooks of files, and by no others.
    post(&server, &path, &configuration("Validating", "bad", &[])).await.is_status(
        403,
        "Forbidden",
        &denied("hooks.example.com"),
    );
    let all = hook("all.example.com", &webhook, "/all", "*", "*");
    post(&server, &path, &configuration("Validating", "api", &[all])).await.code_is(201);
    let before = webhook.seen().len();
    post(&server, &path, &configuration("Validating", "other", &[])).await.code_is(201);
    let paths = |seen: &[Seen]| -> Vec<String> {
        let mut paths: Vec<String> = seen.iter().map(|seen| seen.path.clone()).collect();
        paths.sort();
        paths
    };
    assert_eq!(paths(&webhook.seen()[before..]), ["/hooks?timeout=10s"]);
    let before = webhook.seen().len();
    create(&server, "good").await.code_is(201);
    assert_eq!(paths(&webhook.seen()[before..]), ["/all?timeout=10s", "/maps?timeout=10s"]);
    let path = format!("{path}/api");
    server.admin().request(Method::DELETE, &path, &[], "").await.code_is(200);

    // Files that cannot be used leave the last usable ones in effect.
    std::fs::write(folder.join("b.yaml"), "kind: Pod\napiVersion: v1\n").expect("write a file");
    eventually("a failure is counted", async || reloads(&server, VALIDATING, "failure").await == 1).await;
    create(&server, "bad").await.code_is(403);
    // The list has no kind in its items.
    let mut item = configuration("Validating", "b.static.k8s.io", &[maps]);
    item["webhooks"][0]["name"] = json!("later.example.com");
    item.as_object_mut().expect("an object").retain(|field, _| field != "kind" && field != "apiVersion");
    let list = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfigurationList", "items": [item],
    });
    std::fs::remove_file(folder.join("a.json")).expect("remove a file");
    write(folder, "b.yaml", &list);
    let message = denied("later.example.com");
    eventually("the other webhook is asked", async || {
        create(&server, "bad").await.json()["message"] == message
    })
    .await;
    std::fs::remove_file(folder.join("b.yaml")).expect("remove a file");
    eventually("no webhook is left", async || create(&server, "bad").await.code == 201).await;
    assert_eq!(reloads(&server, VALIDATING, "success").await, 3);
}

#[tokio::test]
async fn mutating_webhooks_of_files_are_called_before_those_of_the_api() {
    let webhook = HttpsServer::start(judge).await;
    let (launch, folders) = with_folders(&[MUTATING]);
    let at = |path: &str| [hook("w.example.com", &webhook, path, "", "configmaps")];
    // One file with two documents, of which the second is a list of any kinds.
    let list = json!({"apiVersion": "v1", "kind": "List", "items": [configuration("Mutating", "a.static.k8s.io", &at("/add/a"))]});
    let text = format!(
        "---\n# Two.\n{}\n---\n{list}\n",
        configuration("Mutating", "b.static.k8s.io", &at("/add/b"))
    );
    std::fs::write(folders[0].join("both.yml"), text).expect("write a file");
    std::fs::write(folders[0].join("README.md"), "No manifest.").expect("write a file");
    let server = launch.start().await;
    ready(&server).await;
    let path = format!("{REGISTRATION}/mutatingwebhookconfigurations");
    post(&server, &path, &configuration("Mutating", "0-first", &at("/add/0"))).await.code_is(201);
    let created = create(&server, "good").await.gives(201);
    assert_eq!(created["metadata"]["annotations"]["seen"], "ab0");
}

#[tokio::test]
async fn manifests_that_cannot_be_used_keep_the_server_from_starting() {
    let group = "admissionregistration.k8s.io";
    let with = |name: &str, client: Value| {
        let webhook = json!({
            "name": "w.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None", "clientConfig": client,
        });
        configuration("Validating", name, &[webhook]).to_string()
    };
    let url = json!({"url": "https://127.0.0.1/"});
    let good = with("a.static.k8s.io", url.clone());
    for (content, expected) in [
        ("a: 1".to_owned(), "Object 'Kind' is missing in 'a: 1'".to_owned()),
        (
            "apiVersion: v1\nkind: Pod".to_owned(),
            "no kind \"Pod\" is registered for version \"v1\" in scheme \
             \"pkg/admission/plugin/webhook/manifest/loader/loader.go:41\""
                .to_owned(),
        ),
        (
            good.replace("metadata", "meta"),
            "strict decoding error: unknown field \"meta\"".to_owned(),
        ),
        (
            configuration("Mutating", "a.static.k8s.io", &[]).to_string(),
            "unsupported resource type *v1.MutatingWebhookConfiguration".to_owned(),
        ),
        (
            format!("apiVersion: {group}/v1beta1\nkind: ValidatingAdmissionPolicy\nmetadata: {{name: a}}"),
            "unsupported resource type *v1beta1.ValidatingAdmissionPolicy".to_owned(),
        ),
        (
            good.replace("\"None\"", "\"Some\""),
            "ValidatingWebhookConfiguration \"a.static.k8s.io\": webhooks[0].sideEffects: Unsupported value: \"Some\": supported \
             values: \"None\", \"NoneOnDryRun\""
                .to_owned(),
        ),
        (with("a", url), "\"a\" in file FILE must have a name ending with \".static.k8s.io\"".to_owned()),
        (
            format!("{good}\n---\n{good}"),
            "duplicate name \"a.static.k8s.io\" found in file FILE (previously seen in FILE)".to_owned(),
        ),
        (
            with("a.static.k8s.io", json!({"service": {"namespace": "n", "name": "s"}})),
            "webhook \"w.example.com\" in \"a.static.k8s.io\" (file FILE): clientConfig.service is not supported for static \
             manifests; use clientConfig.url instead"
                .to_owned(),
        ),
        (
            r#"{"apiVersion":"v1","kind":"List","items":[{"kind":"Pod"}]}"#.to_owned(),
            "failed to decode list item: Object 'apiVersion' is missing in '{\"kind\":\"Pod\"}'".to_owned(),
        ),
    ] {
        let (launch, folders) = with_folders(&[VALIDATING]);
        let file = folders[0].join("a.yaml");
        std::fs::write(&file, &content).expect("write a file");
        let expected = expected.replace("FILE", &format!("{file:?}"));
        let start = format!(
            "failed to apply admission: failed to initialize admission plugin {VALIDATING:?}: failed to load static webhook \
             manifests from {:?}: error loading {}: ",
            folders[0],
            file.display()
        );
        assert_eq!(launch.fails().await, format!("{start}{expected}"), "{content}");
    }

    let (launch, folders) = with_folders(&[VALIDATING]);
    std::fs::remove_dir(&folders[0]).expect("remove the folder");
    let folder = folders[0].display().to_string();
    let init = format!(
        "failed to apply admission: couldn't init admission plugin {VALIDATING:?}: staticManifestsDir: Invalid value: "
    );
    assert_eq!(
        launch.fails().await,
        format!("{init}{folder:?}: unable to read: stat {folder}: no such file or directory")
    );
    std::fs::write(&folders[0], "").expect("write a file");
    assert_eq!(launch.fails().await, format!("{init}{folder:?}: must be a directory"));
}

/// Returns a policy (`Mutating` or `Validating`) for a resource, and its binding, as one file.
fn policy(of: &str, name: &str, group: &str, resource: &str, rule: &Value) -> String {
    let version = "admissionregistration.k8s.io/v1";
    let mut policy = json!({
        "apiVersion": version, "kind": format!("{of}AdmissionPolicy"), "metadata": {"name": name},
        "spec": {"matchConstraints": {"resourceRules": [
            {"apiGroups": [group], "apiVersions": ["*"], "operations": ["CREATE"], "resources": [resource]},
        ]}},
    });
    let mut binding = json!({
        "apiVersion": version, "kind": format!("{of}AdmissionPolicyBinding"), "metadata": {"name": name},
        "spec": {"policyName": name},
    });
    if of == "Validating" {
        policy["spec"]["validations"] = json!([rule]);
        binding["spec"]["validationActions"] = json!(["Deny"]);
    } else {
        policy["spec"]["reinvocationPolicy"] = json!("Never");
        policy["spec"]["mutations"] = json!([rule]);
    }
    format!("{policy}\n---\n{binding}\n")
}

#[tokio::test]
async fn policies_of_files_are_enforced_and_follow_the_files() {
    let plugins = ["ValidatingAdmissionPolicy", "MutatingAdmissionPolicy"];
    let (launch, folders) = with_folders(&plugins);
    let rule = json!({"expression": "!object.metadata.name.startsWith('bad')", "message": "bad is bad"});
    let maps = policy("Validating", "maps.static.k8s.io", "", "configmaps", &rule);
    std::fs::write(folders[0].join("maps.yaml"), &maps).expect("write a file");
    let own = "admissionregistration.k8s.io";
    let policies = policy("Validating", "own.static.k8s.io", own, "validatingadmissionpolicies", &rule);
    std::fs::write(folders[0].join("own.yaml"), &policies).expect("write a file");
    let add = json!({"patchType": "ApplyConfiguration", "applyConfiguration": {
        "expression": "Object{metadata: Object.metadata{annotations: {'seen': 'file'}}}",
    }});
    let annotated = policy("Mutating", "seen.static.k8s.io", "", "configmaps", &add);
    std::fs::write(folders[1].join("seen.yaml"), annotated).expect("write a file");
    let server = launch.start().await;
    ready(&server).await;

    let denied = |resource: &str, name: &str, policy: &str| {
        format!(
            "{resource} \"{name}\" is forbidden: ValidatingAdmissionPolicy '{policy}.static.k8s.io' with binding \
             '{policy}.static.k8s.io' denied request: bad is bad"
        )
    };
    let created = create(&server, "good").await.gives(201);
    assert_eq!(created["metadata"]["annotations"]["seen"], "file");
    create(&server, "bad").await.is_status(422, "Invalid", &denied("configmaps", "bad", "maps"));
    // Policies of files see those of the API.
    let path = format!("{REGISTRATION}/validatingadmissionpolicies");
    let stored = |name: &str| {
        let text = policy("Validating", name, "", "secrets", &rule);
        serde_json::from_str::<Value>(text.split("\n---\n").next().unwrap_or_default()).expect("JSON")
    };
    let resource = format!("validatingadmissionpolicies.{own}");
    post(&server, &path, &stored("bad")).await.is_status(422, "Invalid", &denied(&resource, "bad", "own"));
    post(&server, &path, &stored("fine")).await.code_is(201);
    post(&server, &path, &stored("a.static.k8s.io")).await.code_is(422);
    for plugin in plugins {
        assert_eq!(reloads(&server, plugin, "success").await, 1, "{plugin}");
    }

    std::fs::write(folders[0].join("maps.yaml"), "kind: Pod").expect("write a file");
    eventually("a failure is counted", async || reloads(&server, plugins[0], "failure").await == 1).await;
    create(&server, "bad").await.code_is(422);
    std::fs::write(folders[0].join("maps.yaml"), maps.replace("bad is bad", "still")).expect("write a file");
    let message = denied("configmaps", "bad", "maps").replace("bad is bad", "still");
    eventually("the other message", async || create(&server, "bad").await.json()["message"] == message).await;
    std::fs::remove_file(folders[0].join("maps.yaml")).expect("remove a file");
    eventually("the policy is gone", async || create(&server, "bad").await.code == 201).await;
}

#[tokio::test]
async fn policies_that_cannot_be_used_keep_the_server_from_starting() {
    let rule = json!({"expression": "true"});
    let good = policy("Validating", "a.static.k8s.io", "", "configmaps", &rule);
    let (alone, binding) = good.split_once("\n---\n").expect("two documents");
    let missing = "binding \"a.static.k8s.io\" references policy \"a.static.k8s.io\" which does not exist in the manifest directory";
    for (content, expected) in [
        (binding.to_owned(), missing.to_owned()),
        (
            alone.replace("\"true\"", "\"object.\""),
            "error loading FILE: ValidatingAdmissionPolicy \"a.static.k8s.io\": spec.validations[0].expression: Invalid value: "
                .to_owned(),
        ),
        (
            binding.replace("\"policyName\":\"a.static.k8s.io\"", "\"policyName\":\"a\""),
            "error loading FILE: binding \"a.static.k8s.io\": spec.policyName \"a\" must end with \".static.k8s.io\"".to_owned(),
        ),
        (
            "apiVersion: v1\nkind: Pod".to_owned(),
            "error loading FILE: no kind \"Pod\" is registered for version \"v1\" in scheme \
             \"pkg/admission/plugin/policy/manifest/loader/validating_loader.go:35\""
                .to_owned(),
        ),
    ] {
        let plugin = "ValidatingAdmissionPolicy";
        let (launch, folders) = with_folders(&[plugin]);
        let file = folders[0].join("a.yaml");
        std::fs::write(&file, &content).expect("write a file");
        let expected = expected.replace("FILE", &file.display().to_string());
        let start = format!(
            "failed to apply admission: failed to initialize admission plugin {plugin:?}: failed to load static policy \
             manifests from {:?}: ",
            folders[0]
        );
        let sentence = launch.run().await.stderr;
        let sentence = sentence.rsplit_once("Error: ").map_or("", |(_, last)| last);
        assert!(sentence.starts_with(&format!("{start}{expected}")), "{sentence}");
    }
}
