//! All functions: their overloads for the checker, and their implementations.
//!
//! A library is a table with one row per function. Signatures are text (`"list(A), A -> bool"`; a capital letter is a
//! type parameter), parsed once. One Rust function implements all overloads of a name and returns "no such overload"
//! if dynamic values fit none.

pub use self::authorizer::{Authorizer, Check, Checked, Decision, ResourceCheck, authorizer, resource_check};
pub(crate) use self::device::MOST_VALUES;
pub(crate) use self::named_formats::longest_pattern;
pub use self::named_formats::{is_base64, is_date, is_date_time, is_request_uri, is_uuid};
pub use self::url::Url;

use std::collections::HashMap;
use std::sync::OnceLock;

use crate::evaluate::Call;
use crate::meter::Failure;
use crate::types::{Parameter, Type};
use crate::value::Val;

mod authorizer;
mod conversions;
mod device;
pub(crate) mod format;
mod lists;
mod named_formats;
mod network;
mod operators;
mod quantity;
mod semver;
mod sets;
mod standard;
mod strings;
mod time;
mod url;

/// Implementation of a function.
pub(crate) type Run = for<'v> fn(&mut Call<'_, '_>, &[Val<'v>]) -> Result<Val<'v>, Failure>;

/// Function as its library declares it.
pub(crate) struct Declared {
    pub(crate) name: &'static str,
    /// Id and signature of each overload; a leading dot in the signature makes it a method of its first argument.
    pub(crate) overloads: &'static [(&'static str, &'static str)],
    pub(crate) run: Run,
}

/// Function with parsed signatures, as the checker and the planner use it.
pub(crate) struct Function {
    pub(crate) name: &'static str,
    pub(crate) overloads: Vec<Overload>,
    pub(crate) run: Run,
}

pub(crate) struct Overload {
    pub(crate) id: &'static str,
    pub(crate) member: bool,
    pub(crate) parameters: Vec<Type>,
    pub(crate) result: Type,
    /// Whether it has type parameters.
    pub(crate) generic: bool,
}

const LIBRARIES: &[&[Declared]] = &[
    authorizer::FUNCTIONS,
    conversions::FUNCTIONS,
    device::FUNCTIONS,
    format::FUNCTIONS,
    lists::FUNCTIONS,
    named_formats::FUNCTIONS,
    network::FUNCTIONS,
    operators::FUNCTIONS,
    quantity::FUNCTIONS,
    semver::FUNCTIONS,
    sets::FUNCTIONS,
    standard::FUNCTIONS,
    strings::FUNCTIONS,
    time::FUNCTIONS,
    url::FUNCTIONS,
];

/// Returns a function by its full name.
pub(crate) fn find(name: &str) -> Option<&'static Function> {
    static ALL: OnceLock<HashMap<&'static str, Function>> = OnceLock::new();
    ALL.get_or_init(|| {
        let mut all = HashMap::new();
        for declared in LIBRARIES.iter().copied().flatten() {
            let overloads =
                declared.overloads.iter().map(|(id, signature)| overload(id, signature)).collect();
            let function = Function { name: declared.name, overloads, run: declared.run };
            let before = all.insert(declared.name, function);
            debug_assert!(before.is_none(), "{} is listed twice", declared.name);
        }
        all
    })
    .get(name)
}

fn overload(id: &'static str, signature: &'static str) -> Overload {
    let (member, signature) = match signature.strip_prefix('.') {
        Some(rest) => (true, rest),
        None => (false, signature),
    };
    let (parameters, result) = signature.split_once("->").unwrap_or((signature, "dyn"));
    let mut reader = Reader { rest: parameters.trim() };
    let parameters = reader.list();
    let result = Reader { rest: result.trim() }.one();
    let generic = parameters.iter().chain([&result]).any(has_parameter);
    Overload { id, member, parameters, result, generic }
}

fn has_parameter(of: &Type) -> bool {
    matches!(of, Type::Parameter(_)) || of.parameters().any(has_parameter)
}

/// Parser of signatures. They are constants of the program, and a test parses them all.
struct Reader<'s> {
    rest: &'s str,
}

impl Reader<'_> {
    fn list(&mut self) -> Vec<Type> {
        let mut types = Vec::new();
        while !self.rest.is_empty() && !self.rest.starts_with(')') {
            types.push(self.one());
            self.rest = self.rest.trim_start_matches([',', ' ']);
        }
        types
    }

    fn one(&mut self) -> Type {
        let end = self.rest.find(['(', ')', ',', ' ']).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        self.rest = rest;
        let mut inner = Vec::new();
        if let Some(inside) = self.rest.strip_prefix('(') {
            self.rest = inside;
            inner = self.list();
            self.rest = self.rest.strip_prefix(')').unwrap_or(self.rest);
        }
        let mut inner = inner.into_iter();
        let mut next = || inner.next().unwrap_or(Type::Dyn);
        match name {
            "null" => Type::Null,
            "bool" => Type::Bool,
            "int" => Type::Int,
            "uint" => Type::Uint,
            "double" => Type::Double,
            "string" => Type::String,
            "bytes" => Type::Bytes,
            "duration" => Type::Duration,
            "timestamp" => Type::Timestamp,
            "list" => Type::list(next()),
            "map" => Type::map(next(), next()),
            "optional" => Type::optional(next()),
            "type" => Type::of_type(next()),
            name => match NAMED.iter().find(|of| of.runtime_name() == name) {
                Some(of) => of.clone(),
                None => match name.chars().next() {
                    Some(letter) if letter.is_ascii_uppercase() => Type::Parameter(Parameter::Named(letter)),
                    _ => Type::Dyn,
                },
            },
        }
    }
}

/// Kubernetes' own types.
pub(crate) static NAMED: &[Type] = &[
    Type::Named("kubernetes.URL"),
    Type::Named("kubernetes.Quantity"),
    Type::Named("kubernetes.Semver"),
    Type::Named("kubernetes.NamedFormat"),
    Type::Opaque("net.IP"),
    Type::Opaque("net.CIDR"),
    Type::Named("kubernetes.authorization.Authorizer"),
    Type::Named("kubernetes.authorization.PathCheck"),
    Type::Named("kubernetes.authorization.GroupCheck"),
    Type::Named("kubernetes.authorization.ResourceCheck"),
    Type::Named("kubernetes.authorization.Decision"),
];
