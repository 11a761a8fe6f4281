//! The columns of dynamic resource allocation: classes, claims and slices of devices.

use pintle_meta::Value;

use crate::framework::columns::descriptions as doc;
use crate::framework::columns::{AGE, Columns, Context, NAME, cell, integer, text};

pub(crate) fn of(kind: &str) -> Option<&'static Columns> {
    Some(match kind {
        "DeviceClass" => &DEVICE_CLASS,
        "DeviceTaintRule" => &DEVICE_TAINT_RULE,
        "ResourceClaim" => &RESOURCE_CLAIM,
        "ResourceClaimTemplate" => &RESOURCE_CLAIM_TEMPLATE,
        "ResourcePoolStatusRequest" => &RESOURCE_POOL_STATUS_REQUEST,
        "ResourceSlice" => &RESOURCE_SLICE,
        _ => return None,
    })
}

static DEVICE_CLASS: Columns = Columns::new("resource/v1.DeviceClass", &[NAME, AGE], cell::name_and_age);

static DEVICE_TAINT_RULE: Columns = Columns::new(
    "resource/v1alpha3.DeviceTaintRule",
    &[
        NAME,
        text("Key", doc::DEVICE_TAINT_KEY),
        text("Value", doc::DEVICE_TAINT_VALUE),
        text("Effect", doc::DEVICE_TAINT_EFFECT),
        text("TimeAdded", doc::DEVICE_TAINT_TIME_ADDED),
        AGE,
    ],
    |object, context, cells| {
        cells.push(cell::name(object));
        cells.extend(["key", "value", "effect"].map(|field| cell::text(object, &["spec", "taint", field])));
        let added = object.at(&["spec", "taint", "timeAdded"]).filter(|time| !time.is_null());
        let added = added.map_or(String::new(), |added| context.since(Some(added)));
        cells.extend([added.into(), context.age(object)]);
    },
);

static RESOURCE_CLAIM: Columns = Columns::new(
    "resource/v1.ResourceClaim",
    &[NAME, text("State", "A summary of the current state (allocated, pending, reserved, etc.)."), AGE],
    |object, context, cells| {
        cells.extend([cell::name(object), state(object), context.age(object)]);
    },
);

static RESOURCE_CLAIM_TEMPLATE: Columns =
    Columns::new("resource/v1.ResourceClaimTemplate", &[NAME, AGE], cell::name_and_age);

static RESOURCE_SLICE: Columns = Columns::new(
    "resource/v1.ResourceSlice",
    &[
        NAME,
        text("Node", doc::RESOURCE_SLICE_SPEC_NODE_NAME),
        text("Driver", doc::RESOURCE_SLICE_SPEC_DRIVER),
        text("Pool", doc::RESOURCE_POOL_NAME),
        AGE,
    ],
    |object, context, cells| {
        cells.extend([
            cell::name(object),
            cell::text(object, &["spec", "nodeName"]),
            cell::text(object, &["spec", "driver"]),
            cell::text(object, &["spec", "pool", "name"]),
            context.age(object),
        ]);
    },
);

static RESOURCE_POOL_STATUS_REQUEST: Columns = Columns::new(
    "resource/v1alpha3.ResourcePoolStatusRequest",
    &[
        NAME,
        text("Driver", "The driver to query pools for."),
        text("Total", "Total number of devices across all pools."),
        text("Available", "Number of available devices across all pools."),
        text("Allocated", "Number of allocated devices across all pools."),
        text("Unavailable", "Number of unavailable devices across all pools."),
        text("Errors", "Number of pools with validation errors."),
        integer("Pools", "Total number of matching pools."),
        text("Status", "Processing status."),
        text("Completed", "Time since the observation completed."),
    ],
    pool_status,
);

fn state(object: &Value) -> Value {
    let deleted = object.deletion_timestamp().is_some();
    let allocated = cell::has(object, &["status", "allocation"]);
    let reserved = !object.items_at(&["status", "reservedFor"]).is_empty();
    Value::literal(match (deleted, allocated, reserved) {
        (false, false, _) => "pending",
        (false, true, false) => "allocated",
        (false, true, true) => "allocated,reserved",
        (true, false, _) => "deleted",
        (true, true, false) => "deleted,allocated",
        (true, true, true) => "deleted,allocated,reserved",
    })
}

fn pool_status(object: &Value, context: &Context, cells: &mut Vec<Value>) {
    let pools = object.items_at(&["status", "pools"]);
    let count = cell::int(object, &["status", "poolCount"]);
    // The first of the two that is true.
    let decided = object.items_at(&["status", "conditions"]).iter().find(|condition| {
        matches!(condition.text_at(&["type"]), "Complete" | "Failed")
            && condition.text_at(&["status"]) == "True"
    });
    let (mut status, mut completed) = (String::from("Pending"), String::from(cell::NONE));
    let failed = decided.is_some_and(|condition| condition.text_at(&["type"]) == "Failed");
    if failed {
        status = "Failed".into();
    } else if let Some(condition) = decided {
        completed = context.since(condition.get("lastTransitionTime"));
        status = match count > pools.len() as i64 {
            true => format!("Complete ({}/{count} pools)", pools.len()),
            false => "Complete".into(),
        };
    }
    cells.extend([cell::name(object), cell::text(object, &["spec", "driver"])]);
    if failed || !cell::has(object, &["status"]) {
        cells.extend([const { Value::literal("-") }; 5]);
    } else {
        for field in ["totalDevices", "availableDevices", "allocatedDevices", "unavailableDevices"] {
            let sum: i64 = pools.iter().map(|pool| cell::int(pool, &[field])).sum();
            cells.push(sum.to_string().into());
        }
        let errors = pools.iter().filter(|pool| cell::has(pool, &["validationError"])).count();
        cells.push(errors.to_string().into());
    }
    cells.extend([count.into(), status.into(), completed.into()]);
}

#[cfg(test)]
mod tests {
    use crate::framework::columns::testing::check;

    #[test]
    fn a_claim_is_pending_allocated_or_reserved() {
        for (deleted, status, shown) in [
            (false, "", "pending"),
            (false, r#""allocation":{}"#, "allocated"),
            (false, r#""allocation":{},"reservedFor":[{"name":"p"}]"#, "allocated,reserved"),
            (true, "", "deleted"),
            (true, r#""allocation":{}"#, "deleted,allocated"),
            (true, r#""allocation":{},"reservedFor":[{"name":"p"}]"#, "deleted,allocated,reserved"),
        ] {
            let deleted = if deleted { r#","deletionTimestamp":"2026-01-01T00:00:00Z""# } else { "" };
            let object = format!(r#"{{"metadata":{{"name":"c"{deleted}}},"status":{{{status}}}}}"#);
            check("resource/v1.ResourceClaim", &object, &format!(r#"["c",{shown:?},"<unknown>"]"#));
        }
    }

    #[test]
    fn classes_and_templates_have_a_name_and_an_age() {
        let object = r#"{"metadata":{"name":"c","creationTimestamp":"2026-01-10T23:59:00Z"}}"#;
        check("resource/v1.DeviceClass", object, r#"["c","60s"]"#);
        check("resource/v1.ResourceClaimTemplate", object, r#"["c","60s"]"#);
    }

    #[test]
    fn a_slice_says_where_its_devices_are() {
        let object = r#"{"metadata":{"name":"s"},"spec":{"driver":"d","nodeName":"n","pool":{"name":"p"}}}"#;
        check("resource/v1.ResourceSlice", object, r#"["s","n","d","p","<unknown>"]"#);
        check("resource/v1.ResourceSlice", r#"{"metadata":{"name":"s"}}"#, r#"["s","","","","<unknown>"]"#);
    }

    #[test]
    fn a_rule_shows_its_taint() {
        let object = r#"{"metadata":{"name":"r"},"spec":{"taint":{"key":"k","value":"v","effect":"NoExecute",
            "timeAdded":"2026-01-10T23:59:55Z"}}}"#;
        let kind = "resource/v1alpha3.DeviceTaintRule";
        check(kind, object, r#"["r","k","v","NoExecute","5s","<unknown>"]"#);
        check(kind, r#"{"metadata":{"name":"r"}}"#, r#"["r","","","","","<unknown>"]"#);
    }

    #[test]
    fn a_pool_request_sums_up_its_pools() {
        let kind = "resource/v1alpha3.ResourcePoolStatusRequest";
        let check_status = |status: &str, shown: &str| {
            let object =
                format!(r#"{{"metadata":{{"name":"r"}},"spec":{{"driver":"d"}},"status":{status}}}"#);
            check(kind, &object, &format!(r#"["r","d",{shown}]"#));
        };
        check_status("null", r#""-","-","-","-","-",0,"Pending","<none>""#);
        let pools = r#""poolCount":2,"pools":[
            {"totalDevices":4,"availableDevices":1,"allocatedDevices":2,"unavailableDevices":1},
            {"totalDevices":3,"validationError":"x"}]"#;
        check_status(&format!("{{{pools}}}"), r#""7","1","2","1","1",2,"Pending","<none>""#);
        let complete = |count: i64| {
            format!(
                r#"{{"poolCount":{count},"pools":[{{"totalDevices":4}}],"conditions":[
                    {{"type":"Failed","status":"False"}},
                    {{"type":"Complete","status":"True","lastTransitionTime":"2026-01-10T23:59:55Z"}}]}}"#
            )
        };
        check_status(&complete(1), r#""4","0","0","0","0",1,"Complete","5s""#);
        check_status(&complete(3), r#""4","0","0","0","0",3,"Complete (1/3 pools)","5s""#);
        check_status(
            r#"{"poolCount":1,"conditions":[{"type":"Failed","status":"True"}]}"#,
            r#""-","-","-","-","-",1,"Failed","<none>""#,
        );
    }
}
