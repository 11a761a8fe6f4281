//! List functions: Kubernetes' library (sums, minima and maxima, indexes) and cel-go's extension (slices, sorting).

use std::cmp::Ordering;

use super::Declared;
use super::strings;
use crate::evaluate::Call;
use crate::meter::{Failure, Outcome};
use crate::value::{List, Val, compare, contains, equal};

/// Overloads of a function on lists of comparable items.
macro_rules! comparable {
    ($name:literal) => {
        &[
            (concat!("list_int_", $name, "_int"), ".list(int) -> int"),
            (concat!("list_uint_", $name, "_uint"), ".list(uint) -> uint"),
            (concat!("list_double_", $name, "_double"), ".list(double) -> double"),
            (concat!("list_bool_", $name, "_bool"), ".list(bool) -> bool"),
            (concat!("list_duration_", $name, "_duration"), ".list(duration) -> duration"),
            (concat!("list_timestamp_", $name, "_timestamp"), ".list(timestamp) -> timestamp"),
            (concat!("list_string_", $name, "_string"), ".list(string) -> string"),
            (concat!("list_bytes_", $name, "_bytes"), ".list(bytes) -> bytes"),
        ]
    };
}

pub(super) const FUNCTIONS: &[Declared] = &[
    Declared {
        name: "isSorted",
        overloads: &[
            ("list_int_is_sorted_bool", ".list(int) -> bool"),
            ("list_uint_is_sorted_bool", ".list(uint) -> bool"),
            ("list_double_is_sorted_bool", ".list(double) -> bool"),
            ("list_bool_is_sorted_bool", ".list(bool) -> bool"),
            ("list_duration_is_sorted_bool", ".list(duration) -> bool"),
            ("list_timestamp_is_sorted_bool", ".list(timestamp) -> bool"),
            ("list_string_is_sorted_bool", ".list(string) -> bool"),
            ("list_bytes_is_sorted_bool", ".list(bytes) -> bool"),
        ],
        run: is_sorted,
    },
    Declared {
        name: "sum",
        overloads: &[
            ("list_int_sum_int", ".list(int) -> int"),
            ("list_uint_sum_uint", ".list(uint) -> uint"),
            ("list_double_sum_double", ".list(double) -> double"),
            ("list_duration_sum_duration", ".list(duration) -> duration"),
        ],
        run: sum,
    },
    Declared {
        name: "max",
        overloads: comparable!("max"),
        run: |call, args| extreme(call, args, Ordering::Less),
    },
    Declared {
        name: "min",
        overloads: comparable!("min"),
        run: |call, args| extreme(call, args, Ordering::Greater),
    },
    Declared {
        name: "indexOf",
        overloads: &[
            ("list_a_index_of_int", ".list(A), A -> int"),
            ("string_index_of_string", ".string, string -> int"),
            ("string_index_of_string_int", ".string, string, int -> int"),
        ],
        run: index_of,
    },
    Declared {
        name: "lastIndexOf",
        overloads: &[
            ("list_a_last_index_of_int", ".list(A), A -> int"),
            ("string_last_index_of_string", ".string, string -> int"),
            ("string_last_index_of_string_int", ".string, string, int -> int"),
        ],
        run: last_index_of,
    },
    Declared { name: "slice", overloads: &[("list_slice", ".list(T), int, int -> list(T)")], run: slice },
    Declared {
        name: "flatten",
        overloads: &[
            ("list_flatten", ".list(list(T)) -> list(T)"),
            ("list_flatten_int", ".list(dyn), int -> list(dyn)"),
        ],
        run: flatten,
    },
    Declared {
        name: "sort",
        overloads: &[
            ("list_int_sort", ".list(int) -> list(int)"),
            ("list_uint_sort", ".list(uint) -> list(uint)"),
            ("list_double_sort", ".list(double) -> list(double)"),
            ("list_bool_sort", ".list(bool) -> list(bool)"),
            ("list_google.protobuf.Duration_sort", ".list(duration) -> list(duration)"),
            ("list_google.protobuf.Timestamp_sort", ".list(timestamp) -> list(timestamp)"),
            ("list_string_sort", ".list(string) -> list(string)"),
            ("list_bytes_sort", ".list(bytes) -> list(bytes)"),
        ],
        run: |call, args| match args {
            [Val::List(list)] => sorted(call, list, list),
            _ => Failure::error(format!("no such overload: {}", call.function)),
        },
    },
    Declared {
        name: "@sortByAssociatedKeys",
        overloads: &[
            ("list_int_sortByAssociatedKeys", ".list(T), list(int) -> list(T)"),
            ("list_uint_sortByAssociatedKeys", ".list(T), list(uint) -> list(T)"),
            ("list_double_sortByAssociatedKeys", ".list(T), list(double) -> list(T)"),
            ("list_bool_sortByAssociatedKeys", ".list(T), list(bool) -> list(T)"),
            ("list_google.protobuf.Duration_sortByAssociatedKeys", ".list(T), list(duration) -> list(T)"),
            ("list_google.protobuf.Timestamp_sortByAssociatedKeys", ".list(T), list(timestamp) -> list(T)"),
            ("list_string_sortByAssociatedKeys", ".list(T), list(string) -> list(T)"),
            ("list_bytes_sortByAssociatedKeys", ".list(T), list(bytes) -> list(T)"),
        ],
        run: |call, args| match args {
            [Val::List(list), Val::List(keys)] => sorted(call, list, keys),
            _ => Failure::error(format!("no such overload: {}", call.function)),
        },
    },
    Declared { name: "lists.range", overloads: &[("lists_range", "int -> list(int)")], run: range },
    Declared { name: "reverse", overloads: &[("list_reverse", ".list(T) -> list(T)")], run: reverse },
    Declared { name: "distinct", overloads: &[("list_distinct", ".list(T) -> list(T)")], run: distinct },
];

fn has_order(value: &Val<'_>) -> bool {
    use Val::{Bool, Bytes, Double, Duration, Int, String, Timestamp, Uint};
    matches!(
        value,
        Bool(_) | Bytes(_) | Double(_) | Duration(_) | Int(_) | String(_) | Timestamp(_) | Uint(_)
    )
}

fn is_sorted<'v>(call: &mut Call<'_, '_>, args: &[Val<'v>]) -> Outcome<'v> {
    let [Val::List(list)] = args else { return call.no_such_overload(args) };
    let mut before: Option<Val<'v>> = None;
    for item in list.iter() {
        let item = item?;
        if !has_order(&item) {
            return if before.is_none() {
                call.no_such_overload(args)
            } else {
                Failure::error("no such overload")
            };
        }
        if before.is_some_and(|before| matches!(compare(&before, &item), Ok(Ordering::Greater))) {
            return Ok(Val::Bool(false));
        }
        before = Some(item);
    }
    Ok(Val::Bool(true))
}

fn sum<'v>(call: &mut Call<'_, '_>, args: &[Val<'v>]) -> Outcome<'v> {
    let [Val::List(list)] = args else { return call.no_such_overload(args) };
    // The sum of an empty list depends on the overload; any other on the first item.
    let mut sum = if list.is_empty() {
        match call.overload {
            Some("list_uint_sum_uint") => Val::Uint(0),
            Some("list_double_sum_double") => Val::Double(0.0),
            Some("list_duration_sum_duration") => Val::Duration(0),
            _ => Val::Int(0),
        }
    } else {
        match list.get(0)? {
            Val::Int(_) => Val::Int(0),
            Val::Uint(_) => Val::Uint(0),
            Val::Double(_) => Val::Double(0.0),
            Val::Duration(_) => Val::Duration(0),
            _ => return call.no_such_overload(args),
        }
    };
    for item in list.iter() {
        sum = super::operators::add(call, &[sum, item?])?;
    }
    Ok(sum)
}

/// Returns the maximum or minimum: `worse` is the order of a lesser candidate to a better one.
fn extreme<'v>(call: &mut Call<'_, '_>, args: &[Val<'v>], worse: Ordering) -> Outcome<'v> {
    let [Val::List(list)] = args else { return call.no_such_overload(args) };
    let mut best: Option<Val<'v>> = None;
    for item in list.iter() {
        let item = item?;
        if !has_order(&item) {
            return if best.is_none() {
                call.no_such_overload(args)
            } else {
                Failure::error("no such overload")
            };
        }
        best = match best {
            Some(best) if compare(&best, &item).ok() != Some(worse) => Some(best),
            _ => Some(item),
        };
    }
    best.map_or_else(|| Failure::error(format!("{} called on empty list", call.function)), Ok)
}

fn index_of<'v>(call: &mut Call<'_, '_>, args: &[Val<'v>]) -> Outcome<'v> {
    let [Val::List(list), wanted] = args else { return strings::index_of(call, args) };
    for index in 0..list.len() {
        if equal(&list.get(index)?, wanted, call.meter)? {
            return Ok(Val::Int(index as i64));
        }
    }
    Ok(Val::Int(-1))
}

fn last_index_of<'v>(call: &mut Call<'_, '_>, args: &[Val<'v>]) -> Outcome<'v> {
    let [Val::List(list), wanted] = args else { return strings::last_index_of(call, args) };
    for index in (0..list.len()).rev() {
        if equal(&list.get(index)?, wanted, call.meter)? {
            return Ok(Val::Int(index as i64));
        }
    }
    Ok(Val::Int(-1))
}

fn slice<'v>(call: &mut Call<'_, '_>, args: &[Val<'v>]) -> Outcome<'v> {
    let [Val::List(list), Val::Int(start), Val::Int(end)] = args else { return call.no_such_overload(args) };
    let refuse = |why: String| Failure::error(format!("cannot slice({start}, {end}), {why}"));
    let (Ok(first), Ok(last)) = (usize::try_from(*start), usize::try_from(*end)) else {
        return refuse("negative indexes not supported".to_owned());
    };
    if first > last {
        return refuse("start index must be less than or equal to end index".to_owned());
    }
    if list.len() < last {
        return refuse(format!("list is length {}", list.len()));
    }
    call.meter.items(last - first)?;
    Ok(Val::list((first..last).map(|index| list.get(index)).collect::<Result<_, _>>()?))
}

fn flatten<'v>(call: &mut Call<'_, '_>, args: &[Val<'v>]) -> Outcome<'v> {
    let (list, depth) = match args {
        [Val::List(list)] => (list, 1),
        [Val::List(list), Val::Int(depth)] => (list, *depth),
        _ => return call.no_such_overload(args),
    };
    if depth < 0 {
        return Failure::error("level must be non-negative");
    }
    let mut flat = Vec::new();
    // Lists being traversed, with the next index and the remaining depth.
    let mut open: Vec<(List<'v>, usize, i64)> = vec![(list.clone(), 0, depth)];
    while let Some((list, index, depth)) = open.pop() {
        if index == list.len() {
            continue;
        }
        call.meter.items(1)?;
        let item = list.get(index)?;
        open.push((list, index + 1, depth));
        match item {
            Val::List(inner) if depth > 0 => open.push((inner, 0, depth - 1)),
            item => flat.push(item),
        }
    }
    Ok(Val::list(flat))
}

fn sorted<'v>(call: &mut Call<'_, '_>, list: &List<'v>, keys: &List<'v>) -> Outcome<'v> {
    if list.len() != keys.len() {
        return Failure::error(format!(
            "@sortByAssociatedKeys() expected a list of the same size as the associated keys list, but got {} and {} \
             elements respectively",
            list.len(),
            keys.len()
        ));
    }
    if list.is_empty() {
        return Ok(Val::List(list.clone()));
    }
    call.meter.items(list.len())?;
    let mut pairs: Vec<(Val<'v>, Val<'v>)> = Vec::with_capacity(list.len());
    for index in 0..list.len() {
        pairs.push((keys.get(index)?, list.get(index)?));
    }
    if !has_order(&pairs[0].0) {
        return Failure::error("list elements must be comparable");
    }
    let first = std::mem::discriminant(&pairs[0].0);
    if pairs.iter().any(|(key, _)| std::mem::discriminant(key) != first) {
        return Failure::error("list elements must have the same type");
    }
    pairs.sort_by(|(a, _), (b, _)| total_order(a, b));
    Ok(Val::list(pairs.into_iter().map(|(_, item)| item).collect()))
}

/// Orders values of one type; NaN comes last, which makes the order total.
fn total_order(a: &Val<'_>, b: &Val<'_>) -> Ordering {
    match (a, b) {
        (Val::Double(a), Val::Double(b)) => a.partial_cmp(b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan())),
        _ => compare(a, b).unwrap_or(Ordering::Equal),
    }
}

fn range<'v>(call: &mut Call<'_, '_>, args: &[Val<'v>]) -> Outcome<'v> {
    let [Val::Int(end)] = args else { return call.no_such_overload(args) };
    // The cost is charged before the list is allocated.
    let length = usize::try_from(*end).unwrap_or_default();
    call.meter.affords(length as u64)?;
    call.meter.items(length)?;
    Ok(Val::list((0..*end).map(Val::Int).collect()))
}

fn reverse<'v>(call: &mut Call<'_, '_>, args: &[Val<'v>]) -> Outcome<'v> {
    let [Val::List(list)] = args else { return call.no_such_overload(args) };
    call.meter.items(list.len())?;
    Ok(Val::list((0..list.len()).rev().map(|index| list.get(index)).collect::<Result<_, _>>()?))
}

fn distinct<'v>(call: &mut Call<'_, '_>, args: &[Val<'v>]) -> Outcome<'v> {
    let [Val::List(list)] = args else { return call.no_such_overload(args) };
    let mut unique = std::sync::Arc::new(Vec::new());
    for item in list.iter() {
        let item = item?;
        if !contains(&List::Items(std::sync::Arc::clone(&unique)), &item, call.meter)? {
            std::sync::Arc::make_mut(&mut unique).push(item);
        }
    }
    Ok(Val::List(List::Items(unique)))
}
