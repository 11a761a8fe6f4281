//! The strategies of the group's resources.

use std::collections::BTreeSet;
use std::sync::Arc;

use pintle_features::Feature;
use pintle_meta::validation::declared;
use pintle_meta::{Object, Value, quote};
use pintle_registry::Strategy;

use crate::framework::strategy::{Entry, MetadataRecheck, Rules, Settings, find, tree};

const TABLE: &[Entry] = &[
    Entry {
        name: "deviceclasses",
        kind: "resource/v1.DeviceClass",
        rules: Rules { name: class_name, recheck: MetadataRecheck::Both, ..CLUSTER.counting_spec() },
    },
    Entry { name: "devicetaintrules", kind: "resource/v1alpha3.DeviceTaintRule", rules: TAINTS },
    Entry {
        name: "devicetaintrules/status",
        kind: "resource/v1alpha3.DeviceTaintRule",
        rules: TAINTS.of_status_alone(),
    },
    Entry { name: "resourceclaims", kind: "resource/v1.ResourceClaim", rules: CLAIMS },
    Entry {
        name: "resourceclaims/status",
        kind: "resource/v1.ResourceClaim",
        rules: Rules { on_update: |_, _, claim, old| drop_freed(claim, old), ..CLAIMS.of_status_alone() },
    },
    Entry { name: "resourceclaimtemplates", kind: "resource/v1.ResourceClaimTemplate", rules: NAMESPACED },
    Entry {
        name: "resourcepoolstatusrequests",
        kind: "resource/v1alpha3.ResourcePoolStatusRequest",
        rules: POOLS,
    },
    Entry {
        name: "resourcepoolstatusrequests/status",
        kind: "resource/v1alpha3.ResourcePoolStatusRequest",
        rules: POOLS.of_status_alone(),
    },
    Entry {
        name: "resourceslices",
        kind: "resource/v1.ResourceSlice",
        rules: Rules {
            on_create: |settings, _, slice| {
                tree::set(slice, &["metadata", "generation"], 1);
                drop_gated(settings, slice, None);
            },
            on_update: |settings, _, slice, old| {
                // A field that is dropped counts as a change all the same.
                if !tree::is_same(slice, old, &["spec"]) {
                    tree::set(slice, &["metadata", "generation"], old.generation() + 1);
                }
                drop_gated(settings, slice, Some(old));
            },
            warnings: |_, slice, _| driver_name(slice),
            ..CLUSTER
        },
    },
];

const NAMESPACED: Rules =
    Rules { unconditional_update: true, returns_deleted_object: true, ..Rules::NAMESPACED };
const CLUSTER: Rules = Rules { namespaced: false, ..NAMESPACED };

const CLAIMS: Rules = Rules { recheck: MetadataRecheck::Both, ..NAMESPACED.with_status() };
const POOLS: Rules = Rules { unconditional_update: false, ..CLUSTER.with_status() };
const TAINTS: Rules = Rules {
    on_update: |settings, _, rule, old| note_effect(rule, old, settings),
    ..CLUSTER.with_status().counting_spec()
};

/// A prefix is not looked at, only what becomes of it.
fn class_name(name: &str, is_prefix: bool) -> Vec<String> {
    if is_prefix { Vec::new() } else { declared::dns1123_subdomain(name) }
}

/// The time of a taint is that of its effect, unless the client sets it.
fn note_effect(rule: &mut Value, old: &Value, settings: &Settings) {
    const TIME: tree::Path = &["spec", "taint", "timeAdded"];
    if !tree::is_same(rule, old, &["spec", "taint", "effect"]) && tree::is_same(rule, old, TIME) {
        tree::set(rule, TIME, settings.time());
    }
}

/// Returns the identity of a device, or of its shared part.
fn device(of: &Value) -> [Option<&str>; 4] {
    ["driver", "pool", "device", "shareID"].map(|field| of.get(field).and_then(Value::as_str))
}

/// Removes the status of devices that the claim no longer has.
fn drop_freed(claim: &mut Value, old: &Value) {
    const DEVICES: tree::Path = &["status", "devices"];
    const RESULTS: tree::Path = &["status", "allocation", "devices", "results"];
    let mut freed: BTreeSet<_> = old.items_at(RESULTS).iter().map(device).collect();
    for result in claim.items_at(RESULTS) {
        freed.remove(&device(result));
    }
    let given = claim.items_at(DEVICES);
    let kept: Vec<Value> = given.iter().filter(|known| !freed.contains(&device(known))).cloned().collect();
    if kept.is_empty() {
        tree::remove(claim, DEVICES);
    } else if kept.len() < given.len() {
        tree::set(claim, DEVICES, kept);
    }
}

/// Fields of devices whose features are off go, unless a slice has them already.
fn drop_gated(settings: &Settings, slice: &mut Value, old: Option<&Value>) {
    const DEVICES: tree::Path = &["spec", "devices"];
    const MAPPINGS: &str = "nodeAllocatableResourceMappings";
    const LISTS: &[&str] = &["ints", "bools", "strings", "versions"];
    let maps = |device: &Value| device.get(MAPPINGS).is_some();
    let lists = |device: &Value| {
        let attributes = device.get("attributes").and_then(Value::as_object);
        let mut attributes = attributes.into_iter().flat_map(Object::iter);
        attributes.any(|(_, attribute)| LISTS.iter().any(|list| attribute.get(list).is_some()))
    };
    let before = old.map(|old| old.items_at(DEVICES)).unwrap_or_default();
    let now = slice.items_at(DEVICES);
    let features = &settings.features;
    let drops_mappings = !features.enabled(Feature::DRANodeAllocatableResources)
        && now.iter().any(maps)
        && !before.iter().any(maps);
    let drops_lists = !features.enabled(Feature::DRAListTypeAttributes)
        && now.iter().any(lists)
        && !before.iter().any(lists);
    if !drops_mappings && !drops_lists {
        return;
    }
    for device in slice.at_mut(DEVICES).and_then(Value::as_list_mut).into_iter().flatten() {
        if drops_mappings {
            tree::remove(device, &[MAPPINGS]);
        }
        if drops_lists && let Some(all) = device.get_mut("attributes").and_then(Value::as_object_mut) {
            for (_, attribute) in all.iter_mut() {
                if let Some(attribute) = attribute.as_object_mut() {
                    attribute.retain(|name, _| !LISTS.contains(&name));
                }
            }
        }
    }
}

fn driver_name(slice: &Value) -> Vec<String> {
    let driver = slice.text_at(&["spec", "driver"]);
    if driver == driver.to_lowercase() {
        return Vec::new();
    }
    let driver = quote(driver);
    vec![format!("spec.driver: driver names should be lowercase; {driver} contains uppercase characters")]
}

/// The strategy of a resource or subresource.
pub(crate) fn strategy(name: &str, settings: &Settings) -> Option<Arc<dyn Strategy>> {
    find(TABLE, name, settings)
}

#[cfg(test)]
mod tests {
    use crate::framework::strategy::testing::{NOW, of, text, warnings};

    const GROUP: &str = "resource.k8s.io";

    #[test]
    fn a_new_effect_makes_a_taint_new() {
        let rules = of(GROUP, "devicetaintrules");
        let rule = |effect: &str, time: &str| {
            format!(
                r#"{{"metadata":{{"name":"a","generation":2}},"spec":{{"taint":{{"key":"k","effect":"{effect}","timeAdded":"{time}"}}}}}}"#
            )
        };
        let (then, later) = ("2020-01-01T00:00:00Z", "2021-01-01T00:00:00Z");
        let old = rule("NoSchedule", then);
        let check = |new: &str, time: &str, generation: i64| {
            let updated = rules.updated(new, &old);
            assert_eq!(updated.text_at(&["spec", "taint", "timeAdded"]), time);
            assert_eq!(updated.generation(), generation);
        };
        check(&old, then, 2);
        check(&rule("NoExecute", then), NOW, 3);
        check(&rule("NoExecute", later), later, 3);
        check(&rule("NoSchedule", later), later, 3);
    }

    #[test]
    fn a_device_that_is_freed_is_forgotten() {
        let status = of(GROUP, "resourceclaims/status");
        let claim = |results: &str, devices: &str| {
            format!(
                r#"{{"metadata":{{"name":"a","namespace":"n"}},"spec":{{"devices":{{"requests":null}}}},"status":{{"allocation":{{"devices":{{{results}}}}}{devices}}}}}"#
            )
        };
        let result =
            |device: &str| format!(r#"{{"request":"r","driver":"d","pool":"p","device":"{device}"}}"#);
        let known =
            |device: &str| format!(r#"{{"driver":"d","pool":"p","device":"{device}","conditions":null}}"#);
        let (x, y, z) = (known("x"), known("y"), known("z"));
        let both = format!(r#""results":[{},{}]"#, result("x"), result("y"));
        let one = format!(r#""results":[{}]"#, result("x"));
        let old = claim(&both, "");
        let new = claim(&one, &format!(r#","devices":[{x},{y},{z}]"#));
        assert_eq!(text(&status.updated(&new, &old)), claim(&one, &format!(r#","devices":[{x},{z}]"#)));
        let new = claim("", &format!(r#","devices":[{x},{y}]"#));
        assert_eq!(text(&status.updated(&new, &old)), claim("", ""));
    }

    #[test]
    fn fields_of_features_that_are_off_go_unless_they_were_there() {
        let slices = of(GROUP, "resourceslices");
        let slice = |device: &str| {
            format!(
                r#"{{"metadata":{{"name":"a","generation":1}},"spec":{{"driver":"d","pool":{{"name":"p","generation":1,"resourceSliceCount":1}},"devices":[{{"name":"x"{device}}}]}}}}"#
            )
        };
        let gated = slice(
            r#","attributes":{"a":{"int":1},"b":{"ints":[1]}},"nodeAllocatableResourceMappings":{"cpu":{}}"#,
        );
        let plain = slice(r#","attributes":{"a":{"int":1},"b":{}}"#);
        assert_eq!(text(&slices.created(&gated)), plain);
        let updated = slices.updated(&gated, &plain);
        assert_eq!(
            text(&updated),
            plain.replace(r#"{"name":"a","generation":1}"#, r#"{"name":"a","generation":2}"#)
        );
        assert_eq!(text(&slices.updated(&gated, &gated)), gated);
        assert_eq!(
            warnings(&slices, &plain.replace(r#""d""#, r#""D""#), None),
            [r#"spec.driver: driver names should be lowercase; "D" contains uppercase characters"#]
        );
    }
}
