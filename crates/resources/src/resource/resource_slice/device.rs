//! One device of a slice: attributes, capacities, taints, counters, nodes.

use pintle_meta::field_path::Value as Printed;
use pintle_meta::validation::dns1123_label;
use pintle_meta::{Object, Value};

use super::gates::{LISTS, any_entry_of};
use super::{Nodes, capacity, validate_counters};
use crate::core::resource_names::is_native;
use crate::framework::validation::Cursor;
use crate::resource::bindings;
use crate::resource::collections::{list, map, set};
use crate::resource::names::{LONGEST_QUALIFIED, qualified};
use crate::resource::taints::taint;

const MOST_PROPERTIES: usize = 32;
const MOST_VALUES: usize = 48;
const MOST_TAINTS: usize = 16;
const MOST_CONSUMPTIONS: usize = 2;
const LONGEST_VALUE: usize = 64;

/// Whether a device uses a feature that lowers the number of devices of a slice.
pub(super) fn is_advanced(device: &Value) -> bool {
    device.get("taints").is_some()
        || device.get("consumesCounters").is_some()
        || any_entry_of(device, "attributes", LISTS)
}

/// Checks a device; `per_device` is whether each says by itself which nodes have it.
pub(super) fn validate(device: &Cursor<'_, '_>, per_device: bool) {
    device.field("name").text_format(dns1123_label);
    let (attributes, capacities) = (device.field("attributes"), device.field("capacity"));
    let properties = attributes.len() + capacities.len();
    if properties > MOST_PROPERTIES {
        let why = format!("the total number of attributes and capacities must not exceed {MOST_PROPERTIES}");
        device.invalid(properties as i64, why);
    }
    let values: usize =
        attributes.map().into_iter().flat_map(Object::iter).map(|(_, of)| value_count(of)).sum();
    if values > MOST_VALUES {
        let why = format!("the total number of attribute values must not exceed {MOST_VALUES}");
        device.invalid(values as i64, why);
    }
    map(&attributes, LONGEST_QUALIFIED, qualified, attribute);
    let is_shared = device.field("allowMultipleAllocations").flag();
    map(&capacities, LONGEST_QUALIFIED, qualified, |of| capacity::validate(of, is_shared));
    let taints = device.field("taints");
    if taints.changed() {
        list(&taints, MOST_TAINTS, |item| taint(&item.without_old()));
    }
    set(
        &device.field("consumesCounters"),
        Some(MOST_CONSUMPTIONS),
        |consumption| validate_counters(consumption, "counterSet"),
        |consumption| consumption.text_at(&["counterSet"]),
        Printed::from,
    );
    nodes(device, per_device);
    bindings::validate(device);
    mappings(&device.field("nodeAllocatableResourceMappings"), &capacities);
}

/// Returns the number of values of an attribute, of which each item of a list is one.
fn value_count(attribute: &Value) -> usize {
    let items: usize = LISTS.iter().map(|name| attribute.items_at(&[name]).len()).sum();
    items.max(1)
}

/// Checks an attribute. A list without items is no part of an object, so it is as if it were not set.
fn attribute(attribute: &Cursor<'_, '_>) {
    const KINDS: &[&str] = &["bool", "int", "string", "version", "bools", "ints", "strings", "versions"];
    text_value(&attribute.field("string"));
    let version = attribute.field("version");
    if version.is_set() {
        version_value(&version);
    }
    attribute.field("strings").each(text_value);
    attribute.field("versions").each(version_value);
    match KINDS.iter().filter(|kind| attribute.field(kind).is_set()).count() {
        0 => attribute.invalid("", "exactly one value must be specified"),
        1 => {}
        _ => {
            attribute.invalid(
                attribute.printed_as("resource.DeviceAttribute"),
                "exactly one value must be specified",
            );
        }
    }
}

fn text_value(value: &Cursor<'_, '_>) {
    if value.text().len() > LONGEST_VALUE {
        value.too_long(LONGEST_VALUE);
    }
}

fn version_value(value: &Cursor<'_, '_>) {
    if !is_semantic_version(value.text()) {
        value.invalid(value.text(), "must be a string compatible with semver.org spec 2.0.0");
    }
    text_value(value);
}

fn is_semantic_version(text: &str) -> bool {
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_number = |text: &str| is_digits(text) && (text == "0" || !text.starts_with('0'));
    let is_word = |text: &str| {
        !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    let (text, build) = text.split_once('+').map_or((text, None), |(text, build)| (text, Some(build)));
    let (core, prerelease) = text.split_once('-').map_or((text, None), |(core, rest)| (core, Some(rest)));
    core.split('.').count() == 3
        && core.split('.').all(is_number)
        && prerelease.is_none_or(|text| {
            text.split('.').all(|part| is_word(part) && (!is_digits(part) || is_number(part)))
        })
        && build.is_none_or(|text| text.split('.').all(is_word))
}

/// Checks which nodes have a device.
fn nodes(device: &Cursor<'_, '_>, per_device: bool) {
    const ONE_OF: &str = "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true in the ResourceSlice spec";
    let (name, selector, all) =
        (device.field("nodeName"), device.field("nodeSelector"), device.field("allNodes"));
    if !per_device {
        if name.is_set() || selector.is_set() || all.is_set() {
            device.invalid(
                Printed::null(),
                "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in \
                 the ResourceSlice spec",
            );
        }
        return;
    }
    let mut nodes = Nodes::default();
    nodes.name(&name, "must not be empty");
    nodes.selector(&selector);
    nodes.flag(&all, "`allNodes`");
    match nodes.set.as_slice() {
        [] => device.required(ONE_OF),
        [_] => {}
        _ => device.invalid(nodes.printed(), ONE_OF),
    }
}

/// Checks the resources of a node that a device takes.
fn mappings(mappings: &Cursor<'_, '_>, capacities: &Cursor<'_, '_>) {
    for (name, mapping) in mappings.entries() {
        if !is_native(name) {
            mapping.invalid(Printed::json(name), "must be a node allocatable resource name");
        }
        // Defaulting sets a multiplier, so there is always one.
        let multiplier = mapping.field("allocationMultiplier");
        if let Some(amount) = multiplier.quantity().filter(|amount| amount.signum() <= 0) {
            multiplier.invalid(amount.to_string(), "must be positive");
        }
        let key = mapping.field("capacityKey");
        if key.is_set() && key.is_empty() {
            key.invalid("", "capacityKey must not be an empty string");
        } else if key.is_set() && !capacities.key(key.text()).is_set() {
            key.not_found(Printed::json(key.text()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::is_semantic_version;

    #[test]
    fn versions_are_semantic() {
        for good in [
            "0.0.0",
            "1.2.3",
            "1.2.3-a.1.0--",
            "1.2.3-0a",
            "1.2.3+001.-",
            "1.2.3-x+y",
            "99999999999999999999.0.0",
        ] {
            assert!(is_semantic_version(good), "{good}");
        }
        for bad in [
            "",
            "1",
            "1.2",
            "1.2.3.4",
            "01.2.3",
            "1.2.3-",
            "1.2.3-01",
            "1.2.3+",
            "1.2.3+a+b",
            "1.2.3-a..b",
            "1.2.x",
            "1.2.3-ä",
        ] {
            assert!(!is_semantic_version(bad), "{bad}");
        }
    }
}
