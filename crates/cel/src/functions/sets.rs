//! Lists as sets: containment, equivalence and intersection, ignoring duplicates.

use super::Declared;
use crate::evaluate::Call;
use crate::meter::{Failure, Outcome};
use crate::value::{List, Val, contains};

pub(super) const FUNCTIONS: &[Declared] = &[
    Declared {
        name: "sets.contains",
        overloads: &[("list_sets_contains_list", "list(T), list(T) -> bool")],
        run: |call, args| sets(call, args, contains_all),
    },
    Declared {
        name: "sets.equivalent",
        overloads: &[("list_sets_equivalent_list", "list(T), list(T) -> bool")],
        run: |call, args| {
            sets(call, args, |call, a, b| Ok(contains_all(call, a, b)? && contains_all(call, b, a)?))
        },
    },
    Declared {
        name: "sets.intersects",
        overloads: &[("list_sets_intersects_list", "list(T), list(T) -> bool")],
        run: |call, args| sets(call, args, intersects),
    },
];

type Relation = for<'v> fn(&mut Call<'_, '_>, &List<'v>, &List<'v>) -> Result<bool, Failure>;

fn sets<'v>(call: &mut Call<'_, '_>, args: &[Val<'v>], holds: Relation) -> Outcome<'v> {
    match args {
        [Val::List(a), Val::List(b)] => Ok(Val::Bool(holds(call, a, b)?)),
        _ => call.no_such_overload(args),
    }
}

fn contains_all(call: &mut Call<'_, '_>, list: &List<'_>, wanted: &List<'_>) -> Result<bool, Failure> {
    for item in wanted.iter() {
        if !contains(list, &item?, call.meter)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn intersects(call: &mut Call<'_, '_>, a: &List<'_>, b: &List<'_>) -> Result<bool, Failure> {
    for item in a.iter() {
        if contains(b, &item?, call.meter)? {
            return Ok(true);
        }
    }
    Ok(false)
}
