//! The strategies of the group's resources.

use std::sync::Arc;

use pintle_meta::validation::{dns1035_label, dns1123_subdomain};
use pintle_registry::Strategy;

use crate::framework::strategy::rules::metadata_update;
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
    recheck: MetadataRecheck::Full,
    validate: |_, migration| resource(&migration.at(&["spec", "resource"])),
    validate_update: |_, migration| {
        resource(&migration.at(&["spec", "resource"]));
        metadata_update(migration);
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

#[cfg(test)]
mod tests {
    use crate::framework::validation::testing::Base;

    const GROUP: &str = "storagemigration.k8s.io";
    const OBJECT: &str =
        r#"{"metadata":{"name":"a"},"spec":{"resource":{"group":"apps","resource":"deployments"}}}"#;

    #[test]
    fn a_migration_is_of_one_resource_for_ever() {
        let base = Base::new(GROUP, "storageversionmigrations", OBJECT);
        base.accepts(&[&[("/spec/resource/group", "")]]);
        base.refuses(&[
            (
                &[("/spec/resource/resource", r#""""#)],
                &["spec.resource.resource: Required value: resource is required to be set"],
            ),
            (
                &[("/spec/resource", r#"{"group":"-","resource":"-"}"#)],
                &[
                    "spec.resource.resource: Invalid value: \"-\": a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
                    "spec.resource.group: Invalid value: \"-\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
                ],
            ),
        ]);
        base.refuses_update(&[(
            &[("/spec/resource/group", "")],
            &[r#"spec: Invalid value: {"Resource":{"group":"","resource":"deployments"}}: field is immutable"#],
        )]);
    }

    #[test]
    fn changes_of_metadata_come_after_the_resource() {
        let base = Base::new(GROUP, "storageversionmigrations", OBJECT);
        let finalizer = ("/metadata/finalizers", r#"["x"]"#);
        let errors = base.update_errors(&[], &[finalizer, ("/spec/resource/resource", r#""""#)]);
        let fields: Vec<&str> = errors.iter().filter_map(|error| error.split(": ").next()).collect();
        let finalizer = "metadata.finalizers[0]";
        assert_eq!(fields, [finalizer, "spec.resource.resource", finalizer, "spec"]);
    }

    #[test]
    fn a_migration_ends_once() {
        let base = Base::new(GROUP, "storageversionmigrations/status", OBJECT);
        let condition = |of: &str, status: &str| {
            format!(
                r#"{{"type":"{of}","status":"{status}","reason":"R","message":"m","lastTransitionTime":"2026-01-01T00:00:00Z"}}"#
            )
        };
        let both = format!("[{},{}]", condition("Succeeded", "True"), condition("Failed", "True"));
        base.accepts_update(&[&[("/status/resourceVersion", r#""12""#)]]);
        base.refuses_update(&[
            (
                &[("/status/resourceVersion", r#""012""#)],
                &[r#"status.resourceVersion: Invalid value: "012": resource version is not well formed: 012"#],
            ),
            (
                &[("/status/conditions", &both)],
                &[&format!("status.conditions: Invalid value: [{}]: Both success and failed conditions cannot be true at the same time", [("Succeeded"), ("Failed")].map(|of| format!(r#"{{"type":"{of}","status":"True","lastTransitionTime":"2026-01-01T00:00:00Z","reason":"R","message":"m"}}"#)).join(","))],
            ),
            (
                &[("/status/conditions", r#"[{"type":"A","status":"True","reason":"R","message":""}]"#)],
                &["status.conditions[0].lastTransitionTime: Required value"],
            ),
        ]);
        base.refuses_update_of(
            &[("/status/resourceVersion", r#""12""#)],
            &[(
                &[("/status/resourceVersion", r#""13""#)],
                &[r#"status.resourceVersion: Invalid value: "13": field is immutable"#],
            )],
        );
        for (of, name) in [("Succeeded", "Success"), ("Failed", "Failed")] {
            base.refuses_update_of(
                &[("/status/conditions", &format!("[{}]", condition(of, "True")))],
                &[(
                    &[("/status/conditions", "[]")],
                    &[&format!("status.conditions: Invalid value: []: {name} condition cannot be set to false once it is true")],
                )],
            );
        }
    }
}
