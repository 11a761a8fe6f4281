//! IPAddresses: addresses of services, each named after itself.

use pintle_meta::field_path::Path;
use pintle_meta::validation::{dns1123_subdomain, ip, path_segment_name};

use super::strategy::CLUSTER;
use crate::framework::strategy::{MetadataRecheck, Rules};
use crate::framework::validation::Cursor;

const ADDRESSES: Rules =
    Rules { name: address, takes_prefixes: true, recheck: MetadataRecheck::None, ..CLUSTER };

pub(super) const IP_ADDRESSES: Rules = Rules {
    validate: |_, address| validate(address),
    validate_update: |_, address| {
        ADDRESSES.check_metadata(address);
        validate(address);
        ADDRESSES.check_metadata_update(address);
        address.at(&["spec", "parentRef"]).immutable("*networking.ParentReference");
    },
    ..ADDRESSES
};

fn address(name: &str, _: bool) -> Vec<String> {
    ip(&Path::NOWHERE, name).into_iter().map(|error| error.detail).collect()
}

fn validate(address: &Cursor<'_, '_>) {
    let parent = address.at(&["spec", "parentRef"]);
    if !parent.is_set() {
        return parent.required("");
    }
    // The group of services is empty.
    if !parent.field("group").is_empty() {
        parent.field("group").text_format(dns1123_subdomain);
    }
    for (field, is_required) in [("resource", true), ("name", true), ("namespace", false)] {
        let name = parent.field(field);
        if !name.is_empty() {
            name.text_format(path_segment_name);
        } else if is_required {
            name.required("");
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::framework::strategy::testing::of;
    use crate::framework::validation::testing::Base;

    const GROUP: &str = "networking.k8s.io";

    fn base() -> Base {
        let address =
            r#"{"metadata":{"name":"10.0.0.1"},"spec":{"parentRef":{"resource":"services","name":"a"}}}"#;
        Base::new(GROUP, "ipaddresses", address)
    }

    #[test]
    fn an_address_has_its_address_for_a_name() {
        let addresses = of(GROUP, "ipaddresses").strategy;
        assert!(addresses.validate_name("10.0.0.1", false).is_empty());
        assert!(addresses.validate_name("2001:db8::1", false).is_empty());
        // There is nothing to make up about an address.
        assert_eq!(addresses.generate_name("10.0.0.1", &mut || 7), "10.0.0.1");
        assert_ne!(of(GROUP, "ingresses").strategy.generate_name("a-", &mut || 7), "a-");
        assert_eq!(
            addresses.validate_name("a", false),
            ["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"]
        );
    }

    #[test]
    fn an_address_has_a_parent() {
        base().accepts(&[&[("/spec/parentRef/group", r#""g.io""#), ("/spec/parentRef/namespace", r#""n""#)]]);
        base().refuses(&[
            (&[("/spec/parentRef", "")], &["spec.parentRef: Required value"]),
            (
                &[("/spec/parentRef", r#"{"resource":"a/b","namespace":"%"}"#)],
                &[
                    r#"spec.parentRef.resource: Invalid value: "a/b": may not contain '/'"#,
                    "spec.parentRef.name: Required value",
                    r#"spec.parentRef.namespace: Invalid value: "%": may not contain '%'"#,
                ],
            ),
            (
                &[("/spec/parentRef/group", r#""G""#)],
                &[
                    r#"spec.parentRef.group: Invalid value: "G": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"#,
                ],
            ),
        ]);
    }

    #[test]
    fn an_address_keeps_its_parent() {
        base().accepts_update(&[&[("/metadata/labels", r#"{"a":"b"}"#)]]);
        base().refuses_update(&[
            (
                &[("/spec/parentRef/name", r#""b""#)],
                &[
                    r#"spec.parentRef: Invalid value: {"Group":"","Resource":"services","Namespace":"","Name":"b"}: field is immutable"#,
                ],
            ),
            (
                &[("/spec/parentRef", "")],
                &["spec.parentRef: Required value", "spec.parentRef: Invalid value: null: field is immutable"],
            ),
        ]);
    }
}
