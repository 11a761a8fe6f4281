//! Estimates the minimal and maximal cost of an expression without evaluating it, as cel-go does. Rules that could
//! exceed their budget on the largest objects that a schema admits are rejected by it.
//!
//! Sizes that the expression does not determine are looked up by path: `self.items` is `["self", "items"]`; elements
//! of a container are at `@items`, `@keys` and `@values`.

mod functions;
mod range;

use std::collections::HashMap;

pub use self::range::Range;
use crate::ast::{Ast, Comprehension, Expr, ExprKind, Id, Literal};
use crate::checker::{Checked, Meaning};
use crate::cost;
use crate::parser::macros::ACCUMULATOR;
use crate::types::Type;

/// Source of the maximal sizes of variables' values.
pub trait Sizes {
    /// Returns the number of characters, bytes, items or entries of the value at a path; `None` if unknown.
    fn size(&self, path: &[String], of: &Type) -> Option<Range>;
}

/// Source without any sizes.
impl Sizes for () {
    fn size(&self, _: &[String], _: &Type) -> Option<Range> {
        None
    }
}

/// Operand of a function's estimate.
struct Node<'e> {
    path: Option<Vec<String>>,
    of: Type,
    expr: Option<&'e Expr>,
    size: Option<Range>,
}

/// Sizes of a container's keys and values.
#[derive(Clone, Copy)]
struct Entries {
    is_list: bool,
    key: Range,
    value: Range,
}

/// Variable of a loop.
struct Local {
    path: Vec<String>,
    size: Option<Range>,
    entries: Option<Entries>,
}

/// Cost of a call and size of its result.
struct CallEstimate {
    cost: Range,
    result: Option<Range>,
}

impl CallEstimate {
    fn of(cost: Range) -> CallEstimate {
        CallEstimate { cost, result: None }
    }
}

struct Estimator<'e> {
    checked: &'e Checked,
    sizes: &'e dyn Sizes,
    paths: HashMap<Id, Vec<String>>,
    locals: Vec<(String, Local)>,
    computed: HashMap<Id, Range>,
    entries: HashMap<Id, Entries>,
}

pub(crate) fn estimate(ast: &Ast, checked: &Checked, sizes: &dyn Sizes) -> Range {
    let mut estimator = Estimator {
        checked,
        sizes,
        paths: HashMap::new(),
        locals: Vec::new(),
        computed: HashMap::new(),
        entries: HashMap::new(),
    };
    estimator.cost(&ast.root)
}

impl<'e> Estimator<'e> {
    fn cost(&mut self, expr: &'e Expr) -> Range {
        if let Some(meaning) = self.checked.meanings.get(&expr.id)
            && matches!(expr.kind, ExprKind::Ident(_) | ExprKind::Select { .. })
        {
            let path = match meaning {
                Meaning::Variable(name) => {
                    self.local(name).map_or_else(|| vec![name.clone()], |local| local.path.clone())
                }
                Meaning::Type(of) => vec![of.runtime_name().to_owned()],
            };
            self.paths.insert(expr.id, path);
            return Range::fixed(1);
        }
        match &expr.kind {
            ExprKind::Unspecified | ExprKind::Literal(_) => Range::fixed(0),
            ExprKind::Ident(name) => {
                self.paths.insert(expr.id, vec![name.clone()]);
                Range::fixed(1)
            }
            ExprKind::Select { operand, field, test } => {
                let cost = self.cost(operand);
                if *test {
                    return cost;
                }
                let mut path = self.path(operand);
                path.push(field.clone());
                self.paths.insert(expr.id, path);
                match self.checked.type_of(operand) {
                    Type::Map(_) | Type::Object(_) | Type::Named(_) => cost.add(Range::fixed(1)),
                    _ => cost,
                }
            }
            ExprKind::Call { target, function, args } => self.call(expr, target.as_deref(), function, args),
            ExprKind::List { items } => {
                let mut sum = Range::fixed(0);
                let mut size = if items.is_empty() { Range::fixed(0) } else { Range::NOTHING };
                for item in items {
                    sum = sum.add(self.cost(&item.value));
                    size = size.union(self.size_or_unknown(&item.value));
                }
                self.entries.insert(expr.id, Entries { is_list: true, key: Range::fixed(1), value: size });
                sum.add(Range::fixed(cost::LIST))
            }
            ExprKind::Map { entries } => {
                let mut sum = Range::fixed(0);
                let start = if entries.is_empty() { Range::fixed(0) } else { Range::NOTHING };
                let (mut key, mut value) = (start, start);
                for entry in entries {
                    sum = sum.add(self.cost(&entry.key)).add(self.cost(&entry.value));
                    key = key.union(self.size_or_unknown(&entry.key));
                    value = value.union(self.size_or_unknown(&entry.value));
                }
                self.entries.insert(expr.id, Entries { is_list: false, key, value });
                sum.add(Range::fixed(cost::MAP))
            }
            ExprKind::Struct { fields, .. } => {
                fields.iter().fold(Range::fixed(cost::OBJECT), |sum, field| sum.add(self.cost(&field.value)))
            }
            ExprKind::Comprehension(of) if is_naming(of) => self.naming(expr, of),
            ExprKind::Comprehension(of) => self.comprehension(expr, of),
        }
    }

    fn call(&mut self, expr: &'e Expr, target: Option<&'e Expr>, function: &str, args: &'e [Expr]) -> Range {
        if function == "dyn"
            && let [arg] = args
        {
            let cost = self.cost(arg).add(Range::fixed(1));
            self.copy_sizes(expr, arg);
            return cost;
        }
        let costs: Vec<Range> = args.iter().map(|arg| self.cost(arg)).collect();
        let nodes: Vec<Node<'e>> = args.iter().map(|arg| self.node(arg)).collect();
        let checked = self.checked;
        let Some(overloads) = checked.overloads.get(&expr.id) else { return Range::fixed(0) };
        let mut sum = Range::fixed(0);
        let (name, qualified) = checked
            .calls
            .get(&expr.id)
            .map_or((function, false), |call| (call.function.name, call.qualified));
        let target = match target.filter(|_| !qualified) {
            Some(target) => {
                sum = self.cost(target);
                Some(self.node(target))
            }
            None => None,
        };
        let mut cost = Range::NOTHING;
        let mut result: Option<Range> = None;
        for overload in overloads {
            let estimate = self.function(expr, name, overload, target.as_ref(), &nodes, &costs);
            cost = cost.union(estimate.cost);
            if let Some(size) = estimate.result {
                result = Some(result.map_or(size, |result| result.union(size)));
            }
            if let (Some(container), Some(inside)) = (
                args.first(),
                match *overload {
                    "index_list" => Some("@items"),
                    "index_map" => Some("@values"),
                    _ => None,
                },
            ) {
                result = self.entries_of(container).map(|entries| entries.value);
                let mut path = self.path(container);
                path.push(inside.to_owned());
                self.paths.insert(expr.id, path);
            }
            if result.is_none() {
                result = self.size(expr);
            }
        }
        if let Some(size) = result {
            self.computed.insert(expr.id, size);
        }
        sum.add(cost)
    }

    fn function(
        &mut self,
        expr: &Expr,
        name: &str,
        overload: &str,
        target: Option<&Node<'e>>,
        args: &[Node<'e>],
        costs: &[Range],
    ) -> CallEstimate {
        let of_args = costs.iter().fold(Range::fixed(0), |sum, cost| sum.add(*cost));
        if let Some(estimate) = functions::estimate(self.sizes, name, overload, target, args) {
            return CallEstimate { cost: estimate.cost.add(of_args), result: estimate.result };
        }
        let size = |node: &Node<'_>| node.size.unwrap_or(Range::UNKNOWN);
        let traversed = |size: Range| size.times(cost::TRAVERSAL).add(of_args);
        match (overload, target, args) {
            ("string_format", Some(target), _) => CallEstimate::of(traversed(size(target))),
            ("string_to_bytes", _, [arg]) => {
                let size = size(arg);
                let result = Range { min: size.min, max: size.max.wrapping_mul(4) };
                CallEstimate { cost: traversed(size), result: Some(result) }
            }
            ("bytes_to_string", _, [arg]) => {
                let size = size(arg);
                CallEstimate {
                    cost: traversed(size),
                    result: Some(Range { min: size.min / 4, max: size.max }),
                }
            }
            ("strings_quote", _, [arg]) => {
                let size = size(arg);
                let max = size.max.wrapping_mul(2).wrapping_add(2);
                CallEstimate {
                    cost: traversed(size),
                    result: Some(Range { min: size.min.wrapping_add(2), max }),
                }
            }
            ("starts_with_string" | "ends_with_string", _, [arg]) => CallEstimate::of(traversed(size(arg))),
            ("in_list", _, [_, list]) => CallEstimate::of(size(list).times(1.0).add(of_args)),
            ("matches_string", Some(target), [pattern]) => {
                CallEstimate::of(functions::matching(size(target), size(pattern)).add(of_args))
            }
            ("contains_string", Some(target), [part]) => {
                let cost = size(target).times(cost::TRAVERSAL).multiply(size(part).times(cost::TRAVERSAL));
                CallEstimate::of(cost.add(of_args))
            }
            ("logical_or" | "logical_and", ..) => {
                let (Some(left), Some(right)) = (costs.first(), costs.get(1)) else {
                    return CallEstimate::of(of_args);
                };
                CallEstimate::of(Range { min: left.min, max: left.add(*right).max })
            }
            ("conditional", _, [_, truthy, falsy]) => {
                let result = size(truthy).union(size(falsy));
                self.join_entries(expr, truthy, falsy);
                let cost = costs[0].add(costs[1].union(costs[2]));
                CallEstimate { cost, result: Some(result) }
            }
            ("add_string" | "add_bytes" | "add_list", _, [left, right]) => {
                let result = size(left).add(size(right));
                self.join_entries(expr, left, right);
                let cost =
                    if overload == "add_list" { Range::fixed(1).add(of_args) } else { traversed(result) };
                CallEstimate { cost, result: Some(result) }
            }
            (
                "less_string"
                | "greater_string"
                | "less_equals_string"
                | "greater_equals_string"
                | "less_bytes"
                | "greater_bytes"
                | "less_equals_bytes"
                | "greater_equals_bytes"
                | "equals"
                | "not_equals",
                _,
                [left, right],
            ) => {
                let max = size(left).max.min(size(right).max);
                CallEstimate::of(traversed(Range { min: u64::from(max > 0), max }))
            }
            _ => CallEstimate::of(Range::fixed(1).add(of_args)),
        }
    }

    /// Joins the element sizes of two containers.
    fn join_entries(&mut self, expr: &Expr, left: &Node<'_>, right: &Node<'_>) {
        let entries = |node: &Node<'_>| node.expr.and_then(|expr| self.entries_of(expr));
        if let (Some(left), Some(right)) = (entries(left), entries(right)) {
            let joined = Entries {
                is_list: left.is_list,
                key: left.key.union(right.key),
                value: left.value.union(right.value),
            };
            self.entries.insert(expr.id, joined);
        }
    }

    fn comprehension(&mut self, expr: &'e Expr, of: &'e Comprehension) -> Range {
        let mut sum = self.cost(&of.range).add(self.cost(&of.start));
        self.push_value(&of.accumulator, &of.start);
        let entries = self.entries_of(&of.range);
        let is_list = entries.map_or_else(
            || matches!(self.checked.type_of(&of.range), Type::List(_)),
            |entries| entries.is_list,
        );
        let variables = match &of.second {
            Some(second) => {
                self.push_inside(&of.variable, &of.range, if is_list { "@indices" } else { "@keys" });
                self.push_inside(second, &of.range, if is_list { "@items" } else { "@values" });
                2
            }
            None => {
                self.push_inside(&of.variable, &of.range, if is_list { "@items" } else { "@keys" });
                1
            }
        };
        let each = self.cost(&of.condition).add(self.cost(&of.step));
        let outside = self.locals.len() - variables;
        self.locals.truncate(outside);
        sum = sum.add(self.cost(&of.result));
        self.locals.pop();
        let count = self.size_or_unknown(&of.range);
        sum = sum.add(count.multiply(each));
        match &of.start.kind {
            ExprKind::Literal(_) => {
                if let Some(size) = self.size(&of.start) {
                    self.computed.insert(expr.id, size);
                }
            }
            ExprKind::List { .. } | ExprKind::Map { .. } => {
                self.computed.insert(expr.id, count);
                if let Some(entries) = self.entries_of(&of.step) {
                    self.entries.insert(expr.id, entries);
                }
            }
            _ => {}
        }
        sum
    }

    /// Estimates a comprehension that only binds a value to a name.
    fn naming(&mut self, expr: &'e Expr, of: &'e Comprehension) -> Range {
        let sum = self.cost(&of.range).add(self.cost(&of.start));
        self.push_value(&of.accumulator, &of.start);
        let sum = sum.add(self.cost(&of.result));
        self.locals.pop();
        self.copy_sizes(expr, &of.result);
        sum
    }

    fn push_value(&mut self, name: &str, value: &'e Expr) {
        let local = Local { path: self.path(value), size: self.size(value), entries: self.entries_of(value) };
        self.locals.push((name.to_owned(), local));
    }

    fn push_inside(&mut self, name: &str, range: &'e Expr, inside: &str) {
        let entries = self.entries_of(range);
        let size = entries
            .map(|entries| if matches!(inside, "@keys" | "@indices") { entries.key } else { entries.value });
        let mut path = self.path(range);
        path.push(inside.to_owned());
        self.locals.push((name.to_owned(), Local { path, size, entries: None }));
    }

    fn local(&self, name: &str) -> Option<&Local> {
        self.locals.iter().rev().find(|(known, _)| known == name).map(|(_, local)| local)
    }

    /// Returns the loop variable that an expression is.
    fn local_of(&self, expr: &Expr) -> Option<&Local> {
        match self.checked.meanings.get(&expr.id) {
            Some(Meaning::Variable(name)) if matches!(expr.kind, ExprKind::Ident(_)) => self.local(name),
            _ => None,
        }
    }

    fn path(&self, expr: &Expr) -> Vec<String> {
        match self.local_of(expr) {
            Some(local) => local.path.clone(),
            None => self.paths.get(&expr.id).cloned().unwrap_or_default(),
        }
    }

    fn node(&mut self, expr: &'e Expr) -> Node<'e> {
        let path = Some(self.path(expr)).filter(|path| path.first().is_some_and(|name| name != ACCUMULATOR));
        Node { path, of: self.checked.type_of(expr), expr: Some(expr), size: self.size(expr) }
    }

    fn size(&mut self, expr: &Expr) -> Option<Range> {
        if let Some(size) = self.computed.get(&expr.id) {
            return Some(*size);
        }
        let literal = match &expr.kind {
            ExprKind::Literal(Literal::String(text)) => Some(text.chars().count()),
            ExprKind::Literal(Literal::Bytes(bytes)) => Some(bytes.len()),
            ExprKind::Literal(_) => Some(1),
            ExprKind::List { items } => Some(items.len()),
            ExprKind::Map { entries } => Some(entries.len()),
            _ => None,
        };
        if let Some(literal) = literal {
            return Some(Range::fixed(literal as u64));
        }
        let (path, of) = (self.path(expr), self.checked.type_of(expr));
        if let Some(size) = known_size(self.sizes, &path, &of) {
            self.computed.insert(expr.id, size);
            return Some(size);
        }
        if is_scalar(&of) {
            return Some(Range::fixed(1));
        }
        self.local_of(expr)?.size
    }

    fn size_or_unknown(&mut self, expr: &Expr) -> Range {
        self.size(expr).unwrap_or(Range::UNKNOWN)
    }

    fn entries_of(&self, expr: &Expr) -> Option<Entries> {
        self.entries.get(&expr.id).copied().or_else(|| self.local_of(expr)?.entries)
    }

    fn copy_sizes(&mut self, to: &Expr, from: &Expr) {
        if let Some(size) = self.size(from) {
            self.computed.insert(to.id, size);
        }
        if let Some(entries) = self.entries_of(from) {
            self.entries.insert(to.id, entries);
        }
    }
}

/// Looks up a size; only values with a path have one.
fn known_size(sizes: &dyn Sizes, path: &[String], of: &Type) -> Option<Range> {
    if path.is_empty() { None } else { sizes.size(path, of) }
}

fn is_naming(of: &Comprehension) -> bool {
    matches!(&of.range.kind, ExprKind::List { items } if items.is_empty())
        && matches!(of.condition.kind, ExprKind::Literal(Literal::Bool(false)))
}

fn is_scalar(of: &Type) -> bool {
    match of {
        Type::Bool | Type::Double | Type::Duration | Type::Int | Type::Timestamp | Type::Uint => true,
        Type::Optional(of) => is_scalar(of),
        _ => false,
    }
}
