//! The check of one request against the quotas of its namespace.

use std::collections::BTreeSet;
use std::sync::Arc;

use pintle_meta::{Status, Value};
use pintle_quota::{Evaluator, Quota, ResourceList};

use super::configuration::LimitedResource;
use crate::Result;
use crate::attributes::{Attributes, Operation};

/// A quota with the requests of a batch that have been checked so far.
pub(super) struct Charge {
    pub(super) quota: Arc<Quota>,
    pub(super) used: ResourceList,
    /// The usage is written: the quota still covers what it limits, and is not charged again.
    pub(super) is_settled: bool,
}

impl Charge {
    pub(super) fn new(quota: Arc<Quota>) -> Charge {
        let used = quota.used.clone();
        Charge { quota, used, is_settled: false }
    }

    pub(super) fn is_changed(&self) -> bool {
        !self.is_settled && self.used != self.quota.used
    }
}

/// Checks a request. Returns the new usage of the quotas that it counts towards, by their places; nothing if it changes none.
///
/// Errors: `Forbidden` if a quota is exceeded, is not counted yet, or wants the object to say more; or if no quota covers a
/// limited resource.
pub(super) fn check(
    evaluator: &Evaluator<'_>,
    limited: &[LimitedResource],
    charges: &[Charge],
    attributes: &Attributes<'_>,
) -> Result<Vec<(usize, ResourceList)>> {
    let Some(object) = attributes.object() else { return Ok(Vec::new()) };
    let all_limited_scopes = limited.iter().flat_map(|limited| &limited.match_scopes);
    // Wrong scopes in the configuration limit nothing.
    let Ok(limited_scopes) = evaluator.matching_scopes(all_limited_scopes, object) else {
        return Ok(Vec::new());
    };
    let usage = evaluator.usage(object);
    let mut covered_names = BTreeSet::new();
    let mut covered_scopes = BTreeSet::new();
    let mut matching = Vec::new();
    for (place, Charge { quota, used, .. }) in charges.iter().enumerate() {
        let in_scopes = evaluator
            .matching_scopes(&quota.scopes, object)
            .map_err(|why| plain(&format!("error matching scopes of quota {}, err: {why}", quota.name)))?;
        covered_scopes.extend(in_scopes.iter().map(|scope| scope.scope.as_str()));
        if !evaluator.matches(quota, object).map_err(|why| plain(&why))? {
            continue;
        }
        let tracked: Vec<&str> = quota.hard.names().filter(|name| evaluator.tracks(name)).collect();
        if let Err(why) = evaluator.check_constraints(&tracked, object) {
            return Err(attributes.forbidden(&format!("failed quota: {}: {why}", quota.name)));
        }
        if !tracked.iter().all(|name| used.contains(name)) {
            let (name, resources) = (&quota.name, tracked.join(","));
            return Err(
                attributes.forbidden(&format!("status unknown for quota: {name}, resources: {resources}"))
            );
        }
        matching.push(place);
        covered_names.extend(tracked);
    }
    let negative: Vec<&str> = usage.negative().collect();
    if !negative.is_empty() {
        let names = negative.join(",");
        return Err(attributes.forbidden(&format!("quota usage is negative for resource(s): {names}")));
    }
    let deltas = Deltas::of(evaluator, charges, &matching, attributes, &usage)?;
    if deltas.is_empty() {
        return Ok(Vec::new());
    }
    let uncovered: Vec<&str> = limited_names(&usage, limited, attributes)
        .into_iter()
        .filter(|name| !covered_names.contains(name))
        .collect();
    if !uncovered.is_empty() {
        let names = uncovered.join(",");
        return Err(attributes.forbidden(&format!("insufficient quota to consume: {names}")));
    }
    let uncovered = limited_scopes.iter().filter(|scope| !covered_scopes.contains(scope.scope.as_str()));
    let uncovered: Vec<String> = uncovered.map(ToString::to_string).collect();
    if !uncovered.is_empty() {
        let scopes = uncovered.join(" ");
        return Err(plain(&format!("insufficient quota to match these scopes: [{scopes}]")));
    }
    let mut changes = Vec::new();
    for (place, delta) in deltas.of_quotas {
        let charge = &charges[place];
        if charge.is_settled {
            continue;
        }
        let new = charged(charge, &delta, attributes)?;
        if new != charge.used {
            changes.push((place, new));
        }
    }
    Ok(changes)
}

/// An error without a reason, which clients get as an internal one.
fn plain(why: &str) -> Box<Status> {
    Box::new(Status::plain(why))
}

/// Returns the names of usage that a quota must cover by the configuration, sorted.
fn limited_names<'u>(
    usage: &'u ResourceList,
    limited: &[LimitedResource],
    attributes: &Attributes<'_>,
) -> BTreeSet<&'u str> {
    let resource = &attributes.target().resource;
    let limited = limited
        .iter()
        .filter(|limited| limited.group == resource.group && limited.resource == resource.resource);
    let parts: Vec<&String> = limited.flat_map(|limited| &limited.match_contains).collect();
    let is_limited = |name: &str| parts.iter().any(|part| name.contains(part.as_str()));
    usage
        .iter()
        .filter(|(name, amount)| amount.signum() > 0 && is_limited(name))
        .map(|(name, _)| name)
        .collect()
}

/// The usage that a request adds.
struct Deltas {
    /// To that of each quota it counts towards, without zeros.
    of_quotas: Vec<(usize, ResourceList)>,
    /// For a request that counts towards none.
    of_none: ResourceList,
}

impl Deltas {
    /// An update adds the difference to the usage of the old object, if that counted towards the quota as well. It never
    /// subtracts: the quota controller gives usage back.
    fn of(
        evaluator: &Evaluator<'_>,
        charges: &[Charge],
        matching: &[usize],
        attributes: &Attributes<'_>,
        usage: &ResourceList,
    ) -> Result<Deltas> {
        let full = usage.without_zeros();
        let old: Option<&Value> = match attributes.operation {
            Operation::Update => Some(attributes.old_object().ok_or_else(|| {
                let why = "unable to get previous usage since prior version of object was not found";
                attributes.forbidden(why)
            })?),
            _ => None,
        };
        // Without a version, the update creates.
        let Some(old) = old.filter(|old| !old.resource_version().is_empty()) else {
            let of_quotas = matching.iter().map(|place| (*place, full.clone())).collect();
            return Ok(Deltas { of_quotas, of_none: full });
        };
        let difference = usage.excess_over(&evaluator.usage(old));
        let mut of_quotas = Vec::new();
        for place in matching {
            let counted = evaluator.matches(&charges[*place].quota, old).map_err(|why| plain(&why))?;
            of_quotas.push((*place, if counted { difference.clone() } else { full.clone() }));
        }
        Ok(Deltas { of_quotas, of_none: difference })
    }

    fn is_empty(&self) -> bool {
        match self.of_quotas.is_empty() {
            true => self.of_none.is_empty(),
            false => self.of_quotas.iter().all(|(_, delta)| delta.is_empty()),
        }
    }
}

/// Returns the usage of a quota with what a request adds. Updates of a status are charged, but not refused.
fn charged(charge: &Charge, delta: &ResourceList, attributes: &Attributes<'_>) -> Result<ResourceList> {
    let Charge { quota, used, .. } = charge;
    let requested = delta.masked(|name| quota.hard.contains(name));
    let mut new = used.clone();
    new.add(&requested);
    let is_exceeded =
        |name: &str| matches!((new.get(name), quota.hard.get(name)), (Some(new), Some(hard)) if new > hard);
    let exceeded = requested.masked(is_exceeded);
    if exceeded.is_empty() || attributes.target().subresource == "status" {
        return Ok(new);
    }
    let of_exceeded = |list: &ResourceList| list.masked(|name| exceeded.contains(name));
    Err(attributes.forbidden(&format!(
        "exceeded quota: {}, requested: {exceeded}, used: {}, limited: {}",
        quota.name,
        of_exceeded(used),
        of_exceeded(&quota.hard)
    )))
}
