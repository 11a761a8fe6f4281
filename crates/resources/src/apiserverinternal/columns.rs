//! The columns of `StorageVersion`.

use crate::framework::columns::descriptions as doc;
use crate::framework::columns::{AGE, Columns, NAME, cell, text};

pub(crate) fn of(kind: &str) -> Option<&'static Columns> {
    (kind == "StorageVersion").then_some(&STORAGE_VERSION)
}

static STORAGE_VERSION: Columns = Columns::new(
    "apiserverinternal/v1alpha1.StorageVersion",
    &[
        NAME,
        text("CommonEncodingVersion", doc::STORAGE_VERSION_STATUS_COMMON_ENCODING_VERSION),
        text("StorageVersions", doc::STORAGE_VERSION_STATUS_STORAGE_VERSIONS),
        AGE,
    ],
    |object, context, cells| {
        let versions = object.items_at(&["status", "storageVersions"]).iter().map(|version| {
            format!("{}={}", version.text_at(&["apiServerID"]), version.text_at(&["encodingVersion"]))
        });
        cells.extend([
            cell::name(object),
            cell::text_or(object, &["status", "commonEncodingVersion"], cell::UNSET),
            cell::first_of(versions, 3).into(),
            context.age(object),
        ]);
    },
);

#[cfg(test)]
mod tests {
    use crate::framework::columns::testing::check;

    #[test]
    fn the_first_three_servers_are_shown() {
        let kind = "apiserverinternal/v1alpha1.StorageVersion";
        check(kind, r#"{"metadata":{"name":"a"}}"#, r#"["a","<unset>","<unset>","<unknown>"]"#);
        let object = r#"{"metadata":{"name":"a"},"status":{"commonEncodingVersion":"v1","storageVersions":[
            {"apiServerID":"1","encodingVersion":"v1"},{"apiServerID":"2","encodingVersion":"v1"},
            {"apiServerID":"3","encodingVersion":"v2"},{"apiServerID":"4","encodingVersion":"v1"},
            {"apiServerID":"5","encodingVersion":"v1"}]}}"#;
        check(kind, object, r#"["a","v1","1=v1,2=v1,3=v2 + 2 more...","<unknown>"]"#);
    }
}
