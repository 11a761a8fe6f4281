//! The API servers of a cluster: this one alone on its own store, or all that have a lease in a shared one.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use pintle_controllers::Peers;
use pintle_storage::{Backend, Op, RangeRequest, Txn};

/// How often a server renews its lease, and how long a lease lasts.
pub(crate) const INTERVAL: Duration = Duration::from_secs(10);
const LIFETIME: Duration = Duration::from_secs(15);

/// The only server of its store.
pub(crate) struct SingleServer(pub(crate) IpAddr);

#[async_trait]
impl Peers for SingleServer {
    async fn join(&self) -> Result<Vec<IpAddr>, String> {
        Ok(vec![self.0])
    }

    async fn leave(&self) -> Result<Vec<IpAddr>, String> {
        Ok(Vec::new())
    }

    fn are_many(&self) -> bool {
        false
    }
}

/// One of several on the same store. A server's key is its address, and goes with its lease.
pub(crate) struct Leases {
    backend: Arc<dyn Backend>,
    /// The prefix of the keys of all servers.
    prefix: String,
    address: IpAddr,
}

impl Leases {
    /// `prefix`: the beginning of all keys, such as `/registry`.
    pub(crate) fn new(backend: Arc<dyn Backend>, prefix: &str, address: IpAddr) -> Leases {
        Leases { backend, prefix: format!("/{}/masterleases/", prefix.trim_matches('/')), address }
    }

    fn key(&self) -> Bytes {
        format!("{}{}", self.prefix, self.address).into()
    }

    async fn write(&self, op: Op) -> Result<Vec<IpAddr>, String> {
        let txn = Txn { then: vec![op], ..Txn::default() };
        self.backend.txn(txn).await.map_err(|error| error.to_string())?;
        let request = RangeRequest { prefix: self.prefix.clone().into(), ..RangeRequest::default() };
        let found = self.backend.range(request).await.map_err(|error| error.to_string())?;
        // Values of other servers may be in any encoding; the keys have the addresses.
        let name = |key: &Bytes| std::str::from_utf8(key.get(self.prefix.len()..)?).ok()?.parse().ok();
        Ok(found.kvs.iter().filter_map(|kv| name(&kv.key)).collect())
    }
}

#[async_trait]
impl Peers for Leases {
    async fn join(&self) -> Result<Vec<IpAddr>, String> {
        let lease = self.backend.lease(LIFETIME).await.map_err(|error| error.to_string())?;
        let value = format!(
            r#"{{"kind":"Endpoints","apiVersion":"v1","metadata":{{}},"subsets":[{{"addresses":[{{"ip":"{}"}}]}}]}}"#,
            self.address
        );
        self.write(Op::Put { key: self.key(), value: value.into(), lease: Some(lease) }).await
    }

    async fn leave(&self) -> Result<Vec<IpAddr>, String> {
        self.write(Op::Delete { key: self.key() }).await
    }

    fn are_many(&self) -> bool {
        true
    }
}
