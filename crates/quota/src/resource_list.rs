//! Amounts of resources by name.

use std::collections::BTreeMap;
use std::fmt;

use pintle_meta::quantity::{Format, Quantity};
use pintle_meta::value::Key;
use pintle_meta::{Object, Value};

/// Amounts of resources by name, such as requests, limits, usage. Equality is of the numbers, however they are written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceList(BTreeMap<Key, Quantity>);

impl ResourceList {
    /// Reads a map of quantities. A value that is no quantity is left out; stored objects have none.
    pub fn read(map: Option<&Value>) -> ResourceList {
        let entries = map.and_then(Value::as_object).map(Object::entries).unwrap_or_default();
        let amount = |value: &Value| Quantity::parse(value.as_str()?).ok();
        ResourceList(
            entries.iter().filter_map(|(name, value)| Some((name.clone(), amount(value)?))).collect(),
        )
    }

    /// Returns the map as it is stored.
    pub fn to_value(&self) -> Value {
        let entries = self.0.iter().map(|(name, amount)| (name.clone(), Value::string(amount.to_string())));
        Object::from_unsorted(entries.collect()).into()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn get(&self, name: &str) -> Option<&Quantity> {
        self.0.get(name)
    }

    pub fn contains(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Returns the names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(Key::as_str)
    }

    /// Returns names and amounts, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Quantity)> {
        self.0.iter().map(|(name, amount)| (name.as_str(), amount))
    }

    pub fn set(&mut self, name: impl Into<Key>, amount: Quantity) {
        self.0.insert(name.into(), amount);
    }

    /// Sets a number of things.
    pub fn set_count(&mut self, name: impl Into<Key>, count: i64) {
        self.set(name, Quantity::new(count, Format::DecimalSi));
    }

    /// Adds an amount to that of a name.
    pub fn add_to(&mut self, name: impl Into<Key>, amount: &Quantity) {
        match self.0.entry(name.into()) {
            std::collections::btree_map::Entry::Vacant(vacant) => {
                vacant.insert(amount.clone());
            }
            std::collections::btree_map::Entry::Occupied(mut occupied) => occupied.get_mut().add(amount),
        }
    }

    /// Adds all amounts of another list.
    pub fn add(&mut self, other: &ResourceList) {
        for (name, amount) in &other.0 {
            self.add_to(name.clone(), amount);
        }
    }

    /// Raises each amount to that of another list where that is larger.
    pub fn raise_to(&mut self, other: &ResourceList) {
        for (name, amount) in &other.0 {
            if self.0.get(name).is_none_or(|own| amount > own) {
                self.0.insert(name.clone(), amount.clone());
            }
        }
    }

    /// Returns by how much each amount is above that of another list; names for which it is not are left out.
    #[must_use]
    pub fn excess_over(&self, other: &ResourceList) -> ResourceList {
        let excess = self.0.iter().map(|(name, amount)| {
            let mut amount = amount.clone();
            if let Some(other) = other.0.get(name) {
                amount.sub(other);
            }
            (name.clone(), amount)
        });
        ResourceList(excess.filter(|(_, amount)| amount.signum() > 0).collect())
    }

    /// Returns the amounts of some names.
    #[must_use]
    pub fn masked(&self, keep: impl Fn(&str) -> bool) -> ResourceList {
        let kept = self.0.iter().filter(|(name, _)| keep(name));
        ResourceList(kept.map(|(name, amount)| (name.clone(), amount.clone())).collect())
    }

    #[must_use]
    pub fn without_zeros(&self) -> ResourceList {
        self.masked(|name| self.get(name).is_some_and(|amount| !amount.is_zero()))
    }

    /// Returns the names whose amounts are below zero, sorted.
    pub fn negative(&self) -> impl Iterator<Item = &str> {
        self.iter().filter(|(_, amount)| amount.signum() < 0).map(|(name, _)| name)
    }
}

impl<K: Into<Key>> FromIterator<(K, Quantity)> for ResourceList {
    fn from_iter<I: IntoIterator<Item = (K, Quantity)>>(amounts: I) -> ResourceList {
        ResourceList(amounts.into_iter().map(|(name, amount)| (name.into(), amount)).collect())
    }
}

/// `cpu=1,pods=3`
impl fmt::Display for ResourceList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (name, amount)) in self.0.iter().enumerate() {
            let comma = if place == 0 { "" } else { "," };
            write!(f, "{comma}{name}={amount}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluator::tests::list;

    #[test]
    fn amounts_are_compared_and_printed_as_numbers() {
        assert_eq!(list("cpu=1000m,memory=1Gi"), list("memory=1024Mi,cpu=1"));
        assert_ne!(list("cpu=1"), list("cpu=1,memory=0"));
        assert_eq!(list("pods=3,cpu=1000m").to_string(), "cpu=1,pods=3");
        assert_eq!(ResourceList::default().to_string(), "");
        let stored = list("memory=1024Mi,cpu=500m").to_value();
        assert_eq!(ResourceList::read(Some(&stored)), list("cpu=500m,memory=1Gi"));
        assert_eq!(stored.text_at(&["memory"]), "1Gi");
    }

    #[test]
    fn arithmetic_goes_name_by_name() {
        let mut sum = list("cpu=100m,pods=1");
        sum.add(&list("cpu=1,memory=50M"));
        assert_eq!(sum.to_string(), "cpu=1100m,memory=50M,pods=1");
        let mut largest = list("cpu=100m,pods=7");
        largest.raise_to(&list("cpu=1,memory=50M,pods=2"));
        assert_eq!(largest.to_string(), "cpu=1,memory=50M,pods=7");
        let excess = list("cpu=1,memory=10,pods=1,a=0").excess_over(&list("cpu=600m,memory=20,pods=1,b=7"));
        assert_eq!(excess.to_string(), "cpu=400m");
        assert_eq!(list("cpu=1,memory=1").masked(|name| name == "cpu"), list("cpu=1"));
        assert_eq!(list("cpu=0,memory=0Gi,pods=-1").without_zeros(), list("pods=-1"));
        assert_eq!(list("a=-1,b=0,c=1,d=-5m").negative().collect::<Vec<_>>(), ["a", "d"]);
        // A zero has no notation of its own.
        let mut storage = list("requests.storage=0");
        storage.add(&list("requests.storage=1024Mi"));
        assert_eq!(storage.to_string(), "requests.storage=1Gi");
    }
}
