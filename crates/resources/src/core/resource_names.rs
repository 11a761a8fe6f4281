//! Names of compute resources (`cpu`, `hugepages-2Mi`, `example.com/gpu`), and amounts of them.

use pintle_meta::Value;
use pintle_meta::field_path::Value as Printed;
use pintle_meta::quantity::Quantity;
use pintle_meta::validation::qualified_name;

use crate::framework::validation::Cursor;

const HUGE_PAGES: &str = "hugepages-";
const REQUESTS: &str = "requests.";

/// Names that quotas, limits and nodes know.
const STANDARD: &[&str] = &[
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "storage",
    "requests.storage",
    "services.nodeports",
    "services.loadbalancers",
];

/// Resources that are counted in whole numbers.
const COUNTED: &[&str] = &[
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
];

pub(crate) fn is_huge_page(name: &str) -> bool {
    name.starts_with(HUGE_PAGES)
}

/// Whether a quota may name huge pages so.
pub(crate) fn is_quota_huge_page(name: &str) -> bool {
    is_huge_page(name) || name.starts_with("requests.hugepages-")
}

pub(crate) fn is_standard(name: &str) -> bool {
    STANDARD.contains(&name) || is_quota_huge_page(name)
}

/// Whether a quota may limit the resource by this name: all standard ones but storage itself.
pub(crate) fn is_standard_in_quota(name: &str) -> bool {
    name != "storage" && is_standard(name)
}

pub(crate) fn is_standard_for_containers(name: &str) -> bool {
    ["cpu", "memory", "ephemeral-storage"].contains(&name) || is_huge_page(name)
}

/// Whether the name is of Kubernetes' own: without a domain, or with `kubernetes.io/`.
pub(crate) fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

/// Whether the name is of another domain, and fits into a quota with `requests.` before it.
pub(crate) fn is_extended(name: &str) -> bool {
    !is_native(name) && !name.starts_with(REQUESTS) && qualified_name(&format!("{REQUESTS}{name}")).is_empty()
}

pub(crate) fn is_counted(name: &str) -> bool {
    COUNTED.contains(&name) || is_extended(name)
}

/// Whether requests may be below limits.
pub(crate) fn allows_overcommit(name: &str) -> bool {
    is_native(name) && !is_huge_page(name)
}

/// Whether an amount is a multiple of the size of pages that the name has.
pub(crate) fn is_multiple_of_page_size(name: &str, amount: &Quantity) -> bool {
    let size = name.strip_prefix(HUGE_PAGES).and_then(|size| Quantity::parse(size).ok());
    size.is_some_and(|size| {
        // Sizes out of range are 0.
        let rest = amount.value().checked_rem(size.value());
        size.signum() > 0 && size.milli_value() % 1000 == 0 && rest == Some(0)
    })
}

/// Checks the name of a resource. Returns whether it is one.
#[track_caller]
pub(crate) fn check_name(at: &Cursor<'_, '_>, name: &str) -> bool {
    let wrong = qualified_name(name);
    let is_right = wrong.is_empty();
    for why in wrong {
        at.invalid(Printed::json(name), why);
    }
    if is_right && !name.contains('/') && !is_standard(name) {
        at.invalid(Printed::json(name), "must be a standard resource type or fully qualified");
        return false;
    }
    is_right
}

/// Checks the name of a resource that a container asks for.
#[track_caller]
pub(crate) fn check_container_name(at: &Cursor<'_, '_>, name: &str) {
    check_name(at, name);
    if !name.contains('/') {
        if !is_standard_for_containers(name) {
            at.invalid(Printed::json(name), "must be a standard resource for containers");
        }
    } else if !is_native(name) && !is_extended(name) {
        at.invalid(Printed::json(name), "doesn't follow extended resource name standard");
    }
}

/// Checks the amount at the cursor: not negative, and whole where the resource is counted.
#[track_caller]
pub(crate) fn check_amount(amount: &Cursor<'_, '_>, name: &str) {
    amount.non_negative_quantity();
    if is_counted(name)
        && let Some(quantity) = amount.quantity().filter(|quantity| quantity.milli_value() % 1000 != 0)
    {
        amount.invalid(Printed::json(&quantity.to_string()), "must be an integer");
    }
}

/// Checks the amount at the cursor, rounded up to an integer, which is also how the error prints it.
#[track_caller]
pub(crate) fn check_basic_amount(amount: &Cursor<'_, '_>) {
    if let Some(value) = amount.quantity().map(|quantity| quantity.value()).filter(|value| *value < 0) {
        amount.invalid(value, "must be a valid resource quantity");
    }
}

/// Whether two maps of amounts have the same names and numbers; an absent map is an empty one.
pub(crate) fn same_amounts(a: Option<&Value>, b: Option<&Value>) -> bool {
    let a = a.and_then(Value::as_object);
    let b = b.and_then(Value::as_object);
    let same = |a: &Value, b: &Value| a == b || amount(a).is_some_and(|number| Some(number) == amount(b));
    let is_in_b = |name: &str, a: &Value| b.is_some_and(|b| b.get(name).is_some_and(|found| same(a, found)));
    a.map_or(0, |a| a.len()) == b.map_or(0, |b| b.len())
        && a.is_none_or(|a| a.iter().all(|(name, value)| is_in_b(name, value)))
}

fn amount(value: &Value) -> Option<Quantity> {
    Quantity::parse(value.as_str()?).ok()
}
