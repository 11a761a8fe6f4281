//! Options of a deletion, decoded.

use pintle_meta::field_path::{self, Error, Path};
use pintle_meta::{Object, Value};

use super::{DeleteOptions, Propagation};
use crate::store::Preconditions;

const IGNORE_READ_ERRORS: &str = "ignoreStoreReadErrorWithClusterBreakingPotential";

impl DeleteOptions {
    /// Returns the fields of an object of kind `DeleteOptions`, for admission.
    pub fn fields(&self) -> Object {
        let mut fields = Object::new();
        if let Some(seconds) = self.grace_period_seconds {
            fields.insert("gracePeriodSeconds", seconds);
        }
        let Preconditions { uid, resource_version } = &self.preconditions;
        let given = [("uid", uid), ("resourceVersion", resource_version)];
        let given = given.into_iter().filter_map(|(name, value)| Some((name, value.clone()?)));
        let preconditions = given.collect::<Object>();
        if !preconditions.is_empty() {
            fields.insert("preconditions", preconditions);
        }
        if let Some(orphan) = self.orphan_dependents {
            fields.insert("orphanDependents", orphan);
        }
        if let Some(propagation) = self.propagation {
            let policy = match propagation {
                Propagation::Orphan => "Orphan",
                Propagation::Background => "Background",
                Propagation::Foreground => "Foreground",
            };
            fields.insert("propagationPolicy", policy);
        }
        if self.dry_run {
            fields.insert("dryRun", vec![Value::from("All")]);
        }
        fields
    }

    /// Where it is known, the deletion of what cannot be read goes with nothing else. What does is added to the errors.
    pub fn check_ignoring(&self, errors: &mut Vec<Error>) {
        if !self.ignore_read_errors {
            return;
        }
        let others = [
            ("dryRun", self.dry_run),
            ("propagationPolicy", self.propagation.is_some()),
            ("orphanDependents", self.orphan_dependents.is_some()),
            ("gracePeriodSeconds", self.grace_period_seconds.is_some()),
            ("preconditions", self.preconditions != Preconditions::default()),
        ];
        for (name, _) in others.into_iter().filter(|(_, given)| *given) {
            let why = format!("cannot be set together with .{name}");
            errors.push(Error::invalid(&Path::new(IGNORE_READ_ERRORS), field_path::Value::json(&true), why));
        }
    }

    /// Reads an object of kind `DeleteOptions`. Its problems are added to the errors.
    pub fn read(object: &Value, errors: &mut Vec<Error>) -> DeleteOptions {
        let text = |path: &[&str]| object.at(path).and_then(Value::as_str);
        let dry_runs: Vec<&str> = object.items_at(&["dryRun"]).iter().filter_map(Value::as_str).collect();
        let orphan_dependents = object.at(&["orphanDependents"]).and_then(Value::as_bool);
        DeleteOptions {
            grace_period_seconds: object.at(&["gracePeriodSeconds"]).and_then(Value::as_i64),
            preconditions: Preconditions {
                uid: text(&["preconditions", "uid"]).map(str::to_owned),
                resource_version: text(&["preconditions", "resourceVersion"]).map(str::to_owned),
            },
            orphan_dependents,
            propagation: text(&["propagationPolicy"])
                .and_then(|given| Propagation::parse(given, orphan_dependents.is_some(), errors)),
            dry_run: dry_run(&dry_runs, errors),
            ignore_read_errors: object.at(&[IGNORE_READ_ERRORS]).and_then(Value::as_bool).unwrap_or(false),
        }
    }
}

impl Propagation {
    /// An unknown policy is added to the errors, after that of `orphanDependents` beside it, if that is set.
    pub fn parse(given: &str, orphan_is_set: bool, errors: &mut Vec<Error>) -> Option<Propagation> {
        match given {
            "Orphan" => Some(Propagation::Orphan),
            "Background" => Some(Propagation::Background),
            "Foreground" => Some(Propagation::Foreground),
            other => {
                if orphan_is_set {
                    errors.push(both_set(other));
                }
                let supported = ["Foreground", "Background", "Orphan", "nil"];
                let shown = field_path::Value::json(other);
                errors.push(Error::not_supported(&Path::new("propagationPolicy"), shown, &supported));
                None
            }
        }
    }
}

/// The error of `orphanDependents` and `propagationPolicy` in one request.
pub(super) fn both_set(policy: &str) -> Error {
    let why = "orphanDependents and deletionPropagation cannot be both set";
    Error::invalid(&Path::new("propagationPolicy"), field_path::Value::json(policy), why)
}

/// Whether a write is only tried: `All` or nothing; anything else is added to the errors.
pub fn dry_run(given: &[&str], errors: &mut Vec<Error>) -> bool {
    if given.iter().any(|value| *value != "All") {
        let value = field_path::Value::json(given);
        errors.push(Error::not_supported(&Path::new("dryRun"), value, &["All"]));
    }
    !given.is_empty()
}
