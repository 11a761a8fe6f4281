//! Defaults of dynamic resource allocation.

use pintle_meta::Value;

use crate::framework::defaults::{Place, Rule};

pub(crate) const RULES: &[Rule] = &[
    Rule::code(
        &[
            "resource/v1.ExactDeviceRequest",
            "resource/v1.DeviceSubRequest",
            "resource/v1beta2.ExactDeviceRequest",
            "resource/v1beta2.DeviceSubRequest",
            "resource/v1beta1.DeviceSubRequest",
        ],
        allocation,
    ),
    // A request without a class chooses among others, and has no mode of its own.
    Rule::code(&["resource/v1beta1.DeviceRequest"], |request| {
        if !request.unset("deviceClassName") {
            allocation(request);
        }
    }),
    Rule::code(
        &[
            "resource/v1.DeviceTaint",
            "resource/v1beta2.DeviceTaint",
            "resource/v1beta1.DeviceTaint",
            "resource/v1alpha3.DeviceTaint",
        ],
        |taint| {
            if taint.unset("timeAdded") {
                let now = taint.now();
                taint.set("timeAdded", now);
            }
        },
    ),
    Rule::code(
        &["resource/v1.Device", "resource/v1beta2.Device", "resource/v1beta1.BasicDevice"],
        multipliers,
    ),
];

fn allocation(request: &mut Place<'_>) {
    request.default("allocationMode", "ExactCount");
    if request.text("allocationMode") == "ExactCount" {
        request.default("count", 1);
    }
}

/// What a device takes of a node is taken once for each allocation.
fn multipliers(device: &mut Place<'_>) {
    device.each_entry("nodeAllocatableResourceMappings", |mapping| {
        mapping.default("allocationMultiplier", Value::literal("1"));
    });
}

#[cfg(test)]
mod tests {
    use crate::framework::strategy::testing::clock_at;

    use crate::framework::defaults::Settings;
    use crate::framework::defaults::tests::{check, check_with};

    #[test]
    fn requests_are_for_one_device() {
        for version in ["v1", "v1beta2"] {
            check(
                &format!("resource/{version}.ResourceClaimSpec"),
                r#"{"devices":{"requests":[
                    {"name":"a","exactly":{"deviceClassName":"c","tolerations":[{},{"operator":"Exists"}]}},
                    {"name":"b","exactly":{"deviceClassName":"c","allocationMode":"All"}},
                    {"name":"c","exactly":{"deviceClassName":"c","count":3}},
                    {"name":"d","firstAvailable":[{"name":"x","deviceClassName":"c","tolerations":[{}]}]}]}}"#,
                r#"{"devices":{"requests":[
                    {"name":"a","exactly":{"deviceClassName":"c","allocationMode":"ExactCount","count":1,
                        "tolerations":[{"operator":"Equal"},{"operator":"Exists"}]}},
                    {"name":"b","exactly":{"deviceClassName":"c","allocationMode":"All"}},
                    {"name":"c","exactly":{"deviceClassName":"c","allocationMode":"ExactCount","count":3}},
                    {"name":"d","firstAvailable":[{"name":"x","deviceClassName":"c","allocationMode":"ExactCount",
                        "count":1,"tolerations":[{"operator":"Equal"}]}]}]}}"#,
            );
        }
        check(
            "resource/v1beta1.ResourceClaimSpec",
            r#"{"devices":{"requests":[{"name":"a","deviceClassName":"c"},
                {"name":"b","firstAvailable":[{"name":"x","deviceClassName":"c"}]}]}}"#,
            r#"{"devices":{"requests":[{"name":"a","deviceClassName":"c","allocationMode":"ExactCount","count":1},
                {"name":"b","deviceClassName":"","firstAvailable":[
                    {"name":"x","deviceClassName":"c","allocationMode":"ExactCount","count":1}]}]}}"#,
        );
    }

    #[test]
    fn results_tolerate_equal_taints() {
        for version in ["v1", "v1beta2", "v1beta1"] {
            check(
                &format!("resource/{version}.DeviceRequestAllocationResult"),
                r#"{"tolerations":[{"key":"k"}]}"#,
                r#"{"request":"","driver":"","pool":"","device":"","tolerations":[{"key":"k","operator":"Equal"}]}"#,
            );
        }
    }

    #[test]
    fn taints_are_from_now_if_nobody_says() {
        let settings = Settings { clock: clock_at("2023-11-14T22:13:20Z"), ..Settings::default() };
        for version in ["v1", "v1beta2", "v1beta1", "v1alpha3"] {
            let kind = format!("resource/{version}.DeviceTaint");
            check_with(
                &settings,
                &kind,
                r#"{"key":"k","effect":"NoExecute"}"#,
                r#"{"key":"k","effect":"NoExecute","timeAdded":"2023-11-14T22:13:20Z"}"#,
            );
            let own = r#"{"key":"k","effect":"NoExecute","timeAdded":"2020-01-01T00:00:00Z"}"#;
            check(&kind, own, own);
        }
    }

    #[test]
    fn devices_take_once_what_they_take_of_a_node() {
        let device = |more: &str| {
            format!(
                r#"{{"nodeAllocatableResourceMappings":{{"cpu":{{"capacityKey":"k"{more}}},"memory":{{"allocationMultiplier":"2"}}}}}}"#
            )
        };
        check("resource/v1beta1.BasicDevice", &device(""), &device(r#","allocationMultiplier":"1""#));
        for version in ["v1", "v1beta2"] {
            let named = |device: String| device.replacen('{', r#"{"name":"d","#, 1);
            check(
                &format!("resource/{version}.Device"),
                &named(device("")),
                &named(device(r#","allocationMultiplier":"1""#)),
            );
        }
    }

    #[test]
    fn pools_are_listed_up_to_a_hundred() {
        check(
            "resource/v1alpha3.ResourcePoolStatusRequestSpec",
            r#"{"driver":"d"}"#,
            r#"{"driver":"d","limit":100}"#,
        );
    }
}
