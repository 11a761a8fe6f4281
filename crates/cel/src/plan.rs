//! An expression as it is evaluated: names found, functions chosen, constants computed, and costs assigned where cel-go's
//! interpreter would incur them.

use std::collections::BTreeSet;
use std::sync::Arc;

use pintle_regex::Regex;

use crate::ast::{Ast, Comprehension, Expr, Id, Kind, Literal};
use crate::checker::{Checked, Meaning, Resolved};
use crate::cost::{Model, model};
use crate::environment::Declarations;
use crate::evaluate::{Call, Failure, Meter};
use crate::functions::Function;
use crate::parser::macros::ACCUMULATOR;
use crate::program::Budget;
use crate::types::{ObjectType, Type};
use crate::value::{Key, List, Map, Text, Val};

pub(crate) struct Plan {
    pub(crate) root: Step,
    /// How many variables its loops have.
    pub(crate) locals: usize,
}

/// A part that can be evaluated.
pub(crate) enum Step {
    Constant(Val<'static>),
    Attribute(Box<Attribute>),
    And(Box<[Step; 2]>),
    Or(Box<[Step; 2]>),
    Equal {
        negated: bool,
        sides: Box<[Step; 2]>,
    },
    Call(Box<CallStep>),
    /// Whether a value is one of these.
    Member {
        value: Box<Step>,
        set: BTreeSet<Key<'static>>,
    },
    /// The first of two optionals that has a value, or what to take instead.
    OptionalOr {
        value: bool,
        sides: Box<[Step; 2]>,
    },
    List(Vec<(Step, bool)>),
    Map(Vec<(Step, Step, bool)>),
    Object {
        of: Arc<dyn ObjectType>,
        fields: Vec<(String, Step, bool)>,
    },
    Fold(Box<Fold>),
    /// Adds an item to the list that a loop gathers.
    Append {
        local: usize,
        item: Box<Step>,
    },
    /// Adds entries to the map that a loop gathers.
    Insert {
        local: usize,
        args: Vec<Step>,
    },
}

pub(crate) struct CallStep {
    pub(crate) function: &'static Function,
    pub(crate) overload: Option<&'static str>,
    pub(crate) model: Model,
    pub(crate) args: Vec<Step>,
    /// The pattern, where it is known beforehand.
    pub(crate) regex: Option<Regex>,
}

/// A value and a way into it. cel-go counts the way, and one for the whole unless it is the branch of a conditional.
pub(crate) struct Attribute {
    pub(crate) base: Base,
    pub(crate) qualifiers: Vec<Qualifier>,
}

pub(crate) enum Base {
    Local(usize),
    Variable(usize),
    Step(Step),
    Conditional { condition: Step, truthy: Box<Attribute>, falsy: Box<Attribute> },
}

pub(crate) struct Qualifier {
    pub(crate) key: Qualifying,
    /// Asks for an optional.
    pub(crate) optional: bool,
    /// Asks only whether it is there.
    pub(crate) test: bool,
}

impl Qualifier {
    /// The name, where it is a field's.
    pub(crate) fn field_name(&self) -> Option<&str> {
        match &self.key {
            Qualifying::Constant(Val::String(name)) => Some(name),
            _ => None,
        }
    }
}

pub(crate) enum Qualifying {
    Constant(Val<'static>),
    Attribute(Attribute),
    Step(Step),
}

pub(crate) struct Fold {
    pub(crate) range: Step,
    pub(crate) variable: usize,
    pub(crate) second: Option<usize>,
    pub(crate) accumulator: usize,
    pub(crate) start: Step,
    pub(crate) condition: Step,
    pub(crate) step: Step,
    pub(crate) result: Step,
}

/// Plans a checked expression. An error is a constant that cannot be computed, in the words of evaluation.
pub(crate) fn plan(ast: &Ast, checked: &Checked, declarations: &Declarations) -> Result<Plan, String> {
    let mut planner = Planner { checked, declarations, scopes: Vec::new(), locals: 0 };
    let root = planner.plan(&ast.root)?;
    Ok(Plan { root, locals: planner.locals })
}

struct Planner<'p> {
    checked: &'p Checked,
    declarations: &'p Declarations,
    /// Variables of loops, innermost last, and where their values are.
    scopes: Vec<(String, usize)>,
    locals: usize,
}

impl Planner<'_> {
    fn plan(&mut self, expr: &Expr) -> Result<Step, String> {
        if let Some(meaning) = self.checked.meanings.get(&expr.id)
            && matches!(expr.kind, Kind::Ident(_) | Kind::Select { .. })
        {
            return Ok(self.name(meaning));
        }
        match &expr.kind {
            Kind::Unspecified | Kind::Ident(_) => Err("unsupported expression".to_owned()),
            Kind::Literal(literal) => Ok(Step::Constant(constant(literal))),
            Kind::Select { operand, field, test } => {
                let key = Val::String(Text::from(field.clone()));
                let qualifier = Qualifier { key: Qualifying::Constant(key), optional: false, test: *test };
                Ok(qualified(self.plan(operand)?, qualifier))
            }
            Kind::Call { target, args, .. } => self.call(expr.id, &expr.kind, target.as_deref(), args),
            Kind::List { items } => {
                let items: Result<Vec<_>, String> =
                    items.iter().map(|item| Ok((self.plan(&item.value)?, item.optional))).collect();
                folded(Step::List(items?))
            }
            Kind::Map { entries } => {
                let entries: Result<Vec<_>, String> = entries
                    .iter()
                    .map(|entry| Ok((self.plan(&entry.key)?, self.plan(&entry.value)?, entry.optional)))
                    .collect();
                folded(Step::Map(entries?))
            }
            Kind::Struct { fields, name } => {
                let Some(Meaning::Type(Type::Object(of))) = self.checked.meanings.get(&expr.id) else {
                    return Err(format!("unknown type: {name}"));
                };
                let fields: Result<Vec<_>, String> = fields
                    .iter()
                    .map(|field| Ok((field.name.clone(), self.plan(&field.value)?, field.optional)))
                    .collect();
                Ok(Step::Object { of: Arc::clone(of), fields: fields? })
            }
            Kind::Comprehension(of) => self.fold(of),
        }
    }

    fn name(&self, meaning: &Meaning) -> Step {
        let name = match meaning {
            Meaning::Type(of) => return Step::Constant(Val::Type(of.clone())),
            Meaning::Variable(name) => name,
        };
        let local = self.scopes.iter().rev().find(|(known, _)| known == name);
        let base = match local {
            Some((_, local)) => Base::Local(*local),
            None => Base::Variable(self.declarations.find(name).map_or(usize::MAX, |(place, _)| place)),
        };
        Step::Attribute(Box::new(Attribute { base, qualifiers: Vec::new() }))
    }

    fn call(&mut self, id: Id, kind: &Kind, target: Option<&Expr>, args: &[Expr]) -> Result<Step, String> {
        if let Kind::Call { function, .. } = kind
            && function == "_?._"
        {
            let mut args = self.args(None, args)?;
            let key = args.pop().unwrap_or(Step::Constant(Val::Null));
            let operand = args.pop().unwrap_or(Step::Constant(Val::Null));
            return Ok(qualified(operand, Qualifier { key: qualifying(key), optional: true, test: false }));
        }
        let Some(Resolved { function, overload, qualified: is_name }) = self.checked.calls.get(&id).copied()
        else {
            return Err("unsupported call".to_owned());
        };
        let mut args = self.args(target.filter(|_| !is_name), args)?;
        Ok(match function.name {
            "_&&_" => Step::And(two(args)),
            "_||_" => Step::Or(two(args)),
            "_==_" | "_!=_" => Step::Equal { negated: function.name == "_!=_", sides: two(args) },
            "_?_:_" => conditional(args),
            "_[_]" | "_[?_]" => {
                let [operand, index] = *two(args);
                let optional = function.name == "_[?_]";
                qualified(operand, Qualifier { key: qualifying(index), optional, test: false })
            }
            "or" => Step::OptionalOr { value: false, sides: two(args) },
            "orValue" => Step::OptionalOr { value: true, sides: two(args) },
            "_+_" if let Some(local) = self.accumulator(&args) => {
                let [_, list] = *two(args);
                match list {
                    Step::List(mut items) if items.len() == 1 && !items[0].1 => {
                        let (item, _) = items.swap_remove(0);
                        Step::Append { local, item: Box::new(item) }
                    }
                    list => {
                        let accumulator = attribute(Base::Local(local));
                        return called(function, overload, vec![accumulator, list]);
                    }
                }
            }
            "cel.@mapInsert" if let Some(local) = self.accumulator(&args) => {
                args.remove(0);
                Step::Insert { local, args }
            }
            "@in" if overload == Some("in_list") => {
                let [value, list] = *two(args);
                match set(&list) {
                    Some(set) if set.is_empty() => Step::Constant(Val::Bool(false)),
                    Some(set) => Step::Member { value: Box::new(value), set },
                    None => return called(function, overload, vec![value, list]),
                }
            }
            _ => return called(function, overload, args),
        })
    }

    fn args(&mut self, target: Option<&Expr>, args: &[Expr]) -> Result<Vec<Step>, String> {
        target.into_iter().chain(args).map(|arg| self.plan(arg)).collect()
    }

    /// Where a loop's accumulator is, if that is the first argument.
    fn accumulator(&self, args: &[Step]) -> Option<usize> {
        let Some(Step::Attribute(attribute)) = args.first() else { return None };
        let Base::Local(local) = attribute.base else { return None };
        let gathered = self.scopes.iter().any(|(name, place)| name == ACCUMULATOR && *place == local);
        (attribute.qualifiers.is_empty() && gathered).then_some(local)
    }

    /// Each loop has places of its own, since what its accumulator starts with is evaluated when it is first needed.
    fn fold(&mut self, of: &Comprehension) -> Result<Step, String> {
        let start = self.plan(&of.start)?;
        let range = self.plan(&of.range)?;
        let outside = self.scopes.len();
        let accumulator = self.local(&of.accumulator);
        let inside = self.scopes.len();
        let variable = self.local(&of.variable);
        let second = of.second.as_ref().map(|name| self.local(name));
        let condition = self.plan(&of.condition)?;
        let step = self.plan(&of.step)?;
        self.scopes.truncate(inside);
        let result = self.plan(&of.result)?;
        self.scopes.truncate(outside);
        Ok(Step::Fold(Box::new(Fold {
            range,
            variable,
            second,
            accumulator,
            start,
            condition,
            step,
            result,
        })))
    }

    fn local(&mut self, name: &str) -> usize {
        let local = self.locals;
        self.locals += 1;
        self.scopes.push((name.to_owned(), local));
        local
    }
}

fn constant(literal: &Literal) -> Val<'static> {
    match literal {
        Literal::Null => Val::Null,
        Literal::Bool(value) => Val::Bool(*value),
        Literal::Int(value) => Val::Int(*value),
        Literal::Uint(value) => Val::Uint(*value),
        Literal::Double(value) => Val::Double(*value),
        Literal::String(text) => Val::String(Text::Shared(Arc::clone(text))),
        Literal::Bytes(bytes) => Val::Bytes(crate::value::Blob::Shared(Arc::clone(bytes))),
    }
}

fn attribute(base: Base) -> Step {
    Step::Attribute(Box::new(Attribute { base, qualifiers: Vec::new() }))
}

/// One step further into a value.
fn qualified(operand: Step, qualifier: Qualifier) -> Step {
    let mut attribute = match operand {
        Step::Attribute(attribute) => attribute,
        step => Box::new(Attribute { base: Base::Step(step), qualifiers: Vec::new() }),
    };
    attribute.qualifiers.push(qualifier);
    Step::Attribute(attribute)
}

fn qualifying(key: Step) -> Qualifying {
    match key {
        Step::Constant(value) => Qualifying::Constant(value),
        Step::Attribute(attribute) => Qualifying::Attribute(*attribute),
        step => Qualifying::Step(step),
    }
}

fn conditional(args: Vec<Step>) -> Step {
    let mut args = args.into_iter();
    let mut next = || args.next().unwrap_or(Step::Constant(Val::Null));
    let condition = next();
    let mut branch = || match next() {
        Step::Attribute(attribute) => attribute,
        step => Box::new(Attribute { base: Base::Step(step), qualifiers: Vec::new() }),
    };
    let (truthy, falsy) = (branch(), branch());
    attribute(Base::Conditional { condition, truthy, falsy })
}

fn two(args: Vec<Step>) -> Box<[Step; 2]> {
    let mut args = args.into_iter();
    let mut next = || args.next().unwrap_or(Step::Constant(Val::Null));
    Box::new([next(), next()])
}

/// The values of a constant list, if all of them can be keys.
fn set(list: &Step) -> Option<BTreeSet<Key<'static>>> {
    let Step::Constant(Val::List(List::Items(items))) = list else { return None };
    items.iter().map(Key::of).collect()
}

/// A call, computed now if that needs nothing else.
fn called(
    function: &'static Function,
    overload: Option<&'static str>,
    args: Vec<Step>,
) -> Result<Step, String> {
    const CONVERSIONS: &[&str] =
        &["bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint"];
    if CONVERSIONS.contains(&function.name)
        && let [Step::Constant(value)] = args.as_slice()
    {
        let mut meter = Meter::new(Budget::PER_CALL);
        let mut call = Call { meter: &mut meter, function: function.name, overload, regex: None };
        return match (function.run)(&mut call, std::slice::from_ref(value)) {
            Ok(value) => Ok(Step::Constant(value)),
            Err(Failure::Error(error)) => Err(error.to_string()),
            Err(_) => Err("constant is too large".to_owned()),
        };
    }
    let regex = match (function.name, args.get(1)) {
        ("matches" | "find" | "findAll", Some(Step::Constant(Val::String(pattern)))) => {
            Some(Regex::new(pattern).map_err(|error| error.to_string())?)
        }
        _ => None,
    };
    let model = model(function.name, overload);
    Ok(Step::Call(Box::new(CallStep { function, overload, model, args, regex })))
}

/// A list or map of constants is one.
fn folded(step: Step) -> Result<Step, String> {
    let constant = |step: &Step| match step {
        Step::Constant(value) => Some(value.clone()),
        _ => None,
    };
    Ok(match step {
        Step::List(items) => {
            let values: Option<Vec<Val<'static>>> =
                items.iter().map(|(item, optional)| constant(item).filter(|_| !optional)).collect();
            match values {
                Some(values) => Step::Constant(Val::list(values)),
                None => Step::List(items),
            }
        }
        Step::Map(entries) => {
            let values = entries.iter().map(|(key, value, optional)| {
                let (key, value) = (constant(key).filter(|_| !optional)?, constant(value)?);
                Some((Key::of(&key)?, (key, value)))
            });
            match values.collect() {
                Some(values) => Step::Constant(Val::Map(Map::Entries(Arc::new(values)))),
                None => Step::Map(entries),
            }
        }
        other => other,
    })
}
