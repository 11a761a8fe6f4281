//! Warnings and audit annotations that plugins add to a request.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pintle_meta::validation::qualified_name;
use pintle_meta::warnings::Warnings;

/// The notes of one request. Clones share them, so that they outlive the attempts of a write.
#[derive(Clone, Debug, Default)]
pub struct Notes(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    warnings: Warnings,
    annotations: BTreeMap<String, Annotation>,
    webhooks: WebhookTimes,
}

/// The time that a request has waited for webhooks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WebhookTimes {
    /// All calls of mutating webhooks together.
    pub mutating: Duration,
    /// The longest call of a validating webhook.
    pub validating: Duration,
}

#[derive(Debug)]
struct Annotation {
    value: String,
    level: AuditLevel,
}

/// The least level of an audit event that has an annotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AuditLevel {
    Metadata,
    /// For annotations that show something of the request's object.
    Request,
}

/// An annotation that was not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnnotationError {
    #[error(
        "annotation key {0:?} has invalid format, the right format is a DNS subdomain prefix and '/' and key name. (e.g. \
         'podsecuritypolicy.admission.k8s.io/admit-policy')"
    )]
    Key(String),
    /// Another value was given to the key before.
    #[error("admission annotations are not allowed to be overwritten, key:{0:?}")]
    Overwritten(String),
}

impl Notes {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a text that the client gets as a `Warning` header. A text that was added before, also by an earlier attempt of the
    /// same write, is kept once. No more are kept than are sent.
    pub fn warn(&self, text: impl Into<String>) {
        self.lock().warnings.push(text);
    }

    /// Adds an annotation to the audit event of the request. The key is `plugin.admission.k8s.io/name` or alike.
    pub fn annotate(&self, key: &str, value: impl Into<String>) -> Result<(), AnnotationError> {
        self.annotate_at(AuditLevel::Metadata, key, value)
    }

    /// Adds an annotation for audit events from a level on.
    pub fn annotate_at(
        &self,
        level: AuditLevel,
        key: &str,
        value: impl Into<String>,
    ) -> Result<(), AnnotationError> {
        if key.matches('/').count() != 1 || !qualified_name(key).is_empty() {
            return Err(AnnotationError::Key(key.to_owned()));
        }
        let (value, mut inner) = (value.into(), self.lock());
        match inner.annotations.get(key) {
            Some(known) if known.value != value => {
                return Err(AnnotationError::Overwritten(key.to_owned()));
            }
            Some(_) => {}
            None => {
                inner.annotations.insert(key.to_owned(), Annotation { value, level });
            }
        }
        Ok(())
    }

    /// Adds the time of one call of a webhook.
    pub(crate) fn webhook_took(&self, is_mutating: bool, took: Duration) {
        let times = &mut self.lock().webhooks;
        if is_mutating {
            times.mutating += took;
        } else {
            times.validating = times.validating.max(took);
        }
    }

    /// Returns the time that the request has waited for webhooks.
    pub fn webhook_times(&self) -> WebhookTimes {
        self.lock().webhooks
    }

    /// Returns the warnings in the order in which they were added, and forgets them.
    pub fn take_warnings(&self) -> Vec<String> {
        std::mem::take(&mut self.lock().warnings).into_texts()
    }

    /// Returns the audit annotations of an event of a level, sorted by key.
    pub fn annotations(&self, level: AuditLevel) -> BTreeMap<String, String> {
        let inner = self.lock();
        let shown = inner.annotations.iter().filter(|(_, annotation)| annotation.level <= level);
        shown.map(|(key, annotation)| (key.clone(), annotation.value.clone())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mutating_webhooks_add_up_and_the_slowest_validating_one_counts() {
        let notes = Notes::default();
        for took in [3, 1, 2].map(Duration::from_millis) {
            notes.webhook_took(true, took);
            notes.webhook_took(false, took);
        }
        let (mutating, validating) = (Duration::from_millis(6), Duration::from_millis(3));
        assert_eq!(notes.webhook_times(), WebhookTimes { mutating, validating });
    }

    #[test]
    fn a_warning_is_kept_once_and_in_order() {
        let notes = Notes::default();
        for text in ["b", "a", "b"] {
            notes.clone().warn(text);
        }
        assert_eq!(notes.take_warnings(), ["b", "a"]);
        assert!(notes.take_warnings().is_empty());
    }

    #[test]
    fn no_more_warnings_are_kept_than_are_sent() {
        let notes = Notes::default();
        for number in 0..100_000 {
            notes.warn(format!("{number:08}"));
        }
        let kept = notes.take_warnings();
        assert_eq!(kept.len(), pintle_meta::warnings::MOST / 8 + 1, "the last one makes all be cut");
        notes.warn("a");
        assert_eq!(notes.take_warnings(), ["a"], "another answer has room again");
    }

    #[test]
    fn an_annotation_has_a_prefix_and_is_not_overwritten() {
        let notes = Notes::default();
        for key in ["a", "/a", "a/", "a/b/c", "", "a b/c", "a/b c"] {
            assert_eq!(notes.annotate(key, "x"), Err(AnnotationError::Key(key.into())));
        }
        assert_eq!(notes.annotate("p.k8s.io/a", "x"), Ok(()));
        assert_eq!(notes.annotate("p.k8s.io/a", "x"), Ok(()), "the next attempt says the same");
        let overwritten = AnnotationError::Overwritten("p.k8s.io/a".into());
        assert_eq!(notes.annotate("p.k8s.io/a", "y"), Err(overwritten));
        assert_eq!(notes.annotate_at(AuditLevel::Request, "p.k8s.io/b", "y"), Ok(()));
        let annotations = notes.annotations(AuditLevel::Metadata);
        assert_eq!(annotations, BTreeMap::from([("p.k8s.io/a".to_owned(), "x".to_owned())]));
        assert_eq!(notes.annotations(AuditLevel::Request).len(), 2);
    }
}
