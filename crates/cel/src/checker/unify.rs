//! Assignability of types, and the bindings of type parameters that follow from it.

use std::sync::Arc;

use crate::types::{ListType, Parameter, Type};

/// Types that free type parameters are bound to. A failed attempt is rolled back.
#[derive(Debug, Default)]
pub(super) struct Bindings {
    bound: Vec<Option<Type>>,
    /// Previous bindings, latest last, for the rollback.
    trail: Vec<(u32, Option<Type>)>,
}

impl Bindings {
    pub(super) fn fresh(&mut self) -> Type {
        self.bound.push(None);
        Type::Parameter(Parameter::Free(self.bound.len() as u32 - 1))
    }

    fn find(&self, of: &Type) -> Option<&Type> {
        match of {
            Type::Parameter(Parameter::Free(number)) => self.bound[*number as usize].as_ref(),
            _ => None,
        }
    }

    fn bind(&mut self, parameter: &Type, to: Type) {
        if let Type::Parameter(Parameter::Free(number)) = parameter {
            let before = self.bound[*number as usize].replace(to);
            self.trail.push((*number, before));
        }
    }

    /// Returns whether each type is assignable to its counterpart.
    pub(super) fn assignable_all(&mut self, from: &[Type], to: &[Type]) -> bool {
        let mark = self.trail.len();
        let fits = from.len() == to.len() && from.iter().zip(to).all(|(from, to)| self.assign(from, to));
        if fits {
            self.trail.clear();
        } else {
            while self.trail.len() > mark {
                if let Some((number, before)) = self.trail.pop() {
                    self.bound[number as usize] = before;
                }
            }
        }
        fits
    }

    pub(super) fn assignable(&mut self, from: &Type, to: &Type) -> bool {
        self.assignable_all(std::slice::from_ref(from), std::slice::from_ref(to))
    }

    fn assign(&mut self, from: &Type, to: &Type) -> bool {
        if matches!(to, Type::Parameter(_)) {
            let (valid, known) = self.substitutes(from, to);
            if valid || known {
                return valid;
            }
        }
        if matches!(from, Type::Parameter(_)) {
            return self.substitutes(to, from).0;
        }
        if from.is_dyn_or_error() || to.is_dyn_or_error() {
            return true;
        }
        match (from, to) {
            (Type::Null, other) | (other, Type::Null) => nullable(other),
            (Type::Type(_), _) => matches!(to, Type::Type(_)),
            (Type::List(_), Type::List(_))
            | (Type::Map(_), Type::Map(_))
            | (Type::Optional(_), Type::Optional(_)) => {
                from.parameters().zip(to.parameters()).all(|(from, to)| self.assign(from, to))
            }
            _ => from == to,
        }
    }

    /// Returns whether a type parameter can be this type, and whether it was bound already.
    fn substitutes(&mut self, of: &Type, parameter: &Type) -> (bool, bool) {
        if of == parameter {
            return (true, true);
        }
        if let Some(known) = self.find(parameter).cloned() {
            if *of == known {
                return (true, true);
            }
            if self.assign(of, &known) {
                let general = most_general(of, &known);
                if self.does_not_occur(parameter, general) {
                    let general = general.clone();
                    self.bind(parameter, general);
                }
                return (true, true);
            }
            return (false, true);
        }
        if self.does_not_occur(parameter, of) {
            self.bind(parameter, of.clone());
            return (true, false);
        }
        (false, false)
    }

    fn does_not_occur(&self, parameter: &Type, within: &Type) -> bool {
        if parameter == within {
            return false;
        }
        match within {
            Type::Parameter(_) => self.find(within).is_none_or(|found| self.does_not_occur(parameter, found)),
            _ => within.parameters().all(|inner| self.does_not_occur(parameter, inner)),
        }
    }

    /// Substitutes the bound parameters of a type; with `finally`, unbound ones become `dyn`.
    pub(super) fn resolve(&self, of: &Type, finally: bool) -> Type {
        self.changed(of, finally).unwrap_or_else(|| of.clone())
    }

    /// Like [`Bindings::resolve`]; `None` if nothing is substituted.
    fn changed(&self, of: &Type, finally: bool) -> Option<Type> {
        match of {
            Type::Parameter(_) => match self.find(of) {
                Some(found) => Some(self.resolve(found, finally)),
                None if finally => Some(Type::Dyn),
                None => None,
            },
            Type::List(list) => {
                let item = self.changed(&list.item, finally)?;
                Some(Type::List(Arc::new(ListType { item, kind: list.kind.clone() })))
            }
            Type::Map(map) => match (self.changed(&map.0, finally), self.changed(&map.1, finally)) {
                (None, None) => None,
                (key, value) => Some(Type::map(
                    key.unwrap_or_else(|| map.0.clone()),
                    value.unwrap_or_else(|| map.1.clone()),
                )),
            },
            Type::Optional(inner) => self.changed(inner, finally).map(Type::optional),
            Type::Type(Some(inner)) => self.changed(inner, finally).map(Type::of_type),
            _ => None,
        }
    }
}

/// Returns whether null is assignable to the type.
fn nullable(of: &Type) -> bool {
    matches!(
        of,
        Type::Null
            | Type::Opaque(_)
            | Type::Optional(_)
            | Type::Object(_)
            | Type::Named(_)
            | Type::Duration
            | Type::Timestamp
    )
}

/// Returns the less specific of two types.
pub(super) fn most_general<'t>(a: &'t Type, b: &'t Type) -> &'t Type {
    if is_less_specific(a, b) { a } else { b }
}

fn is_less_specific(a: &Type, b: &Type) -> bool {
    if a.is_dyn() || matches!(a, Type::Parameter(_)) {
        return true;
    }
    if b.is_dyn() || matches!(b, Type::Parameter(_)) {
        return false;
    }
    match (a, b) {
        (Type::List(_), Type::List(_))
        | (Type::Map(_), Type::Map(_))
        | (Type::Optional(_), Type::Optional(_)) => {
            a.parameters().zip(b.parameters()).all(|(a, b)| is_less_specific(a, b))
        }
        (Type::Type(_), Type::Type(_)) => true,
        _ => a == b,
    }
}

/// Replaces the letters of a signature's type by fresh parameters.
pub(super) fn instantiate(of: &Type, letters: &mut Vec<(char, Type)>, bindings: &mut Bindings) -> Type {
    match of {
        Type::Parameter(Parameter::Named(letter)) => {
            if let Some((_, found)) = letters.iter().find(|(known, _)| known == letter) {
                return found.clone();
            }
            let fresh = bindings.fresh();
            letters.push((*letter, fresh.clone()));
            fresh
        }
        Type::List(list) => Type::list(instantiate(&list.item, letters, bindings)),
        Type::Map(map) => {
            Type::map(instantiate(&map.0, letters, bindings), instantiate(&map.1, letters, bindings))
        }
        Type::Optional(inner) => Type::optional(instantiate(inner, letters, bindings)),
        Type::Type(Some(inner)) => Type::of_type(instantiate(inner, letters, bindings)),
        _ => of.clone(),
    }
}
