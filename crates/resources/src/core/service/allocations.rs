//! Allocations of services as a `registry::Reserve`.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::net::IpAddr;
use std::sync::{Arc, OnceLock, Weak};

use async_trait::async_trait;
use pintle_meta::field_path::{Error, Path};
use pintle_meta::validation::parse_ip_sloppy;
use pintle_meta::{Reason, Status, Value};
use pintle_registry::{
    AdmitAll, Allocation, Client, Context, DeleteOptions, Record, Reservation, Reserve, Result, Store,
    WriteOptions,
};
use pintle_runtime::Random;

use super::addresses::{self, Addresses, Owner};
use super::families::{Families, Family, prefers_as_before, refusal, shown_addresses};
use super::fields::{self, ADDRESS, ADDRESSES};
use super::node_ports;
use super::ports::{NodePorts, PortRange, Refusal};
use super::repair::Repair;
use crate::framework::strategy::tree;

/// The first node port that a dry run shows where one would be allocated.
const GUESSED_PORT: i64 = 32_768;

/// The service network of the command line.
#[derive(Clone, Debug)]
pub struct ServiceNetwork {
    /// Whether IPv6 comes first, of those that the cluster has...
    pub ipv6_first: bool,
    /// ...and whether it has both.
    pub dual_stack: bool,
    pub node_ports: PortRange,
    pub random: Random,
}

/// The stores of allocations, made after the store of services.
pub struct Links {
    /// Whose they are.
    pub services: Weak<Store>,
    /// `IPAddress` objects.
    pub addresses: Client,
    /// `ServiceCIDR` objects.
    pub ranges: Arc<Store>,
    /// They go with their services.
    pub endpoints: Arc<Store>,
    /// Of node ports.
    pub ports: Record,
}

/// Cluster IPs and node ports of all services.
pub struct ServiceAllocations {
    network: ServiceNetwork,
    pools: OnceLock<Arc<Pools>>,
}

/// Where everything comes from and goes back to.
pub(super) struct Pools {
    pub(super) services: Weak<Store>,
    pub(super) addresses: Addresses,
    pub(super) ports: NodePorts,
    endpoints: Arc<Store>,
    families: Families,
    repair: Repair,
}

impl ServiceAllocations {
    pub fn new(network: ServiceNetwork) -> ServiceAllocations {
        ServiceAllocations { network, pools: OnceLock::new() }
    }

    /// Called once, before anything is written.
    pub fn connect(&self, links: Links) {
        let ServiceNetwork { ipv6_first, dual_stack, node_ports, random } = self.network.clone();
        let first = if ipv6_first { Family::V6 } else { Family::V4 };
        let _ = self.pools.set(Arc::new(Pools {
            services: links.services,
            addresses: Addresses::new(links.addresses, links.ranges, random.clone()),
            ports: NodePorts::new(links.ports, node_ports, random),
            endpoints: links.endpoints,
            families: Families { first, both: dual_stack },
            repair: Repair::default(),
        }));
    }

    /// Releases allocations without a service and allocates those that services lack. Called periodically.
    pub async fn repair(&self) -> Result<()> {
        self.pools()?.repair().await
    }

    fn pools(&self) -> Result<Arc<Pools>> {
        let pools = self.pools.get().cloned();
        pools.ok_or_else(|| Box::new(Status::internal("allocator not ready")))
    }
}

impl Pools {
    pub(super) async fn repair(&self) -> Result<()> {
        self.repair.run(self).await
    }
}

#[async_trait]
impl Reserve for ServiceAllocations {
    async fn on_create(
        &self,
        context: &Context,
        service: &mut Value,
        options: WriteOptions,
    ) -> Result<Reservation> {
        fields::complete_new(service);
        let mut taken = self.begin(context, service, options)?;
        match taken.for_new(service).await {
            Ok(()) => Ok(Reservation::new(Box::new(taken))),
            Err(refused) => {
                taken.undo().await;
                Err(refused)
            }
        }
    }

    async fn on_update(
        &self,
        context: &Context,
        new: &mut Value,
        old: &Value,
        options: WriteOptions,
    ) -> Result<Reservation> {
        fields::keep_allocated(new, old);
        fields::complete_changed(new, old);
        let mut taken = self.begin(context, new, options)?;
        match taken.for_changed(new, old).await {
            Ok(()) => Ok(Reservation::new(Box::new(taken))),
            Err(refused) => {
                taken.undo().await;
                Err(refused)
            }
        }
    }

    async fn on_delete(&self, service: &Value) {
        let Ok(pools) = self.pools() else { return };
        let context = Context { namespace: service.namespace().into(), ..Context::default() };
        // So that a service that comes next under this name does not begin with the endpoints of this one.
        let gone =
            pools.endpoints.delete(&context, service.name(), &AdmitAll, DeleteOptions::default()).await;
        match gone {
            Err(status) if status.reason != Reason::NotFound => {
                let (name, namespace) = (service.name(), service.namespace());
                tracing::error!("delete service endpoints {name}/{namespace} failed: {}", status.message);
            }
            _ => {}
        }
        let owner = Owner::of(service);
        if fields::has_address(service) && !fields::is_headless(service) {
            for ip in fields::addresses(service).into_iter().filter_map(parse_ip_sloppy) {
                pools.addresses.give_back(&owner, ip).await;
            }
        }
        let mut ports = fields::all_node_ports(service);
        ports.extend(Some(fields::health_port(service)).filter(|_| fields::has_health_port(service)));
        pools.give_back_ports(&owner, &ports).await;
    }
}

impl ServiceAllocations {
    fn begin(&self, context: &Context, service: &Value, options: WriteOptions) -> Result<Taken> {
        let owner = Owner { namespace: context.namespace.clone(), name: service.name().into() };
        Ok(Taken {
            pools: self.pools()?,
            owner,
            dry_run: options.dry_run,
            addresses: Vec::new(),
            ports: Vec::new(),
            given_up_addresses: Vec::new(),
            given_up_ports: Vec::new(),
        })
    }
}

impl Pools {
    async fn give_back_ports(&self, owner: &Owner, ports: &[i64]) {
        if let Err(status) = self.ports.give_back(ports).await {
            // The repair finds them.
            tracing::error!(
                "Error releasing service {} node ports {ports:?}: {}",
                owner.name,
                status.message
            );
        }
    }
}

/// The allocations and releases of one write.
pub(super) struct Taken {
    pools: Arc<Pools>,
    owner: Owner,
    dry_run: bool,
    addresses: Vec<IpAddr>,
    ports: Vec<i64>,
    given_up_addresses: Vec<IpAddr>,
    given_up_ports: Vec<i64>,
}

#[async_trait]
impl Allocation for Taken {
    async fn commit(self: Box<Self>) {
        if self.dry_run {
            return;
        }
        for ip in &self.given_up_addresses {
            self.pools.addresses.give_back(&self.owner, *ip).await;
        }
        self.pools.give_back_ports(&self.owner, &self.given_up_ports).await;
    }

    async fn revert(self: Box<Self>) {
        self.undo().await;
    }
}

impl Taken {
    async fn undo(&self) {
        if self.dry_run {
            return;
        }
        for ip in &self.addresses {
            self.pools.addresses.give_back(&self.owner, *ip).await;
        }
        self.pools.give_back_ports(&self.owner, &self.ports).await;
    }

    async fn for_new(&mut self, service: &mut Value) -> Result<()> {
        self.pools.families.choose(service, None)?;
        self.all_addresses(service).await?;
        node_ports::of_new(service, self).await
    }

    async fn for_changed(&mut self, new: &mut Value, old: &Value) -> Result<()> {
        self.pools.families.choose(new, Some(old))?;
        self.changed_addresses(new, old).await?;
        node_ports::of_changed(new, old, self).await
    }

    /// An address of each family, as far as there are none yet.
    async fn all_addresses(&mut self, service: &mut Value) -> Result<()> {
        if !fields::has_address(service) || fields::addresses(service).first() == Some(&fields::NONE) {
            return Ok(());
        }
        let mut given: Vec<String> = fields::addresses(service).into_iter().map(str::to_owned).collect();
        let families: Vec<Family> = fields::families(service).into_iter().filter_map(Family::named).collect();
        given.resize(given.len().max(families.len()), String::new());
        fields::set_addresses(service, &given);
        for (place, family) in families.into_iter().enumerate() {
            given[place] = self.one_address(service, family, &given[place]).await?;
        }
        fields::set_addresses(service, &given);
        if let Some(first) = given.first() {
            tree::set(service, ADDRESS, Value::string(first));
        }
        Ok(())
    }

    async fn changed_addresses(&mut self, new: &mut Value, old: &Value) -> Result<()> {
        if prefers_as_before(new, old) {
            return Ok(());
        }
        match (fields::has_address(old), fields::has_address(new)) {
            (false, true) => return self.all_addresses(new).await,
            (false, false) => return Ok(()),
            _ if fields::addresses(old).first() == Some(&fields::NONE) => return Ok(()),
            (true, false) => {
                let before = fields::addresses(old).into_iter().filter_map(parse_ip_sloppy);
                self.given_up_addresses.extend(before);
                return Ok(());
            }
            (true, true) => {}
        }
        match (fields::families(old).len(), fields::families(new).len()) {
            (1, 2) => {
                let mut given: Vec<String> = fields::addresses(new).into_iter().map(str::to_owned).collect();
                given.resize(given.len().max(2), String::new());
                fields::set_addresses(new, &given);
                if let Some(family) = Family::named(fields::families(new)[1]) {
                    given[1] = self.one_address(new, family, &given[1]).await?;
                }
                fields::set_addresses(new, &given);
            }
            (2, 1) => {
                let second = fields::addresses(old).get(1).copied().and_then(parse_ip_sloppy);
                self.given_up_addresses.extend(second);
            }
            _ => {}
        }
        Ok(())
    }

    /// The address that is wanted, or any of the family.
    async fn one_address(&mut self, service: &Value, family: Family, wanted: &str) -> Result<String> {
        let pools = self.pools.clone();
        let refused = |why: String| {
            let spec = Path::new("spec");
            let (path, shown) = (spec.child("clusterIPs"), shown_addresses(service));
            // Tested by `an_address_is_an_object_as_long_as_its_service_is`.
            let error = Error::invalid(&path, shown, why); // unreachable: reported by the allocator, see tests/services.rs
            refusal(service, &[error])
        };
        // The first one finds out what there is.
        pools.addresses.ready().await?;
        pools.repair.first(&pools).await;
        if wanted.is_empty() {
            let taken = if self.dry_run {
                pools.addresses.try_take_next(family).await
            } else {
                pools.addresses.take_next(&self.owner, family).await
            };
            let ip = taken.map_err(|why| match why {
                addresses::Refusal::Full => Box::new(Status::internal(format_args!(
                    "failed to allocate a serviceIP for Service {}: {why}",
                    pintle_meta::quote(service.name())
                ))),
                why => refused(format!("failed to allocate IP: {why}")),
            })?;
            self.addresses.push(ip);
            return Ok(ip.to_string());
        }
        let ip = parse_ip_sloppy(wanted).ok_or_else(|| {
            let why = format!("failed to parse service IP {}", pintle_meta::quote(wanted));
            Box::new(Status::internal(why))
        })?;
        let taken = if self.dry_run {
            pools.addresses.try_take(family, ip).await
        } else {
            pools.addresses.take(&self.owner, ip).await
        };
        taken.map_err(|why| refused(format!("failed to allocate IP {wanted}: {why}")))?;
        self.addresses.push(ip);
        Ok(wanted.to_owned())
    }

    /// Takes ports of these numbers, and any where none is named. The error is of the one that cannot be had.
    pub(super) async fn take_ports(
        &mut self,
        wanted: &[Option<i64>],
    ) -> std::result::Result<Vec<i64>, (usize, Refusal)> {
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        if self.dry_run {
            return self.guess_ports(wanted).await;
        }
        let given = match self.pools.ports.take(wanted).await {
            Err((_, Refusal::NoRecord)) => {
                self.pools.repair().await.map_err(|status| (0, Refusal::Failed(status)))?;
                self.pools.ports.take(wanted).await?
            }
            taken => taken?,
        };
        self.ports.extend(&given);
        Ok(given)
    }

    /// Returns the ports of a dry run. Named ports must be free.
    async fn guess_ports(&self, wanted: &[Option<i64>]) -> std::result::Result<Vec<i64>, (usize, Refusal)> {
        let taken = self.pools.ports.taken().await.map_err(|status| (0, Refusal::Failed(status)))?;
        let (mut given, mut own, mut last) = (Vec::new(), BTreeSet::new(), GUESSED_PORT);
        for (at, port) in wanted.iter().enumerate() {
            let port = port.unwrap_or(last + 1);
            if wanted[at].is_some() && (taken.contains(&port) || own.contains(&port)) {
                return Err((at, Refusal::Allocated));
            }
            own.insert(port);
            last = own.last().copied().unwrap_or(port);
            given.push(port);
        }
        Ok(given)
    }

    /// To be given back once the service is written.
    pub(super) fn give_up_port(&mut self, port: i64) {
        self.given_up_ports.push(port);
    }
}

/// The allocations of a service of a list.
pub(super) fn held_ports(service: &Value) -> Vec<i64> {
    let mut seen: HashMap<i64, HashSet<&str>> = HashMap::new();
    let mut ports = Vec::new();
    for port in service.items_at(fields::PORTS) {
        let (number, protocol) = (fields::node_port(port), port.text_at(&["protocol"]));
        if number == 0 {
            continue;
        }
        // The same for several protocols is one; for one protocol it is a mistake to be found.
        let protocols = seen.entry(number).or_default();
        if protocols.is_empty() || protocols.contains(protocol) {
            ports.push(number);
        }
        protocols.insert(protocol);
    }
    let health = fields::health_port(service);
    if health != 0 && seen.get(&health).is_none_or(|protocols| protocols.contains("TCP")) {
        ports.push(health);
    }
    ports
}

/// The addresses of a service that has any.
pub(super) fn held_addresses(service: &Value) -> Vec<&str> {
    if fields::has_address(service) && fields::address(service) != fields::NONE {
        service.items_at(ADDRESSES).iter().filter_map(Value::as_str).collect()
    } else {
        Vec::new()
    }
}
