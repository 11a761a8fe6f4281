use proptest::prelude::*;

use super::{Element, Set};
use pintle_meta::Value;

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<i64>().prop_map(Value::from),
        (-3i64..3).prop_map(Value::from),
        any::<f64>().prop_filter("JSON has no others", |value| value.is_finite()).prop_map(Value::from),
        (-3..3).prop_map(|value| Value::from(f64::from(value) / 2.0)),
        any::<String>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        Just(Value::NULL),
    ]
}

fn element() -> impl Strategy<Value = Element> {
    prop_oneof![
        4 => "[a-c]".prop_map(Element::field),
        1 => any::<String>().prop_map(Element::field),
        1 => prop::collection::btree_map("[a-b]", value(), 0..3)
            .prop_map(|fields| Element::key(fields.into_iter().map(|(name, value)| (name.into(), value)))),
        1 => value().prop_map(Element::value),
        1 => (-2i64..2).prop_map(Element::Index),
    ]
}

fn set() -> impl Strategy<Value = Set> {
    prop::collection::vec(prop::collection::vec(element(), 1..4), 0..8).prop_map(|paths| {
        let mut set = Set::new();
        paths.iter().for_each(|path| set.insert(path));
        set
    })
}

fn members(set: &Set) -> Vec<Vec<Element>> {
    let mut all = Vec::new();
    set.each(|path| all.push(path.to_vec()));
    all
}

proptest! {
    #[test]
    fn sets_round_trip(set in set()) {
        let text = set.to_json();
        prop_assert_eq!(&Set::from_json(&text).unwrap(), &set);
        let tree = pintle_codec::json::decode_any(&text).unwrap().value;
        prop_assert_eq!(Set::from_value(&tree).unwrap(), set);
    }

    #[test]
    fn sets_behave_as_sets_of_paths(a in set(), b in set()) {
        let union = a.clone().union(b.clone());
        let both = a.intersection(&b);
        let only = a.clone().difference(&b);
        prop_assert_eq!(union.len() + both.len(), a.len() + b.len());
        prop_assert_eq!(only.len() + both.len(), a.len());
        prop_assert_eq!(&only.clone().union(both.clone()), &a);
        prop_assert_eq!(&b.clone().union(a.clone()), &union);
        prop_assert_eq!(&both, &b.intersection(&a));
        for path in members(&union) {
            prop_assert_eq!(union.has(&path), a.has(&path) || b.has(&path));
            prop_assert_eq!(both.has(&path), a.has(&path) && b.has(&path));
            prop_assert_eq!(only.has(&path), a.has(&path) && !b.has(&path));
        }
        for path in members(&a.clone().recursive_difference(&b)) {
            prop_assert!((1..=path.len()).all(|end| !b.has(&path[..end])));
        }
        prop_assert!(a.clone().difference(&a).is_empty());
        prop_assert_eq!(&a.intersection(&a), &a);
        prop_assert!(members(&a.clone().leaves()).iter().all(|path| a.has(path)));
    }

    #[test]
    fn any_bytes_are_parsed_or_rejected(text in ".{0,60}", bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        let _ = Set::from_json(text.as_bytes());
        let _ = Set::from_json(&bytes);
    }

    #[test]
    fn elements_have_a_total_order(a in element(), b in element(), c in element()) {
        prop_assert_eq!(a.cmp(&b), b.cmp(&a).reverse());
        if a <= b && b <= c {
            prop_assert!(a <= c);
        }
    }
}
