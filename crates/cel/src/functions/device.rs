//! `includes` of device selectors: whether an attribute is a value, or a list with it.

use super::Declared;
use crate::evaluate::Call;
use crate::meter::{Failure, Outcome};
use crate::value::{Val, equal};

/// Most values of a list attribute.
pub(crate) const MOST_VALUES: usize = 48;

pub(super) const FUNCTIONS: &[Declared] = &[Declared {
    name: "includes",
    overloads: &[("dra_includes_dyn_dyn", ".dyn, dyn -> bool")],
    run: includes,
}];

fn includes<'v>(call: &mut Call<'_, '_>, args: &[Val<'v>]) -> Outcome<'v> {
    match args {
        [Val::List(list), wanted] => {
            for (index, item) in list.iter().enumerate() {
                if index >= MOST_VALUES {
                    return Failure::error(format!(
                        "'includes' function cannot be applied to lists longer than {MOST_VALUES} values"
                    ));
                }
                if equal(&item?, wanted, call.meter)? {
                    return Ok(Val::Bool(true));
                }
            }
            Ok(Val::Bool(false))
        }
        [value, wanted] => Ok(Val::Bool(equal(value, wanted, call.meter)?)),
        _ => call.no_such_overload(args),
    }
}
