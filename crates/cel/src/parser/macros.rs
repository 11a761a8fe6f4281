//! Macros: `has`, and loops such as `all` and `map`, which expand to comprehensions.

use super::{Parsed, Parser};
use crate::ast::{Comprehension, Entry, Expr, ExprKind, Field, Id, Item, Literal};
use crate::source::Offset;

/// Name of the accumulator, which no expression can contain.
pub(crate) const ACCUMULATOR: &str = "@result";
/// Former name of the accumulator, which stays reserved.
const OLD_ACCUMULATOR: &str = "__result__";
/// Loop variable of a comprehension over an empty range that only binds a value to a name.
pub(crate) const UNUSED: &str = "#unused";
const SORT_INPUT: &str = "@__sortBy_input__";

/// Invalid argument of a macro, with its location.
struct Misuse {
    offset: Id,
    message: String,
}

fn misuse<T>(offset: Id, message: impl Into<String>) -> Result<T, Misuse> {
    Err(Misuse { offset, message: message.into() })
}

/// Builder of a macro's expansion; all expressions are at the macro's location.
struct Maker<'p, 't> {
    parser: &'p mut Parser<'t>,
    offset: Offset,
}

impl Parser<'_> {
    pub(super) fn call_or_macro(
        &mut self,
        id: Id,
        function: String,
        target: Option<Expr>,
        args: Vec<Expr>,
    ) -> Parsed<Expr> {
        let copied = match (function.as_str(), &target) {
            ("optMap" | "optFlatMap", Some(target)) => parts(target),
            _ => 0,
        };
        self.room_for(copied)?;
        let offset = self.offset_of(id);
        let mut maker = Maker { parser: self, offset };
        let expanded = match target {
            None if function == "has" && args.len() == 1 => has(&mut maker, args),
            Some(target) if maker.parser.bindings && is_bind(&function, &target, args.len()) => {
                bind(&mut maker, args)
            }
            Some(target) if is_macro(&function, args.len()) => receiver(&mut maker, &function, target, args),
            target => {
                return Ok(Expr {
                    id,
                    kind: ExprKind::Call { target: target.map(Box::new), function, args },
                });
            }
        };
        Ok(expanded.unwrap_or_else(|Misuse { offset, message }| {
            let offset = self.offset_of(offset);
            self.issues.report(offset, message);
            Expr { id, kind: ExprKind::Unspecified }
        }))
    }
}

fn is_macro(function: &str, args: usize) -> bool {
    match function {
        "all" | "exists" | "exists_one" | "existsOne" | "map" => matches!(args, 2 | 3),
        "filter" | "optMap" | "optFlatMap" | "sortBy" => args == 2,
        "transformList" | "transformMap" | "transformMapEntry" => matches!(args, 3 | 4),
        _ => false,
    }
}

fn is_bind(function: &str, target: &Expr, args: usize) -> bool {
    function == "bind" && args == 3 && matches!(&target.kind, ExprKind::Ident(name) if name == "cel")
}

fn bind(make: &mut Maker<'_, '_>, args: Vec<Expr>) -> Result<Expr, Misuse> {
    let mut args = args.into_iter();
    let mut next = || args.next().unwrap_or(Expr { id: 0, kind: ExprKind::Unspecified });
    let (name, value, body) = (next(), next(), next());
    let ExprKind::Ident(name) = name.kind else {
        return misuse(name.id, "cel.bind() variable names must be simple identifiers");
    };
    Ok(make.named(name, value, body))
}

fn has(make: &mut Maker<'_, '_>, mut args: Vec<Expr>) -> Result<Expr, Misuse> {
    match args.pop() {
        Some(Expr { kind: ExprKind::Select { operand, field, test: _ }, .. }) => {
            Ok(make.expr(ExprKind::Select { operand, field, test: true }))
        }
        arg => misuse(arg.map_or(0, |arg| arg.id), "invalid argument to has() macro"),
    }
}

fn receiver(make: &mut Maker<'_, '_>, function: &str, target: Expr, args: Vec<Expr>) -> Result<Expr, Misuse> {
    let count = args.len();
    let mut args = args.into_iter();
    let mut next = || args.next().unwrap_or(Expr { id: 0, kind: ExprKind::Unspecified });
    match (function, count) {
        ("map", _) => {
            let variable = variable(&next(), "argument is not an identifier")?;
            let filter = (count == 3).then(&mut next);
            let item = make.one_item(next());
            Ok(make
                .gather(target, variable, None, filter, |make, accumulator| make.append(accumulator, item)))
        }
        ("filter", _) => {
            let item = next();
            let variable = variable(&item, "argument is not an identifier")?;
            let filter = Some(next());
            let item = make.one_item(item);
            Ok(make
                .gather(target, variable, None, filter, |make, accumulator| make.append(accumulator, item)))
        }
        ("sortBy", _) => sort_by(make, target, &next(), next()),
        ("optMap" | "optFlatMap", _) => optional_map(make, function, target, &next(), next()),
        ("transformList" | "transformMap" | "transformMapEntry", _) => {
            let (key, value) = variables(&next(), &next())?;
            let filter = (count == 4).then(&mut next);
            let transform = next();
            Ok(make.transform(function, target, (key, value), filter, transform))
        }
        (_, 2) => {
            let variable = variable(&next(), "argument must be a simple name")?;
            Ok(make.quantifier(function, target, variable, None, next()))
        }
        _ => {
            let (key, value) = variables(&next(), &next())?;
            Ok(make.quantifier(function, target, key, Some(value), next()))
        }
    }
}

/// Returns the name of a loop variable.
fn variable(arg: &Expr, otherwise: &str) -> Result<String, Misuse> {
    let ExprKind::Ident(name) = &arg.kind else { return misuse(arg.id, otherwise) };
    if name == ACCUMULATOR || name == OLD_ACCUMULATOR {
        return misuse(arg.id, "iteration variable overwrites accumulator variable");
    }
    Ok(name.clone())
}

fn variables(first: &Expr, second: &Expr) -> Result<(String, String), Misuse> {
    const SIMPLE: &str = "argument must be a simple name";
    let name = |arg: &Expr| match &arg.kind {
        ExprKind::Ident(name) => Ok(name.clone()),
        _ => misuse(arg.id, SIMPLE),
    };
    let (key, value) = (name(first)?, name(second)?);
    if key == value {
        return misuse(second.id, format!("duplicate variable name: {key}"));
    }
    Ok((variable(first, SIMPLE)?, variable(second, SIMPLE)?))
}

fn sort_by(make: &mut Maker<'_, '_>, target: Expr, arg: &Expr, key: Expr) -> Result<Expr, Misuse> {
    if !matches!(
        target.kind,
        ExprKind::List { .. }
            | ExprKind::Select { .. }
            | ExprKind::Ident(_)
            | ExprKind::Comprehension(_)
            | ExprKind::Call { .. }
            | ExprKind::Unspecified
    ) {
        let kinds =
            "sortBy can only be applied to a list, identifier, comprehension, call or select expression";
        return misuse(target.id, kinds);
    }
    let variable = variable(arg, "argument is not an identifier")?;
    let input = make.ident(SORT_INPUT);
    let item = make.one_item(key);
    let keys = make.gather(input, variable, None, None, |make, accumulator| make.append(accumulator, item));
    let input = make.ident(SORT_INPUT);
    let sorted = make.member("@sortByAssociatedKeys", input, vec![keys]);
    Ok(make.named(SORT_INPUT.to_owned(), target, sorted))
}

fn optional_map(
    make: &mut Maker<'_, '_>,
    function: &str,
    target: Expr,
    arg: &Expr,
    body: Expr,
) -> Result<Expr, Misuse> {
    let ExprKind::Ident(name) = &arg.kind else {
        return misuse(arg.id, format!("{function}() variable name must be a simple identifier"));
    };
    let copy = make.copy(&target);
    let has = make.member("hasValue", target, Vec::new());
    let value = make.member("value", copy, Vec::new());
    let mapped = make.named(name.clone(), value, body);
    let some = if function == "optMap" { make.call("optional.of", vec![mapped]) } else { mapped };
    let none = make.call("optional.none", Vec::new());
    Ok(make.call("_?_:_", vec![has, some, none]))
}

impl Maker<'_, '_> {
    fn expr(&mut self, kind: ExprKind) -> Expr {
        Expr { id: self.parser.id(self.offset), kind }
    }

    fn ident(&mut self, name: &str) -> Expr {
        self.expr(ExprKind::Ident(name.to_owned()))
    }

    fn literal(&mut self, literal: Literal) -> Expr {
        self.expr(ExprKind::Literal(literal))
    }

    fn call(&mut self, function: &str, args: Vec<Expr>) -> Expr {
        self.expr(ExprKind::Call { target: None, function: function.to_owned(), args })
    }

    fn member(&mut self, function: &str, target: Expr, args: Vec<Expr>) -> Expr {
        self.expr(ExprKind::Call { target: Some(Box::new(target)), function: function.to_owned(), args })
    }

    fn one_item(&mut self, value: Expr) -> Expr {
        self.expr(ExprKind::List { items: vec![Item { value, optional: false }] })
    }

    fn append(&mut self, accumulator: Expr, items: Expr) -> Expr {
        self.call("_+_", vec![accumulator, items])
    }

    /// Expands to a loop that appends to a list, or to the map that `start` makes.
    fn gather(
        &mut self,
        range: Expr,
        variable: String,
        second: Option<String>,
        filter: Option<Expr>,
        add: impl FnOnce(&mut Self, Expr) -> Expr,
    ) -> Expr {
        let start = self.expr(ExprKind::List { items: Vec::new() });
        self.gather_from(start, range, (variable, second), filter, add)
    }

    fn gather_from(
        &mut self,
        start: Expr,
        range: Expr,
        (variable, second): (String, Option<String>),
        filter: Option<Expr>,
        add: impl FnOnce(&mut Self, Expr) -> Expr,
    ) -> Expr {
        let condition = self.literal(Literal::Bool(true));
        let accumulator = self.ident(ACCUMULATOR);
        let mut step = add(self, accumulator);
        if let Some(filter) = filter {
            let unchanged = self.ident(ACCUMULATOR);
            step = self.call("_?_:_", vec![filter, step, unchanged]);
        }
        let result = self.ident(ACCUMULATOR);
        let accumulator = ACCUMULATOR.to_owned();
        self.comprehension(Comprehension {
            range,
            variable,
            second,
            accumulator,
            start,
            condition,
            step,
            result,
        })
    }

    fn transform(
        &mut self,
        function: &str,
        range: Expr,
        (key, value): (String, String),
        filter: Option<Expr>,
        transform: Expr,
    ) -> Expr {
        if function == "transformList" {
            let item = self.one_item(transform);
            return self
                .gather(range, key, Some(value), filter, |make, accumulator| make.append(accumulator, item));
        }
        let start = self.expr(ExprKind::Map { entries: Vec::new() });
        let whole = function == "transformMapEntry";
        let name = key.clone();
        self.gather_from(start, range, (key, Some(value)), filter, |make, accumulator| {
            let args = if whole {
                vec![accumulator, transform]
            } else {
                vec![accumulator, make.ident(&name), transform]
            };
            make.call("cel.@mapInsert", args)
        })
    }

    /// Expands `all`, `exists` and `exists_one`, of one variable or two.
    fn quantifier(
        &mut self,
        function: &str,
        range: Expr,
        variable: String,
        second: Option<String>,
        predicate: Expr,
    ) -> Expr {
        let (start, condition, step, result);
        let accumulator = self.ident(ACCUMULATOR);
        match function {
            "all" => {
                start = self.literal(Literal::Bool(true));
                condition = self.call("@not_strictly_false", vec![accumulator]);
                let accumulator = self.ident(ACCUMULATOR);
                step = self.call("_&&_", vec![accumulator, predicate]);
                result = self.ident(ACCUMULATOR);
            }
            "exists" => {
                start = self.literal(Literal::Bool(false));
                let not = self.call("!_", vec![accumulator]);
                condition = self.call("@not_strictly_false", vec![not]);
                let accumulator = self.ident(ACCUMULATOR);
                step = self.call("_||_", vec![accumulator, predicate]);
                result = self.ident(ACCUMULATOR);
            }
            _ => {
                start = self.literal(Literal::Int(0));
                condition = self.literal(Literal::Bool(true));
                let one = self.literal(Literal::Int(1));
                let more = self.call("_+_", vec![accumulator, one]);
                let unchanged = self.ident(ACCUMULATOR);
                step = self.call("_?_:_", vec![predicate, more, unchanged]);
                let (accumulator, one) = (self.ident(ACCUMULATOR), self.literal(Literal::Int(1)));
                result = self.call("_==_", vec![accumulator, one]);
            }
        }
        let accumulator = ACCUMULATOR.to_owned();
        self.comprehension(Comprehension {
            range,
            variable,
            second,
            accumulator,
            start,
            condition,
            step,
            result,
        })
    }

    /// Binds a value to a name in `body`.
    fn named(&mut self, name: String, value: Expr, body: Expr) -> Expr {
        let range = self.expr(ExprKind::List { items: Vec::new() });
        let condition = self.literal(Literal::Bool(false));
        let step = self.ident(&name);
        self.comprehension(Comprehension {
            range,
            variable: UNUSED.to_owned(),
            second: None,
            accumulator: name,
            start: value,
            condition,
            step,
            result: body,
        })
    }

    fn comprehension(&mut self, comprehension: Comprehension) -> Expr {
        self.expr(ExprKind::Comprehension(Box::new(comprehension)))
    }

    /// Copies an expression under new ids.
    fn copy(&mut self, expr: &Expr) -> Expr {
        let kind = match &expr.kind {
            kind @ (ExprKind::Unspecified | ExprKind::Literal(_) | ExprKind::Ident(_)) => kind.clone(),
            ExprKind::Select { operand, field, test } => {
                ExprKind::Select { operand: Box::new(self.copy(operand)), field: field.clone(), test: *test }
            }
            ExprKind::Call { target, function, args } => ExprKind::Call {
                target: target.as_ref().map(|target| Box::new(self.copy(target))),
                function: function.clone(),
                args: args.iter().map(|arg| self.copy(arg)).collect(),
            },
            ExprKind::List { items } => {
                let copied = |item: &Item| Item { value: self.copy(&item.value), optional: item.optional };
                ExprKind::List { items: items.iter().map(copied).collect() }
            }
            ExprKind::Map { entries } => {
                let copied = |entry: &Entry| Entry {
                    key: self.copy(&entry.key),
                    value: self.copy(&entry.value),
                    optional: entry.optional,
                };
                ExprKind::Map { entries: entries.iter().map(copied).collect() }
            }
            ExprKind::Struct { name, fields } => {
                let copied = |field: &Field| Field {
                    id: self.parser.id(self.parser.offset_of(field.id)),
                    name: field.name.clone(),
                    value: self.copy(&field.value),
                    optional: field.optional,
                };
                ExprKind::Struct { name: name.clone(), fields: fields.iter().map(copied).collect() }
            }
            ExprKind::Comprehension(of) => ExprKind::Comprehension(Box::new(Comprehension {
                range: self.copy(&of.range),
                variable: of.variable.clone(),
                second: of.second.clone(),
                accumulator: of.accumulator.clone(),
                start: self.copy(&of.start),
                condition: self.copy(&of.condition),
                step: self.copy(&of.step),
                result: self.copy(&of.result),
            })),
        };
        Expr { id: self.parser.id(self.parser.offset_of(expr.id)), kind }
    }
}

/// Counts the parts of an expression.
fn parts(expr: &Expr) -> usize {
    let all = |parts: &mut dyn Iterator<Item = &Expr>| parts.map(self::parts).sum::<usize>();
    1 + match &expr.kind {
        ExprKind::Unspecified | ExprKind::Literal(_) | ExprKind::Ident(_) => 0,
        ExprKind::Select { operand, .. } => parts(operand),
        ExprKind::Call { target, args, .. } => {
            target.as_ref().map_or(0, |target| parts(target)) + all(&mut args.iter())
        }
        ExprKind::List { items } => all(&mut items.iter().map(|item| &item.value)),
        ExprKind::Map { entries } => {
            all(&mut entries.iter().flat_map(|entry| [&entry.key, &entry.value])) + entries.len()
        }
        ExprKind::Struct { fields, .. } => all(&mut fields.iter().map(|field| &field.value)) + fields.len(),
        ExprKind::Comprehension(of) => {
            all(&mut [&of.range, &of.start, &of.condition, &of.step, &of.result].into_iter())
        }
    }
}
