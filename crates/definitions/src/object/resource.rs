//! Validation of every custom resource, independent of its schema: kind, the fields of `scale`, and finalizers.

use std::collections::BTreeSet;

use pintle_meta::field_path::{Error, Path};
use pintle_meta::validation::qualified_name;
use pintle_meta::{Value, Warnings, quote};

use crate::paths;

/// An object is of the kind that it was sent to.
pub fn validate_kind(object: &Value, group: &str, version: &str, kind: &str) -> Vec<Error> {
    let mut errors = Vec::new();
    let api_version = format!("{group}/{version}");
    for (field, given, wanted) in
        [("kind", object.kind(), kind), ("apiVersion", object.api_version(), &api_version)]
    {
        if given != wanted {
            errors.push(Error::invalid(&Path::new(field), given, format!("must be {wanted}")));
        }
    }
    errors
}

/// Where an object has what its `scale` shows, as the definition says: `.spec.replicas`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scale {
    pub spec_replicas: Box<str>,
    pub status_replicas: Box<str>,
    pub label_selector: Option<Box<str>>,
}

impl Scale {
    /// Reads the definition's `subresources.scale`.
    pub fn new(scale: &Value) -> Scale {
        Scale {
            spec_replicas: scale.text_at(&["specReplicasPath"]).into(),
            status_replicas: scale.text_at(&["statusReplicasPath"]).into(),
            label_selector: scale.get("labelSelectorPath").and_then(Value::as_str).map(Box::from),
        }
    }

    pub fn validate_spec(&self, object: &Value) -> Vec<Error> {
        replicas(object, &self.spec_replicas).into_iter().collect()
    }

    pub fn validate_status(&self, object: &Value) -> Vec<Error> {
        let mut errors: Vec<Error> = replicas(object, &self.status_replicas).into_iter().collect();
        if let Some(path) = self.label_selector.as_deref()
            && let Err(wrong) = paths::Path::parse(path).text(object)
        {
            errors.push(Error::invalid(&Path::new(path), "", wrong));
        }
        errors
    }
}

fn replicas(object: &Value, path: &str) -> Option<Error> {
    let at_path = Path::new(path);
    match paths::Path::parse(path).integer(object) {
        Err(wrong) => Some(Error::invalid(&at_path, 0i64, wrong)),
        Ok(Some(replicas @ ..0)) => {
            Some(Error::invalid(&at_path, replicas, "should be a non-negative integer"))
        }
        Ok(Some(replicas)) if replicas > i64::from(i32::MAX) => {
            let wrong = format!("should be less than or equal to {}", i32::MAX);
            Some(Error::invalid(&at_path, replicas, wrong))
        }
        Ok(_) => None,
    }
}

/// Warnings about finalizers that are new.
pub fn finalizer_warnings(new: &Value, old: Option<&Value>) -> Vec<String> {
    let before: BTreeSet<&str> = old.into_iter().flat_map(Value::finalizers).collect();
    let added: BTreeSet<&str> = new.finalizers().filter(|name| !before.contains(name)).collect();
    let mut warnings = Warnings::new();
    for name in added {
        if warnings.is_full() {
            break;
        }
        let mut warn = |words: &str| warnings.push(format!("metadata.finalizers: {}: {words}", quote(name)));
        qualified_name(name).iter().for_each(|wrong| warn(wrong));
        if name.contains('/') || matches!(name, "orphan" | "foregroundDeletion" | "kubernetes") {
            continue;
        }
        warn(if name.contains('.') {
            "prefer a domain-qualified finalizer name including a path (/) to avoid accidental conflicts with \
                 other finalizer writers"
        } else {
            "prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers"
        });
    }
    warnings.into_texts()
}
