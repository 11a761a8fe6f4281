//! The addresses of the cluster's services: their cluster IPs, or with `--enable-aggregator-routing` their endpoints.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Weak};
use std::time::Duration;

use async_trait::async_trait;
use pintle_meta::{Reason, Value, quote};
use pintle_outbound::services::{Address, Resolver};
use pintle_registry::Store;
use pintle_runtime::Random;
use rand::Rng;
use rand::seq::SliceRandom;

use crate::Error;
use crate::access::find;
use crate::stores::Stores;

/// How long a request waits until the cache has endpoints that were written before it.
const WAIT: Duration = Duration::from_secs(3);

/// The label with the service of a slice.
const SERVICE_NAME: &str = "kubernetes.io/service-name";

/// Resolves services by the stored objects.
pub(crate) struct Services {
    /// Not kept alive from here: allocations of cluster IPs are part of it and are admitted by plugins, which resolve webhooks.
    services: Weak<Store>,
    /// The slices of endpoints, if requests go to endpoints.
    slices: Option<Arc<Store>>,
    /// The address of this server, to which the service `kubernetes` resolves.
    own: Address,
    random: Random,
}

impl Services {
    /// `listening`: the address of this server's listener.
    pub(crate) fn new(
        stores: &Stores,
        listening: SocketAddr,
        at_endpoints: bool,
        random: Random,
    ) -> Result<Services, Error> {
        let store = |path: &str| stores.require_store(path);
        let slices = if at_endpoints { Some(store("endpointslices")?) } else { None };
        let host = match listening.ip() {
            ip if !ip.is_unspecified() => ip,
            IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        };
        let own = Address { host: host.to_string(), port: listening.port() };
        Ok(Services { services: Arc::downgrade(&store("services/specs")?), slices, own, random })
    }

    async fn service(&self, namespace: &str, name: &str) -> Result<Value, String> {
        let services = self.services.upgrade().ok_or("the control plane has ended")?;
        find(&services, namespace, name).await.map_err(|status| match status.reason {
            Reason::NotFound => format!("service {} not found", quote(name)),
            _ => status.message,
        })
    }

    /// Returns all slices of a service.
    async fn slices(&self, store: &Store, namespace: &str, service: &str) -> Result<Vec<Value>, String> {
        let known = store.config().backend.known_revision().map_or(0, |revision| revision.0);
        let snapshot = store.cache().snapshot_since(known, WAIT).await.map_err(|error| error.to_string())?;
        let prefix = format!("{namespace}/");
        let of_service = snapshot
            .objects
            .iter_prefix(&prefix)
            .filter(|entry| entry.read().is_ok_and(|facts| facts.label(SERVICE_NAME) == Some(service)));
        of_service.map(|entry| store.object(entry).map_err(|status| status.message)).collect()
    }
}

#[async_trait]
impl Resolver for Services {
    async fn resolve(&self, namespace: &str, name: &str, port: u16) -> Result<Address, String> {
        if (namespace, name, port) == ("default", "kubernetes", 443) {
            return Ok(self.own.clone());
        }
        let service = self.service(namespace, name).await?;
        match &self.slices {
            None => cluster_address(&service, port),
            Some(store) => {
                let wanted = endpoint_port(&service, port)?;
                let slices = self.slices(store, namespace, name).await?;
                endpoint(&service, wanted, slices, &mut self.random.clone())
            }
        }
    }
}

/// Returns the cluster IP or external name of a service.
fn cluster_address(service: &Value, port: u16) -> Result<Address, String> {
    let ip = service.text_at(&["spec", "clusterIP"]);
    match service.text_at(&["spec", "type"]) {
        "ClusterIP" if ip == "None" => Err(r#"cannot route to service with ClusterIP "None""#.into()),
        "ClusterIP" | "LoadBalancer" | "NodePort" => {
            service_port(service, port)?;
            match ip {
                // The reference would call its own machine.
                "" => Err(format!("no cluster IP assigned to service {}", quote(service.name()))),
                ip => Ok(Address { host: ip.to_owned(), port }),
            }
        }
        "ExternalName" => Ok(Address { host: service.text_at(&["spec", "externalName"]).to_owned(), port }),
        other => Err(unsupported(other)),
    }
}

fn unsupported(kind: &str) -> String {
    format!("unsupported service type {}", quote(kind))
}

fn service_port(service: &Value, port: u16) -> Result<&Value, String> {
    let is_it = |found: &&Value| found.get("port").and_then(Value::as_i64) == Some(i64::from(port));
    let found = service.items_at(&["spec", "ports"]).iter().find(is_it);
    found.ok_or_else(|| format!("no service port {port} found for service {}", quote(service.name())))
}

/// Returns the name of a service's port in its slices.
fn endpoint_port(service: &Value, port: u16) -> Result<&str, String> {
    match service.text_at(&["spec", "type"]) {
        "ClusterIP" | "LoadBalancer" | "NodePort" => Ok(service_port(service, port)?.text_at(&["name"])),
        other => Err(unsupported(other)),
    }
}

/// Returns a ready endpoint at random, of the service's first IP family if it has any.
fn endpoint(
    service: &Value,
    port: &str,
    mut slices: Vec<Value>,
    random: &mut impl Rng,
) -> Result<Address, String> {
    slices.shuffle(random);
    if let Some(family) = service.items_at(&["spec", "ipFamilies"]).first().and_then(Value::as_str) {
        slices.sort_by_key(|slice| slice.text_at(&["addressType"]) != family);
    }
    for slice in &slices {
        let named = slice.items_at(&["ports"]).iter();
        let named = named.filter(|found| found.get("name").and_then(Value::as_str) == Some(port));
        for number in named.filter_map(|found| found.get("port").and_then(Value::as_i64)) {
            let Ok(number) = u16::try_from(number) else { continue };
            let mut ready: Vec<&Value> = slice.items_at(&["endpoints"]).iter().filter(is_ready).collect();
            ready.shuffle(random);
            let address = ready.iter().find_map(|found| found.items_at(&["addresses"]).first()?.as_str());
            if let Some(host) = address {
                return Ok(Address { host: host.to_owned(), port: number });
            }
        }
    }
    Err(format!("no endpoints available for service {}", quote(service.name())))
}

/// Returns whether an endpoint is ready, which is the default.
fn is_ready(endpoint: &&Value) -> bool {
    endpoint.at(&["conditions", "ready"]).and_then(Value::as_bool) != Some(false)
}

#[cfg(test)]
mod tests {
    use pintle_codec::json;
    use rand::SeedableRng;
    use rand::rngs::StdRng;

    use super::*;

    fn read(text: &str) -> Value {
        json::decode_any(text.as_bytes()).unwrap().value
    }

    fn service(spec: &str) -> Value {
        read(&format!(
            r#"{{"metadata":{{"name":"hook"}},"spec":{{"ports":[{{"name":"a","port":443}},{{"name":"b","port":8443}}],{spec}}}}}"#
        ))
    }

    fn found(address: Result<Address, String>) -> String {
        address.map_or_else(|error| error, |Address { host, port }| format!("{host} {port}"))
    }

    #[test]
    fn a_service_is_at_its_own_address() {
        let check = |spec: &str, port: u16, expect: &str| {
            assert_eq!(found(cluster_address(&service(spec), port)), expect, "{spec}");
        };
        check(r#""type":"ClusterIP","clusterIP":"10.0.0.7""#, 443, "10.0.0.7 443");
        check(r#""type":"NodePort","clusterIP":"fd00::7""#, 8443, "fd00::7 8443");
        check(
            r#""type":"LoadBalancer","clusterIP":"10.0.0.7""#,
            80,
            "no service port 80 found for service \"hook\"",
        );
        check(
            r#""type":"ClusterIP","clusterIP":"None""#,
            443,
            "cannot route to service with ClusterIP \"None\"",
        );
        check(r#""type":"ClusterIP""#, 443, "no cluster IP assigned to service \"hook\"");
        check(r#""type":"ExternalName","externalName":"a.example""#, 80, "a.example 80");
        check(r#""type":"Other""#, 443, "unsupported service type \"Other\"");
    }

    /// Returns all endpoints that may be chosen.
    fn chosen(service: &Value, port: u16, slices: &[&str]) -> Vec<String> {
        let slices: Vec<Value> = slices.iter().map(|text| read(text)).collect();
        let mut random = StdRng::seed_from_u64(7);
        let mut all: Vec<String> = (0..100)
            .map(|_| {
                let port = endpoint_port(service, port);
                found(port.and_then(|port| endpoint(service, port, slices.clone(), &mut random)))
            })
            .collect();
        all.sort();
        all.dedup();
        all
    }

    #[test]
    fn endpoints_are_chosen_among_those_that_are_ready() {
        let one = r#"{"addressType":"IPv4","ports":[{"name":"a","port":1443},{"name":"b","port":2443}],"endpoints":[
            {"addresses":["10.1.0.1"],"conditions":{"ready":true}},
            {"addresses":["10.1.0.2"],"conditions":{}},
            {"addresses":["10.1.0.3"],"conditions":{"ready":false}}]}"#;
        let other = r#"{"addressType":"IPv4","ports":[{"name":"a","port":3443}],"endpoints":[{"addresses":["10.1.0.4"]}]}"#;
        let six = r#"{"addressType":"IPv6","ports":[{"name":"a","port":1443}],"endpoints":[{"addresses":["fd00::1"]}]}"#;
        let plain = service(r#""type":"ClusterIP","clusterIP":"None""#);
        assert_eq!(chosen(&plain, 443, &[one]), ["10.1.0.1 1443", "10.1.0.2 1443"]);
        assert_eq!(chosen(&plain, 443, &[one, other]), ["10.1.0.1 1443", "10.1.0.2 1443", "10.1.0.4 3443"]);
        assert_eq!(chosen(&plain, 8443, &[one, other]), ["10.1.0.1 2443", "10.1.0.2 2443"]);
        let dual = service(r#""type":"ClusterIP","ipFamilies":["IPv6","IPv4"]"#);
        assert_eq!(chosen(&dual, 443, &[one, six, other]), ["fd00::1 1443"]);
        assert_eq!(chosen(&dual, 8443, &[one, six]), ["10.1.0.1 2443", "10.1.0.2 2443"]);
    }

    #[test]
    fn a_service_without_endpoints_is_nowhere() {
        let plain = service(r#""type":"ClusterIP""#);
        let none = ["no endpoints available for service \"hook\""];
        assert_eq!(chosen(&plain, 443, &[]), none);
        let unready = r#"{"ports":[{"name":"a","port":1}],"endpoints":[{"addresses":["10.1.0.3"],"conditions":{"ready":false}}]}"#;
        assert_eq!(chosen(&plain, 443, &[unready]), none);
        assert_eq!(
            chosen(&plain, 443, &[r#"{"ports":[{"port":1}],"endpoints":[{"addresses":["10.1.0.3"]}]}"#]),
            none
        );
        assert_eq!(chosen(&plain, 80, &[unready]), ["no service port 80 found for service \"hook\""]);
        let elsewhere = service(r#""type":"ExternalName","externalName":"a.example""#);
        assert_eq!(chosen(&elsewhere, 443, &[unready]), ["unsupported service type \"ExternalName\""]);
    }
}
