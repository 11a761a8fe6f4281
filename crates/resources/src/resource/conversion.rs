//! Versions of dynamic resource allocation: `v1beta1` had no name for the plain request and put devices into `basic`.

use pintle_meta::Value;

use crate::framework::conversion::{Error, Fields, Pair, by_name};

const EXACT: &str = "resource/v1.ExactDeviceRequest";
const REQUEST: &str = "resource/v1beta1.DeviceRequest";
const BASIC: &str = "resource/v1beta1.BasicDevice";
const DEVICE: &str = "resource/v1.Device";

pub(crate) const PAIRS: &[Pair] = &[
    Pair::new(REQUEST, "resource/v1.DeviceRequest").inward(request_inward).outward(request_outward),
    Pair::new(REQUEST, EXACT),
    Pair::new("resource/v1beta1.Device", DEVICE).inward(device_inward).outward(device_outward),
    Pair::new(BASIC, DEVICE),
    Pair::new("resource/v1beta1.ResourceSliceSpec", "resource/v1.ResourceSliceSpec").inward(slice_inward),
];

/// What a plain request says in `v1beta1`, and `exactly` in later versions.
const PLAIN: &[&str] =
    &["deviceClassName", "selectors", "allocationMode", "count", "adminAccess", "tolerations", "capacity"];

fn request_inward(value: &Value, out: &mut Fields) -> Result<(), Error> {
    // The class's name stands there even if it is empty.
    let is_set = |field: &&str| value.get(field).is_some_and(|found| found.as_str() != Some(""));
    if PLAIN.iter().any(is_set) {
        out.set("exactly", by_name(REQUEST, EXACT, value)?);
    }
    Ok(())
}

fn request_outward(value: &Value, out: &mut Fields) -> Result<(), Error> {
    if let Some(exactly) = value.get("exactly") {
        let request = by_name(EXACT, REQUEST, exactly)?;
        for field in PLAIN {
            out.copy(field, request.get(field));
        }
    }
    Ok(())
}

fn device_inward(value: &Value, out: &mut Fields) -> Result<(), Error> {
    if let Some(basic) = value.get("basic") {
        let device = by_name(BASIC, DEVICE, basic)?;
        let fields = device.as_object().into_iter().flat_map(|device| device.iter());
        for (field, found) in fields.filter(|(field, _)| *field != "name") {
            out.copy(field, Some(found));
        }
    }
    Ok(())
}

fn device_outward(value: &Value, out: &mut Fields) -> Result<(), Error> {
    out.set("basic", by_name(DEVICE, BASIC, value)?);
    Ok(())
}

/// What `v1beta1` could not leave out is absent elsewhere.
fn slice_inward(_: &Value, out: &mut Fields) -> Result<(), Error> {
    if out.get("nodeName").is_some_and(|name| name.as_str() == Some("")) {
        out.clear("nodeName");
    }
    if out.get("allNodes").is_some_and(|all| all.as_bool() == Some(false)) {
        out.clear("allNodes");
    }
    Ok(())
}
