//! Why an object is not valid, in the reference's words and order.
//!
//! Where the reference goes through a map, its order is by chance; here it is by name. Where it has alternatives, the reference tells what is wrong with the one that the most checks went well with. So checks are
//! counted as it counts them.

use std::collections::HashSet;
use std::fmt::Write;

use pintle_codec::json;
use pintle_meta::field_path::{self, Error, Path};
use pintle_meta::{Node as Shape, Object, Value, quote};

use super::number::{Number, Problem};
use super::old::Before;
use super::{Asked, Node, Other, WrongText};
use crate::object::bounded_errors::BoundedErrors;
use crate::object::coerce::error_value;

/// Everything that is wrong. The prefix is where the value is, if it is not the whole object; what it was before counts if
/// there was something.
pub(super) fn errors<'v>(
    node: &Node,
    prefix: Option<&str>,
    value: &'v Value,
    old: Option<&'v Value>,
) -> Vec<Error> {
    let mut report = Report {
        prefix: prefix.map_or(Path::NOWHERE, Path::new),
        path: String::new(),
        reported: BoundedErrors::default(),
        wrong: 0,
        forgotten: 0,
        before: Before::default(),
    };
    report.value(node, value, old);
    let mut errors = report.reported.errors;
    let mut reported = HashSet::new();
    errors.retain(|error| reported.insert(error.to_string()));
    errors
}

struct Report<'p, 'v> {
    prefix: Path<'p>,
    /// As the reference has it: `spec.ports[0].name`; a property without a schema of its own at the root begins with a dot.
    path: String,
    reported: BoundedErrors,
    /// Number of errors, with those past the limit.
    wrong: usize,
    /// How much text was made of values that turned out to be as before.
    forgotten: usize,
    before: Before<'v>,
}

/// Text of values that are as before, from which on they are compared first.
const MUCH: usize = 8 << 20;

/// How far a report was.
#[derive(Clone, Copy)]
struct Mark {
    errors: usize,
    wrong: usize,
    text: usize,
}

/// The errors of an alternative, and its number of passed checks.
struct Failure {
    errors: Vec<Error>,
    wrong: usize,
    text: usize,
    matches: usize,
}

impl<'v> Report<'_, 'v> {
    /// A value that may be what it was before, in which case nothing is wrong with it. Returns how many checks went well.
    fn value(&mut self, node: &Node, value: &'v Value, old: Option<&'v Value>) -> usize {
        pintle_work::check();
        // Reports of many wrong values may be long, and values that are as before are not reported. Checks are
        // only counted where there is nothing before.
        if self.forgotten >= MUCH
            && let Some(old) = old
            && self.before.is_equal(node, value, old)
        {
            return 0;
        }
        let mark = self.mark();
        let matches = self.check(node, value, old);
        if self.wrong > mark.wrong
            && let Some(old) = old
            && self.before.is_equal(node, value, old)
        {
            self.forgotten += self.reported.text - mark.text;
            self.back_to(mark);
        }
        matches
    }

    fn check(&mut self, node: &Node, value: &'v Value, old: Option<&'v Value>) -> usize {
        let asked = node.asked.as_deref();
        if value.is_null() {
            if !node.takes_null() {
                self.wrong_type(&node.kinds.names(), "null");
            }
            if let Some(asked) = asked.filter(|asked| !asked.values.is_empty()) {
                self.not_allowed(asked, value);
            }
            return usize::from(node.takes_null());
        }
        // The value as a whole, alternatives, and enumeration.
        let mut matches = 3;
        if !node.kinds.is_empty() || asked.is_some_and(|asked| asked.format.is_some()) {
            matches += 1;
            match node.wrong_type(value) {
                None => matches += 1,
                Some(wrong) => self.wrong_type(&wrong.wanted, wrong.found),
            }
        }
        matches += 1;
        if let Some(asked) = asked {
            matches += self.alternatives(asked, value);
        }
        match value.node() {
            Shape::String(text) => {
                matches += 1;
                if let Some(asked) = asked {
                    self.text(asked, text);
                    matches +=
                        usize::from(asked.format.as_ref().is_some_and(|format| format.check.is_some()));
                }
            }
            Shape::Int(int) => {
                self.number(asked, Number::Int(int));
                matches += 2;
            }
            Shape::Float(float) => {
                self.number(asked, Number::Float(float));
                matches += 2;
            }
            Shape::List(items) => matches += 2 + self.list(node, items, old),
            Shape::Object(_) => matches += 1,
            _ => {}
        }
        if let Some(asked) = asked.filter(|asked| !asked.has_value(value)) {
            self.not_allowed(asked, value);
        }
        if let Shape::Object(object) = value.node() {
            matches += self.object(node, object, old);
        }
        matches
    }

    fn alternatives(&mut self, asked: &Asked, value: &'v Value) -> usize {
        let mut matches = 0;
        if !asked.any_of.is_empty() {
            match asked.any_of.iter().find(|node| node.is_valid(value)) {
                Some(valid) => matches += self.check(valid, value, None),
                None => {
                    let (best, dropped) = self.best(&asked.any_of, value);
                    self.composite("must validate at least one schema (anyOf)");
                    matches += self.tell(best);
                    self.reported.text += dropped;
                }
            }
        }
        if !asked.one_of.is_empty() {
            let valid: Vec<&Node> = asked.one_of.iter().filter(|node| node.is_valid(value)).collect();
            match valid.as_slice() {
                [one] => matches += self.check(one, value, None),
                [] => {
                    let (best, dropped) = self.best(&asked.one_of, value);
                    self.composite("must validate one and only one schema (oneOf). Found none valid");
                    matches += self.tell(best);
                    self.reported.text += dropped;
                }
                several => {
                    let found = format!("Found {} valid alternatives", several.len());
                    self.composite(&format!("must validate one and only one schema (oneOf). {found}"));
                }
            }
        }
        if !asked.all_of.is_empty() {
            let mut valid = 0;
            for node in &asked.all_of {
                let mark = self.mark();
                matches += self.check(node, value, None);
                valid += usize::from(self.wrong == mark.wrong);
            }
            if valid == 0 {
                self.composite("must validate all the schemas (allOf). None validated");
            } else if valid < asked.all_of.len() {
                self.composite("must validate all the schemas (allOf)");
            }
        }
        if asked.not.as_ref().is_some_and(|node| node.is_valid(value)) {
            self.composite("must not validate the schema (not)");
        }
        matches
    }

    /// The errors of the first of the alternatives that the most checks went well with, none of which is valid; and
    /// how much text was made for the others. That counts towards the limit, since it is work for every such value.
    fn best(&mut self, alternatives: &[Node], value: &'v Value) -> (Option<Failure>, usize) {
        let (mut best, mut dropped): (Option<Failure>, usize) = (None, 0);
        for node in alternatives {
            let mark = self.mark();
            let matches = self.check(node, value, None);
            let errors = self.reported.errors.split_off(mark.errors);
            let text = self.reported.text - mark.text;
            let failure = Failure { errors, wrong: self.wrong - mark.wrong, text, matches };
            self.back_to(mark);
            dropped += match &best {
                Some(known) if known.matches >= failure.matches => failure.text,
                _ => best.replace(failure).map_or(0, |known| known.text),
            };
        }
        (best, dropped)
    }

    fn tell(&mut self, failure: Option<Failure>) -> usize {
        let Some(failure) = failure else { return 0 };
        self.reported.errors.extend(failure.errors);
        self.wrong += failure.wrong;
        self.reported.text += failure.text;
        failure.matches
    }

    fn text(&mut self, asked: &Asked, text: &str) {
        match asked.wrong_text(text) {
            None => {}
            Some(WrongText::TooLong(max)) => {
                self.fail("", |at, _| Error::too_long(at, usize::try_from(max).ok()));
            }
            Some(WrongText::TooShort(min)) => {
                self.invalid(text, |path| format!("{path} in body should be at least {min} chars long"));
            }
            Some(WrongText::Pattern(pattern)) => {
                self.invalid(text, |path| format!("{path} in body should match '{pattern}'"));
            }
            Some(WrongText::BadPattern(pattern, wrong)) => self.invalid(text, |path| {
                format!("{path} in body should match '{pattern}, but pattern is invalid: {wrong}'")
            }),
        }
        if let Some(format) = asked.format.as_ref().filter(|_| !asked.has_format(text)) {
            self.wrong_type(&format.name, text);
        }
    }

    fn number(&mut self, asked: Option<&Asked>, number: Number) {
        let Some(numbers) = asked.and_then(|asked| asked.numbers.as_ref()) else { return };
        numbers.check(number, |problem| match problem {
            Problem::Range(what, range) => {
                self.fail_whole(|path| format!("{what} value must be of type {} in {path}", range.words()));
            }
            Problem::NoFactor(factor) => self.invalid(factor, |path| {
                format!("factor MultipleOf declared for {path} must be positive: {factor}")
            }),
            problem => self.invalid(number, |path| format!("{path} in body {}", problem.words())),
        });
    }

    fn list(&mut self, node: &Node, items: &'v [Value], old: Option<&'v Value>) -> usize {
        let mut matches = 0;
        if let Some(of) = node.items.as_deref() {
            let length = self.path.len();
            for (place, item) in items.iter().enumerate() {
                _ = write!(self.path, "[{place}]");
                let before = old.and_then(|old| self.before.item(node, old, item));
                matches += self.value(of, item, before);
                self.path.truncate(length);
            }
        }
        let Some(asked) = node.asked.as_deref() else { return matches };
        let length = items.len() as i64;
        if let Some(min) = asked.min_items.filter(|min| length < *min) {
            self.invalid(length, |path| format!("{path} in body should have at least {min} items"));
        }
        if let Some(max) = asked.max_items.filter(|max| length > *max) {
            let max = usize::try_from(max).ok();
            self.fail("", |at, _| Error::too_many(at, Some(items.len()), max));
        }
        if asked.unique && crate::object::lists::has_duplicates(items) {
            self.invalid("", |path| format!("{path} in body shouldn't contain duplicates"));
        }
        matches
    }

    fn object(&mut self, node: &Node, object: &'v Object, old: Option<&'v Value>) -> usize {
        let mut matches = 0;
        let asked = node.asked.as_deref();
        let length = object.len() as i64;
        if let Some(min) = asked.and_then(|asked| asked.min_properties).filter(|min| length < *min) {
            self.invalid(length, |path| format!("{path} in body should have at least {min} properties"));
        }
        if let Some(max) = asked.and_then(|asked| asked.max_properties).filter(|max| length > *max) {
            let max = usize::try_from(max).ok();
            self.fail("", |at, _| Error::too_many(at, Some(object.len()), max));
        }
        let others = object.iter().filter(|(name, _)| node.property(name).is_none());
        match &node.other {
            Other::Anything => {}
            Other::Nothing => others.for_each(|(name, _)| {
                self.invalid(name, |path| format!("{path}.{name} in body is a forbidden property"));
            }),
            Other::Schema(of) => {
                for (name, value) in others {
                    matches += self.field(of, name, true, value, old);
                }
            }
        }
        for (name, of) in &node.properties {
            if let Some(value) = object.get(name) {
                matches += self.field(of, name, !self.path.is_empty(), value, old);
            }
        }
        let required = asked.map_or(&[][..], |asked| &asked.required);
        for name in required.iter().filter(|name| !object.contains(name)) {
            self.fail(name, |at, _| Error::required(at, ""));
        }
        matches
    }

    fn field(
        &mut self,
        of: &Node,
        name: &str,
        dotted: bool,
        value: &'v Value,
        old: Option<&'v Value>,
    ) -> usize {
        // Both objects have been made the same kind and version before they were compared.
        let is_type = self.path.is_empty() && matches!(name, "kind" | "apiVersion");
        let before = old.filter(|_| !is_type).and_then(|old| old.get(name));
        let length = self.path.len();
        if dotted {
            self.path.push('.');
        }
        self.path.push_str(name);
        let matches = self.value(of, value, before);
        self.path.truncate(length);
        matches
    }

    fn mark(&self) -> Mark {
        Mark { errors: self.reported.errors.len(), wrong: self.wrong, text: self.reported.text }
    }

    fn back_to(&mut self, mark: Mark) {
        self.reported.errors.truncate(mark.errors);
        self.wrong = mark.wrong;
        self.reported.text = mark.text;
    }

    /// An error about the value or a field of it.
    fn fail(&mut self, field: &str, error: impl FnOnce(&Path<'_>, &str) -> Error) {
        let length = self.path.len();
        if !field.is_empty() {
            self.path.push('.');
            self.path.push_str(field);
        }
        let name = self.path.strip_prefix('.').unwrap_or(&self.path);
        let place = self.prefix.child(name);
        let at = if name.is_empty() { &self.prefix } else { &place };
        self.wrong += 1;
        self.reported.push(|| error(at, &self.path));
        self.path.truncate(length);
    }

    fn invalid(&mut self, value: impl Into<field_path::Value>, detail: impl FnOnce(&str) -> String) {
        self.fail("", |at, path| Error::invalid(at, value, detail(path)));
    }

    /// An error that has its place only in its words.
    fn fail_whole(&mut self, detail: impl FnOnce(&str) -> String) {
        let prefix = self.prefix;
        self.fail("", |_, path| Error::invalid(&prefix, "", detail(path)));
    }

    fn composite(&mut self, words: &str) {
        self.fail_whole(|path| format!("{} {words}", quote(path)));
    }

    fn wrong_type(&mut self, wanted: &str, found: &str) {
        self.fail("", |at, path| {
            Error::type_invalid(
                at,
                found,
                format!("{path} in body must be of type {wanted}: {}", quote(found)),
            )
        });
    }

    fn not_allowed(&mut self, asked: &Asked, value: &Value) {
        self.fail("", |at, _| {
            let allowed: Vec<String> = asked.values.iter().map(plain).collect();
            Error::not_supported(at, error_value(value), &allowed)
        });
    }
}

/// A string as it is, everything else as JSON.
fn plain(value: &Value) -> String {
    match value.as_str() {
        Some(text) => text.to_owned(),
        None => {
            let mut text = Vec::new();
            json::encode(value, &mut text);
            String::from_utf8_lossy(&text).into_owned()
        }
    }
}
