use pintle_auth::User;

use super::*;

fn policy(rules: &str) -> Policy {
    let text = format!("apiVersion: audit.k8s.io/v1\nkind: Policy\n{rules}");
    Policy::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// `user[+group] verb group/resource[/subresource] namespace/name`, or `user verb /path`.
fn decide(policy: &Policy, request: &str) -> Decision {
    let words: Vec<&str> = request.split(' ').collect();
    let (name, group) = words[0].split_once('+').unwrap_or((words[0], ""));
    let user = User { name: name.into(), groups: vec![group.into()], ..User::default() };
    let mut attributes = Attributes {
        user: (name != "-").then_some(&user),
        verb: words[1],
        is_resource: false,
        path: words[2],
        group: "",
        resource: "",
        subresource: "",
        namespace: "",
        name: "",
    };
    if !words[2].starts_with("//") && words.len() > 3 {
        let mut parts = words[2].splitn(3, '/');
        attributes.is_resource = true;
        attributes.group = parts.next().unwrap();
        attributes.resource = parts.next().unwrap();
        attributes.subresource = parts.next().unwrap_or_default();
        (attributes.namespace, attributes.name) = words[3].split_once('/').unwrap();
    }
    policy.evaluate(&attributes)
}

#[track_caller]
fn check(rule: &str, matching: &[&str], others: &[&str]) {
    let policy = policy(&format!("rules:\n- level: Metadata\n{rule}"));
    for request in matching {
        assert_eq!(decide(&policy, request).level, Level::Metadata, "{request}");
    }
    for request in others {
        assert_eq!(decide(&policy, request).level, Level::None, "{request}");
    }
}

#[test]
fn a_rule_without_conditions_matches_everything() {
    check("", &["a get /pods a/b", "- get /version"], &[]);
}

#[test]
fn users_groups_and_verbs_are_compared() {
    check("  users: [a]", &["a get /version"], &["b get /version", "- get /version"]);
    check("  userGroups: [g, h]", &["a+h get /version"], &["a get /version", "- get /version"]);
    check("  verbs: [list, get]", &["a get /pods n/a"], &["a watch /pods n/a"]);
    let many: Vec<String> = (0..100).map(|number| format!("u{number}")).collect();
    let rule = format!("  users: [{}]", many.join(", "));
    check(&rule, &["u0 get /version", "u99 get /version"], &["u100 get /version"]);
}

#[test]
fn resources_are_compared_with_their_groups() {
    let all = ["a get /pods n/a", "a get apps/deployments n/a", "a get /pods/log n/a"];
    check("  resources: [{group: '*'}]", &all, &["a get /version"]);
    check("  resources: [{group: ''}]", &[all[0], all[2]], &[all[1]]);
    check("  resources: [{}]", &[all[0]], &[all[1]]);
    check("  resources: [{group: apps, resources: ['*']}]", &[all[1]], &[all[0]]);
    check("  resources: [{resources: [pods]}]", &[all[0]], &[all[1], all[2]]);
    check("  resources: [{resources: [pods/log]}]", &[all[2]], &[all[0], "a get /pods/exec n/a"]);
    check("  resources: [{resources: ['pods/*']}]", &[all[0], all[2]], &["a get /services n/a"]);
    check(
        "  resources: [{resources: ['*/status']}]",
        &["a get /pods/status n/a", "a get /nodes/status /a"],
        &["a get /pods n/a", "a get /pods/log n/a"],
    );
    check(
        "  resources: [{resources: [pods], resourceNames: [a, b]}]",
        &["a get /pods n/b"],
        &["a get /pods n/c", "a list /pods n/"],
    );
}

#[test]
fn many_resources_are_compared_like_few() {
    let many: Vec<String> = (0..100).map(|number| format!("r{number}/s, r{number}")).collect();
    let rule = format!("  resources: [{{resources: [{}]}}]", many.join(", "));
    check(&rule, &["a get /r7 n/a", "a get /r99/s n/a"], &["a get /r7/t n/a", "a get /r100 n/a"]);
}

#[test]
fn namespaces_hold_for_resources_alone() {
    check(
        "  namespaces: [m, '']",
        &["a get /pods m/a", "a get /nodes /a"],
        &["a get /pods k/a", "a get /version"],
    );
    check(
        "  namespaces: [m]\n  resources: [{resources: [pods]}]",
        &["a get /pods m/a"],
        &["a get /nodes m/a"],
    );
}

#[test]
fn paths_may_end_in_a_star() {
    check(
        "  nonResourceURLs: [/healthz*, /version]",
        &["a get /healthz", "a get /healthz/etcd", "a get /version"],
        &["a get /version/", "a get /livez", "a get /healthz n/a"],
    );
    check("  nonResourceURLs: ['*']", &["a get /anything"], &["a get /pods n/a"]);
}

#[test]
fn the_first_rule_that_matches_decides() {
    let policy = policy(
        "omitStages: [RequestReceived]\nomitManagedFields: true\nrules:\n- level: None\n  users: [a]\n- level: RequestResponse\n  \
         omitStages: [Panic]\n  omitManagedFields: false\n  verbs: [get]\n- level: Request",
    );
    assert_eq!(decide(&policy, "a get /version").level, Level::None);
    let second = decide(&policy, "b get /version");
    assert_eq!((second.level, second.omits_managed_fields), (Level::RequestResponse, false));
    let omitted = Stage::ALL.map(|stage| second.omitted.contains(stage));
    assert_eq!(omitted, [true, false, false, true]);
    let third = decide(&policy, "b list /version");
    assert_eq!((third.level, third.omits_managed_fields), (Level::Request, true));
    assert_eq!(Stage::ALL.map(|stage| third.omitted.contains(stage)), [true, false, false, false]);
}

#[track_caller]
fn refused(text: &str, expect: &str) {
    assert_eq!(Policy::parse(text.as_bytes()).unwrap_err().to_string(), expect, "{text}");
}

#[test]
fn files_that_are_no_policy_are_refused() {
    refused("", "failed decoding: Object 'Kind' is missing in ''");
    refused(
        "apiVersion: v1\nkind: Pod",
        "failed decoding: no kind \"Pod\" is registered for version \"v1\" in scheme \
         \"k8s.io/apiserver/pkg/audit/scheme.go:30\"",
    );
    refused(
        "apiVersion: audit.k8s.io/v1beta1\nkind: Policy",
        "failed decoding: no kind \"Policy\" is registered for version \"audit.k8s.io/v1beta1\" in scheme \
         \"k8s.io/apiserver/pkg/audit/scheme.go:30\"",
    );
    refused("apiVersion: audit.k8s.io/v1\nkind: Policy", "loaded illegal policy with 0 rules");
    let start = "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: ";
    assert!(Policy::parse(format!("{start}7").as_bytes()).is_err());
    let missing = Policy::load(std::path::Path::new("/no/such/policy.yaml")).unwrap_err().to_string();
    assert!(missing.starts_with("failed to read file path \"/no/such/policy.yaml\": "), "{missing}");
}

#[test]
fn rules_are_validated_in_the_reference_s_words() {
    let with = |rule: &str| format!("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n- {rule}");
    for (rule, expect) in [
        ("users: [a]", "rules[0].level: Required value"),
        (
            "level: Everything",
            "rules[0].level: Unsupported value: \"Everything\": supported values: \"Metadata\", \"None\", \"Request\", \
             \"RequestResponse\"",
        ),
        (
            "{level: None, nonResourceURLs: [healthz]}",
            "rules[0].nonResourceURLs[0]: Invalid value: \"healthz\": non-resource URL rules must begin with a '/' character",
        ),
        (
            "{level: None, nonResourceURLs: [/a*b]}",
            "rules[0].nonResourceURLs[0]: Invalid value: \"/a*b\": non-resource URL wildcards '*' must be the final character \
             of the rule",
        ),
        (
            "{level: None, nonResourceURLs: [/a], namespaces: [b]}",
            "rules[0].nonResourceURLs: Invalid value: [\"/a\"]: rules cannot apply to both regular resources and non-resource \
             URLs",
        ),
        (
            "{level: None, resources: [{resourceNames: [a]}]}",
            "rules[0].resources.resourceNames: Invalid value: [\"a\"]: using resourceNames requires at least one resource",
        ),
        (
            "{level: None, omitStages: [Nope]}",
            "rules[0].omitStages[0]: Invalid value: \"Nope\": allowed stages are \
             RequestReceived,ResponseStarted,ResponseComplete,Panic",
        ),
    ] {
        refused(&with(rule), expect);
    }
    let group = Policy::parse(with("{level: None, resources: [{group: a/v1}]}").as_bytes()).unwrap_err();
    let group = group.to_string();
    assert!(
        group.starts_with("rules[0].resources.group: Invalid value: \"a/v1\": a lowercase RFC 1123"),
        "{group}"
    );
    refused(
        &with("{level: None, omitStages: [a]}\n- {}"),
        "[rules[0].omitStages[0]: Invalid value: \"a\": allowed stages are RequestReceived,ResponseStarted,ResponseComplete,Panic, rules[1].level: Required value]",
    );
}

#[test]
fn unknown_fields_are_ignored_with_a_warning() {
    let policy = policy("metadata: {name: a}\nrules:\n- level: Metadata\n  levels: x\nextra: 1");
    assert_eq!(decide(&policy, "a get /version").level, Level::Metadata);
}

#[test]
fn hostile_files_are_refused() {
    let start = b"apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: ";
    for depth in [1_000, 1_000_000] {
        for (open, close) in [("[", "]"), ("{a: ", "}")] {
            let mut text = start.to_vec();
            text.extend(open.repeat(depth).bytes().chain(close.repeat(depth).bytes()));
            assert!(Policy::parse(&text).is_err(), "{depth} {open}");
        }
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    file.as_file().set_len(100 << 20).unwrap();
    let error = Policy::load(file.path()).unwrap_err().to_string();
    assert!(error.starts_with("failed decoding: longer than 10485760 bytes: from file "), "{error}");
}
