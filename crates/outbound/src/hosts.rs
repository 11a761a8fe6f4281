//! Lookup of host names: once for each connection, which goes to an address of that lookup.
//!
//! A name may have another address at every lookup. If an address were checked and the name looked up again to connect, the connection
//! could go to an address that nothing has checked (CVE-2020-8562).

use std::io;
use std::net::SocketAddr;
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

    pub(crate) async fn addresses(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        self.0.addresses(host, port).await
    }
}

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
