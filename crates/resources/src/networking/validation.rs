//! Validation of ServiceCIDRs and IPAddresses.

use pintle_meta::Value;
use pintle_meta::field_path::{Error, Path};
use pintle_meta::validation::{cidr, dns1123_subdomain, parse_cidr_sloppy, path_segment_name};
use pintle_schema::go;

const FIXED: &str = "field is immutable";

pub(super) fn service_range(range: &Value) -> Vec<Error> {
    let texts = texts(range);
    let spec = Path::new("spec");
    let path = spec.child("cidrs");
    match texts.len() {
        0 => return vec![Error::required(&path, "at least one CIDR required")],
        1 | 2 => {}
        _ => {
            let shown = go::printed("*networking.ServiceCIDRSpec", range.get("spec").unwrap_or(&Value::NULL));
            return vec![Error::invalid(&path, shown, "may only hold up to 2 values")];
        }
    }
    let mut errors: Vec<Error> = Vec::new();
    for (index, text) in texts.iter().enumerate() {
        errors.extend(cidr(&path.index(index), text));
    }
    let families: Vec<bool> =
        texts.iter().filter_map(|text| Some(parse_cidr_sloppy(text)?.address.is_ipv4())).collect();
    if let [one, other] = families[..]
        && one == other
    {
        let why = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64";
        errors.push(Error::invalid(&path, shown(range), why));
    }
    errors
}

/// A second network may be added, of the other family; nothing else changes.
pub(super) fn service_range_update(new: &Value, old: &Value) -> Vec<Error> {
    let spec = Path::new("spec");
    let path = spec.child("cidrs");
    let (is, was) = (texts(new), texts(old));
    let fixed = |index: usize| Error::invalid(&path.index(index), is[index], FIXED);
    match (was.len(), is.len()) {
        (before, now) if before == now => {
            (0..now).filter(|index| is[*index] != was[*index]).map(fixed).collect()
        }
        (1, 2) => {
            let mut errors: Vec<Error> = (is[0] != was[0]).then(|| fixed(0)).into_iter().collect();
            errors.extend(service_range(new));
            errors
        }
        _ => vec![Error::invalid(&path, shown(new), FIXED)],
    }
}

pub(super) fn address(address: &Value) -> Vec<Error> {
    let spec = Path::new("spec");
    let path = spec.child("parentRef");
    let Some(parent) = address.at(&["spec", "parentRef"]).filter(|parent| !parent.is_null()) else {
        return vec![Error::required(&path, "")];
    };
    let mut errors = Vec::new();
    let group = parent.text_at(&["group"]);
    if !group.is_empty() {
        let wrong = dns1123_subdomain(group).into_iter();
        errors.extend(wrong.map(|why| Error::invalid(&path.child("group"), group, why)));
    }
    for (field, is_required) in [("resource", true), ("name", true), ("namespace", false)] {
        let text = parent.text_at(&[field]);
        let path = path.child(field);
        if !text.is_empty() {
            errors.extend(path_segment_name(text).into_iter().map(|why| Error::invalid(&path, text, why)));
        } else if is_required {
            errors.push(Error::required(&path, ""));
        }
    }
    errors
}

pub(super) fn address_update(new: &Value, old: &Value) -> Vec<Error> {
    const PARENT: &[&str] = &["spec", "parentRef"];
    let mut errors = address(new);
    if new.at(PARENT) != old.at(PARENT) {
        let shown = go::printed("*networking.ParentReference", new.at(PARENT).unwrap_or(&Value::NULL));
        let spec = Path::new("spec");
        errors.push(Error::invalid(&spec.child("parentRef"), shown, FIXED));
    }
    errors
}

fn texts(range: &Value) -> Vec<&str> {
    let items = range.items_at(&["spec", "cidrs"]).iter();
    items.map(|item| item.as_str().unwrap_or_default()).collect()
}

fn shown(range: &Value) -> pintle_meta::field_path::Value {
    go::printed("[]string", range.at(&["spec", "cidrs"]).unwrap_or(&Value::NULL))
}

#[cfg(test)]
mod tests {
    use crate::framework::strategy::testing::{invalid, invalid_update, of};

    const GROUP: &str = "networking.k8s.io";

    fn range(cidrs: &str) -> String {
        format!(r#"{{"metadata":{{"name":"a","resourceVersion":"1"}},"spec":{{"cidrs":{cidrs}}}}}"#)
    }

    #[test]
    fn a_range_has_one_network_of_each_family() {
        let ranges = of(GROUP, "servicecidrs");
        assert!(invalid(&ranges, &range(r#"["10.0.0.0/24","fd00::/64"]"#)).is_empty());
        assert_eq!(
            invalid(&ranges, &range("[]")),
            ["spec.cidrs: Required value: at least one CIDR required"]
        );
        assert_eq!(
            invalid(&ranges, &range(r#"["10.0.0.0/24","10.1.0.0/24","fd00::/64"]"#)),
            [
                r#"spec.cidrs: Invalid value: {"CIDRs":["10.0.0.0/24","10.1.0.0/24","fd00::/64"]}: may only hold up to 2 values"#
            ]
        );
        assert_eq!(
            invalid(&ranges, &range(r#"["10.0.0.0/24","10.1.0.0/24"]"#)),
            [
                r#"spec.cidrs: Invalid value: ["10.0.0.0/24","10.1.0.0/24"]: may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"#
            ]
        );
    }

    #[test]
    fn a_range_only_grows_by_the_other_family() {
        let ranges = of(GROUP, "servicecidrs");
        let old = range(r#"["10.0.0.0/24"]"#);
        assert!(invalid_update(&ranges, &range(r#"["10.0.0.0/24","fd00::/64"]"#), &old).is_empty());
        assert_eq!(
            invalid_update(&ranges, &range(r#"["10.0.1.0/24"]"#), &old),
            [r#"spec.cidrs[0]: Invalid value: "10.0.1.0/24": field is immutable"#]
        );
        assert_eq!(
            invalid_update(&ranges, &range("[]"), &old),
            [r#"spec.cidrs: Invalid value: null: field is immutable"#]
        );
    }

    #[test]
    fn an_address_is_of_something() {
        let addresses = of(GROUP, "ipaddresses");
        let address = |spec: &str| {
            format!(r#"{{"metadata":{{"name":"10.0.0.1","resourceVersion":"1"}},"spec":{spec}}}"#)
        };
        assert_eq!(invalid(&addresses, &address("{}")), ["spec.parentRef: Required value"]);
        assert_eq!(
            invalid(&addresses, &address(r#"{"parentRef":{"resource":"a/b"}}"#)),
            [
                r#"spec.parentRef.resource: Invalid value: "a/b": may not contain '/'"#,
                "spec.parentRef.name: Required value"
            ]
        );
        let old = address(r#"{"parentRef":{"resource":"services","name":"a"}}"#);
        assert!(invalid(&addresses, &old).is_empty());
        let new = address(r#"{"parentRef":{"resource":"services","name":"b"}}"#);
        let wrong = invalid_update(&addresses, &new, &old);
        assert!(wrong.len() == 1 && wrong[0].ends_with(": field is immutable"), "{wrong:?}");
    }
}
