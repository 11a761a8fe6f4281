//! The condition `Available` of APIServices.

use pintle_meta::{Object, Value};

const AVAILABLE: &str = "Available";

/// A state that an APIService can be in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Availability {
    /// `True`, `False` or `Unknown`.
    pub(crate) status: &'static str,
    pub(crate) reason: &'static str,
    pub(crate) message: String,
}

impl Availability {
    /// An APIService of this server.
    pub(crate) fn local() -> Availability {
        Availability {
            status: "True",
            reason: "Local",
            message: "Local APIServices are always available".into(),
        }
    }

    pub(crate) fn passed() -> Availability {
        Availability { status: "True", reason: "Passed", message: "all checks passed".into() }
    }

    pub(crate) fn failed(reason: &'static str, message: String) -> Availability {
        Availability { status: "False", reason, message }
    }

    pub(crate) fn unknown(reason: &'static str, message: String) -> Availability {
        Availability { status: "Unknown", reason, message }
    }

    pub(crate) fn is_available(&self) -> bool {
        self.status == "True"
    }

    /// Returns an APIService in this state; `None` if it is in it already. The time of the last transition stays unless the status
    /// changes.
    pub(crate) fn set(&self, service: &Value, now: &str) -> Option<Value> {
        let known = find(service);
        let said = known.map(|known| ["status", "reason", "message"].map(|field| known.text_at(&[field])));
        if said == Some([self.status, self.reason, &self.message]) {
            return None;
        }
        let since = known
            .filter(|known| known.text_at(&["status"]) == self.status)
            .map(|known| known.text_at(&["lastTransitionTime"]))
            .filter(|since| !since.is_empty());
        let fields = [
            ("type", AVAILABLE),
            ("status", self.status),
            ("lastTransitionTime", since.unwrap_or(now)),
            ("reason", self.reason),
            ("message", &self.message),
        ];
        let condition: Object = fields.into_iter().map(|(field, text)| (field, Value::from(text))).collect();
        let mut conditions = service.items_at(&["status", "conditions"]).to_vec();
        match conditions.iter_mut().find(|known| is_availability(known)) {
            Some(known) => *known = condition.into(),
            None => conditions.push(condition.into()),
        }
        let mut changed = service.clone();
        let status: Object = [("conditions", Value::list(conditions))].into_iter().collect();
        changed.as_object_mut()?.insert("status", status);
        Some(changed)
    }
}

/// Returns whether an APIService is available.
pub(crate) fn is_available(service: &Value) -> bool {
    find(service).is_some_and(|condition| condition.text_at(&["status"]) == "True")
}

/// Returns whether another server answers for an APIService.
pub(crate) fn is_remote(service: &Value) -> bool {
    service.at(&["spec", "service"]).is_some_and(|service| !service.is_null())
}

fn find(service: &Value) -> Option<&Value> {
    service.items_at(&["status", "conditions"]).iter().find(|condition| is_availability(condition))
}

fn is_availability(condition: &Value) -> bool {
    condition.text_at(&["type"]) == AVAILABLE
}

#[cfg(test)]
mod tests {
    use pintle_registry::testing::object;

    use super::*;

    #[test]
    fn the_transition_time_changes_with_the_status_alone() {
        let fresh = object(r#"{"spec":{"service":{"name":"s"}}}"#);
        assert!(is_remote(&fresh) && !is_available(&fresh));
        let refused = Availability::failed("MissingEndpoints", "none".into());
        let first = refused.set(&fresh, "1").unwrap();
        assert_eq!(refused.set(&first, "2"), None);
        let time = |service: &Value| find(service).unwrap().text_at(&["lastTransitionTime"]).to_owned();
        let second = Availability::failed("ServiceNotFound", "gone".into()).set(&first, "2").unwrap();
        assert_eq!((time(&second), is_available(&second)), ("1".into(), false));
        let third = Availability::passed().set(&second, "3").unwrap();
        assert_eq!((time(&third), is_available(&third)), ("3".into(), true));
        assert_eq!(third.items_at(&["status", "conditions"]).len(), 1);
    }
}
