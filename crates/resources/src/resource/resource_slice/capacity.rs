//! Capacities of a device, and the amounts of them that claims may ask for.

use pintle_meta::Value;
use pintle_meta::field_path::Value as Printed;
use pintle_meta::quantity::Quantity;

use crate::framework::validation::Cursor;
use crate::resource::collections::set;

const MOST_VALUES: usize = 10;

/// Checks a capacity; `is_shared` is whether its device can be allocated several times.
pub(super) fn validate(capacity: &Cursor<'_, '_>, is_shared: bool) {
    let policy = capacity.field("requestPolicy");
    if !policy.is_set() {
        return;
    }
    if !is_shared {
        return policy.forbidden("allowMultipleAllocations must be true");
    }
    let (values, range) = (policy.field("validValues"), policy.field("validRange"));
    let whole = capacity.field("value").quantity().unwrap_or_default();
    let default = policy.field("default");
    match (values.is_empty(), range.is_set(), default.quantity()) {
        (false, true, _) => policy.forbidden(
            r#"exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time"#,
        ),
        (true, false, _) => {}
        (false, false, None) => default.required("required when validValues is defined"),
        (false, false, Some(default)) => valid_values(&values, &default, &whole),
        (true, true, None) => default.required("required when validRange is defined"),
        (true, true, Some(default)) => valid_range(&range, &default, &whole),
    }
}

fn quantity(value: &Value) -> Quantity {
    value.as_str().and_then(|text| Quantity::parse(text).ok()).unwrap_or_default()
}

/// Checks amounts of which one is to be asked for.
fn valid_values(values: &Cursor<'_, '_>, default: &Quantity, whole: &Quantity) {
    let amounts: Vec<Quantity> = values.values().iter().map(quantity).collect();
    for (index, pair) in amounts.windows(2).enumerate() {
        if pair[0] > pair[1] {
            let why = "values must be sorted in ascending order";
            values.index(index + 1).invalid(pair[1].to_string(), why);
        }
    }
    let mut has_default = false;
    let check = |option: &Cursor<'_, '_>| {
        let amount = quantity(option.value());
        if amount > *whole {
            option.invalid(amount.to_string(), format!("option is larger than capacity value: {whole}"));
        }
        has_default |= amount == *default;
    };
    let key = |value: &Value| quantity(value).value();
    set(values, Some(MOST_VALUES), check, key, |value| Printed::from(value.to_string()));
    if !has_default {
        values.invalid(default.to_string(), "default value is not valid according to the requestPolicy");
    }
}

/// Checks a range of amounts in steps.
fn valid_range(range: &Cursor<'_, '_>, default: &Quantity, whole: &Quantity) {
    let (lowest, highest, step) = (range.field("min"), range.field("max"), range.field("step"));
    let Some(min) = lowest.quantity() else {
        return lowest.required("required when validRange is defined");
    };
    if min > *whole {
        lowest.invalid(min.to_string(), format!("min is larger than capacity value: {whole}"));
    }
    if *default < min {
        lowest.invalid(default.to_string(), format!("default is less than min: {min}"));
    }
    let max = highest.quantity();
    if let Some(max) = &max {
        if min > *max {
            highest.invalid(min.to_string(), format!("min is larger than max: {max}"));
        }
        if max > whole {
            highest.invalid(max.to_string(), format!("max is larger than capacity value: {whole}"));
        }
        if default > max {
            highest.invalid(default.to_string(), format!("default is more than max: {max}"));
        }
    }
    let Some(size) = step.quantity() else { return };
    let mut first = min.clone();
    first.add(&size);
    if first > *whole {
        step.invalid(size.to_string(), format!("one step {first} is larger than capacity value: {whole}"));
    }
    for amount in std::iter::once(default).chain(&max) {
        // The reference fails on a step of 0.
        let distance = amount.value().wrapping_sub(min.value());
        if size.value() == 0 || distance.wrapping_rem(size.value()) != 0 {
            let why = format!("value is not a multiple of a given step ({size}) from ({min})");
            step.invalid(amount.to_string(), why);
        }
    }
}
