//! ServiceCIDRs: networks that services get their addresses from.

use pintle_features::Feature;
use pintle_meta::validation::{cidr, parse_cidr_sloppy};
use pintle_schema::find as find_type;

use super::strategy::CLUSTER;
use crate::framework::strategy::{Rules, tree};
use crate::framework::validation::Cursor;

const KIND: &str = "networking/v1.ServiceCIDR";
const IMMUTABLE: &str = "field is immutable";

pub(super) const SERVICE_CIDRS: Rules = Rules {
    // A request writes the status only where an older release is to be imitated.
    cleared_on_create: &[],
    kept_on_update: &[],
    on_create: |settings, _, range| {
        if let Some(of) =
            find_type(KIND).filter(|_| settings.features.enabled(Feature::ServiceCIDRStatusFieldWiping))
        {
            tree::reset(of, range, &["status"]);
        }
    },
    on_update: |settings, _, range, old| {
        if settings.features.enabled(Feature::ServiceCIDRStatusFieldWiping) {
            tree::keep(range, old, &["status"]);
        }
    },
    validate: |_, range| validate(range),
    validate_update: |_, range| validate_update(range),
    ..CLUSTER.with_status()
};

pub(super) const STATUS: Rules = SERVICE_CIDRS.of_status_alone();

/// Checks that there are one or two networks, of different families.
fn validate(range: &Cursor<'_, '_>) {
    let spec = range.field("spec");
    let cidrs = spec.field("cidrs");
    if cidrs.len() == 0 {
        return cidrs.required("at least one CIDR required");
    }
    if cidrs.len() > 2 {
        return cidrs.invalid(spec.printed_as("*networking.ServiceCIDRSpec"), "may only hold up to 2 values");
    }
    cidrs.each(|network| network.text_check(cidr));
    let is_ipv4 = |index: usize| Some(parse_cidr_sloppy(cidrs.index(index).text())?.address.is_ipv4());
    if cidrs.len() == 2 && is_ipv4(0).is_some() && is_ipv4(0) == is_ipv4(1) {
        let why = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64";
        cidrs.invalid(cidrs.printed_as("[]string"), why);
    }
}

/// Checks a change: a second network may be added, nothing else.
fn validate_update(range: &Cursor<'_, '_>) {
    let cidrs = range.at(&["spec", "cidrs"]);
    let check_same = |network: &Cursor<'_, '_>| {
        if network.changed() {
            network.invalid(network.text(), IMMUTABLE);
        }
    };
    match (cidrs.before().len(), cidrs.len()) {
        (before, now) if before == now => cidrs.each(check_same),
        (1, 2) => {
            check_same(&cidrs.index(0));
            validate(range);
        }
        _ => cidrs.invalid(cidrs.printed_as("[]string"), IMMUTABLE),
    }
}

#[cfg(test)]
mod tests {
    use pintle_features::Feature;

    use crate::framework::strategy::Settings;
    use crate::framework::strategy::testing::{of, text, with_settings};
    use crate::framework::validation::testing::Base;

    const GROUP: &str = "networking.k8s.io";
    const CIDRS: &str = "/spec/cidrs";

    fn base() -> Base {
        Base::new(GROUP, "servicecidrs", r#"{"metadata":{"name":"a"},"spec":{"cidrs":["10.0.0.0/24"]}}"#)
    }

    #[test]
    fn a_range_has_one_network_of_each_family() {
        base().accepts(&[&[(CIDRS, r#"["10.0.0.0/24","fd00::/64"]"#)]]);
        base().refuses(&[
            (&[(CIDRS, "")], &["spec.cidrs: Required value: at least one CIDR required"]),
            (
                &[(CIDRS, r#"["10.0.0.0/24","10.1.0.0/24","fd00::/64"]"#)],
                &[
                    r#"spec.cidrs: Invalid value: {"CIDRs":["10.0.0.0/24","10.1.0.0/24","fd00::/64"]}: may only hold up to 2 values"#,
                ],
            ),
            (
                &[(CIDRS, r#"["10.0.0.0/24","10.1.0.0/24"]"#)],
                &[
                    r#"spec.cidrs: Invalid value: ["10.0.0.0/24","10.1.0.0/24"]: may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"#,
                ],
            ),
            (
                &[(CIDRS, r#"["x","y"]"#)],
                &[
                    r#"spec.cidrs[0]: Invalid value: "x": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"#,
                    r#"spec.cidrs[1]: Invalid value: "y": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"#,
                ],
            ),
        ]);
    }

    #[test]
    fn a_range_only_grows_by_the_other_family() {
        base().accepts_update(&[&[(CIDRS, r#"["10.0.0.0/24","fd00::/64"]"#)]]);
        base().refuses_update(&[
            (
                &[(CIDRS, r#"["10.0.1.0/24"]"#)],
                &[r#"spec.cidrs[0]: Invalid value: "10.0.1.0/24": field is immutable"#],
            ),
            (
                &[(CIDRS, r#"["10.0.1.0/24","x"]"#)],
                &[
                    r#"spec.cidrs[0]: Invalid value: "10.0.1.0/24": field is immutable"#,
                    r#"spec.cidrs[1]: Invalid value: "x": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"#,
                ],
            ),
            (&[(CIDRS, "")], &["spec.cidrs: Invalid value: null: field is immutable"]),
        ]);
    }

    #[test]
    fn a_status_is_written_alone() {
        let status = of(GROUP, "servicecidrs/status");
        let old = r#"{"metadata":{"name":"a","labels":{"a":"b"},"managedFields":[{"manager":"m"}]},"spec":{"cidrs":["10.0.0.0/8"]},"status":{}}"#;
        let new = r#"{"metadata":{"name":"a","annotations":{"c":"d"},"managedFields":[{"manager":"o"}]},"spec":{},"status":{"conditions":[{"type":"Ready","status":"True","lastTransitionTime":null,"reason":"r","message":"m"}]}}"#;
        assert_eq!(
            text(&status.updated(new, old)),
            r#"{"metadata":{"name":"a","labels":{"a":"b"},"managedFields":[{"manager":"o"}]},"spec":{"cidrs":["10.0.0.0/8"]},"status":{"conditions":[{"type":"Ready","status":"True","lastTransitionTime":null,"reason":"r","message":"m"}]}}"#
        );
    }

    #[test]
    fn requests_write_the_status_only_without_the_feature() {
        let with = r#"{"metadata":{"name":"a"},"spec":{"cidrs":["10.0.0.0/8"]},"status":{"conditions":[{"type":"Ready","status":"True","lastTransitionTime":null,"reason":"r","message":"m"}]}}"#;
        let without = r#"{"metadata":{"name":"a"},"spec":{"cidrs":["10.0.0.0/8"]},"status":{}}"#;
        let ranges = of(GROUP, "servicecidrs");
        assert_eq!(text(&ranges.created(with)), without);
        assert_eq!(text(&ranges.updated(with, without)), without);
        let mut settings = Settings::default();
        settings.features.set(Feature::ServiceCIDRStatusFieldWiping, false);
        let ranges = with_settings(GROUP, "servicecidrs", &settings);
        assert_eq!(text(&ranges.created(with)), with);
        assert_eq!(text(&ranges.updated(with, without)), with);
    }
}
