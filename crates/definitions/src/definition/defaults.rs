//! Defaults are values that the schema accepts: they have no unknown fields, and obey it as if a client had sent them.

use pintle_meta::Value;
use pintle_meta::field_path::{Error, Path, aggregate};
use pintle_meta::value::{Key, Object};
use pintle_schema::structural::Structural;

use super::errors::Errors;
use crate::object::{self, Validator, embedded};
use crate::rules::{self, Rules};

/// How many nodes of schemas are looked at for all defaults together. A default within a default has what is below it looked at
/// twice, and so on; real schemas need a fraction of it.
const MOST_NODES: usize = 2_000_000;

/// A rule takes much longer to compile than a node.
const NODES_PER_RULE: usize = 200;

/// Returns the errors of the defaults of a schema.
pub(super) fn validate(schema: &Structural, pruned: bool, path: &Path<'_>) -> Errors {
    let mut check =
        Check { pruned, errors: Errors::default(), budget: rules::BUDGET, room: MOST_NODES, root: schema };
    if schema.marks.defaults {
        check.node(
            schema,
            DefaultPosition { resource: schema, way: &mut Vec::new(), in_metadata: false },
            path,
        );
    }
    check.errors
}

/// Whether defaults have unknown fields.
pub(super) fn has_unpruned(schema: &Structural) -> bool {
    fn differs(a: &Structural, b: &Structural) -> bool {
        let additional = || a.additional_schema().zip(b.additional_schema());
        let items = || a.items.as_deref().zip(b.items.as_deref());
        a.marks.defaults
            && (a.default != b.default
                || additional().is_some_and(|(a, b)| differs(a, b))
                || items().is_some_and(|(a, b)| differs(a, b))
                || a.properties.iter().zip(&b.properties).any(|((_, a), (_, b))| differs(a, b)))
    }
    let mut pruned = schema.clone();
    object::prune_defaults(&mut pruned).is_ok() && differs(schema, &pruned)
}

/// Where a default is.
struct DefaultPosition<'s, 'w> {
    /// The object that it is within: the root, or one that is embedded.
    resource: &'s Structural,
    /// How one gets there from that object.
    way: &'w mut Vec<PathSegment>,
    /// Whether it is part of what every object has.
    in_metadata: bool,
}

enum PathSegment {
    Item,
    Property(Key),
}

struct Check<'s> {
    pruned: bool,
    errors: Errors,
    /// Remaining cost budget of rules.
    budget: i64,
    room: usize,
    root: &'s Structural,
}

impl<'s> Check<'s> {
    fn is_done(&self) -> bool {
        self.errors.is_full() || self.budget < 0 || self.room == 0
    }

    fn is_resource(&self, schema: &Structural) -> bool {
        schema.embedded || std::ptr::eq(schema, self.root)
    }

    fn node(&mut self, schema: &'s Structural, place: DefaultPosition<'s, '_>, path: &Path<'_>) {
        if !schema.marks.defaults || self.is_done() {
            return;
        }
        if self.is_resource(schema) && !place.way.is_empty() {
            let place = DefaultPosition { resource: schema, way: &mut Vec::new(), in_metadata: false };
            return self.node(schema, place, path);
        }
        if let Some(default) = &schema.default {
            self.default(schema, default, &place, &path.child("default"));
        }
        // Other properties have no defaults.
        let DefaultPosition { resource, way, in_metadata } = place;
        if let Some(items) = schema.items.as_deref() {
            way.push(PathSegment::Item);
            self.node(items, DefaultPosition { resource, way, in_metadata }, &path.child("items"));
            way.pop();
        }
        let properties = path.child("properties");
        for (name, property) in &schema.properties {
            let own = self.is_resource(schema) && matches!(name.as_str(), "metadata" | "apiVersion" | "kind");
            way.push(PathSegment::Property(name.clone()));
            let place = DefaultPosition { resource, way, in_metadata: in_metadata || own };
            self.node(property, place, &properties.key(name));
            way.pop();
        }
    }

    fn default(
        &mut self,
        schema: &'s Structural,
        default: &Value,
        place: &DefaultPosition<'s, '_>,
        path: &Path<'_>,
    ) {
        self.room = self.room.saturating_sub(weight(schema, self.room));
        if self.room == 0 {
            let why = "defaults within defaults are too many to be checked";
            return self.errors.push(Error::forbidden(path, why));
        }
        let mut value = default.clone();
        let wrong = if place.in_metadata {
            metadata(default, place, path)
        } else {
            let is_resource = self.is_resource(schema);
            if self.pruned {
                let mut pruned = default.clone();
                object::prune(schema, &mut pruned, is_resource);
                if pruned != *default {
                    let why = "must not have unknown fields";
                    self.errors.push(Error::invalid(path, object::error_value(default), why));
                }
            }
            match object::coerce_embedded(schema, &mut value, is_resource, false) {
                Err(error) => vec![moved(error, path)],
                Ok(_) => {
                    let wrong = embedded::validate(schema, &value, is_resource).into_iter();
                    wrong.map(|error| moved(error, path)).collect()
                }
            }
        };
        if !wrong.is_empty() {
            return self.errors.extend(wrong);
        }
        let wrong = Validator::new(schema).validate(&value);
        if !wrong.is_empty() {
            return self.errors.extend(wrong.into_iter().map(|error| moved(error, path)));
        }
        self.rules(schema, &value, std::ptr::eq(schema, place.resource), path);
    }

    /// As a value that was there before, and as one that was not.
    fn rules(&mut self, schema: &Structural, value: &Value, is_resource: bool, path: &Path<'_>) {
        let rules = Rules::compile_part(schema, is_resource);
        if rules.is_empty() {
            return;
        }
        let kept = rules.check_value(schema, value, Some(value), path, self.budget);
        let fine = kept.errors.is_empty();
        self.errors.extend(kept.errors);
        let mut left = kept.budget;
        if fine {
            let new = rules.check_value(schema, value, None, path, self.budget);
            self.errors.extend(new.errors);
            left = left.min(new.budget);
        }
        self.budget = left;
    }
}

/// Checks a default of metadata as part of a whole object.
fn metadata(default: &Value, place: &DefaultPosition<'_, '_>, path: &Path<'_>) -> Vec<Error> {
    let surrounded = place.way.iter().rev().fold(default.clone(), |value, step| match step {
        PathSegment::Item => Value::list(vec![value]),
        PathSegment::Property(name) => Value::object(Object::from_iter([(name.clone(), value)])),
    });
    let mut object = surrounded;
    if let Some(fields) = object.as_object_mut() {
        for (name, text) in [("kind", "Validation"), ("apiVersion", "validation/v1")] {
            if !fields.contains(name) {
                fields.insert(name, text);
            }
        }
    }
    let wrong = match object::coerce_embedded(place.resource, &mut object, true, false) {
        Err(error) => error.to_string(),
        Ok(_) => aggregate(&embedded::validate(place.resource, &object, true)),
    };
    if wrong.is_empty() {
        return Vec::new();
    }
    vec![Error::invalid(
        path,
        object::error_value(default),
        format!("must result in valid metadata: {wrong}"),
    )]
}

/// Prefixes the path of an error within a default with its path in the definition.
fn moved(mut error: Error, path: &Path<'_>) -> Error {
    let base = path.to_string();
    error.field = match error.field.as_str() {
        "" | "<nil>" => base,
        within if within.starts_with('[') => base + within,
        within => format!("{base}.{within}"),
    };
    error
}

/// Number of nodes, if not more than the limit.
fn weight(schema: &Structural, most: usize) -> usize {
    let mut sum = 1 + schema.rules.len() * NODES_PER_RULE;
    let nested = schema.validation.iter().flat_map(|validation| {
        let all = validation.all_of.iter().chain(&validation.any_of).chain(&validation.one_of);
        all.chain(validation.not.as_deref())
    });
    let below = schema.items.as_deref().into_iter().chain(schema.additional_schema());
    for below in below.chain(schema.properties.iter().map(|(_, node)| node)).chain(nested) {
        if sum >= most {
            return most;
        }
        sum += weight(below, most - sum);
    }
    sum.min(most)
}
