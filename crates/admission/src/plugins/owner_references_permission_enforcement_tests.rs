use pintle_auth::User;
use pintle_meta::gvk::{GroupVersionKind, GroupVersionResource};

use super::*;
use crate::rest_mapper::RestMapping;
use crate::testing::{Case, create, target, update};

/// Allows what the user's groups name: `delete pods`, `update replicasets/finalizers in n of rs`.
struct ByGroups;

#[async_trait]
impl Authorizer for ByGroups {
    async fn authorize(&self, attributes: &AccessAttributes<'_>) -> Verdict {
        let AccessAttributes { verb, resource, subresource, namespace, name, .. } = attributes;
        let resource = match *subresource {
            "" => (*resource).to_owned(),
            subresource => format!("{resource}/{subresource}"),
        };
        let exact = format!("{verb} {resource} in {namespace} of {name}");
        let short = format!("{verb} {resource}");
        match attributes.user.groups.iter().any(|group| *group == exact || *group == short) {
            true => Verdict::allow(""),
            false => Verdict::no_opinion("not allowed"),
        }
    }
}

struct Kinds;

#[async_trait]
impl RestMapper for Kinds {
    async fn mapping(&self, kind: &GroupVersionKind) -> Option<RestMapping> {
        let (resource, namespaced) = match kind.kind.as_str() {
            "ReplicaSet" => ("replicasets", true),
            "Node" => ("nodes", false),
            _ => return None,
        };
        let resource = GroupVersionResource::new(kind.group.as_str(), kind.version.as_str(), resource);
        Some(RestMapping { resource, namespaced })
    }
}

/// Returns a pod with these owners: a kind, and `!` behind it if it blocks; the name is the kind in lower case.
fn pod(owners: &[&str]) -> String {
    let owners = owners.iter().map(|owner| {
        let kind = owner.trim_end_matches(['!', '?']);
        let block = match owner.chars().last() {
            Some('!') => r#","blockOwnerDeletion":true"#,
            Some('?') => r#","blockOwnerDeletion":false"#,
            _ => "",
        };
        let name = kind.to_lowercase();
        format!(r#"{{"apiVersion":"apps/v1","kind":"{kind}","name":"{name}","uid":"{name}"{block}}}"#)
    });
    let owners = owners.collect::<Vec<_>>().join(",");
    format!(r#"{{"metadata":{{"name":"p","namespace":"n","ownerReferences":[{owners}]}}}}"#)
}

async fn why(case: Case, allowed: &[&str]) -> Option<String> {
    let plugin =
        OwnerReferencesPermissionEnforcement { authorizer: Arc::new(ByGroups), mapper: Arc::new(Kinds) };
    let groups = allowed.iter().map(|group| (*group).to_owned()).collect();
    let case = case.in_namespace("n").named("p").by(User { groups, ..User::default() });
    case.run(&plugin).await.why()
}

const NO_DELETE: &str = "cannot set an ownerRef on a resource you can't delete: not allowed, <nil>";
const NO_FINALIZERS: &str = "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers \
                             on: not allowed, <nil>";

async fn on_create(owners: &[&str], allowed: &[&str], expected: Option<&str>) {
    let outcome = why(create("pods").json(&pod(owners)), allowed).await;
    assert_eq!(outcome.as_deref(), expected, "{owners:?} {allowed:?}");
}

async fn on_update(old: &[&str], new: &[&str], allowed: &[&str], expected: Option<&str>) {
    let outcome = why(update("pods").old_json(&pod(old)).json(&pod(new)), allowed).await;
    assert_eq!(outcome.as_deref(), expected, "{old:?} {new:?} {allowed:?}");
}

#[tokio::test]
async fn a_new_object_may_have_owners() {
    on_create(&[], &[], None).await;
    on_create(&["ReplicaSet"], &[], None).await;
    on_create(&["ReplicaSet?", "Unknown"], &[], None).await;
}

#[tokio::test]
async fn owners_are_changed_by_users_who_may_delete_the_object() {
    on_update(&["ReplicaSet"], &["ReplicaSet"], &[], None).await;
    on_update(&[], &["ReplicaSet"], &[], Some(NO_DELETE)).await;
    on_update(&["ReplicaSet"], &[], &[], Some(NO_DELETE)).await;
    on_update(&["ReplicaSet", "Node"], &["Node", "ReplicaSet"], &[], Some(NO_DELETE)).await;
    on_update(&["ReplicaSet?"], &["ReplicaSet"], &[], Some(NO_DELETE)).await;
    on_update(&["ReplicaSet"], &["Node"], &["delete pods in n of p"], None).await;
    // The permission is that of the subresource.
    let through = |allowed| {
        let case = update("pods/ephemeralcontainers").old_json(&pod(&[])).json(&pod(&["Node"]));
        async move { why(case, &[allowed]).await }
    };
    assert_eq!(through("delete pods").await.as_deref(), Some(NO_DELETE));
    assert_eq!(through("delete pods/ephemeralcontainers").await, None);
}

#[tokio::test]
async fn owners_are_blocked_by_users_who_may_update_their_finalizers() {
    let own = "update replicasets/finalizers in n of replicaset";
    on_create(&["ReplicaSet!"], &[], Some(NO_FINALIZERS)).await;
    on_create(&["ReplicaSet!"], &[own], None).await;
    on_create(&["ReplicaSet!", "Node!"], &[own], Some(NO_FINALIZERS)).await;
    // An owner outside of namespaces.
    on_create(&["ReplicaSet!", "Node!"], &[own, "update nodes/finalizers in  of node"], None).await;
    on_create(&["Unknown!"], &["update */finalizers in  of *"], None).await;
    on_create(
        &["Unknown!"],
        &[own],
        Some(
            "cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion apps/v1 Kind Unknown: no \
             matches for kind \"Unknown\" in version \"apps/v1\"",
        ),
    )
    .await;
    let wrong = pod(&["Unknown!"]).replace("apps/v1", "a/b/c");
    let outcome = why(create("pods").json(&wrong), &[]).await.unwrap();
    assert!(outcome.ends_with("Kind Unknown: unexpected GroupVersion string: a/b/c"), "{outcome}");
}

#[tokio::test]
async fn only_owners_that_were_not_blocked_before_count() {
    let may = &["delete pods"][..];
    on_update(&["ReplicaSet!"], &["ReplicaSet!", "Node"], may, None).await;
    on_update(&["ReplicaSet!"], &["ReplicaSet"], may, None).await;
    on_update(&["ReplicaSet"], &["ReplicaSet!"], may, Some(NO_FINALIZERS)).await;
    on_update(&["ReplicaSet?"], &["ReplicaSet!"], may, Some(NO_FINALIZERS)).await;
    on_update(&["Node!"], &["ReplicaSet!"], may, Some(NO_FINALIZERS)).await;
    on_update(&["ReplicaSet"], &["ReplicaSet!"], &["update */finalizers"], Some(NO_DELETE)).await;
}

#[test]
fn statuses_of_pods_are_not_handled() {
    let plugin =
        OwnerReferencesPermissionEnforcement { authorizer: Arc::new(ByGroups), mapper: Arc::new(Kinds) };
    assert!(!plugin.validates(Operation::Update, &target("pods/status")));
    assert!(plugin.validates(Operation::Update, &target("deployments.apps/status")));
    assert!(plugin.validates(Operation::Create, &target("widgets.example.com")));
    assert!(!plugin.validates(Operation::Delete, &target("pods")));
}
