//! Runtime cost of calls: cel-go's cost model with Kubernetes' additions. The model of a call is chosen when it is
//! planned; the amount depends on the values.

use crate::functions::longest_pattern;
use crate::value::{Error, Val};

/// Cost of traversing a string, per character.
pub(crate) const TRAVERSAL: f64 = 0.1;
/// Cost of a regular expression, per character of the pattern.
const PATTERN: f64 = 0.25;
pub(crate) const LIST: u64 = 10;
pub(crate) const MAP: u64 = 30;
pub(crate) const OBJECT: u64 = 40;
/// High enough that an expression within the budget can call an authorizer only twice.
pub(crate) const AUTHORIZER_CHECK: u64 = 350_000;

/// Rule by which the cost of a call is computed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Model {
    Fixed(u64),
    /// Size of the first argument times a factor.
    Through(f64),
    /// Number of items of the second argument.
    InList,
    /// Size of the shorter argument.
    Shorter,
    /// Like `Shorter`; 1 for Kubernetes' opaque types.
    Equality,
    Both,
    /// Size of the text times the size of the pattern.
    Pattern,
    Contains,
    /// Size of the first argument and everything in it.
    Deep,
    /// Twice the size of the result.
    Result,
    /// Containment of networks: whether a text has to be parsed first, and whether the second is a CIDR too.
    Network {
        text: bool,
        network: bool,
    },
    /// Longest pattern of a named format.
    Format,
    Selector,
    /// A list of the result's size.
    Made,
    Flatten,
    /// Square of the size of the argument at this index.
    Squared(usize),
    /// Product of two lists' sizes times a factor.
    Product(u64),
}

pub(crate) fn model(function: &str, overload: Option<&str>) -> Model {
    let overload = overload.unwrap_or_default();
    match overload {
        "list_slice" | "lists_range" | "list_reverse" => return Model::Made,
        "list_flatten" | "list_flatten_int" => return Model::Flatten,
        "list_sets_contains_list" | "list_sets_intersects_list" => return Model::Product(1),
        "list_sets_equivalent_list" => return Model::Product(2),
        "list_distinct" => return Model::Squared(0),
        _ if overload.starts_with("list_") && overload.ends_with("_sort") => return Model::Squared(0),
        _ if overload.ends_with("_sortByAssociatedKeys") => return Model::Squared(1),
        _ => {}
    }
    match function {
        "check" => return Model::Fixed(AUTHORIZER_CHECK),
        "fieldSelector" | "labelSelector" => return Model::Selector,
        "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" => return Model::Deep,
        "url"
        | "lowerAscii"
        | "upperAscii"
        | "substring"
        | "trim"
        | "jsonpatch.escapeKey"
        | "cidr"
        | "isIP"
        | "isCIDR"
        | "quantity"
        | "isQuantity"
        | "semver"
        | "isSemver" => return Model::Through(1.0),
        "ip" if overload != "cidr_ip" => return Model::Through(1.0),
        "replace" | "split" | "ip.isCanonical" => return Model::Through(2.0),
        "join" => return Model::Result,
        "find" | "findAll" => return Model::Pattern,
        "containsIP" => {
            return Model::Network { text: overload == "cidr_contains_ip_string", network: false };
        }
        "containsCIDR" => {
            return Model::Network { text: overload == "cidr_contains_cidr_string", network: true };
        }
        "validate" => return Model::Format,
        "_==_" => return Model::Equality,
        "_!=_" => return Model::Shorter,
        _ => {}
    }
    match overload {
        "starts_with_string" | "ends_with_string" | "string_to_bytes" | "bytes_to_string"
        | "strings_quote" | "string_format" => Model::Through(1.0),
        "in_list" => Model::InList,
        "less_string"
        | "greater_string"
        | "less_equals_string"
        | "greater_equals_string"
        | "less_bytes"
        | "greater_bytes"
        | "less_equals_bytes"
        | "greater_equals_bytes" => Model::Shorter,
        "add_string" | "add_bytes" => Model::Both,
        "matches_string" => Model::Pattern,
        "contains_string" => Model::Contains,
        _ => Model::Fixed(1),
    }
}

impl Model {
    /// Returns whether the cost depends on the result.
    pub(crate) fn is_of_result(self) -> bool {
        matches!(self, Model::Result | Model::Made)
    }

    /// Returns the cost of a call whose arguments all have values.
    pub(crate) fn cost_of(self, args: &[Val<'_>], result: Option<&Val<'_>>) -> u64 {
        match args {
            [] => self.cost(&[], result),
            [a] => self.cost(&[Ok(a)], result),
            [a, b] => self.cost(&[Ok(a), Ok(b)], result),
            many => self.cost(&many.iter().map(Ok).collect::<Vec<_>>(), result),
        }
    }

    /// Returns the cost of a call; an argument that is an error has size 1.
    pub(crate) fn cost(self, args: &[Result<&Val<'_>, &Error>], result: Option<&Val<'_>>) -> u64 {
        let size = |index: usize| args.get(index).map_or(1, |arg| arg.map_or(1, size));
        let through = |size: u64, factor: f64| (size as f64 * factor).ceil() as u64;
        match self {
            Model::Fixed(cost) => cost,
            Model::Through(times) => through(size(0), times * TRAVERSAL),
            Model::InList => size(1),
            Model::Equality if matches!(args.first(), Some(Ok(Val::Other(_)))) => 1,
            Model::Shorter | Model::Equality => through(shorter(args), TRAVERSAL),
            Model::Both => through(size(0) + size(1), TRAVERSAL),
            Model::Pattern => {
                let text = ((1.0 + size(0) as f64) * TRAVERSAL).ceil() as u64;
                text.saturating_mul(through(size(1), PATTERN))
            }
            Model::Contains => through(size(0), TRAVERSAL).saturating_mul(through(size(1), TRAVERSAL)),
            Model::Deep => match args.first() {
                Some(Ok(value)) => deep(value, &mut { DEEPEST_COUNTED }),
                _ => 1,
            },
            Model::Result => through(result.map_or(1, self::size), 2.0 * TRAVERSAL),
            Model::Network { text, network } => {
                let own = size(0);
                let mut cost = through(own + own, TRAVERSAL);
                if network {
                    cost += through(own, TRAVERSAL) + 1;
                }
                if text { cost + through(size(1), TRAVERSAL) } else { cost }
            }
            Model::Format => {
                let text = ((1.0 + size(1) as f64) * TRAVERSAL).ceil() as u64;
                let pattern = match args.first() {
                    Some(Ok(Val::Other(format))) => longest_pattern(format),
                    _ => 1,
                };
                text.saturating_mul(through(pattern, PATTERN))
            }
            Model::Selector => {
                let length = size(1);
                let requirements = through(length, 0.5);
                LIST + through(length, TRAVERSAL) + requirements.saturating_mul(LIST + OBJECT)
            }
            Model::Made => result.map_or(1, self::size) + 1 + LIST,
            Model::Flatten => {
                let depth = match args.get(1) {
                    Some(Ok(Val::Int(depth))) => *depth as f64,
                    _ => 1.0,
                };
                (size(0) as f64 * depth) as u64 + 1 + LIST
            }
            Model::Product(times) => size(0).saturating_mul(size(1)).saturating_mul(times).saturating_add(1),
            Model::Squared(index) => {
                let Some(Ok(Val::List(list))) = args.get(index) else { return 1 + LIST };
                let texts = matches!(list.get(0), Ok(Val::String(_) | Val::Bytes(_)));
                let factor = if texts { 2.0 + TRAVERSAL } else { 2.0 };
                let length = list.len() as u64;
                (length.saturating_mul(length) as f64 * factor) as u64 + 1 + LIST
            }
        }
    }
}

/// Number of characters, bytes, items or entries; 1 for values without a size.
fn size(value: &Val<'_>) -> u64 {
    match value {
        Val::Optional(Some(value)) => size(value),
        value => value.size().unwrap_or(1) as u64,
    }
}

/// Returns the smaller of two sizes. The longer text is not counted to its end, which would take longer than the cost
/// accounts for.
fn shorter(args: &[Result<&Val<'_>, &Error>]) -> u64 {
    let bytes = |arg: &Result<&Val<'_>, &Error>| match arg {
        Ok(Val::String(text)) => text.len() as u64,
        _ => 0,
    };
    let (Some(left), Some(right)) = (args.first(), args.get(1)) else { return 1 };
    let (first, second) = if bytes(left) <= bytes(right) { (left, right) } else { (right, left) };
    let least = first.map_or(1, size);
    if bytes(second) / 4 >= least { least } else { least.min(second.map_or(1, size)) }
}

/// Number of parts past which any budget is exceeded.
const DEEPEST_COUNTED: u64 = 2_000_000;

/// Returns the cost of traversing a value and everything in it.
fn deep(value: &Val<'_>, left: &mut u64) -> u64 {
    *left = left.saturating_sub(1);
    if *left == 0 {
        return u64::from(u32::MAX);
    }
    match value {
        Val::String(text) => (text.len() as f64 * TRAVERSAL) as u64,
        Val::Bytes(bytes) => (bytes.len() as f64 * TRAVERSAL) as u64,
        Val::List(list) => {
            list.iter().fold(0, |sum, item| sum.saturating_add(item.map_or(1, |item| deep(&item, left))))
        }
        Val::Map(map) => map.keys().iter().fold(0, |sum, key| {
            let value = map.find(key).ok().flatten().map_or(1, |value| deep(&value, left));
            sum.saturating_add(deep(key, left)).saturating_add(value)
        }),
        _ => 1,
    }
}
