//! The columns of `StorageVersionMigration`.

use pintle_meta::Value;

use crate::framework::columns::descriptions as doc;
use crate::framework::columns::{Columns, cell, text};

pub(crate) fn of(kind: &str) -> Option<&'static Columns> {
    (kind == "StorageVersionMigration").then_some(&STORAGE_VERSION_MIGRATION)
}

static STORAGE_VERSION_MIGRATION: Columns = Columns::new(
    "storagemigration/v1beta1.StorageVersionMigration",
    &[
        text("Name", doc::NAME),
        text("Resource", "GroupResource to migrate"),
        text("Status", "Status of the migration"),
    ],
    |object, _, cells| {
        let of = |field| object.text_at(&["spec", "resource", field]);
        let resource = match of("group") {
            "" => of("resource").into(),
            group => format!("{}.{group}", of("resource")),
        };
        cells.extend([cell::name(object), resource.into(), Value::literal(status(object))]);
    },
);

/// The last condition that holds.
fn status(object: &Value) -> &'static str {
    let known = |condition: &Value| match (condition.text_at(&["type"]), condition.text_at(&["status"])) {
        ("Running", "True") => Some("Running"),
        ("Failed", "True") => Some("Failed"),
        ("Succeeded", "True") => Some("Succeeded"),
        _ => None,
    };
    object.items_at(&["status", "conditions"]).iter().rev().find_map(known).unwrap_or("Unknown")
}

#[cfg(test)]
mod tests {
    use crate::framework::columns::testing::check;

    #[test]
    fn a_migration_shows_what_it_migrates_and_how_far_it_is() {
        let kind = "storagemigration/v1beta1.StorageVersionMigration";
        let object = r#"{"metadata":{"name":"m"},"spec":{"resource":{"resource":"pods"}}}"#;
        check(kind, object, r#"["m","pods","Unknown"]"#);
        let object = r#"{"metadata":{"name":"m"},"spec":{"resource":{"group":"apps","resource":"deployments"}},
            "status":{"conditions":[{"type":"Running","status":"True"},{"type":"Failed","status":"False"}]}}"#;
        check(kind, object, r#"["m","deployments.apps","Running"]"#);
    }
}
