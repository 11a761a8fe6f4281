//! Default roles: one table of the verbs that each role allows on each resource.
//!
//! The table is `default_roles.txt` beside this file. It changes with the policy and with the matching of rules against
//! requests. `PINTLE_WRITE_EXPECTED=1` writes it anew.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use pintle_auth::authorizer::rbac::{Policy, Rule};
use pintle_auth::{Attributes, User};
use pintle_features::Features;
use pintle_meta::Value;
use pintle_schema::Resources;

use super::{AccessObjects, BootstrapRoles, ClusterRoleAggregation, fixture};

const VERBS: [&str; 16] = [
    "get",
    "list",
    "watch",
    "create",
    "update",
    "patch",
    "delete",
    "deletecollection",
    "approve",
    "attest",
    "bind",
    "escalate",
    "impersonate",
    "proxy",
    "sign",
    "use",
];

const PATHS: [&str; 20] = [
    "/",
    "/.well-known/openid-configuration",
    "/api",
    "/api/v1",
    "/apis",
    "/apis/apps/v1",
    "/flagz",
    "/healthz",
    "/healthz/ping",
    "/livez",
    "/livez/ping",
    "/logs",
    "/metrics",
    "/metrics/slis",
    "/openapi/v2",
    "/openid/v1/jwks",
    "/readyz",
    "/readyz/ping",
    "/statusz",
    "/version",
];

/// A group, a resource with its subresource, and the name where only some are meant.
type Target = (String, String, String);

#[tokio::test]
async fn default_roles_allow_what_they_should() {
    let fixture = fixture().await;
    let AccessObjects { roles, cluster_roles, .. } = &fixture.objects;
    BootstrapRoles::new(fixture.objects.clone(), Features::default()).sync().await.unwrap();
    // Fills in the rules of the aggregated cluster roles.
    ClusterRoleAggregation::new(cluster_roles.clone()).sync_now().await;
    let mut all = cluster_roles.store().list("").await.unwrap();
    all.extend(roles.store().list("kube-public").await.unwrap());
    all.extend(roles.store().list("kube-system").await.unwrap());
    let table = table(&all);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/access/default_roles.txt");
    if std::env::var_os("PINTLE_WRITE_EXPECTED").is_some() {
        std::fs::write(&path, &table).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap();
    let different = table.lines().zip(expected.lines()).find(|(found, expected)| found != expected);
    assert!(table == expected, "the first difference (now, expected): {different:?}");
}

fn table(roles: &[Value]) -> String {
    let targets = targets(roles);
    let mut out = String::new();
    for role in roles {
        let namespace = role.namespace();
        let _ = match namespace {
            "" => writeln!(out, "{}", role.name()),
            namespace => writeln!(out, "{} in {namespace}", role.name()),
        };
        let (policy, user) = alone(role);
        let mut lines: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (group, resource, name) in &targets {
            let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
            let allowed = VERBS.iter().filter(|verb| {
                let attributes = Attributes {
                    namespace,
                    name,
                    subresource,
                    ..Attributes::of_resource(&user, verb, group, resource)
                };
                policy.authorize(&attributes).is_allowed()
            });
            let verbs: Vec<&str> = allowed.copied().collect();
            if !verbs.is_empty() {
                lines.entry(verbs.join(" ")).or_default().push(rule_target(
                    group,
                    resource,
                    subresource,
                    name,
                ));
            }
        }
        for (verbs, targets) in lines {
            let _ = writeln!(out, "  {verbs}: {}", targets.join(" "));
        }
        let is_allowed =
            |path: &&&str| policy.authorize(&Attributes::of_path(&user, "get", path)).is_allowed();
        let paths: Vec<&str> = PATHS.iter().filter(is_allowed).copied().collect();
        if !paths.is_empty() {
            let _ = writeln!(out, "  get: {}", paths.join(" "));
        }
    }
    out
}

/// Everything that is served, and what rules name besides.
fn targets(roles: &[Value]) -> BTreeSet<Target> {
    let mut targets = BTreeSet::new();
    for version in Resources::builtin().unwrap().versions() {
        for resource in &version.resources {
            let name = match resource.subresource {
                Some(subresource) => format!("{}/{subresource}", resource.name),
                None => resource.name.to_owned(),
            };
            targets.insert((version.group.to_owned(), name, String::new()));
        }
    }
    for rule in roles.iter().flat_map(Rule::read_all) {
        for (group, resource) in
            rule.groups.iter().flat_map(|group| rule.resources.iter().map(move |r| (group, r)))
        {
            if group == "*" || resource.contains('*') {
                continue;
            }
            let names = rule.names.iter().map(ToString::to_string).chain([String::new()]);
            targets.extend(names.map(|name| (group.to_string(), resource.to_string(), name)));
        }
    }
    targets
}

fn rule_target(group: &str, resource: &str, subresource: &str, name: &str) -> String {
    let mut shown = resource.to_owned();
    if !group.is_empty() {
        shown = format!("{shown}.{group}");
    }
    if !subresource.is_empty() {
        shown = format!("{shown}/{subresource}");
    }
    if !name.is_empty() {
        shown = format!("{shown}:{name}");
    }
    shown
}

/// Returns a policy with one role, and a user bound to it.
fn alone(role: &Value) -> (Policy, User) {
    let kind = if role.namespace().is_empty() { "ClusterRole" } else { "Role" };
    let text = format!(
        r#"{{"roleRef":{{"kind":"{kind}","name":"{}"}},"subjects":[{{"kind":"User","name":"u"}}]}}"#,
        role.name()
    );
    let binding = pintle_codec::json::decode_untyped(text.as_bytes()).unwrap().value;
    let mut policy = Policy::default();
    policy.set_role(role.namespace(), role.name(), Some(role));
    policy.set_binding(role.namespace(), "b", Some(&binding));
    (policy, User { name: "u".into(), ..User::default() })
}
