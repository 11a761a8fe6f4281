//! The strategies of the group's resources.

use std::sync::Arc;

use pintle_meta::validation::{dns1035_label, dns1123_subdomain};
use pintle_registry::Strategy;

use crate::framework::strategy::{Entry, MetadataRecheck, Rules, Settings, find};
use crate::framework::validation::Cursor;

const TABLE: &[Entry] = &[
    Entry {
        name: "storageversionmigrations",
        kind: "storagemigration/v1beta1.StorageVersionMigration",
        rules: MIGRATIONS,
    },
    Entry {
        name: "storageversionmigrations/status",
        kind: "storagemigration/v1beta1.StorageVersionMigration",
        rules: Rules {
            validate_update: |_, migration| status(&migration.field("status")),
            ..MIGRATIONS.of_status_alone()
        },
    },
];

const MIGRATIONS: Rules = Rules {
    recheck: MetadataRecheck::Both,
    validate: |_, migration| resource(&migration.at(&["spec", "resource"])),
    validate_update: |_, migration| {
        resource(&migration.at(&["spec", "resource"]));
        migration.field("spec").immutable("storagemigration.StorageVersionMigrationSpec");
    },
    ..Rules::CLUSTER.with_status()
};

fn resource(resource: &Cursor<'_, '_>) {
    let name = resource.field("resource");
    if name.is_empty() {
        name.required("resource is required to be set");
    } else {
        joined(&name, dns1035_label(name.text()));
    }
    let group = resource.field("group");
    if !group.is_empty() {
        joined(&group, dns1123_subdomain(group.text()));
    }
}

/// Reports problems of a text as one error.
fn joined(at: &Cursor<'_, '_>, wrong: Vec<String>) {
    if !wrong.is_empty() {
        at.invalid(at.text(), wrong.join(","));
    }
}

fn status(status: &Cursor<'_, '_>) {
    let version = status.field("resourceVersion");
    let text = version.text();
    if text.starts_with('0') || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        version.invalid(text, format!("resource version is not well formed: {text}"));
    }
    let conditions = status.field("conditions");
    conditions.conditions();
    let before = version.before();
    if !before.is_empty() && before.text() != version.text() {
        version.invalid(version.text(), "field is immutable");
    }
    let printed = || conditions.printed_as("[]meta/v1.Condition");
    let is_true = |conditions: &Cursor<'_, '_>, of: &str| {
        let found = conditions.values().iter().find(|condition| condition.text_at(&["type"]) == of);
        found.is_some_and(|condition| condition.text_at(&["status"]) == "True")
    };
    if is_true(&conditions, "Succeeded") && is_true(&conditions, "Failed") {
        conditions.invalid(printed(), "Both success and failed conditions cannot be true at the same time");
    }
    for (of, name) in [("Succeeded", "Success"), ("Failed", "Failed")] {
        if is_true(&conditions.before(), of) && !is_true(&conditions, of) {
            conditions.invalid(printed(), format!("{name} condition cannot be set to false once it is true"));
        }
    }
}

/// The strategy of a resource or subresource.
pub(crate) fn strategy(name: &str, settings: &Settings) -> Option<Arc<dyn Strategy>> {
    find(TABLE, name, settings)
}
