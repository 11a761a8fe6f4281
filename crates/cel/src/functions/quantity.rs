//! Quantities such as `100Mi`. Comparisons are shared with semantic versions.

use std::cmp::Ordering;

use pintle_meta::quantity::{Format, Quantity};

use super::Declared;
use super::semver::Semver;
use crate::evaluate::Call;
use crate::meter::{Failure, Outcome};
use crate::types::Type;
use crate::value::{Other, Val, opaque};

opaque!(Quantity, Type::Named("kubernetes.Quantity"));

pub(super) const FUNCTIONS: &[Declared] = &[
    Declared {
        name: "quantity",
        overloads: &[("string_to_quantity", "string -> kubernetes.Quantity")],
        run: quantity,
    },
    Declared {
        name: "isQuantity",
        overloads: &[("is_quantity_string", "string -> bool")],
        run: |call, args| match args {
            [Val::String(text)] => Ok(Val::Bool(Quantity::parse(text).is_ok())),
            _ => call.no_such_overload(args),
        },
    },
    Declared {
        name: "sign",
        overloads: &[("quantity_sign", "kubernetes.Quantity -> int")],
        run: |call, args| of(call, args, |quantity| Ok(Val::Int(i64::from(quantity.signum())))),
    },
    Declared {
        name: "asApproximateFloat",
        overloads: &[("quantity_get_float", ".kubernetes.Quantity -> double")],
        run: |call, args| of(call, args, |quantity| Ok(Val::Double(quantity.as_approximate_f64()))),
    },
    Declared {
        name: "asInteger",
        overloads: &[("quantity_get_int", ".kubernetes.Quantity -> int")],
        run: |call, args| {
            of(call, args, |quantity| match quantity.as_i64() {
                Some(value) => Ok(Val::Int(value)),
                None => Failure::error("cannot convert value to integer"),
            })
        },
    },
    Declared {
        name: "isInteger",
        overloads: &[("quantity_is_integer", ".kubernetes.Quantity -> bool")],
        run: |call, args| of(call, args, |quantity| Ok(Val::Bool(quantity.as_i64().is_some()))),
    },
    Declared {
        name: "add",
        overloads: &[
            ("quantity_add", ".kubernetes.Quantity, kubernetes.Quantity -> kubernetes.Quantity"),
            ("quantity_add_int", ".kubernetes.Quantity, int -> kubernetes.Quantity"),
        ],
        run: |call, args| calculate(call, args, Quantity::add),
    },
    Declared {
        name: "sub",
        overloads: &[
            ("quantity_sub", ".kubernetes.Quantity, kubernetes.Quantity -> kubernetes.Quantity"),
            ("quantity_sub_int", ".kubernetes.Quantity, int -> kubernetes.Quantity"),
        ],
        run: |call, args| calculate(call, args, Quantity::sub),
    },
    Declared {
        name: "isGreaterThan",
        overloads: &[
            ("quantity_is_greater_than", ".kubernetes.Quantity, kubernetes.Quantity -> bool"),
            ("semver_is_greater_than", ".kubernetes.Semver, kubernetes.Semver -> bool"),
        ],
        run: |call, args| compare(call, args, |order| Val::Bool(order == Ordering::Greater)),
    },
    Declared {
        name: "isLessThan",
        overloads: &[
            ("quantity_is_less_than", ".kubernetes.Quantity, kubernetes.Quantity -> bool"),
            ("semver_is_less_than", ".kubernetes.Semver, kubernetes.Semver -> bool"),
        ],
        run: |call, args| compare(call, args, |order| Val::Bool(order == Ordering::Less)),
    },
    Declared {
        name: "compareTo",
        overloads: &[
            ("quantity_compare_to", ".kubernetes.Quantity, kubernetes.Quantity -> int"),
            ("semver_compare_to", ".kubernetes.Semver, kubernetes.Semver -> int"),
        ],
        run: |call, args| compare(call, args, |order| Val::Int(order as i64)),
    },
];

fn quantity<'v>(call: &mut Call<'_, '_>, args: &[Val<'v>]) -> Outcome<'v> {
    let [Val::String(text)] = args else { return call.no_such_overload(args) };
    match Quantity::parse(text) {
        Ok(quantity) => Ok(Val::Other(Other::new(quantity))),
        Err(error) => Failure::error(error.to_string()),
    }
}

fn as_quantity<'a>(value: &'a Val<'_>) -> Option<&'a Quantity> {
    match value {
        Val::Other(other) => other.downcast(),
        _ => None,
    }
}

fn of<'v>(
    call: &mut Call<'_, '_>,
    args: &[Val<'v>],
    then: fn(&Quantity) -> Result<Val<'static>, Failure>,
) -> Outcome<'v> {
    match args {
        [value] if let Some(quantity) = as_quantity(value) => then(quantity),
        _ => call.no_such_overload(args),
    }
}

fn calculate<'v>(
    call: &mut Call<'_, '_>,
    args: &[Val<'v>],
    change: fn(&mut Quantity, &Quantity),
) -> Outcome<'v> {
    let [left, right] = args else { return call.no_such_overload(args) };
    let whole;
    let (Some(left), Some(right)) = (
        as_quantity(left),
        match right {
            Val::Int(value) => {
                whole = Quantity::new(*value, Format::DecimalExponent);
                Some(&whole)
            }
            right => as_quantity(right),
        },
    ) else {
        return call.no_such_overload(args);
    };
    let mut result = left.clone();
    change(&mut result, right);
    Ok(Val::Other(Other::new(result)))
}

fn compare<'v>(
    call: &mut Call<'_, '_>,
    args: &[Val<'v>],
    result: fn(Ordering) -> Val<'static>,
) -> Outcome<'v> {
    let [Val::Other(left), Val::Other(right)] = args else { return call.no_such_overload(args) };
    let order = match (left.downcast::<Quantity>(), right.downcast::<Quantity>()) {
        (Some(left), Some(right)) => Some(left.cmp(right)),
        _ => match (left.downcast::<Semver>(), right.downcast::<Semver>()) {
            (Some(left), Some(right)) => Some(left.cmp(right)),
            _ => None,
        },
    };
    order.map_or_else(|| call.no_such_overload(args), |order| Ok(result(order)))
}
