//! Cluster IPs. One is taken when its `IPAddress` could be created, and free when there is none: the store decides, so
//! servers need not agree on anything else.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use pintle_meta::{Reason, Status, Value};
use pintle_registry::{Client, Mirror, Result, Store, cache_error};
use pintle_runtime::Random;
use serde_json::json;

use super::families::Family;
use super::ranges::{Range, Ranges};

/// Who looks after the objects of this kind that are for services.
pub(super) const MANAGED_BY: &str = "ipallocator.k8s.io";
pub(super) const MANAGED_BY_LABEL: &str = "ipaddress.kubernetes.io/managed-by";
pub(super) const FAMILY_LABEL: &str = "ipaddress.kubernetes.io/ip-family";

/// How long somebody waits for what the store has already.
const WAIT: Duration = Duration::from_secs(3);

/// The service that an address is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Owner {
    pub(super) namespace: String,
    pub(super) name: String,
}

impl Owner {
    pub(super) fn of(service: &Value) -> Owner {
        Owner { namespace: service.namespace().into(), name: service.name().into() }
    }

    /// Whether an `IPAddress` is for it.
    pub(super) fn owns(&self, address: &Value) -> bool {
        let text = |field: &str| address.text_at(&["spec", "parentRef", field]);
        text("group").is_empty()
            && text("resource") == "services"
            && text("namespace") == self.namespace
            && text("name") == self.name
    }
}

/// Why there is no address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    Full,
    Allocated,
    Elsewhere,
    NotReady,
    NotInRange(IpAddr, String),
    Failed(String),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Full => f.write_str("range is full"),
            Refusal::Allocated => f.write_str("provided IP is already allocated"),
            Refusal::Elsewhere => f.write_str("the provided network does not match the current range"),
            Refusal::NotReady => f.write_str("allocator not ready"),
            Refusal::NotInRange(ip, range) => write!(
                f,
                "the provided IP ({ip}) is not in the valid range. The range of valid IPs is {range}"
            ),
            Refusal::Failed(why) => f.write_str(why),
        }
    }
}

/// All cluster IPs.
pub(super) struct Addresses {
    objects: Client,
    range_objects: Arc<Store>,
    pub(super) ranges: Mirror<Ranges>,
    random: Random,
}

impl Addresses {
    pub(super) fn new(objects: Client, ranges: Arc<Store>, random: Random) -> Addresses {
        let mirror = Mirror::new(vec![ranges.clone()], Ranges::default());
        Addresses { objects, range_objects: ranges, ranges: mirror, random }
    }

    pub(super) fn objects(&self) -> &Client {
        &self.objects
    }

    /// Loads what there is, once.
    pub(super) async fn ready(&self) -> Result<()> {
        self.ranges.ready().await?;
        self.objects.cache().ready().await.map_err(|error| cache_error(&error))
    }

    /// The ranges of a family; whoever finds nothing in them has waited for what was written a moment ago.
    async fn ranges(&self, family: Family, serves: impl Fn(&Range) -> bool) -> Vec<Range> {
        let read = || self.ranges.read(|ranges| ranges.of(family));
        let ranges = read();
        if ranges.iter().any(&serves) {
            return ranges;
        }
        // Who cannot be waited for decides by what is here.
        let _ = self.range_objects.cache().wait_for_current(WAIT).await;
        read()
    }

    /// Takes an address that somebody has chosen.
    pub(super) async fn take(&self, owner: &Owner, ip: IpAddr) -> std::result::Result<(), Refusal> {
        let (family, ip) = family_of(ip);
        let serves = |range: &Range| range.is_ready && range.network.contains(ip);
        if !self.ranges(family, serves).await.iter().any(serves) {
            return Err(Refusal::Elsewhere);
        }
        self.create(owner, ip).await
    }

    /// Takes any address of a family.
    pub(super) async fn take_next(
        &self,
        owner: &Owner,
        family: Family,
    ) -> std::result::Result<IpAddr, Refusal> {
        let cache = self.objects.cache();
        let mut tried: Vec<Range> = Vec::new();
        for is_last in [false, true] {
            let mut ranges = self.ranges(family, |range| range.is_ready && !tried.contains(range)).await;
            ranges.retain(|range| range.is_ready && !tried.contains(range));
            // So that not all come from the first.
            if !ranges.is_empty() {
                let first = self.random.number() as usize % ranges.len();
                ranges.rotate_left(first);
            }
            for range in &ranges {
                for ip in range.network.candidates(|| self.random.number()) {
                    if cache.get(&ip.to_string()).is_some() {
                        continue;
                    }
                    match self.create(owner, ip).await {
                        Ok(()) => return Ok(ip),
                        // Another server was faster.
                        Err(Refusal::Allocated) => {}
                        Err(refusal) => return Err(refusal),
                    }
                }
            }
            // Nothing was new, however long one waited for it.
            if is_last || ranges.is_empty() {
                break;
            }
            tried = ranges;
        }
        Err(Refusal::Full)
    }

    /// What a dry run says of an address that somebody has chosen: nobody looks whether it is free.
    pub(super) async fn try_take(&self, family: Family, ip: IpAddr) -> std::result::Result<(), Refusal> {
        let (_, ip) = family_of(ip);
        match self.ranges(family, |_| true).await.first() {
            Some(range) if range.is_ready && range.network.contains(ip) => Ok(()),
            Some(range) if range.is_ready => Err(Refusal::NotInRange(ip, range.text.clone())),
            _ => Err(Refusal::NotReady),
        }
    }

    /// The address that a dry run shows.
    pub(super) async fn try_take_next(&self, family: Family) -> std::result::Result<IpAddr, Refusal> {
        match self.ranges(family, |_| true).await.first() {
            Some(range) if range.is_ready => Ok(range.network.address()),
            _ => Err(Refusal::NotReady),
        }
    }

    pub(super) async fn create(&self, owner: &Owner, ip: IpAddr) -> std::result::Result<(), Refusal> {
        let (family, ip) = family_of(ip);
        let object = json!({
            "kind": "IPAddress",
            "apiVersion": "networking.k8s.io/v1",
            "metadata": {
                "name": ip.to_string(),
                "labels": { FAMILY_LABEL: family.name(), MANAGED_BY_LABEL: MANAGED_BY },
            },
            "spec": {
                "parentRef": { "resource": "services", "namespace": owner.namespace, "name": owner.name },
            },
        });
        let created =
            async { self.objects.create("", self.objects.read(object.to_string().as_bytes())?).await };
        match created.await {
            Ok(_) => Ok(()),
            Err(status) if status.reason == Reason::AlreadyExists => Err(Refusal::Allocated),
            Err(status) => Err(Refusal::Failed(status.message)),
        }
    }

    /// Gives back an address that a service has. What is somebody else's by now stays theirs.
    pub(super) async fn give_back(&self, owner: &Owner, ip: IpAddr) {
        let (_, ip) = family_of(ip);
        let name = ip.to_string();
        let gone = match self.objects.get("", &name).await {
            Ok(address) if owner.owns(&address) => self.objects.delete("", &address).await,
            Ok(_) => Ok(()),
            Err(status) => Err(status),
        };
        if let Err(status) = gone {
            failed(&name, &status);
        }
    }
}

fn failed(name: &str, status: &Status) {
    // The repair finds it.
    tracing::info!("error releasing ip {name} : {}", status.message);
}

/// An IPv4 address within IPv6 is one of IPv4.
fn family_of(ip: IpAddr) -> (Family, IpAddr) {
    match ip.to_canonical() {
        ip @ IpAddr::V4(_) => (Family::V4, ip),
        ip @ IpAddr::V6(_) => (Family::V6, ip),
    }
}
