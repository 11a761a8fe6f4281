//! Repair of allocations: addresses and ports of services that were never written, because a server died or its answer was lost;
//! and those that services have without an allocation.
//!
//! Services come first, so that no allocation in use is released. An address whose service is not there is left
//! alone for as long as a request may take.

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::lock::Mutex;
use pintle_meta::time::Time;
use pintle_meta::validation::parse_ip_sloppy;
use pintle_meta::{Reason, Status, Value};
use pintle_registry::{Result, Store, cache_error};

use super::addresses::{FAMILY_LABEL, MANAGED_BY, MANAGED_BY_LABEL, Owner, Refusal};
use super::allocations::{Pools, held_addresses, held_ports};
use super::families::Family;
use super::fields;

/// How long a request may take: an address is taken before its service is written.
const GRACE: i64 = 60;
/// How long the cache may take to have what is stored.
const CATCH_UP: Duration = Duration::from_secs(3);

/// How often a repair of ports begins anew because some were taken or released meanwhile.
const ATTEMPTS: usize = 5;

#[derive(Default)]
pub(super) struct Repair {
    /// One at a time.
    running: Mutex<()>,
    was_run: AtomicBool,
}

impl Repair {
    /// Once, before the first address is given away: until then, what an older server left is not known.
    pub(super) async fn first(&self, pools: &Pools) {
        if self.was_run.load(Ordering::Acquire) {
            return;
        }
        let _running = self.running.lock().await;
        if !self.was_run.load(Ordering::Acquire)
            && let Err(status) = addresses(pools).await
        {
            tracing::error!("Running ipallocator repair failed: {}", status.message);
        }
        self.was_run.store(true, Ordering::Release);
    }

    pub(super) async fn run(&self, pools: &Pools) -> Result<()> {
        let _running = self.running.lock().await;
        let done = addresses(pools).await;
        self.was_run.store(true, Ordering::Release);
        let ports = ports(pools).await;
        done.and(ports)
    }
}

/// Services are compared with the record as it was before they were read. A port that is taken and whose service is not written yet is held
/// for some rounds.
async fn ports(pools: &Pools) -> Result<()> {
    let Some(store) = pools.services.upgrade() else { return Ok(()) };
    for _ in 0..ATTEMPTS {
        let before = pools.ports.record().await?;
        let services = all(&store).await?;
        let in_use: Vec<i64> = services.iter().flat_map(held_ports).collect();
        if pools.ports.repair(&in_use, before.as_ref()).await? {
            return Ok(());
        }
    }
    // Ports are taken and released all the time. The next round may find a quieter moment.
    Ok(())
}

async fn addresses(pools: &Pools) -> Result<()> {
    let Some(store) = pools.services.upgrade() else { return Ok(()) };
    pools.addresses.ready().await?;
    for service in all(&store).await? {
        for text in held_addresses(&service) {
            check_service(pools, &store, &service, text).await?;
        }
    }
    let objects = pools.addresses.objects();
    let snapshot = objects.cache().snapshot_now(CATCH_UP).await.map_err(|error| cache_error(&error))?;
    let now = store.now();
    for entry in snapshot.objects.iter() {
        // An unreadable address is left alone.
        if let Ok(address) = objects.object(entry) {
            check_address(pools, &store, &address, now).await?;
        }
    }
    Ok(())
}

async fn all(store: &Store) -> Result<Vec<Value>> {
    let snapshot = store.cache().snapshot_now(CATCH_UP).await.map_err(|error| cache_error(&error))?;
    Ok(snapshot.objects.iter().filter_map(|entry| store.object(entry).ok()).collect())
}

/// A service has an address: it is taken, for it.
async fn check_service(pools: &Pools, store: &Store, service: &Value, text: &str) -> Result<()> {
    let (namespace, name) = (service.namespace(), service.name());
    let Some(ip) = parse_ip_sloppy(text).map(|ip| ip.to_canonical()) else {
        tracing::error!(
            "the ClusterIP {text} for Service {namespace}/{name} is not a valid IP; please recreate Service"
        );
        return Ok(());
    };
    let family = if ip.is_ipv4() { Family::V4 } else { Family::V6 }.name();
    if !pools.addresses.ranges.read(|ranges| ranges.contain(ip)) {
        tracing::error!(
            "the ClusterIP [{family}]: {ip} for Service {namespace}/{name} is not within any service CIDR; please recreate"
        );
        return Ok(());
    }
    let owner = Owner::of(service);
    let objects = pools.addresses.objects();
    let known = match objects.cache().get(&ip.to_string()) {
        Some(entry) => objects.object(&entry).ok(),
        None => None,
    };
    let Some(known) = known else {
        tracing::error!(
            "the ClusterIP [{family}]: {ip} for Service {namespace}/{name} is not allocated; repairing"
        );
        return created(pools, &owner, ip).await;
    };
    let reference = |field: &str| known.text_at(&["spec", "parentRef", field]);
    let is_for_a_service = reference("group").is_empty() && reference("resource") == "services";
    let mut is_wrong = !is_for_a_service;
    if is_for_a_service && !owner.owns(&known) {
        // Of two services with one address, the one that it was taken for keeps it.
        let other = store.cache().get(&format!("{}/{}", reference("namespace"), reference("name")));
        match other.and_then(|entry| store.object(&entry).ok()) {
            None => is_wrong = true,
            Some(other) if fields::addresses(&other).contains(&known.name()) => tracing::error!(
                "the cluster IP [{family}]:{ip} for service {namespace}/{name} was assigned to other services {}/{}; please recreate",
                other.namespace(),
                other.name()
            ),
            Some(_) => {}
        }
    }
    let is_labelled =
        known.label(FAMILY_LABEL) == Some(family) && known.label(MANAGED_BY_LABEL) == Some(MANAGED_BY);
    if !is_wrong && is_labelled {
        return Ok(());
    }
    delete(pools, &known).await?;
    created(pools, &owner, ip).await
}

async fn created(pools: &Pools, owner: &Owner, ip: IpAddr) -> Result<()> {
    match pools.addresses.create(owner, ip).await {
        // Another server has repaired it.
        Ok(()) | Err(Refusal::Allocated) => Ok(()),
        Err(refusal) => Err(Box::new(Status::internal(refusal))),
    }
}

async fn delete(pools: &Pools, address: &Value) -> Result<()> {
    match pools.addresses.objects().delete("", address).await {
        Err(status) if status.reason != Reason::Conflict => Err(status),
        _ => Ok(()),
    }
}

/// An address was taken for a service: the service has it, or is about to be written.
async fn check_address(pools: &Pools, store: &Store, address: &Value, now: Time) -> Result<()> {
    if address.label(MANAGED_BY_LABEL) != Some(MANAGED_BY) {
        return Ok(());
    }
    let reference = |field: &str| address.text_at(&["spec", "parentRef", field]);
    let (namespace, name) = (reference("namespace"), reference("name"));
    if !reference("group").is_empty() || reference("resource") != "services" {
        tracing::error!(
            "IPAddress {} appears to have been modified, not referencing a Service: cleaning up",
            address.name()
        );
        return delete(pools, address).await;
    }
    let created = address.text_at(&["metadata", "creationTimestamp"]);
    let created = Time::parse(created).map_or(0, |time| time.unix_seconds());
    let age = now.unix_seconds() - created;
    let service = store.cache().get(&format!("{namespace}/{name}"));
    let Some(service) = service.and_then(|entry| store.object(&entry).ok()) else {
        if age > GRACE {
            tracing::error!("IPAddress {} appears to have leaked: cleaning up", address.name());
            return delete(pools, address).await;
        }
        return Ok(());
    };
    if fields::addresses(&service).contains(&address.name()) {
        return Ok(());
    }
    // One that comes to have addresses, or another one, or a second attempt to create one.
    if age < GRACE {
        return Ok(());
    }
    tracing::error!(
        "the IPAddress: {} for Service {name}/{namespace} has a wrong reference; cleaning up",
        address.name()
    );
    delete(pools, address).await
}
