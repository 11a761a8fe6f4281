//! Whether an object obeys the rules of its schema.

use std::ops::ControlFlow;

use pintle_cel::{Activation, Budget, EvalError, Program, Val};
use pintle_meta::field_path::{Error, MOST_ERRORS, Path, Value as Printed};
use pintle_meta::{Node as Tree, Value};
use pintle_schema::structural::{Json, Rule, Structural};

use super::correlate::{Items, Ratchet, Unchanged};
use super::expression::{Compiled, OLD_SELF, SELF};
use super::{BUDGET, Node, Rules};

/// Longer messages of expressions are not taken.
const LONGEST_MESSAGE: usize = 5 * 1024;

/// Maximum number of evaluations, since one without cost takes time too.
const MOST_EVALUATIONS: u64 = 10_000_000;

/// How much text there is in errors and warnings together: a large value may break many rules, and is shown each time.
const MOST_TEXT: usize = 8 << 20;

const OUT_OF_BUDGET: &str =
    "validation failed due to running out of cost budget, no further validation rules will be run";

/// The result of checking rules.
#[derive(Debug)]
pub struct Checked {
    pub errors: Vec<Error>,
    /// Warnings about violations that are tolerated because the value has not changed.
    pub warnings: Vec<String>,
    /// The rest of the budget; negative if it was exceeded.
    pub budget: i64,
}

/// A place in the object.
#[derive(Clone, Copy)]
struct CheckedNode<'v> {
    schema: &'v Structural,
    new: &'v Value,
    old: Option<&'v Value>,
    ratchet: Ratchet<'v>,
}

struct Walk {
    done: Checked,
    /// Size of the reported errors as text.
    text: usize,
    evaluations: u64,
    unchanged: Unchanged,
}

impl Rules {
    /// Checks a custom resource, and with it how it changed. `schema` is the one that was compiled.
    pub fn check(&self, schema: &Structural, new: &Value, old: Option<&Value>) -> Checked {
        let ratchet = old.map_or(Ratchet::default(), |old| Ratchet::new(new, old, schema));
        self.walk(CheckedNode { schema, new, old, ratchet }, &Path::NOWHERE, BUDGET)
    }

    /// Checks some value with what is left of a budget; nothing of it may be wrong because it was before.
    pub fn check_value(
        &self,
        schema: &Structural,
        new: &Value,
        old: Option<&Value>,
        path: &Path<'_>,
        budget: i64,
    ) -> Checked {
        self.walk(CheckedNode { schema, new, old, ratchet: Ratchet::default() }, path, budget)
    }

    fn walk(&self, place: CheckedNode<'_>, path: &Path<'_>, budget: i64) -> Checked {
        let done = Checked { errors: Vec::new(), warnings: Vec::new(), budget };
        let mut walk = Walk { done, text: 0, evaluations: 0, unchanged: Unchanged::default() };
        if let Some(root) = &self.root {
            let _ = walk.node(root, place.schema, place, path);
        }
        walk.done
    }
}

impl Walk {
    /// `rules` is the schema that has the rules: that of the place, or one of its `allOf`. Breaks where no more rules are checked.
    fn node(
        &mut self,
        node: &Node,
        rules: &Structural,
        place: CheckedNode<'_>,
        path: &Path<'_>,
    ) -> ControlFlow<()> {
        let place = CheckedNode { old: place.old.filter(|old| !old.is_null()), ..place };
        if place.new.is_null() {
            return ControlFlow::Continue(());
        }
        self.rules(node, &rules.rules, place, path)?;
        for (index, of) in &node.all_of {
            let all_of = rules.validation.as_ref().and_then(|validation| validation.all_of.get(*index));
            let Some(rules) = all_of else { continue };
            self.node(of, rules, CheckedNode { ratchet: place.ratchet.as_part(), ..place }, path)?;
        }
        match place.new.node() {
            Tree::List(items) => self.items(node, rules, items, place, path),
            Tree::Object(_) => self.fields(node, rules, place, path),
            _ => ControlFlow::Continue(()),
        }
    }

    fn items<'v>(
        &mut self,
        node: &Node,
        rules: &Structural,
        items: &'v [Value],
        place: CheckedNode<'v>,
        path: &Path<'_>,
    ) -> ControlFlow<()> {
        let (Some(node), Some(rules), Some(schema)) = (&node.items, &rules.items, &place.schema.items) else {
            return ControlFlow::Continue(());
        };
        let before = Items::of(place.schema, place.old.and_then(Value::as_list).unwrap_or_default());
        for (index, new) in items.iter().enumerate() {
            let old = before.find(new);
            let ratchet = place.ratchet.item(new, old);
            self.node(node, rules, CheckedNode { schema, new, old, ratchet }, &path.index(index))?;
        }
        ControlFlow::Continue(())
    }

    fn fields(
        &mut self,
        node: &Node,
        rules: &Structural,
        place: CheckedNode<'_>,
        path: &Path<'_>,
    ) -> ControlFlow<()> {
        let Some(object) = place.new.as_object() else { return ControlFlow::Continue(()) };
        if let (Some(node), Some(rules), Some(schema)) =
            (&node.additional, rules.additional_schema(), place.schema.additional_schema())
        {
            for (name, new) in object.iter() {
                let old = place.old.and_then(|old| old.get(name));
                let ratchet = place.ratchet.field(name);
                self.node(node, rules, CheckedNode { schema, new, old, ratchet }, &path.key(name))?;
            }
        }
        for (name, node) in &node.properties {
            let (Some(new), Some(rules), Some(schema)) =
                (object.get(name), rules.property(name), place.schema.property(name))
            else {
                continue;
            };
            let old = place.old.and_then(|old| old.get(name));
            let ratchet = place.ratchet.field(name);
            self.node(node, rules, CheckedNode { schema, new, old, ratchet }, &path.child(name))?;
        }
        ControlFlow::Continue(())
    }

    fn rules(
        &mut self,
        node: &Node,
        rules: &[Rule],
        place: CheckedNode<'_>,
        path: &Path<'_>,
    ) -> ControlFlow<()> {
        let kind = place.schema.kind.map_or("", Json::name);
        if let Some(problem) = node.problem {
            let detail = format!("rule compiler initialization error: {problem}");
            return self.push(Error::invalid(path, kind, detail));
        }
        let Some(declared) = node.declared.as_ref().filter(|_| !node.compiled.is_empty()) else {
            return ControlFlow::Continue(());
        };
        if self.done.budget <= 0 {
            return self.end(Error::invalid(path, kind, OUT_OF_BUDGET));
        }
        let plain = Activation::new().bind(SELF, place.new);
        let mut optional = plain.clone();
        let mut with_old = plain;
        if node.compiled.iter().any(|compiled| compiled.uses_old_self) {
            let old = place.old.map(|old| Val::of_tree(old, &declared.of));
            // An old value of another type is not visible to rules.
            let old = old.transpose().unwrap_or_default();
            optional = optional.bind_val(OLD_SELF, Val::Optional(old.clone().map(Into::into)));
            if let Some(old) = old {
                with_old = with_old.bind_val(OLD_SELF, old);
            }
        }
        for (compiled, rule) in node.compiled.iter().zip(rules) {
            if let Some(error) = &compiled.error {
                self.push(Error::invalid(path, kind, format!("rule compile error: {error}")))?;
                continue;
            }
            let Some(program) = &compiled.program else { continue };
            let takes_optional = rule.optional_old_self == Some(true);
            if compiled.uses_old_self && place.old.is_none() && !takes_optional {
                continue;
            }
            let activation = if takes_optional { &optional } else { &with_old };
            self.evaluations += 1;
            let evaluation = program.evaluate(activation, Budget::PER_CALL);
            if !self.pays(evaluation.cost) || self.evaluations > MOST_EVALUATIONS {
                return self.end(Error::invalid(path, kind, OUT_OF_BUDGET));
            }
            match evaluation.value {
                Ok(Val::Bool(true)) => {}
                Ok(_) => self.broken(compiled, rule, &with_old, place, path)?,
                Err(error) => {
                    let detail = format!("'{error}': ");
                    let rule = shown_rule(rule);
                    if error == EvalError::CostLimitExceeded {
                        let rest =
                            "no further validation rules will be run due to call cost exceeds limit for rule";
                        return self.end(Error::invalid(path, kind, format!("{detail}{rest}: {rule}")));
                    }
                    let detail = if error.to_string().starts_with("no such overload") {
                        let rest = "call arguments did not match a supported operator, function or macro signature for rule";
                        format!("{detail}{rest}: {rule}")
                    } else {
                        format!("{error} evaluating rule: {rule}")
                    };
                    self.push(Error::invalid(path, kind, detail))?;
                }
            }
        }
        ControlFlow::Continue(())
    }

    /// A rule that an object does not obey.
    fn broken(
        &mut self,
        compiled: &Compiled,
        rule: &Rule,
        activation: &Activation<'_>,
        place: CheckedNode<'_>,
        path: &Path<'_>,
    ) -> ControlFlow<()> {
        let kind = place.schema.kind.map_or("", Json::name);
        let inside;
        let path = match &compiled.field_path {
            Some(field_path) => {
                inside = path.child(field_path);
                &inside
            }
            None => path,
        };
        let message = match &compiled.message {
            Some(program) => match self.message(program, rule, activation) {
                Ok(message) => message,
                Err(ended) => {
                    self.tolerate(compiled, place, Error::invalid(path, kind, ended))?;
                    self.done.budget = -1;
                    return ControlFlow::Break(());
                }
            },
            None => None,
        };
        let detail = message.unwrap_or_else(|| {
            if rule.message.is_empty() {
                format!("failed rule: {}", shown_rule(rule))
            } else {
                rule.message.trim().to_owned()
            }
        });
        let value = match kind {
            "object" | "array" => Printed::Omitted,
            _ => printed_value(place.new),
        };
        let error = match rule.reason.as_deref() {
            Some("FieldValueForbidden") => Error::forbidden(path, detail),
            Some("FieldValueRequired") => Error::required(path, detail),
            Some("FieldValueDuplicate") => Error::duplicate(path, value),
            _ => Error::invalid(path, value, detail),
        };
        self.tolerate(compiled, place, error)
    }

    /// Returns the message that `messageExpression` evaluates to, if it is usable. Errors: the budget is exceeded.
    fn message(
        &mut self,
        program: &Program,
        rule: &Rule,
        activation: &Activation<'_>,
    ) -> Result<Option<String>, String> {
        let evaluation = program.evaluate(activation, Budget::PER_CALL);
        if !self.pays(evaluation.cost) {
            return Err(
                "messageExpression evaluation failed due to running out of cost budget, no further validation rules will be run"
                    .to_owned(),
            );
        }
        match evaluation.value {
            Err(EvalError::CostLimitExceeded) => {
                let what = "no further validation rules will be run due to call cost exceeds limit for messageExpression";
                Err(format!("{what}: {}", pintle_meta::quote(&rule.message_expression)))
            }
            Ok(Val::String(text)) => {
                let text = text.trim();
                let fits = !text.is_empty() && text.len() <= LONGEST_MESSAGE && !text.contains('\n');
                Ok(fits.then(|| text.to_owned()))
            }
            _ => Ok(None),
        }
    }

    /// Takes a cost from the budget, if that suffices.
    fn pays(&mut self, cost: u64) -> bool {
        match i64::try_from(cost) {
            Ok(cost) if cost <= self.done.budget => {
                self.done.budget -= cost;
                true
            }
            _ => false,
        }
    }

    /// Tolerates the error of an unchanged value, unless its rule is a transition rule.
    fn tolerate(&mut self, compiled: &Compiled, place: CheckedNode<'_>, error: Error) -> ControlFlow<()> {
        if !compiled.uses_old_self && self.unchanged.holds(place.ratchet) {
            let warning = error.to_string();
            self.text += warning.len();
            self.done.warnings.push(warning);
            return self.full();
        }
        self.push(error)
    }

    fn push(&mut self, error: Error) -> ControlFlow<()> {
        let shown = if let Printed::Printed(shown) = &error.value { shown.len() } else { 0 };
        self.text += error.field.len() + error.detail.len() + shown;
        self.done.errors.push(error);
        self.full()
    }

    fn full(&self) -> ControlFlow<()> {
        match self.done.errors.len() + self.done.warnings.len() {
            MOST_ERRORS.. => ControlFlow::Break(()),
            _ if self.text >= MOST_TEXT => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }

    fn end(&mut self, error: Error) -> ControlFlow<()> {
        self.done.errors.push(error);
        self.done.budget = -1;
        ControlFlow::Break(())
    }
}

fn shown_rule(rule: &Rule) -> &str {
    if rule.message.is_empty() { rule.rule.trim() } else { rule.message.trim() }
}

fn printed_value(value: &Value) -> Printed {
    match value.node() {
        Tree::Bool(value) => value.into(),
        Tree::Int(value) => value.into(),
        Tree::Float(value) => value.into(),
        Tree::String(text) => text.into(),
        _ => {
            let mut json = Vec::new();
            pintle_codec::json::encode(value, &mut json);
            Printed::Printed(String::from_utf8_lossy(&json).into_owned())
        }
    }
}
