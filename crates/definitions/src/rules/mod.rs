//! `x-kubernetes-validations`: rules in the Common Expression Language.
//!
//! ```text
//! Structural ── types ──> what `self` is, how large it can be ──> expression ──> programs
//!                                                                    │
//!                definition (may these rules be)  <──────────────────┴──> check (does this object obey them)
//! ```
//!
//! [`Rules`] holds the programs of a schema, in a tree of the nodes that have rules at or below; what the schema says is read
//! from the schema. [`definition`] validates rules when a definition is written.

mod check;
mod correlate;
pub mod definition;
mod expression;
mod field_path;
#[cfg(test)]
mod tests;
mod types;

use std::fmt;
use std::sync::Arc;

use pintle_meta::field_path::{Error, ErrorType, Path, Value as Printed};
use pintle_meta::value::Key;
use pintle_schema::structural::Structural;

pub use self::check::Checked;
use self::expression::{Compiled, Compiler};
pub use self::field_path::FieldPath;
pub use self::types::ResourceType;
use self::types::{Declared, is_visible};

/// The maximum cost of all rules on one object.
pub const BUDGET: i64 = 10_000_000;

/// The rules of a schema.
pub struct Rules {
    root: Option<Box<Node>>,
}

/// The rules of a node and of those below, where there are any.
#[derive(Default)]
struct Node {
    compiled: Box<[Compiled]>,
    /// Why no rule could be compiled.
    problem: Option<&'static str>,
    /// The type of `self`.
    declared: Option<Arc<Declared>>,
    items: Option<Box<Node>>,
    /// Sorted by name.
    properties: Box<[(Key, Node)]>,
    additional: Option<Box<Node>>,
    /// With the place of each in the schema.
    all_of: Box<[(usize, Node)]>,
}

/// The type of a node, computed on first use.
#[derive(Clone)]
enum Known {
    /// Not computed.
    NotYet,
    Hidden,
    Of(Arc<Declared>),
}

impl Rules {
    /// Compiles the rules of a custom resource's schema. Expressions that are none are kept as the errors that they will be.
    pub fn compile(schema: &Structural) -> Rules {
        Rules::compile_part(schema, true)
    }

    /// Compiles the rules of a part of a schema, which may describe resources.
    pub fn compile_part(schema: &Structural, is_resource: bool) -> Rules {
        let root = if has_rules(schema) { node(schema, schema, is_resource, Known::NotYet) } else { None };
        Rules { root: root.map(Box::new) }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.root.is_none()
    }
}

impl fmt::Debug for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rules").field("is_empty", &self.is_empty()).finish_non_exhaustive()
    }
}

/// Returns the error that replaces the check of rules if the object has errors that rules could fail on.
pub fn blocked(errors: &[Error]) -> Option<Error> {
    use ErrorType::{NotSupported, Required, TooLong, TooMany, TypeInvalid};
    let blocks =
        |error: &Error| matches!(error.kind, NotSupported | Required | TooLong | TooMany | TypeInvalid);
    const NOT_CHECKED: &str = "some validation rules were not checked because the object was invalid; \
                               correct the existing errors to complete validation";
    errors.iter().any(blocks).then(|| Error::invalid(&Path::NOWHERE, Printed::null(), NOT_CHECKED))
}

/// Whether there are rules at a node or below. Those of `allOf` alone do not count.
fn has_rules(schema: &Structural) -> bool {
    !schema.rules.is_empty()
        || schema.items.as_deref().is_some_and(has_rules)
        || schema.additional_schema().is_some_and(has_rules)
        || schema.properties.iter().any(|(_, property)| has_rules(property))
}

/// The same with those of `allOf`.
fn has_any_rules(schema: &Structural) -> bool {
    let all_of = schema.validation.iter().flat_map(|validation| &validation.all_of);
    !schema.rules.is_empty()
        || schema.items.as_deref().is_some_and(has_any_rules)
        || schema.additional_schema().is_some_and(has_any_rules)
        || schema.properties.iter().any(|(_, property)| has_any_rules(property))
        || all_of.into_iter().any(has_any_rules)
}

/// Compiles the rules of `rules` for values of `schema`, which is the same node, or the one whose `allOf` has the rules.
fn node(rules: &Structural, schema: &Structural, is_resource: bool, known: Known) -> Option<Node> {
    let mut known = known;
    let mut node = Node::default();
    if !rules.rules.is_empty() {
        if matches!(known, Known::NotYet) {
            known = Declared::of(schema, is_resource).map_or(Known::Hidden, Known::Of);
        }
        match &known {
            Known::Of(declared) => {
                let compiler = Compiler::new(declared, &rules.rules);
                let compiled = rules.rules.iter().map(|rule| compiler.compile(schema, rule, false).0);
                node.compiled = compiled.collect();
                node.declared = Some(Arc::clone(declared));
            }
            _ => node.problem = Some("failed to convert to declType for CEL validation rules"),
        }
    }
    // A hidden list or map hides what is in it.
    let hides = matches!(known, Known::Hidden) || (matches!(known, Known::NotYet) && !is_visible(schema));
    let inside = || match &known {
        _ if hides => Known::Hidden,
        Known::Of(declared) => declared.items().map_or(Known::Hidden, |of| Known::Of(Arc::clone(of))),
        _ => Known::NotYet,
    };
    if let (Some(rules), Some(schema)) = (&rules.items, &schema.items) {
        node.items = self::node(rules, schema, schema.embedded, inside()).map(Box::new);
    }
    if !hides && !rules.properties.is_empty() {
        node.properties = properties(rules, schema, is_resource, &known);
    }
    if let (Some(rules), Some(schema)) = (rules.additional_schema(), schema.additional_schema()) {
        node.additional = self::node(rules, schema, schema.embedded, inside()).map(Box::new);
    }
    if let Some(validation) = &rules.validation {
        let all = validation.all_of.iter().enumerate();
        let all =
            all.filter_map(|(place, of)| Some((place, self::node(of, schema, is_resource, known.clone())?)));
        node.all_of = all.collect();
    }
    (!node.is_empty()).then_some(node)
}

fn properties(
    rules: &Structural,
    schema: &Structural,
    is_resource: bool,
    known: &Known,
) -> Box<[(Key, Node)]> {
    let mut of_resource = None;
    let mut found = Vec::new();
    for (name, rules) in &rules.properties {
        let Some(property) = schema.property(name) else { continue };
        let known = match known {
            Known::Of(declared) => Some(declared),
            // Fields of every resource are typed independently of the schema.
            _ if is_resource
                && matches!(name.as_str(), "apiVersion" | "kind" | "metadata")
                && has_any_rules(rules) =>
            {
                of_resource.get_or_insert_with(|| Declared::of(schema, true)).as_ref()
            }
            _ => None,
        };
        let known = match known {
            Some(declared) => match declared.property(name) {
                Some(of) => Known::Of(Arc::clone(of)),
                // Not checked at all.
                None => continue,
            },
            None if !is_visible(property) => continue,
            None => Known::NotYet,
        };
        if let Some(node) = node(rules, property, property.embedded, known) {
            found.push((name.clone(), node));
        }
    }
    found.into()
}

impl Node {
    fn is_empty(&self) -> bool {
        self.compiled.is_empty()
            && self.problem.is_none()
            && self.items.is_none()
            && self.properties.is_empty()
            && self.additional.is_none()
            && self.all_of.is_empty()
    }
}
