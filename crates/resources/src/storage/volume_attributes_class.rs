//! VolumeAttributesClasses, whose driver and parameters never change.

use pintle_meta::validation::object_meta;

use super::parameters::{parameters, provisioner};
use super::strategy::CLASSES;
use crate::framework::strategy::{MetadataRecheck, Rules, rules};
use crate::framework::validation::Cursor;

pub(super) const VOLUME_ATTRIBUTES_CLASSES: Rules = Rules {
    recheck: MetadataRecheck::Immutable,
    validate: |_, class| validate(class),
    validate_update: |_, class| {
        for name in ["driverName", "parameters"] {
            if class.field(name).changed() {
                class.field(name).forbidden(format!("updates to {name} are forbidden."));
            }
        }
        rules::metadata(class, false, object_meta::subdomain_name);
        validate(class);
    },
    ..CLASSES
};

fn validate(class: &Cursor<'_, '_>) {
    provisioner(&class.field("driverName"));
    parameters(&class.field("parameters"), false);
}

#[cfg(test)]
mod tests {
    use crate::framework::validation::testing::Base;

    fn base() -> Base {
        Base::new(
            "storage.k8s.io",
            "volumeattributesclasses",
            r#"{"metadata":{"name":"a"},"driverName":"example.com/d","parameters":{"iops":"5"}}"#,
        )
    }

    #[test]
    fn a_class_has_a_driver_and_parameters() {
        base().refuses(&[
            (&[("/driverName", r#""""#)], &["driverName: Required value"]),
            (
                &[("/parameters", "")],
                &["parameters: Required value: must contain at least one key/value pair"],
            ),
        ]);
    }

    #[test]
    fn driver_and_parameters_are_immutable() {
        base().refuses_update(&[
            (
                &[("/driverName", r#""example.com/e""#)],
                &["driverName: Forbidden: updates to driverName are forbidden."],
            ),
            (
                &[("/parameters/iops", r#""6""#)],
                &["parameters: Forbidden: updates to parameters are forbidden."],
            ),
            // Metadata is checked last, as in the reference.
            (
                &[("/parameters", ""), ("/metadata/labels", r#"{"a":"b c"}"#)],
                &[
                    "metadata.labels: Invalid value: \"b c\": a valid label must be an empty string or consist of alphanumeric \
                     characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or \
                     'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
                    "parameters: Forbidden: updates to parameters are forbidden.",
                    "metadata.labels: Invalid value: \"b c\": a valid label must be an empty string or consist of alphanumeric \
                     characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or \
                     'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
                    "parameters: Required value: must contain at least one key/value pair",
                ],
            ),
        ]);
        base().accepts_update(&[&[("/metadata/labels", r#"{"a":"b"}"#)]]);
    }
}
