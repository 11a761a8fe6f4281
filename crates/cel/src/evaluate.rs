//! Evaluates a plan. Charges what cel-go's interpreter charges, and ends the evaluation when its budget is exceeded.

use std::collections::BTreeMap;
use std::sync::Arc;

use pintle_regex::Regex;

use crate::cost;
use crate::escaping::unescape;
use crate::meter::{Failure, Meter, Outcome};
use crate::plan::{Attribute, Base, CallNode, Fold, Node, Plan, Qualifier, Qualifying};
use crate::program::{Activation, Bound, LazyFields};
use crate::value::{Error, Key, List, Map, Read, Val, built_field, check_built, equal, from_tree};

/// Context of a function call.
pub(crate) struct Call<'c, 'b> {
    pub(crate) meter: &'c mut Meter<'b>,
    pub(crate) function: &'static str,
    /// The overload, if exactly one is applicable.
    pub(crate) overload: Option<&'static str>,
    /// The compiled pattern, if it is a constant.
    pub(crate) regex: Option<&'c Regex>,
}

/// Variable of a loop.
enum Local<'p, 'v> {
    /// Evaluated on first use.
    Lazy(&'p Node),
    Known(Result<Val<'v>, Error>),
}

pub(crate) struct Evaluator<'e, 'b, 'p, 'v> {
    plan: &'p Plan,
    activation: &'e Activation<'v>,
    meter: &'e mut Meter<'b>,
    locals: Vec<Local<'p, 'v>>,
}

impl<'e, 'b, 'p, 'v> Evaluator<'e, 'b, 'p, 'v> {
    pub(crate) fn new(
        plan: &'p Plan,
        activation: &'e Activation<'v>,
        meter: &'e mut Meter<'b>,
    ) -> Evaluator<'e, 'b, 'p, 'v> {
        let locals = std::iter::repeat_with(|| Local::Known(Ok(Val::Null))).take(plan.locals).collect();
        Evaluator { plan, activation, meter, locals }
    }

    pub(crate) fn run(mut self) -> Outcome<'v> {
        self.eval(&self.plan.root)
    }

    fn eval(&mut self, node: &'p Node) -> Outcome<'v> {
        match node {
            Node::Constant(value) => Ok(value.clone()),
            Node::Attribute(attribute) => {
                let value = self.resolve(attribute);
                let is_test = attribute.qualifiers.last().is_some_and(|qualifier| qualifier.test);
                if !is_test && !matches!(attribute.base, Base::Conditional { .. }) {
                    self.meter.charge(1)?;
                }
                value
            }
            Node::And(sides) => self.logical(sides, false),
            Node::Or(sides) => self.logical(sides, true),
            Node::Equal { negated, sides } => self.equality(*negated, sides),
            Node::Call(call) => self.call(call),
            Node::Member { value, set } => {
                let value = self.eval(value)?;
                Ok(Val::Bool(Key::of(&value).is_some_and(|key| set.contains(&key))))
            }
            Node::OptionalOr { value, sides } => match self.eval(&sides[0])? {
                Val::Optional(Some(found)) => {
                    Ok(if *value { (*found).clone() } else { Val::Optional(Some(found)) })
                }
                Val::Optional(None) => self.eval(&sides[1]),
                other => Ok(other),
            },
            Node::List(items) => self.list(items),
            Node::Map(entries) => self.map(entries),
            Node::Object { of, fields } => {
                let mut made = BTreeMap::new();
                for (name, value, optional) in fields {
                    let value = self.eval(value)?;
                    match initial(value, *optional, name)? {
                        Some(value) => made.insert(name.as_str().into(), value),
                        None => made.remove(name.as_str()),
                    };
                }
                self.meter.charge(cost::OBJECT)?;
                check_built(&**of, &made)?;
                Ok(Val::Map(Map::Fields { of: Arc::clone(of), fields: Arc::new(made) }))
            }
            Node::Fold(fold) => self.fold(fold),
            Node::Append { local, item } => self.append(*local, item),
            Node::Insert { local, args } => self.insert(*local, args),
        }
    }

    /// Evaluates to a value or to an error that may be absorbed; the end of the evaluation propagates.
    fn attempt(&mut self, node: &'p Node) -> Result<Result<Val<'v>, Error>, Failure> {
        match self.eval(node) {
            Ok(value) => Ok(Ok(value)),
            Err(Failure::Error(error)) => Ok(Err(error)),
            Err(end) => Err(end),
        }
    }

    /// Evaluates `&&` and `||`: a decisive side absorbs the error of the other.
    fn logical(&mut self, sides: &'p [Node; 2], decisive: bool) -> Outcome<'v> {
        let mut error = None;
        for side in sides {
            match self.attempt(side)? {
                Ok(Val::Bool(value)) if value == decisive => return Ok(Val::Bool(decisive)),
                Ok(Val::Bool(_)) => {}
                Ok(_) => error = error.or_else(|| Some(Error::new("no such overload"))),
                Err(problem) => error = error.or(Some(problem)),
            }
        }
        error.map_or(Ok(Val::Bool(!decisive)), |error| Err(error.into()))
    }

    fn equality(&mut self, negated: bool, sides: &'p [Node; 2]) -> Outcome<'v> {
        let (left, right) = (self.attempt(&sides[0])?, self.attempt(&sides[1])?);
        let model = if negated { cost::Model::Shorter } else { cost::Model::Equality };
        self.meter.charge(model.cost(&[left.as_ref(), right.as_ref()], None))?;
        let same = equal(&left?, &right?, self.meter)?;
        Ok(Val::Bool(same != negated))
    }

    fn call(&mut self, node: &'p CallNode) -> Outcome<'v> {
        match node.args.as_slice() {
            [only] => {
                let arg = self.attempt(only)?;
                if node.function.name == "@not_strictly_false" {
                    self.meter.charge(1)?;
                    return Ok(Val::Bool(!matches!(arg, Ok(Val::Bool(false)))));
                }
                match arg {
                    Ok(value) => self.apply(node, &[value]),
                    Err(error) => self.refuse(node, &[Err(&error)]),
                }
            }
            [left, right] => match (self.attempt(left)?, self.attempt(right)?) {
                (Ok(left), Ok(right)) => self.apply(node, &[left, right]),
                (left, right) => self.refuse(node, &[left.as_ref(), right.as_ref()]),
            },
            args => {
                let mut values = Vec::with_capacity(args.len());
                for arg in args {
                    values.push(self.eval(arg)?);
                }
                self.apply(node, &values)
            }
        }
    }

    /// Calls a function. Its cost is charged before it runs, unless the model depends on the result.
    fn apply(&mut self, node: &'p CallNode, args: &[Val<'v>]) -> Outcome<'v> {
        let of_result = node.model.is_of_result();
        if !of_result {
            self.meter.charge(node.model.cost_of(args, None))?;
        }
        let mut call = Call {
            meter: self.meter,
            function: node.function.name,
            overload: node.overload,
            regex: node.regex.as_ref(),
        };
        let result = (node.function.run)(&mut call, args);
        if of_result && !matches!(result, Err(Failure::CostLimit | Failure::Interrupted)) {
            self.meter.charge(node.model.cost_of(args, result.as_ref().ok()))?;
        }
        result
    }

    /// Charges a call with erroneous arguments and returns their first error.
    fn refuse(&mut self, node: &CallNode, args: &[Result<&Val<'v>, &Error>]) -> Outcome<'v> {
        self.meter.charge(node.model.cost(args, None))?;
        let error = args.iter().find_map(|arg| arg.err()).cloned();
        Err(error.unwrap_or_else(|| Error::new("no such overload")).into())
    }

    fn list(&mut self, items: &'p [(Node, bool)]) -> Outcome<'v> {
        let mut made = Vec::with_capacity(items.len());
        let mut problem = None;
        for (item, optional) in items {
            let value = match self.attempt(item)? {
                Ok(value) => value,
                Err(error) => {
                    problem = Some(error);
                    break;
                }
            };
            match (value, optional) {
                (Val::Optional(None), true) => {}
                (Val::Optional(Some(value)), true) => made.push((*value).clone()),
                (value, true) => {
                    let text = "cannot initialize optional list element from non-optional value";
                    problem = Some(Error::new(format!("{text} {}", abbreviated(&value))));
                    break;
                }
                (value, false) => made.push(value),
            }
        }
        self.meter.charge(cost::LIST)?;
        problem.map_or_else(|| Ok(Val::list(made)), |error| Err(error.into()))
    }

    fn map(&mut self, entries: &'p [(Node, Node, bool)]) -> Outcome<'v> {
        let mut made = BTreeMap::new();
        for (key, value, optional) in entries {
            let key = self.eval(key)?;
            let Some(plain) = Key::of(&key) else {
                return Failure::error(format!("unsupported key type: {}", key.type_of().runtime_name()));
            };
            let value = self.eval(value)?;
            match initial(value, *optional, &key)? {
                Some(value) => made.insert(plain, (key, value)),
                None => made.remove(&plain),
            };
        }
        self.meter.charge(cost::MAP)?;
        Ok(Val::Map(Map::Entries(Arc::new(made))))
    }

    fn fold(&mut self, fold: &'p Fold) -> Outcome<'v> {
        let range = self.eval(&fold.range)?;
        self.locals[fold.accumulator] = Local::Lazy(&fold.start);
        match &range {
            Val::List(list) => {
                for index in 0..list.len() {
                    let item = list.get(index)?;
                    self.meter.decoded(&item)?;
                    let (first, second) = match fold.second {
                        Some(_) => (Val::Int(index as i64), Some(item)),
                        None => (item, None),
                    };
                    if !self.round(fold, first, second)? {
                        break;
                    }
                }
            }
            Val::Map(map) if !matches!(map, Map::Fields { .. }) => {
                let keys = map.keys();
                self.meter.items(keys.len())?;
                for key in keys {
                    let value = match fold.second {
                        Some(_) => map.find(&key)?,
                        None => None,
                    };
                    if !self.round(fold, key, value)? {
                        break;
                    }
                }
            }
            other => {
                let of = other.type_of();
                return Failure::error(format!("got '{}', expected iterable type", of.runtime_name()));
            }
        }
        self.eval(&fold.result)
    }

    /// Runs one round of a loop; returns whether to continue.
    fn round(&mut self, fold: &'p Fold, first: Val<'v>, second: Option<Val<'v>>) -> Result<bool, Failure> {
        self.locals[fold.variable] = Local::Known(Ok(first));
        if let (Some(local), Some(value)) = (fold.second, second) {
            self.locals[local] = Local::Known(Ok(value));
        }
        if let Ok(Val::Bool(false)) = self.attempt(&fold.condition)? {
            return Ok(false);
        }
        let value = self.attempt(&fold.step)?;
        self.locals[fold.accumulator] = Local::Known(value);
        self.meter.round()?;
        Ok(true)
    }

    fn append(&mut self, local: usize, item: &'p Node) -> Outcome<'v> {
        let before = self.local(local).map(|_| ());
        self.meter.charge(1)?;
        let item = self.attempt(item)?;
        self.meter.charge(cost::LIST)?;
        self.meter.charge(1)?;
        before?;
        let item = item?;
        // Moved out, so that the list has one owner and is not copied.
        match std::mem::replace(&mut self.locals[local], Local::Known(Ok(Val::Null))) {
            Local::Known(Ok(Val::List(List::Items(mut items)))) => {
                Arc::make_mut(&mut items).push(item);
                Ok(Val::List(List::Items(items)))
            }
            _ => Failure::error("no such overload"),
        }
    }

    /// `cel.@mapInsert(accumulator, key, value)` or `cel.@mapInsert(accumulator, map)`.
    fn insert(&mut self, local: usize, args: &'p [Node]) -> Outcome<'v> {
        let before = self.local(local).map(|_| ());
        self.meter.charge(1)?;
        let mut values = Vec::with_capacity(args.len());
        for arg in args {
            values.push(self.attempt(arg)?);
        }
        before?;
        let mut added = Vec::new();
        match values.as_slice() {
            [Ok(Val::Map(map))] => {
                for key in map.keys() {
                    let value = map.find(&key)?.unwrap_or(Val::Null);
                    added.push((key, value));
                }
            }
            [Ok(key), Ok(value)] => added.push((key.clone(), value.clone())),
            values => {
                let error = values.iter().find_map(|value| value.as_ref().err()).cloned();
                return Err(error.unwrap_or_else(|| Error::new("no such overload")).into());
            }
        }
        self.meter.charge(1)?;
        self.meter.items(added.len())?;
        let taken = std::mem::replace(&mut self.locals[local], Local::Known(Ok(Val::Null)));
        let Local::Known(Ok(Val::Map(Map::Entries(mut entries)))) = taken else {
            return Failure::error("no such overload");
        };
        let made = Arc::make_mut(&mut entries);
        for (key, value) in added {
            let Some(plain) = Key::of(&key) else {
                return Failure::error(format!("unsupported key type: {}", key.type_of().runtime_name()));
            };
            if made.contains_key(&plain) {
                return Failure::error(format!("insert failed: key {key} already exists"));
            }
            made.insert(plain, (key, value));
        }
        Ok(Val::Map(Map::Entries(entries)))
    }

    fn local(&mut self, local: usize) -> Outcome<'v> {
        if let Local::Lazy(start) = &self.locals[local] {
            let start = *start;
            let value = self.attempt(start)?;
            self.locals[local] = Local::Known(value);
        }
        match &self.locals[local] {
            Local::Known(Ok(value)) => Ok(value.clone()),
            Local::Known(Err(error)) => Err(error.clone().into()),
            Local::Lazy(_) => Failure::error("no such attribute(s)"),
        }
    }

    fn resolve(&mut self, attribute: &'p Attribute) -> Outcome<'v> {
        let mut qualifiers = attribute.qualifiers.as_slice();
        let base = match &attribute.base {
            Base::Local(local) => self.local(*local)?,
            Base::Variable(index) => match (self.bound(*index)?, qualifiers) {
                (Bound::Lazy(fields), [first, rest @ ..]) => {
                    if first.test {
                        self.meter.charge(1)?;
                        let found = first.field_name().and_then(|name| fields.field(name, first.place));
                        return Ok(Val::Bool(found.is_some()));
                    }
                    qualifiers = rest;
                    match self.lazy(*fields, first)? {
                        Some(value) => value,
                        None => return Ok(Val::Optional(None)),
                    }
                }
                (Bound::Lazy(_), []) => return Failure::error("no such overload"),
                (Bound::Val(value), _) => value.clone(),
                (Bound::Tree(value), _) => {
                    let value = from_tree(value, &self.plan.variables[*index].1)?;
                    self.meter.decoded(&value)?;
                    value
                }
            },
            Base::Node(node) => self.eval(node)?,
            Base::Conditional { condition, truthy, falsy } => match self.eval(condition)? {
                Val::Bool(true) => self.resolve(truthy)?,
                Val::Bool(false) => self.resolve(falsy)?,
                _ => return Failure::error("no such overload"),
            },
        };
        let Some(last) = attribute.qualifiers.last() else { return Ok(base) };
        if qualifiers.is_empty() {
            return Ok(base);
        }
        Ok(match self.qualify(base, qualifiers)? {
            Val::Optional(found) if last.test => Val::Bool(found.is_some()),
            value => value,
        })
    }

    /// Resolves a lazy field; `None` if it is optional and absent.
    fn lazy(
        &mut self,
        fields: &'v dyn LazyFields<'v>,
        first: &Qualifier,
    ) -> Result<Option<Val<'v>>, Failure> {
        let Some(name) = first.field_name() else { return Failure::error("no such overload") };
        match fields.field(name, first.place) {
            Some(value) => {
                self.meter.charge(1)?;
                let value = value?;
                Ok(Some(if first.optional { Val::some(value) } else { value }))
            }
            None if first.optional => Ok(None),
            None => {
                self.meter.charge(1)?;
                Failure::error(format!("no such key: {name}"))
            }
        }
    }

    fn bound(&self, index: usize) -> Result<&'e Bound<'v>, Failure> {
        let Some((name, _)) = self.plan.variables.get(index) else {
            return Failure::error("no such attribute(s)");
        };
        match self.activation.find(name) {
            Some(bound) => Ok(bound),
            None => Failure::error(format!("no such attribute(s): {name}")),
        }
    }

    /// Returns the key under its unescaped name, if the bound map has that.
    fn as_given(&self, value: &Val<'v>, key: Val<'v>) -> Val<'v> {
        match (value, &key) {
            (Val::Map(Map::Tree { .. }), Val::String(name)) if self.plan.unescapes_keys => {
                unescape(name).filter(|given| given != &**name).map_or(key, Val::string)
            }
            _ => key,
        }
    }

    /// Returns the element of any value at a key or index, if there is one.
    fn look_up(
        &mut self,
        value: &Val<'v>,
        key: &Val<'_>,
        read: Read,
    ) -> Result<Result<Option<Val<'v>>, Error>, Failure> {
        let Val::Map(Map::Fields { of, fields }) = value else { return Ok(look_up(value, key)) };
        match built_field((&**of, fields), key, read, self.meter) {
            Ok(found) => Ok(Ok(found)),
            Err(Failure::Error(error)) => Ok(Err(error)),
            Err(end) => Err(end),
        }
    }

    fn qualify(&mut self, base: Val<'v>, qualifiers: &'p [Qualifier]) -> Outcome<'v> {
        let mut value = base;
        let mut optional = false;
        if let Val::Optional(inner) = &value {
            let Some(inner) = inner else { return Ok(value) };
            value = (**inner).clone();
            optional = true;
        }
        for qualifier in qualifiers {
            optional |= qualifier.optional;
            let key = match &qualifier.key {
                Qualifying::Constant(key) => key.clone(),
                Qualifying::Attribute(attribute) => self.resolve(attribute)?,
                Qualifying::Node(node) => self.eval(node)?,
            };
            if qualifier.test {
                let key = self.as_given(&value, key);
                let read = Read { declared: qualifier.declared, if_present: true };
                let found = self.look_up(&value, &key, read)?;
                if let Ok(Some(found)) = &found {
                    self.meter.decoded(found)?;
                }
                // A value that is not of its declared type is an error, also in a presence test.
                let present = found.map(|found| found.is_some());
                if !optional || present.as_ref().is_ok_and(|present| *present) {
                    self.meter.charge(1)?;
                }
                return Ok(Val::Bool(present?));
            }
            let given = self.as_given(&value, key.clone());
            let read = Read { declared: qualifier.declared, if_present: optional };
            match self.look_up(&value, &given, read)? {
                Ok(Some(found)) => {
                    self.meter.charge(1)?;
                    self.meter.decoded(&found)?;
                    value = found;
                }
                Ok(None) if optional => return Ok(Val::Optional(None)),
                Ok(None) => {
                    self.meter.charge(1)?;
                    let what =
                        if matches!(value, Val::List(_)) { "index out of bounds" } else { "no such key" };
                    return Failure::error(format!("{what}: {}", abbreviated(&key)));
                }
                Err(error) => {
                    if !optional {
                        self.meter.charge(1)?;
                    }
                    return Err(error.into());
                }
            }
        }
        Ok(if optional { Val::some(value) } else { value })
    }
}

/// Returns the element of a list, tree or map at a key or index, if there is one.
fn look_up<'v>(value: &Val<'v>, key: &Val<'_>) -> Result<Option<Val<'v>>, Error> {
    match (value, key) {
        (Val::Map(map), Val::String(key)) => map.field(key),
        (Val::Map(map), key) => map.find(key),
        (Val::List(list), key) => match index(key)? {
            Some(index) if index < list.len() => list.get(index).map(Some),
            _ => Ok(None),
        },
        _ => Ok(None),
    }
}

/// Returns a list index; `None` if it is negative.
pub(crate) fn index(key: &Val<'_>) -> Result<Option<usize>, Error> {
    match key {
        Val::Int(index) => Ok(usize::try_from(*index).ok()),
        Val::Uint(index) => Ok(usize::try_from(*index).ok()),
        Val::Double(index) if index.fract() == 0.0 => {
            Ok(if *index >= 0.0 && *index < 1e15 { Some(*index as usize) } else { None })
        }
        Val::Double(index) => Err(Error::new(format!("unsupported index value {index} in list"))),
        other => {
            Err(Error::new(format!("unsupported index type '{}' in list", other.type_of().runtime_name())))
        }
    }
}

/// Returns the value to initialize an entry or field with; `None` if it is an optional without a value.
fn initial<'v>(
    value: Val<'v>,
    optional: bool,
    key: &impl std::fmt::Display,
) -> Result<Option<Val<'v>>, Failure> {
    match (value, optional) {
        (value, false) => Ok(Some(value)),
        (Val::Optional(value), true) => Ok(value.map(|value| (*value).clone())),
        (value, true) => Failure::error(format!(
            "cannot initialize optional entry '{key}' from non-optional value {}",
            abbreviated(&value)
        )),
    }
}

/// Formats a value for a message; containers are abbreviated to their type.
pub(crate) fn abbreviated(value: &Val<'_>) -> String {
    match value {
        Val::List(_) | Val::Map(_) | Val::Optional(_) => value.type_of().runtime_name().to_owned(),
        value => value.to_string(),
    }
}

impl Call<'_, '_> {
    /// Returns the error of a function that has no overload for the types of its arguments.
    pub(crate) fn no_such_overload<'v>(&self, args: &[Val<'v>]) -> Outcome<'v> {
        let types: Vec<String> = args.iter().map(|arg| arg.type_of().runtime_name().to_owned()).collect();
        Failure::error(format!("no such overload: {}({})", self.function, types.join(", ")))
    }
}
