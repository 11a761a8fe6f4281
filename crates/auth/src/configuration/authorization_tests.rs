use super::*;

fn file(authorizers: &str) -> String {
    format!(
        "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration\nauthorizers: {authorizers}\n"
    )
}

fn error(text: &str) -> String {
    AuthorizationConfiguration::read(text.as_bytes(), &[])
        .err()
        .map(|error| error.to_string())
        .unwrap_or_default()
}

fn webhook(rest: &str) -> String {
    let kubeconfig = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    file(&format!(
        "[{{type: Webhook, name: hook, webhook: {{timeout: 3s, subjectAccessReviewVersion: v1, failurePolicy: NoOpinion, \
         connectionInfo: {{type: KubeConfigFile, kubeConfigFile: {kubeconfig}}}{rest}}}}}]"
    ))
}

#[test]
fn a_good_file_is_read_and_completed() {
    let text = webhook(
        ", matchConditionSubjectAccessReviewVersion: v1, matchConditions: [{expression: \"request.user != 'a'\"}]",
    );
    let read = AuthorizationConfiguration::read(text.as_bytes(), &[]).unwrap();
    let hook = read.authorizers[0].webhook.as_ref().unwrap();
    assert_eq!(
        (hook.allowed_ttl().as_secs(), hook.denied_ttl().as_secs(), hook.timeout().as_secs()),
        (300, 30, 3)
    );
    assert_eq!(hook.on_error(), Decision::NoOpinion);
    let uncached = webhook(", cacheAuthorizedRequests: false, unauthorizedTTL: 5s");
    let read = AuthorizationConfiguration::read(uncached.as_bytes(), &[]).unwrap();
    let hook = read.authorizers[0].webhook.as_ref().unwrap();
    assert_eq!((hook.allowed_ttl().as_secs(), hook.denied_ttl().as_secs()), (0, 5));
    assert_eq!(error(&file("[{type: Node, name: node}, {type: RBAC, name: rbac}]")), "");
}

#[test]
fn every_rule_about_authorizers_has_its_words() {
    let check =
        |authorizers: &str, expect: &str| assert_eq!(error(&file(authorizers)), expect, "{authorizers}");
    check("[]", "authorizers: Required value: at least one authorization mode must be defined");
    check("[{name: a}]", "authorizers[0].type: Required value");
    check(
        "[{type: Foo, name: foo}]",
        "authorizers[0].type: Unsupported value: \"Foo\": supported values: \"ABAC\", \"AlwaysAllow\", \"AlwaysDeny\", \
         \"Node\", \"RBAC\", \"Webhook\"",
    );
    check("[{type: RBAC}]", "authorizers[0].name: Required value");
    check(
        "[{type: RBAC, name: rbac}, {type: RBAC, name: rbac2}]",
        "authorizers[1].type: Duplicate value: \"RBAC\"",
    );
    check("[{type: RBAC, name: mine}]", "expected name rbac for authorizer RBAC instead of mine");
    check("[{type: Webhook, name: a}]", "authorizers[0].webhook: Required value: required when type=Webhook");
    check(
        "[{type: RBAC, name: rbac, webhook: {}}]",
        "authorizers[0].webhook: Invalid value: \"non-null\": may only be specified when type=Webhook",
    );
    let missing =
        AuthorizationConfiguration::read(file("[{type: RBAC, name: rbac}]").as_bytes(), &["Node".into()]);
    assert_eq!(missing.err().unwrap().to_string(), "missing required types: [Node]");
}

#[test]
fn every_rule_about_webhooks_has_its_words() {
    let check = |change: (&str, &str), expect: &str| {
        let found = error(&webhook("").replace(change.0, change.1));
        assert!(found.contains(expect), "{change:?}: {found}");
    };
    check(("timeout: 3s, ", ""), "authorizers[0].timeout: Required value");
    check(
        ("timeout: 3s", "timeout: 31s"),
        "authorizers[0].timeout: Invalid value: \"31s\": must be > 0s and <= 30s",
    );
    check(
        ("Version: v1", "Version: v2"),
        "authorizers[0].subjectAccessReviewVersion: Unsupported value: \"v2\": supported values: \"v1\", \"v1beta1\"",
    );
    check(
        ("NoOpinion", "Allow"),
        "authorizers[0].failurePolicy: Unsupported value: \"Allow\": supported values: \"NoOpinion\", \"Deny\"",
    );
    check(
        ("type: KubeConfigFile, kubeConfigFile: ", "type: KubeConfigFile, kubeConfigFile: .."),
        "must be an absolute path",
    );
    check(("type: KubeConfigFile,", "type: InClusterConfig,"), "can only be set when type=KubeConfigFile");
    check(("timeout: 3s", "timeout: 3s, bogus: 1"), "unknown field");
    let conditions = |all: &str| {
        error(&webhook(&format!(", matchConditionSubjectAccessReviewVersion: v1, matchConditions: [{all}]")))
    };
    assert_eq!(
        conditions("{expression: ' '}"),
        "authorizers[0].matchConditions[0].expression: Required value"
    );
    let found = conditions("{expression: request.user}");
    assert_eq!(
        found,
        "authorizers[0].matchConditions[0].expression: Invalid value: \"request.user\": must evaluate to bool but got string"
    );
    let found = conditions("{expression: 'request.nobody == 1'}");
    assert!(found.contains("compilation failed: ERROR: <input>:1:8: undefined field 'nobody'"), "{found}");
    let found = error(&webhook(", matchConditions: [{expression: 'true'}]"));
    assert!(found.contains("matchConditionSubjectAccessReviewVersion: Required value: required if match conditions are specified"), "{found}");
}
