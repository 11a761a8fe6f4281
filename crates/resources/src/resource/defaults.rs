//! Defaults of dynamic resource allocation.

use pintle_meta::Value;

use crate::defaults::{Place, Rule};

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
