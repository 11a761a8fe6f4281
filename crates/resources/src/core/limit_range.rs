//! LimitRanges: limits and defaults of compute resources, per type of object.

use std::collections::{BTreeSet, HashSet};

use pintle_meta::field_path::Value as Printed;
use pintle_meta::names;
use pintle_meta::quantity::{Format, Quantity};
use pintle_meta::validation::qualified_name;

use super::resource_names::{allows_overcommit, check_container_name, check_name};
use super::strategy::NAMESPACED;
use crate::framework::strategy::{MetadataRecheck, Rules, tree};
use crate::framework::validation::Cursor;

pub(super) const LIMIT_RANGES: Rules = Rules {
    recheck: MetadataRecheck::Full,
    create_on_update: true,
    // The only kind that may come without a name.
    on_create: |settings, _, limits| {
        if limits.name().is_empty() {
            let random = (u128::from(settings.random.number()) << 64) | u128::from(settings.random.number());
            tree::set(limits, &["metadata", "name"], names::uuid(random));
        }
    },
    validate: |_, limits| validate(limits),
    validate_update: |_, limits| validate(limits),
    ..NAMESPACED
};

/// Values from here on don't fit into 64 bits when they are counted in thousandths.
const MAX_MILLI: i64 = i64::MAX / 1000;

fn validate(range: &Cursor<'_, '_>) {
    let mut types = HashSet::new();
    for limit in range.at(&["spec", "limits"]).items() {
        let kind = limit.field("type");
        limit_type(&kind);
        if !types.insert(kind.text()) {
            kind.duplicate(Printed::json(kind.text()));
        }
        item(&limit, kind.text());
    }
}

fn limit_type(kind: &Cursor<'_, '_>) {
    let name = kind.text();
    let wrong = qualified_name(name);
    if wrong.is_empty() {
        if !name.contains('/') && !["Container", "PersistentVolumeClaim", "Pod"].contains(&name) {
            kind.invalid(Printed::json(name), "must be a standard limit type or fully qualified");
        }
        return;
    }
    for why in wrong {
        kind.invalid(Printed::json(name), why);
    }
}

fn item(limit: &Cursor<'_, '_>, kind: &str) {
    let (max, min) = (limit.field("max"), limit.field("min"));
    let (default, request) = (limit.field("default"), limit.field("defaultRequest"));
    let ratio = limit.field("maxLimitRequestRatio");
    resource_names(&max, kind);
    resource_names(&min, kind);
    for amounts in [&default, &request] {
        if kind != "Pod" {
            resource_names(amounts, kind);
        } else if !amounts.is_empty() {
            amounts.forbidden("may not be specified when `type` is 'Pod'");
        }
    }
    if kind == "PersistentVolumeClaim" && !min.key("storage").is_set() && !max.key("storage").is_set() {
        let why = "either minimum or maximum storage value is required, but neither was provided";
        limit.field("limits").required(why);
    }
    resource_names(&ratio, kind);
    let counted = [&max, &min, &ratio];
    let defaults: &[&Cursor<'_, '_>] = if kind == "Pod" { &[] } else { &[&default, &request] };
    let keys = counted.into_iter().chain(defaults.iter().copied());
    let names: BTreeSet<&str> = keys.flat_map(|amounts| amounts.map()).flat_map(|map| map.keys()).collect();
    for name in names {
        let has_defaults = !defaults.is_empty();
        Amounts {
            name,
            min: min.key(name),
            max: max.key(name),
            default: Some(default.key(name)).filter(|_| has_defaults),
            request: Some(request.key(name)).filter(|_| has_defaults),
            ratio: ratio.key(name),
        }
        .check();
    }
}

fn resource_names(amounts: &Cursor<'_, '_>, kind: &str) {
    for (name, amount) in amounts.entries() {
        if matches!(kind, "Pod" | "Container") {
            check_container_name(&amount, name);
        } else {
            check_name(&amount, name);
        }
    }
}

/// The limits of one resource.
struct Amounts<'p, 'v> {
    name: &'v str,
    min: Cursor<'p, 'v>,
    max: Cursor<'p, 'v>,
    default: Option<Cursor<'p, 'v>>,
    request: Option<Cursor<'p, 'v>>,
    ratio: Cursor<'p, 'v>,
}

impl Amounts<'_, '_> {
    fn check(&self) {
        let (min, max) = (&self.min.quantity(), &self.max.quantity());
        let amount = |at: &Option<Cursor<'_, '_>>| at.as_ref().and_then(Cursor::quantity);
        let (default, request) = (&amount(&self.default), &amount(&self.request));
        above(Some(&self.min), min, max, min, |a, b| format!("min value {a} is greater than max value {b}"));
        above(self.request.as_ref(), min, request, request, |a, b| {
            format!("min value {a} is greater than default request value {b}")
        });
        above(self.request.as_ref(), request, max, request, |a, b| {
            format!("default request value {a} is greater than max value {b}")
        });
        above(self.request.as_ref(), request, default, request, |a, b| {
            format!("default request value {a} is greater than default limit value {b}")
        });
        above(self.default.as_ref(), min, default, min, |a, b| {
            format!("min value {a} is greater than default value {b}")
        });
        above(self.default.as_ref(), default, max, max, |a, b| {
            format!("default value {a} is greater than max value {b}")
        });
        self.check_ratio();
        if let (Some(default), Some(request), Some(at)) = (default, request, &self.request)
            && !allows_overcommit(self.name)
            && default != request
        {
            let name = self.name;
            at.invalid(
                printed(request),
                format!("default value {default} must equal to defaultRequest value {request} in {name}"),
            );
        }
    }

    fn check_ratio(&self) {
        let Some(ratio) = self.ratio.quantity() else { return };
        if ratio < Quantity::new(1, Format::DecimalSi) {
            self.ratio.invalid(printed(&ratio), format!("ratio {ratio} is less than 1"));
        }
        let (Some(min), Some(max)) = (self.min.quantity(), self.max.quantity()) else { return };
        let in_milli = [&ratio, &min, &max].into_iter().all(|quantity| quantity.value() < MAX_MILLI);
        let number =
            |quantity: &Quantity| as_float(if in_milli { quantity.milli_value() } else { quantity.value() });
        let wanted = if in_milli { number(&ratio) / 1000.0 } else { number(&ratio) };
        let most = number(&max) / number(&min);
        if wanted > most {
            let why = format!("ratio {ratio} is greater than max/min = {most:.6}");
            self.ratio.invalid(printed(&ratio), why);
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "the reference compares floats")]
fn as_float(value: i64) -> f64 {
    value as f64
}

fn printed(quantity: &Quantity) -> Printed {
    Printed::json(&quantity.to_string())
}

/// Reports an amount that is above another one, where both are set.
fn above(
    at: Option<&Cursor<'_, '_>>,
    low: &Option<Quantity>,
    high: &Option<Quantity>,
    shown: &Option<Quantity>,
    why: impl Fn(&Quantity, &Quantity) -> String,
) {
    if let (Some(at), Some(low), Some(high), Some(shown)) = (at, low, high, shown)
        && low > high
    {
        at.invalid(printed(shown), why(low, high));
    }
}

#[cfg(test)]
mod tests;
