//! Lookup of host names: once for each connection, which goes to an address of that lookup.
//!
//! A name may have another address at every lookup. If an address were checked and the name looked up again to connect, the connection
//! could go to an address that nothing has checked (CVE-2020-8562).

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use async_trait::async_trait;

/// A source of the addresses of hosts.
#[async_trait]
pub trait Lookup: Send + Sync + 'static {
    /// Returns the addresses of a host, in the order in which they are tried. Called once for each connection, also for an IP
    /// address.
    async fn addresses(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>>;
}

/// The lookup that a client uses. Clones are the same one.
#[derive(Clone)]
pub struct Hosts(Arc<dyn Lookup>);

impl Hosts {
    /// Returns the lookup of the operating system.
    pub fn system() -> Hosts {
        Hosts::new(System)
    }

    pub fn new(lookup: impl Lookup) -> Hosts {
        Hosts(Arc::new(lookup))
    }

    /// Returns the same lookup, which refuses hosts of this machine and of its link: clients must not reach them through this
    /// server.
    pub fn elsewhere(&self) -> Hosts {
        Hosts::new(Elsewhere(self.clone()))
    }

    pub async fn addresses(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        self.0.addresses(host, port).await
    }
}

/// Returns whether an address is that of one other machine, as Go says it: not unspecified, loopback, link-local, multicast or
/// broadcast.
pub fn is_global_unicast(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => {
            !(address.is_unspecified()
                || address.is_loopback()
                || address.is_link_local()
                || address.is_multicast()
                || address.is_broadcast())
        }
        IpAddr::V6(address) => {
            !(address.is_unspecified()
                || address.is_loopback()
                || address.is_unicast_link_local()
                || address.is_multicast())
        }
    }
}

/// A lookup that fails if any address of the host is not global.
struct Elsewhere(Hosts);

#[async_trait]
impl Lookup for Elsewhere {
    async fn addresses(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        let addresses = self.0.addresses(host, port).await?;
        if addresses.iter().all(|address| is_global_unicast(address.ip())) {
            return Ok(addresses);
        }
        Err(io::Error::new(io::ErrorKind::PermissionDenied, NOT_ALLOWED))
    }
}

const NOT_ALLOWED: &str = "address not allowed";

struct System;

#[async_trait]
impl Lookup for System {
    async fn addresses(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        Ok(tokio::net::lookup_host((host, port)).await?.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{HttpsOptions, HttpsServer, Names, Reply, Seen};
    use crate::{Client, ClientOptions, Material, Roots, TlsOptions, Url};

    async fn server(says: &'static str, http2: bool) -> HttpsServer {
        let options = HttpsOptions { names: vec!["hook.example.com"], http2, ..HttpsOptions::default() };
        HttpsServer::start_with(options, move |_| Reply::text(200, says)).await
    }

    /// Returns a client for `https://hook.example.com` that trusts the servers.
    fn client(names: &Names, servers: &[&HttpsServer]) -> (Client, Url) {
        let pem: String = servers.iter().map(|server| server.authority.pem.as_str()).collect();
        let tls = TlsOptions { roots: Roots::Bundle(Material::Text(pem.into())), ..TlsOptions::default() };
        let url = Url::parse("https://hook.example.com/x").unwrap();
        let hosts = Hosts::new(names.clone());
        (Client::new(&url, ClientOptions { tls, hosts, ..ClientOptions::default() }).unwrap(), url)
    }

    #[tokio::test]
    async fn a_connection_goes_to_the_address_of_its_only_lookup() {
        for http2 in [false, true] {
            let (first, second) = (server("first", http2).await, server("second", http2).await);
            let names = Names::new([vec![first.address], vec![second.address]]);
            let (client, url) = client(&names, &[&first, &second]);
            for _ in 0..3 {
                assert_eq!(client.get(&url).await.unwrap().body, "first");
            }
            assert_eq!(names.lookups(), ["hook.example.com:443"], "the connection was kept");
            assert_eq!((first.connections(), second.connections()), (1, 0));
        }
    }

    #[tokio::test]
    async fn addresses_of_this_machine_are_refused_where_it_is_asked_for() {
        let server = server("here", false).await;
        let names = Names::new([vec!["192.0.2.1:443".parse().unwrap(), server.address]]);
        let hosts = Hosts::new(names.clone()).elsewhere();
        let url = Url::parse("https://hook.example.com/x").unwrap();
        let client = Client::new(&url, ClientOptions { hosts, ..ClientOptions::default() }).unwrap();
        assert_eq!(client.get(&url).await.unwrap_err().failure, crate::Failure::NotAllowed);
        assert_eq!(server.connections(), 0);
        for (address, is_global) in [
            ("10.0.0.1", true),
            ("2001:db8::1", true),
            ("fd00::1", true),
            ("127.0.0.1", false),
            ("169.254.169.254", false),
            ("0.0.0.0", false),
            ("255.255.255.255", false),
            ("224.0.0.1", false),
            ("::1", false),
            ("::ffff:127.0.0.1", false),
            ("fe80::1", false),
            ("ff02::1", false),
            ("::", false),
        ] {
            assert_eq!(is_global_unicast(address.parse().unwrap()), is_global, "{address}");
        }
    }

    #[tokio::test]
    async fn every_new_connection_looks_the_name_up_again() {
        let second = server("second", false).await;
        let options =
            HttpsOptions { names: vec!["hook.example.com"], http2: false, ..HttpsOptions::default() };
        let close = |_: &Seen| Reply::text(200, "closing").with("connection", "close");
        let closing = HttpsServer::start_with(options, close).await;
        let names = Names::new([vec![closing.address], vec![second.address]]);
        let (client, url) = client(&names, &[&closing, &second]);
        assert_eq!(client.get(&url).await.unwrap().body, "closing");
        assert_eq!(client.get(&url).await.unwrap().body, "second");
        assert_eq!(names.lookups().len(), 2);
        assert_eq!((closing.connections(), second.connections()), (1, 1));
    }

    #[tokio::test]
    async fn addresses_of_one_lookup_are_tried_in_their_order() {
        // Nothing listens on the first port.
        let closed: SocketAddr = "127.0.0.1:1".parse().unwrap();
        let (good, other) = (server("good", false).await, server("other", false).await);
        let names = Names::new([vec![closed, good.address], vec![other.address]]);
        let (client, url) = client(&names, &[&good, &other]);
        assert_eq!(client.get(&url).await.unwrap().body, "good");
        assert_eq!(names.lookups().len(), 1, "a refused connection is no reason for another lookup");

        for (answer, expected) in [
            (vec![closed], "dial tcp 127.0.0.1:1: connect: connection refused"),
            (Vec::new(), "dial tcp: lookup hook.example.com: no such host"),
        ] {
            let names = Names::new([answer, vec![other.address]]);
            let (client, url) = self::client(&names, &[&other]);
            let why = client.get(&url).await.unwrap_err().to_string();
            assert_eq!(why, format!("Get \"https://hook.example.com/x\": {expected}"));
            assert_eq!((names.lookups().len(), other.connections()), (1, 0));
        }
    }
}
