//! Requests for the status of pools of devices. Their rules are declared; a status is written once.

use pintle_meta::validation::{DNS1123_SUBDOMAIN_MAX_LENGTH, declared};

use super::strategy::CLUSTER;
use crate::framework::strategy::{Rules, Settings};
use crate::framework::validation::Cursor;
use crate::framework::validation::declarative;

const MOST_POOLS: i64 = 1000;
const MOST_CONDITIONS: usize = 10;
const LONGEST_ERROR: usize = 256;

pub(super) const REQUESTS: Rules =
    Rules { unconditional_update: false, validate, validate_update: validate, ..CLUSTER.with_status() };

pub(super) const STATUS: Rules = Rules {
    validate_update: |settings, request| {
        let status = request.field("status");
        if status.has_old() {
            status.immutable("*resource.ResourcePoolStatusRequestStatus");
        } else {
            status.field("conditions").conditions();
        }
        validate(settings, request);
    },
    ..REQUESTS.of_status_alone()
};

fn validate(_: &Settings, request: &Cursor<'_, '_>) {
    declarative::field(request, "spec", |spec| {
        if declarative::immutable(spec) {
            validate_spec(spec);
        }
    });
    declarative::field(request, "status", |status| {
        if status.is_set() {
            validate_status(status);
        }
    });
}

fn validate_spec(spec: &Cursor<'_, '_>) {
    declarative::field(spec, "driver", driver);
    declarative::field(spec, "poolName", |name| {
        if name.is_set() {
            pool_name(name);
        }
    });
    declarative::field(spec, "limit", |limit| {
        // Set by defaulting.
        declarative::maximum(limit, MOST_POOLS);
        declarative::minimum(limit, 1);
    });
}

fn validate_status(status: &Cursor<'_, '_>) {
    declarative::field(status, "poolCount", |count| {
        if declarative::required(count) {
            declarative::minimum(count, 0);
        }
    });
    declarative::field(status, "pools", |pools| {
        if declarative::max_items(pools, MOST_POOLS as usize) {
            declarative::each(pools, pool);
        }
    });
    declarative::field(status, "conditions", |conditions| {
        if declarative::max_items(conditions, MOST_CONDITIONS) {
            declarative::unique_by(conditions, |condition| condition.text_at(&["type"]));
        }
    });
}

fn pool(pool: &Cursor<'_, '_>) {
    const COUNTS: &[(&str, i64)] = &[
        ("resourceSliceCount", 1),
        ("totalDevices", 0),
        ("allocatedDevices", 0),
        ("availableDevices", 0),
        ("unavailableDevices", 0),
    ];
    driver(&pool.field("driver"));
    let name = pool.field("poolName");
    if declarative::required_value(&name) {
        pool_name(&name);
    }
    let generation = pool.field("generation");
    if declarative::required_value(&generation) {
        declarative::minimum(&generation, 0);
    }
    for (name, min) in COUNTS {
        let count = pool.field(name);
        if count.is_set() {
            declarative::minimum(&count, *min);
        }
    }
    let node = pool.field("nodeName");
    if node.is_set() {
        node.text_format(declared::dns1123_subdomain);
    }
    declarative::max_bytes(&pool.field("validationError"), LONGEST_ERROR);
}

fn driver(name: &Cursor<'_, '_>) {
    if declarative::required_value(name) {
        name.text_format(declared::dns1123_subdomain_caseless);
    }
}

/// Checks the name of a pool: subdomains separated by slashes.
fn pool_name(name: &Cursor<'_, '_>) {
    declarative::max_bytes(name, DNS1123_SUBDOMAIN_MAX_LENGTH);
    for (index, segment) in name.text().split('/').enumerate() {
        if segment.is_empty() {
            name.invalid(name.text(), format!("segment {index}: must not be empty"));
            continue;
        }
        for why in declared::dns1123_subdomain(segment) {
            name.invalid(segment, format!("segment {index}: {why}"));
        }
    }
}

#[cfg(test)]
mod tests;
