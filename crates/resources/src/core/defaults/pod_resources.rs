//! Resources of a pod as a whole: what was not said follows from its containers.

use std::collections::BTreeMap;

use pintle_meta::Value;
use pintle_meta::quantity::Quantity;
use pintle_meta::value::Object;

use crate::framework::defaults::Place;

/// Limits for huge pages first, because requests may come from them.
pub(super) fn default(spec: &mut Place<'_>) {
    let is_set = |name| spec.get("resources").and_then(|resources| resources.get(name)).is_some();
    if is_set("limits") || is_set("requests") {
        huge_page_limits(spec);
        requests(spec);
    }
}

/// A pod may use as many huge pages as its containers together, unless it says how many it may or needs.
fn huge_page_limits(spec: &mut Place<'_>) {
    let says = |name: &str| is_given(spec, "limits", name) || is_given(spec, "requests", name);
    let limits = of_containers(spec, "limits", |name| is_huge_page(name) && !says(name));
    complete(spec, "limits", limits);
}

/// Where a pod has limits, it needs what its containers need together, and of other resources as much as it may use.
fn requests(spec: &mut Place<'_>) {
    let Some(limits) = spec.get("resources").and_then(|resources| resources.get("limits")).cloned() else {
        return;
    };
    let says = |name: &str| is_given(spec, "requests", name);
    let requests =
        of_containers(spec, "requests", |name| is_of_pods(name) && may_be_overcommitted(name) && !says(name));
    complete(spec, "requests", requests);
    spec.within("resources", |resources| resources.complete("requests", &limits, is_of_pods));
}

/// Whether a pod says how much of something it needs or may use.
fn is_given(spec: &Place<'_>, what: &str, name: &str) -> bool {
    spec.get("resources").and_then(|resources| resources.at(&[what, name])).is_some()
}

fn complete(spec: &mut Place<'_>, what: &str, amounts: Amounts) {
    if !amounts.is_empty() {
        let amounts = amounts.into_iter().map(|(name, amount)| (name, amount.to_string()));
        let amounts = Value::object(amounts.collect());
        spec.within("resources", |resources| resources.complete(what, &amounts, |_| true));
    }
}

fn is_huge_page(name: &str) -> bool {
    name.starts_with("hugepages-")
}

/// Resources that can be given to a pod as a whole.
fn is_of_pods(name: &str) -> bool {
    matches!(name, "cpu" | "memory") || is_huge_page(name)
}

/// Of the resources of pods, all but huge pages can be promised more often than they are there.
fn may_be_overcommitted(name: &str) -> bool {
    !is_huge_page(name)
}

type Amounts = BTreeMap<String, Quantity>;

/// What all containers need or may use at a time. Init containers run one after the other before the rest, beside those
/// before them that keep running.
///
/// ```text
/// init a 3          3
/// init b 1, stays   1
/// init c 4          1 + 4
/// containers 2, 1   1 + 2 + 1      most at a time: 5
/// ```
fn of_containers(spec: &Place<'_>, what: &str, wanted: impl Fn(&str) -> bool) -> Amounts {
    let amounts = |container: &Value| -> Amounts {
        let map = container.at(&["resources", what]).and_then(Value::as_object);
        let parse = |amount: &Value| Quantity::parse(amount.as_str()?).ok();
        map.into_iter()
            .flat_map(Object::iter)
            .filter(|(name, _)| wanted(name))
            .filter_map(|(name, amount)| Some((name.to_owned(), parse(amount)?)))
            .collect()
    };
    let mut total = Amounts::new();
    for container in spec.items("containers") {
        add(&mut total, &amounts(container));
    }
    let mut staying = Amounts::new();
    let mut starting = Amounts::new();
    for container in spec.items("initContainers") {
        // Of resources that it does not name as much stays as before, which was counted when it came.
        let mut own = amounts(container);
        if container.text_at(&["restartPolicy"]) == "Always" {
            add(&mut total, &own);
            add(&mut staying, &own);
            own.iter_mut().for_each(|(name, amount)| amount.clone_from(&staying[name]));
        } else {
            for (name, amount) in &mut own {
                staying.get(name).into_iter().for_each(|staying| amount.add(staying));
            }
        }
        raise(&mut starting, own);
    }
    raise(&mut total, starting);
    total
}

fn add(to: &mut Amounts, amounts: &Amounts) {
    for (name, amount) in amounts {
        match to.get_mut(name) {
            Some(known) => known.add(amount),
            None => drop(to.insert(name.clone(), amount.clone())),
        }
    }
}

fn raise(to: &mut Amounts, amounts: Amounts) {
    for (name, amount) in amounts {
        match to.get_mut(&name) {
            Some(known) if *known < amount => *known = amount,
            Some(_) => {}
            None => drop(to.insert(name, amount)),
        }
    }
}
