//! Repairs of refused objects, by the causes that validation gives.
//!
//! ```text
//! Required value     the field is written
//! Unsupported value  one of the supported values
//! Invalid value      an example or a number of the message, or another value; then the field is removed
//! Forbidden          the field is removed
//! Duplicate value    the item is removed
//! ```
//!
//! A cause that comes back takes ever more away: the field, the struct that has it, the one above.

use std::collections::HashMap;

use pintle_meta::field_path::{Error, ErrorType};
use pintle_schema::{Scalar, Shape, Type};
use serde_json::{Map, Value as Json};

use crate::author::{Author, Place};
use crate::words;

/// Ends of causes that leave a step out, and that step, which belongs before the last.
const MISNAMED: &[([&str; 2], &str)] =
    &[(["resources", "storage"], "requests"), (["template", "labels"], "metadata")];

pub(crate) struct Repair<'a> {
    author: &'a Author<'a>,
    kind: &'static Type,
    /// How often each field was named by a cause.
    tries: HashMap<String, usize>,
    rounds: usize,
}

impl<'a> Repair<'a> {
    pub(crate) fn new(author: &'a Author<'a>, kind: &'static Type) -> Repair<'a> {
        Repair { author, kind, tries: HashMap::new(), rounds: 0 }
    }

    /// Changes an object where errors say that it is wrong.
    pub(crate) fn repair(&mut self, object: &mut Json, errors: &[Error]) {
        self.rounds += 1;
        self.author.refresh(self.rounds > 6);
        let mut seen: Vec<&str> = Vec::new();
        // The last ones first, so that indexes stay right when items are removed.
        for error in errors.iter().take(50).rev() {
            if !seen.contains(&error.field.as_str()) {
                seen.push(&error.field);
                self.one(object, error);
            }
        }
    }

    fn one(&mut self, object: &mut Json, error: &Error) {
        let mut steps = steps(&error.field);
        // Some causes name a field of the spec as if it were elsewhere.
        if let Some((_, left_out)) = MISNAMED.iter().find(|(end, _)| steps.ends_with(end)) {
            steps.insert(steps.len() - 1, left_out);
        } else if self.place(object, &steps).is_none() {
            let in_spec = [&["spec"], steps.get(1..).unwrap_or_default()].concat();
            if self.place(object, &in_spec).is_some() {
                steps = in_spec;
            }
        }
        let tries = self.tries.entry(error.field.clone()).or_default();
        *tries += 1;
        let tries = *tries;
        if steps == ["metadata", "name"] {
            object["metadata"]["name"] = self.name(object, error).into();
            return;
        }
        let place = self.place(object, &steps).filter(|_| !steps.is_empty());
        let is_whole = place.is_some_and(|place| place.shape.structure().is_some());
        match (error.kind, place) {
            (ErrorType::Required | ErrorType::TooFew, Some(place)) if tries <= 12 => {
                match find(object, &steps) {
                    Some(Json::Object(fields)) if is_whole => self.add_member(fields, place),
                    _ => set(object, &steps, self.author.value(place, 0)),
                }
            }
            (ErrorType::NotSupported, Some(place)) if tries <= 4 => match place.shape.underlying() {
                Shape::Scalar(Scalar::String) | Shape::Map(..) => {
                    self.set_supported(object, &steps, place, error);
                }
                _ => self.remove(object, &steps, 0),
            },
            (ErrorType::Invalid | ErrorType::NotFound | ErrorType::TypeInvalid, Some(place))
                if tries <= (if error.kind == ErrorType::NotFound { 2 } else { 5 }) && !is_whole =>
            {
                set(object, &steps, self.other(place, error));
            }
            (ErrorType::Duplicate | ErrorType::NotFound, _) if tries <= 6 => remove_item(object, &steps),
            (ErrorType::Forbidden | ErrorType::Duplicate | ErrorType::TooLong | ErrorType::TooMany, _) => {
                self.remove(object, &steps, tries - 1);
            }
            (ErrorType::Invalid, Some(place)) if is_whole && tries == 1 => {
                set(object, &steps, self.author.value(place, 0));
            }
            _ => self.remove(object, &steps, tries.saturating_sub(6)),
        }
    }

    /// Removes a field, or what is some levels above it. Causes below are forgotten.
    fn remove(&mut self, object: &mut Json, steps: &[&str], above: usize) {
        if above > 0 && steps.len() <= above + 1 {
            return self.remove_any(object);
        }
        let kept = &steps[..steps.len() - above];
        remove(object, kept);
        if above > 0 {
            let name =
                kept.iter().rev().find(|step| step.parse::<usize>().is_err()).copied().unwrap_or_default();
            self.tries.retain(|path, _| !path.contains(name));
        }
    }

    /// Sets one of the values that a cause names, or a map with it as its key.
    fn set_supported(&self, object: &mut Json, steps: &[&str], place: Place, error: &Error) {
        let values = quoted(&error.detail, '"');
        if values.is_empty() {
            return remove(object, steps);
        }
        let value = self.author.one_of(&values);
        match place.shape.underlying() {
            Shape::Map(_, of) => {
                let entry = self.author.value(Place { shape: *of, ..place }, 0);
                set(object, steps, Json::Object(Map::from_iter([(value.to_owned(), entry)])));
            }
            _ => set(object, steps, value.into()),
        }
    }

    /// Removes something of the spec, where a cause does not go away.
    fn remove_any(&self, object: &mut Json) {
        let Some(root) = object.as_object_mut() else { return };
        let names = |of: &Map<String, Json>| of.keys().cloned().collect::<Vec<_>>();
        match root.get_mut("spec") {
            Some(Json::Object(spec)) if !spec.is_empty() => {
                let names = names(spec);
                spec.remove(&names[self.author.below(names.len())]);
            }
            _ => {
                let names: Vec<_> = names(root)
                    .into_iter()
                    .filter(|name| !["metadata", "kind", "apiVersion"].contains(&name.as_str()))
                    .collect();
                if !names.is_empty() {
                    root.remove(&names[self.author.below(names.len())]);
                }
            }
        }
    }

    /// Returns a name for an object whose name is wrong: kinds have names of other fields, or of a format.
    fn name(&self, object: &Json, error: &Error) -> String {
        let text =
            |pointer: &str| object.pointer(pointer).and_then(Json::as_str).unwrap_or_default().to_owned();
        if error.detail.contains("spec.names.plural") {
            return format!("{}.{}", text("/spec/names/plural"), text("/spec/group"));
        }
        if error.detail.contains("spec.version") {
            return format!("{}.{}", text("/spec/version"), text("/spec/group"));
        }
        let signer = text("/spec/signerName");
        if !signer.is_empty() {
            return format!("{}:a", signer.replace('/', ":"));
        }
        self.author.one_of(words::NAMES).to_owned()
    }

    /// Returns another value for a field: what the message has as an example, a number of it, or any text.
    fn other(&self, place: Place, error: &Error) -> Json {
        let value = self.author.value(place, 0);
        let detail = &error.detail;
        match value {
            Json::Number(_) => {
                let numbers: Vec<i64> = detail
                    .split(|c: char| !c.is_ascii_digit())
                    .filter_map(|number| number.parse().ok())
                    .collect();
                if numbers.is_empty() { value } else { self.author.one_of(&numbers).into() }
            }
            Json::String(_) if is_text(place.shape) => {
                let mut examples = quoted(detail, '\'');
                examples.extend(quoted(detail, '"'));
                match self.author.below(3) {
                    0 => value,
                    1 if !examples.is_empty() => self.author.one_of(&examples).into(),
                    _ => self.author.one_of(words::FORMATS).into(),
                }
            }
            value => value,
        }
    }

    /// Sets a further field of a struct, one that has no value.
    fn add_member(&self, fields: &mut Map<String, Json>, place: Place) {
        let Some(structure) = place.shape.structure() else { return };
        let absent: Vec<_> = structure.flat.iter().filter(|field| !fields.contains_key(field.name)).collect();
        if let Some(field) = (!absent.is_empty()).then(|| self.author.one_of(&absent)) {
            let place = Place { shape: field.shape, parent: "", field: field.name };
            let value = self.author.value(place, 0);
            fields.insert(field.name.into(), value);
        }
    }

    /// Returns what the type graph has at a path; `None` where the path does not follow it.
    fn place(&self, object: &Json, steps: &[&str]) -> Option<Place> {
        let mut place = Place { shape: Shape::Named(self.kind), parent: "", field: "" };
        let mut value = Some(object);
        for step in steps {
            while let Shape::Pointer(of) = place.shape.underlying() {
                place.shape = *of;
            }
            place = match place.shape.underlying() {
                Shape::List(of) => {
                    value?.as_array()?;
                    Place { shape: *of, ..place }
                }
                Shape::Map(_, of) => Place { shape: *of, ..place },
                Shape::Named(of) => {
                    let field = of.structure()?.field(step)?;
                    Place { shape: field.shape, parent: of.name, field: field.name }
                }
                _ => return None,
            };
            value = value.and_then(|value| child(value, step));
        }
        while let Shape::Pointer(of) = place.shape.underlying() {
            place.shape = *of;
        }
        Some(place)
    }
}

fn is_text(shape: Shape) -> bool {
    matches!(shape.underlying(), Shape::Scalar(Scalar::String))
}

/// Returns the texts between quotes.
fn quoted(text: &str, quote: char) -> Vec<&str> {
    text.split(quote).skip(1).step_by(2).filter(|text| text.len() < 80).collect()
}

/// Returns the steps of a path: `a.b[0].c[d.e]` is `a`, `b`, `0`, `c`, `d.e`.
fn steps(path: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        if let Some(inner) = rest.strip_prefix('[') {
            let end = inner.find(']').unwrap_or(inner.len());
            found.push(&inner[..end]);
            rest = inner.get(end + 1..).unwrap_or_default();
        } else {
            let inner = rest.strip_prefix('.').unwrap_or(rest);
            let end = inner.find(['.', '[']).unwrap_or(inner.len());
            if end > 0 {
                found.push(&inner[..end]);
            }
            rest = &inner[end..];
        }
    }
    found
}

fn child<'j>(value: &'j Json, step: &str) -> Option<&'j Json> {
    match value {
        Json::Array(items) => items.get(step.parse::<usize>().ok()?),
        other => other.get(step),
    }
}

fn child_mut<'j>(value: &'j mut Json, step: &str) -> Option<&'j mut Json> {
    match value {
        Json::Array(items) => items.get_mut(step.parse::<usize>().ok()?),
        other => other.get_mut(step),
    }
}

fn find<'j>(object: &'j mut Json, steps: &[&str]) -> Option<&'j mut Json> {
    steps.iter().try_fold(object, |value, step| child_mut(value, step))
}

/// Sets a field, with the structs above it.
fn set(object: &mut Json, steps: &[&str], value: Json) {
    let Some((last, above)) = steps.split_last() else { return };
    let mut at = object;
    for step in above {
        if let Json::Object(fields) = at {
            fields.entry(*step).or_insert_with(|| Json::Object(Map::new()));
        }
        let Some(next) = child_mut(at, step) else { return };
        if next.is_null() {
            *next = Json::Object(Map::new());
        }
        at = next;
    }
    match at {
        Json::Object(fields) => {
            fields.insert((*last).to_owned(), value);
        }
        Json::Array(items) => {
            if let Some(item) = last.parse::<usize>().ok().and_then(|index| items.get_mut(index)) {
                *item = value;
            }
        }
        _ => {}
    }
}

/// Removes a field, or the deepest struct on the way to it. The object's metadata and namespace stay.
fn remove(object: &mut Json, steps: &[&str]) {
    let mut steps = steps;
    // The path of a cause may go further than the object, as where defaults are wrong.
    while steps.len() > 1 && find(object, steps).is_none() {
        steps = &steps[..steps.len() - 1];
    }
    let Some((last, parents)) = steps.split_last() else { return };
    if steps == ["metadata"] || steps == ["metadata", "namespace"] {
        return;
    }
    match find(object, parents) {
        Some(Json::Object(fields)) => {
            fields.remove(*last);
        }
        Some(Json::Array(items)) => {
            if let Some(index) = last.parse::<usize>().ok().filter(|index| *index < items.len()) {
                items.remove(index);
            }
        }
        _ => {}
    }
    // An empty list or map is mostly worse than none.
    if parents.len() > 1
        && find(object, parents).is_some_and(|left| left.as_array().is_some_and(Vec::is_empty))
    {
        remove(object, parents);
    }
}

/// Removes the item of a list that a path goes through last.
fn remove_item(object: &mut Json, steps: &[&str]) {
    for length in (1..=steps.len()).rev() {
        if find(object, &steps[..length - 1]).is_some_and(|parent| parent.is_array()) {
            return remove(object, &steps[..length]);
        }
    }
    remove(object, steps);
}
