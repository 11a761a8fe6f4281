use crate::framework::validation::testing::Base;

const GROUP: &str = "resource.k8s.io";
const REQUEST: &str = r#"{"metadata":{"name":"a"},"spec":{"driver":"D.example.com","poolName":"p/q"}}"#;
const STATUS: &str = r#"{"poolCount":1,"pools":[{"driver":"d.example.com","poolName":"p","generation":1,"resourceSliceCount":1,
    "totalDevices":0,"nodeName":"n","validationError":"x"}]}"#;
const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start \
                         and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
                         '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const CASELESS: &str = "an RFC 1123 subdomain must consist of alphanumeric characters, '-' or '.', and must start and end with an \
                        alphanumeric character (e.g. 'Example.com', regex used for validation is \
                        '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

#[test]
fn requests_name_a_driver_and_perhaps_a_pool() {
    let base = Base::new(GROUP, "resourcepoolstatusrequests", REQUEST);
    base.accepts(&[&[("/spec/poolName", "")], &[("/spec/limit", "1000")]]);
    let long = "a".repeat(254);
    base.refuses(&[
        (&[("/spec/driver", r#""""#)], &["spec.driver: Required value"]),
        (&[("/spec/driver", r#""-""#)], &[&format!("spec.driver: Invalid value: \"-\": {CASELESS}")]),
        (
            &[("/spec/poolName", r#""a//B""#)],
            &[
                "spec.poolName: Invalid value: \"a//B\": segment 1: must not be empty",
                &format!("spec.poolName: Invalid value: \"B\": segment 2: {SUBDOMAIN}"),
            ],
        ),
        (
            &[("/spec/poolName", &format!("{long:?}"))],
            &[
                "spec.poolName: Too long: may not be more than 253 bytes",
                &format!("spec.poolName: Invalid value: {long:?}: segment 0: must be no more than 253 bytes"),
            ],
        ),
        (
            &[("/spec/limit", "1001")],
            &["spec.limit: Invalid value: 1001: must be less than or equal to 1000"],
        ),
        (&[("/spec/limit", "0")], &["spec.limit: Invalid value: 0: must be greater than or equal to 1"]),
    ]);
    base.refuses_update(&[(&[("/spec/limit", "5")], &["spec: Invalid value: null: field is immutable"])]);
    base.accepts_update(&[&[("/metadata/labels", r#"{"a":"b"}"#)]]);
}

#[test]
fn a_status_lists_pools() {
    let base = Base::new(GROUP, "resourcepoolstatusrequests/status", REQUEST);
    base.accepts_update(&[&[("/status", STATUS)], &[("/status", r#"{"poolCount":0}"#)]]);
    let pool = |field: &str| format!("/status/pools/0/{field}");
    let case = |field: &str, value: &str, errors: &[&str]| {
        base.refuses_update(&[(&[("/status", STATUS), (&pool(field), value)], errors)]);
    };
    case("driver", r#""""#, &["status.pools[0].driver: Required value"]);
    case("driver", r#""-""#, &[&format!("status.pools[0].driver: Invalid value: \"-\": {CASELESS}")]);
    case("poolName", r#""""#, &["status.pools[0].poolName: Required value"]);
    case(
        "poolName",
        r#""B""#,
        &[&format!("status.pools[0].poolName: Invalid value: \"B\": segment 0: {SUBDOMAIN}")],
    );
    case("generation", "0", &["status.pools[0].generation: Required value"]);
    case(
        "generation",
        "-1",
        &["status.pools[0].generation: Invalid value: -1: must be greater than or equal to 0"],
    );
    case(
        "resourceSliceCount",
        "0",
        &["status.pools[0].resourceSliceCount: Invalid value: 0: must be greater than or equal to 1"],
    );
    for count in ["totalDevices", "allocatedDevices", "availableDevices", "unavailableDevices"] {
        let error = format!("status.pools[0].{count}: Invalid value: -1: must be greater than or equal to 0");
        case(count, "-1", &[&error]);
    }
    case("nodeName", r#""N""#, &[&format!("status.pools[0].nodeName: Invalid value: \"N\": {SUBDOMAIN}")]);
    case(
        "validationError",
        &format!("{:?}", "x".repeat(257)),
        &["status.pools[0].validationError: Too long: may not be more than 256 bytes"],
    );
    let pools = vec![r#"{"driver":"d","poolName":"p","generation":1}"#; 1001].join(",");
    base.refuses_update(&[
        (&[("/status", "{}")], &["status.poolCount: Required value"]),
        (
            &[("/status", r#"{"poolCount":-1}"#)],
            &["status.poolCount: Invalid value: -1: must be greater than or equal to 0"],
        ),
        (
            &[("/status", &format!(r#"{{"poolCount":1001,"pools":[{pools}]}}"#))],
            &["status.pools: Too many: 1001: must have at most 1000 items"],
        ),
    ]);
}

#[test]
fn conditions_of_a_status_have_different_types() {
    let base = Base::new(GROUP, "resourcepoolstatusrequests/status", REQUEST);
    let condition = |of: usize| {
        format!(
            r#"{{"type":"T{of}","status":"True","lastTransitionTime":"2024-01-01T00:00:00Z","reason":"R","message":""}}"#
        )
    };
    let status = |types: &[usize]| {
        let conditions: Vec<String> = types.iter().map(|of| condition(*of)).collect();
        format!(r#"{{"poolCount":0,"conditions":[{}]}}"#, conditions.join(","))
    };
    let all: Vec<usize> = (0..11).collect();
    base.accepts_update(&[&[("/status", &status(&all[..10]))]]);
    base.refuses_update(&[
        (&[("/status", &status(&all))], &["status.conditions: Too many: 11: must have at most 10 items"]),
        (
            &[("/status", &status(&[1, 1]))],
            &[
                "status.conditions[1].type: Duplicate value: \"T1\"",
                &format!("status.conditions[1]: Duplicate value: {}", condition(1)),
            ],
        ),
    ]);
}

#[test]
fn a_status_is_written_once() {
    let base = Base::new(GROUP, "resourcepoolstatusrequests/status", REQUEST);
    let before = [("/status", r#"{"poolCount":1}"#)];
    base.accepts_update_of(&before, &[&[]]);
    base.refuses_update_of(
        &before,
        &[
            (
                &[("/status/poolCount", "2")],
                &["status: Invalid value: {\"PoolCount\":2,\"Pools\":null,\"Conditions\":null}: field is immutable"],
            ),
            (&[("/status", "")], &["status: Invalid value: null: field is immutable"]),
        ],
    );
}
