//! Which IP families a service gets: what it asks for, as far as the cluster has it.

use pintle_meta::field_path::{Error, Path, Value as Printed};
use pintle_meta::{Status, Value};
use pintle_registry::Result;
use pintle_schema::go;

use super::fields::{self, ADDRESSES, FAMILIES, FAMILY_POLICY, NONE};
use super::validation;
use crate::framework::strategy::tree;
use crate::framework::validation::Errors;

pub(super) const SINGLE: &str = "SingleStack";
const PREFERRED: &str = "PreferDualStack";
pub(super) const BOTH: &str = "RequireDualStack";

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Family {
    V4,
    V6,
}

impl Family {
    pub(super) fn of(address: &str) -> Family {
        if fields::is_ipv6(address) { Family::V6 } else { Family::V4 }
    }

    pub(super) fn named(name: &str) -> Option<Family> {
        [Family::V4, Family::V6].into_iter().find(|family| family.name() == name)
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Family::V4 => "IPv4",
            Family::V6 => "IPv6",
        }
    }

    fn other(self) -> Family {
        match self {
            Family::V4 => Family::V6,
            Family::V6 => Family::V4,
        }
    }
}

/// The families that the cluster's flags name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Families {
    pub(super) first: Family,
    pub(super) both: bool,
}

impl Families {
    pub(super) fn has(self, family: Family) -> bool {
        self.both || self.first == family
    }

    /// Sets policy and families of a service that does not say them, or finds what is wrong with them.
    pub(super) fn choose(self, service: &mut Value, old: Option<&Value>) -> Result<()> {
        if !fields::has_address(service) || old.is_some_and(|old| prefers_as_before(service, old)) {
            return Ok(());
        }
        if service.at(FAMILY_POLICY).is_none_or(Value::is_null) {
            let policy = match old.and_then(fields::policy) {
                Some(policy) => policy.to_owned(),
                None if is_anything(service) => BOTH.to_owned(),
                None => SINGLE.to_owned(),
            };
            tree::set(service, FAMILY_POLICY, policy);
        }
        let errors = validation::cluster_ip_errors(service, old);
        invalid(service, &errors)?;
        let errors = Errors::default();
        if let Some(old) = old {
            apply_change(service, old, &errors);
        }
        self.infer(service, &errors);
        invalid(service, &errors.into_vec())?;

        let policy = fields::policy(service).unwrap_or_default();
        let wants_both = policy != SINGLE;
        if !is_anything(service) {
            let errors = Errors::default();
            self.report_missing(service, policy, &errors);
            invalid(service, &errors.into_vec())?;
        }
        let mut names: Vec<String> = fields::families(service).into_iter().map(str::to_owned).collect();
        if names.is_empty() {
            names.push(self.first.name().to_owned());
        }
        // A service without a selector may have endpoints of both families, whatever the cluster has.
        if names.len() == 1
            && wants_both
            && (self.both || is_anything(service))
            && let Some(family) = Family::named(&names[0])
        {
            names.push(family.other().name().to_owned());
        }
        set_families(service, &names);
        Ok(())
    }

    /// Families that the addresses tell, after what the policy says against both.
    fn infer(self, service: &mut Value, errors: &Errors) {
        let addresses: Vec<String> = fields::addresses(service).into_iter().map(str::to_owned).collect();
        let mut names: Vec<String> = fields::families(service).into_iter().map(str::to_owned).collect();
        if fields::policy(service) == Some(SINGLE) {
            let several = |what: &str| {
                wrong_policy(
                    service,
                    &format!(
                        "must be 'RequireDualStack' or 'PreferDualStack' when multiple {what} are specified"
                    ),
                )
            };
            if addresses.len() == 2 {
                errors.push(several("cluster IPs"));
            }
            if names.len() == 2 {
                errors.push(several("IP families"));
            }
        }
        let known = names.len();
        let spec = Path::new("spec");
        let path = spec.child("clusterIPs");
        for (index, address) in addresses.iter().enumerate().skip_while(|(index, _)| *index < known) {
            if address == NONE {
                break;
            }
            let family = Family::of(address);
            if self.has(family) {
                names.push(family.name().to_owned());
            } else {
                let why = format!("{} is not configured on this cluster", family.name());
                errors.push(Error::invalid(&path.index(index), shown_addresses(service), why));
            }
        }
        if names.len() > known {
            set_families(service, &names);
        }
    }

    /// Reports a family that the cluster does not have.
    fn report_missing(self, service: &Value, policy: &str, errors: &Errors) {
        if policy == BOTH && !self.both {
            errors.push(wrong_policy(service, "this cluster is not configured for dual-stack services"));
        }
        let spec = Path::new("spec");
        let path = spec.child("ipFamilies");
        for (index, name) in fields::families(service).into_iter().enumerate() {
            if !Family::named(name).is_some_and(|family| self.has(family)) {
                let why = "not configured on this cluster";
                errors.push(Error::invalid(&path.index(index), Printed::json(name), why));
            }
        }
    }
}

/// A service without an address and without pods of its own.
fn is_anything(service: &Value) -> bool {
    fields::address(service) == NONE && !fields::has_selector(service)
}

/// A service that would like both families keeps what it has when the cluster comes to have more or less of them.
pub(super) fn prefers_as_before(new: &Value, old: &Value) -> bool {
    fields::policy(new) == Some(PREFERRED)
        && fields::policy(old).is_none_or(|policy| policy == PREFERRED)
        && fields::kind(new) == fields::kind(old)
        && matches!(fields::kind(new), "ClusterIP" | "NodePort" | "LoadBalancer")
        && tree::is_same(new, old, ADDRESSES)
        && tree::is_same(new, old, FAMILIES)
}

/// To give up one of two, the policy must say so; then it is enough to say that.
fn apply_change(service: &mut Value, old: &Value, errors: &Errors) {
    if fields::policy(service) == Some(SINGLE) {
        for path in [ADDRESSES, FAMILIES] {
            if tree::is_same(service, old, path) && service.items_at(path).len() > 1 {
                let first = service.items_at(path)[0].clone();
                tree::set(service, path, vec![first]);
            }
        }
        return;
    }
    for (path, what) in [(ADDRESSES, "cluster IP"), (FAMILIES, "IP family")] {
        let (is, was) = (service.items_at(path).len(), old.items_at(path).len());
        if is != 0 && is < was {
            let why = format!("must be 'SingleStack' to release the secondary {what}");
            errors.push(wrong_policy(service, &why));
        }
    }
}

fn wrong_policy(service: &Value, why: &str) -> Error {
    let shown = fields::policy(service).map_or_else(Printed::null, Printed::json);
    let spec = Path::new("spec");
    Error::invalid(&spec.child("ipFamilyPolicy"), shown, why)
}

pub(super) fn shown_addresses(service: &Value) -> Printed {
    go::printed("[]string", service.at(ADDRESSES).unwrap_or(&Value::NULL))
}

fn set_families(service: &mut Value, names: &[String]) {
    tree::set(service, FAMILIES, names.iter().map(Value::string).collect::<Vec<_>>());
}

pub(super) fn invalid(service: &Value, errors: &[Error]) -> Result<()> {
    match errors {
        [] => Ok(()),
        errors => Err(refusal(service, errors)),
    }
}

pub(super) fn refusal(service: &Value, errors: &[Error]) -> Box<Status> {
    Box::new(Status::invalid("", "Service", service.name(), errors))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framework::strategy::testing::{of, text};

    const SINGLE_STACK: Families = Families { first: Family::V4, both: false };
    const DUAL_STACK: Families = Families { first: Family::V6, both: true };

    fn chosen(families: Families, spec: &str, old: Option<&str>) -> std::result::Result<String, String> {
        let services = of("", "services");
        let tree = |spec: &str| services.tree(&format!(r#"{{"metadata":{{"name":"s"}},"spec":{spec}}}"#));
        let mut service = tree(spec);
        fields::complete_new(&mut service);
        let old = old.map(tree);
        families.choose(&mut service, old.as_ref()).map_err(|status| status.message.clone())?;
        let policy = fields::policy(&service).unwrap_or("-");
        Ok(format!("{policy} {}", text(service.at(FAMILIES).unwrap_or(&Value::NULL))))
    }

    #[test]
    fn who_says_nothing_gets_the_first_family() {
        assert_eq!(chosen(SINGLE_STACK, "{}", None).unwrap(), r#"SingleStack ["IPv4"]"#);
        assert_eq!(chosen(DUAL_STACK, "{}", None).unwrap(), r#"SingleStack ["IPv6"]"#);
        assert_eq!(chosen(DUAL_STACK, r#"{"type":"ExternalName"}"#, None).unwrap(), "- null");
    }

    #[test]
    fn an_address_tells_its_family() {
        assert_eq!(
            chosen(DUAL_STACK, r#"{"clusterIP":"10.0.0.1"}"#, None).unwrap(),
            r#"SingleStack ["IPv4"]"#
        );
        let wrong = chosen(SINGLE_STACK, r#"{"clusterIP":"fd00::1"}"#, None).unwrap_err();
        assert_eq!(
            wrong,
            r#"Service "s" is invalid: spec.clusterIPs[0]: Invalid value: ["fd00::1"]: IPv6 is not configured on this cluster"#
        );
    }

    #[test]
    fn single_stack_has_one_of_each() {
        let both = r#"{"clusterIP":"10.0.0.1","clusterIPs":["10.0.0.1","fd00::1"],"ipFamilies":["IPv4","IPv6"],"ipFamilyPolicy":"SingleStack"}"#;
        let policy = r#"spec.ipFamilyPolicy: Invalid value: "SingleStack": must be 'RequireDualStack' or 'PreferDualStack' when multiple"#;
        assert_eq!(
            chosen(DUAL_STACK, both, None).unwrap_err(),
            format!(
                r#"Service "s" is invalid: [{policy} cluster IPs are specified, {policy} IP families are specified]"#
            )
        );
    }

    #[test]
    fn both_are_given_where_there_are_both() {
        let preferred = r#"{"ipFamilyPolicy":"PreferDualStack","ipFamilies":["IPv4"]}"#;
        assert_eq!(chosen(SINGLE_STACK, preferred, None).unwrap(), r#"PreferDualStack ["IPv4"]"#);
        assert_eq!(chosen(DUAL_STACK, preferred, None).unwrap(), r#"PreferDualStack ["IPv4","IPv6"]"#);
        let other = chosen(SINGLE_STACK, r#"{"ipFamilies":["IPv6"]}"#, None).unwrap_err();
        assert_eq!(
            other,
            r#"Service "s" is invalid: spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster"#
        );
        let wrong = chosen(SINGLE_STACK, r#"{"ipFamilyPolicy":"RequireDualStack"}"#, None).unwrap_err();
        assert!(wrong.ends_with("this cluster is not configured for dual-stack services"), "{wrong}");
    }

    #[test]
    fn headless_services_that_select_nothing_have_both() {
        let headless = r#"{"clusterIP":"None"}"#;
        assert_eq!(chosen(SINGLE_STACK, headless, None).unwrap(), r#"RequireDualStack ["IPv4","IPv6"]"#);
        let selecting = r#"{"clusterIP":"None","selector":{"a":"b"}}"#;
        assert_eq!(chosen(SINGLE_STACK, selecting, None).unwrap(), r#"SingleStack ["IPv4"]"#);
    }

    #[test]
    fn the_second_is_given_up_only_in_so_many_words() {
        let old = r#"{"clusterIP":"fd00::1","clusterIPs":["fd00::1","10.0.0.1"],"ipFamilies":["IPv6","IPv4"],"ipFamilyPolicy":"RequireDualStack","type":"ClusterIP"}"#;
        let single = old.replace(BOTH, SINGLE);
        assert_eq!(chosen(DUAL_STACK, &single, Some(old)).unwrap(), r#"SingleStack ["IPv6"]"#);
        let fewer = old.replace(r#","10.0.0.1""#, "");
        let wrong = chosen(DUAL_STACK, &fewer, Some(old)).unwrap_err();
        assert!(
            wrong.contains(r#"spec.ipFamilyPolicy: Invalid value: "RequireDualStack": must be 'SingleStack' to release the secondary cluster IP"#),
            "{wrong}"
        );
    }
}
