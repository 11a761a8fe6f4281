//! For the tests of groups: strategies on objects given as JSON.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use pintle_codec::json;
use pintle_meta::Value;
use pintle_meta::time::Time;
use pintle_registry::{Context, Strategy};
use pintle_runtime::{Clock, ManualClock};
use pintle_schema::{Resources, Type};

use super::Settings;

/// A strategy and the stored type of its objects.
pub(crate) struct Subject {
    pub(crate) strategy: Arc<dyn Strategy>,
    of: &'static Type,
}

/// The present, in tests.
pub(crate) const NOW: &str = "2026-05-01T12:00:00Z";

/// Returns a clock that stands still at an RFC 3339 time.
pub(crate) fn clock_at(time: &str) -> Clock {
    let seconds = Time::parse(time).unwrap().unix_seconds().try_into().unwrap();
    ManualClock::starting_at(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)).clock()
}

/// Of a resource or subresource of a group.
pub(crate) fn of(group: &str, name: &str) -> Subject {
    with_settings(group, name, &Settings { clock: clock_at(NOW), ..Settings::default() })
}

/// As [`of`], in a control plane with these settings.
pub(crate) fn with_settings(group: &str, name: &str, settings: &Settings) -> Subject {
    let strategy =
        super::of(group, name, settings).unwrap_or_else(|| panic!("no strategy of {group} {name}"));
    let resources = Resources::builtin().unwrap();
    let resource = name.split('/').next().unwrap();
    let versions = resources.versions().iter().filter(|version| version.group == group);
    let found = versions.flat_map(|version| &version.resources).find_map(|known| {
        (known.name == resource && known.subresource.is_none()).then(|| known.storage.unwrap().kind)
    });
    Subject { strategy, of: found.unwrap() }
}

pub(crate) fn text(value: &Value) -> String {
    let mut out = Vec::new();
    json::encode(value, &mut out);
    String::from_utf8(out).unwrap()
}

impl Subject {
    pub(crate) fn stored_type(&self) -> &'static Type {
        self.of
    }

    pub(crate) fn tree(&self, text: &str) -> Value {
        json::decode(self.of, text.as_bytes()).unwrap_or_else(|error| panic!("{error}: {text}")).value
    }

    /// Returns a new object as the strategy prepares it.
    pub(crate) fn created(&self, object: &str) -> Value {
        self.created_by(&Context::default(), object)
    }

    pub(crate) fn created_by(&self, context: &Context, object: &str) -> Value {
        let mut object = self.tree(object);
        self.strategy.prepare_for_create(&mut context.clone(), &mut object);
        object
    }

    /// Returns a changed object as the strategy prepares it.
    pub(crate) fn updated(&self, new: &str, old: &str) -> Value {
        let (mut new, old) = (self.tree(new), self.tree(old));
        self.strategy.prepare_for_update(&Context::default(), &mut new, &old);
        new
    }
}

/// Returns the errors of a new object.
pub(crate) fn invalid(subject: &Subject, object: &str) -> Vec<String> {
    let errors = subject.strategy.validate(&Context::default(), &subject.tree(object));
    errors.iter().map(ToString::to_string).collect()
}

/// Returns the errors of a changed object.
pub(crate) fn invalid_update(subject: &Subject, new: &str, old: &str) -> Vec<String> {
    let (new, old) = (subject.tree(new), subject.tree(old));
    let errors = subject.strategy.validate_update(&Context::default(), &new, &old);
    errors.iter().map(ToString::to_string).collect()
}

/// Returns the warnings about a new object, or about a changed one.
pub(crate) fn warnings(subject: &Subject, new: &str, old: Option<&str>) -> Vec<String> {
    let (context, new) = (Context::default(), subject.tree(new));
    match old {
        None => subject.strategy.warnings_on_create(&context, &new),
        Some(old) => subject.strategy.warnings_on_update(&context, &new, &subject.tree(old)),
    }
}
