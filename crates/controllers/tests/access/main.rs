//! The bootstrap policy and aggregated roles on a real store.

mod default_roles;
#[path = "../support/mod.rs"]
mod support;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use pintle_cache::{Feed, Limits};
use pintle_controllers::{AccessObjects, BootstrapRoles, ClusterRoleAggregation};
use pintle_meta::{Reason, Value};
use pintle_registry::{Client, Context, ObjectIdentity, Result, Store, StoreConfig};
use pintle_resources::builtin::Builtin;
use pintle_resources::served::Version;
use pintle_resources::strategy;
use pintle_runtime::Clock;
use pintle_schema::Resources;
use pintle_storage::Backend;
use pintle_storage_embedded::Options;

const GROUP: &str = "rbac.authorization.k8s.io";

struct Fixture {
    backend: Arc<dyn Backend>,
    objects: AccessObjects,
    _feed: Feed,
}

async fn fixture() -> Fixture {
    let backend: Arc<dyn Backend> =
        Arc::new(pintle_storage_embedded::Store::open(Options::memory()).unwrap());
    let feed = Feed::start(backend.clone(), Bytes::from_static(b"/r/"), Limits::default()).await.unwrap();
    let resources = Resources::builtin().unwrap();
    let objects = |name: &str| {
        let resource = resources.find(GROUP, "v1", name).unwrap();
        let builtin = Builtin::new(resource.kind, &resources);
        let prefix = Bytes::from(format!("/r/{name}/"));
        let store = Store::new(StoreConfig {
            group: GROUP.into(),
            resource: name.into(),
            kind: resource.kind.kind_name().into(),
            namespaced: resource.namespaced,
            cache: feed.resource(prefix.clone(), || builtin.clone()),
            prefix,
            backend: backend.clone(),
            stored: builtin.clone(),
            strategy: strategy::of(GROUP, name, &strategy::Settings::default()).unwrap(),
        });
        Client::new(Arc::new(store), Arc::new(Version::new(resource, Some(builtin))))
    };
    let objects = AccessObjects {
        roles: objects("roles"),
        role_bindings: objects("rolebindings"),
        cluster_roles: objects("clusterroles"),
        cluster_role_bindings: objects("clusterrolebindings"),
    };
    Fixture { backend, objects, _feed: feed }
}

impl Fixture {
    async fn bootstrap(&self) {
        BootstrapRoles::new(self.objects.clone(), pintle_features::Features::none()).sync().await.unwrap();
        // Waits until reads from the cache return the bootstrapped roles.
        let cache = self.objects.cluster_roles.store().cache();
        cache.wait_for_current(Duration::from_secs(5)).await.unwrap();
    }

    async fn revision(&self) -> u64 {
        self.backend.current_revision().await.unwrap().0
    }
}

async fn get(objects: &Client, namespace: &str, name: &str) -> Value {
    let context = Context { namespace: namespace.into(), ..Context::default() };
    objects.store().get(&context, name).await.unwrap()
}

fn json(value: &Value) -> String {
    let mut text = Vec::new();
    pintle_codec::json::encode(value, &mut text);
    String::from_utf8(text).unwrap()
}

/// Changes an object as another field manager.
async fn edit(objects: &Client, name: &str, mut change: impl FnMut(&mut Value) + Send) {
    let objects = objects.clone().managed_by("somebody");
    let mut edit = |old: &Value| -> Result<Option<Value>> {
        let mut new = old.clone();
        change(&mut new);
        Ok(Some(new))
    };
    objects.update("", name, &mut edit).await.unwrap();
    objects.store().cache().wait_for_current(Duration::from_secs(5)).await.unwrap();
}

fn set(object: &mut Value, field: &'static str, from: &Client, json: &str) {
    let json = format!(
        r#"{{"kind":"{}","apiVersion":"{GROUP}/v1","metadata":{{"name":"x"}},{json}}}"#,
        object.kind()
    );
    let value = from.read(json.as_bytes()).unwrap().get(field).unwrap().clone();
    object.as_object_mut().unwrap().insert(field, value);
}

fn annotate(object: &mut Value, value: &str) {
    let annotations = object.at_mut(&["metadata", "annotations"]).and_then(Value::as_object_mut).unwrap();
    annotations.insert("rbac.authorization.kubernetes.io/autoupdate", value);
}

#[tokio::test]
async fn a_new_cluster_gets_everything_and_an_old_one_is_not_written_to() {
    let fixture = fixture().await;
    fixture.bootstrap().await;
    let first = fixture.revision().await;
    let objects = &fixture.objects;
    let count = |objects: &Client| objects.store().cache().snapshot().unwrap().objects.iter().count();
    assert_eq!(
        [&objects.cluster_roles, &objects.cluster_role_bindings, &objects.roles, &objects.role_bindings]
            .map(count),
        [68, 49, 7, 7]
    );
    let role = get(&objects.cluster_roles, "", "system:node-bootstrapper").await;
    let managers = concat!(
        r#""fieldsV1":{"f:metadata":{"f:annotations":{".":{},"f:rbac.authorization.kubernetes.io/autoupdate":{}},"#,
        r#""f:labels":{".":{},"f:kubernetes.io/bootstrapping":{}}},"f:rules":{}}}]"#,
    );
    assert!(json(&role).contains(managers), "{}", json(&role));
    assert!(json(&role).contains(r#""manager":"kube-apiserver","operation":"Update""#));
    let admin = get(&objects.cluster_roles, "", "admin").await;
    assert!(json(&admin).ends_with(concat!(
        r#""rules":null,"aggregationRule":{"clusterRoleSelectors":[{"matchLabels":"#,
        r#"{"rbac.authorization.k8s.io/aggregate-to-admin":"true"}}]}}"#,
    )));
    fixture.bootstrap().await;
    assert_eq!(fixture.revision().await, first);
}

#[tokio::test]
async fn missing_rules_are_added_and_extra_rules_stay() {
    let fixture = fixture().await;
    fixture.bootstrap().await;
    let AccessObjects { cluster_roles: roles, cluster_role_bindings: bindings, .. } = &fixture.objects;
    let name = "system:node-problem-detector";
    edit(roles, name, |role| {
        let rules = concat!(
            r#""rules":[{"verbs":["get","list"],"apiGroups":[""],"resources":["nodes"]},"#,
            r#"{"verbs":["create"],"apiGroups":["events.k8s.io",""],"resources":["events"]}]"#
        );
        set(role, "rules", roles, rules);
        role.metadata_mut().unwrap().remove("labels");
    })
    .await;
    edit(bindings, "system:public-info-viewer", |binding| {
        let group = format!(r#""kind":"Group","apiGroup":"{GROUP}""#);
        let subjects =
            format!(r#""subjects":[{{{group},"name":"mine"}},{{{group},"name":"system:authenticated"}}]"#);
        set(binding, "subjects", bindings, &subjects);
    })
    .await;
    fixture.bootstrap().await;
    let role = get(roles, "", name).await;
    assert_eq!(role.label("kubernetes.io/bootstrapping"), Some("rbac-defaults"));
    let rules = concat!(
        r#""rules":[{"verbs":["get","list"],"apiGroups":[""],"resources":["nodes"]},"#,
        r#"{"verbs":["create"],"apiGroups":["events.k8s.io",""],"resources":["events"]},"#,
        r#"{"verbs":["patch"],"apiGroups":[""],"resources":["nodes/status"]},"#,
        r#"{"verbs":["patch"],"apiGroups":[""],"resources":["events"]},"#,
        r#"{"verbs":["update"],"apiGroups":[""],"resources":["events"]},"#,
        r#"{"verbs":["patch"],"apiGroups":["events.k8s.io"],"resources":["events"]},"#,
        r#"{"verbs":["update"],"apiGroups":["events.k8s.io"],"resources":["events"]}]}"#,
    );
    assert!(json(&role).ends_with(rules), "{}", json(&role));
    let binding = get(bindings, "", "system:public-info-viewer").await;
    let names: Vec<&str> =
        binding.items_at(&["subjects"]).iter().map(|subject| subject.text_at(&["name"])).collect();
    assert_eq!(names, ["mine", "system:authenticated", "system:unauthenticated"]);
    let before = fixture.revision().await;
    fixture.bootstrap().await;
    assert_eq!(fixture.revision().await, before);
}

#[tokio::test]
async fn protected_roles_are_left_alone() {
    let fixture = fixture().await;
    fixture.bootstrap().await;
    let AccessObjects { cluster_roles: roles, cluster_role_bindings: bindings, .. } = &fixture.objects;
    for (objects, name, field) in
        [(roles, "system:discovery", "rules"), (bindings, "system:discovery", "subjects")]
    {
        edit(objects, name, |object| {
            annotate(object, "false");
            object.as_object_mut().unwrap().insert(field, Value::list(Vec::new()));
        })
        .await;
    }
    let before = fixture.revision().await;
    fixture.bootstrap().await;
    assert_eq!(fixture.revision().await, before);
    // Any other value of the annotation is kept, and does not protect the role.
    edit(roles, "system:discovery", |role| annotate(role, "yes")).await;
    fixture.bootstrap().await;
    let role = get(roles, "", "system:discovery").await;
    assert_eq!(role.annotation("rbac.authorization.kubernetes.io/autoupdate"), Some("yes"));
    assert_eq!(role.items_at(&["rules"]).len(), 11, "one for each path");
}

#[tokio::test]
async fn a_binding_to_another_role_is_made_anew() {
    let fixture = fixture().await;
    let bindings = &fixture.objects.cluster_role_bindings;
    let foreign = format!(
        r#"{{"kind":"ClusterRoleBinding","apiVersion":"{GROUP}/v1","metadata":{{"name":"system:monitoring"}},
            "roleRef":{{"apiGroup":"{GROUP}","kind":"ClusterRole","name":"other"}}}}"#
    );
    let before = bindings.create_if_missing("", foreign.as_bytes()).await.unwrap().unwrap();
    fixture.bootstrap().await;
    let after = get(bindings, "", "system:monitoring").await;
    assert_eq!(after.text_at(&["roleRef", "name"]), "system:monitoring");
    assert_ne!(after.uid(), before.uid());
}

#[tokio::test]
async fn a_role_of_older_releases_is_split_in_two() {
    let fixture = fixture().await;
    let AccessObjects { cluster_roles: roles, cluster_role_bindings: bindings, .. } = &fixture.objects;
    let role = format!(
        r#"{{"kind":"ClusterRole","apiVersion":"{GROUP}/v1","metadata":{{"name":"view","labels":{{"a":"b"}}}},
            "rules":[{{"verbs":["get"],"apiGroups":["mine.io"],"resources":["things"]}}]}}"#
    );
    roles.create_if_missing("", role.as_bytes()).await.unwrap().unwrap();
    let binding = format!(
        r#"{{"kind":"ClusterRoleBinding","apiVersion":"{GROUP}/v1","metadata":{{"name":"system:discovery"}},
            "subjects":[{{"kind":"Group","apiGroup":"{GROUP}","name":"mine"}}],
            "roleRef":{{"apiGroup":"{GROUP}","kind":"ClusterRole","name":"system:discovery"}}}}"#
    );
    bindings.create_if_missing("", binding.as_bytes()).await.unwrap().unwrap();
    fixture.bootstrap().await;
    let moved = get(roles, "", "system:aggregate-to-view").await;
    assert_eq!(moved.label("a"), Some("b"));
    assert_eq!(moved.label("rbac.authorization.k8s.io/aggregate-to-view"), Some("true"));
    assert_eq!(moved.items_at(&["rules"])[0].items_at(&["apiGroups"])[0].as_str(), Some("mine.io"));
    let view = get(roles, "", "view").await;
    assert_eq!(view.items_at(&["aggregationRule", "clusterRoleSelectors"]).len(), 1);
    let both = get(bindings, "", "system:public-info-viewer").await;
    assert_eq!(both.items_at(&["subjects"])[0].text_at(&["name"]), "mine");
}

/// Waits until the rules of a role are of these resources.
async fn gathers(objects: &Client, name: &str, resources: &str) {
    let mut found = String::new();
    for _ in 0..500 {
        let role = get(objects, "", name).await;
        let words = role.items_at(&["rules"]).iter().flat_map(|rule| rule.items_at(&["resources"]));
        found = words.filter_map(Value::as_str).collect::<Vec<_>>().join(" ");
        if found == resources {
            return;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    panic!("{name} has {found:?} and not {resources:?}");
}

#[tokio::test]
async fn aggregates_follow_their_parts() {
    let fixture = fixture().await;
    let roles = &fixture.objects.cluster_roles;
    let create = async |name: &str, labels: &str, rest: &str| {
        let text = format!(
            r#"{{"kind":"ClusterRole","apiVersion":"{GROUP}/v1","metadata":{{"name":"{name}","labels":{{{labels}}}}},{rest}}}"#
        );
        roles.create_if_missing("", text.as_bytes()).await.unwrap().unwrap();
    };
    let rules = |resources: &[&str]| {
        let rules: Vec<String> = resources
            .iter()
            .map(|name| format!(r#"{{"verbs":["get"],"apiGroups":[""],"resources":["{name}"]}}"#))
            .collect();
        format!(r#""rules":[{}]"#, rules.join(","))
    };
    let gather = |label: &str| {
        format!(r#""aggregationRule":{{"clusterRoleSelectors":[{{"matchLabels":{{"{label}":"true"}}}}]}}"#)
    };
    let _tasks =
        support::started(vec![Arc::new(ClusterRoleAggregation::new(roles.clone()))], Clock::system()).await;
    create("whole", "", &gather("part")).await;
    create("b", r#""part":"true""#, &rules(&["two", "three"])).await;
    create("a", r#""part":"true""#, &rules(&["one", "two"])).await;
    create("other", r#""part":"false""#, &rules(&["four"])).await;
    gathers(roles, "whole", "one two three").await;
    // An aggregate may be part of another.
    create("c", r#""part":"true""#, &gather("more")).await;
    create("d", r#""more":"true""#, &rules(&["five"])).await;
    gathers(roles, "c", "five").await;
    gathers(roles, "whole", "one two three five").await;
    edit(roles, "a", |role| set(role, "rules", roles, r#""rules":[]"#)).await;
    gathers(roles, "whole", "two three five").await;
    let whole = get(roles, "", "whole").await;
    let managed = r#"{"manager":"clusterrole-aggregation-controller","operation":"Apply","apiVersion":"rbac.authorization.k8s.io/v1""#;
    assert!(json(&whole).contains(managed), "{}", json(&whole));
    assert!(json(&whole).contains(r#""fieldsV1":{"f:rules":{}}"#));
    // The controller overwrites rules that a client writes into an aggregated role.
    edit(roles, "whole", |role| set(role, "rules", roles, &rules(&["mine"]))).await;
    gathers(roles, "whole", "two three five").await;
    // And then it is quiet.
    tokio::time::sleep(Duration::from_millis(50)).await;
    let before = fixture.revision().await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(fixture.revision().await, before);
}

/// Access ends with the role that gave it: an aggregate that is deleted while its rules are gathered does not come back, and
/// a plain role that takes its name gets none of them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deleted_aggregate_stays_deleted() {
    let fixture = fixture().await;
    let roles = &fixture.objects.cluster_roles;
    let role = |name: &str, rest: &str| {
        format!(
            r#"{{"kind":"ClusterRole","apiVersion":"{GROUP}/v1","metadata":{{"name":"{name}","labels":{{"part":"{name}"}}}}{rest}}}"#
        )
    };
    let rules = r#","rules":[{"verbs":["get"],"apiGroups":[""],"resources":["secrets"]}]"#;
    let gather = r#","aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"part":"part"}}]}"#;
    roles.create_if_missing("", role("part", rules).as_bytes()).await.unwrap().unwrap();
    let _tasks =
        support::started(vec![Arc::new(ClusterRoleAggregation::new(roles.clone()))], Clock::system()).await;
    for round in 0..100_u32 {
        let created = roles.create_if_missing("", role("whole", gather).as_bytes()).await.unwrap();
        let created = created.unwrap_or_else(|| panic!("round {round}: it came back"));
        // Each round deletes at another moment of the loop's work; timers are too coarse for that.
        let begun = std::time::Instant::now();
        while begun.elapsed() < Duration::from_micros(15) * round {
            tokio::task::yield_now().await;
        }
        roles.delete("", &created).await.unwrap();
        if round % 2 == 0 {
            let plain = roles.create_if_missing("", role("whole", "").as_bytes()).await.unwrap();
            let plain = plain.unwrap_or_else(|| panic!("round {round}: it came back"));
            tokio::time::sleep(Duration::from_micros(500)).await;
            let found = get(roles, "", "whole").await;
            assert!(found.items_at(&["rules"]).is_empty(), "round {round}: {}", json(&found));
            roles.delete("", &plain).await.unwrap();
        }
    }
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(roles.find("", "whole").await.unwrap(), None);
}

#[tokio::test]
async fn writes_of_controllers_never_create() {
    let fixture = fixture().await;
    let roles = &fixture.objects.cluster_roles;
    let text = format!(
        r#"{{"kind":"ClusterRole","apiVersion":"{GROUP}/v1","metadata":{{"name":"gone"}},"rules":[]}}"#
    );
    let create = async || roles.create_if_missing("", text.as_bytes()).await.unwrap().unwrap();
    let config = pintle_codec::json::decode_untyped(text.as_bytes()).unwrap().value;
    let first = create().await;
    roles.delete("", &first).await.unwrap();
    let reason = |result: Result<Value>| result.unwrap_err().reason;
    let mut change = |old: &Value| Ok(Some(old.clone()));
    assert_eq!(reason(roles.update("", "gone", &mut change).await), Reason::NotFound);
    // An object that is not there has no identity.
    assert_eq!(reason(roles.apply("", &ObjectIdentity::of(&first), &config).await), Reason::Conflict);
    assert_eq!(roles.find("", "gone").await.unwrap(), None);
    // Nor is another of its name the one that was read.
    let second = create().await;
    assert_eq!(reason(roles.apply("", &ObjectIdentity::of(&first), &config).await), Reason::Conflict);
    let stale = ObjectIdentity { resource_version: Some("1"), ..ObjectIdentity::of(&second) };
    assert_eq!(reason(roles.apply("", &stale, &config).await), Reason::Conflict);
    roles.apply("", &ObjectIdentity::of(&second), &config).await.unwrap();
}
