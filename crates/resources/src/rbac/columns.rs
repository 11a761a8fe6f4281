//! The columns of role bindings. Roles themselves have none of their own.

use pintle_meta::Value;

use crate::framework::columns::descriptions as doc;
use crate::framework::columns::{AGE, Columns, Context, NAME, cell, text, wide};

pub(crate) fn of(kind: &str) -> Option<&'static Columns> {
    Some(match kind {
        "ClusterRoleBinding" => &CLUSTER_ROLE_BINDING,
        "RoleBinding" => &ROLE_BINDING,
        _ => return None,
    })
}

static CLUSTER_ROLE_BINDING: Columns = Columns::new(
    "rbac/v1.ClusterRoleBinding",
    &[
        NAME,
        text("Role", doc::CLUSTER_ROLE_BINDING_ROLE_REF),
        AGE,
        wide(text("Users", "Users in the clusterRoleBinding")),
        wide(text("Groups", "Groups in the clusterRoleBinding")),
        wide(text("ServiceAccounts", "ServiceAccounts in the clusterRoleBinding")),
    ],
    binding,
);

static ROLE_BINDING: Columns = Columns::new(
    "rbac/v1.RoleBinding",
    &[
        NAME,
        text("Role", doc::ROLE_BINDING_ROLE_REF),
        AGE,
        wide(text("Users", "Users in the roleBinding")),
        wide(text("Groups", "Groups in the roleBinding")),
        wide(text("ServiceAccounts", "ServiceAccounts in the roleBinding")),
    ],
    binding,
);

fn binding(object: &Value, context: &Context, cells: &mut Vec<Value>) {
    let role = |field| object.text_at(&["roleRef", field]);
    cells.extend([
        cell::name(object),
        format!("{}/{}", role("kind"), role("name")).into(),
        context.age(object),
    ]);
    let of_kind = |kind: &str| {
        let subjects = object.items_at(&["subjects"]).iter();
        let subjects = subjects.filter(|subject| subject.kind() == kind).map(|subject| {
            let name = subject.text_at(&["name"]);
            match kind {
                "ServiceAccount" => format!("{}/{name}", subject.text_at(&["namespace"])),
                _ => name.into(),
            }
        });
        Value::from(subjects.collect::<Vec<String>>().join(", "))
    };
    cells.extend(["User", "Group", "ServiceAccount"].map(of_kind));
}

#[cfg(test)]
mod tests {
    use crate::framework::columns::testing::check;

    #[test]
    fn bindings_show_their_subjects_by_kind() {
        let object = r#"{"metadata":{"name":"b"},"roleRef":{"kind":"ClusterRole","name":"view"},"subjects":[
            {"kind":"User","name":"u"},{"kind":"ServiceAccount","name":"s","namespace":"n"},
            {"kind":"Group","name":"g"},{"kind":"User","name":"v"},{"kind":"Other","name":"o"}]}"#;
        for kind in ["rbac/v1.RoleBinding", "rbac/v1.ClusterRoleBinding"] {
            check(kind, object, r#"["b","ClusterRole/view","<unknown>","u, v","g","n/s"]"#);
            check(kind, r#"{"metadata":{"name":"b"}}"#, r#"["b","/","<unknown>","","",""]"#);
        }
    }

    #[test]
    fn roles_show_when_they_were_made() {
        let object = r#"{"metadata":{"name":"r","creationTimestamp":"2026-01-01T00:00:00Z"}}"#;
        check("rbac/v1.Role", object, r#"["r","2026-01-01T00:00:00Z"]"#);
        check("rbac/v1.ClusterRole", r#"{"metadata":{"name":"r"}}"#, r#"["r","0001-01-01T00:00:00Z"]"#);
    }
}
