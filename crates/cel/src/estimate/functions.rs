//! Cost estimates of the functions of Kubernetes' libraries and of cel-go's extensions.

use super::{CallEstimate, Node, Range, Sizes, known_size};
use crate::ast::{ExprKind, Literal};
use crate::cost::{self, TRAVERSAL};
use crate::functions::MOST_VALUES;
use crate::types::Type;

/// Cost of a regular expression, per character of the pattern.
const PATTERN: f64 = 0.25;
const LONGEST_NAME_PATTERN: f64 = 128.0;
const LONGEST_FORMAT: u64 = 64;

/// Returns `None` if the language's own estimate applies.
pub(super) fn estimate(
    sizes: &dyn Sizes,
    function: &str,
    overload: &str,
    target: Option<&Node<'_>>,
    args: &[Node<'_>],
) -> Option<CallEstimate> {
    let of = Of { sizes };
    extension(&of, overload, target, args).or_else(|| kubernetes(&of, function, overload, target, args))
}

/// Cost of matching a text against a pattern.
pub(super) fn matching(text: Range, pattern: Range) -> Range {
    text.add(Range::fixed(1)).times(TRAVERSAL).multiply(pattern.times(PATTERN))
}

struct Of<'s> {
    sizes: &'s dyn Sizes,
}

impl Of<'_> {
    fn size(&self, node: &Node<'_>) -> Range {
        node.size
            .or_else(|| known_size(self.sizes, node.path.as_deref().unwrap_or_default(), &node.of))
            .unwrap_or(Range::UNKNOWN)
    }

    /// Estimates an item of a list from the list's item type.
    fn item(&self, list: &Node<'_>) -> Option<Node<'static>> {
        let of = list.of.parameters().next()?.clone();
        let path = list.path.as_ref().map(|path| {
            let mut path = path.clone();
            path.push("@items".to_owned());
            path
        });
        Some(Node { path, of, expr: None, size: None })
    }
}

/// Functions of the list and set extensions.
fn extension(
    of: &Of<'_>,
    overload: &str,
    target: Option<&Node<'_>>,
    args: &[Node<'_>],
) -> Option<CallEstimate> {
    let made = |factor: f64, size: Range| {
        let cost = size.times(factor).add(Range::fixed(1)).add(Range::fixed(cost::LIST));
        Some(CallEstimate { cost, result: Some(size) })
    };
    let compared = |list: &Node<'_>, texts: bool| {
        let size = of.size(list);
        made(if texts { 2.0 + TRAVERSAL } else { 2.0 }, size.multiply(size))
    };
    match (overload, target, args) {
        ("list_slice", Some(target), [start, end]) => {
            let (start, end) = (integer(start, 0), integer(end, of.size(target).max));
            made(1.0, Range::fixed(end.wrapping_sub(start)))
        }
        ("list_flatten", Some(target), []) => made(1.0, of.size(target)),
        ("list_flatten_int", Some(target), [depth]) => made(integer(depth, u64::MAX) as f64, of.size(target)),
        ("lists_range", None, [end]) => made(1.0, Range::fixed(integer(end, u64::MAX))),
        ("list_reverse", Some(target), []) => made(1.0, of.size(target)),
        ("list_distinct", Some(target), []) => compared(target, false),
        (_, Some(target), []) if overload.starts_with("list_") && overload.ends_with("_sort") => {
            compared(target, matches!(overload, "list_string_sort" | "list_bytes_sort"))
        }
        (_, Some(_), [keys]) if overload.ends_with("_sortByAssociatedKeys") => {
            compared(keys, overload.starts_with("list_string_") || overload.starts_with("list_bytes_"))
        }
        (
            "list_sets_contains_list" | "list_sets_intersects_list" | "list_sets_equivalent_list",
            _,
            [left, right],
        ) => {
            let times = if overload == "list_sets_equivalent_list" { 2.0 } else { 1.0 };
            let cost = of.size(left).multiply(of.size(right)).times(times).add(Range::fixed(1));
            Some(CallEstimate::of(cost))
        }
        _ => None,
    }
}

/// Returns the value of an integer literal, else `otherwise`.
fn integer(node: &Node<'_>, otherwise: u64) -> u64 {
    match node.expr.map(|expr| &expr.kind) {
        Some(ExprKind::Literal(Literal::Int(value))) => u64::try_from(*value).unwrap_or(0),
        _ => otherwise,
    }
}

fn kubernetes(
    of: &Of<'_>,
    function: &str,
    overload: &str,
    target: Option<&Node<'_>>,
    args: &[Node<'_>],
) -> Option<CallEstimate> {
    let fixed = |cost: u64| Some(CallEstimate::of(Range::fixed(cost)));
    match (function, target, args) {
        ("check", ..) => fixed(cost::AUTHORIZER_CHECK),
        ("includes", Some(_), _) => Some(CallEstimate::of(Range { min: 0, max: MOST_VALUES as u64 })),
        (
            "serviceAccount"
            | "path"
            | "group"
            | "resource"
            | "subresource"
            | "namespace"
            | "name"
            | "allowed"
            | "reason"
            | "error"
            | "errored"
            | "masked"
            | "prefixLength"
            | "family"
            | "isUnspecified"
            | "isLoopback"
            | "isLinkLocalMulticast"
            | "isLinkLocalUnicast"
            | "isGlobalUnicast"
            | "format.named"
            | "sign"
            | "asInteger"
            | "isInteger"
            | "asApproximateFloat"
            | "isGreaterThan"
            | "isLessThan"
            | "compareTo"
            | "add"
            | "sub"
            | "major"
            | "minor"
            | "patch"
            | "getScheme"
            | "getHostname"
            | "getHost"
            | "getPort"
            | "getEscapedPath"
            | "getQuery",
            ..,
        ) => fixed(1),
        ("fieldSelector" | "labelSelector", _, [selector]) => {
            let length = of.size(selector);
            let requirements = length.times(0.5).times((cost::LIST + cost::OBJECT) as f64);
            Some(CallEstimate::of(Range::fixed(cost::LIST).add(length.times(TRAVERSAL)).add(requirements)))
        }
        ("isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf", Some(target), _) => {
            let Some(item) = of.item(target) else {
                return Some(CallEstimate::of(of.size(target).times(TRAVERSAL)));
            };
            let mut each = Range::fixed(1);
            if matches!(item.of, Type::String | Type::Bytes) {
                each = each.add(of.size(&item).times(TRAVERSAL));
            }
            Some(CallEstimate::of(of.size(target).multiply(each)))
        }
        ("url" | "jsonpatch.escapeKey", _, [text]) => {
            let size = of.size(text);
            Some(CallEstimate { cost: size.times(TRAVERSAL), result: Some(size) })
        }
        ("lowerAscii" | "upperAscii" | "substring" | "trim", Some(target), _) => {
            let size = of.size(target);
            Some(CallEstimate { cost: size.times(TRAVERSAL), result: Some(size) })
        }
        ("replace", Some(target), [old, new, ..]) => {
            let size = of.size(target);
            let result = replaced(size, of.size(old), of.size(new));
            Some(CallEstimate { cost: size.times(2.0 * TRAVERSAL), result: Some(result) })
        }
        ("split", Some(target), _) => {
            let size = of.size(target);
            let max = args.get(1).map_or(size.max, |count| match count.expr.map(|expr| &expr.kind) {
                Some(ExprKind::Literal(Literal::Int(count))) => *count as u64,
                _ => size.max,
            });
            Some(CallEstimate { cost: size.times(2.0 * TRAVERSAL), result: Some(Range { min: 0, max }) })
        }
        ("join", Some(target), _) => {
            let list = of.size(target);
            let mut size = Range::fixed(0);
            if let Some(item) = of.item(target) {
                size = list.multiply(of.size(&item));
            }
            if let Some(separator) = args.first() {
                let between = Range { min: list.min.saturating_sub(1), max: list.max.saturating_sub(1) };
                size = size.add(of.size(separator).multiply(between));
            }
            Some(CallEstimate { cost: size.times(TRAVERSAL), result: Some(size) })
        }
        ("find" | "findAll", Some(target), [pattern, ..]) => {
            let size = of.size(target);
            let cost = matching(size, of.size(pattern));
            Some(CallEstimate { cost, result: Some(Range { min: 0, max: size.max }) })
        }
        ("ip", ..) if overload == "cidr_ip" => fixed(1),
        (
            "cidr" | "isIP" | "isCIDR" | "ip" | "quantity" | "isQuantity" | "semver" | "isSemver",
            _,
            [text, ..],
        ) => Some(CallEstimate::of(of.size(text).times(TRAVERSAL))),
        ("ip.isCanonical", _, [text, ..]) => Some(CallEstimate::of(of.size(text).times(2.0 * TRAVERSAL))),
        ("containsIP" | "containsCIDR", _, [other, ..]) => {
            let address = Range { min: 4, max: 16 };
            let mut cost = address.add(address).times(TRAVERSAL);
            if function == "containsCIDR" {
                cost = cost.add(address.times(TRAVERSAL)).add(Range::fixed(1));
            }
            if matches!(overload, "cidr_contains_ip_string" | "cidr_contains_cidr_string") {
                cost = cost.add(of.size(other).times(TRAVERSAL));
            }
            Some(CallEstimate::of(cost))
        }
        ("validate", _, [text, ..]) => {
            let cost = of.size(text).times(TRAVERSAL).times(LONGEST_NAME_PATTERN * PATTERN);
            Some(CallEstimate::of(cost))
        }
        ("_==_", _, [left, right]) => equality(left, right),
        _ => None,
    }
}

/// Equality of values of Kubernetes' own types.
fn equality(left: &Node<'_>, right: &Node<'_>) -> Option<CallEstimate> {
    if left.of != right.of {
        return None;
    }
    let cost = match &left.of {
        Type::Opaque(_) => Range::fixed(1),
        Type::Named("kubernetes.NamedFormat") => Range { min: 1, max: LONGEST_FORMAT }.times(TRAVERSAL),
        Type::Named("kubernetes.URL") => {
            Range { min: 1, max: right.size.map_or(1, |size| size.max) }.times(TRAVERSAL)
        }
        Type::Named(_) => Range::fixed(1),
        _ => return None,
    };
    Some(CallEstimate::of(cost))
}

/// Length of a text after replacements: at most as many as fit of the shortest old text by the longest new one, and
/// the reverse.
fn replaced(size: Range, old: Range, new: Range) -> Range {
    let divided = |a: u64, b: u64| (a as f64 / b as f64).ceil() as u64;
    let (count_max, kept_max) = if old.min == 0 {
        (size.max.saturating_add(1), size.max)
    } else if new.max <= old.min {
        (0, size.max)
    } else {
        (divided(size.max, old.min), 0)
    };
    let (count_min, kept_min) = if old.max == 0 {
        (size.min.saturating_add(1), size.min)
    } else if old.max <= new.min {
        (0, size.min)
    } else {
        (divided(size.min, old.max), 0)
    };
    Range { min: count_min, max: count_max }.multiply(new).add(Range { min: kept_min, max: kept_max })
}
