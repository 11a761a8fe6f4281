//! A stored kind, and what its objects pass on their way to the store and back.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use pintle_codec::json;
use pintle_codec::negotiate::Encoding;
use pintle_features::Features;
use pintle_meta::Value;
use pintle_meta::field_path::Error;
use pintle_registry::{Context, Stored, Strategy};
use pintle_resources::builtin::Builtin;
use pintle_resources::strategy::{self, Settings};
use pintle_runtime::ManualClock;
use pintle_schema::{Resource, Resources, Type};
use serde_json::Value as Json;

/// Versions that cannot hold all of the stored one.
const LOSSY: &[&str] = &["autoscaling/v1.HorizontalPodAutoscaler"];

/// Causes that only an update of the whole object has, also where the status was accepted before.
const ONLY_WHOLE: &[&str] = &["metadata.nodeSwapStatus.capacity"];

/// Kinds with a default that a create drops, as its feature is off, and that every read fills in again.
const DEFAULTED_AGAIN: &[&str] = &["podgroups"];

const UID: &str = "0b5c1a4e-0a3a-4f5e-8f0a-3c5f0c7d1a11";

/// A stored kind.
pub(crate) struct Subject {
    pub(crate) group: &'static str,
    pub(crate) name: &'static str,
    pub(crate) namespaced: bool,
    pub(crate) stored: &'static Type,
    /// The versions that it is served in; objects are sent in the first.
    pub(crate) served: Vec<&'static Type>,
    pub(crate) strategy: Arc<dyn Strategy>,
    pub(crate) of_status: Option<Arc<dyn Strategy>>,
    pub(crate) builtin: Arc<Builtin>,
    /// The same with JSON in the store.
    as_json: Arc<Builtin>,
}

/// Returns all kinds that are stored, in a control plane with these features.
pub(crate) fn subjects(resources: &Resources, features: Features) -> Vec<Subject> {
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_777_636_800);
    let clock = ManualClock::starting_at(now).clock();
    let settings = Settings { clock, features, allow_privileged: true, ..Settings::default() };
    let mut found: Vec<Subject> = Vec::new();
    for version in resources.versions() {
        for resource in version.resources.iter().filter(|resource| resource.subresource.is_none()) {
            let Resource { storage: Some(storage), name, namespaced, kind, .. } = resource else { continue };
            let group = version.group;
            if let Some(known) = found.iter_mut().find(|known| (known.group, known.name) == (group, *name)) {
                known.served.push(kind);
                continue;
            }
            let strategy =
                strategy::of(group, name, &settings).unwrap_or_else(|| panic!("no strategy of {name}"));
            let builtin = |encoding| {
                Builtin::decorated_by(
                    strategy.clone(),
                    settings.defaults(),
                    encoding,
                    storage.kind,
                    resources,
                )
            };
            found.push(Subject {
                group,
                name,
                namespaced: *namespaced,
                stored: storage.kind,
                served: vec![kind],
                of_status: strategy::of(group, &format!("{name}/status"), &settings),
                builtin: builtin(Encoding::Protobuf),
                as_json: builtin(Encoding::Json),
                strategy,
            });
        }
    }
    found
}

pub(crate) fn write(value: &Value) -> String {
    let mut out = Vec::new();
    json::encode(value, &mut out);
    String::from_utf8(out).expect("UTF-8")
}

impl Subject {
    /// Returns the type that objects are sent in.
    pub(crate) fn sent(&self) -> &'static Type {
        self.served[0]
    }

    fn read(&self, object: &Json) -> Value {
        let text = object.to_string();
        let decoded = json::decode(self.sent(), text.as_bytes());
        let value = decoded.unwrap_or_else(|error| panic!("{}: {error}: {text}", self.name)).value;
        let stored = self.builtin.from_version(self.sent(), value);
        stored.unwrap_or_else(|error| panic!("{}: {error}", self.name))
    }

    /// Returns a stored object as clients see it.
    pub(crate) fn shown(&self, object: &Value) -> Value {
        let shown = self.builtin.to_version(self.sent(), object.clone());
        shown.unwrap_or_else(|error| panic!("{}: {error}", self.name))
    }

    fn context(&self) -> Context {
        let namespace = if self.namespaced { "default".into() } else { String::new() };
        Context { namespace, user: "me".into(), ..Context::default() }
    }

    /// Returns the stored object of a create, or its errors.
    pub(crate) fn created(&self, object: &Json) -> Result<Value, Vec<Error>> {
        let mut context = self.context();
        let mut value = self.read(object);
        self.strategy.prepare_for_create(&mut context, &mut value);
        let errors = self.strategy.validate(&context, &value);
        if !errors.is_empty() {
            return Err(errors);
        }
        self.strategy.canonicalize(&mut value);
        if let Some(metadata) = value.metadata_mut() {
            metadata.insert("uid", UID);
        }
        if DEFAULTED_AGAIN.contains(&self.name) {
            let stored = Stored::encode(&*self.builtin, &value).expect("it can be written");
            value = self.builtin.decode(&stored).expect("it can be read");
        }
        Ok(value)
    }

    /// Returns an object with the status of another, or the errors of that update.
    pub(crate) fn with_status(
        &self,
        strategy: &dyn Strategy,
        object: &Value,
        given: &Json,
    ) -> Result<Value, Vec<Error>> {
        let mut json: Json = serde_json::from_str(&write(&self.shown(object))).expect("JSON");
        json["status"] = given["status"].clone();
        let updated = self.updated(strategy, &self.read(&json), object)?;
        let refused = self.updated(&*self.strategy, &updated, &updated).err().unwrap_or_default();
        let known = refused.into_iter().filter(|error| ONLY_WHOLE.contains(&&*error.field));
        let known: Vec<Error> = known.collect();
        if known.is_empty() { Ok(updated) } else { Err(known) }
    }

    /// Returns the stored object of an update, or its errors.
    fn updated(&self, strategy: &dyn Strategy, new: &Value, old: &Value) -> Result<Value, Vec<Error>> {
        let (mut new, mut old) = (new.clone(), old.clone());
        for metadata in [&mut new, &mut old].into_iter().filter_map(Value::metadata_mut) {
            metadata.insert("resourceVersion", "7");
        }
        let context = self.context();
        strategy.prepare_for_update(&context, &mut new, &old);
        let errors = strategy.validate_update(&context, &new, &old);
        if !errors.is_empty() {
            return Err(errors);
        }
        strategy.canonicalize(&mut new);
        if let Some(metadata) = new.metadata_mut() {
            metadata.remove("resourceVersion");
        }
        Ok(new)
    }

    /// Checks what holds for every accepted object; says what does not.
    pub(crate) fn check(&self, object: &Value) -> Result<(), String> {
        let text = write(object);
        let bytes = Stored::encode(&*self.builtin, object)?;
        let same = |what: &str, found: &Value| {
            let is_same = found == object && Stored::encode(&*self.builtin, found)? == bytes;
            if is_same { Ok(()) } else { Err(format!("{what}: {text} is now {}", write(found))) }
        };
        for builtin in [&self.builtin, &self.as_json] {
            let stored = Stored::encode(&**builtin, object)?;
            same("read from the store", &builtin.decode(&stored)?)?;
            same("as the store has it", &builtin.decode_again(object.clone(), &stored)?)?;
        }
        let sent = self.read(&serde_json::from_str(&write(&self.shown(object))).expect("JSON"));
        same("sent again", &sent)?;
        for strategy in [Some(&self.strategy), self.of_status.as_ref()].into_iter().flatten() {
            let updated = self.updated(&**strategy, &sent, object);
            same(
                "updated with itself",
                &updated.map_err(|errors| format!("update with itself: {errors:?}: {text}"))?,
            )?;
        }
        for version in self.served[1..].iter().filter(|version| !LOSSY.contains(&version.name)) {
            let shown = write(&self.builtin.to_version(version, object.clone())?);
            let again = json::decode(version, shown.as_bytes()).map_err(|error| error.to_string())?;
            same(version.name, &self.builtin.from_version(version, again.value)?)?;
        }
        Ok(())
    }
}
