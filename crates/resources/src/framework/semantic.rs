//! Semantic equality: two values of a type are the same if they differ only in the spelling of quantities.
//!
//! The reference compares specs so where it counts generations and where it refuses changes: `1Gi` and `1073741824` are no change.
//! Empty and absent lists and maps are the same too. Where Go omits empty ones the normal form has neither; elsewhere it has either.

use pintle_meta::quantity::Quantity;
use pintle_meta::{Node, Value};
use pintle_schema::{Opaque, Shape, Type};

/// Whether two values of a type are semantically equal. The type graph says where quantities are; it is consulted only where the
/// values differ.
pub(crate) fn is_same(of: Shape, new: Option<&Value>, old: Option<&Value>) -> bool {
    let (new, old) = match of.underlying() {
        Shape::List(_) | Shape::Map(..) => (new.filter(has_items), old.filter(has_items)),
        _ => (new, old),
    };
    let (Some(new), Some(old)) = (new, old) else { return new.is_none() && old.is_none() };
    if new.is_same(old) || new == old {
        return true;
    }
    let of = of.underlying();
    if of.opaque() == Some(Opaque::Quantity) {
        let amount = |value: &Value| value.as_str().and_then(|text| Quantity::parse(text).ok());
        return matches!((amount(new), amount(old)), (Some(new), Some(old)) if new == old);
    }
    match (of, new.node(), old.node()) {
        (Shape::Pointer(of), _, _) => is_same(*of, Some(new), Some(old)),
        (Shape::List(of), Node::List(new), Node::List(old)) => {
            let mut pairs = new.iter().zip(old);
            new.len() == old.len() && pairs.all(|(new, old)| is_same(*of, Some(new), Some(old)))
        }
        (Shape::Map(_, of), Node::Object(new), Node::Object(old)) => {
            new.len() == old.len() && new.iter().all(|(key, value)| is_same(*of, Some(value), old.get(key)))
        }
        (_, Node::Object(new), Node::Object(old)) => {
            let Some(structure) = of.structure() else { return false };
            let is_known = |name: &str| structure.field(name).is_some();
            new.keys().chain(old.keys()).all(is_known)
                && structure
                    .flat
                    .iter()
                    .all(|field| is_same(field.shape, new.get(field.name), old.get(field.name)))
        }
        _ => false,
    }
}

fn has_items(value: &&Value) -> bool {
    match value.node() {
        Node::List(items) => !items.is_empty(),
        Node::Object(entries) => !entries.is_empty(),
        node => node != Node::Null,
    }
}

/// As [`is_same`], of a type by its name: `core/v1.PodSpec`.
pub(crate) fn is_same_as(of: &str, new: Option<&Value>, old: Option<&Value>) -> bool {
    let found = pintle_schema::find(of);
    debug_assert!(found.is_some(), "there is no type {of}");
    found.is_some_and(|of| is_same(Shape::Named(of), new, old))
}

/// Whether two objects of a type are semantically equal at a path of fields.
pub(crate) fn is_same_at(of: &'static Type, new: &Value, old: &Value, path: &[&str]) -> bool {
    let shape = path.iter().try_fold(Shape::Named(of), |of, name| {
        let shape = of.underlying();
        let shape = if let Shape::Pointer(of) = shape { of.underlying() } else { shape };
        Some(shape.structure()?.field(name)?.shape)
    });
    shape.is_some_and(|shape| is_same(shape, new.at(path), old.at(path)))
}

#[cfg(test)]
mod tests {
    use pintle_codec::json;

    use super::*;

    fn check(of: &str, new: &str, old: &str, expect: bool) {
        let found = pintle_schema::find(of).unwrap();
        let read = |text: &str| json::decode(found, text.as_bytes()).unwrap().value;
        assert_eq!(is_same_as(of, Some(&read(new)), Some(&read(old))), expect, "{new} and {old}");
    }

    #[test]
    fn quantities_are_numbers() {
        let with = |name: &str, amount: &str| {
            format!(
                r#"{{"containers":[{{"name":"{name}","resources":{{"limits":{{"memory":"{amount}"}}}}}}]}}"#
            )
        };
        check("core/v1.PodSpec", &with("c", "1Gi"), &with("c", "1073741824"), true);
        check("core/v1.PodSpec", &with("c", "1Gi"), &with("c", "1G"), false);
        check("core/v1.PodSpec", &with("1Gi", "1"), &with("1073741824", "1"), false);
        let hard = |amount: &str| format!(r#"{{"hard":{{"pods":"{amount}"}}}}"#);
        check("core/v1.ResourceQuotaSpec", &hard("1"), &hard("1000m"), true);
        check("core/v1.ResourceQuotaSpec", &hard("1"), "{}", false);
    }

    #[test]
    fn empty_lists_are_absent_ones_and_empty_structs_are_not() {
        let driver = |keys: &str| r#"{"name":"d","nodeID":"n"KEYS}"#.replace("KEYS", keys);
        check("storage/v1.CSINodeDriver", &driver(r#","topologyKeys":[]"#), &driver(""), true);
        check("storage/v1.CSINodeDriver", &driver(r#","topologyKeys":["a"]"#), &driver(""), false);
        check("storage/v1.CSINodeDriver", &driver(r#","allocatable":{}"#), &driver(""), false);
    }

    #[test]
    fn a_path_leads_through_structs_and_pointers() {
        let quota = pintle_schema::find("core/v1.ResourceQuota").unwrap();
        let read = |text: &str| json::decode(quota, text.as_bytes()).unwrap().value;
        let (new, old) =
            (read(r#"{"spec":{"hard":{"cpu":"1"}}}"#), read(r#"{"spec":{"hard":{"cpu":"1000m"}}}"#));
        assert!(is_same_at(quota, &new, &old, &["spec"]) && is_same_at(quota, &new, &old, &["spec", "hard"]));
        assert!(!is_same_at(quota, &new, &old, &["nothing"]));
    }
}
