//! The spec of claims and of their templates: requests for devices, constraints between them, configuration.

use std::cell::LazyCell;
use std::collections::{HashMap, HashSet};

use pintle_features::{Feature, Features};
use pintle_meta::Value;
use pintle_meta::field_path::Value as Printed;
use pintle_meta::validation::{dns1123_label, dns1123_subdomain};

use super::collections::{list, set_by_name, set_of_texts};
use super::names::fully_qualified;
use super::selectors::{Selectors, configuration};
use super::taints::toleration;
use crate::framework::strategy::tree;
use crate::framework::validation::Cursor;

/// Most requests of a claim, and most of them that a constraint or configuration refers to.
pub(super) const MOST_REQUESTS: usize = 32;
const MOST_ALTERNATIVES: usize = 8;
const MOST_CONSTRAINTS: usize = 32;
pub(super) const MOST_CONFIGURATIONS: usize = 32;

/// Names of a claim's requests and, for those with alternatives, of their subrequests.
pub(super) struct RequestNames<'v> {
    /// The last request of each name.
    requests: HashMap<&'v str, usize>,
    subrequests: HashSet<(usize, &'v str)>,
}

impl<'v> RequestNames<'v> {
    pub(super) fn of(requests: &'v [Value]) -> RequestNames<'v> {
        let mut names = RequestNames { requests: HashMap::new(), subrequests: HashSet::new() };
        for (index, request) in requests.iter().enumerate() {
            names.requests.insert(request.text_at(&["name"]), index);
            let alternatives = request.items_at(&["firstAvailable"]).iter();
            names.subrequests.extend(alternatives.map(|sub| (index, sub.text_at(&["name"]))));
        }
        names
    }

    fn has(&self, request: &str, subrequest: Option<&str>) -> bool {
        let known = self.requests.get(request);
        known.is_some_and(|known| subrequest.is_none_or(|sub| self.subrequests.contains(&(*known, sub))))
    }

    /// Checks a reference: `request` or `request/subrequest`.
    pub(super) fn check(&self, reference: &Cursor<'_, '_>) {
        let name = reference.text();
        let mut parts = name.split('/');
        let (request, subrequest) = (parts.next().unwrap_or_default(), parts.next());
        let is_short = parts.next().is_none();
        if is_short {
            for part in std::iter::once(request).chain(subrequest) {
                for why in dns1123_label(part) {
                    reference.invalid(part, why);
                }
            }
        }
        if !is_short || !self.has(request, subrequest) {
            let why = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";
            reference.invalid(name, why);
        }
    }
}

/// Checks the spec of a claim.
pub(super) fn validate(spec: &Cursor<'_, '_>, features: &Features) {
    let devices = spec.field("devices");
    let requests = devices.field("requests");
    let names = LazyCell::new(|| RequestNames::of(requests.values()));
    let selectors = Selectors::new(features, false);
    set_by_name(&requests, MOST_REQUESTS, |item| request(item, &selectors));
    list(&devices.field("constraints"), MOST_CONSTRAINTS, |item| constraint(item, &names, features));
    list(&devices.field("config"), MOST_CONFIGURATIONS, |config| {
        set_of_texts(&config.field("requests"), MOST_REQUESTS, |name| names.check(name));
        configuration(config, false);
    });
}

fn request(request: &Cursor<'_, '_>, selectors: &Selectors) {
    request.field("name").text_format(dns1123_label);
    let (alternatives, exactly) = (request.field("firstAvailable"), request.field("exactly"));
    match (alternatives.is_empty(), exactly.is_set()) {
        (true, false) => request.required("exactly one of `exactly` or `firstAvailable` is required"),
        (false, true) => request.invalid(
            Printed::null(),
            "exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set",
        ),
        (false, false) => set_by_name(&alternatives, MOST_ALTERNATIVES, |alternative| {
            alternative.field("name").text_format(dns1123_label);
            exact(alternative, selectors);
        }),
        (true, true) => exact(&exactly, selectors),
    }
}

fn exact(request: &Cursor<'_, '_>, selectors: &Selectors) {
    let class = request.field("deviceClassName");
    if class.is_empty() {
        class.required("");
    } else {
        class.text_format(dns1123_subdomain);
    }
    selectors.check(&request.field("selectors"));
    let (mode, count) = (request.field("allocationMode"), request.field("count"));
    match mode.text() {
        "All" if count.integer() != 0 => {
            count.invalid(count.integer(), "must not be specified when allocationMode is 'All'");
        }
        "All" => {}
        "ExactCount" => count.positive(),
        _ => mode.one_of(&["All", "ExactCount"]),
    }
    request.field("tolerations").each(toleration);
}

fn constraint(constraint: &Cursor<'_, '_>, names: &RequestNames<'_>, features: &Features) {
    set_of_texts(&constraint.field("requests"), MOST_REQUESTS, |name| names.check(name));
    let (same, distinct) = (constraint.field("matchAttribute"), constraint.field("distinctAttribute"));
    if same.is_set() {
        fully_qualified(&same);
    } else if distinct.is_set() {
        fully_qualified(&distinct);
    } else if features.enabled(Feature::DRAConsumableCapacity) {
        constraint.required(
            r#"exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set"#,
        );
    } else {
        same.required("");
    }
}

/// Fields of a feature: whether a spec has any, and their removal.
struct Gated {
    feature: Feature,
    is_used: fn(&Value) -> bool,
    remove: fn(&mut Value),
}

const GATED: &[Gated] = &[
    Gated {
        feature: Feature::DRAPrioritizedList,
        is_used: |spec| requests(spec).iter().any(|request| request.get("firstAvailable").is_some()),
        remove: |spec| remove_from(spec, REQUESTS, &["firstAvailable"]),
    },
    Gated {
        feature: Feature::DRADeviceTaints,
        is_used: |spec| any_request(spec, "tolerations"),
        remove: |spec| remove_from_requests(spec, "tolerations"),
    },
    Gated {
        feature: Feature::DRAAdminAccess,
        is_used: asks_for_admin_access,
        remove: |spec| {
            remove_from(spec, REQUESTS, &["exactly", "adminAccess"]);
        },
    },
    Gated {
        feature: Feature::DRAConsumableCapacity,
        is_used: consumes_capacity,
        remove: |spec| {
            remove_from(spec, &["devices", "constraints"], &["distinctAttribute"]);
            remove_from_requests(spec, "capacity");
        },
    },
];

const REQUESTS: tree::Path = &["devices", "requests"];

/// Removes fields of features that are off from the spec of a claim, unless the old spec has such fields.
pub(super) fn drop_disabled(features: &Features, spec: Option<&mut Value>, old: Option<&Value>) {
    let Some(spec) = spec else { return };
    for Gated { feature, is_used, remove } in GATED {
        if !features.enabled(*feature) && is_used(spec) && !old.is_some_and(is_used) {
            remove(spec);
        }
    }
}

/// Whether a request is for administrative access, or says that it is not.
pub(super) fn asks_for_admin_access(spec: &Value) -> bool {
    requests(spec).iter().any(|request| request.at(&["exactly", "adminAccess"]).is_some())
}

/// Whether a claim is for parts of devices.
pub(super) fn consumes_capacity(spec: &Value) -> bool {
    let constraints = spec.items_at(&["devices", "constraints"]);
    constraints.iter().any(|constraint| constraint.get("distinctAttribute").is_some())
        || any_request(spec, "capacity")
}

fn requests(spec: &Value) -> &[Value] {
    spec.items_at(REQUESTS)
}

/// Whether a request or subrequest has a field.
fn any_request(spec: &Value, field: &str) -> bool {
    requests(spec).iter().any(|request| {
        let mut alternatives = request.items_at(&["firstAvailable"]).iter();
        request.at(&["exactly", field]).is_some() || alternatives.any(|sub| sub.get(field).is_some())
    })
}

fn remove_from(spec: &mut Value, items: tree::Path, field: tree::Path) {
    for item in spec.at_mut(items).and_then(Value::as_list_mut).into_iter().flatten() {
        tree::remove(item, field);
    }
}

fn remove_from_requests(spec: &mut Value, field: &'static str) {
    for request in spec.at_mut(REQUESTS).and_then(Value::as_list_mut).into_iter().flatten() {
        if let Some(exactly) = request.get_mut("exactly").and_then(Value::as_object_mut) {
            exactly.remove(field);
        }
        let alternatives = request.get_mut("firstAvailable").and_then(Value::as_list_mut);
        for alternative in alternatives.into_iter().flatten() {
            if let Some(alternative) = alternative.as_object_mut() {
                alternative.remove(field);
            }
        }
    }
}
