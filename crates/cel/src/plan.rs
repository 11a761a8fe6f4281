//! Executable form of an expression: names resolved, functions selected, constants folded, and costs assigned where
//! cel-go's interpreter incurs them.

use std::collections::BTreeSet;
use std::sync::Arc;

use pintle_regex::Regex;

use crate::ast::{Ast, Comprehension, Expr, ExprKind, Id, Literal};
use crate::checker::{Checked, Meaning, Resolved};
use crate::cost::{Model, model};
use crate::environment::Declarations;
use crate::evaluate::Call;
use crate::functions::Function;
use crate::meter::{Failure, Meter};
use crate::parser::macros::ACCUMULATOR;
use crate::program::Budget;
use crate::types::{ObjectType, Type};
use crate::value::{Key, List, Map, Text, Val};

/// A plan with everything that its evaluation needs, so that the environment of the expression can go.
pub(crate) struct Plan {
    pub(crate) root: Node,
    /// Number of its loops' variables.
    pub(crate) locals: usize,
    /// The declared variables that the expression reads.
    pub(crate) variables: Vec<(String, Type)>,
    pub(crate) unescapes_keys: bool,
}

/// Node of a plan.
pub(crate) enum Node {
    Constant(Val<'static>),
    Attribute(Box<Attribute>),
    And(Box<[Node; 2]>),
    Or(Box<[Node; 2]>),
    Equal {
        negated: bool,
        sides: Box<[Node; 2]>,
    },
    Call(Box<CallNode>),
    /// Test of whether a value is in a constant list.
    Member {
        value: Box<Node>,
        set: BTreeSet<Key<'static>>,
    },
    /// `or` or `orValue`: the first optional that has a value, else the second side.
    OptionalOr {
        value: bool,
        sides: Box<[Node; 2]>,
    },
    List(Vec<(Node, bool)>),
    Map(Vec<(Node, Node, bool)>),
    Object {
        of: Arc<dyn ObjectType>,
        fields: Vec<(String, Node, bool)>,
    },
    Fold(Box<Fold>),
    /// Appends an item to the accumulator, a list.
    Append {
        local: usize,
        item: Box<Node>,
    },
    /// Inserts entries into the accumulator, a map.
    Insert {
        local: usize,
        args: Vec<Node>,
    },
}

pub(crate) struct CallNode {
    pub(crate) function: &'static Function,
    pub(crate) overload: Option<&'static str>,
    pub(crate) model: Model,
    pub(crate) args: Vec<Node>,
    /// The compiled pattern, if it is a constant.
    pub(crate) regex: Option<Regex>,
}

/// Value with a path into it. cel-go charges each qualifier, and one for the whole unless it is the branch of a
/// conditional.
pub(crate) struct Attribute {
    pub(crate) base: Base,
    pub(crate) qualifiers: Vec<Qualifier>,
}

pub(crate) enum Base {
    Local(usize),
    /// Index in [`Plan::variables`].
    Variable(usize),
    Node(Node),
    Conditional {
        condition: Node,
        truthy: Box<Attribute>,
        falsy: Box<Attribute>,
    },
}

pub(crate) struct Qualifier {
    pub(crate) key: Qualifying,
    /// Whether it selects into an optional (`.?`).
    pub(crate) optional: bool,
    /// Whether it only tests presence.
    pub(crate) test: bool,
    /// Whether it selects a field of an object whose type the checker knows.
    pub(crate) declared: bool,
    /// The place of that field in the type, if its fields have places.
    pub(crate) place: Option<usize>,
}

impl Qualifier {
    /// Returns the field's name if the key is a constant string.
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
    Node(Node),
}

pub(crate) struct Fold {
    pub(crate) range: Node,
    pub(crate) variable: usize,
    pub(crate) second: Option<usize>,
    pub(crate) accumulator: usize,
    pub(crate) start: Node,
    pub(crate) condition: Node,
    pub(crate) step: Node,
    pub(crate) result: Node,
}

/// Plans a checked expression. The error is the evaluation error of a constant.
pub(crate) fn plan(ast: &Ast, checked: &Checked, declarations: &Declarations) -> Result<Plan, String> {
    let mut planner = Planner { checked, declarations, scopes: Vec::new(), locals: 0, variables: Vec::new() };
    let root = planner.plan(&ast.root)?;
    let Planner { locals, variables, .. } = planner;
    Ok(Plan { root, locals, variables, unescapes_keys: declarations.unescapes_keys })
}

struct Planner<'p> {
    checked: &'p Checked,
    declarations: &'p Declarations,
    /// Variables of the enclosing loops, innermost last, with their slots.
    scopes: Vec<(String, usize)>,
    locals: usize,
    variables: Vec<(String, Type)>,
}

impl Planner<'_> {
    fn plan(&mut self, expr: &Expr) -> Result<Node, String> {
        if let Some(meaning) = self.checked.meanings.get(&expr.id)
            && matches!(expr.kind, ExprKind::Ident(_) | ExprKind::Select { .. })
        {
            return Ok(self.name(meaning));
        }
        match &expr.kind {
            ExprKind::Unspecified | ExprKind::Ident(_) => Err("unsupported expression".to_owned()),
            ExprKind::Literal(literal) => Ok(Node::Constant(constant(literal))),
            ExprKind::Select { operand, field, test } => {
                let key = Val::String(Text::from(field.clone()));
                let (declared, place) = self.object_field(operand, Some(field));
                let key = Qualifying::Constant(key);
                let qualifier = Qualifier { key, optional: false, test: *test, declared, place };
                Ok(qualified(self.plan(operand)?, qualifier))
            }
            ExprKind::Call { target, args, .. } => self.call(expr.id, &expr.kind, target.as_deref(), args),
            ExprKind::List { items } => {
                let items: Result<Vec<_>, String> =
                    items.iter().map(|item| Ok((self.plan(&item.value)?, item.optional))).collect();
                folded(Node::List(items?))
            }
            ExprKind::Map { entries } => {
                let entries: Result<Vec<_>, String> = entries
                    .iter()
                    .map(|entry| Ok((self.plan(&entry.key)?, self.plan(&entry.value)?, entry.optional)))
                    .collect();
                folded(Node::Map(entries?))
            }
            ExprKind::Struct { fields, name } => {
                let Some(Meaning::Type(Type::Object(of))) = self.checked.meanings.get(&expr.id) else {
                    return Err(format!("unknown type: {name}"));
                };
                let fields: Result<Vec<_>, String> = fields
                    .iter()
                    .map(|field| Ok((field.name.clone(), self.plan(&field.value)?, field.optional)))
                    .collect();
                Ok(Node::Object { of: Arc::clone(of), fields: fields? })
            }
            ExprKind::Comprehension(of) => self.fold(of),
        }
    }

    fn name(&mut self, meaning: &Meaning) -> Node {
        let name = match meaning {
            Meaning::Type(of) => return Node::Constant(Val::Type(of.clone())),
            Meaning::Variable(name) => name,
        };
        let local = self.scopes.iter().rev().find(|(known, _)| known == name);
        let base = match local {
            Some((_, local)) => Base::Local(*local),
            None => Base::Variable(self.variable(name)),
        };
        Node::Attribute(Box::new(Attribute { base, qualifiers: Vec::new() }))
    }

    /// Returns the place of a declared variable among those of the plan.
    fn variable(&mut self, name: &str) -> usize {
        if let Some(known) = self.variables.iter().position(|(known, _)| known == name) {
            return known;
        }
        let Some(of) = self.declarations.find(name) else { return usize::MAX };
        self.variables.push((name.to_owned(), of.clone()));
        self.variables.len() - 1
    }

    fn call(
        &mut self,
        id: Id,
        kind: &ExprKind,
        target: Option<&Expr>,
        args: &[Expr],
    ) -> Result<Node, String> {
        if let ExprKind::Call { function, .. } = kind
            && function == "_?._"
        {
            let (declared, place) = match args {
                [operand, Expr { kind: ExprKind::Literal(Literal::String(field)), .. }] => {
                    self.object_field(operand, Some(field))
                }
                [operand, ..] => self.object_field(operand, None),
                [] => (false, None),
            };
            let mut args = self.args(None, args)?;
            let key = args.pop().unwrap_or(Node::Constant(Val::Null));
            let operand = args.pop().unwrap_or(Node::Constant(Val::Null));
            let key = qualifying(key);
            let qualifier = Qualifier { key, optional: true, test: false, declared, place };
            return Ok(qualified(operand, qualifier));
        }
        let Some(Resolved { function, overload, qualified: is_name }) = self.checked.calls.get(&id).copied()
        else {
            return Err("unsupported call".to_owned());
        };
        let mut args = self.args(target.filter(|_| !is_name), args)?;
        Ok(match function.name {
            "_&&_" => Node::And(two(args)),
            "_||_" => Node::Or(two(args)),
            "_==_" | "_!=_" => Node::Equal { negated: function.name == "_!=_", sides: two(args) },
            "_?_:_" => conditional(args),
            "_[_]" | "_[?_]" => {
                let [operand, index] = *two(args);
                let (key, optional) = (qualifying(index), function.name == "_[?_]");
                qualified(operand, Qualifier { key, optional, test: false, declared: false, place: None })
            }
            "or" => Node::OptionalOr { value: false, sides: two(args) },
            "orValue" => Node::OptionalOr { value: true, sides: two(args) },
            "_+_" if let Some(local) = self.accumulator(&args) => {
                let [_, list] = *two(args);
                match list {
                    Node::List(mut items) if items.len() == 1 && !items[0].1 => {
                        let (item, _) = items.swap_remove(0);
                        Node::Append { local, item: Box::new(item) }
                    }
                    list => {
                        let accumulator = attribute(Base::Local(local));
                        return called(function, overload, vec![accumulator, list]);
                    }
                }
            }
            "cel.@mapInsert" if let Some(local) = self.accumulator(&args) => {
                args.remove(0);
                Node::Insert { local, args }
            }
            "@in" if overload == Some("in_list") => {
                let [value, list] = *two(args);
                match set(&list) {
                    Some(set) if set.is_empty() => Node::Constant(Val::Bool(false)),
                    Some(set) => Node::Member { value: Box::new(value), set },
                    None => return called(function, overload, vec![value, list]),
                }
            }
            _ => return called(function, overload, args),
        })
    }

    /// Returns whether an expression is an object of a known type, and the place of a field in it.
    fn object_field(&self, expr: &Expr, field: Option<&str>) -> (bool, Option<usize>) {
        match self.checked.type_of(expr) {
            Type::Object(of) => (true, field.and_then(|field| of.place(field))),
            _ => (false, None),
        }
    }

    fn args(&mut self, target: Option<&Expr>, args: &[Expr]) -> Result<Vec<Node>, String> {
        target.into_iter().chain(args).map(|arg| self.plan(arg)).collect()
    }

    /// Returns the accumulator's slot if the first argument is the accumulator.
    fn accumulator(&self, args: &[Node]) -> Option<usize> {
        let Some(Node::Attribute(attribute)) = args.first() else { return None };
        let Base::Local(local) = attribute.base else { return None };
        let gathered = self.scopes.iter().any(|(name, index)| name == ACCUMULATOR && *index == local);
        (attribute.qualifiers.is_empty() && gathered).then_some(local)
    }

    /// Plans a loop. Each has slots of its own, since the accumulator's initial value is evaluated lazily.
    fn fold(&mut self, of: &Comprehension) -> Result<Node, String> {
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
        Ok(Node::Fold(Box::new(Fold {
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

fn attribute(base: Base) -> Node {
    Node::Attribute(Box::new(Attribute { base, qualifiers: Vec::new() }))
}

/// Appends a qualifier to an operand.
fn qualified(operand: Node, qualifier: Qualifier) -> Node {
    let mut attribute = match operand {
        Node::Attribute(attribute) => attribute,
        node => Box::new(Attribute { base: Base::Node(node), qualifiers: Vec::new() }),
    };
    attribute.qualifiers.push(qualifier);
    Node::Attribute(attribute)
}

fn qualifying(key: Node) -> Qualifying {
    match key {
        Node::Constant(value) => Qualifying::Constant(value),
        Node::Attribute(attribute) => Qualifying::Attribute(*attribute),
        node => Qualifying::Node(node),
    }
}

fn conditional(args: Vec<Node>) -> Node {
    let mut args = args.into_iter();
    let mut next = || args.next().unwrap_or(Node::Constant(Val::Null));
    let condition = next();
    let mut branch = || match next() {
        Node::Attribute(attribute) => attribute,
        node => Box::new(Attribute { base: Base::Node(node), qualifiers: Vec::new() }),
    };
    let (truthy, falsy) = (branch(), branch());
    attribute(Base::Conditional { condition, truthy, falsy })
}

fn two(args: Vec<Node>) -> Box<[Node; 2]> {
    let mut args = args.into_iter();
    let mut next = || args.next().unwrap_or(Node::Constant(Val::Null));
    Box::new([next(), next()])
}

/// Returns the values of a constant list if all of them can be keys.
fn set(list: &Node) -> Option<BTreeSet<Key<'static>>> {
    let Node::Constant(Val::List(List::Items(items))) = list else { return None };
    items.iter().map(Key::of).collect()
}

/// Plans a call, folded if all arguments are constants.
fn called(
    function: &'static Function,
    overload: Option<&'static str>,
    args: Vec<Node>,
) -> Result<Node, String> {
    const CONVERSIONS: &[&str] =
        &["bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint"];
    if CONVERSIONS.contains(&function.name)
        && let [Node::Constant(value)] = args.as_slice()
    {
        let mut meter = Meter::new(Budget::PER_CALL);
        let mut call = Call { meter: &mut meter, function: function.name, overload, regex: None };
        return match (function.run)(&mut call, std::slice::from_ref(value)) {
            Ok(value) => Ok(Node::Constant(value)),
            Err(Failure::Error(error)) => Err(error.to_string()),
            Err(_) => Err("constant is too large".to_owned()),
        };
    }
    let regex = match (function.name, args.get(1)) {
        ("matches" | "find" | "findAll", Some(Node::Constant(Val::String(pattern)))) => {
            Some(Regex::new(pattern).map_err(|error| error.to_string())?)
        }
        _ => None,
    };
    let model = model(function.name, overload);
    Ok(Node::Call(Box::new(CallNode { function, overload, model, args, regex })))
}

/// Folds a list or map of constants.
fn folded(node: Node) -> Result<Node, String> {
    let constant = |node: &Node| match node {
        Node::Constant(value) => Some(value.clone()),
        _ => None,
    };
    Ok(match node {
        Node::List(items) => {
            let values: Option<Vec<Val<'static>>> =
                items.iter().map(|(item, optional)| constant(item).filter(|_| !optional)).collect();
            match values {
                Some(values) => Node::Constant(Val::list(values)),
                None => Node::List(items),
            }
        }
        Node::Map(entries) => {
            let values = entries.iter().map(|(key, value, optional)| {
                let (key, value) = (constant(key).filter(|_| !optional)?, constant(value)?);
                Some((Key::of(&key)?, (key, value)))
            });
            match values.collect() {
                Some(values) => Node::Constant(Val::Map(Map::Entries(Arc::new(values)))),
                None => Node::Map(entries),
            }
        }
        other => other,
    })
}
