//! Operators as functions.

use std::cmp::Ordering;
use std::sync::Arc;

use super::Declared;
use crate::evaluate::Call;
use crate::meter::{Failure, Outcome};
use crate::types::ListKind;
use crate::value::{Blob, Error, Key, List, Text, Val, compare, contains, find_by_keys};

/// Overloads of a comparison operator.
macro_rules! ordering {
    ($name:literal, $prefix:literal, $run:expr) => {
        Declared {
            name: $name,
            overloads: &[
                (concat!($prefix, "_bool"), "bool, bool -> bool"),
                (concat!($prefix, "_int64"), "int, int -> bool"),
                (concat!($prefix, "_int64_double"), "int, double -> bool"),
                (concat!($prefix, "_int64_uint64"), "int, uint -> bool"),
                (concat!($prefix, "_uint64"), "uint, uint -> bool"),
                (concat!($prefix, "_uint64_double"), "uint, double -> bool"),
                (concat!($prefix, "_uint64_int64"), "uint, int -> bool"),
                (concat!($prefix, "_double"), "double, double -> bool"),
                (concat!($prefix, "_double_int64"), "double, int -> bool"),
                (concat!($prefix, "_double_uint64"), "double, uint -> bool"),
                (concat!($prefix, "_string"), "string, string -> bool"),
                (concat!($prefix, "_bytes"), "bytes, bytes -> bool"),
                (concat!($prefix, "_timestamp"), "timestamp, timestamp -> bool"),
                (concat!($prefix, "_duration"), "duration, duration -> bool"),
            ],
            run: $run,
        }
    };
}

pub(super) const FUNCTIONS: &[Declared] = &[
    Declared { name: "_?_:_", overloads: &[("conditional", "bool, A, A -> A")], run: special },
    Declared { name: "_&&_", overloads: &[("logical_and", "bool, bool -> bool")], run: special },
    Declared { name: "_||_", overloads: &[("logical_or", "bool, bool -> bool")], run: special },
    Declared { name: "_==_", overloads: &[("equals", "A, A -> bool")], run: special },
    Declared { name: "_!=_", overloads: &[("not_equals", "A, A -> bool")], run: special },
    Declared {
        name: "_[_]",
        overloads: &[
            ("index_list", "list(A), int -> A"),
            ("index_map", "map(A, B), A -> B"),
            ("optional_list_index_int", "optional(list(V)), int -> optional(V)"),
            ("optional_map_index_value", "optional(map(K, V)), K -> optional(V)"),
        ],
        run: special,
    },
    Declared {
        name: "_[?_]",
        overloads: &[
            ("list_optindex_optional_int", "list(V), int -> optional(V)"),
            ("optional_list_optindex_optional_int", "optional(list(V)), int -> optional(V)"),
            ("map_optindex_optional_value", "map(K, V), K -> optional(V)"),
            ("optional_map_optindex_optional_value", "optional(map(K, V)), K -> optional(V)"),
        ],
        run: special,
    },
    Declared {
        name: "@not_strictly_false",
        overloads: &[("not_strictly_false", "bool -> bool")],
        run: special,
    },
    Declared {
        name: "cel.@mapInsert",
        overloads: &[
            ("@mapInsert_map_key_value", "map(K, V), K, V -> map(K, V)"),
            ("@mapInsert_map_map", "map(K, V), map(K, V) -> map(K, V)"),
        ],
        run: special,
    },
    Declared { name: "!_", overloads: &[("logical_not", "bool -> bool")], run: not },
    Declared {
        name: "-_",
        overloads: &[("negate_double", "double -> double"), ("negate_int64", "int -> int")],
        run: negate,
    },
    Declared {
        name: "_+_",
        overloads: &[
            ("add_bytes", "bytes, bytes -> bytes"),
            ("add_double", "double, double -> double"),
            ("add_duration_duration", "duration, duration -> duration"),
            ("add_duration_timestamp", "duration, timestamp -> timestamp"),
            ("add_timestamp_duration", "timestamp, duration -> timestamp"),
            ("add_int64", "int, int -> int"),
            ("add_list", "list(A), list(A) -> list(A)"),
            ("add_string", "string, string -> string"),
            ("add_uint64", "uint, uint -> uint"),
        ],
        run: add,
    },
    Declared {
        name: "_-_",
        overloads: &[
            ("subtract_double", "double, double -> double"),
            ("subtract_duration_duration", "duration, duration -> duration"),
            ("subtract_int64", "int, int -> int"),
            ("subtract_timestamp_duration", "timestamp, duration -> timestamp"),
            ("subtract_timestamp_timestamp", "timestamp, timestamp -> duration"),
            ("subtract_uint64", "uint, uint -> uint"),
        ],
        run: subtract,
    },
    Declared {
        name: "_*_",
        overloads: &[
            ("multiply_double", "double, double -> double"),
            ("multiply_int64", "int, int -> int"),
            ("multiply_uint64", "uint, uint -> uint"),
        ],
        run: multiply,
    },
    Declared {
        name: "_/_",
        overloads: &[
            ("divide_double", "double, double -> double"),
            ("divide_int64", "int, int -> int"),
            ("divide_uint64", "uint, uint -> uint"),
        ],
        run: divide,
    },
    Declared {
        name: "_%_",
        overloads: &[("modulo_int64", "int, int -> int"), ("modulo_uint64", "uint, uint -> uint")],
        run: modulo,
    },
    ordering!("_<_", "less", |call, args| order(call, args, |order| order == Ordering::Less)),
    ordering!("_<=_", "less_equals", |call, args| order(call, args, |order| order != Ordering::Greater)),
    ordering!("_>_", "greater", |call, args| order(call, args, |order| order == Ordering::Greater)),
    ordering!("_>=_", "greater_equals", |call, args| order(call, args, |order| order != Ordering::Less)),
    Declared {
        name: "@in",
        overloads: &[("in_list", "A, list(A) -> bool"), ("in_map", "A, map(A, B) -> bool")],
        run: is_in,
    },
];

const INTEGER: &str = "integer overflow";
const UNSIGNED: &str = "unsigned integer overflow";
const DURATION: &str = "duration overflow";

/// Operator that the evaluator implements itself.
fn special<'v>(call: &mut Call<'_, '_>, args: &[Val<'v>]) -> Outcome<'v> {
    call.no_such_overload(args)
}

/// Returns the error of an operator that has no overload for its operands.
fn unsupported<'v>(call: &Call<'_, '_>, args: &[Val<'v>], operands: fn(&Val<'v>) -> bool) -> Outcome<'v> {
    let receives = matches!(args.first(), Some(Val::String(_) | Val::Duration(_) | Val::Timestamp(_)));
    if receives || args.first().is_some_and(operands) {
        return Failure::error("no such overload");
    }
    Failure::error(format!("no such overload: {}", call.function))
}

fn checked<'v, T>(value: Option<T>, wrap: fn(T) -> Val<'v>, overflow: &str) -> Outcome<'v> {
    value.map(wrap).ok_or_else(|| Error::new(overflow).into())
}

fn is_number(value: &Val<'_>) -> bool {
    matches!(value, Val::Int(_) | Val::Uint(_) | Val::Double(_))
}

fn not<'v>(_: &mut Call<'_, '_>, args: &[Val<'v>]) -> Outcome<'v> {
    match args {
        [Val::Bool(value)] => Ok(Val::Bool(!value)),
        _ => Failure::error("no such overload"),
    }
}

fn negate<'v>(call: &mut Call<'_, '_>, args: &[Val<'v>]) -> Outcome<'v> {
    match args {
        [Val::Int(value)] => checked(value.checked_neg(), Val::Int, INTEGER),
        [Val::Double(value)] => Ok(Val::Double(-value)),
        [Val::Duration(value)] => checked(value.checked_neg(), Val::Duration, DURATION),
        _ => unsupported(call, args, |value| matches!(value, Val::Bool(_))),
    }
}

pub(super) fn add<'v>(call: &mut Call<'_, '_>, args: &[Val<'v>]) -> Outcome<'v> {
    match args {
        [Val::Int(a), Val::Int(b)] => checked(a.checked_add(*b), Val::Int, INTEGER),
        [Val::Uint(a), Val::Uint(b)] => checked(a.checked_add(*b), Val::Uint, UNSIGNED),
        [Val::Double(a), Val::Double(b)] => Ok(Val::Double(a + b)),
        [Val::Duration(a), Val::Duration(b)] => checked(a.checked_add(*b), Val::Duration, DURATION),
        [Val::Duration(nanos), Val::Timestamp(at)] | [Val::Timestamp(at), Val::Duration(nanos)] => {
            Ok(Val::Timestamp(at.plus(*nanos)?))
        }
        [Val::String(a), Val::String(b)] => {
            call.meter.work(a.len() + b.len())?;
            Ok(Val::String(Text::Shared([&**a, &**b].concat().into())))
        }
        [Val::Bytes(a), Val::Bytes(b)] => {
            call.meter.work(a.len() + b.len())?;
            Ok(Val::Bytes(Blob::Shared([&**a, &**b].concat().into())))
        }
        [Val::List(a), Val::List(b)] => add_lists(call, a, b),
        _ => {
            unsupported(call, args, |value| is_number(value) || matches!(value, Val::Bytes(_) | Val::List(_)))
        }
    }
}

/// Concatenates lists; for `set` and `map` lists, adds the items that the first does not contain.
fn add_lists<'v>(call: &mut Call<'_, '_>, left: &List<'v>, right: &List<'v>) -> Outcome<'v> {
    if right.is_empty() {
        return Ok(Val::List(left.clone()));
    }
    if left.is_empty() {
        return Ok(Val::List(right.clone()));
    }
    call.meter.items(left.len() + right.len())?;
    let mut items: Vec<Val<'v>> = left.iter().collect::<Result<_, _>>()?;
    for item in right.iter() {
        let item = item?;
        match left.kind() {
            ListKind::Atomic => items.push(item),
            ListKind::Set => {
                if !contains(left, &item, call.meter)? {
                    items.push(item);
                }
            }
            ListKind::Map(keys) => match find_by_keys(left, &item, keys, call.meter)? {
                Some((place, _)) => items[place] = item,
                None => items.push(item),
            },
        }
    }
    let items = Arc::new(items);
    Ok(Val::List(match left.declared() {
        Some(of) if of.kind != ListKind::Atomic => List::Merged { items, of: Arc::clone(of) },
        _ => List::Joined(items),
    }))
}

fn subtract<'v>(call: &mut Call<'_, '_>, args: &[Val<'v>]) -> Outcome<'v> {
    match args {
        [Val::Int(a), Val::Int(b)] => checked(a.checked_sub(*b), Val::Int, INTEGER),
        [Val::Uint(a), Val::Uint(b)] => checked(a.checked_sub(*b), Val::Uint, UNSIGNED),
        [Val::Double(a), Val::Double(b)] => Ok(Val::Double(a - b)),
        [Val::Duration(a), Val::Duration(b)] => checked(a.checked_sub(*b), Val::Duration, DURATION),
        [Val::Timestamp(at), Val::Duration(nanos)] => match nanos.checked_neg() {
            Some(nanos) => Ok(Val::Timestamp(at.plus(nanos)?)),
            None => Failure::error("timestamp overflow"),
        },
        [Val::Timestamp(a), Val::Timestamp(b)] => Ok(Val::Duration(a.since(*b)?)),
        _ => unsupported(call, args, is_number),
    }
}

fn multiply<'v>(call: &mut Call<'_, '_>, args: &[Val<'v>]) -> Outcome<'v> {
    match args {
        [Val::Int(a), Val::Int(b)] => checked(a.checked_mul(*b), Val::Int, INTEGER),
        [Val::Uint(a), Val::Uint(b)] => checked(a.checked_mul(*b), Val::Uint, UNSIGNED),
        [Val::Double(a), Val::Double(b)] => Ok(Val::Double(a * b)),
        _ => unsupported(call, args, is_number),
    }
}

fn divide<'v>(call: &mut Call<'_, '_>, args: &[Val<'v>]) -> Outcome<'v> {
    match args {
        [Val::Int(_), Val::Int(0)] | [Val::Uint(_), Val::Uint(0)] => Failure::error("division by zero"),
        [Val::Int(a), Val::Int(b)] => checked(a.checked_div(*b), Val::Int, INTEGER),
        [Val::Uint(a), Val::Uint(b)] => Ok(Val::Uint(a / b)),
        [Val::Double(a), Val::Double(b)] => Ok(Val::Double(a / b)),
        _ => unsupported(call, args, is_number),
    }
}

fn modulo<'v>(call: &mut Call<'_, '_>, args: &[Val<'v>]) -> Outcome<'v> {
    match args {
        [Val::Int(_), Val::Int(0)] | [Val::Uint(_), Val::Uint(0)] => Failure::error("modulus by zero"),
        [Val::Int(a), Val::Int(b)] => checked(a.checked_rem(*b), Val::Int, INTEGER),
        [Val::Uint(a), Val::Uint(b)] => Ok(Val::Uint(a % b)),
        _ => unsupported(call, args, |value| matches!(value, Val::Int(_) | Val::Uint(_))),
    }
}

fn order<'v>(call: &mut Call<'_, '_>, args: &[Val<'v>], holds: fn(Ordering) -> bool) -> Outcome<'v> {
    let [left, right] = args else { return call.no_such_overload(args) };
    match left {
        Val::Null | Val::List(_) | Val::Map(_) | Val::Type(_) | Val::Optional(_) | Val::Other(_) => {
            unsupported(call, args, |_| false)
        }
        _ => Ok(Val::Bool(holds(compare(left, right)?))),
    }
}

fn is_in<'v>(call: &mut Call<'_, '_>, args: &[Val<'v>]) -> Outcome<'v> {
    match args {
        [value, Val::List(list)] => Ok(Val::Bool(contains(list, value, call.meter)?)),
        [value, Val::Map(map)] => {
            if Key::of(value).is_none() {
                return Ok(Val::Bool(false));
            }
            Ok(Val::Bool(map.find(value)?.is_some()))
        }
        _ => Failure::error("no such overload"),
    }
}
