//! Semantic equality of parts of a pod: quantities are equal if their numbers are.

use pintle_meta::quantity::Quantity;
use pintle_meta::{Node, Object, Value};

/// Maps of quantities in a pod's spec.
const MAPS: [&str; 3] = ["limits", "requests", "overhead"];
/// Fields of a pod's spec that are quantities.
const FIELDS: [&str; 2] = ["divisor", "sizeLimit"];

/// Whether two parts of pods are the same but for the spelling of quantities.
pub(crate) fn is_same(new: Option<&Value>, old: Option<&Value>) -> bool {
    compare(new, old, "", false)
}

fn compare(new: Option<&Value>, old: Option<&Value>, name: &str, in_amounts: bool) -> bool {
    let (Some(new), Some(old)) = (new, old) else { return new.is_none() && old.is_none() };
    if new.is_same(old) || new == old {
        return true;
    }
    match (new.node(), old.node()) {
        (Node::Object(new), Node::Object(old)) => objects(new, old, MAPS.contains(&name)),
        (Node::List(new), Node::List(old)) => {
            let mut pairs = new.iter().zip(old);
            new.len() == old.len() && pairs.all(|(new, old)| compare(Some(new), Some(old), "", false))
        }
        (Node::String(new), Node::String(old)) if in_amounts || FIELDS.contains(&name) => {
            matches!((Quantity::parse(new), Quantity::parse(old)), (Ok(new), Ok(old)) if new == old)
        }
        _ => false,
    }
}

fn objects(new: &Object, old: &Object, are_amounts: bool) -> bool {
    new.len() == old.len()
        && new.iter().all(|(name, value)| compare(Some(value), old.get(name), name, are_amounts))
}

#[cfg(test)]
mod tests {
    use pintle_codec::json;

    use super::*;

    fn check(new: &str, old: &str, expect: bool) {
        let read = |text: &str| {
            json::decode(pintle_schema::find("core/v1.PodSpec").unwrap(), text.as_bytes()).unwrap().value
        };
        assert_eq!(is_same(Some(&read(new)), Some(&read(old))), expect, "{new} and {old}");
    }

    #[test]
    fn quantities_are_numbers() {
        let with = |amount: &str| {
            format!(
                r#"{{"containers":[{{"name":"{amount}","resources":{{"limits":{{"memory":"{amount}"}}}}}}]}}"#
            )
            .replacen(amount, "c", 1)
        };
        check(&with("1Gi"), &with("1073741824"), true);
        check(&with("1Gi"), &with("1G"), false);
        check(r#"{"overhead":{"cpu":"1"}}"#, r#"{"overhead":{"cpu":"1000m"}}"#, true);
        check(r#"{"overhead":{"cpu":"1"}}"#, r#"{"overhead":{"cpu":"1","memory":"1"}}"#, false);
        let directory =
            |size: &str| format!(r#"{{"volumes":[{{"name":"v","emptyDir":{{"sizeLimit":"{size}"}}}}]}}"#);
        check(&directory("1Ki"), &directory("1024"), true);
    }

    #[test]
    fn all_else_is_what_it_is() {
        check(r#"{"nodeName":"1"}"#, r#"{"nodeName":"1000m"}"#, false);
        check(r#"{"nodeSelector":{"a":"1"}}"#, r#"{"nodeSelector":{"a":"1000m"}}"#, false);
        check(r#"{"nodeName":"1"}"#, "{}", false);
        check(r#"{"tolerations":[{"key":"a"}]}"#, r#"{"tolerations":[{"key":"b"}]}"#, false);
        assert!(is_same(None, None));
        assert!(!is_same(Some(&Value::NULL), None));
    }
}
