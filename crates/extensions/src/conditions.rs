//! The status of a definition: accepted names and conditions.

use pintle_codec::unstructured;
use pintle_definitions::definition::{Approval, NonStructural};
use pintle_meta::time::Time;
use pintle_meta::{Object, Value, quote};

use crate::definition::{Names, condition, is_true};

/// Holds a definition until its objects are gone.
pub(crate) const FINALIZER: &str = "customresourcecleanup.apiextensions.k8s.io";

/// A condition of a definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Condition {
    pub(crate) kind: &'static str,
    pub(crate) status: &'static str,
    pub(crate) reason: &'static str,
    pub(crate) message: String,
}

impl Condition {
    pub(crate) fn new(
        kind: &'static str,
        status: bool,
        reason: &'static str,
        message: impl Into<String>,
    ) -> Condition {
        Condition { kind, status: if status { "True" } else { "False" }, reason, message: message.into() }
    }

    /// Whether a definition says so already.
    fn is_in(&self, definition: &Value) -> bool {
        condition(definition, self.kind).is_some_and(|found| {
            let text = |name: &str| found.text_at(&[name]);
            (text("status"), text("reason"), text("message")) == (self.status, self.reason, &self.message)
        })
    }

    /// Notes it. The time is that of the last change of the status.
    pub(crate) fn set(&self, definition: &mut Value, now: &Time) {
        let mut conditions = definition.items_at(&["status", "conditions"]).to_vec();
        let known = conditions.iter().position(|found| found.text_at(&["type"]) == self.kind);
        let before = known.map(|place| &conditions[place]);
        let same = before.filter(|before| before.text_at(&["status"]) == self.status);
        let since = same.and_then(|before| before.get("lastTransitionTime")).cloned();
        let mut new = Object::new();
        new.insert("type", self.kind);
        new.insert("status", self.status);
        new.insert("lastTransitionTime", since.unwrap_or_else(|| now.truncated().to_string().into()));
        new.insert("reason", self.reason);
        new.insert("message", self.message.as_str());
        if let Some(generation) = before.and_then(|before| before.get("observedGeneration")) {
            new.insert("observedGeneration", generation.clone());
        }
        let new = typed("apiextensions/v1beta1.CustomResourceDefinitionCondition", new);
        match known {
            Some(place) => conditions[place] = new,
            None => conditions.push(new),
        }
        set_status(definition, "conditions", conditions);
    }
}

/// Fields in the form of their type.
fn typed(name: &str, fields: Object) -> Value {
    let fields = Value::from(fields);
    match pintle_schema::find(name).map(|of| unstructured::to_typed(of, &fields)) {
        Some(Ok(decoded)) => decoded.value,
        _ => fields,
    }
}

fn set_status(definition: &mut Value, field: &'static str, value: impl Into<Value>) {
    if let Some(status) = definition.get_mut("status").and_then(Value::as_object_mut) {
        status.insert(field, value);
    }
}

fn remove(definition: &mut Value, kind: &str) {
    let kept = definition.items_at(&["status", "conditions"]).iter();
    let kept: Vec<Value> = kept.filter(|found| found.text_at(&["type"]) != kind).cloned().collect();
    set_status(definition, "conditions", kept);
}

/// Names of a group that are taken.
pub(crate) trait TakenNames {
    fn is_resource(&self, name: &str) -> bool;
    fn is_kind(&self, name: &str) -> bool;
}

/// Returns a definition with its status brought up to date; `None` if it is.
pub(crate) fn update(definition: &Value, taken: &dyn TakenNames, now: &Time) -> Option<Value> {
    let mut new = definition.clone();
    // The reference has a loop for each of them. Loops that need no other definition come first, and so do their conditions.
    update_approval(&mut new, now);
    update_structural(&mut new, now);
    update_names(&mut new, taken, now);
    update_established(&mut new, now);
    (new != *definition).then_some(new)
}

/// Takes the names that are free, and says which are not.
fn update_names(definition: &mut Value, taken: &dyn TakenNames, now: &Time) {
    let wanted = Names::read(definition.at(&["spec", "names"]));
    let has = Names::read(definition.at(&["status", "acceptedNames"]));
    if wanted == has {
        return;
    }
    let (accepted, names_accepted) = names(&wanted, &has, taken);
    if accepted == has && names_accepted.is_in(definition) {
        return;
    }
    let established = match condition(definition, "Established") {
        // An established definition goes on under the names that it has.
        Some(found) if found.text_at(&["status"]) == "True" => None,
        _ if names_accepted.status == "True" => {
            let message = "the initial names have been accepted";
            Some(Condition::new("Established", false, "Installing", message))
        }
        Some(_) => None,
        None => Some(Condition::new("Established", false, "NotAccepted", "not all names are accepted")),
    };
    set_status(definition, "acceptedNames", accepted_names(&accepted));
    names_accepted.set(definition, now);
    if let Some(established) = established {
        established.set(definition, now);
    }
}

fn accepted_names(names: &Names) -> Value {
    let mut accepted = Object::new();
    let list = |texts: &[String]| texts.iter().map(|text| Value::from(text.as_str())).collect::<Vec<_>>();
    accepted.insert("plural", names.plural.as_str());
    if !names.singular.is_empty() {
        accepted.insert("singular", names.singular.as_str());
    }
    if !names.short_names.is_empty() {
        accepted.insert("shortNames", list(&names.short_names));
    }
    accepted.insert("kind", names.kind.as_str());
    if !names.list_kind.is_empty() {
        accepted.insert("listKind", names.list_kind.as_str());
    }
    if !names.categories.is_empty() {
        accepted.insert("categories", list(&names.categories));
    }
    typed("apiextensions/v1beta1.CustomResourceDefinitionNames", accepted)
}

/// The names that a definition gets, and what is said about them: of several conflicts, the last.
fn names(wanted: &Names, has: &Names, taken: &dyn TakenNames) -> (Names, Condition) {
    let mut accepted = has.clone();
    let mut conflict = None;
    let in_use = |name: &str| format!("{} is already in use", quote(name));
    let is_resource = |name: &str| taken.is_resource(name);
    let is_kind = |name: &str| taken.is_kind(name);
    let mut accept =
        |wanted: &String, has: &mut String, taken: &dyn Fn(&str) -> bool, reason: &'static str| {
            if wanted != has && taken(wanted) {
                conflict = Some((reason, in_use(wanted)));
            } else {
                has.clone_from(wanted);
            }
        };
    accept(&wanted.plural, &mut accepted.plural, &is_resource, "PluralConflict");
    accept(&wanted.singular, &mut accepted.singular, &is_resource, "SingularConflict");
    if wanted.short_names != has.short_names {
        let new = wanted.short_names.iter().filter(|name| !has.short_names.contains(name));
        let mut used: Vec<String> = new.filter(|name| is_resource(name)).map(|name| in_use(name)).collect();
        used.dedup();
        match used.as_slice() {
            [] => accepted.short_names.clone_from(&wanted.short_names),
            [one] => conflict = Some(("ShortNamesConflict", one.clone())),
            several => conflict = Some(("ShortNamesConflict", format!("[{}]", several.join(", ")))),
        }
    }
    let mut accept = |wanted: &String, has: &mut String, reason: &'static str| {
        if wanted != has && is_kind(wanted) {
            conflict = Some((reason, in_use(wanted)));
        } else {
            has.clone_from(wanted);
        }
    };
    accept(&wanted.kind, &mut accepted.kind, "KindConflict");
    accept(&wanted.list_kind, &mut accepted.list_kind, "ListKindConflict");
    accepted.categories.clone_from(&wanted.categories);
    let condition = match conflict {
        Some((reason, message)) => Condition::new("NamesAccepted", false, reason, message),
        None => Condition::new("NamesAccepted", true, "NoConflicts", "no conflicts found"),
    };
    (accepted, condition)
}

/// Establishes a definition whose names were accepted.
fn update_established(definition: &mut Value, now: &Time) {
    if !is_true(definition, "NamesAccepted") || is_true(definition, "Established") {
        return;
    }
    let condition = if pintle_definitions::definition::has_invalid_ca_bundle(definition) {
        let message = "The conversion webhook CABundle is invalid";
        Condition::new("Established", false, "InvalidCABundle", message)
    } else {
        let message = "the initial names have been accepted";
        Condition::new("Established", true, "InitialNamesAccepted", message)
    };
    if !condition.is_in(definition) {
        condition.set(definition, now);
    }
}

/// Reports schemas that are not structural, which only older releases stored.
fn update_structural(definition: &mut Value, now: &Time) {
    const KIND: &str = "NonStructuralSchema";
    let preserves = definition.at(&["spec", "preserveUnknownFields"]).and_then(Value::as_bool) == Some(true);
    let found = preserves.then(|| pintle_definitions::definition::structural_errors(definition)).flatten();
    let wrong = match found {
        None if condition(definition, KIND).is_none() => return,
        None => return remove(definition, KIND),
        Some(NonStructural::Unknown(message)) => {
            Condition { kind: KIND, status: "Unknown", reason: "StructuralError", message }
        }
        Some(NonStructural::Violations(errors)) => {
            let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
            let message = match texts.as_slice() {
                [one] => one.clone(),
                several => format!("[{}]", several.join(", ")),
            };
            Condition::new(KIND, true, "Violations", message)
        }
    };
    if !wrong.is_in(definition) {
        wrong.set(definition, now);
    }
}

/// Groups of the community have been approved, or say why not.
fn update_approval(definition: &mut Value, now: &Time) {
    let Some((approval, message)) = pintle_definitions::definition::approval(definition) else { return };
    let (is_approved, reason) = match approval {
        Approval::Invalid => (false, "InvalidAnnotation"),
        Approval::Missing => (false, "MissingAnnotation"),
        Approval::Approved => (true, "ApprovedAnnotation"),
        Approval::Bypassed => (false, "UnapprovedAnnotation"),
    };
    let condition = Condition::new("KubernetesAPIApprovalPolicyConformant", is_approved, reason, message);
    if !condition.is_in(definition) {
        condition.set(definition, now);
    }
}

/// Notes how the deletion of a definition's objects goes.
pub(crate) fn terminating(status: bool, reason: &'static str, message: impl Into<String>) -> Condition {
    Condition::new("Terminating", status, reason, message)
}

pub(crate) fn remove_finalizer(definition: &mut Value) {
    let kept: Vec<Value> =
        definition.finalizers().filter(|name| *name != FINALIZER).map(Value::from).collect();
    if let Some(metadata) = definition.metadata_mut() {
        if kept.is_empty() {
            metadata.remove("finalizers");
        } else {
            metadata.insert("finalizers", kept);
        }
    }
}

#[cfg(test)]
mod tests {
    use pintle_codec::json;

    use super::*;

    struct These(&'static [&'static str], &'static [&'static str]);

    impl TakenNames for These {
        fn is_resource(&self, name: &str) -> bool {
            self.0.contains(&name)
        }

        fn is_kind(&self, name: &str) -> bool {
            self.1.contains(&name)
        }
    }

    fn definition(names: &str, status: &str) -> Value {
        let text = format!(
            r#"{{"metadata":{{"name":"boats.example.com"}},"spec":{{"group":"example.com","scope":"Cluster",
            "names":{{{names}}},"versions":[{{"name":"v1","served":true,"storage":true}}]}},"status":{{{status}}}}}"#
        );
        let of = pintle_schema::find("apiextensions/v1beta1.CustomResourceDefinition").unwrap();
        json::decode(of, text.as_bytes()).unwrap().value
    }

    const NAMES: &str =
        r#""plural":"boats","singular":"boat","kind":"Boat","listKind":"BoatList","shortNames":["bt","b"]"#;

    fn now() -> Time {
        Time::parse("2026-01-02T03:04:05Z").unwrap()
    }

    /// Types, statuses and reasons.
    fn conditions(definition: &Value) -> Vec<String> {
        let all = definition.items_at(&["status", "conditions"]).iter();
        let text = |found: &Value| {
            ["type", "status", "reason", "message"].map(|name| found.text_at(&[name]).to_owned()).join(" ")
        };
        all.map(text).collect()
    }

    #[test]
    fn free_names_are_accepted_and_the_definition_is_served() {
        let definition = definition(NAMES, "");
        let updated = update(&definition, &These(&["ships"], &["Ship"]), &now()).unwrap();
        assert_eq!(
            conditions(&updated),
            [
                "NamesAccepted True NoConflicts no conflicts found",
                "Established True InitialNamesAccepted the initial names have been accepted"
            ]
        );
        assert_eq!(updated.at(&["status", "acceptedNames"]), updated.at(&["spec", "names"]));
        assert_eq!(update(&updated, &These(&["boats"], &["Boat"]), &now()), None, "nothing is left to do");
    }

    #[test]
    fn the_approval_of_a_protected_group_comes_before_the_names() {
        let mut definition = definition(NAMES, "");
        definition.at_mut(&["spec"]).and_then(Value::as_object_mut).unwrap().insert("group", "x.k8s.io");
        let annotations = Object::from_iter([("api-approved.kubernetes.io", Value::from("https://x.io/1"))]);
        definition.metadata_mut().unwrap().insert("annotations", annotations);
        let updated = update(&definition, &These(&[], &[]), &now()).unwrap();
        assert_eq!(
            conditions(&updated),
            [
                "KubernetesAPIApprovalPolicyConformant True ApprovedAnnotation approved in https://x.io/1",
                "NamesAccepted True NoConflicts no conflicts found",
                "Established True InitialNamesAccepted the initial names have been accepted"
            ]
        );
    }

    #[test]
    fn names_in_use_are_reported_and_the_rest_accepted() {
        let definition = definition(NAMES, "");
        let updated = update(&definition, &These(&["bt", "b"], &[]), &now()).unwrap();
        assert_eq!(
            conditions(&updated),
            [
                r#"NamesAccepted False ShortNamesConflict ["bt" is already in use, "b" is already in use]"#,
                "Established False NotAccepted not all names are accepted"
            ]
        );
        assert_eq!(updated.text_at(&["status", "acceptedNames", "plural"]), "boats");
        assert!(updated.at(&["status", "acceptedNames", "shortNames"]).is_none());
        // Once they are free again, it gets them.
        let later = update(&updated, &These(&["boats", "boat"], &["Boat", "BoatList"]), &now()).unwrap();
        assert!(is_true(&later, "Established"), "{later:?}");
        let taken = update(&definition, &These(&["boat"], &["Boat"]), &now()).unwrap();
        assert_eq!(
            conditions(&taken)[0],
            r#"NamesAccepted False KindConflict "Boat" is already in use"#,
            "the last conflict is told"
        );
    }

    #[test]
    fn an_established_definition_stays_so_when_a_new_name_is_taken() {
        let before = update(&definition(NAMES, ""), &These(&[], &[]), &now()).unwrap();
        let mut renamed = before;
        let names = renamed.at_mut(&["spec", "names"]).and_then(Value::as_object_mut).unwrap();
        names.insert("singular", "ship");
        let after = update(&renamed, &These(&["ship"], &[]), &now()).unwrap();
        assert!(is_true(&after, "Established") && !is_true(&after, "NamesAccepted"));
        assert_eq!(after.text_at(&["status", "acceptedNames", "singular"]), "boat");
    }

    #[test]
    fn a_condition_keeps_its_time_while_its_status_stays() {
        let mut definition = update(&definition(NAMES, ""), &These(&[], &[]), &now()).unwrap();
        let later = Time::parse("2026-02-02T00:00:00Z").unwrap();
        terminating(true, "InstanceDeletionPending", "soon").set(&mut definition, &now());
        terminating(true, "InstanceDeletionInProgress", "now").set(&mut definition, &later);
        let time = |definition: &Value| {
            condition(definition, "Terminating").unwrap().text_at(&["lastTransitionTime"]).to_owned()
        };
        assert_eq!(time(&definition), "2026-01-02T03:04:05Z");
        terminating(false, "InstanceDeletionCompleted", "done").set(&mut definition, &later);
        assert_eq!(time(&definition), "2026-02-02T00:00:00Z");
    }
}
