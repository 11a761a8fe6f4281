//! What disruption budgets say about the eviction of a pod.

use pintle_meta::selector::LabelSelector;
use pintle_meta::value::Key;
use pintle_meta::{Cause, CauseType, Object, Status, Value};

use crate::framework::conversion::build;
use crate::framework::strategy::tree;

/// Evictions that a budget's controller has not noticed yet; with more of them there are no others.
const MOST_DISRUPTED: usize = 2000;

const REFUSED: &str = "Cannot evict pod as it would violate the pod's disruption budget.";

/// Whether a pod is gone already, or was never there, as far as budgets care.
pub(crate) fn ignores_budgets(pod: &Value) -> bool {
    is_over(pod) || pod.text_at(&["status", "phase"]) == "Pending"
}

/// Whether nothing that may still happen to a pod makes a budget care for it.
pub(crate) fn is_over(pod: &Value) -> bool {
    matches!(pod.text_at(&["status", "phase"]), "Succeeded" | "Failed") || pod.deletion_timestamp().is_some()
}

pub(crate) fn is_ready(pod: &Value) -> bool {
    condition(pod, "Ready").is_some_and(|condition| condition.text_at(&["status"]) == "True")
}

/// Whether a budget is about a pod of its namespace. One whose selector cannot be read is about none.
pub(crate) fn guards(budget: &Value, pod: &Value) -> bool {
    let selector =
        budget.at(&["spec", "selector"]).and_then(|selector| selector.view::<LabelSelector>().ok());
    let selector = selector.and_then(|selector| selector.selector().ok());
    selector.is_some_and(|selector| selector.matches(|key| pod.label(key)))
}

/// Whether a pod that is not ready may go without being counted: always, or while enough others are healthy.
pub(crate) fn lets_unhealthy_go(budget: &Value) -> bool {
    let desired = count(budget, "desiredHealthy");
    budget.text_at(&["spec", "unhealthyPodEvictionPolicy"]) == "AlwaysAllow"
        || (desired > 0 && count(budget, "currentHealthy") >= desired)
}

/// Counts one more disruption in a budget's status, if it allows one.
pub(crate) fn disrupt(budget: &mut Value, pod: &str, now: &Value) -> Result<(), Box<Status>> {
    check(budget)?;
    let allowed = count(budget, "disruptionsAllowed") - 1;
    tree::set(budget, &["status", "disruptionsAllowed"], allowed);
    if allowed == 0 {
        allow_none(budget, now);
    }
    let known = budget.at(&["status", "disruptedPods"]).and_then(Value::as_object);
    let mut pods = known.cloned().unwrap_or_else(Object::new);
    pods.insert(Key::from(pod), now.clone());
    tree::set(budget, &["status", "disruptedPods"], Value::object(pods));
    Ok(())
}

/// Whether a budget allows one more disruption.
pub(crate) fn check(budget: &Value) -> Result<(), Box<Status>> {
    let name = budget.name();
    let forbidden = |why| Err(Box::new(Status::forbidden("policy", "poddisruptionbudget", name, why)));
    if count(budget, "observedGeneration") < budget.generation() {
        return Err(in_flux(name));
    }
    let allowed = count(budget, "disruptionsAllowed");
    if allowed < 0 {
        return forbidden("pdb disruptions allowed is negative");
    }
    let pods = budget.at(&["status", "disruptedPods"]).and_then(Value::as_object).map_or(0, Object::len);
    if pods > MOST_DISRUPTED {
        return forbidden("DisruptedPods map too big - too many evictions not confirmed by PDB controller");
    }
    if allowed == 0 {
        return Err(refused(0, why_not(budget)));
    }
    Ok(())
}

/// The answer while nobody knows what a budget allows.
pub(crate) fn in_flux(budget: &str) -> Box<Status> {
    refused(10, format!("The disruption budget {budget} is still being processed by the server."))
}

fn refused(retry_after_seconds: u32, why: String) -> Box<Status> {
    let mut status = Status::too_many_requests(REFUSED, retry_after_seconds);
    let cause = Cause { kind: Some(CauseType::DisruptionBudget), message: why, field: String::new() };
    status.details.get_or_insert_default().causes.push(cause);
    Box::new(status)
}

fn why_not(budget: &Value) -> String {
    let name = budget.name();
    let (desired, healthy) = (count(budget, "desiredHealthy"), count(budget, "currentHealthy"));
    let told = condition(budget, "DisruptionAllowed")
        .filter(|condition| condition.text_at(&["status"]) == "False")
        .map(|condition| (condition.text_at(&["reason"]), condition.text_at(&["message"])))
        .filter(|(_, message)| !message.is_empty());
    match told {
        // Comes first, because the numbers are not to be trusted then.
        Some(("SyncFailed", message)) => format!(
            "The disruption budget {name} does not allow evicting pods currently because it failed sync: {message}"
        ),
        _ if healthy <= desired => {
            format!("The disruption budget {name} needs {desired} healthy pods and has {healthy} currently")
        }
        Some((reason, message)) => {
            format!(
                "The disruption budget {name} does not allow evicting pods currently ({reason}): {message}"
            )
        }
        None => format!("The disruption budget {name} does not allow evicting pods currently"),
    }
}

/// Notes that no more disruptions are allowed.
fn allow_none(budget: &mut Value, now: &Value) {
    const KIND: &str = "DisruptionAllowed";
    let conditions = budget.items_at(&["status", "conditions"]);
    let known = conditions.iter().position(|condition| condition.text_at(&["type"]) == KIND);
    let before = known.map(|place| &conditions[place]);
    let since = before.filter(|before| before.text_at(&["status"]) == "False");
    let since = since.and_then(|before| before.get("lastTransitionTime")).unwrap_or(now);
    let condition = build(
        "meta/v1.Condition",
        [
            ("type", Some(KIND.into())),
            ("status", Some("False".into())),
            ("observedGeneration", budget.at(&["status", "observedGeneration"]).cloned()),
            ("lastTransitionTime", Some(since.clone())),
            ("reason", Some("InsufficientPods".into())),
        ],
    );
    let mut conditions = conditions.to_vec();
    match known {
        Some(place) => conditions[place] = condition,
        None => conditions.push(condition),
    }
    tree::set(budget, &["status", "conditions"], conditions);
}

fn condition<'v>(object: &'v Value, kind: &str) -> Option<&'v Value> {
    let conditions = object.items_at(&["status", "conditions"]);
    conditions.iter().find(|condition| condition.text_at(&["type"]) == kind)
}

fn count(budget: &Value, field: &str) -> i64 {
    budget.at(&["status", field]).and_then(Value::as_i64).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use pintle_codec::json;

    use super::*;

    fn budget(spec: &str, status: &str) -> Value {
        let text = format!(r#"{{"metadata":{{"name":"b","generation":2}},"spec":{spec},"status":{status}}}"#);
        let of = pintle_schema::find("policy/v1.PodDisruptionBudget").unwrap();
        json::decode(of, text.as_bytes()).unwrap().value
    }

    #[test]
    fn a_refusal_says_what_is_known_about_it() {
        for (status, expect) in [
            (
                r#"{"currentHealthy":1,"desiredHealthy":2}"#,
                "The disruption budget b needs 2 healthy pods and has 1 currently",
            ),
            (
                r#"{"conditions":[{"type":"DisruptionAllowed","status":"False","reason":"SyncFailed","message":"why"}]}"#,
                "The disruption budget b does not allow evicting pods currently because it failed sync: why",
            ),
            (
                r#"{"currentHealthy":3,"desiredHealthy":2,
                    "conditions":[{"type":"DisruptionAllowed","status":"False","reason":"Other","message":"why"}]}"#,
                "The disruption budget b does not allow evicting pods currently (Other): why",
            ),
            (
                r#"{"currentHealthy":3,"desiredHealthy":2,
                    "conditions":[{"type":"DisruptionAllowed","status":"True","reason":"Other","message":"why"}]}"#,
                "The disruption budget b does not allow evicting pods currently",
            ),
        ] {
            let status = status.replacen('{', r#"{"observedGeneration":2,"#, 1);
            let refused = check(&budget("{}", &status)).unwrap_err();
            assert_eq!(refused.cause(CauseType::DisruptionBudget).unwrap().message, expect);
        }
    }

    #[test]
    fn a_budget_that_makes_no_sense_forbids() {
        let refused =
            check(&budget("{}", r#"{"observedGeneration":2,"disruptionsAllowed":-1}"#)).unwrap_err();
        assert_eq!(
            refused.message,
            "poddisruptionbudget.policy \"b\" is forbidden: pdb disruptions allowed is negative"
        );
        let pods: Vec<String> =
            (0..=MOST_DISRUPTED).map(|n| format!(r#""p{n}":"2026-01-01T00:00:00Z""#)).collect();
        let status = format!(
            r#"{{"observedGeneration":2,"disruptionsAllowed":1,"disruptedPods":{{{}}}}}"#,
            pods.join(",")
        );
        assert_eq!(check(&budget("{}", &status)).unwrap_err().code, 403);
    }

    #[test]
    fn only_the_last_allowed_disruption_changes_the_condition() {
        let status = r#"{"observedGeneration":2,"disruptionsAllowed":2,"conditions":[{"type":"DisruptionAllowed",
            "status":"True","lastTransitionTime":"2026-01-01T00:00:00Z","reason":"SufficientPods","message":""}]}"#;
        let mut budget = budget("{}", status);
        let before = condition(&budget, "DisruptionAllowed").cloned();
        let now = Value::from("2026-02-02T00:00:00Z");
        disrupt(&mut budget, "p", &now).unwrap();
        assert_eq!(condition(&budget, "DisruptionAllowed").cloned(), before);
        disrupt(&mut budget, "q", &now).unwrap();
        let after = condition(&budget, "DisruptionAllowed").unwrap();
        assert_eq!(after.get("lastTransitionTime"), Some(&now));
        assert_eq!((after.text_at(&["status"]), after.text_at(&["reason"])), ("False", "InsufficientPods"));
        assert_eq!(budget.at(&["status", "disruptedPods"]).unwrap().as_object().unwrap().len(), 2);
        assert!(disrupt(&mut budget, "r", &now).is_err());
    }

    #[test]
    fn selectors_that_are_empty_select_all_and_missing_ones_nothing() {
        let of = pintle_schema::find("core/v1.Pod").unwrap();
        let pod = json::decode(of, br#"{"metadata":{"labels":{"a":"b"}}}"#).unwrap().value;
        for (spec, expect) in [
            (r#"{"selector":{}}"#, true),
            ("{}", false),
            (r#"{"selector":{"matchLabels":{"a":"b"}}}"#, true),
            (r#"{"selector":{"matchLabels":{"a":"c"}}}"#, false),
            (r#"{"selector":{"matchExpressions":[{"key":"a","operator":"Odd"}]}}"#, false),
        ] {
            assert_eq!(guards(&budget(spec, "{}"), &pod), expect, "{spec}");
        }
    }
}
