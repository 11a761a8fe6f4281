//! Validation of nodes.

use std::collections::HashSet;

use pintle_codec::json;
use pintle_features::Feature;
use pintle_meta::field_path::Error;
use pintle_meta::quote;
use pintle_meta::validation::{cidr_for_legacy_field, label_value, parse_cidr_sloppy, qualified_name};
use pintle_meta::{Node, Value};

use super::config;
use crate::core::resource_names::check_amount;
use crate::framework::strategy::Settings;
use crate::framework::validation::Cursor;

const TAINTS: &str = "scheduler.alpha.kubernetes.io/taints";
const AVOID_PODS: &str = "scheduler.alpha.kubernetes.io/preferAvoidPods";
const RANGES_ARE_FIXED: &str = r#"node updates may not change podCIDR except from "" to valid"#;
/// The length of a DNS subdomain.
const MAX_FEATURE: usize = 253;

/// Checks a node beside its metadata.
pub(super) fn node(settings: &Settings, node: &Cursor<'_, '_>) {
    let metadata = node.field("metadata");
    annotations(&metadata.field("annotations"));
    // Errors of these two fields name the metadata, as in the reference.
    taints(node);
    resources(node);
    let swap = metadata.field("nodeSwapStatus");
    let capacity = node.at(&["status", "nodeInfo", "swap", "capacity"]);
    if let Some(bytes) = capacity.optional_integer().filter(|bytes| *bytes <= 0) {
        swap.field("capacity").invalid(bytes, "must be greater than zero");
    }
    declared_features(node);
    pod_ranges(&node.at(&["spec", "podCIDRs"]), settings.features.enabled(Feature::StrictIPCIDRValidation));
}

/// Checks a change of a node, or of its status.
pub(super) fn update(node: &Cursor<'_, '_>) {
    let metadata = node.field("metadata");
    annotations(&metadata.field("annotations"));
    resources(node);
    declared_features(node);
    let mut known = HashSet::new();
    for address in node.at(&["status", "addresses"]).items() {
        if !known.insert((address.field("type").text(), address.field("address").text())) {
            address.duplicate(address.printed_as("core.NodeAddress"));
        }
    }
    let spec = node.field("spec");
    fixed_pod_ranges(&spec.field("podCIDRs"));
    let provider = spec.field("providerID");
    if !provider.before().is_empty() && provider.changed() {
        provider.forbidden(r#"node updates may not change providerID except from "" to valid"#);
    }
    let source = spec.field("configSource");
    if source.is_set() {
        config::source(&source);
    }
    config::status(&node.at(&["status", "config"]));
    taints(node);
    let external = spec.field("externalID");
    if external.text() != external.before().text() {
        external.forbidden("may not be updated");
    }
}

fn taints(node: &Cursor<'_, '_>) {
    let parent = node.at_as(&["spec"], "metadata");
    check_taints(&parent.field("taints"));
}

fn check_taints(taints: &Cursor<'_, '_>) {
    let mut known = HashSet::new();
    for taint in taints.items() {
        let (key, value, effect) = (taint.field("key"), taint.field("value"), taint.field("effect"));
        key.text_format(qualified_name);
        let wrong = label_value(value.text());
        if !wrong.is_empty() {
            value.invalid(value.text(), wrong.join(";"));
        }
        effect.required_one_of(&["NoSchedule", "PreferNoSchedule", "NoExecute"]);
        if !known.insert((effect.text(), key.text())) {
            let detail = "taints must be unique by key and effect pair".into();
            let error = Error::duplicate(taint.path(), taint.printed_as("core.Taint"));
            taint.report([Error { detail, ..error }]);
        }
    }
}

/// Checks annotations that were there before the fields of nodes.
fn annotations(annotations: &Cursor<'_, '_>) {
    taints_annotation(annotations);
    avoid_pods_annotation(annotations);
}

fn taints_annotation(annotations: &Cursor<'_, '_>) {
    let text = annotations.key(TAINTS).text();
    if text.is_empty() {
        return;
    }
    match decode_taints(text) {
        Err(why) => annotations.invalid(TAINTS, why),
        Ok(taints) => check_taints(&annotations.field(TAINTS).with_value(&taints)),
    }
}

/// Returns the taints of an annotation, or why the reference cannot decode them.
fn decode_taints(text: &str) -> Result<Value, String> {
    let taints = json::decode_any(text.as_bytes()).map_err(|error| error.to_string())?.value;
    let wrong = |found: &Value, of: &str| {
        Err(format!("json: cannot unmarshal {} into Go value of type {of}", json_kind(found)))
    };
    let Some(items) = taints.as_list() else {
        return if taints.is_null() { Ok(taints) } else { wrong(&taints, "[]core.Taint") };
    };
    if let Some(item) = items.iter().find(|item| item.as_object().is_none() && !item.is_null()) {
        return wrong(item, "core.Taint");
    }
    let of = pintle_schema::find("core/v1.Taint");
    let typed = |taint: &Value| {
        let mut text = Vec::new();
        json::encode(taint, &mut text);
        let decoded = of.and_then(|of| json::decode(of, &text).ok());
        decoded.map(|decoded| decoded.value).unwrap_or_default()
    };
    Ok(Value::list(items.iter().map(typed).collect()))
}

fn avoid_pods_annotation(annotations: &Cursor<'_, '_>) {
    let text = annotations.key(AVOID_PODS).text();
    let Some(of) = pintle_schema::find("core/v1.AvoidPods").filter(|_| !text.is_empty()) else { return };
    let avoided = match json::decode(of, text.as_bytes()) {
        Err(error) => return annotations.field("AvoidPods").invalid(AVOID_PODS, error.to_string()),
        Ok(decoded) => decoded.value,
    };
    let list = annotations.field(AVOID_PODS);
    for (index, entry) in avoided.items_at(&["preferAvoidPods"]).iter().enumerate() {
        let at = list.index(index);
        let signature = at.field("PodSignature");
        match entry.at(&["podSignature", "podController"]) {
            None => signature.required(""),
            Some(controller) if controller.get("controller").and_then(Value::as_bool) == Some(true) => {}
            Some(_) => {
                signature.at(&["PodController", "Controller"]).invalid(false, "must point to a controller");
            }
        }
    }
}

fn json_kind(value: &Value) -> &'static str {
    match value.node() {
        Node::Object(_) => "object",
        Node::List(_) => "array",
        Node::String(_) => "string",
        Node::Bool(_) => "bool",
        _ => "number",
    }
}

fn resources(node: &Cursor<'_, '_>) {
    let status = node.field("status");
    for amounts in ["capacity", "allocatable"] {
        let amounts = status.field(amounts);
        let names = amounts.map().into_iter().flat_map(|map| map.keys());
        // The path has a step for the name, and not a key.
        names.for_each(|name| check_amount(&amounts.field(name), name));
    }
}

fn declared_features(node: &Cursor<'_, '_>) {
    let features = node.at(&["status", "declaredFeatures"]);
    for (index, feature) in features.items().enumerate() {
        let name = feature.text();
        if name.len() > MAX_FEATURE {
            let why = format!(
                "invalid feature name {}: must be no more than {MAX_FEATURE} characters",
                quote(name)
            );
            feature.invalid(name, why);
        } else if !is_feature_name(name) {
            let why = format!(
                "invalid feature name {}: must start with an UpperCamelCase segment, with subsequent segments separated by '/' \
                 (e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes",
                quote(name)
            );
            feature.invalid(name, why);
        }
        let next = features.index(index + 1);
        if next.is_set() && name == next.text() {
            next.duplicate(next.text());
        } else if next.is_set() && name > next.text() {
            next.invalid(next.text(), "list must be sorted alphabetically");
        }
    }
}

/// Whether this is a feature in UpperCamelCase, perhaps with subfeatures in any camel case.
fn is_feature_name(name: &str) -> bool {
    let is_segment = |segment: &str| {
        segment.starts_with(|c: char| c.is_ascii_alphabetic())
            && segment.chars().all(|c| c.is_ascii_alphanumeric())
    };
    name.starts_with(|c: char| c.is_ascii_uppercase()) && name.split('/').all(is_segment)
}

fn pod_ranges(ranges: &Cursor<'_, '_>, strict: bool) {
    ranges.each(|range| range.report(cidr_for_legacy_field(range.path(), range.text(), strict, &[])));
    if ranges.len() < 2 {
        return;
    }
    let (mut v4, mut v6) = (false, false);
    for (index, text) in ranges.texts().into_iter().enumerate() {
        let Some(range) = parse_cidr_sloppy(text) else {
            ranges.internal(format!(
                "invalid PodCIDRs. failed to check with dual stack with error:invalid CIDR[{index}]: <nil> (invalid CIDR \
                 address: {text})"
            ));
            (v4, v6) = (false, false);
            break;
        };
        let is_v4 = range.address.to_canonical().is_ipv4();
        v4 |= is_v4;
        v6 |= !is_v4;
    }
    if !(v4 && v6) || ranges.len() > 2 {
        let why = "may specify no more than one CIDR for each IP family";
        ranges.invalid(ranges.printed_as("[]string"), why);
    }
}

/// Ranges are assigned once. An error is reported for each range that differs.
fn fixed_pod_ranges(ranges: &Cursor<'_, '_>) {
    let before = ranges.before();
    if before.is_empty() {
        return;
    }
    if before.len() != ranges.len() {
        return ranges.forbidden(RANGES_ARE_FIXED);
    }
    for _ in ranges.items().filter(Cursor::changed) {
        ranges.forbidden(RANGES_ARE_FIXED);
    }
}
