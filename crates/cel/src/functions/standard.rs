//! Standard functions: sizes, substring tests, optionals.

use pintle_regex::Regex;

use super::Declared;
use crate::evaluate::Call;
use crate::meter::{Failure, Outcome};
use crate::value::{Error, List, Val};

pub(super) const FUNCTIONS: &[Declared] = &[
    Declared {
        name: "size",
        overloads: &[
            ("size_bytes", "bytes -> int"),
            ("bytes_size", ".bytes -> int"),
            ("size_list", "list(A) -> int"),
            ("list_size", ".list(A) -> int"),
            ("size_map", "map(A, B) -> int"),
            ("map_size", ".map(A, B) -> int"),
            ("size_string", "string -> int"),
            ("string_size", ".string -> int"),
        ],
        run: size,
    },
    Declared {
        name: "contains",
        overloads: &[("contains_string", ".string, string -> bool")],
        run: |_, args| texts(args, |text, part| text.contains(part)),
    },
    Declared {
        name: "startsWith",
        overloads: &[("starts_with_string", ".string, string -> bool")],
        run: |_, args| texts(args, |text, part| text.starts_with(part)),
    },
    Declared {
        name: "endsWith",
        overloads: &[("ends_with_string", ".string, string -> bool")],
        run: |_, args| texts(args, |text, part| text.ends_with(part)),
    },
    Declared {
        name: "matches",
        overloads: &[("matches", "string, string -> bool"), ("matches_string", ".string, string -> bool")],
        run: matches,
    },
    Declared { name: "optional.of", overloads: &[("optional_of", "V -> optional(V)")], run: optional_of },
    Declared {
        name: "optional.ofNonZeroValue",
        overloads: &[("optional_ofNonZeroValue", "V -> optional(V)")],
        run: optional_of_non_zero,
    },
    Declared {
        name: "optional.none",
        overloads: &[("optional_none", "-> optional(V)")],
        run: |_, _| Ok(Val::Optional(None)),
    },
    Declared { name: "value", overloads: &[("optional_value", ".optional(V) -> V")], run: value },
    Declared {
        name: "hasValue",
        overloads: &[("optional_hasValue", ".optional(V) -> bool")],
        run: has_value,
    },
    Declared {
        name: "or",
        overloads: &[("optional_or_optional", ".optional(V), optional(V) -> optional(V)")],
        run: |call, args| call.no_such_overload(args),
    },
    Declared {
        name: "orValue",
        overloads: &[("optional_orValue_value", ".optional(V), V -> V")],
        run: |call, args| call.no_such_overload(args),
    },
    Declared { name: "first", overloads: &[("list_first", ".list(V) -> optional(V)")], run: first },
    Declared { name: "last", overloads: &[("list_last", ".list(V) -> optional(V)")], run: last },
    Declared {
        name: "optional.unwrap",
        overloads: &[("optional_unwrap", "list(optional(V)) -> list(V)")],
        run: unwrap,
    },
    Declared {
        name: "unwrapOpt",
        overloads: &[("optional_unwrapOpt", ".list(optional(V)) -> list(V)")],
        run: unwrap,
    },
];

fn size<'v>(call: &mut Call<'_, '_>, args: &[Val<'v>]) -> Outcome<'v> {
    match args {
        [value @ Val::String(text)] => {
            // Counting characters is work that the constant cost does not cover.
            call.meter.work(text.len() / 16)?;
            Ok(Val::Int(value.size().unwrap_or_default() as i64))
        }
        [value @ (Val::Bytes(_) | Val::List(_) | Val::Map(_))] => {
            Ok(Val::Int(value.size().unwrap_or_default() as i64))
        }
        [Val::Timestamp(_) | Val::Duration(_)] => Failure::error("no such overload"),
        _ => Failure::error(format!("no such overload: {}", call.function)),
    }
}

fn texts<'v>(args: &[Val<'v>], holds: fn(&str, &str) -> bool) -> Outcome<'v> {
    match args {
        [Val::String(text), Val::String(part)] => Ok(Val::Bool(holds(text, part))),
        _ => Failure::error("no such overload"),
    }
}

fn matches<'v>(call: &mut Call<'_, '_>, args: &[Val<'v>]) -> Outcome<'v> {
    match args {
        [Val::String(text), Val::String(pattern)] => {
            let made;
            let regex = match call.regex {
                Some(regex) => regex,
                None => {
                    made = Regex::new(pattern).map_err(|error| Error::new(error.to_string()))?;
                    &made
                }
            };
            Ok(Val::Bool(regex.is_match(text)))
        }
        [Val::String(_) | Val::Timestamp(_) | Val::Duration(_), _] => Failure::error("no such overload"),
        _ => Failure::error(format!("no such overload: {}", call.function)),
    }
}

fn optional_of<'v>(call: &mut Call<'_, '_>, args: &[Val<'v>]) -> Outcome<'v> {
    match args {
        [value] => Ok(Val::some(value.clone())),
        _ => call.no_such_overload(args),
    }
}

fn optional_of_non_zero<'v>(call: &mut Call<'_, '_>, args: &[Val<'v>]) -> Outcome<'v> {
    match args {
        [value] if value.is_zero() => Ok(Val::Optional(None)),
        [value] => Ok(Val::some(value.clone())),
        _ => call.no_such_overload(args),
    }
}

fn value<'v>(call: &mut Call<'_, '_>, args: &[Val<'v>]) -> Outcome<'v> {
    match args {
        [Val::Optional(Some(value))] => Ok((**value).clone()),
        [Val::Optional(None)] => Failure::error("optional.none() dereference"),
        _ => call.no_such_overload(args),
    }
}

fn has_value<'v>(call: &mut Call<'_, '_>, args: &[Val<'v>]) -> Outcome<'v> {
    match args {
        [Val::Optional(value)] => Ok(Val::Bool(value.is_some())),
        _ => call.no_such_overload(args),
    }
}

fn end<'v>(list: &List<'v>, index: Option<usize>) -> Outcome<'v> {
    match index {
        Some(index) if index < list.len() => Ok(Val::some(list.get(index)?)),
        _ => Ok(Val::Optional(None)),
    }
}

fn first<'v>(call: &mut Call<'_, '_>, args: &[Val<'v>]) -> Outcome<'v> {
    match args {
        [Val::List(list)] => end(list, Some(0)),
        _ => call.no_such_overload(args),
    }
}

fn last<'v>(call: &mut Call<'_, '_>, args: &[Val<'v>]) -> Outcome<'v> {
    match args {
        [Val::List(list)] => end(list, list.len().checked_sub(1)),
        _ => call.no_such_overload(args),
    }
}

fn unwrap<'v>(call: &mut Call<'_, '_>, args: &[Val<'v>]) -> Outcome<'v> {
    let [Val::List(list)] = args else { return call.no_such_overload(args) };
    call.meter.items(list.len())?;
    let mut values = Vec::new();
    for item in list.iter() {
        match item? {
            Val::Optional(Some(value)) => values.push((*value).clone()),
            Val::Optional(None) => {}
            other => return Failure::error(format!("value {other} is not optional")),
        }
    }
    Ok(Val::list(values))
}
