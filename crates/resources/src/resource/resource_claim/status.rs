//! The status of a claim: its allocation, its consumers and the status of its devices.

use std::cell::LazyCell;
use std::collections::HashSet;

use pintle_meta::Value;
use pintle_meta::field_path::Value as Printed;
use pintle_meta::validation::interface_address;
use serde::Serialize;

use crate::core::pod::validation::affinity::node_selector;
use crate::framework::validation::Cursor;
use crate::resource::claim_spec::{MOST_CONFIGURATIONS, MOST_REQUESTS, RequestNames};
use crate::resource::collections::{immutable, list, set, set_of_texts};
use crate::resource::selectors::{configuration, raw_object};
use crate::resource::{bindings, names};

const MOST_CONSUMERS: usize = 256;
const MOST_RESULTS: usize = 32;
const MOST_CONDITIONS: usize = 8;
const LONGEST_DATA: usize = 10 * 1024;
const MOST_ADDRESSES: usize = 16;
const LONGEST_INTERFACE: usize = 256;
const LONGEST_HARDWARE_ADDRESS: usize = 128;

/// The identity of a device, or of its shared part.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct DeviceId<'v> {
    driver: &'v str,
    pool: &'v str,
    device: &'v str,
    #[serde(rename = "ShareID")]
    share: &'v str,
}

pub(super) fn device_id(of: &Value) -> DeviceId<'_> {
    DeviceId {
        driver: of.text_at(&["driver"]),
        pool: of.text_at(&["pool"]),
        device: of.text_at(&["device"]),
        share: of.text_at(&["shareID"]),
    }
}

/// Checks a status that replaces the old one.
pub(super) fn validate(claim: &Cursor<'_, '_>) {
    let status = claim.field("status");
    let (consumers, allocation) = (status.field("reservedFor"), status.field("allocation"));
    set(&consumers, Some(MOST_CONSUMERS), consumer, |of| of.text_at(&["uid"]), Printed::json);
    let allocated = LazyCell::new(|| {
        let results = allocation.value().items_at(&["devices", "results"]);
        results.iter().map(device_id).collect::<HashSet<_>>()
    });
    let devices = status.field("devices");
    set(&devices, None, |of| device(of, &allocated), device_id, |id| Printed::json(&id));
    if !consumers.is_empty() {
        if !allocation.is_set() {
            consumers.forbidden("may not be specified when `allocated` is not set");
        } else if claim.value().deletion_timestamp().is_some() && has_new_items(&consumers) {
            consumers.forbidden(
                "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set",
            );
        }
    }
    if allocation.is_set() && allocation.has_old() {
        immutable(&allocation, "*resource.AllocationResult", "resource/v1.AllocationResult");
    } else if allocation.is_set() {
        let requests = claim.value().items_at(&["spec", "devices", "requests"]);
        allocation_result(&allocation, &RequestNames::of(requests));
    }
}

/// Whether consumers were added.
fn has_new_items(consumers: &Cursor<'_, '_>) -> bool {
    let key =
        |of: &'_ Value| ["apiGroup", "resource", "name", "uid"].map(|field| of.text_at(&[field]).to_owned());
    let known: HashSet<_> = consumers.before().values().iter().map(key).collect();
    consumers.values().iter().any(|consumer| !known.contains(&key(consumer)))
}

fn consumer(consumer: &Cursor<'_, '_>) {
    for name in ["resource", "name", "uid"] {
        let field = consumer.field(name);
        if field.is_empty() {
            field.required("");
        }
    }
}

fn allocation_result(allocation: &Cursor<'_, '_>, requests: &RequestNames<'_>) {
    let devices = allocation.field("devices");
    list(&devices.field("results"), MOST_RESULTS, |result| {
        requests.check(&result.field("request"));
        names::device(result);
        bindings::validate(result);
        names::share(result);
    });
    // Configurations of the class and of the claim.
    list(&devices.field("config"), 2 * MOST_CONFIGURATIONS, |config| {
        config.field("source").required_one_of(&["FromClaim", "FromClass"]);
        set_of_texts(&config.field("requests"), MOST_REQUESTS, |name| requests.check(name));
        configuration(config, false);
    });
    let selector = allocation.field("nodeSelector");
    if selector.is_set() {
        node_selector(&selector, false);
    }
}

fn device(device: &Cursor<'_, '_>, allocated: &HashSet<DeviceId<'_>>) {
    names::device(device);
    names::share(device);
    let id = device_id(device.value());
    if !allocated.contains(&id) {
        device.invalid(Printed::json(&id), "must be an allocated device in the claim");
    }
    let conditions = device.field("conditions");
    if conditions.len() > MOST_CONDITIONS {
        conditions.too_many(MOST_CONDITIONS);
    }
    conditions.conditions();
    let data = device.field("data");
    if data.is_set() {
        raw_object(&data, false, LONGEST_DATA);
    }
    let network = device.field("networkData");
    for (name, longest) in
        [("interfaceName", LONGEST_INTERFACE), ("hardwareAddress", LONGEST_HARDWARE_ADDRESS)]
    {
        let field = network.field(name);
        if field.text().len() > longest {
            field.too_long(longest);
        }
    }
    set_of_texts(&network.field("ips"), MOST_ADDRESSES, |address| address.text_check(interface_address));
}
