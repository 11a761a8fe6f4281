//! Requests, limits and claims of a container or pod, and resize policies.

use std::collections::{HashMap, HashSet};

use pintle_meta::field_path::{Error, Value as Printed};
use pintle_meta::validation::dns1123_label;

use super::super::{Facts, Options};
use crate::core::resource_names;
use crate::framework::validation::{Cursor, Seen};

/// Checks the resources of a container.
pub(super) fn of_container(resources: &Cursor<'_, '_>, facts: &Facts<'_>, options: &Options) {
    requirements(resources, resource_names::check_container_name, facts, options);
}

/// Checks requests, limits and claims; `check_name` checks the name of a resource.
pub(in super::super) fn requirements(
    resources: &Cursor<'_, '_>,
    check_name: impl Fn(&Cursor<'_, '_>, &str),
    facts: &Facts<'_>,
    options: &Options,
) {
    let (limits, requests) = (resources.field("limits"), resources.field("requests"));
    let (mut has_huge_pages, mut has_cpu_or_memory) = (false, false);
    let mut amount = |name: &str, amount: &Cursor<'_, '_>| {
        has_huge_pages |= resource_names::is_huge_page(name);
        has_cpu_or_memory |= matches!(name, "cpu" | "memory");
        check_name(amount, name);
        resource_names::check_amount(amount, name);
    };
    for (name, limit) in limits.entries() {
        amount(name, &limit);
        huge_pages(&limit, name, options);
    }
    for (name, request) in requests.entries() {
        amount(name, &request);
        within_limit(&request, name, &requests, &limits);
        huge_pages(&request, name, options);
    }
    if has_huge_pages && !has_cpu_or_memory {
        resources.forbidden("HugePages require cpu or memory");
    }
    claims(&resources.field("claims"), facts);
}

/// Checks a request against the limit. Both are equal where resources cannot be overcommitted.
fn within_limit(request: &Cursor<'_, '_>, name: &str, requests: &Cursor<'_, '_>, limits: &Cursor<'_, '_>) {
    let can_overcommit = resource_names::allows_overcommit(name);
    let limit = limits.key(name);
    if !limit.is_set() {
        if !can_overcommit {
            limits.required("Limit must be set for non overcommitable resources");
        }
        return;
    }
    let (Some(requested), Some(limit)) = (request.quantity(), limit.quantity()) else { return };
    if requested != limit && !can_overcommit {
        let why = format!("must be equal to {name} limit of {limit}");
        requests.invalid(requested.to_string(), why);
    } else if requested > limit {
        let why = format!("must be less than or equal to {name} limit of {limit}");
        requests.invalid(requested.to_string(), why);
    }
}

fn huge_pages(amount: &Cursor<'_, '_>, name: &str, options: &Options) {
    if !resource_names::is_huge_page(name) || options.allow_indivisible_huge_pages {
        return;
    }
    let quantity = amount.quantity();
    if let Some(quantity) =
        quantity.filter(|quantity| !resource_names::is_multiple_of_page_size(name, quantity))
    {
        let why = format!("{quantity} is not positive integer multiple of {name}");
        amount.invalid(quantity.to_string(), why);
    }
}

/// Checks that a container claims only claims of its pod, and nothing twice: neither a claim as a whole, nor a request of it, nor
/// both.
fn claims(claims: &Cursor<'_, '_>, facts: &Facts<'_>) {
    if claims.is_empty() {
        return;
    }
    // Claims as `NAME` or `NAME/REQUEST`, and the number of requests by name.
    let mut known: HashSet<String> = HashSet::new();
    let mut requests: HashMap<String, usize> = HashMap::new();
    for claim in claims.items() {
        let name = claim.field("name").text();
        if name.is_empty() {
            claim.required("");
            continue;
        }
        if known.contains(name) {
            claim.duplicate(name);
        } else {
            let request = claim.field("request");
            let mut key = name.to_owned();
            if !request.is_empty() {
                request.text_format(dns1123_label);
                key.push('/');
                key.push_str(request.text());
            }
            if known.contains(&key) {
                claim.duplicate(&key);
            } else if request.is_empty() {
                (0..requests.get(name).copied().unwrap_or_default()).for_each(|_| claim.duplicate(name));
            }
            let owner = key.split_once('/').map(|(owner, _)| owner.to_owned());
            if known.insert(key)
                && let Some(owner) = owner
            {
                *requests.entry(owner).or_default() += 1;
            }
        }
        if !facts.claim_names.contains(name) {
            claim.report([unknown_claim(&claim, name, facts)]);
        }
    }
}

fn unknown_claim(claim: &Cursor<'_, '_>, name: &str, facts: &Facts<'_>) -> Error {
    let mut detail = String::from("must be one of the names in pod.spec.resourceClaims");
    if facts.claim_names.is_empty() {
        detail.push_str(" which is empty");
    }
    for (index, name) in facts.claim_names.iter().enumerate() {
        detail.push_str(if index == 0 { ": " } else { ", " });
        detail.push_str(name);
    }
    Error { detail, ..Error::not_found(claim.path(), name) }
}

/// Checks the resize policies of a container. The reference reports most of them at the list.
pub(super) fn resize_policy(policies: &Cursor<'_, '_>, facts: &Facts<'_>) {
    let mut resources = Seen::new();
    for policy in policies.items() {
        let (resource, restart) = (policy.field("resourceName").text(), policy.field("restartPolicy").text());
        if !resources.insert(resource) {
            policy.duplicate(Printed::json(resource));
        }
        known(policies, resource, &["cpu", "memory"]);
        known(policies, restart, &["NotRequired", "RestartContainer"]);
        if facts.restart_policy == "Never" && restart != "NotRequired" {
            let why = "must be 'NotRequired' when pod `restartPolicy` is 'Never'";
            policies.invalid(Printed::json(restart), why);
        }
    }
}

/// Checks a value of a policy, and reports at the list.
fn known(policies: &Cursor<'_, '_>, text: &str, supported: &[&str]) {
    if text.is_empty() {
        policies.required("");
    } else if !supported.contains(&text) {
        policies.not_supported(Printed::json(text), supported);
    }
}

/// Checks the resize policies of an init container, which only a sidecar may restart for.
pub(super) fn init_resize_policy(policies: &Cursor<'_, '_>, is_sidecar: bool, options: &Options) {
    if !options.allow_sidecar_resize_policy && !policies.is_empty() {
        let shown = policies.printed_as("[]core.ContainerResizePolicy");
        policies.invalid(shown, "must not be set for init containers"); // unreachable: the gate is locked
    }
    if is_sidecar || options.allow_restart_container_of_init_containers {
        return;
    }
    for policy in policies.items() {
        let restart = policy.field("restartPolicy");
        if restart.text() == "RestartContainer" {
            let why = "must not be set to 'RestartContainer' for non-sidecar initContainers";
            restart.invalid(Printed::json(restart.text()), why);
        }
    }
}
