use pintle_meta::Object;
use pintle_registry::testing::object;

use super::*;
use crate::policies::validating::ValidatingPolicy;

type Policies = Stored<ValidatingPolicy>;

fn policy(expression: &str) -> Value {
    let validation = Value::from(Object::from_iter([("expression", expression)]));
    let spec = Object::from_iter([("validations", Value::list(vec![validation]))]);
    Object::from_iter([("spec", spec)]).into()
}

#[test]
fn replaced_policies_outlive_the_lock() {
    let mut stored = Policies::default();
    stored.set(POLICIES, "p", Some(&policy("true")));
    let first = Arc::downgrade(&stored.policies["p"]);
    stored.set(POLICIES, "p", Some(&policy("false")));
    let second = Arc::downgrade(&stored.policies["p"]);
    stored.set(POLICIES, "p", None);
    assert_eq!((first.strong_count(), second.strong_count()), (1, 1));
    drop(stored.replaced());
    assert_eq!((first.strong_count(), second.strong_count()), (0, 0));
    assert!(stored.replaced().is_none(), "nothing has changed since");
}

#[test]
fn policies_that_are_the_same_after_a_reload_stay_compiled() {
    let mut stored = Policies::default();
    for (name, expression) in [("same", "true"), ("changed", "true"), ("gone", "true")] {
        stored.set(POLICIES, name, Some(&policy(expression)));
    }
    let before = stored.policies.clone();
    stored.clear(POLICIES);
    stored.set(POLICIES, "same", Some(&policy("true")));
    stored.set(POLICIES, "changed", Some(&policy("false")));
    stored.reloaded(POLICIES);
    let is_same = |name: &str| Arc::ptr_eq(&before[name], &stored.policies[name]);
    assert_eq!((is_same("same"), is_same("changed"), stored.policies.len()), (true, false, 2));
    let kept: Vec<usize> = before.values().map(Arc::strong_count).collect();
    drop(stored.replaced());
    let left: Vec<usize> = before.values().map(Arc::strong_count).collect();
    assert_eq!((kept, left), (vec![2, 2, 2], vec![1, 1, 2]), "changed, gone, same");
}

#[test]
fn the_size_of_a_policy_counts_all_of_its_expressions() {
    let all = object(
        r#"{"spec":{
            "variables":[{"name":"a","expression":"12"}],
            "matchConditions":[{"name":"a","expression":"123"}],
            "validations":[{"expression":"1234","messageExpression":"12345"}],
            "auditAnnotations":[{"key":"a","valueExpression":"123456"}],
            "mutations":[{"applyConfiguration":{"expression":"1234567"}},{"jsonPatch":{"expression":"12345678"}}]}}"#,
    );
    assert_eq!(Policy::<ValidatingPolicy>::read(&all).text_size(), 2 + 3 + 4 + 5 + 6 + 7 + 8);
}
