//! Whether rules may be part of a definition: their texts, types, paths, and what they could cost on the largest objects that the
//! schema allows.
//!
//! The walk over a schema has a [`Scope`] for every node, asks [`syntax`] about its texts and, if everything at the node and below
//! is sound, [`Scope::validate`] about its expressions. [`Total`] gathers what all rules of a schema cost together.
//!
//! A server of this version knows every function that an earlier one knew, so that expressions of definitions that were stored
//! before need no other environment than new ones.

use std::sync::Arc;

use pintle_meta::Value;
use pintle_meta::field_path::{Error, Path, Value as Printed};
use pintle_schema::ListType;
use pintle_schema::structural::{Additional, Json, Rule, Structural};

use super::expression::Compiler;
use super::field_path::FieldPath;
use super::types::Declared;

/// The maximum estimated cost of a rule.
pub const EXPRESSION_LIMIT: u64 = 10_000_000;

/// The maximum estimated cost of all rules of a schema.
pub const TOTAL_LIMIT: u64 = 100_000_000;

/// So many bytes about expressions that are none are enough: every problem shows the line that it is in, which makes a message
/// hundreds of times as long as the expression.
const MOST_SAID: usize = 4 << 20;

const REASONS: [&str; 4] =
    ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];

/// Returns the errors of the texts of a node's rules. `schema` is a `JSONSchemaProps`, `compiled` its structural schema where there is one.
pub fn syntax(schema: &Value, compiled: Option<&Structural>, path: &Path<'_>) -> Vec<Error> {
    let mut errors = Vec::new();
    let rules = schema.items_at(&["x-kubernetes-validations"]);
    let mut compiled_here = None;
    let path = path.child("x-kubernetes-validations");
    for (index, rule) in rules.iter().enumerate() {
        let path = path.index(index);
        let text = |name: &str| rule.text_at(&[name]);
        let (message, expression, field_path) =
            (text("message"), text("messageExpression"), text("fieldPath"));
        let rule_text = text("rule").trim();
        if rule_text.is_empty() {
            errors.push(Error::required(&path.child("rule"), "rule is not specified"));
        } else if !message.is_empty() && message.trim().is_empty() {
            errors.push(Error::invalid(&path.child("message"), message, "must be non-empty if specified"));
        } else if has_line_breaks(message.trim()) {
            errors.push(Error::invalid(&path.child("message"), message, "must not contain line breaks"));
        } else if has_line_breaks(rule_text) && message.trim().is_empty() {
            let detail = "message must be specified if rule contains line breaks";
            errors.push(Error::required(&path.child("message"), detail));
        }
        if !expression.is_empty() && expression.trim().is_empty() {
            let detail = "messageExpression must be non-empty if specified";
            errors.push(Error::required(&path.child("messageExpression"), detail));
        }
        if let Some(reason) = rule.get("reason").and_then(Value::as_str)
            && !REASONS.contains(&reason)
        {
            errors.push(Error::not_supported(&path.child("reason"), Printed::json(reason), &REASONS));
        }
        if field_path.is_empty() {
            continue;
        }
        let at = path.child("fieldPath");
        if field_path.trim().is_empty() {
            errors.push(Error::invalid(&at, field_path, "must be non-empty if specified"));
        }
        if has_line_breaks(field_path) {
            errors.push(Error::invalid(&at, field_path, "must not contain line breaks"));
        }
        let compiled = match compiled {
            Some(compiled) => Some(compiled),
            None => compiled_here.get_or_insert_with(|| crate::compile(schema).ok()).as_ref(),
        };
        if compiled.is_some_and(|schema| FieldPath::resolve(field_path, schema, true).is_err()) {
            errors.push(Error::invalid(&at, field_path, "must be a valid path"));
        }
    }
    errors
}

/// A node of a schema that is walked from its root, where the schema is structural.
#[derive(Clone)]
pub struct Scope<'s> {
    schema: &'s Structural,
    is_root: bool,
    /// How many such values there can be in an object; nothing if that has no bound.
    cardinality: Option<u64>,
    /// Whether there are rules here or above.
    in_rules: bool,
    declared: Option<Arc<Declared>>,
    /// The list or map that its items cannot be followed in through changes.
    uncorrelatable: Option<Arc<str>>,
}

impl<'s> Scope<'s> {
    pub fn root(schema: &'s Structural) -> Scope<'s> {
        let mut root = Scope {
            schema,
            is_root: true,
            cardinality: Some(1),
            in_rules: false,
            declared: None,
            uncorrelatable: None,
        };
        root.declare();
        root
    }

    pub fn schema(&self) -> &'s Structural {
        self.schema
    }

    pub fn property(&self, name: &str) -> Option<Scope<'s>> {
        let declared = self.declared.as_ref().and_then(|declared| declared.property(name));
        Some(self.child(self.schema.property(name)?, declared))
    }

    /// Marks the node as not correlatable across updates, since the list at `path` has no known keys.
    pub fn uncorrelatable(mut self, path: &Path<'_>) -> Scope<'s> {
        self.uncorrelatable.get_or_insert_with(|| path.to_string().into());
        self
    }

    pub fn additional(&self) -> Option<Scope<'s>> {
        let declared = self.declared.as_ref().and_then(|declared| declared.items());
        Some(self.child(self.schema.additional_schema()?, declared))
    }

    /// `path` is that of the list.
    pub fn items(&self, path: &Path<'_>) -> Option<Scope<'s>> {
        let declared = self.declared.as_ref().and_then(|declared| declared.items());
        let child = self.child(self.schema.items.as_deref()?, declared);
        Some(if self.schema.list == Some(ListType::Map) { child } else { child.uncorrelatable(path) })
    }

    fn child(&self, schema: &'s Structural, declared: Option<&Arc<Declared>>) -> Scope<'s> {
        let mut child = Scope {
            schema,
            is_root: false,
            cardinality: self.cardinality.zip(most_elements(self.schema)).map(|(a, b)| a.saturating_mul(b)),
            in_rules: self.in_rules,
            declared: declared.cloned(),
            uncorrelatable: self.uncorrelatable.clone(),
        };
        child.declare();
        child
    }

    fn declare(&mut self) {
        self.in_rules |= !self.schema.rules.is_empty();
        if self.declared.is_none() && self.in_rules {
            self.declared = Declared::of(self.schema, self.is_root || self.schema.embedded);
        }
    }

    /// Returns the errors of the expressions of a node's rules. A schema that did not change may have rules that cost too much.
    pub fn validate(&self, path: &Path<'_>, unchanged: bool, total: &mut Total) -> Vec<Error> {
        let rules = &self.schema.rules;
        let path = path.child("x-kubernetes-validations");
        if rules.is_empty() || total.said > MOST_SAID {
            return Vec::new();
        }
        let Some(declared) = &self.declared else {
            let why = "internal error: failed to construct type information for x-kubernetes-validations rules: \
                       unable to convert structural schema to CEL declarations";
            return vec![Error::internal(&path, why)];
        };
        let compiler = Compiler::new(declared, rules);
        let often = self.cardinality.unwrap_or_else(|| declared.max_occurrences());
        let mut errors = Vec::new();
        for (index, rule) in rules.iter().enumerate() {
            if total.said > MOST_SAID {
                break;
            }
            let path = path.index(index);
            let (at_rule, at_message) = (path.child("rule"), path.child("messageExpression"));
            let (compiled, costs) = compiler.compile(self.schema, rule, true);
            let cost = costs.rule.saturating_mul(often);
            if !unchanged && cost > EXPRESSION_LIMIT {
                let text = too_expensive("estimated rule cost", cost, EXPRESSION_LIMIT);
                errors.push(Error::forbidden(&at_rule, text));
            }
            total.add(&at_rule, cost);
            for error in compiled.error.iter().chain(&compiled.message_error) {
                total.said += error.len();
            }
            if let Some(error) = &compiled.error {
                errors.push(Error::invalid(&at_rule, printed_rule(rule), &**error));
            }
            if let Some(error) = &compiled.message_error {
                errors.push(Error::invalid(&at_message, printed_rule(rule), &**error));
            } else if compiled.message.is_some() {
                if !unchanged && costs.message > EXPRESSION_LIMIT {
                    let text =
                        too_expensive("estimated messageExpression cost", costs.message, EXPRESSION_LIMIT);
                    errors.push(Error::forbidden(&at_message, text));
                }
                total.add(&at_message, costs.message);
            }
            if compiled.uses_old_self {
                if let Some(within) = &self.uncorrelatable {
                    let text = format!(
                        "oldSelf cannot be used on the uncorrelatable portion of the schema within {within}"
                    );
                    errors.push(Error::invalid(&at_rule, &*rule.rule, text));
                }
            } else if let Some(given) = rule.optional_old_self {
                let text = "may not be set if oldSelf is not used in rule";
                errors.push(Error::invalid(&path.child("optionalOldSelf"), given, text));
            }
        }
        errors
    }
}

/// The total cost of the rules of a schema.
#[derive(Debug, Default)]
pub struct Total {
    /// How much has been said about rules that are none.
    said: usize,
    cost: u64,
    /// The most expensive rules, in descending order.
    expensive: Vec<(String, u64)>,
}

impl Total {
    fn add(&mut self, path: &Path<'_>, cost: u64) {
        self.cost = self.cost.saturating_add(cost);
        if cost < TOTAL_LIMIT / 100 {
            return;
        }
        let place = self.expensive.partition_point(|(_, known)| *known >= cost);
        if place < 4 {
            self.expensive.insert(place, (path.to_string(), cost));
            self.expensive.truncate(4);
        }
    }

    /// Returns the errors if the total exceeds the limit. `path` is that of the schema.
    pub fn errors(&self, path: &Path<'_>) -> Vec<Error> {
        if self.cost <= TOTAL_LIMIT {
            return Vec::new();
        }
        const PART: &str =
            "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
        const WHOLE: &str = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
        let parts = self.expensive.iter().map(|(path, _)| Error::forbidden(&Path::new(path), PART));
        let whole = Error::forbidden(path, too_expensive(WHOLE, self.cost, TOTAL_LIMIT));
        parts.chain([whole]).collect()
    }
}

/// Maximum number of values in one; `None` if it has no bound.
fn most_elements(schema: &Structural) -> Option<u64> {
    let validation = schema.validation.as_deref();
    let bound = match (schema.kind, &schema.additional) {
        (Some(Json::Object), Some(Additional::Bool(_) | Additional::Schema(_))) => {
            validation?.max_properties?
        }
        (Some(Json::Array), _) => validation?.max_items?,
        _ => 1,
    };
    Some(bound.max(0) as u64)
}

fn too_expensive(what: &str, cost: u64, limit: u64) -> String {
    let factor = cost as f64 / limit as f64;
    let factor = match factor {
        100.0.. if factor > 100.0 => "more than 100x".to_owned(),
        ..1.5 => format!("{factor:.6}x"),
        _ => format!("{factor:.1}x"),
    };
    format!(
        "{what} exceeds budget by factor of {factor} (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where \
         arrays, maps, and strings are declared)"
    )
}

/// As the reference's own type would be written.
fn printed_rule(rule: &Rule) -> Printed {
    let text = |text: &str| match Printed::json(text) {
        Printed::Printed(json) => json,
        Printed::Omitted => String::new(),
    };
    let reason = rule.reason.as_deref().map_or("null".to_owned(), text);
    let optional = rule.optional_old_self.map_or("null", |given| if given { "true" } else { "false" });
    Printed::Printed(format!(
        r#"{{"Rule":{},"Message":{},"MessageExpression":{},"Reason":{reason},"FieldPath":{},"OptionalOldSelf":{optional}}}"#,
        text(&rule.rule),
        text(&rule.message),
        text(&rule.message_expression),
        text(&rule.field_path),
    ))
}

fn has_line_breaks(text: &str) -> bool {
    text.contains(['\n', '\r'])
}
