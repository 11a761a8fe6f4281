//! `OwnerReferencesPermissionEnforcement` with users of RBAC.

use http::Method;
use serde_json::{Value, json};

use super::{made, start};
use crate::custom_resources::{Session, definition, plain_schema, version};
use crate::support::{ALICE, Answer, Launch, Server};

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const ROLES: &str = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles";
const BINDINGS: &str = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings";

fn config_map(name: &str, owner: Option<&Value>) -> Value {
    let owners: Vec<&Value> = owner.into_iter().collect();
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "ownerReferences": owners}})
}

fn owner(api_version: &str, kind: &str, blocks: bool) -> Value {
    json!({"apiVersion": api_version, "kind": kind, "name": "o", "uid": "u", "blockOwnerDeletion": blocks})
}

/// Lets alice do something in the namespace.
async fn allow(server: &Server, name: &str, group: &str, resources: &[&str], verbs: &[&str]) {
    let metadata = json!({"name": name});
    let rules = json!([{"apiGroups": [group], "resources": resources, "verbs": verbs}]);
    let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": metadata, "rules": rules});
    made(server, ROLES, &role).await;
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": metadata,
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "alice"}],
    });
    made(server, BINDINGS, &binding).await;
}

async fn by_alice(server: &Server, method: Method, path: &str, body: &Value) -> Answer {
    let json = [("content-type", "application/json")];
    server.client().token(ALICE).request(method, path, &json, body.to_string()).await
}

#[tokio::test]
async fn changes_of_owners_need_permissions() {
    let server = start(Launch::new().tokens(), "OwnerReferencesPermissionEnforcement").await;
    allow(&server, "write", "", &["configmaps"], &["create", "update", "get"]).await;
    let create = async |name: &str, owner: &Value| {
        by_alice(&server, Method::POST, CONFIG_MAPS, &config_map(name, Some(owner))).await
    };
    let free = owner("v1", "Secret", false);
    create("a", &free).await.gives(201);

    let path = format!("{CONFIG_MAPS}/a");
    let change =
        async |owner: Option<&Value>| by_alice(&server, Method::PUT, &path, &config_map("a", owner)).await;
    change(Some(&free)).await.gives(200);
    change(None).await.is_status(
        403,
        "Forbidden",
        "configmaps \"a\" is forbidden: cannot set an ownerRef on a resource you can't delete: , <nil>",
    );
    allow(&server, "delete", "", &["configmaps"], &["delete"]).await;
    change(None).await.gives(200);

    let blocked = "is forbidden: cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set \
                   finalizers on: , <nil>";
    let secret = owner("v1", "Secret", true);
    create("b", &secret).await.is_status(403, "Forbidden", &format!("configmaps \"b\" {blocked}"));
    allow(&server, "secrets", "", &["secrets/finalizers"], &["update"]).await;
    create("b", &secret).await.gives(201);
    // An owner without a namespace needs permissions outside of it.
    let node = owner("v1", "Node", true);
    create("c", &node).await.is_status(403, "Forbidden", &format!("configmaps \"c\" {blocked}"));
    made(&server, CONFIG_MAPS, &config_map("by-an-administrator", Some(&node))).await;
}

#[tokio::test]
async fn owners_may_be_custom_resources() {
    let server = start(Launch::new().tokens(), "OwnerReferencesPermissionEnforcement").await;
    allow(&server, "write", "", &["configmaps"], &["create"]).await;
    let blocking = config_map("a", Some(&owner("example.com/v1", "Widget", true)));
    let create = async || by_alice(&server, Method::POST, CONFIG_MAPS, &blocking).await;
    let unknown = "configmaps \"a\" is forbidden: cannot set blockOwnerDeletion in this case because cannot find RESTMapping for \
                   APIVersion example.com/v1 Kind Widget: no matches for kind \"Widget\" in version \"example.com/v1\"";
    create().await.is_status(403, "Forbidden", unknown);

    let mut session = Session::to(&server).await;
    let widgets = definition("example.com", "Widget", "Namespaced", vec![version("v1", &plain_schema())]);
    session.install(&widgets).await;
    let blocked = "configmaps \"a\" is forbidden: cannot set blockOwnerDeletion if an ownerReference refers to a resource you \
                   can't set finalizers on: , <nil>";
    create().await.is_status(403, "Forbidden", blocked);
    allow(&server, "widgets", "example.com", &["widgets/finalizers"], &["update"]).await;
    create().await.gives(201);
}
