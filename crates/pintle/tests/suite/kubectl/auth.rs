//! kubectl's authentication and authorization: `kubectl auth`, tokens, plugins, impersonation.

use crate::support::kubectl::{Kubectl, rows};
use crate::support::shared::{Shared, on_both_stores};
use crate::support::{ALICE, MASTER};

on_both_stores! {
    kubectl_says_who_it_is_however_it_signed_in,
    roles_decide_what_kubectl_may_do,
    a_role_gives_nobody_more_than_its_author_has,
    an_administrator_tries_what_somebody_else_may_do,
    a_service_account_s_token_is_made_and_used,
}

/// Names in a cluster that others use too.
async fn namespace(shared: &Shared, name: &str) -> (Kubectl, Kubectl) {
    let admin = Kubectl::in_namespace(shared, name).await;
    let alice = admin.signed_in(name, &format!("token: {ALICE}"));
    (admin, alice)
}

/// The value of a row of `kubectl auth whoami`.
fn said(table: &str, attribute: &str) -> String {
    let row = rows(table).into_iter().find(|row| row.starts_with(attribute));
    let row = row.unwrap_or_else(|| panic!("no {attribute} in {table}"));
    row.split_once(' ').map(|(_, value)| value.trim().to_owned()).unwrap_or_default()
}

async fn kubectl_says_who_it_is_however_it_signed_in(shared: &Shared) {
    let admin = Kubectl::of(&shared.server);
    let me = admin.ok("auth whoami").await;
    assert!(me.contains("system:masters") && me.contains("system:authenticated"), "{me}");
    let alice = admin.signed_in("whoami-token", &format!("token: {ALICE}"));
    let me = alice.ok("auth whoami").await;
    assert_eq!(said(&me, "Username"), "alice");
    let credential = format!(
        r#"{{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{{"token":"{MASTER}"}}}}"#
    );
    let plugin = format!(
        "exec:\n  apiVersion: client.authentication.k8s.io/v1\n  command: echo\n  args: ['{credential}']\n  interactiveMode: Never"
    );
    let me = admin.signed_in("whoami-exec", &plugin).ok("auth whoami").await;
    assert_eq!(said(&me, "Username"), "root");
    let complaint = admin.signed_in("whoami-wrong", "token: nobody").fails("auth whoami").await;
    assert!(complaint.contains("Unauthorized") || complaint.contains("must be logged in"), "{complaint}");
}

async fn roles_decide_what_kubectl_may_do(shared: &Shared) {
    let (admin, alice) = namespace(shared, "auth-roles").await;
    let complaint = alice.fails("get pods").await;
    assert_eq!(
        complaint.trim_end(),
        "Error from server (Forbidden): pods is forbidden: User \"alice\" cannot list resource \"pods\" in API group \"\" in \
         the namespace \"auth-roles\""
    );
    assert_eq!(alice.fails("auth can-i list pods").await, "");
    admin.ok("create role reader --verb=get,list --resource=pods").await;
    admin.ok("create rolebinding alice-reads --role=reader --user=alice").await;
    assert_eq!(alice.ok("auth can-i list pods").await, "yes\n");
    alice.ok("get pods").await;
    alice.fails("auth can-i delete pods").await;
    let list = alice.ok("auth can-i --list").await;
    assert!(rows(&list).iter().any(|row| row.starts_with("pods [] [] [get list]")), "{list}");
    assert!(list.contains("selfsubjectreviews.authentication.k8s.io"), "{list}");
    admin.ok("delete rolebinding alice-reads").await;
    alice.fails("get pods").await;
}

async fn a_role_gives_nobody_more_than_its_author_has(shared: &Shared) {
    let (admin, alice) = namespace(shared, "auth-escalation").await;
    admin.ok("create rolebinding alice-edits --clusterrole=admin --user=alice").await;
    alice.ok("create role reader --verb=get --resource=configmaps").await;
    let complaint = alice.fails("create role more --verb=get --resource=nodes").await;
    assert!(complaint.contains("is attempting to grant RBAC permissions not currently held"), "{complaint}");
    let complaint = alice.fails("create rolebinding all --clusterrole=cluster-admin --user=alice").await;
    assert!(complaint.contains("is attempting to grant RBAC permissions not currently held"), "{complaint}");
    let complaint = admin
        .run(
            &["patch", "rolebinding", "alice-edits", "--type=merge", "-p", r#"{"roleRef":{"name":"view"}}"#],
            "",
        )
        .await
        .failed("patch");
    assert!(complaint.contains("cannot change roleRef"), "{complaint}");
}

async fn an_administrator_tries_what_somebody_else_may_do(shared: &Shared) {
    let (admin, alice) = namespace(shared, "auth-as").await;
    let me = admin.ok("auth whoami --as=carol --as-group=team --as-uid=7").await;
    assert_eq!(said(&me, "Username"), "carol");
    assert_eq!(said(&me, "Groups"), "[team system:authenticated]");
    admin.fails("get pods --as=carol").await;
    admin.fails("auth can-i get pods --as=system:serviceaccount:auth-as:default").await;
    let complaint = alice.fails("get pods --as=root").await;
    assert!(complaint.contains("Forbidden") && complaint.contains("impersonate"), "{complaint}");
}

async fn a_service_account_s_token_is_made_and_used(shared: &Shared) {
    let (admin, _) = namespace(shared, "auth-token").await;
    admin.ok("create serviceaccount robot").await;
    let token = admin.ok("create token robot --duration=10m").await;
    let robot = admin.signed_in("auth-robot", &format!("token: {}", token.trim()));
    let me = robot.ok("auth whoami").await;
    assert_eq!(said(&me, "Username"), "system:serviceaccount:auth-token:robot");
    robot.fails("get pods").await;
    admin.ok("create rolebinding robot-views --clusterrole=view --serviceaccount=auth-token:robot").await;
    robot.ok("get pods").await;
    admin.ok("delete serviceaccount robot").await;
    crate::support::eventually("the token is good no more", async || {
        robot.run(&["get", "pods"], "").await.code == Some(1)
    })
    .await;
}
