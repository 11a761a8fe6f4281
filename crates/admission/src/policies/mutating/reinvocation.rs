//! The record of policies from the first run of mutating plugins to the second.

use std::collections::HashSet;

use pintle_meta::Value;

/// A policy with a binding and a parameter of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct InvocationKey {
    pub(crate) policy: String,
    pub(crate) binding: String,
    /// Namespace and name of the parameter.
    pub(crate) param: Option<(String, String)>,
}

/// The record of one attempt.
#[derive(Debug, Default)]
pub(crate) struct Record {
    /// The object as the last run of policies left it.
    last_output: Option<Value>,
    /// Invocations with `reinvocationPolicy: IfNeeded` after which the object has not changed yet.
    invoked: HashSet<InvocationKey>,
    /// The invocations after which the object changed: they are reinvoked.
    reinvoked: HashSet<InvocationKey>,
}

impl Record {
    pub(crate) fn is_reinvoked(&self, key: &InvocationKey) -> bool {
        self.reinvoked.contains(key)
    }

    /// Returns whether other plugins have changed the object since policies last saw it.
    pub(crate) fn has_changed(&self, object: Option<&Value>) -> bool {
        self.last_output.as_ref() != object
    }

    pub(crate) fn set_output(&mut self, object: Option<Value>) {
        self.last_output = object;
    }

    pub(crate) fn add_invoked(&mut self, key: InvocationKey) {
        self.invoked.insert(key);
    }

    /// Called when the object has changed.
    pub(crate) fn reinvoke(&mut self) {
        self.reinvoked.extend(self.invoked.drain());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(policy: &str, param: Option<&str>) -> InvocationKey {
        let param = param.map(|name| ("n".to_owned(), name.to_owned()));
        InvocationKey { policy: policy.into(), binding: "b".into(), param }
    }

    #[test]
    fn a_change_reinvokes_what_was_invoked_before_it() {
        let mut record = Record::default();
        record.reinvoke();
        record.add_invoked(key("a", None));
        assert!(!record.is_reinvoked(&key("a", None)), "nothing has changed since");
        record.reinvoke();
        record.add_invoked(key("b", Some("p")));
        assert!(record.is_reinvoked(&key("a", None)));
        assert!(!record.is_reinvoked(&key("b", Some("p"))));
        record.reinvoke();
        assert!(record.is_reinvoked(&key("b", Some("p"))));
        assert!(!record.is_reinvoked(&key("b", Some("q"))), "with another parameter");
        assert!(record.is_reinvoked(&key("a", None)), "still");
    }

    #[test]
    fn changes_of_other_plugins_are_seen_in_the_output() {
        let mut record = Record::default();
        assert!(!record.has_changed(None));
        record.set_output(Some(Value::from("a")));
        assert!(!record.has_changed(Some(&Value::from("a"))));
        assert!(record.has_changed(Some(&Value::from("b"))));
        assert!(record.has_changed(None));
    }
}
