use pintle_features::Feature;

use crate::framework::strategy::Settings;
use crate::framework::strategy::testing::{text, with_settings};
use crate::framework::validation::testing::Base;

const GROUP: &str = "resource.k8s.io";
const TEMPLATE: &str = r#"{"metadata":{"name":"a","namespace":"n"},"spec":{"metadata":{"labels":{"a":"b"}},"spec":{"devices":{
    "requests":[{"name":"r","exactly":{"deviceClassName":"c","capacity":{"requests":{"memory":"1Ki"}}}}]}}}}"#;

#[test]
fn templates_have_the_rules_of_claims() {
    let base = Base::new(GROUP, "resourceclaimtemplates", TEMPLATE);
    base.refuses(&[
        (&[("/spec/metadata/name", r#""x""#)], &["spec.metadata.name: Forbidden: cannot be set"]),
        (
            &[("/spec/spec/devices/requests/0/exactly/deviceClassName", r#""""#)],
            &["spec.spec.devices.requests[0].exactly.deviceClassName: Required value"],
        ),
    ]);
}

#[test]
fn templates_do_not_change() {
    let base = Base::new(GROUP, "resourceclaimtemplates", TEMPLATE);
    let amount = "/spec/spec/devices/requests/0/exactly/capacity/requests/memory";
    base.accepts_update(&[&[("/metadata/labels", r#"{"a":"b"}"#)], &[(amount, r#""1024""#)]]);
    let printed = |class: &str, amount: &str| {
        format!(
            "spec: Invalid value: {{\"labels\":{{\"a\":\"b\"}},\"Spec\":{{\"Devices\":{{\"Requests\":[{{\"Name\":\"r\",\"Exactly\":{{\
             \"DeviceClassName\":\"{class}\",\"Selectors\":null,\"AllocationMode\":\"ExactCount\",\"Count\":1,\"AdminAccess\":null,\
             \"Tolerations\":null,\"Capacity\":{{\"Requests\":{{\"memory\":\"{amount}\"}}}}}},\"FirstAvailable\":null}}],\
             \"Constraints\":null,\"Config\":null}}}}}}: field is immutable"
        )
    };
    let finalizer = "metadata.finalizers[0]: Invalid value: \"x\": name is neither a standard finalizer name nor is it fully qualified";
    base.refuses_update(&[
        (&[(amount, r#""2Ki""#)], &[&printed("c", "2Ki")]),
        (
            &[
                ("/spec/spec/devices/requests/0/exactly/deviceClassName", r#""""#),
                ("/metadata/finalizers", r#"["x"]"#),
            ],
            &[
                finalizer,
                "spec.spec.devices.requests[0].exactly.deviceClassName: Required value",
                finalizer,
                &printed("", "1Ki"),
            ],
        ),
    ]);
}

#[test]
fn fields_of_features_that_are_off_go_unless_they_were_there() {
    let mut settings = Settings::default();
    settings.features.set(Feature::DRADeviceTaints, false);
    let off = with_settings(GROUP, "resourceclaimtemplates", &settings);
    let template = |exactly: &str| {
        format!(
            r#"{{"metadata":{{"name":"a","namespace":"n"}},"spec":{{"metadata":{{}},"spec":{{"devices":{{"requests":[{{"name":"r","exactly":{{"deviceClassName":"c"{exactly}}}}}]}}}}}}}}"#
        )
    };
    let (gated, plain) = (template(r#","tolerations":[{"key":"k"}]"#), template(""));
    assert_eq!(text(&off.created(&gated)), plain);
    assert_eq!(text(&off.updated(&gated, &plain)), plain);
    assert_eq!(text(&off.updated(&gated, &gated)), gated);
}
