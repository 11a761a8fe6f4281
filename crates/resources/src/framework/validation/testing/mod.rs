//! Tables of cases: a valid object, changes to it, and the errors that each change leads to.
//!
//! ```text
//! let base = Base::new("apps", "deployments", r#"{"metadata":{"name":"a","namespace":"n"},"spec":{...}}"#);
//! base.refuses(&[
//!     (&[("/spec/replicas", "-1")], &["spec.replicas: Invalid value: -1: must be greater than or equal to 0"]),
//!     (&[("/spec/selector", "")], &["spec.selector: Required value", ...]),
//! ]);
//! base.accepts(&[&[("/spec/replicas", "0")]]);
//! base.refuses_update(&[(&[("/spec/selector/matchLabels/a", r#""c""#)], &["..."])]);
//! ```
//!
//! A change is a JSON pointer and JSON text; no text removes. `-` as the last step appends to a list. Parents that are not there
//! are made. Objects are defaulted and prepared as by a request before they are validated.

mod random;

use pintle_codec::json;
use pintle_codec::negotiate::Encoding;
use pintle_features::Feature;
use pintle_meta::Value;
use pintle_registry::{Context, Sent};
use serde_json::Value as Json;

use crate::framework::defaults;
use crate::framework::strategy::testing::{NOW, Subject, clock_at, with_settings};
use crate::framework::strategy::{Settings, tree};

/// One change: where, and the new value.
pub(crate) type Change<'a> = (&'a str, &'a str);

/// Changes, and the errors they lead to.
pub(crate) type Case<'a> = (&'a [Change<'a>], &'a [&'a str]);

/// A valid object of a resource or subresource.
pub(crate) struct Base {
    subject: Subject,
    settings: Settings,
    object: Json,
    name: String,
}

impl Base {
    /// Returns a base in a control plane with default settings; the object must be valid.
    pub(crate) fn new(group: &str, resource: &str, object: &str) -> Base {
        Base::with(group, resource, object, |_| {})
    }

    /// Returns a base in a control plane with some feature gates set.
    pub(crate) fn with_features(group: &str, resource: &str, object: &str, set: &[(Feature, bool)]) -> Base {
        Base::with(group, resource, object, |settings| {
            for (feature, enabled) in set {
                settings.features.set(*feature, *enabled);
            }
        })
    }

    /// Returns a base with changed settings.
    pub(crate) fn with(group: &str, resource: &str, object: &str, change: impl Fn(&mut Settings)) -> Base {
        let mut settings = Settings { clock: clock_at(NOW), ..Settings::default() };
        change(&mut settings);
        let subject = with_settings(group, resource, &settings);
        let object: Json = serde_json::from_str(object).unwrap_or_else(|error| panic!("{error}: {object}"));
        let base = Base { subject, settings, object, name: resource.to_owned() };
        if !resource.contains('/') {
            let errors = base.create_errors(&[]);
            assert!(errors.is_empty(), "the base of {resource} is not valid: {errors:#?}");
            base.check_random_objects();
        }
        base
    }

    /// Checks that objects which a create accepts are read back as they were written, and that an update with the same object
    /// is accepted and changes nothing: the base, and objects made from it by random changes.
    fn check_random_objects(&self) {
        for object in random::objects(&self.object, &self.name) {
            let Ok(decoded) = json::decode(self.subject.stored_type(), object.to_string().as_bytes()) else {
                continue;
            };
            let mut value = decoded.value;
            defaults::apply(self.subject.stored_type(), &mut value, &self.settings.defaults());
            let (strategy, mut context) = (&self.subject.strategy, Context::default());
            strategy.prepare_for_create(&mut context, &mut value);
            if !strategy.validate(&context, &value).is_empty() {
                continue;
            }
            strategy.canonicalize(&mut value);
            if let Some(metadata) = value.metadata_mut() {
                metadata.insert("resourceVersion", "1");
            }
            let mut text = Vec::new();
            json::encode(&value, &mut text);
            let read =
                json::decode(self.subject.stored_type(), &text).expect("written JSON can be read").value;
            assert_eq!(read, value, "{} as JSON", self.name);
            let mut same = value.clone();
            defaults::apply(self.subject.stored_type(), &mut same, &self.settings.defaults());
            strategy.prepare_for_update(&context, &mut same, &value);
            let errors = strategy.validate_update(&context, &same, &value);
            let object = String::from_utf8_lossy(&text);
            assert!(errors.is_empty(), "update of {} with itself: {errors:#?}: {object}", self.name);
            assert_eq!(same, value, "update of {} with itself", self.name);
        }
    }

    fn json(&self, changes: &[Change<'_>], is_update: bool) -> Json {
        let mut object = self.object.clone();
        if is_update {
            change(&mut object, "/metadata/resourceVersion", r#""1""#);
        }
        for (pointer, value) in changes {
            change(&mut object, pointer, value);
        }
        object
    }

    fn tree(&self, object: &Json) -> Value {
        let mut value = self.subject.tree(&object.to_string());
        defaults::apply(self.subject.stored_type(), &mut value, &self.settings.defaults());
        value
    }

    /// Returns the object as the store has it after a create and, on an update, a write of its status if it has one.
    fn stored(&self, changes: &[Change<'_>], is_update: bool) -> Value {
        let object = self.json(changes, is_update);
        let mut value = self.tree(&object);
        // A subresource has no creates of its own: what it updates is taken as it is given.
        if !self.name.contains('/') {
            let given = value.get("status").cloned().filter(|_| is_update && object.get("status").is_some());
            self.subject.strategy.prepare_for_create(&mut Context::default(), &mut value);
            if let (Some(given), Some(fields)) = (given, value.as_object_mut()) {
                fields.insert("status", given);
            }
        }
        value
    }

    /// Returns the errors of a create with these changes.
    pub(crate) fn create_errors(&self, changes: &[Change<'_>]) -> Vec<String> {
        let context = sent(&self.json(changes, false));
        let errors = self.subject.strategy.validate(&context, &self.stored(changes, false));
        errors.iter().map(ToString::to_string).collect()
    }

    /// Returns the errors of an update of a stored object that has some changes already, valid or not.
    pub(crate) fn update_errors(&self, before: &[Change<'_>], changes: &[Change<'_>]) -> Vec<String> {
        let old = self.stored(before, true);
        let all: Vec<Change<'_>> = before.iter().chain(changes).copied().collect();
        let object = self.json(&all, true);
        let (context, mut new) = (sent(&object), self.tree(&object));
        // As the registry does before it asks a strategy.
        tree::keep(&mut new, &old, &["metadata", "generation"]);
        self.subject.strategy.prepare_for_update(&context, &mut new, &old);
        let errors = self.subject.strategy.validate_update(&context, &new, &old);
        errors.iter().map(ToString::to_string).collect()
    }

    /// Checks that creates with these changes fail with exactly these errors.
    #[track_caller]
    pub(crate) fn refuses(&self, cases: &[Case<'_>]) {
        for (changes, expected) in cases {
            assert!(!expected.is_empty(), "no error expected: {changes:?}");
            assert_eq!(self.create_errors(changes), *expected, "create of {} with {changes:?}", self.name);
        }
    }

    #[track_caller]
    pub(crate) fn accepts(&self, cases: &[&[Change<'_>]]) {
        for changes in cases {
            let errors = self.create_errors(changes);
            assert!(errors.is_empty(), "create of {} with {changes:?}: {errors:#?}", self.name);
        }
    }

    /// Checks that updates of the base with these changes fail with exactly these errors.
    #[track_caller]
    pub(crate) fn refuses_update(&self, cases: &[Case<'_>]) {
        self.refuses_update_of(&[], cases);
    }

    /// As [`Base::refuses_update`], of a stored object that has some changes already, valid or not.
    #[track_caller]
    pub(crate) fn refuses_update_of(&self, before: &[Change<'_>], cases: &[Case<'_>]) {
        for (changes, expected) in cases {
            assert!(!expected.is_empty(), "no error expected: {changes:?}");
            let errors = self.update_errors(before, changes);
            assert_eq!(errors, *expected, "update of {} with {changes:?}", self.name);
        }
    }

    #[track_caller]
    pub(crate) fn accepts_update(&self, cases: &[&[Change<'_>]]) {
        self.accepts_update_of(&[], cases);
    }

    /// As [`Base::accepts_update`], of a stored object that has some changes already, valid or not.
    #[track_caller]
    pub(crate) fn accepts_update_of(&self, before: &[Change<'_>], cases: &[&[Change<'_>]]) {
        for changes in cases {
            let errors = self.update_errors(before, changes);
            assert!(errors.is_empty(), "update of {} with {changes:?}: {errors:#?}", self.name);
        }
    }
}

/// Returns the context of a request with this body.
fn sent(object: &Json) -> Context {
    let body = Sent::Body { encoding: Encoding::Json, bytes: object.to_string().into() };
    Context { sent: Some(body), ..Context::default() }
}

/// Sets, appends or removes the value at a JSON pointer.
fn change(object: &mut Json, pointer: &str, text: &str) {
    let steps: Vec<String> =
        pointer.split('/').skip(1).map(|step| step.replace("~1", "/").replace("~0", "~")).collect();
    let (last, parents) = steps.split_last().unwrap_or_else(|| panic!("{pointer} is no pointer"));
    let mut at = object;
    for step in parents {
        at = match at {
            Json::Array(items) => {
                let index: usize = step.parse().unwrap_or_else(|_| panic!("{pointer}: {step} is no index"));
                &mut items[index]
            }
            other => {
                if other.is_null() {
                    *other = Json::Object(serde_json::Map::new());
                }
                let fields =
                    other.as_object_mut().unwrap_or_else(|| panic!("{pointer}: no object at {step}"));
                fields.entry(step.clone()).or_insert(Json::Null)
            }
        };
    }
    let value = || serde_json::from_str(text).unwrap_or_else(|error| panic!("{pointer}: {error}: {text}"));
    match at {
        Json::Array(items) if last == "-" => items.push(value()),
        Json::Array(items) => {
            let index: usize = last.parse().unwrap_or_else(|_| panic!("{pointer}: {last} is no index"));
            if text.is_empty() {
                items.remove(index);
            } else {
                items[index] = value();
            }
        }
        Json::Null if last == "-" => *at = Json::Array(vec![value()]),
        other => {
            if other.is_null() {
                *other = Json::Object(serde_json::Map::new());
            }
            let fields = other.as_object_mut().unwrap_or_else(|| panic!("{pointer}: no object"));
            if text.is_empty() {
                assert!(fields.remove(last.as_str()).is_some(), "{pointer}: nothing to remove");
            } else {
                fields.insert(last.clone(), value());
            }
        }
    }
}
