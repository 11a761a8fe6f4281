//! `service-cidr-controller`: the condition Ready of ServiceCIDRs, and the finalizer that keeps one that is being deleted while an
//! IPAddress would be outside of all others.
//!
//! IPAddresses are followed only while they may hold a ServiceCIDR that is being deleted.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use pintle_cache::{Change, Entry};
use pintle_meta::gvk::GroupVersionResource;
use pintle_meta::time::Time;
use pintle_meta::validation::{Cidr, parse_cidr_sloppy};
use pintle_meta::{Status, Value};
use pintle_registry::{Result, Store, cache_error};
use pintle_runtime::{Clock, Random};
use serde_json::json;

use crate::api::{ApiClient, Location, PatchKind, found};
use crate::events::Recorder;
use crate::runtime::{Controller, Key, Requeue, Seen, Source, Waiting, WorkQueue, follow};

const FINALIZER: &str = "networking.k8s.io/service-cidr-finalizer";

/// The label of addresses that the API server allocated, and its value.
const MANAGED_BY: (&str, &str) = ("ipaddress.kubernetes.io/managed-by", "ipallocator.k8s.io");
const FAMILY: &str = "ipaddress.kubernetes.io/ip-family";

/// How long after the deletion of a range began allocators of other servers may not know of it.
const GRACE: Duration = Duration::from_secs(10);

/// How long a read of a cache waits for what is stored already.
const WAIT: Duration = Duration::from_secs(3);

const BLOCKED: &str =
    "There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR";

/// Looks after ServiceCIDRs.
#[derive(Clone)]
pub struct ServiceCidrs {
    ranges: Arc<Store>,
    addresses: Arc<Store>,
    api: ApiClient,
    events: Recorder,
    clock: Clock,
    /// Ranges that are being deleted.
    waiting: Waiting,
}

/// A ServiceCIDR.
struct Range {
    name: String,
    networks: Vec<Cidr>,
}

impl ServiceCidrs {
    pub const NAME: &'static str = "service-cidr-controller";
    /// The service account, in the plural.
    pub const ACCOUNT: &'static str = "service-cidrs-controller";

    pub fn new(
        ranges: Arc<Store>,
        addresses: Arc<Store>,
        api: ApiClient,
        clock: Clock,
        random: Random,
    ) -> ServiceCidrs {
        let events = Recorder::new(api.clone(), ServiceCidrs::NAME, clock.clone(), random);
        ServiceCidrs { ranges, addresses, api, events, clock, waiting: Waiting::default() }
    }

    /// Queues a range that has changed and, if it came or went, the ranges that are being deleted: it may be what they wait for.
    fn see_range(&self, change: &Change, queue: &WorkQueue<Key>) {
        queue.add(change.entry.key().into());
        if change.deleted || change.previous.is_none() {
            self.waiting.all().into_iter().for_each(|key| queue.add(key));
        }
    }

    /// Queues the ranges that are being deleted around an address that came or went.
    fn see_address(&self, change: &Change, queue: &WorkQueue<Key>) {
        if !(change.deleted || change.previous.is_none()) || !is_allocated(&change.entry) {
            return;
        }
        let Ok(address) = change.entry.key().parse() else { return };
        for key in self.waiting.all() {
            let entry = self.ranges.cache().get(&key);
            let range =
                entry.and_then(|entry| self.ranges.object(&entry).ok()).map(|range| Range::read(&range));
            if range.is_none_or(|range| range.contains(address)) {
                queue.add(key);
            }
        }
    }

    async fn all_ranges(&self) -> Result<Vec<Range>> {
        let snapshot = self.ranges.cache().snapshot_now(WAIT).await.map_err(|error| cache_error(&error))?;
        snapshot.objects.iter().map(|entry| Ok(Range::read(&self.ranges.object(entry)?))).collect()
    }

    /// Returns whether no address would be left without a range.
    async fn can_delete(&self, range: &Range) -> Result<bool> {
        let ranges = self.all_ranges().await?;
        if range.is_covered_by(&ranges) {
            return Ok(true);
        }
        let addresses = &self.addresses;
        let snapshot = addresses.cache().snapshot_now(WAIT).await.map_err(|error| cache_error(&error))?;
        for network in &range.networks {
            let family = if network.address.is_ipv4() { "IPv4" } else { "IPv6" };
            for entry in snapshot.objects.iter() {
                if is_allocated(entry)
                    && entry.read().is_ok_and(|facts| facts.label(FAMILY) == Some(family))
                    && let Ok(address) = entry.key().parse()
                    && range.is_only_one_of(&ranges, address)
                {
                    tracing::info!("Deleting ServiceCIDR blocked by IP address {address}");
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Looks after a range that is being deleted.
    async fn delete(&self, key: &str, range: &Value) -> Result<Requeue> {
        self.waiting.add(key);
        if !self.can_delete(&Range::read(range)).await? {
            self.report(range, "False", "Terminating", BLOCKED).await?;
            return Ok(Requeue::Never);
        }
        let deleted = range.deletion_timestamp().and_then(|time| Time::parse(time).ok()).unwrap_or_default();
        let age = Time::from(self.clock.now()).nanos_since(&deleted);
        let left = GRACE.saturating_sub(Duration::from_nanos(u64::try_from(age).unwrap_or_default()));
        if !left.is_zero() {
            return Ok(Requeue::After(left));
        }
        if range.finalizers().any(|finalizer| finalizer == FINALIZER) {
            let patch = json!({"metadata": {"$deleteFromPrimitiveList/finalizers": [FINALIZER]}});
            found(self.api.patch(&location(key), PatchKind::Strategic, &patch).await)?;
        }
        Ok(Requeue::Never)
    }

    /// Adds the finalizer, and says that a range is ready.
    async fn keep(&self, key: &str, range: &Value) -> Result<()> {
        if !range.finalizers().any(|finalizer| finalizer == FINALIZER) {
            let patch = json!({"metadata": {"finalizers": [FINALIZER]}});
            found(self.api.patch(&location(key), PatchKind::Strategic, &patch).await)?;
        }
        let reported = self.report(range, "True", "", "Kubernetes Service CIDR is ready").await;
        if reported.is_err() {
            let message = "The ServiceCIDR Status can not be set to Ready=True";
            let of = ("networking.k8s.io/v1", "ServiceCIDR");
            self.events.warn(of, range, "KubernetesServiceCIDRError", message).await;
        }
        reported
    }

    /// Applies the condition Ready unless the range has it.
    async fn report(&self, range: &Value, status: &str, reason: &str, message: &str) -> Result<()> {
        let mut conditions = range.items_at(&["status", "conditions"]).iter();
        let current = conditions.find(|condition| condition.text_at(&["type"]) == "Ready");
        let fields = [("status", status), ("reason", reason), ("message", message)];
        if current.is_some_and(|current| fields.iter().all(|(name, text)| current.text_at(&[name]) == *text))
        {
            return Ok(());
        }
        let config = json!({
            "kind": "ServiceCIDR", "apiVersion": "networking.k8s.io/v1", "metadata": {"name": range.name()},
            "status": {"conditions": [{
                "type": "Ready", "status": status, "reason": reason, "message": message,
                "lastTransitionTime": Time::from(self.clock.now()).to_string(),
            }]},
        });
        let location = location(range.name()).subresource("status");
        self.api.patch(&location, PatchKind::Apply(ServiceCidrs::NAME), &config).await.map(drop)
    }
}

fn location(name: &str) -> Location {
    Location::object(GroupVersionResource::new("networking.k8s.io", "v1", "servicecidrs"), "", name)
}

/// Returns whether the API server allocated an address.
fn is_allocated(address: &Entry) -> bool {
    address.read().is_ok_and(|facts| facts.label(MANAGED_BY.0) == Some(MANAGED_BY.1))
}

impl Range {
    fn read(range: &Value) -> Range {
        let texts = range.items_at(&["spec", "cidrs"]).iter().filter_map(Value::as_str);
        Range { name: range.name().to_owned(), networks: texts.filter_map(parse_cidr_sloppy).collect() }
    }

    /// Returns whether a service can have an address of this range: the first one, and of IPv4 the last one, are left out.
    fn contains(&self, address: IpAddr) -> bool {
        let mut networks = self.networks.iter();
        networks.any(|network| {
            network.contains(address)
                && network.network().address != address
                && (address.is_ipv6() || last(network) != Some(address))
        })
    }

    /// Returns whether each network of this range is in another range too.
    fn is_covered_by(&self, ranges: &[Range]) -> bool {
        self.networks.iter().all(|inner| {
            let is_around = |outer: &&Cidr| {
                outer.address.is_ipv4() == inner.address.is_ipv4()
                    && outer.prefix <= inner.prefix
                    && outer.contains(inner.network().address)
            };
            let mut around = ranges.iter().filter(|range| range.networks.iter().any(|net| is_around(&net)));
            around.any(|range| range.name != self.name)
        })
    }

    /// Returns whether this is the only range that contains an address.
    fn is_only_one_of(&self, ranges: &[Range], address: IpAddr) -> bool {
        let mut around = ranges.iter().filter(|range| range.contains(address));
        matches!((around.next(), around.next()), (Some(only), None) if only.name == self.name)
    }
}

/// Returns the last address of an IPv4 network.
fn last(network: &Cidr) -> Option<IpAddr> {
    let IpAddr::V4(first) = network.network().address else { return None };
    let hosts = u32::MAX.checked_shr(network.prefix.into()).unwrap_or_default();
    Some(IpAddr::V4((first.to_bits() | hosts).into()))
}

#[async_trait]
impl Controller for ServiceCidrs {
    fn name(&self) -> &'static str {
        "ipaddresses"
    }

    fn sources(&self) -> Vec<Source> {
        let own = self.clone();
        let ranges = Source::feeder(move |queue| async move {
            follow(&own.ranges, &own.clock, |seen| match seen {
                Seen::All(all) => all.objects.iter().for_each(|entry| queue.add(entry.key().into())),
                Seen::Change(change) => own.see_range(change, &queue),
            })
            .await;
        });
        let own = self.clone();
        let addresses = Source::feeder(move |queue| async move {
            let while_waiting = || {
                follow(&own.addresses, &own.clock, |seen| match seen {
                    Seen::All(_) => own.waiting.all().into_iter().for_each(|key| queue.add(key)),
                    Seen::Change(change) => own.see_address(change, &queue),
                })
            };
            own.waiting.run(while_waiting).await;
        });
        vec![ranges, addresses]
    }

    async fn reconcile(&self, key: &str) -> Result<Requeue> {
        self.ranges.cache().ready().await.map_err(|error| cache_error(&error))?;
        let Some(entry) = self.ranges.cache().get(key) else {
            self.waiting.remove(key);
            return Ok(Requeue::Never);
        };
        let range = self.ranges.object(&entry)?;
        match range.deletion_timestamp() {
            Some(_) => self.delete(key, &range).await,
            None => self.keep(key, &range).await.map(|()| Requeue::Never),
        }
    }

    fn failed(&self, key: &str, status: &Status) {
        tracing::info!("Error syncing ServiceCIDR {key}, retrying: {}", status.message);
    }

    fn workers(&self) -> usize {
        5
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(name: &str, cidrs: &[&str]) -> Range {
        Range {
            name: name.to_owned(),
            networks: cidrs.iter().map(|cidr| parse_cidr_sloppy(cidr).expect("a CIDR")).collect(),
        }
    }

    #[test]
    fn a_range_contains_the_addresses_that_services_can_have() {
        let range = range("r", &["10.0.0.0/30", "fd00::/126"]);
        for (address, expected) in [
            ("10.0.0.0", false),
            ("10.0.0.1", true),
            ("10.0.0.2", true),
            ("10.0.0.3", false),
            ("10.0.0.4", false),
            ("fd00::", false),
            ("fd00::1", true),
            ("fd00::3", true),
            ("fd00::4", false),
        ] {
            assert_eq!(range.contains(address.parse().unwrap()), expected, "{address}");
        }
    }

    #[test]
    fn a_range_within_another_can_go() {
        let ranges = [range("wide", &["10.0.0.0/16"]), range("narrow", &["10.0.1.0/24"])];
        assert!(ranges[1].is_covered_by(&ranges));
        assert!(!ranges[0].is_covered_by(&ranges));
        let twins = [range("one", &["10.0.0.0/16"]), range("two", &["10.0.0.0/16"])];
        assert!(twins[0].is_covered_by(&twins) && twins[1].is_covered_by(&twins));
        let dual = [range("dual", &["10.0.1.0/24", "fd00::/120"]), range("wide", &["10.0.0.0/16"])];
        assert!(!dual[0].is_covered_by(&dual), "only one of its networks");
    }

    #[test]
    fn an_address_holds_the_only_range_that_it_is_in() {
        let ranges = [range("one", &["10.0.0.0/24"]), range("two", &["10.0.0.0/28"])];
        let only =
            |place: usize, address: &str| ranges[place].is_only_one_of(&ranges, address.parse().unwrap());
        assert!(only(0, "10.0.0.200"));
        assert!(!only(0, "10.0.0.7") && !only(1, "10.0.0.7"));
        assert!(!only(1, "10.0.0.200"));
    }
}
