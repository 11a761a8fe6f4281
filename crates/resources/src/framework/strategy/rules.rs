//! A strategy as a table row.

use std::sync::Arc;
use std::time::Duration;

use pintle_meta::Value;
use pintle_meta::field_path::{self, Error};
use pintle_meta::names;
use pintle_meta::time::Time;
use pintle_meta::validation::object_meta;
use pintle_registry::{Context, DeleteOptions, GarbageCollection, ResetFields, StagedDeletion, Strategy};
use pintle_schema::Type;

use super::Settings;
use super::tree::{self, Path};
use crate::framework::semantic;
use crate::framework::validation::{Cursor, Empties, Errors};

/// The rules of a resource or subresource of a group.
pub(crate) struct Entry {
    /// `pods`, `pods/status`.
    pub(crate) name: &'static str,
    /// The type that is stored, as `core/v1.Pod`.
    pub(crate) kind: &'static str,
    pub(crate) rules: Rules,
}

/// The checks of metadata that a kind repeats on an update, beside those of every update. Clients see what is
/// found twice as two causes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MetadataRecheck {
    None,
    /// That immutable metadata did not change.
    Immutable,
    /// All checks of a new object, its name too.
    Full,
    Both,
}

/// When the metadata of a new object is checked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum MetadataCheck {
    /// Before the row's own rules.
    First,
    /// After the row's own rules, and only if they found no error: the generic check of every object is the only one.
    IfOtherwiseValid,
    /// Where the row's own rules call [`Rules::check_metadata`].
    ByRules,
}

/// Returns the errors of a name of this object, or of the prefix of a generated one.
pub(crate) type NameWithin = fn(&Value, &str, bool) -> Vec<String>;

/// Reports the errors of an object, given as the cursor of the whole.
pub(crate) type Validate = fn(&Settings, &Cursor<'_, '_>);

/// The strategy of a resource as a table row. The functions of `Rules::NAMESPACED` and `Rules::CLUSTER` do nothing.
#[derive(Clone, Copy)]
pub(crate) struct Rules {
    pub(crate) namespaced: bool,
    /// Returns the errors of a name, or of the prefix of a generated one.
    pub(crate) name: fn(&str, bool) -> Vec<String>,
    /// As `name` and in its stead, where that depends on the rest of the object.
    pub(crate) name_within: Option<NameWithin>,
    /// Whether nothing is added to the prefix of a generated name.
    pub(crate) takes_prefixes: bool,
    pub(crate) metadata_check: MetadataCheck,
    pub(crate) recheck: MetadataRecheck,
    /// Whether a finalizer without a domain must be one that Kubernetes knows.
    pub(crate) standard_finalizers: bool,
    /// Fields that are reset in a new object.
    pub(crate) cleared_on_create: &'static [Path],
    /// Fields that an update cannot change.
    pub(crate) kept_on_update: &'static [Path],
    /// A change there increments `metadata.generation`, which starts at 1. Without paths it is not set.
    pub(crate) generation_fields: &'static [Path],
    /// Whether empty lists and maps that were sent are a change: the reference compares some kinds so that nil is not empty, and
    /// reads nil from the store.
    pub(crate) generation_counts_empties: bool,
    /// Fields that managed fields leave out for this endpoint; by itself it changes nothing.
    pub(crate) reset_fields: ResetFields,
    pub(crate) create_on_update: bool,
    pub(crate) unconditional_update: bool,
    pub(crate) returns_deleted_object: bool,
    pub(crate) garbage_collection: GarbageCollection,
    /// Returns the warnings about a new object as it was decoded.
    pub(crate) early_warnings: fn(&Value) -> Vec<String>,
    /// Prepares a new object, after `cleared_on_create` and the first generation.
    pub(crate) on_create: fn(&Settings, &Context, &mut Value),
    /// Prepares a changed object (new, old), after `kept_on_update` and before `generation_fields`.
    pub(crate) on_update: fn(&Settings, &Context, &mut Value, &Value),
    /// Validates a new object beside its metadata.
    pub(crate) validate: Validate,
    /// Validates a changed object beside its metadata.
    pub(crate) validate_update: Validate,
    /// Returns the warnings about a new object or, with the old one, about a changed one.
    pub(crate) warnings: fn(&Settings, &Value, Option<&Value>) -> Vec<String>,
    /// See [`Strategy::forbids_deletion`].
    pub(crate) forbids_deletion: fn(&str) -> Option<&'static str>,
    pub(crate) delete_warnings: fn(&DeleteOptions) -> Vec<String>,
    pub(crate) canonicalize: fn(&mut Value),
    /// See [`Strategy::decorated`].
    pub(crate) decorated: fn(&Settings, &Value) -> Option<Value>,
    /// See [`Strategy::check_graceful_delete`]; there is no grace without it.
    pub(crate) grace: Option<fn(&Settings, &Value, &mut DeleteOptions) -> bool>,
    pub(crate) stages: Option<StagedDeletion>,
    pub(crate) may_go: fn(&Value, &Value) -> bool,
    pub(crate) time_to_live: fn(&Settings, &Value, Time) -> Option<Duration>,
}

impl Rules {
    pub(crate) const NAMESPACED: Rules = Rules {
        namespaced: true,
        name: object_meta::subdomain_name,
        name_within: None,
        takes_prefixes: false,
        metadata_check: MetadataCheck::First,
        recheck: MetadataRecheck::Immutable,
        standard_finalizers: true,
        cleared_on_create: &[],
        kept_on_update: &[],
        generation_fields: &[],
        generation_counts_empties: false,
        reset_fields: ResetFields::These(&[]),
        create_on_update: false,
        unconditional_update: false,
        returns_deleted_object: false,
        garbage_collection: GarbageCollection::Background,
        early_warnings: |_| Vec::new(),
        on_create: |_, _, _| {},
        on_update: |_, _, _, _| {},
        validate: |_, _| {},
        validate_update: |_, _| {},
        warnings: |_, _, _| Vec::new(),
        forbids_deletion: |_| None,
        delete_warnings: |_| Vec::new(),
        canonicalize: |_| {},
        decorated: |_, _| None,
        grace: None,
        stages: None,
        may_go: |_, _| true,
        time_to_live: |_, _, _| None,
    };

    pub(crate) const CLUSTER: Rules = Rules { namespaced: false, ..Rules::NAMESPACED };

    /// With a status that has its own subresource.
    #[must_use]
    pub(crate) const fn with_status(self) -> Rules {
        const STATUS: &[Path] = &[&["status"]];
        Rules {
            cleared_on_create: STATUS,
            kept_on_update: STATUS,
            reset_fields: ResetFields::These(STATUS),
            ..self
        }
    }

    /// Counts a new generation whenever the spec changed.
    #[must_use]
    pub(crate) const fn counting_spec(self) -> Rules {
        Rules { generation_fields: &[&["spec"]], ..self }
    }

    /// Of the status subresource of a resource with these rules: an update changes nothing of the spec. Where a resource may
    /// be created by update, the reference allows it here too, as if it were for the whole.
    #[must_use]
    pub(crate) const fn of_status(self) -> Rules {
        const SPEC: &[Path] = &[&["spec"]];
        Rules {
            recheck: MetadataRecheck::Immutable,
            kept_on_update: SPEC,
            generation_fields: &[],
            reset_fields: ResetFields::These(SPEC),
            on_update: Rules::NAMESPACED.on_update,
            validate_update: Rules::NAMESPACED.validate_update,
            warnings: Rules::NAMESPACED.warnings,
            decorated: Rules::NAMESPACED.decorated,
            ..self
        }
    }

    /// As `of_status`, where a request writes nothing of the metadata either.
    #[must_use]
    pub(crate) const fn of_status_alone(self) -> Rules {
        Rules {
            kept_on_update: &[
                &["spec"],
                &["metadata", "deletionTimestamp"],
                &["metadata", "generation"],
                &["metadata", "selfLink"],
                &["metadata", "labels"],
                &["metadata", "annotations"],
                &["metadata", "finalizers"],
                &["metadata", "ownerReferences"],
            ],
            reset_fields: ResetFields::These(&[&["metadata"], &["spec"]]),
            ..self.of_status()
        }
    }
}

/// Checks of metadata. A row has `recheck` for those of an update that come first; a kind whose rules come in another order
/// calls these between them.
impl Rules {
    /// Reports the errors of the metadata of a new object, or of a changed one as if it were new.
    pub(crate) fn check_metadata(&self, object: &Cursor<'_, '_>) {
        object.report(self.metadata_errors(object.value()));
    }

    /// Reports changes of immutable metadata.
    pub(crate) fn check_metadata_update(&self, object: &Cursor<'_, '_>) {
        object.report(self.metadata_update_errors(object.value(), object.before().value()));
    }

    fn metadata_errors(&self, object: &Value) -> Vec<Error> {
        let path = field_path::Path::new("metadata");
        let name = |name: &str, is_prefix: bool| match self.name_within {
            Some(check) => check(object, name, is_prefix),
            None => (self.name)(name, is_prefix),
        };
        let mut errors = object_meta::validate(object, self.namespaced, &name, &path);
        errors.extend(self.finalizer_errors(object));
        errors
    }

    fn metadata_update_errors(&self, new: &Value, old: &Value) -> Vec<Error> {
        let mut errors = object_meta::validate_update(new, old, &field_path::Path::new("metadata"));
        errors.extend(self.finalizer_errors(new));
        errors
    }

    fn finalizer_errors(&self, object: &Value) -> Vec<Error> {
        if self.standard_finalizers { standard_finalizers(object) } else { Vec::new() }
    }
}

/// The strategy of a resource or subresource that a table has.
pub(crate) fn find(table: &[Entry], name: &str, settings: &Settings) -> Option<Arc<dyn Strategy>> {
    let entry = table.iter().find(|entry| entry.name == name)?;
    let of = pintle_schema::find(entry.kind)?;
    Some(Arc::new(Tabled { of, rules: entry.rules, settings: settings.clone() }))
}

/// A finalizer's name has a domain, unless it is one of Kubernetes' own.
pub(crate) fn standard_finalizer(path: &field_path::Path<'_>, name: &str) -> Option<Error> {
    const STANDARD: &[&str] =
        &["kubernetes", object_meta::ORPHAN_DEPENDENTS, object_meta::FOREGROUND_DELETION];
    let wrong = "name is neither a standard finalizer name nor is it fully qualified";
    (!name.contains('/') && !STANDARD.contains(&name)).then(|| Error::invalid(path, name, wrong))
}

/// Reports changes of immutable metadata, for rows whose own rules the reference checks before. Their `recheck` leaves it out.
#[track_caller]
pub(crate) fn metadata_update(object: &Cursor<'_, '_>) {
    let path = field_path::Path::new("metadata");
    object.report(object_meta::validate_update(object.value(), object.before().value(), &path));
    object.report(standard_finalizers(object.value()));
}

/// As [`metadata_update`], for all checks of a new object's metadata.
#[track_caller]
pub(crate) fn metadata(object: &Cursor<'_, '_>, namespaced: bool, name: fn(&str, bool) -> Vec<String>) {
    let path = field_path::Path::new("metadata");
    object.report(object_meta::validate(object.value(), namespaced, &name, &path));
    object.report(standard_finalizers(object.value()));
}

fn standard_finalizers(object: &Value) -> Vec<Error> {
    let path = field_path::Path::new("metadata");
    let path = path.child("finalizers");
    let names = object.finalizers().enumerate();
    let wrong = names.filter_map(|(index, name)| standard_finalizer(&path.index(index), name));
    wrong.take(field_path::MOST_ERRORS).collect()
}

struct Tabled {
    of: &'static Type,
    rules: Rules,
    settings: Settings,
}

impl Tabled {
    fn warnings(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        (self.rules.warnings)(&self.settings, object, old)
    }

    fn walk(&self, context: &Context, validate: Validate, object: &Value, old: Option<&Value>) -> Vec<Error> {
        let errors = Errors::new(&self.settings.features).of(context.sent.clone());
        validate(&self.settings, &Cursor::root(object, old, &errors));
        errors.into_vec()
    }
}

impl Strategy for Tabled {
    fn validate_name(&self, name: &str, is_prefix: bool) -> Vec<String> {
        (self.rules.name)(name, is_prefix)
    }

    fn generate_name(&self, prefix: &str, random: &mut dyn FnMut() -> u64) -> String {
        if self.rules.takes_prefixes { prefix.to_owned() } else { names::generate(prefix, random) }
    }

    fn prepare_for_create(&self, context: &mut Context, object: &mut Value) {
        context.warnings.extend((self.rules.early_warnings)(object));
        for path in self.rules.cleared_on_create {
            tree::reset(self.of, object, path);
        }
        if !self.rules.generation_fields.is_empty() {
            tree::set(object, &["metadata", "generation"], 1i64);
        }
        (self.rules.on_create)(&self.settings, context, object);
    }

    fn validate(&self, context: &Context, object: &Value) -> Vec<Error> {
        let own = self.walk(context, self.rules.validate, object, None);
        match self.rules.metadata_check {
            MetadataCheck::First => {
                let mut errors = self.rules.metadata_errors(object);
                errors.extend(own);
                errors
            }
            MetadataCheck::IfOtherwiseValid if own.is_empty() => self.rules.metadata_errors(object),
            MetadataCheck::IfOtherwiseValid | MetadataCheck::ByRules => own,
        }
    }

    fn warnings_on_create(&self, _: &Context, object: &Value) -> Vec<String> {
        self.warnings(object, None)
    }

    fn prepare_for_update(&self, context: &Context, new: &mut Value, old: &Value) {
        for path in self.rules.kept_on_update {
            tree::keep(new, old, path);
        }
        (self.rules.on_update)(&self.settings, context, new, old);
        let has_empties = |path: &Path| {
            let value = new.at(path).unwrap_or(&Value::NULL);
            self.rules.generation_counts_empties
                && Empties::new(context.sent.clone())
                    .restored(&field_path::Path::NOWHERE.descendant(path), value)
                    .is_some()
        };
        let is_same = |path: &Path| semantic::is_same_at(self.of, new, old, path) && !has_empties(path);
        if !self.rules.generation_fields.iter().all(is_same) {
            tree::set(new, &["metadata", "generation"], old.generation() + 1);
        }
    }

    fn validate_update(&self, context: &Context, new: &Value, old: &Value) -> Vec<Error> {
        let mut errors = Vec::new();
        if matches!(self.rules.recheck, MetadataRecheck::Immutable | MetadataRecheck::Both) {
            errors.extend(self.rules.metadata_update_errors(new, old));
        }
        if matches!(self.rules.recheck, MetadataRecheck::Full | MetadataRecheck::Both) {
            errors.extend(self.rules.metadata_errors(new));
        }
        errors.extend(self.walk(context, self.rules.validate_update, new, Some(old)));
        errors
    }

    fn warnings_on_update(&self, _: &Context, new: &Value, old: &Value) -> Vec<String> {
        self.warnings(new, Some(old))
    }

    fn reset_fields(&self) -> ResetFields {
        self.rules.reset_fields
    }

    fn canonicalize(&self, object: &mut Value) {
        (self.rules.canonicalize)(object);
    }

    fn decorated(&self, object: &Value) -> Option<Value> {
        (self.rules.decorated)(&self.settings, object)
    }

    fn allows_create_on_update(&self) -> bool {
        self.rules.create_on_update
    }

    fn allows_unconditional_update(&self) -> bool {
        self.rules.unconditional_update
    }

    fn garbage_collection(&self) -> GarbageCollection {
        self.rules.garbage_collection
    }

    fn forbids_deletion(&self, name: &str) -> Option<&'static str> {
        (self.rules.forbids_deletion)(name)
    }

    fn warnings_on_delete(&self, options: &DeleteOptions) -> Vec<String> {
        (self.rules.delete_warnings)(options)
    }

    fn deletes_gracefully(&self) -> bool {
        self.rules.grace.is_some()
    }

    fn check_graceful_delete(&self, object: &Value, options: &mut DeleteOptions) -> bool {
        self.rules.grace.is_some_and(|grace| grace(&self.settings, object, options))
    }

    fn staged_deletion(&self) -> Option<StagedDeletion> {
        self.rules.stages
    }

    fn should_delete_during_update(&self, new: &Value, old: &Value) -> bool {
        (self.rules.may_go)(new, old)
    }

    fn returns_deleted_object(&self) -> bool {
        self.rules.returns_deleted_object
    }

    fn time_to_live(&self, object: &Value, now: Time) -> Option<Duration> {
        (self.rules.time_to_live)(&self.settings, object, now)
    }
}
